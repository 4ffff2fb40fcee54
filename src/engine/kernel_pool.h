/* kernel_pool.h - template: rows of pooling windows and of resampled planes. */

/* y = the first largest of k rows, element by element; the last NaN if there are any */
static void larger_rows(const float *const *rows, int64_t k, int64_t n, float *y) {
    EACH_VECTOR(n, {
        vf best = v_load_n(rows[0] + i, left);
        for (int64_t t = 1; t < k; t++)
            best = v_larger(best, v_load_n(rows[t] + i, left));
        v_store_n(y + i, best, left);
    });
}

/* y[r] = the sum of n numbers at x + r n; +0 of nothing but -0 */
static void sum_short_rows(const float *x, int64_t rows, int64_t n, float *y) {
    for (int64_t r = 0; r < rows; r++, x += n) {
        vf sum = v_zero();
        EACH_VECTOR(n, { sum += v_load_n(x + i, left); });
        y[r] = v_sum(sum);
    }
}

/* y = sum of weights[t] rows[t] */
static void weigh_rows(const float *const *rows, const float *weights, int64_t k, int64_t n, float *y) {
    EACH_VECTOR(n, {
        vf sum = k ? v_load_n(rows[0] + i, left) * v_set(weights[0]) : v_zero();
        for (int64_t t = 1; t < k; t++)
            sum = v_fma(v_load_n(rows[t] + i, left), v_set(weights[t]), sum);
        v_store_n(y + i, sum, left);
    });
}

/* y[i] = sum over t of weights[t * n + i] x[at[t * n + i]]; nothing where at < 0 */
static void pick_row(const float *x, int64_t k, const int32_t *at, const float *weights, int64_t n, float *y) {
    EACH_VECTOR(n, {
        vf sum = v_pick_n(x, at + i, left) * v_load_n(weights + i, left);
        for (int64_t t = 1; t < k; t++)
            sum = v_fma(v_pick_n(x, at + t * n + i, left), v_load_n(weights + t * n + i, left), sum);
        v_store_n(y + i, sum, left);
    });
}

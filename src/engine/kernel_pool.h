/* kernel_pool.h - template: rows of pooling windows. */

/* y = the first largest of k rows, element by element; the last NaN if there are any */
static void larger_rows(const float *const *rows, int64_t k, int64_t n, float *y) {
    EACH_VECTOR(n, {
        vf best = v_load_n(rows[0] + i, left);
        for (int64_t t = 1; t < k; t++)
            best = v_larger(best, v_load_n(rows[t] + i, left));
        v_store_n(y + i, best, left);
    });
}

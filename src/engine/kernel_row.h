/* kernel_row.h - template: rows of softmax, normalisation and attention. Sums and means in f32 (lanes apart,
 * joined at the end), every result rounded once. A row of 16-bit elements passes through `work`, n floats. */

/* Lines of the next row, asked for while this one is worked on; helps only when rows come from memory. */
INLINE void ask_for(const void *p, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64)
        v_prefetch((const char *)p + i);
}

INLINE float row_max(const float *x, int64_t n) {
    vf top[4];
    for (int u = 0; u < 4; u++)
        top[u] = v_set(-INFINITY);
    int64_t i = 0;
    for (; i + 4 * SIMD_VL <= n; i += 4 * SIMD_VL)
        _Pragma("GCC unroll 4") for (int u = 0; u < 4; u++) top[u] =
            v_max(top[u], v_load(x + i + u * SIMD_VL));
    for (; i < n; i += SIMD_VL)
        top[0] = v_max(top[0], v_first_n(v_load_n(x + i, n - i), n - i, v_set(-INFINITY)));
    return v_top(v_max(v_max(top[0], top[1]), v_max(top[2], top[3])));
}

/* dst = e^(x - shift), returns the sum; dst NULL: the sum only */
INLINE float row_exp(float *dst, const float *x, float shift, int64_t n) {
    vf sum[2] = {v_zero(), v_zero()};
    const vf s = v_set(shift);
    int64_t i = 0;
    for (; i + 2 * SIMD_VL <= n; i += 2 * SIMD_VL)
        _Pragma("GCC unroll 2") for (int u = 0; u < 2; u++) {
            vf e = v_exp(v_load(x + i + u * SIMD_VL) - s);
            sum[u] += e;
            if (dst)
                v_store(dst + i + u * SIMD_VL, e);
        }
    for (; i < n; i += SIMD_VL) {
        const vf e = v_first_n(v_exp(v_load_n(x + i, n - i) - s), n - i, v_zero());
        sum[0] += e;
        if (dst)
            v_store_n(dst + i, e, n - i);
    }
    return v_sum(sum[0] + sum[1]);
}

/* Each vector's sum, and its highest lane. */
INLINE vf v_sums(vf *rows) {
    v_transpose(rows);
    _Pragma("GCC unroll 4") for (int width = SIMD_VL / 2; width > 0; width /= 2)
        _Pragma("GCC unroll 8") for (int i = 0; i < width; i++) rows[i] += rows[i + width];
    return rows[0];
}
INLINE vf v_tops(vf *rows) {
    v_transpose(rows);
    _Pragma("GCC unroll 4") for (int width = SIMD_VL / 2; width > 0; width /= 2)
        _Pragma("GCC unroll 8") for (int i = 0; i < width; i++) rows[i] = v_max(rows[i], rows[i + width]);
    return rows[0];
}

/* Row r of x as f32: where it lies, or in work. */
INLINE const float *row_floats(const tt_dtype type, int64_t r, int64_t n, const void *x, float *work) {
    if (type == TT_F32)
        return (const float *)x + r * n;
    EACH_VECTOR(n, v_store_n(work + i, v_get_n(type, x, r * n + i, left), left););
    return work;
}

INLINE void softmax_typed(const tt_dtype type, int64_t rows, int64_t n, bool log, const void *x, void *y,
                          float *work) {
    for (int64_t r = 0; r < rows; r++) {
        const float *in = row_floats(type, r, n, x, work);
        float *e = type == TT_F32 ? (float *)y + r * n : work;
        const float top = row_max(in, n);
        const float sum = row_exp(log ? NULL : e, in, top, n);
        const vf shift = v_set(top), factor = v_set(log ? logf(sum) : 1.f / sum);
        if (log)
            EACH_VECTOR(n, v_put_n(type, y, r * n + i, v_load_n(in + i, left) - shift - factor, left););
        else
            EACH_VECTOR(n, v_put_n(type, y, r * n + i, v_load_n(e + i, left) * factor, left););
    }
}

/* Element `at` of the logarithm of a row's softmax: what softmax writes there. */
INLINE float log_softmax_at_typed(const tt_dtype type, int64_t n, const void *x, int64_t at, float *work) {
    const float *in = row_floats(type, 0, n, x, work);
    const float top = row_max(in, n);
    const float sum = row_exp(NULL, in, top, n);
    float y;
    v_put_n(type, &y, 0, v_set(in[at]) - v_set(top) - v_set(logf(sum)), 1);
    return v_scalar(type, &y, 0);
}

INLINE void softmax_backward_typed(const tt_dtype type, int64_t rows, int64_t n, const bool log,
                                   const void *g, const void *y, void *dx) {
    for (int64_t r = 0; r < rows; r++) {
        const int64_t at = r * n;
        vf sum = v_zero();
        EACH_VECTOR(n, const vf gv = v_get_n(type, g, at + i, left);
                    sum = log ? sum + gv : v_fma(gv, v_get_n(type, y, at + i, left), sum););
        const vf total = v_set(v_sum(sum));
        EACH_VECTOR(n, const vf gv = v_get_n(type, g, at + i, left);
                    const vf yv = v_get_n(type, y, at + i, left);
                    v_put_n(type, dx, at + i, log ? gv - v_exp(yv) * total : yv * (gv - total), left););
    }
}

/* Sum of x - shift, or of its squares, over a row. */
INLINE float row_moment(const tt_dtype type, const bool squares, const void *x, int64_t at, int64_t n,
                        float shift) {
    vf sum[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
    const vf s = v_set(shift);
    int64_t i = 0;
    for (; i + 4 * SIMD_VL <= n; i += 4 * SIMD_VL)
        _Pragma("GCC unroll 4") for (int u = 0; u < 4; u++) {
            const vf d = v_get(type, x, at + i + u * SIMD_VL) - s;
            sum[u] = squares ? v_fma(d, d, sum[u]) : sum[u] + d;
        }
    for (; i < n; i += SIMD_VL) {
        const vf d = v_first_n(v_get_n(type, x, at + i, n - i) - s, n - i, v_zero());
        sum[0] = squares ? v_fma(d, d, sum[0]) : sum[0] + d;
    }
    return v_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* y = (x - mean) rstd w + b; mean NULL: rms_norm */
INLINE void norm_typed(const tt_dtype type, const eng_norm *a, int64_t first, int64_t rows) {
    const int64_t n = a->n, bytes = n * (type == TT_F32 ? 4 : 2);
    const void *const weight = a->weight, *const bias = a->bias;
    for (int64_t r = first; r < first + rows; r++) {
        const int64_t at = r * n;
        if (a->far && r + 1 < first + rows)
            ask_for((const char *)a->x + (r + 1) * bytes, bytes);
        const float mean = a->mean ? row_moment(type, false, a->x, at, n, 0) / (float)n : 0;
        const float square = row_moment(type, true, a->x, at, n, mean) / (float)n;
        const float rstd = (float)(1 / sqrt((double)square + a->eps));
        const vf m = v_set(mean), s = v_set(rstd);
        EACH_VECTOR(n, vf v = (v_get_n(type, a->x, at + i, left) - m) * s;
                    if (weight) v *= v_get_n(type, weight, i, left);
                    if (bias) v += v_get_n(type, bias, i, left); v_put_n(type, a->y, at + i, v, left););
        if (a->mean)
            a->mean[r] = mean;
        a->rstd[r] = rstd;
    }
}

/* Two passes over a row; adds to sums of g xhat and g over rows. */
INLINE void norm_backward_typed(const tt_dtype type, const eng_norm *a, int64_t first, int64_t rows,
                                float *dweight, float *dbias) {
    const int64_t n = a->n, bytes = n * (type == TT_F32 ? 4 : 2);
    const void *const weight = a->weight;
    for (int64_t r = first; r < first + rows; r++) {
        const int64_t at = r * n;
        if (a->far && r + 1 < first + rows) {
            ask_for((const char *)a->x + (r + 1) * bytes, bytes);
            ask_for((const char *)a->grad + (r + 1) * bytes, bytes);
        }
        const vf mean = v_set(a->mean[r]), rstd = v_set(a->rstd[r]);
        vf sum = v_zero(), sum_x = v_zero();
        EACH_VECTOR(n, const vf g = v_get_n(type, a->grad, at + i, left);
                    const vf x = (v_get_n(type, a->x, at + i, left) - mean) * rstd; const vf gx = g * x;
                    v_store_n(dweight + i, v_load_n(dweight + i, left) + v_first_n(gx, left, v_zero()), left);
                    v_store_n(dbias + i, v_load_n(dbias + i, left) + g, left);
                    const vf w = weight ? v_get_n(type, weight, i, left) : v_set(1); sum = v_fma(g, w, sum);
                    sum_x = v_fma(gx, w, sum_x););
        const vf c1 = v_set(v_sum(sum) / (float)n), c2 = v_set(v_sum(sum_x) / (float)n);
        EACH_VECTOR(n, vf g = v_get_n(type, a->grad, at + i, left);
                    const vf x = (v_get_n(type, a->x, at + i, left) - mean) * rstd;
                    if (weight) g *= v_get_n(type, weight, i, left);
                    v_put_n(type, a->y, at + i, rstd * (g - c1 - x * c2), left););
    }
}

static void softmax(tt_dtype type, int64_t rows, int64_t n, bool log, const void *x, void *y, float *work) {
#define CALL(T) softmax_typed(T, rows, n, log, x, y, work)
    BY_TYPE(type, CALL);
#undef CALL
}
static float log_softmax_at(tt_dtype type, int64_t n, const void *x, int64_t at, float *work) {
#define CALL(T) return log_softmax_at_typed(T, n, x, at, work)
    BY_TYPE(type, CALL);
#undef CALL
}
static void softmax_backward(tt_dtype type, int64_t rows, int64_t n, bool log, const void *g, const void *y,
                             void *dx) {
#define CALL(T)                                                                                              \
    if (log)                                                                                                 \
        softmax_backward_typed(T, rows, n, true, g, y, dx);                                                  \
    else                                                                                                     \
        softmax_backward_typed(T, rows, n, false, g, y, dx)
    BY_TYPE(type, CALL);
#undef CALL
}
static void norm(const eng_norm *a, int64_t first, int64_t rows) {
#define CALL(T) norm_typed(T, a, first, rows)
    BY_TYPE(a->type, CALL);
#undef CALL
}
static void norm_backward(const eng_norm *a, int64_t first, int64_t rows, float *dweight, float *dbias) {
#define CALL(T) norm_backward_typed(T, a, first, rows, dweight, dbias)
    BY_TYPE(a->type, CALL);
#undef CALL
}

/* ---- attention ---- */
/* Scores with the mask's row: hidden where a PRED mask is false, else its values added. */
INLINE vf masked(const tt_dtype type, const void *mask, int64_t i, int64_t n, vf s) {
    if (!mask)
        return s;
    if (type != TT_PRED)
        return s + v_get_n(type, mask, i, n);
    const uint8_t *keep = (const uint8_t *)mask + i;
#if SIMD == 512
    const __m128i bytes = _mm_maskz_loadu_epi8(v_lanes(n), keep);
    return (vf)_mm512_mask_mov_ps(_mm512_set1_ps(-INFINITY), _mm_test_epi8_mask(bytes, bytes), (__m512)s);
#else
    vi lanes = {0};
    for (int j = 0; j < SIMD_VL && j < n; j++)
        lanes[j] = -(keep[j] != 0);
    return v_select(lanes, s, v_set(-INFINITY));
#endif
}

#define BY_MASK_TYPE(TYPE, CALL)                                                                             \
    do {                                                                                                     \
        if ((TYPE) == TT_PRED) {                                                                             \
            CALL(TT_PRED);                                                                                   \
        } else {                                                                                             \
            BY_TYPE(TYPE, CALL);                                                                             \
        }                                                                                                    \
    } while (0)

/* What a vector of scores and dp becomes (kernels.h); 0 beyond what the row sees. */
INLINE void weigh(const tt_dtype mask_type, const eng_weighing *t, const float *scores, const float *dp, int64_t i, vf *p, vf *ds) {
    const float log2e = 1.44269504f;
    vf s = v_load(scores + i) * v_set(t->scale);
    if (t->mask)
        s = masked(mask_type, t->mask, i, t->n - i, s);
    s = v_exp2_below((s - v_set(t->lse)) * v_set(log2e)); /* the difference first: both may be huge */
    *p = v_first_n(s, t->n - i, v_zero());
    *ds = v_first_n(s * v_fma(v_load(dp + i), v_set(t->scale), v_set(-t->delta * t->scale)), t->n - i, v_zero());
}

static void attend_backward(const eng_weighing *t, float *scores, float *dp) {
#define CALL(T)                                                                                              \
    for (int64_t i = 0; i < t->width; i += SIMD_VL) {                                                        \
        vf p, ds;                                                                                            \
        weigh(T, t, scores, dp, i, &p, &ds);                                                                 \
        v_store(scores + i, p);                                                                              \
        v_store(dp + i, ds);                                                                                 \
    }
    BY_MASK_TYPE(t->mask_type, CALL);
#undef CALL
}

/* dst[r] = x[r] factors[r]; rows of n, strides in elements */
static void scale_rows(tt_dtype type, void *dst, int64_t ldd, const float *x, int64_t ld, int64_t rows, int64_t n, const float *factors) {
#define CALL(T)                                                                                              \
    for (int64_t r = 0; r < rows; r++, x += ld) {                                                            \
        const vf f = v_set(factors[r]);                                                                      \
        EACH_VECTOR(n, v_put_n(T, dst, r * ldd + i, v_load_n(x + i, left) * f, left););                      \
    }
    BY_TYPE(type, CALL);
#undef CALL
}

/* y[r] = the sum of a[r] b[r]; rows of n */
static void row_dots(tt_dtype type, const void *a, const void *b, int64_t rows, int64_t n, float *y) {
#define CALL(T)                                                                                              \
    for (int64_t r = 0; r < rows; r++) {                                                                     \
        vf sum = v_zero();                                                                                   \
        EACH_VECTOR(n, sum = v_fma(v_get_n(T, a, r * n + i, left), v_get_n(T, b, r * n + i, left), sum););   \
        y[r] = v_sum(sum);                                                                                   \
    }
    BY_TYPE(type, CALL);
#undef CALL
}

/* Attention of one query: products with all keys, and with all values. Reading them is what bounds it: rows come in their order, which
 * the processor follows, and few other loads stand between, so that it is far ahead. `vectors` of q, a constant, are held; 0: any n. */
INLINE void query_keys_held(const tt_dtype type, const int vectors, const float *q, const void *x, int64_t rows, int64_t n, float *y) {
    vf held[8];
    _Pragma("GCC unroll 8") for (int i = 0; i < vectors; i++) held[i] = v_load(q + i * SIMD_VL);
    for (int64_t r = 0; r < rows; r += SIMD_VL) {
        const int64_t count = rows - r < SIMD_VL ? rows - r : SIMD_VL;
        vf sum[SIMD_VL];
        _Pragma("GCC unroll 1") for (int64_t j = 0, at = r * n; j < count; j++, at += n) {
            vf s = v_zero();
            _Pragma("GCC unroll 8") for (int i = 0; i < vectors; i++) s = v_fma(held[i], v_get(type, x, at + i * SIMD_VL), s);
            if (!vectors)
                EACH_VECTOR(n, s = v_fma(v_load_n(q + i, left), v_get_n(type, x, at + i, left), s););
            sum[j] = s;
        }
        for (int64_t j = count; j < SIMD_VL; j++)
            sum[j] = v_zero();
        v_store(y + r, v_sums(sum));
    }
}

/* y[r] = the sum of q[i] x[r n + i]; a whole vector of y is written last */
static void query_keys(tt_dtype type, const float *q, const void *x, int64_t rows, int64_t n, float *y) {
#define CALL(T)                                                                                              \
    if (n == 4 * SIMD_VL)                                                                                    \
        query_keys_held(T, 4, q, x, rows, n, y);                                                             \
    else if (n == 8 * SIMD_VL)                                                                               \
        query_keys_held(T, 8, q, x, rows, n, y);                                                             \
    else                                                                                                     \
        query_keys_held(T, 0, q, x, rows, n, y);
    BY_TYPE(type, CALL);
#undef CALL
}

/* y[i] = the sum of w[r] x[r n + i] */
INLINE void query_values_typed(const tt_dtype type, const float *w, const void *x, int64_t rows, int64_t n, float *y) {
    for (int64_t i = 0; i < n; i += 4 * SIMD_VL) {
        vf sum[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
        for (int64_t r = 0; r < rows; r++) {
            const vf factor = v_set(w[r]);
            if (n - i >= 4 * SIMD_VL)
                _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) sum[j] =
                    v_fma(factor, v_get(type, x, r * n + i + j * SIMD_VL), sum[j]);
            else
                _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) sum[j] =
                    v_fma(factor, v_get_n(type, x, r * n + i + j * SIMD_VL, n - i - j * SIMD_VL), sum[j]);
        }
        _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) v_store_n(y + i + j * SIMD_VL, sum[j], n - i - j * SIMD_VL);
    }
}

static void query_values(tt_dtype type, const float *w, const void *x, int64_t rows, int64_t n, float *y) {
#define CALL(T) query_values_typed(T, w, x, rows, n, y)
    BY_TYPE(type, CALL);
#undef CALL
}

/* dst += src */
static void add(float *dst, const float *src, int64_t n) {
    EACH_VECTOR(n, v_store_n(dst + i, v_load_n(dst + i, left) + v_load_n(src + i, left), left););
}

/* kernel_depth.h - template: depthwise convolutions of channels that lie innermost. A vector of channels is read for each tap, as often
 * as arithmetic asks for it: there is nothing to turn, to pad or to keep. */

/* `cells` neighbouring outputs of one vector of channels from c on, a constant. */
INLINE void depth_block(const tt_dtype type, const int cells, const bool whole, const eng_depth *d, int64_t c, const void *x, void *y) {
    vf sum[8];
    _Pragma("GCC unroll 8") for (int j = 0; j < cells; j++) sum[j] = v_zero();
    for (int64_t t = 0; t < d->taps; t++) {
        const vf w = v_load(d->w + d->w_at[t] + c);
        const int64_t at = d->at[t] + c;
        _Pragma("GCC unroll 8") for (int j = 0; j < cells; j++) sum[j] =
            v_fma(w, whole ? v_get(type, x, at + j * d->x_step) : v_get_n(type, x, at + j * d->x_step, d->channels - c), sum[j]);
    }
    _Pragma("GCC unroll 8") for (int j = 0; j < cells; j++)
        if (whole)
            v_put(type, y, j * d->y_step + c, sum[j]);
        else
            v_put_n(type, y, j * d->y_step + c, sum[j], d->channels - c);
}

INLINE void depth_strip(const tt_dtype type, const int cells, const eng_depth *d, const void *x, void *y) {
    int64_t c = 0;
    for (; c + SIMD_VL <= d->channels; c += SIMD_VL)
        depth_block(type, cells, true, d, c, x, y);
    if (c < d->channels)
        depth_block(type, cells, false, d, c, x, y);
}

INLINE void depth_typed(const tt_dtype type, const eng_depth *d, const char *x, int64_t n, char *y) {
    const int64_t bytes = type == TT_F32 ? 4 : 2;
    for (int64_t i = 0; i < n;) {
        const int64_t left = n - i, cells = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
        const char *from = x + i * d->x_step * bytes;
        char *to = y + i * d->y_step * bytes;
        if (cells == 8)
            depth_strip(type, 8, d, from, to);
        else if (cells == 4)
            depth_strip(type, 4, d, from, to);
        else if (cells == 2)
            depth_strip(type, 2, d, from, to);
        else
            depth_strip(type, 1, d, from, to);
        i += cells;
    }
}

static void depth_row(tt_dtype type, const eng_depth *d, const void *x, int64_t n, void *y) {
    if (type == TT_F32)
        depth_typed(TT_F32, d, x, n, y);
    else if (type == TT_BF16)
        depth_typed(TT_BF16, d, x, n, y);
    else
        depth_typed(TT_F16, d, x, n, y);
}

/* ---- gradients of weights: a sum for each tap, over neighbouring cells of y's gradient ---- */
INLINE void depth_sums(const tt_dtype type, const int taps, const bool whole, const eng_depth *d, int64_t first, int64_t c, const void *x,
                       const void *g, int64_t n, float *sums) {
    const int64_t *at = d->at + first;
    const int64_t left = d->channels - c;
    vf sum[9];
    _Pragma("GCC unroll 9") for (int t = 0; t < taps; t++) sum[t] = v_zero();
    for (int64_t i = 0; i < n; i++) {
        const vf gv = whole ? v_get(type, g, i * d->y_step + c) : v_get_n(type, g, i * d->y_step + c, left);
        const int64_t from = i * d->x_step + c;
        _Pragma("GCC unroll 9") for (int t = 0; t < taps; t++) sum[t] =
            v_fma(gv, whole ? v_get(type, x, at[t] + from) : v_get_n(type, x, at[t] + from, left), sum[t]);
    }
    _Pragma("GCC unroll 9") for (int t = 0; t < taps; t++) {
        float *to = sums + d->w_at[first + t] + c;
        v_store(to, v_load(to) + sum[t]);
    }
}

INLINE void depth_sums_all(const tt_dtype type, const int taps, const eng_depth *d, int64_t t, const void *x, const void *g, int64_t n, float *sums) {
    int64_t c = 0;
    for (; c + SIMD_VL <= d->channels; c += SIMD_VL)
        depth_sums(type, taps, true, d, t, c, x, g, n, sums);
    if (c < d->channels)
        depth_sums(type, taps, false, d, t, c, x, g, n, sums);
}

INLINE void depth_grad_typed(const tt_dtype type, const eng_depth *d, const void *x, const void *g, int64_t n, float *sums) {
    for (int64_t t = 0; t < d->taps;) {
        const int64_t left = d->taps - t, taps = left >= 9 ? 9 : left >= 6 ? 6 : left >= 3 ? 3 : 1;
        if (taps == 9)
            depth_sums_all(type, 9, d, t, x, g, n, sums);
        else if (taps == 6)
            depth_sums_all(type, 6, d, t, x, g, n, sums);
        else if (taps == 3)
            depth_sums_all(type, 3, d, t, x, g, n, sums);
        else
            depth_sums_all(type, 1, d, t, x, g, n, sums);
        t += taps;
    }
}

static void depth_grad(tt_dtype type, const eng_depth *d, const void *x, const void *g, int64_t n, float *sums) {
    if (type == TT_F32)
        depth_grad_typed(TT_F32, d, x, g, n, sums);
    else if (type == TT_BF16)
        depth_grad_typed(TT_BF16, d, x, g, n, sums);
    else
        depth_grad_typed(TT_F16, d, x, g, n, sums);
}

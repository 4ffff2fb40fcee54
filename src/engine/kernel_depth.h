/* kernel_depth.h - template: depthwise convolutions of channels that lie innermost. A vector of channels is read for each tap, as often
 * as arithmetic asks for it: there is nothing to turn, to pad or to keep. */

/* `cells` neighbouring outputs of one vector of channels from c on. Taps are runs of `run` neighbours (1: any taps), and cells `step` of these
 * apart: every vector of x is read once a run. All are constants. */
INLINE void depth_runs(const tt_dtype type, const int cells, const int run, const int step, const bool whole, const eng_depth *d, int64_t c,
                       const void *x, void *y) {
    const int64_t next = step == 1 ? d->x_step : d->x_step / step;
    vf sum[8];
    _Pragma("GCC unroll 8") for (int j = 0; j < cells; j++) sum[j] = v_zero();
    for (int64_t t = 0; t < d->taps; t += run) {
        vf w[5];
        _Pragma("GCC unroll 5") for (int k = 0; k < run; k++) w[k] = v_load(d->w + d->w_at[t + k] + c);
        const int64_t at = d->at[t] + c;
        _Pragma("GCC unroll 24") for (int i = 0; i < (cells - 1) * step + run; i++) {
            const vf xv = whole ? v_get(type, x, at + i * next) : v_get_n(type, x, at + i * next, d->channels - c);
            _Pragma("GCC unroll 5") for (int k = 0; k < run; k++)
                if (i >= k && (i - k) % step == 0 && (i - k) / step < cells)
                    sum[(i - k) / step] = v_fma(w[k], xv, sum[(i - k) / step]);
        }
    }
    _Pragma("GCC unroll 8") for (int j = 0; j < cells; j++)
        if (whole)
            v_put(type, y, j * d->y_step + c, sum[j]);
        else
            v_put_n(type, y, j * d->y_step + c, sum[j], d->channels - c);
}

INLINE void depth_cells(const tt_dtype type, const int cells, const bool whole, const eng_depth *d, int64_t c, const void *x, void *y) {
    if (cells < 4 || !d->run)
        depth_runs(type, cells, 1, 1, whole, d, c, x, y);
    else if (d->run == 3 && d->step == 1)
        depth_runs(type, cells, 3, 1, whole, d, c, x, y);
    else if (d->run == 3)
        depth_runs(type, cells, 3, 2, whole, d, c, x, y);
    else
        depth_runs(type, cells, 5, 1, whole, d, c, x, y);
}

/* Of all channels; rows, which share most of what they read, are the inner loop. */
INLINE void depth_strip(const tt_dtype type, const int cells, const eng_depth *d, const char *x, char *y) {
    const int64_t bytes = type == TT_F32 ? 4 : 2, whole = d->channels / SIMD_VL * SIMD_VL;
    for (int64_t c = 0; c < d->channels; c += SIMD_VL)
        for (int64_t r = 0; r < d->rows; r++) {
            const char *from = x + r * d->x_row * bytes;
            char *to = y + r * d->y_row * bytes;
            if (c < whole)
                depth_cells(type, cells, true, d, c, from, to);
            else
                depth_cells(type, cells, false, d, c, from, to);
        }
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
#define CALL(T) depth_typed(T, d, x, n, y)
    BY_TYPE(type, CALL);
#undef CALL
}

/* ---- gradients of weights: a sum for each tap, over neighbouring cells of y's gradient ---- */
/* `rows` runs of taps, constants as above; run 1: any taps. */
INLINE void depth_sums(const tt_dtype type, const int rows, const int run, const int step, const bool whole, const eng_depth *d, int64_t first,
                       int64_t c, const void *x, const void *g, int64_t n, float *sums) {
    const int64_t left = d->channels - c, next = step == 1 ? d->x_step : d->x_step / step;
    vf sum[9][5], kept[9][5];
    _Pragma("GCC unroll 9") for (int r = 0; r < rows; r++) _Pragma("GCC unroll 5") for (int k = 0; k < run; k++) {
        const int64_t at = d->at[first + r * run] + c + k * next;
        sum[r][k] = v_zero();
        kept[r][k] = k + step >= run ? v_zero() : whole ? v_get(type, x, at) : v_get_n(type, x, at, left);
    }
    _Pragma("GCC unroll 3") for (int64_t i = 0; i < n; i++) {
        const vf gv = whole ? v_get(type, g, i * d->y_step + c) : v_get_n(type, g, i * d->y_step + c, left);
        _Pragma("GCC unroll 9") for (int r = 0; r < rows; r++) {
            const int64_t at = d->at[first + r * run] + c + i * d->x_step;
            _Pragma("GCC unroll 5") for (int k = run > step ? run - step : 0; k < run; k++) kept[r][k] =
                whole ? v_get(type, x, at + k * next) : v_get_n(type, x, at + k * next, left);
            _Pragma("GCC unroll 5") for (int k = 0; k < run; k++) sum[r][k] = v_fma(gv, kept[r][k], sum[r][k]);
            _Pragma("GCC unroll 5") for (int k = 0; k + step < run; k++) kept[r][k] = kept[r][k + step];
        }
    }
    _Pragma("GCC unroll 9") for (int r = 0; r < rows; r++) _Pragma("GCC unroll 5") for (int k = 0; k < run; k++) {
        float *to = sums + d->w_at[first + r * run + k] + c;
        v_store(to, v_load(to) + sum[r][k]);
    }
}

INLINE void depth_sums_all(const tt_dtype type, const int rows, const int run, const int step, const eng_depth *d, int64_t t, const void *x,
                           const void *g, int64_t n, float *sums) {
    int64_t c = 0;
    for (; c + SIMD_VL <= d->channels; c += SIMD_VL)
        depth_sums(type, rows, run, step, true, d, t, c, x, g, n, sums);
    if (c < d->channels)
        depth_sums(type, rows, run, step, false, d, t, c, x, g, n, sums);
}

INLINE void depth_grad_typed(const tt_dtype type, const eng_depth *d, const void *x, const void *g, int64_t n, float *sums) {
    for (int64_t t = 0; t < d->taps;) {
        const int64_t left = d->run ? (d->taps - t) / d->run : d->taps - t;
#define DEPTH_SUMS(ROWS, RUN, STEP)                                                                          \
    do {                                                                                                     \
        depth_sums_all(type, ROWS, RUN, STEP, d, t, x, g, n, sums);                                          \
        t += (ROWS) * (RUN);                                                                                 \
    } while (0)
        if (d->run == 3 && d->step == 1) {
            if (left >= 3)
                DEPTH_SUMS(3, 3, 1);
            else if (left == 2)
                DEPTH_SUMS(2, 3, 1);
            else
                DEPTH_SUMS(1, 3, 1);
        } else if (d->run == 3) {
            if (left >= 3)
                DEPTH_SUMS(3, 3, 2);
            else if (left == 2)
                DEPTH_SUMS(2, 3, 2);
            else
                DEPTH_SUMS(1, 3, 2);
        } else if (d->run == 5) {
            if (left >= 2)
                DEPTH_SUMS(2, 5, 1);
            else
                DEPTH_SUMS(1, 5, 1);
        } else if (left >= 9) {
            DEPTH_SUMS(9, 1, 1);
        } else if (left >= 3) {
            DEPTH_SUMS(3, 1, 1);
        } else {
            DEPTH_SUMS(1, 1, 1);
        }
#undef DEPTH_SUMS
    }
}

static void depth_grad(tt_dtype type, const eng_depth *d, const void *x, const void *g, int64_t n, float *sums) {
#define CALL(T) depth_grad_typed(T, d, x, g, n, sums)
    BY_TYPE(type, CALL);
#undef CALL
}

/* kernel_stream.h - template: y += x B with few rows of x and B [k, n] row-major, bound by reading B once. */

/* y += x B for `rows` rows, `depth` rows of B at a time so that y is touched once per depth */
INLINE void stream_body(const int kind, const int rows, const int depth, int64_t n, int64_t k, const float *x,
                        int64_t ldx, const char *b, int64_t ldb, float *y, int64_t ldy) {
    const int bytes = kind == WORD_F32 ? 4 : 2;
    for (int64_t at = 0; at < k; at += depth) {
        const int m = k - at < depth ? (int)(k - at) : depth;
        vf xv[ENG_STREAM_ROWS][8];
        const char *bp[8];
        _Pragma("GCC unroll 8") for (int d = 0; d < depth; d++) {
            /* past the end the last row again, times zero, would turn inf into NaN: such steps are cut short
             * below */
            bp[d] = b + (at + (d < m ? d : 0)) * ldb * bytes;
            _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) xv[r][d] =
                v_set(d < m ? x[r * ldx + at + d] : 0.f);
        }
        if (m == depth) {
            int64_t j = 0;
            for (; j + SIMD_VL <= n; j += SIMD_VL) {
                vf bv[8];
                _Pragma("GCC unroll 8") for (int d = 0; d < depth; d++) bv[d] =
                    word_load(kind, bp[d] + j * bytes, SIMD_VL);
                _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) {
                    vf sum = v_load(y + r * ldy + j);
                    _Pragma("GCC unroll 8") for (int d = 0; d < depth; d++) sum = v_fma(xv[r][d], bv[d], sum);
                    v_store(y + r * ldy + j, sum);
                }
            }
            if (j < n)
                for (int r = 0; r < rows; r++) {
                    vf sum = v_load_n(y + r * ldy + j, n - j);
                    for (int d = 0; d < depth; d++)
                        sum = v_fma(xv[r][d], word_load(kind, bp[d] + j * bytes, n - j), sum);
                    v_store_n(y + r * ldy + j, sum, n - j);
                }
            continue;
        }
        for (int64_t j = 0; j < n; j += SIMD_VL)
            for (int r = 0; r < rows; r++) {
                vf sum = v_load_n(y + r * ldy + j, n - j);
                for (int d = 0; d < m; d++)
                    sum = v_fma(xv[r][d], word_load(kind, bp[d] + j * bytes, n - j), sum);
                v_store_n(y + r * ldy + j, sum, n - j);
            }
    }
}

#if SIMD == 512
#define STREAM_DEPTH(ROWS) (ROWS <= 2 ? 8 : 4)
#else
#define STREAM_DEPTH(ROWS) (ROWS == 1 ? 4 : 2)
#endif
#define STREAM_DEFINE(NAME, KIND)                                                                            \
    static void stream_##NAME(int rows, int64_t n, int64_t k, const float *x, int64_t ldx, const void *b,    \
                              int64_t ldb, float *y, int64_t ldy) {                                          \
        switch (rows) {                                                                                      \
        case 1:                                                                                              \
            stream_body(KIND, 1, STREAM_DEPTH(1), n, k, x, ldx, b, ldb, y, ldy);                             \
            break;                                                                                           \
        case 2:                                                                                              \
            stream_body(KIND, 2, STREAM_DEPTH(2), n, k, x, ldx, b, ldb, y, ldy);                             \
            break;                                                                                           \
        case 3:                                                                                              \
            stream_body(KIND, 3, STREAM_DEPTH(3), n, k, x, ldx, b, ldb, y, ldy);                             \
            break;                                                                                           \
        default:                                                                                             \
            stream_body(KIND, 4, STREAM_DEPTH(4), n, k, x, ldx, b, ldb, y, ldy);                             \
        }                                                                                                    \
    }
STREAM_DEFINE(f32, WORD_F32)
STREAM_DEFINE(bf16, WORD_BF16)
STREAM_DEFINE(f16, WORD_F16)

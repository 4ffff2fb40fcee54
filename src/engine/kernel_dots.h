/* kernel_dots.h - template: C = A B^T with few rows of A as dot products, bound by reading B once.
 *
 * Included once per kind of word with DOTS(name), DOTS_KIND (kernel_pack.h) and DOTS_FMA. A is f32, but bf16
 * if words are pairs. Every element has one accumulator, so results do not depend on how rows are grouped. */

/* `rows` and `cols` are constants in every caller. */
INLINE void DOTS(body)(const int rows, const int cols, int64_t k, const void *a, int64_t lda, const void *b,
                       int64_t ldb, float *c, int64_t ldc) {
    const int kind = DOTS_KIND;
    const int a_kind = kind == WORD_PAIR ? WORD_PAIR : WORD_F32, a_bytes = kind == WORD_PAIR ? 2 : 4;
    const int b_bytes = kind == WORD_F32 ? 4 : 2, step = kind == WORD_PAIR ? 2 * SIMD_VL : SIMD_VL;
    const char *ap[8], *bp[6];
    vf sum[8][6], bv[6];
    _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++) {
        ap[i] = (const char *)a + i * lda * a_bytes;
        _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) sum[i][j] = v_zero();
    }
    _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) bp[j] = (const char *)b + j * ldb * b_bytes;
    int64_t at = 0, whole = k - k % step;
    for (; at < whole; at += step) {
        _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) bv[j] =
            word_load(kind, bp[j] + at * b_bytes, step);
        _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++) {
            vf av = word_load(a_kind, ap[i] + at * a_bytes, step);
            _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) sum[i][j] = DOTS_FMA(av, bv[j], sum[i][j]);
        }
    }
    if (at < k) {
        _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) bv[j] =
            word_load(kind, bp[j] + at * b_bytes, k - at);
        _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++) {
            vf av = word_load(a_kind, ap[i] + at * a_bytes, k - at);
            _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) sum[i][j] = DOTS_FMA(av, bv[j], sum[i][j]);
        }
    }
    vf done[8 * 6]; /* a plain loop over them: unrolled it would be most of the code */
    _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++)
        _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) done[i * cols + j] = sum[i][j];
    _Pragma("GCC unroll 1") for (int i = 0; i < rows; i++)
        _Pragma("GCC unroll 1") for (int j = 0; j < cols; j++) c[i * ldc + j] = v_sum(done[i * cols + j]);
}

#define DOTS_DEFINE(ROWS, COLS)                                                                              \
    static void DOTS(ROWS)(int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb, float *c,      \
                           int64_t ldc, int64_t n) {                                                         \
        const int bytes = DOTS_KIND == WORD_F32 ? 4 : 2;                                                     \
        int64_t j = 0;                                                                                       \
        for (; j + COLS <= n; j += COLS)                                                                     \
            DOTS(body)(ROWS, COLS, k, a, lda, (const char *)b + j * ldb * bytes, ldb, c + j, ldc);           \
        for (; j < n; j++)                                                                                   \
            DOTS(body)(ROWS, 1, k, a, lda, (const char *)b + j * ldb * bytes, ldb, c + j, ldc);              \
    }
DOTS_DEFINE(1, 6)
#if SIMD == 512
DOTS_DEFINE(2, 6)
DOTS_DEFINE(3, 6)
DOTS_DEFINE(4, 6)
DOTS_DEFINE(5, 4)
DOTS_DEFINE(6, 4)
DOTS_DEFINE(7, 3)
DOTS_DEFINE(8, 3)
#else
DOTS_DEFINE(2, 4)
DOTS_DEFINE(3, 3)
DOTS_DEFINE(4, 2)
#endif
#undef DOTS_DEFINE
#undef DOTS
#undef DOTS_KIND
#undef DOTS_FMA

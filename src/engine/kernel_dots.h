/* kernel_dots.h - template: C = A B^T with few rows of A as dot products, bound by reading B once.
 *
 * Included once per kind of word with DOTS(name), DOTS_KIND (kernel_pack.h) and DOTS_FMA. A is packed, a vector of words
 * of each row in turn, and passes in blocks of k that the caches keep. Every element has one accumulator, so results
 * do not depend on how rows and columns are grouped. */

/* `rows` and `cols` are constants in every caller; part: the accumulators from block to block of k. Asks for the lines `ahead` bytes on. */
INLINE void DOTS(body)(const int rows, const int cols, int64_t k, const float *a, const char *b, int64_t ldb, int64_t ahead,
                       bool first, bool last, vf *part, float *c, int64_t ldc) {
    const int kind = DOTS_KIND, bytes = kind == WORD_F32 ? 4 : 2, step = kind == WORD_PAIR ? 2 * SIMD_VL : SIMD_VL;
    const char *bp[6];
    vf sum[8][6], bv[6];
    _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++)
        _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) sum[i][j] = first ? v_zero() : part[i * cols + j];
    _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) bp[j] = b + j * ldb * bytes;
    int64_t at = 0;
    for (; at + step <= k; at += step, a += rows * SIMD_VL) {
        _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) {
            bv[j] = word_load(kind, bp[j] + at * bytes, step);
            if (rows >= DOTS_ASK)
                __builtin_prefetch(bp[j] + at * bytes + ahead, 0, 2);
        }
        _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++) {
            vf av = v_load(a + i * SIMD_VL);
            V_KEEP(av);
            _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) sum[i][j] = DOTS_FMA(av, bv[j], sum[i][j]);
        }
    }
    if (at < k) {
        _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) bv[j] = word_load(kind, bp[j] + at * bytes, k - at);
        _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++) {
            vf av = v_load(a + i * SIMD_VL);
            V_KEEP(av);
            _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) sum[i][j] = DOTS_FMA(av, bv[j], sum[i][j]);
        }
    }
    _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++)
        _Pragma("GCC unroll 6") for (int j = 0; j < cols; j++) part[i * cols + j] = sum[i][j];
    if (last) /* a plain loop over them: unrolled it would be most of the code */
        _Pragma("GCC unroll 1") for (int i = 0; i < rows; i++)
            _Pragma("GCC unroll 1") for (int j = 0; j < cols; j++) c[i * ldc + j] = v_sum(part[i * cols + j]);
}

#define DOTS_DEFINE(ROWS, COLS)                                                                              \
    static void DOTS(ROWS)(int64_t k, const void *a, const void *b, int64_t ldb, float *c, int64_t ldc,      \
                           int64_t n) {                                                                      \
        enum { BYTES = DOTS_KIND == WORD_F32 ? 4 : 2, PER = DOTS_KIND == WORD_PAIR ? 2 : 1 };                \
        const int64_t step = DOTS_BLOCK * PER;                                                               \
        vf part[DOTS_GROUP * ROWS];                                                                          \
        for (int64_t from = 0; from < n; from += DOTS_GROUP) {                                               \
            const int64_t cols = n - from < DOTS_GROUP ? n - from : DOTS_GROUP;                              \
            for (int64_t at = 0; at < k; at += step) {                                                       \
                const bool last = at + step >= k;                                                            \
                const int64_t kc = last ? k - at : step;                                                     \
                const int64_t ahead = !last ? step : from + DOTS_GROUP < n ? DOTS_GROUP * ldb - at : 0;      \
                const char *bp = (const char *)b + (from * ldb + at) * BYTES;                                \
                const float *ap = (const float *)a + at / PER * ROWS;                                        \
                int64_t j = 0;                                                                               \
                for (; j + COLS <= cols; j += COLS)                                                          \
                    DOTS(body)(ROWS, COLS, kc, ap, bp + j * ldb * BYTES, ldb, ahead * BYTES, at == 0, last,  \
                               part + j * ROWS, c + from + j, ldc);                                          \
                for (; j < cols; j++)                                                                        \
                    DOTS(body)(ROWS, 1, kc, ap, bp + j * ldb * BYTES, ldb, ahead * BYTES, at == 0, last,     \
                               part + j * ROWS, c + from + j, ldc);                                          \
            }                                                                                                \
        }                                                                                                    \
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

/* rows of elements -> a vector of words of each in turn, the last one filled up with zeros */
static void DOTS(pack)(void *dst, int rows, const void *a, int64_t lda, int64_t k) {
    enum { BYTES = DOTS_KIND == WORD_F32 ? 4 : 2, STEP = DOTS_KIND == WORD_PAIR ? 2 * SIMD_VL : SIMD_VL };
    float *to = dst;
    for (int64_t at = 0; at < k; at += STEP)
        for (int i = 0; i < rows; i++, to += SIMD_VL)
            v_store(to, word_load(DOTS_KIND, (const char *)a + (i * lda + at) * BYTES, k - at));
}
#undef DOTS
#undef DOTS_KIND
#undef DOTS_FMA

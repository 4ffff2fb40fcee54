/* kernel_tile.h - template: the microkernel of all products, an outer-product tile held in registers.
 *
 * Included once per word type with TILE(name), TILE_T (word as the sums' type), TILE_V and TILE_VL (vector
 * and its lanes), TILE_LOAD, TILE_LOAD_N, TILE_STORE, TILE_STORE_N, TILE_SET, TILE_FMA, and perhaps TILE_ROUND(c, low, high), which
 * stores two vectors as 16-bit elements. Every element of C is one chain over k, so results do not depend on how C is cut into
 * tiles. */

/* sum += A B. Constants in every caller: `mr`, `nv` (vectors of columns), `packed`, and `whole` (n reaches all of their lanes). Rows that
 * lie apart are met from every third one: the processor adds one, two, four or eight times their distance by itself. */
INLINE void TILE(steps)(const int mr, const int nv, const bool packed, const bool whole, int64_t words, const char *a, int64_t row_bytes,
                        int64_t word_bytes, const TILE_T *b, int64_t ldb, int64_t n, TILE_V sum[ENG_MAX_MR][2]) {
    static const int third[ENG_MAX_MR] = {0, 0, 0, 1, 0, 1, 2, 1, 0, 3, 2, 1, 4, 3}, times[ENG_MAX_MR] = {0, 1, 2, 0, 4, 2, 0, 4, 8, 0, 4, 8, 0, 4};
    const char *from[5];
    _Pragma("GCC unroll 5") for (int t = 0; t < 5; t++) from[t] = a + (3 * t < mr ? 3 * t : 0) * row_bytes;
    for (int64_t k = 0; k < words; k++) {
        TILE_V bv[2];
        _Pragma("GCC unroll 2") for (int j = 0; j < nv; j++) bv[j] =
            whole ? TILE_LOAD(b + j * TILE_VL) : TILE_LOAD_N(b + j * TILE_VL, n - j * TILE_VL);
        _Pragma("GCC unroll 14") for (int i = 0; i < mr; i++) {
            TILE_T word;
            memcpy(&word, packed ? a + i * row_bytes : from[third[i]] + times[i] * row_bytes, sizeof word);
            TILE_V av = TILE_SET(word);
            _Pragma("GCC unroll 2") for (int j = 0; j < nv; j++) sum[i][j] = TILE_FMA(av, bv[j], sum[i][j]);
        }
        a += word_bytes;
        b += ldb;
        _Pragma("GCC unroll 5") for (int t = 0; t < 5 && !packed; t++) {
            from[t] += word_bytes;
            __asm__("" : "+r"(from[t])); /* or all would be kept as distances from one */
        }
    }
}

INLINE void TILE(body)(const int mr, const int nv, const bool packed, int64_t words, const void *a, int64_t row_bytes, int64_t word_bytes,
                       const TILE_T *b, int64_t ldb, TILE_T *c, int64_t ldc, bool accumulate, int64_t n, const TILE_T *factors) {
    TILE_V sum[ENG_MAX_MR][2];
    _Pragma("GCC unroll 14") for (int i = 0; i < mr; i++) _Pragma("GCC unroll 2") for (int j = 0; j < nv; j++)
        sum[i][j] = TILE_SET(0);
    if (packed) {
        row_bytes = sizeof(TILE_T);
        word_bytes = mr * (int64_t)sizeof(TILE_T);
    }
    _Pragma("GCC unroll 14") for (int i = 0; packed && i < mr; i++) for (int j = 0; j < nv; j++)
        v_prefetch(c + i * ldc + j * TILE_VL);
    if (packed || n >= nv * TILE_VL)
        TILE(steps)(mr, nv, packed, true, words, a, row_bytes, word_bytes, b, ldb, n, sum);
    else
        TILE(steps)(mr, nv, packed, false, words, a, row_bytes, word_bytes, b, ldb, n, sum);
    if (n < nv * TILE_VL) { /* by a plain loop: edges are few, and their code unrolled is most of a tile's */
        TILE_V rest[ENG_MAX_MR][2];
        _Pragma("GCC unroll 14") for (int i = 0; i < mr; i++) _Pragma("GCC unroll 2") for (int j = 0; j < nv; j++)
            rest[i][j] = sum[i][j];
        _Pragma("GCC unroll 1") for (int i = 0; i < mr; i++, c += ldc) _Pragma("GCC unroll 2") for (int j = 0; j < nv; j++) {
            const int64_t left = n - j * TILE_VL;
            TILE_V v = rest[i][j];
            if (accumulate)
                v += TILE_LOAD_N(c + j * TILE_VL, left);
            if (factors)
                v *= TILE_SET(factors[i]);
            TILE_STORE_N(c + j * TILE_VL, v, left);
        }
        return;
    }
    if (accumulate)
        _Pragma("GCC unroll 14") for (int i = 0; i < mr; i++) _Pragma("GCC unroll 2") for (int j = 0; j < nv; j++)
            sum[i][j] += TILE_LOAD(c + i * ldc + j * TILE_VL);
    if (factors)
        _Pragma("GCC unroll 14") for (int i = 0; i < mr; i++) _Pragma("GCC unroll 2") for (int j = 0; j < nv; j++)
            sum[i][j] *= TILE_SET(factors[i]);
    _Pragma("GCC unroll 14") for (int i = 0; i < mr; i++) _Pragma("GCC unroll 2") for (int j = 0; j < nv; j++)
        TILE_STORE(c + i * ldc + j * TILE_VL, sum[i][j]);
}

INLINE void TILE(lanes_body)(const int mr, int64_t words, const char *a, int64_t row_bytes, const int32_t *a_at, const char *b0,
                             const char *b1, const int32_t *b_at, const char *next, const int32_t *next_at, TILE_T *c,
                             int64_t ldc, bool accumulate) {
    TILE_V sum[ENG_MAX_MR][2];
    _Pragma("GCC unroll 14") for (int i = 0; i < mr; i++) sum[i][0] = sum[i][1] = TILE_SET(0);
    _Pragma("GCC unroll 14") for (int i = 0; i < mr; i++) {
        v_prefetch(c + i * ldc);
        v_prefetch(c + i * ldc + TILE_VL);
    }
    for (int64_t k = 0; k < words; k++) {
        const char *ak = a + a_at[k];
        __builtin_prefetch(next + next_at[k], 0, 2);
        const TILE_V bv[2] = {TILE_LOAD((const TILE_T *)(const void *)(b0 + b_at[k])), TILE_LOAD((const TILE_T *)(const void *)(b1 + b_at[k]))};
        _Pragma("GCC unroll 14") for (int i = 0; i < mr; i++) {
            TILE_T word;
            memcpy(&word, ak + i * row_bytes, sizeof word);
            const TILE_V av = TILE_SET(word);
            sum[i][0] = TILE_FMA(av, bv[0], sum[i][0]);
            sum[i][1] = TILE_FMA(av, bv[1], sum[i][1]);
        }
    }
    _Pragma("GCC unroll 14") for (int i = 0; i < mr; i++, c += ldc) {
        TILE_STORE(c, accumulate ? sum[i][0] + TILE_LOAD(c) : sum[i][0]);
        TILE_STORE(c + TILE_VL, accumulate ? sum[i][1] + TILE_LOAD(c + TILE_VL) : sum[i][1]);
    }
}

#ifdef TILE_ROUND
INLINE void TILE(rounded_body)(const int mr, int64_t words, const char *a, int64_t row_bytes, int64_t word_bytes, const TILE_T *b,
                               int64_t ldb, uint16_t *c, int64_t ldc) {
    TILE_V sum[ENG_MAX_MR][2];
    _Pragma("GCC unroll 14") for (int i = 0; i < mr; i++) sum[i][0] = sum[i][1] = TILE_SET(0);
    for (int64_t k = 0; k < words; k++, a += word_bytes, b += ldb) {
        const TILE_V bv[2] = {TILE_LOAD(b), TILE_LOAD(b + TILE_VL)};
        _Pragma("GCC unroll 14") for (int i = 0; i < mr; i++) {
            TILE_T word;
            memcpy(&word, a + i * row_bytes, sizeof word);
            const TILE_V av = TILE_SET(word);
            sum[i][0] = TILE_FMA(av, bv[0], sum[i][0]);
            sum[i][1] = TILE_FMA(av, bv[1], sum[i][1]);
        }
    }
    _Pragma("GCC unroll 14") for (int i = 0; i < mr; i++) TILE_ROUND(c + i * ldc, sum[i][0], sum[i][1]);
}
#define TILE_DEFINE(MR)                                                                                      \
    static void TILE(rounded_##MR)(int64_t words, const void *a, int64_t row_bytes, int64_t word_bytes,      \
                                   const void *b, int64_t ldb, void *c, int64_t ldc) {                       \
        TILE(rounded_body)(MR, words, a, row_bytes, word_bytes, b, ldb, c, ldc);                             \
    }
TILE_EACH(TILE_DEFINE)
#undef TILE_DEFINE
#undef TILE_ROUND
#endif

#define TILE_DEFINE(MR)                                                                                      \
    static void TILE(packed_##MR)(int64_t words, const void *a, const void *b, void *c, int64_t ldc,         \
                                  bool accumulate, int64_t n) {                                              \
        TILE(body)(MR, 2, true, words, a, 0, 0, b, 2 * TILE_VL, c, ldc, accumulate, n, NULL);                \
    }                                                                                                        \
    static void TILE(lanes_##MR)(int64_t words, const void *a, int64_t row_bytes, const int32_t *a_at,       \
                                 const void *b0, const void *b1, const int32_t *b_at, const void *next,      \
                                 const int32_t *next_at, void *c, int64_t ldc, bool accumulate) {            \
        TILE(lanes_body)(MR, words, a, row_bytes, a_at, b0, b1, b_at, next, next_at, c, ldc, accumulate);    \
    }                                                                                                        \
    static void TILE(direct1_##MR)(int64_t words, const void *a, int64_t row_bytes, int64_t word_bytes,      \
                                   const void *b, int64_t ldb, void *c, int64_t ldc, bool accumulate,        \
                                   int64_t n, const void *factors) {                                         \
        TILE(body)(MR, 1, false, words, a, row_bytes, word_bytes, b, ldb, c, ldc, accumulate, n, factors);   \
    }                                                                                                        \
    static void TILE(direct2_##MR)(int64_t words, const void *a, int64_t row_bytes, int64_t word_bytes,      \
                                   const void *b, int64_t ldb, void *c, int64_t ldc, bool accumulate,        \
                                   int64_t n, const void *factors) {                                         \
        TILE(body)(MR, 2, false, words, a, row_bytes, word_bytes, b, ldb, c, ldc, accumulate, n, factors);   \
    }
TILE_EACH(TILE_DEFINE)
#undef TILE_DEFINE
#undef TILE
#undef TILE_T
#undef TILE_V
#undef TILE_VL
#undef TILE_LOAD
#undef TILE_LOAD_N
#undef TILE_STORE
#undef TILE_STORE_N
#undef TILE_SET
#undef TILE_FMA

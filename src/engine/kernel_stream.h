/* kernel_stream.h - template: y += x B with few rows of x and B [k, n] row-major, bound by reading B once.
 *
 * Included once per kind of word with STREAM(name), STREAM_KIND (kernel_pack.h) and STREAM_FMA. B passes through
 * registers, STREAM_DEPTH words deep and two vectors wide, and every row of x takes its turn with them: x is a panel as
 * tiles read it, y stays in L1. Every element of y is one chain over k. */

/* Two vectors of words of B; `both`: a pair has its second row. */
INLINE void STREAM(words)(const char *b, int64_t row_bytes, bool both, int64_t n, vf *low, vf *high) {
#if SIMD == 512
    if (STREAM_KIND == WORD_PAIR) {
        pair_words(b, b + row_bytes, both, n, low, high);
        return;
    }
#endif
    const int bytes = STREAM_KIND == WORD_F32 ? 4 : 2;
    *low = word_load(STREAM_KIND, b, n);
    *high = word_load(STREAM_KIND, b + SIMD_VL * bytes, n - SIMD_VL);
    (void)row_bytes;
    (void)both;
}

/* `depth` words of at most two vectors of columns, n of them; asks for the lines `ahead`. */
INLINE void STREAM(columns)(const int depth, const bool asks, int rows, const float *x, const char *b, int64_t row_bytes,
                            int64_t ahead, bool both, int64_t n, float *y, int64_t ldy) {
    const int per = STREAM_KIND == WORD_PAIR ? 2 : 1, run = 2 * SIMD_VL * (STREAM_KIND == WORD_F32 ? 4 : 2);
    vf low[STREAM_DEPTH], high[STREAM_DEPTH];
    _Pragma("GCC unroll 8") for (int d = 0; d < depth; d++, b += per * row_bytes) {
        STREAM(words)(b, row_bytes, both, n, &low[d], &high[d]);
        _Pragma("GCC unroll 2") for (int row = 0; asks && row < per; row++)
            _Pragma("GCC unroll 2") for (int line = 0; line < run; line += 64)
                __builtin_prefetch(b + row * row_bytes + ahead + line, 0, 2);
    }
    _Pragma("GCC unroll 1") for (int r = 0; r < rows; r++, x++, y += ldy) {
        vf a = v_load_n(y, n), c = v_load_n(y + SIMD_VL, n - SIMD_VL);
        _Pragma("GCC unroll 8") for (int d = 0; d < depth; d++) {
            const vf word = v_set(x[d * rows]);
            a = STREAM_FMA(word, low[d], a);
            c = STREAM_FMA(word, high[d], c);
        }
        v_store_n(y, a, n);
        v_store_n(y + SIMD_VL, c, n - SIMD_VL);
    }
}

/* `next`: bytes to the rows that follow these, which are asked for at the end of them. */
INLINE void STREAM(rows)(const int depth, const bool asks, int rows, const float *x, const char *b, int64_t row_bytes,
                         int64_t next, bool both, int64_t n, float *y, int64_t ldy) {
    const int bytes = STREAM_KIND == WORD_F32 ? 4 : 2;
    const int64_t distance = STREAM_AHEAD / bytes;
    int64_t j = 0;
    for (; j + 2 * SIMD_VL <= n; j += 2 * SIMD_VL)
        STREAM(columns)(depth, asks, rows, x, b + j * bytes, row_bytes,
                        j + distance < n ? STREAM_AHEAD : next + (distance - n) * bytes, both, 2 * SIMD_VL, y + j, ldy);
    if (j < n)
        STREAM(columns)(depth, false, rows, x, b + j * bytes, row_bytes, 0, both, n - j, y + j, ldy);
}

static void STREAM(all)(int rows, int64_t n, int64_t k, const void *x, const void *b, int64_t ldb, float *y, int64_t ldy) {
    enum { PER = STREAM_KIND == WORD_PAIR ? 2 : 1, STEP = STREAM_DEPTH * PER };
    const int64_t row_bytes = ldb * (STREAM_KIND == WORD_F32 ? 4 : 2);
    const float *words = x;
    const char *from = b;
    int64_t at = 0;
    for (; at + STEP <= k; at += STEP, words += STREAM_DEPTH * rows, from += STEP * row_bytes)
        if (rows == 1) /* up to two rows the processor asks for lines early enough */
            STREAM(rows)(STREAM_DEPTH, false, 1, words, from, row_bytes, 0, true, n, y, ldy);
        else if (rows == 2)
            STREAM(rows)(STREAM_DEPTH, false, rows, words, from, row_bytes, 0, true, n, y, ldy);
        else
            STREAM(rows)(STREAM_DEPTH, true, rows, words, from, row_bytes, STEP * row_bytes, true, n, y, ldy);
    for (; at < k; at += PER, words += rows, from += PER * row_bytes)
        STREAM(rows)(1, false, rows, words, from, row_bytes, 0, at + PER <= k, n, y, ldy);
}
#undef STREAM
#undef STREAM_KIND
#undef STREAM_FMA

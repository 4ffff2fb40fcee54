/* kernel_stream.h - template: y += x B with few rows of x and B [k, n] row-major, bound by reading B once.
 *
 * Included once per kind of word with STREAM(name), STREAM_KIND (kernel_pack.h) and STREAM_FMA. B passes through registers, some words
 * deep and some vectors wide, and every row of x takes its turn with them: x is packed as for dots, y stays in the caches. Every
 * element of y is one chain over k. */

/* Rows of f32 are followed by the processor if there are many, a line of each in turn; for lines of 16-bit rows it has to be asked. */
#define STREAM_DEPTH (STREAM_KIND == WORD_F32 ? SIMD_VL : 4)
#define STREAM_WIDE  (STREAM_KIND == WORD_F32 ? 1 : SIMD == 512 ? 4 : 2)
enum { STREAM(AHEAD) = STREAM_KIND == WORD_F32 ? 0 : 1024 };

/* `wide` vectors of words of B; `both`: a pair has its second row. */
INLINE void STREAM(words)(const char *b, int64_t row_bytes, bool both, int64_t n, vf *word) {
#if SIMD == 512
    if (STREAM_KIND == WORD_PAIR) {
        _Pragma("GCC unroll 4") for (int v = 0; v < STREAM_WIDE; v += 2)
            pair_words(b + 32 * v, b + row_bytes + 32 * v, both, n - SIMD_VL * v, &word[v], &word[v + 1]);
        return;
    }
#endif
    const int bytes = STREAM_KIND == WORD_F32 ? 4 : 2;
    _Pragma("GCC unroll 4") for (int v = 0; v < STREAM_WIDE; v++)
        word[v] = word_load(STREAM_KIND, b + v * SIMD_VL * bytes, n - v * SIMD_VL);
    (void)row_bytes;
    (void)both;
}

/* `depth` words of at most STREAM_WIDE vectors of columns, n of them; asks for the lines `ahead`. */
INLINE void STREAM(columns)(const int depth, int rows, const float *x, const char *b, int64_t row_bytes, int64_t ahead,
                            bool both, int64_t n, float *y, int64_t ldy) {
    const int per = STREAM_KIND == WORD_PAIR ? 2 : 1, run = STREAM_WIDE * SIMD_VL * (STREAM_KIND == WORD_F32 ? 4 : 2);
    vf word[STREAM_DEPTH][STREAM_WIDE];
    _Pragma("GCC unroll 16") for (int d = 0; d < depth; d++, b += per * row_bytes) {
        STREAM(words)(b, row_bytes, both, n, word[d]);
        _Pragma("GCC unroll 2") for (int row = 0; STREAM(AHEAD) && row < per; row++)
            _Pragma("GCC unroll 2") for (int line = 0; line < run; line += 64)
                v_prefetch(b + row * row_bytes + ahead + line);
    }
    _Pragma("GCC unroll 1") for (int r = 0; r < rows; r++, x += SIMD_VL, y += ldy) {
        vf sum[STREAM_WIDE];
        _Pragma("GCC unroll 4") for (int v = 0; v < STREAM_WIDE; v++) sum[v] = v_load_n(y + v * SIMD_VL, n - v * SIMD_VL);
        _Pragma("GCC unroll 16") for (int d = 0; d < depth; d++) {
            const vf factor = v_set(x[d]);
            _Pragma("GCC unroll 4") for (int v = 0; v < STREAM_WIDE; v++) sum[v] = STREAM_FMA(factor, word[d][v], sum[v]);
        }
        _Pragma("GCC unroll 4") for (int v = 0; v < STREAM_WIDE; v++) v_store_n(y + v * SIMD_VL, sum[v], n - v * SIMD_VL);
    }
}

/* `next`: bytes to the rows that follow these, which are asked for at the end of them. */
INLINE void STREAM(rows)(const int depth, int rows, const float *x, const char *b, int64_t row_bytes, int64_t next,
                         bool both, int64_t n, float *y, int64_t ldy) {
    const int bytes = STREAM_KIND == WORD_F32 ? 4 : 2, wide = STREAM_WIDE * SIMD_VL;
    const int64_t distance = STREAM(AHEAD) / bytes;
    int64_t j = 0;
    for (; j + wide <= n; j += wide)
        STREAM(columns)(depth, rows, x, b + j * bytes, row_bytes,
                        j + distance < n ? STREAM(AHEAD) : next + (distance - n) * bytes, both, wide, y + j, ldy);
    if (j < n)
        STREAM(columns)(depth, rows, x, b + j * bytes, row_bytes, 0, both, n - j, y + j, ldy);
}

static void STREAM(all)(int rows, int64_t n, int64_t k, const void *x, const void *b, int64_t ldb, float *y, int64_t ldy) {
    enum { PER = STREAM_KIND == WORD_PAIR ? 2 : 1, STEP = STREAM_DEPTH * PER };
    const int64_t row_bytes = ldb * (STREAM_KIND == WORD_F32 ? 4 : 2);
    const char *from = b;
    for (int64_t at = 0, word = 0; at < k; from += STEP * row_bytes, at += STEP, word += STREAM_DEPTH) {
        const float *words = (const float *)x + word / SIMD_VL * SIMD_VL * rows + word % SIMD_VL;
        if (at + STEP > k)
            for (; at < k; at += PER, words++, from += PER * row_bytes)
                STREAM(rows)(1, rows, words, from, row_bytes, 0, at + PER <= k, n, y, ldy);
        else if (rows == 1) /* a constant */
            STREAM(rows)(STREAM_DEPTH, 1, words, from, row_bytes, STEP * row_bytes, true, n, y, ldy);
        else
            STREAM(rows)(STREAM_DEPTH, rows, words, from, row_bytes, STEP * row_bytes, true, n, y, ldy);
    }
}
#undef STREAM_DEPTH
#undef STREAM_WIDE
#undef STREAM
#undef STREAM_KIND
#undef STREAM_FMA

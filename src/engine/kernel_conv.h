/* kernel_conv.h - template: reading runs of an image into rows of a panel, and the direct sums of
 * convolutions that are no products. */

INLINE void gather_scalar(const int bytes, int width, const eng_piece *pieces, int n_pieces, int64_t step,
                          const char *base, int64_t row_bytes, int64_t rows, char *dst, int64_t dst_bytes) {
    for (int64_t r = 0; r < rows; r++, base += row_bytes, dst += dst_bytes) {
        memset(dst, 0, (size_t)(width * bytes));
        for (int u = 0; u < n_pieces; u++) {
            const eng_piece *p = &pieces[u];
            const char *from = base + p->at * bytes;
            char *to = dst + p->first * bytes;
            for (int i = 0; i < p->count; i++, from += step * bytes, to += bytes)
                memcpy(to, from, (size_t)bytes);
        }
    }
}

#define INTERLEAVE(TYPE)                                                                                     \
    for (TYPE *to_ = to; i < n; i++) {                                                                       \
        to_[2 * i] = ((const TYPE *)a)[i];                                                                   \
        to_[2 * i + 1] = ((const TYPE *)b)[i];                                                               \
    }

static void interleave(int bytes, void *to, const void *a, const void *b, int64_t n) {
    int64_t i = 0;
#if SIMD == 512
    const __m512i lane = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    for (; bytes == 4 && i + 16 <= n; i += 16) {
        const __m512i x = _mm512_loadu_si512((const float *)a + i), y = _mm512_loadu_si512((const float *)b + i);
        _mm512_storeu_si512((float *)to + 2 * i, _mm512_permutex2var_epi32(x, lane, y));
        _mm512_storeu_si512((float *)to + 2 * i + 16, _mm512_permutex2var_epi32(x, _mm512_add_epi32(lane, _mm512_set1_epi32(8)), y));
    }
    for (; bytes == 2 && i + 16 <= n; i += 16) {
        const __m512i x = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)((const uint16_t *)a + i)));
        const __m512i y = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)((const uint16_t *)b + i)));
        _mm512_storeu_si512((uint16_t *)to + 2 * i, _mm512_or_si512(x, _mm512_slli_epi32(y, 16)));
    }
#endif
    if (bytes == 4)
        INTERLEAVE(uint32_t)
    else if (bytes == 2)
        INTERLEAVE(uint16_t)
    else
        INTERLEAVE(uint64_t)
}
#undef INTERLEAVE

#if SIMD == 512
/* Lanes that one vector of 16 (32 for 16-bit elements) takes from one piece; `from` is where lane 0 would
 * lie. */
typedef struct lanes {
    uint32_t mask;
    int64_t from;
} lanes;

static int cut_lanes(const eng_piece *pieces, int n_pieces, int first, int width, int64_t step, lanes *out) {
    int n = 0;
    for (int u = 0; u < n_pieces; u++) {
        const int lo = pieces[u].first > first ? pieces[u].first : first;
        const int end = pieces[u].first + pieces[u].count, hi = end < first + width ? end : first + width;
        if (hi > lo)
            out[n++] = (lanes){(uint32_t)(((1ull << (hi - lo)) - 1) << (lo - first)),
                               pieces[u].at - (int64_t)(pieces[u].first - first) * step};
    }
    return n;
}

INLINE __m512i load_lanes32(__m512i v, lanes l, const char *base, const int step) {
    const char *p = base + l.from * 4;
    if (step == 1)
        return _mm512_mask_loadu_epi32(v, (__mmask16)l.mask, p);
    const uint32_t spread = _pdep_u32(l.mask, 0x55555555u);
    const uint32_t spread_high = _pdep_u32(l.mask >> 8, 0x5555u);
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    __m512i low = _mm512_maskz_loadu_epi32((__mmask16)spread, p),
            high = _mm512_maskz_loadu_epi32((__mmask16)spread_high, p + 64);
    return _mm512_mask_mov_epi32(v, (__mmask16)l.mask, _mm512_permutex2var_epi32(low, even, high));
}

INLINE __m512i load_lanes16(__m512i v, lanes l, const char *base, const int step) {
    const char *p = base + l.from * 2;
    if (step == 1)
        return _mm512_mask_loadu_epi16(v, l.mask, p);
    static const uint16_t order[32] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                       32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62};
    __m512i low = _mm512_maskz_loadu_epi16(_pdep_u32(l.mask & 0xffff, 0x55555555u), p);
    __m512i high = _mm512_maskz_loadu_epi16(_pdep_u32(l.mask >> 16, 0x55555555u), p + 64);
    return _mm512_mask_mov_epi16(v, l.mask, _mm512_permutex2var_epi16(low, _mm512_loadu_si512(order), high));
}

/* Rows of 32 lanes. The count of loads a vector is a constant so that the common cases unroll. */
INLINE void gather_lanes(const int bytes, const int step, const lanes *a, const int na, const lanes *b,
                         const int nb, const char *base, int64_t row_bytes, int64_t rows, char *dst,
                         int64_t dst_bytes) {
    for (int64_t r = 0; r < rows; r++, base += row_bytes, dst += dst_bytes) {
        __m512i v = _mm512_setzero_si512(), w = v;
        for (int i = 0; i < na; i++)
            v = bytes == 4 ? load_lanes32(v, a[i], base, step) : load_lanes16(v, a[i], base, step);
        for (int i = 0; i < nb && bytes == 4; i++)
            w = load_lanes32(w, b[i], base, step);
        _mm512_storeu_si512(dst, v);
        if (bytes == 4)
            _mm512_storeu_si512(dst + 64, w);
    }
}

static void gather_rows(int bytes, int width, const eng_piece *pieces, int n_pieces, int64_t step,
                        const char *base, int64_t row_bytes, int64_t rows, char *dst, int64_t dst_bytes) {
    if (width != 32 || step < 1 || step > 2 || bytes == 8) {
        if (bytes == 4)
            gather_scalar(4, width, pieces, n_pieces, step, base, row_bytes, rows, dst, dst_bytes);
        else if (bytes == 2)
            gather_scalar(2, width, pieces, n_pieces, step, base, row_bytes, rows, dst, dst_bytes);
        else
            gather_scalar(8, width, pieces, n_pieces, step, base, row_bytes, rows, dst, dst_bytes);
        return;
    }
    lanes a[32], b[32];
    const int per = bytes == 4 ? 16 : 32;
    const int na = cut_lanes(pieces, n_pieces, 0, per, step, a);
    const int nb = bytes == 4 ? cut_lanes(pieces, n_pieces, 16, 16, step, b) : 0, most = na > nb ? na : nb;
    for (int i = na; i < 4; i++)
        a[i] = (lanes){0, na ? a[0].from : 0};
    for (int i = nb; i < 4; i++)
        b[i] = (lanes){0, nb ? b[0].from : 0};
#define GATHER_LANES(BYTES, STEP, NA, NB) gather_lanes(BYTES, STEP, a, NA, b, NB, base, row_bytes, rows, dst, dst_bytes)
#define GATHER_MOST(BYTES)                                                                                   \
    if (most <= 1)                                                                                           \
        GATHER_LANES(BYTES, 1, 1, 1);                                                                        \
    else if (most == 2)                                                                                      \
        GATHER_LANES(BYTES, 1, 2, 2);                                                                        \
    else if (most == 3)                                                                                      \
        GATHER_LANES(BYTES, 1, 3, 3);                                                                        \
    else if (most == 4)                                                                                      \
        GATHER_LANES(BYTES, 1, 4, 4);                                                                        \
    else                                                                                                     \
        GATHER_LANES(BYTES, 1, na, nb)
    if (step == 2 && bytes == 2) {
        GATHER_LANES(2, 2, na, 0);
    } else if (step == 2) {
        GATHER_LANES(4, 2, na, nb);
    } else if (bytes == 2) {
        GATHER_MOST(2);
    } else {
        GATHER_MOST(4);
    }
#undef GATHER_MOST
#undef GATHER_LANES
}
#else
static void gather_rows(int bytes, int width, const eng_piece *pieces, int n_pieces, int64_t step,
                        const char *base, int64_t row_bytes, int64_t rows, char *dst, int64_t dst_bytes) {
    if (bytes == 4)
        gather_scalar(4, width, pieces, n_pieces, step, base, row_bytes, rows, dst, dst_bytes);
    else if (bytes == 2)
        gather_scalar(2, width, pieces, n_pieces, step, base, row_bytes, rows, dst, dst_bytes);
    else
        gather_scalar(8, width, pieces, n_pieces, step, base, row_bytes, rows, dst, dst_bytes);
}
#endif

/* One row of a panel after the other, any width. */
static void gather_taps_plain(int bytes, int width, int taps, const eng_piece *pieces, const int *n_pieces,
                              const int64_t *shifts, int64_t step, const char *base, int64_t channel_bytes, int64_t k0, int64_t kc,
                              char *dst) {
    int t = (int)(k0 % taps);
    const char *from = base + k0 / taps * channel_bytes;
    for (int64_t k = 0; k < kc; k++, dst += width * bytes) {
        if (shifts)
            gather_rows(bytes, width, pieces, n_pieces[0], step, from + shifts[t] * bytes, 0, 1, dst, 0);
        else
            gather_rows(bytes, width, pieces + t * ENG_MAX_NR, n_pieces[t], step, from, 0, 1, dst, 0);
        if (++t == taps) {
            t = 0;
            from += channel_bytes;
        }
    }
}

#if SIMD == 512
enum { MOST_LANES = 8 };

/* The lanes of one tap, both halves of the panel (16-bit elements: one); step 2 has a mask for either vector that it
 * reads. `at` in bytes. */
typedef struct tap_lanes {
    int64_t at[2][MOST_LANES];
    uint32_t mask[2][MOST_LANES], spread[2][MOST_LANES], spread_high[2][MOST_LANES];
} tap_lanes;

INLINE __m512i load_row(const int bytes, const int step, const int most, const tap_lanes *l, const int half,
                        const char *base) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    static const uint16_t order[32] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                       32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62};
    __m512i v = _mm512_setzero_si512();
    _Pragma("GCC unroll 8") for (int i = 0; i < most; i++) {
        const char *p = base + l->at[half][i];
        const uint32_t mask = l->mask[half][i];
        if (step == 1) {
            v = bytes == 4 ? _mm512_mask_loadu_epi32(v, (__mmask16)mask, p) : _mm512_mask_loadu_epi16(v, mask, p);
        } else if (bytes == 4) {
            const __m512i low = _mm512_maskz_loadu_epi32((__mmask16)l->spread[half][i], p),
                          high = _mm512_maskz_loadu_epi32((__mmask16)l->spread_high[half][i], p + 64);
            v = _mm512_mask_mov_epi32(v, (__mmask16)mask, _mm512_permutex2var_epi32(low, even, high));
        } else {
            const __m512i low = _mm512_maskz_loadu_epi16(l->spread[half][i], p),
                          high = _mm512_maskz_loadu_epi16(l->spread_high[half][i], p + 64);
            v = _mm512_mask_mov_epi16(v, mask, _mm512_permutex2var_epi16(low, _mm512_loadu_si512(order), high));
        }
    }
    return v;
}

/* Row k of a panel, v and for 32-bit elements w; of pairs the second completes the words. Returns where the next goes. */
INLINE char *put_row(const int bytes, const bool pairs, int64_t k, __m512i *even, __m512i v, __m512i w, char *dst) {
    if (!pairs) {
        _mm512_storeu_si512(dst, v);
        if (bytes == 4)
            _mm512_storeu_si512(dst + 64, w);
        return dst + 32 * bytes;
    }
    if (k % 2 == 0) {
        *even = v;
        return dst;
    }
    const __m512i low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6,
                                         37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
    _mm512_storeu_si512(dst, _mm512_permutex2var_epi16(*even, low, v));
    _mm512_storeu_si512(dst + 64, _mm512_permutex2var_epi16(*even, high, v));
    return dst + 128;
}

/* `most` loads a vector: a constant, lanes beyond those that a tap needs are empty. */
INLINE void gather_table(const int bytes, const int step, const bool pairs, const int most, int taps,
                         const tap_lanes *table, const char *base, int64_t channel_bytes, int64_t k0, int64_t kc,
                         char *dst) {
    int t = (int)(k0 % taps);
    const char *from = base + k0 / taps * channel_bytes;
    __m512i even = _mm512_setzero_si512();
    const int64_t ahead = 4 * channel_bytes; /* channels lie too far apart for the processor to guess */
    for (int64_t k = 0; k < kc; k++) {
        for (int line = 0; line < (bytes == 2 ? step + 1 : step); line++) {
            v_prefetch(from + ahead + table[t].at[0][0] + 64 * line);
            if (bytes == 4)
                v_prefetch(from + ahead + table[t].at[1][most > 1] + 64 * (line + 1));
        }
        const __m512i v = load_row(bytes, step, most, &table[t], 0, from);
        dst = put_row(bytes, pairs, k, &even, v, bytes == 4 ? load_row(4, step, most, &table[t], 1, from) : v, dst);
        if (++t == taps) {
            t = 0;
            from += channel_bytes;
        }
    }
    if (pairs && (kc & 1))
        put_row(bytes, true, 1, &even, _mm512_setzero_si512(), _mm512_setzero_si512(), dst);
}

/* The same where all taps have the lanes of the first, `shifts` elements further on: masks stay in registers. */
INLINE void gather_shifted(const int bytes, const bool pairs, const int most, int taps, const tap_lanes *lane,
                           const int64_t *shifts, const char *base, int64_t channel_bytes, int64_t k0, int64_t kc,
                           char *dst) {
    int t = (int)(k0 % taps);
    const char *from = base + k0 / taps * channel_bytes;
    __m512i even = _mm512_setzero_si512();
    const int64_t ahead = 4 * channel_bytes;
    int64_t at[2][4];
    __mmask32 mask[2][4];
    _Pragma("GCC unroll 2") for (int h = 0; h < 2; h++) _Pragma("GCC unroll 4") for (int i = 0; i < most; i++) {
        at[h][i] = lane->at[h][i];
        mask[h][i] = lane->mask[h][i];
    }
    for (int64_t k = 0; k < kc; k++) {
        const char *p = from + shifts[t] * bytes;
        __m512i v = _mm512_setzero_si512(), w = v;
        v_prefetch(p + ahead + at[0][0]);
        v_prefetch(p + ahead + (bytes == 4 ? at[1][most - 1] : at[0][0]) + 64);
        _Pragma("GCC unroll 4") for (int i = 0; i < most; i++) {
            if (bytes == 4) {
                v = _mm512_mask_loadu_epi32(v, (__mmask16)mask[0][i], p + at[0][i]);
                w = _mm512_mask_loadu_epi32(w, (__mmask16)mask[1][i], p + at[1][i]);
            } else {
                v = _mm512_mask_loadu_epi16(v, mask[0][i], p + at[0][i]);
            }
        }
        dst = put_row(bytes, pairs, k, &even, v, w, dst);
        if (++t == taps) {
            t = 0;
            from += channel_bytes;
        }
    }
    if (pairs && (kc & 1))
        put_row(bytes, true, 1, &even, _mm512_setzero_si512(), _mm512_setzero_si512(), dst);
}

/* The loads each vector takes at most; more than MOST_LANES: not in the table. */
static int fill_table(int bytes, int taps, const eng_piece *pieces, const int *n_pieces, int64_t step,
                      tap_lanes *table) {
    int most = 1;
    for (int t = 0; t < taps; t++)
        for (int h = 0; h < (bytes == 4 ? 2 : 1); h++) {
            lanes found[ENG_MAX_NR];
            const int n = cut_lanes(pieces + t * ENG_MAX_NR, n_pieces[t], h * 16, bytes == 4 ? 16 : 32, step, found);
            if (n > MOST_LANES)
                return n;
            most = n > most ? n : most;
            for (int i = 0; i < MOST_LANES; i++) {
                const uint32_t mask = i < n ? found[i].mask : 0, low = bytes == 4 ? 8 : 16;
                table[t].at[h][i] = n ? found[i < n ? i : 0].from * bytes : 0;
                table[t].mask[h][i] = mask;
                table[t].spread[h][i] = _pdep_u32(mask & ((1u << low) - 1), 0x55555555u);
                table[t].spread_high[h][i] = _pdep_u32(mask >> low, 0x55555555u);
            }
        }
    return most;
}

static void gather_taps(int bytes, bool pairs, int width, int taps, const eng_piece *pieces, const int *n_pieces,
                        const int64_t *shifts, int64_t step, const char *base, int64_t channel_bytes, int64_t k0, int64_t kc, char *dst) {
    tap_lanes table[ENG_MAX_TAPS];
    const bool known = width == 32 && bytes < 8 && (step == 1 || step == 2);
    const int most = known ? fill_table(bytes, shifts ? 1 : taps, pieces, n_pieces, step, table) : MOST_LANES + 1;
#define SHIFTED(MOST)                                                                                        \
    if (most == MOST && bytes == 4) {                                                                        \
        gather_shifted(4, false, MOST, taps, table, shifts, base, channel_bytes, k0, kc, dst);               \
        return;                                                                                              \
    }                                                                                                        \
    if (most == MOST && pairs) {                                                                             \
        gather_shifted(2, true, MOST, taps, table, shifts, base, channel_bytes, k0, kc, dst);                \
        return;                                                                                              \
    }
    if (shifts && step == 1) {
        SHIFTED(1)
        SHIFTED(2)
        SHIFTED(3)
        SHIFTED(4)
    }
#undef SHIFTED
    for (int t = 1; t < taps && shifts && most <= MOST_LANES; t++) {
        table[t] = table[0];
        for (int h = 0; h < 2; h++)
            for (int i = 0; i < most; i++)
                table[t].at[h][i] += shifts[t] * bytes;
    }
    if (shifts && most <= MOST_LANES)
        for (int h = 0; h < 2; h++)
            for (int i = 0; i < most; i++)
                table[0].at[h][i] += shifts[0] * bytes;
#define GATHER(BYTES, STEP, PAIRS, MOST)                                                                     \
    gather_table(BYTES, STEP, PAIRS, MOST, taps, table, base, channel_bytes, k0, kc, dst)
#define GATHER_MOST(BYTES, STEP, PAIRS)                                                                      \
    if (most == 1)                                                                                           \
        GATHER(BYTES, STEP, PAIRS, 1);                                                                       \
    else if (most == 2)                                                                                      \
        GATHER(BYTES, STEP, PAIRS, 2);                                                                       \
    else if (most == 3)                                                                                      \
        GATHER(BYTES, STEP, PAIRS, 3);                                                                       \
    else if (most == 4)                                                                                      \
        GATHER(BYTES, STEP, PAIRS, 4);                                                                       \
    else                                                                                                     \
        GATHER(BYTES, STEP, PAIRS, 8)
    if (most > MOST_LANES) {
        char rows[2 * ENG_MAX_NR * 2];
        if (!pairs)
            gather_taps_plain(bytes, width, taps, pieces, n_pieces, shifts, step, base, channel_bytes, k0, kc, dst);
        for (int64_t k = 0; pairs && k < kc; k += 2, dst += width * 4) {
            const int64_t n = kc - k < 2 ? 1 : 2;
            gather_taps_plain(2, width, taps, pieces, n_pieces, shifts, step, base, channel_bytes, k0 + k, n, rows);
            pack_pair_rows((float *)(void *)dst, width, width, (const uint16_t *)(const void *)rows, width, width, n);
        }
    } else if (bytes == 4) {
        if (step == 1) {
            GATHER_MOST(4, 1, false);
        } else {
            GATHER_MOST(4, 2, false);
        }
    } else if (pairs) {
        if (step == 1) {
            GATHER_MOST(2, 1, true);
        } else {
            GATHER_MOST(2, 2, true);
        }
    } else if (step == 1) {
        GATHER(2, 1, false, 8);
    } else {
        GATHER(2, 2, false, 8);
    }
#undef GATHER_MOST
#undef GATHER
}
#else
static void gather_taps(int bytes, bool pairs, int width, int taps, const eng_piece *pieces, const int *n_pieces,
                        const int64_t *shifts, int64_t step, const char *base, int64_t channel_bytes, int64_t k0, int64_t kc, char *dst) {
    (void)pairs; /* words of pairs are AVX-512's */
    gather_taps_plain(bytes, width, taps, pieces, n_pieces, shifts, step, base, channel_bytes, k0, kc, dst);
}
#endif

/* n values at i, i + step .. as f32 */
INLINE vf get_strided(const tt_dtype type, const void *x, int64_t i, int64_t step, int64_t n) {
    if (step == 1)
        return v_get_n(type, x, i, n);
#if SIMD == 512
    if (step == 2 && type != TT_F32) {
        const int64_t rest = 2 * n - 1;
        const __m512i pairs =
            _mm512_maskz_loadu_epi16(rest >= 32 ? 0xffffffffu : (1u << rest) - 1, (const uint16_t *)x + i);
        if (type == TT_BF16)
            return (vf)_mm512_slli_epi32(pairs, 16);
        return (vf)_mm512_cvtph_ps(_mm512_cvtepi32_epi16(pairs));
    }
#endif
    float lane[SIMD_VL] = {0};
    for (int j = 0; j < SIMD_VL && j < n; j++)
        lane[j] = v_scalar(type, x, i + j * step);
    return v_load(lane);
}

/* One vector of each of `rows` rows, a constant: short rows would leave a single chain of sums. */
INLINE void taps_across(const tt_dtype type, const int64_t step, const int rows, int n_taps, const float *w,
                        const int64_t *at, const void *x, int64_t x_row, int64_t n, void *y, int64_t y_row,
                        int64_t i) {
    const int64_t width = n - i < SIMD_VL ? n - i : SIMD_VL;
    vf sum[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
    for (int t = 0; t < n_taps; t++) {
        const vf wv = v_set(w[t]);
        _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) sum[r] =
            v_fma(wv, get_strided(type, x, at[t] + r * x_row + i * step, step, width), sum[r]);
    }
    _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) v_put_n(type, y, r * y_row + i, sum[r], width);
}

INLINE void taps_typed(const tt_dtype type, const int64_t step, int n_taps, const float *w, const int64_t *at,
                       const void *x_start, int64_t x_row, int64_t rows, int64_t n, void *y_start,
                       int64_t y_row) {
    const int bytes = type == TT_F32 ? 4 : 2;
    const int64_t whole = n - n % (4 * SIMD_VL);
    for (int64_t r = 0; r < rows; r++) {
        const char *x = (const char *)x_start + r * x_row * bytes;
        char *y = (char *)y_start + r * y_row * bytes;
        for (int64_t i = 0; i < whole; i += 4 * SIMD_VL) {
            vf sum[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
            for (int t = 0; t < n_taps; t++) {
                const vf wv = v_set(w[t]);
                _Pragma("GCC unroll 4") for (int u = 0; u < 4; u++) sum[u] =
                    v_fma(wv, get_strided(type, x, at[t] + (i + u * SIMD_VL) * step, step, SIMD_VL), sum[u]);
            }
            _Pragma("GCC unroll 4") for (int u = 0; u < 4; u++) v_put(type, y, i + u * SIMD_VL, sum[u]);
        }
        if ((r & 3) == 3 || r + 1 == rows) { /* the ends of the last rows together */
            const int64_t back = r & 3;
            for (int64_t i = whole; i < n; i += SIMD_VL) {
                if (back == 3)
                    taps_across(type, step, 4, n_taps, w, at, x - 3 * x_row * bytes, x_row, n,
                                y - 3 * y_row * bytes, y_row, i);
                else
                    for (int64_t q = 0; q <= back; q++)
                        taps_across(type, step, 1, n_taps, w, at, x - q * x_row * bytes, 0, n,
                                    y - q * y_row * bytes, 0, i);
            }
        }
    }
}

#define BY_STEP(TYPE, CALL)                                                                                  \
    if (step == 1)                                                                                           \
        CALL(TYPE, 1);                                                                                       \
    else if (step == 2 && TYPE != TT_F32)                                                                    \
        CALL(TYPE, 2);                                                                                       \
    else                                                                                                     \
        CALL(TYPE, step)

static void taps_rows(tt_dtype type, int n_taps, const float *w, const int64_t *at, const void *x,
                      int64_t x_row, int64_t step, int64_t rows, int64_t n, void *y, int64_t y_row) {
#define TAPS_CALL(TYPE, STEP) taps_typed(TYPE, STEP, n_taps, w, at, x, x_row, rows, n, y, y_row)
    if (type == TT_F32) {
        BY_STEP(TT_F32, TAPS_CALL);
    } else if (type == TT_BF16) {
        BY_STEP(TT_BF16, TAPS_CALL);
    } else {
        BY_STEP(TT_F16, TAPS_CALL);
    }
#undef TAPS_CALL
}

/* `R` output rows of `nv` vectors at a time, constants: what is loaded of a row of x serves all of them. Reads whole vectors,
 * writes n elements. */
INLINE void window_block(const tt_dtype type, const int R, const int nv, const eng_window *v, const void *x, int64_t left_rows,
                         int64_t left, void *y) {
    const int bytes = type == TT_F32 ? 4 : 2, kh = v->kh, kw = v->kw;
    const int rows = left_rows < R ? (int)left_rows : R, step = (int)v->step;
    vf sum[8][2];
    _Pragma("GCC unroll 8") for (int r = 0; r < R; r++) _Pragma("GCC unroll 2") for (int u = 0; u < nv; u++) sum[r][u] = v_zero();
    for (int c = 0; c < v->channels; c++)
        for (int q = 0; q < (rows - 1) * step + kh; q++) {
            const char *row = (const char *)x + (c * v->plane + q * v->row) * bytes;
            for (int k = 0; k < kw; k++) {
                const float *w = v->w + (c * kh + q) * kw + k;
                vf xv[2];
                _Pragma("GCC unroll 2") for (int u = 0; u < nv; u++) xv[u] = v_get(type, row, v->at[k] + u * SIMD_VL);
                _Pragma("GCC unroll 8") for (int r = 0; r < R; r++) {
                    const int ky = q - r * step;
                    if (ky >= 0 && ky < kh) {
                        const vf wv = v_set(w[-r * step * kw]);
                        _Pragma("GCC unroll 2") for (int u = 0; u < nv; u++) sum[r][u] = v_fma(wv, xv[u], sum[r][u]);
                    }
                }
            }
        }
    _Pragma("GCC unroll 8") for (int r = 0; r < R; r++) _Pragma("GCC unroll 2") for (int u = 0; u < nv; u++)
        if (r < rows && left > u * SIMD_VL)
            v_put_n(type, y, r * v->y_row + u * SIMD_VL, sum[r][u], left - u * SIMD_VL < SIMD_VL ? left - u * SIMD_VL : SIMD_VL);
}

INLINE void window_typed(const tt_dtype type, const eng_window *v, const void *x, int64_t rows, int64_t n, void *y) {
    const int bytes = type == TT_F32 ? 4 : 2;
    for (int64_t i = 0; i < n;) {
        const bool two = n - i > SIMD_VL;
        for (int64_t r = 0; r < rows; r += two ? 4 : 8) {
            const char *from = (const char *)x + (r * v->step * v->row + i) * bytes;
            char *to = (char *)y + (r * v->y_row + i) * bytes;
            if (two)
                window_block(type, 4, 2, v, from, rows - r, n - i, to);
            else
                window_block(type, 8, 1, v, from, rows - r, n - i, to);
        }
        i += two ? 2 * SIMD_VL : SIMD_VL;
    }
}

static void window_rows(tt_dtype type, const eng_window *v, const void *x, int64_t rows, int64_t n, void *y) {
    if (type == TT_F32)
        window_typed(TT_F32, v, x, rows, n, y);
    else if (type == TT_BF16)
        window_typed(TT_BF16, v, x, rows, n, y);
    else
        window_typed(TT_F16, v, x, rows, n, y);
}

/* `group` sums at a time, a constant, held across all rows */
INLINE void dots_typed(const tt_dtype type, const int64_t step, const int group, const int64_t *at,
                       const void *x, int64_t x_row, const void *a, int64_t a_row, int64_t rows, int64_t n,
                       double *sums) {
    vf sum[9];
    _Pragma("GCC unroll 9") for (int t = 0; t < group; t++) sum[t] = v_zero();
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i += SIMD_VL) {
            const int64_t width = n - i < SIMD_VL ? n - i : SIMD_VL;
            const vf av = v_get_n(type, a, r * a_row + i, width);
            _Pragma("GCC unroll 9") for (int t = 0; t < group; t++) sum[t] =
                v_fma(av, get_strided(type, x, at[t] + r * x_row + i * step, step, width), sum[t]);
        }
    _Pragma("GCC unroll 9") for (int t = 0; t < group; t++) sums[t] += (double)v_sum(sum[t]);
}

static void taps_dots(tt_dtype type, int n_taps, const int64_t *at, const void *x, int64_t x_row,
                      int64_t step, const void *a, int64_t a_row, int64_t rows, int64_t n, double *sums) {
    for (int t = 0; t < n_taps;) {
        const int group = n_taps - t >= 9 ? 9 : n_taps - t >= 3 ? 3 : 1;
#define DOTS_GROUP(TYPE, STEP)                                                                               \
    if (group == 9)                                                                                          \
        dots_typed(TYPE, STEP, 9, at + t, x, x_row, a, a_row, rows, n, sums + t);                            \
    else if (group == 3)                                                                                     \
        dots_typed(TYPE, STEP, 3, at + t, x, x_row, a, a_row, rows, n, sums + t);                            \
    else                                                                                                     \
        dots_typed(TYPE, STEP, 1, at + t, x, x_row, a, a_row, rows, n, sums + t)
#define DOTS_CALL(TYPE, STEP)                                                                                \
    do {                                                                                                     \
        DOTS_GROUP(TYPE, STEP);                                                                              \
    } while (0)
        if (type == TT_F32) {
            BY_STEP(TT_F32, DOTS_CALL);
        } else if (type == TT_BF16) {
            BY_STEP(TT_BF16, DOTS_CALL);
        } else {
            BY_STEP(TT_F16, DOTS_CALL);
        }
#undef DOTS_CALL
#undef DOTS_GROUP
        t += group;
    }
}
#undef BY_STEP

/* A square of 8-byte elements */
#if SIMD == 512
enum { SIDE_8 = 8 };
INLINE void turn_8(double *dst, int64_t ldd, const double *src, int64_t ld) {
    __m512d r[8], t[8];
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++) r[i] = _mm512_loadu_pd(src + i * ld);
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        t[i] = _mm512_unpacklo_pd(r[2 * i], r[2 * i + 1]);
        t[i + 4] = _mm512_unpackhi_pd(r[2 * i], r[2 * i + 1]);
    }
    _Pragma("GCC unroll 2") for (int odd = 0; odd < 2; odd++) {
        const __m512d *u = t + 4 * odd;
        const __m512d a = _mm512_shuffle_f64x2(u[0], u[1], 0x88), b = _mm512_shuffle_f64x2(u[0], u[1], 0xdd);
        const __m512d c = _mm512_shuffle_f64x2(u[2], u[3], 0x88), d = _mm512_shuffle_f64x2(u[2], u[3], 0xdd);
        _mm512_storeu_pd(dst + odd * ldd, _mm512_shuffle_f64x2(a, c, 0x88));
        _mm512_storeu_pd(dst + (2 + odd) * ldd, _mm512_shuffle_f64x2(b, d, 0x88));
        _mm512_storeu_pd(dst + (4 + odd) * ldd, _mm512_shuffle_f64x2(a, c, 0xdd));
        _mm512_storeu_pd(dst + (6 + odd) * ldd, _mm512_shuffle_f64x2(b, d, 0xdd));
    }
}
#elif SIMD == 256
enum { SIDE_8 = 4 };
INLINE void turn_8(double *dst, int64_t ldd, const double *src, int64_t ld) {
    const __m256d a = _mm256_loadu_pd(src), b = _mm256_loadu_pd(src + ld), c = _mm256_loadu_pd(src + 2 * ld), d = _mm256_loadu_pd(src + 3 * ld);
    const __m256d ab0 = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b), cd0 = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);
    _mm256_storeu_pd(dst, _mm256_permute2f128_pd(ab0, cd0, 0x20));
    _mm256_storeu_pd(dst + ldd, _mm256_permute2f128_pd(ab1, cd1, 0x20));
    _mm256_storeu_pd(dst + 2 * ldd, _mm256_permute2f128_pd(ab0, cd0, 0x31));
    _mm256_storeu_pd(dst + 3 * ldd, _mm256_permute2f128_pd(ab1, cd1, 0x31));
}
#else
enum { SIDE_8 = 1 };
INLINE void turn_8(double *dst, int64_t ldd, const double *src, int64_t ld) {
    (void)ldd, (void)ld;
    *dst = *src;
}
#endif

static void transpose_8(double *dst, int64_t ldd, const double *src, int64_t ld, int64_t n, int64_t count) {
    const int64_t n_whole = n / SIDE_8 * SIDE_8, whole = count / SIDE_8 * SIDE_8;
    for (int64_t i = 0; i < n_whole; i += SIDE_8)
        for (int64_t k = 0; k < whole; k += SIDE_8)
            turn_8(dst + k * ldd + i, ldd, src + i * ld + k, ld);
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = k < whole ? n_whole : 0; i < n; i++)
            dst[k * ldd + i] = src[i * ld + k];
}

static void transpose(int bytes, void *dst, int64_t ldd, const void *src, int64_t ld, int64_t n,
                      int64_t count) {
    if (bytes == 4) {
        pack_cols_f32(dst, ldd, (int)n, src, ld, n, count);
        return;
    }
    if (bytes == 8) {
        transpose_8(dst, ldd, src, ld, n, count);
        return;
    }
    uint16_t *to = dst;
    const uint16_t *from = src;
#if SIMD == 512
    for (int64_t i = 0; i < n; i += 16)
        for (int64_t k = 0; k < count; k += 32) {
            vf r[16];
            _Pragma("GCC unroll 16") for (int j = 0; j < 16; j++) r[j] =
                i + j < n ? word_load(WORD_PAIR, (const char *)(from + (i + j) * ld + k), count - k)
                          : v_zero();
            v_transpose(r);
            const __mmask16 mask = v_lanes(n - i);
            for (int j = 0; j < 16 && k + 2 * j < count; j++) {
                uint16_t *row = to + (k + 2 * j) * ldd + i;
                _mm256_mask_storeu_epi16(row, mask, _mm512_cvtepi32_epi16((__m512i)r[j]));
                if (k + 2 * j + 1 < count)
                    _mm256_mask_storeu_epi16(row + ldd, mask,
                                             _mm512_cvtepi32_epi16(_mm512_srli_epi32((__m512i)r[j], 16)));
            }
        }
#else
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < n; i++)
            to[k * ldd + i] = from[i * ld + k];
#endif
}

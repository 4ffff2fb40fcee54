/* kernel_pack.h - template: copies blocks of A and B into panels of words (kernels.h), and between types. */

/* How 16-bit and 32-bit elements become words: as they are, in pairs, or widened. */
enum { WORD_F32, WORD_PAIR, WORD_BF16, WORD_F16 };

/* r[i] lane j <-> r[j] lane i */
#if SIMD == 512
INLINE void v_transpose(vf *v) {
    __m512 *r = (__m512 *)v, t[16];
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++) {
        t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        __m512d a = (__m512d)t[4 * i], b = (__m512d)t[4 * i + 1], c = (__m512d)t[4 * i + 2],
                d = (__m512d)t[4 * i + 3];
        r[4 * i] = (__m512)_mm512_unpacklo_pd(a, c);
        r[4 * i + 1] = (__m512)_mm512_unpackhi_pd(a, c);
        r[4 * i + 2] = (__m512)_mm512_unpacklo_pd(b, d);
        r[4 * i + 3] = (__m512)_mm512_unpackhi_pd(b, d);
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
        r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
        r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
    }
}
#elif SIMD == 256
INLINE void v_transpose(vf *v) {
    __m256 *r = (__m256 *)v, t[8];
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    _Pragma("GCC unroll 2") for (int i = 0; i < 2; i++) {
        __m256d a = (__m256d)t[4 * i], b = (__m256d)t[4 * i + 1], c = (__m256d)t[4 * i + 2],
                d = (__m256d)t[4 * i + 3];
        r[4 * i] = (__m256)_mm256_unpacklo_pd(a, c);
        r[4 * i + 1] = (__m256)_mm256_unpackhi_pd(a, c);
        r[4 * i + 2] = (__m256)_mm256_unpacklo_pd(b, d);
        r[4 * i + 3] = (__m256)_mm256_unpackhi_pd(b, d);
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++) r[i] = t[i];
}
#else
INLINE void v_transpose(vf *r) {
    vf a = __builtin_shuffle(r[0], r[1], (vi){0, 4, 1, 5}),
       b = __builtin_shuffle(r[0], r[1], (vi){2, 6, 3, 7});
    vf c = __builtin_shuffle(r[2], r[3], (vi){0, 4, 1, 5}),
       d = __builtin_shuffle(r[2], r[3], (vi){2, 6, 3, 7});
    r[0] = __builtin_shuffle(a, c, (vi){0, 1, 4, 5});
    r[1] = __builtin_shuffle(a, c, (vi){2, 3, 6, 7});
    r[2] = __builtin_shuffle(b, d, (vi){0, 1, 4, 5});
    r[3] = __builtin_shuffle(b, d, (vi){2, 3, 6, 7});
}
#endif

/* The lower half of a vector to one place, the upper half to another. */
INLINE void v_store_halves(float *low, float *high, vf v) {
#if SIMD == 512
    _mm256_storeu_ps(low, _mm512_castps512_ps256((__m512)v));
    _mm256_storeu_ps(high, _mm512_extractf32x8_ps((__m512)v, 1));
#else
    memcpy(low, &v, sizeof v / 2);
    memcpy(high, (const char *)&v + sizeof v / 2, sizeof v / 2);
#endif
}

INLINE vf v_load_halves(const float *low, const float *high) {
#if SIMD == 512
    return (vf)_mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(high), 1);
#else
    vf v;
    memcpy(&v, low, sizeof v / 2);
    memcpy((char *)&v + sizeof v / 2, high, sizeof v / 2);
    return v;
#endif
}

/* n elements from p as words, zero beyond n */
INLINE vf word_load(const int kind, const char *p, int64_t n) {
    if (kind == WORD_F32)
        return v_load_n((const float *)p, n);
    if (kind == WORD_BF16)
        return v_load_bf16_n(p, n);
    if (kind == WORD_F16)
        return v_load_f16_n(p, n);
#if SIMD == 512
    return (vf)_mm512_maskz_loadu_epi16(n >= 32 ? 0xffffffffu : (1u << n) - 1, p);
#else
    return v_zero();
#endif
}

INLINE void pack_cols(const int kind, float *dst, int64_t ldd, int width, const char *src, int64_t ld,
                      int64_t n, int64_t kc) {
    const int bytes = kind == WORD_F32 ? 4 : 2, step = kind == WORD_PAIR ? 2 * SIMD_VL : SIMD_VL;
    const int64_t words = kind == WORD_PAIR ? (kc + 1) / 2 : kc, end = words * ldd;
    for (int first = 0; first < width; first += SIMD_VL) {
        const int w = width - first < SIMD_VL ? width - first : SIMD_VL;
        const int64_t cols = n - first;
        const char *from = src + first * ld * bytes;
        for (int64_t k = 0, word = 0; k < kc; k += step, word += SIMD_VL) {
            vf r[SIMD_VL];
            if (cols >= SIMD_VL && kc - k >= step) {
                _Pragma("GCC unroll 16") for (int i = 0; i < SIMD_VL; i++) r[i] =
                    word_load(kind, from + (i * ld + k) * bytes, step);
            } else {
                _Pragma("GCC unroll 16") for (int i = 0; i < SIMD_VL; i++) r[i] =
                    i < cols ? word_load(kind, from + (i * ld + k) * bytes, kc - k) : v_zero();
            }
            v_transpose(r);
            float *to = dst + word * ldd + first;
            int64_t steps = words - word < SIMD_VL ? words - word : SIMD_VL;
            /* A full store may run into later steps of a narrow panel: they are written after it. (Those of a
             * wider one were written before it.) */
            if (steps == SIMD_VL && (w == SIMD_VL || (first == 0 && (word + SIMD_VL - 1) * ldd + SIMD_VL <= end))) {
                _Pragma("GCC unroll 16") for (int j = 0; j < SIMD_VL; j++) v_store(to + j * ldd, r[j]);
            } else {
                for (int j = 0; j < steps; j++)
                    v_store_n(to + j * ldd, r[j], w);
            }
        }
    }
}

#if SIMD == 512
/* Words of two rows of bf16, `both`: the second one exists; two vectors of n columns. */
INLINE void pair_words(const void *first, const void *second, bool both, int64_t n, vf *low, vf *high) {
    static const uint16_t order[32] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                       8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
    const __m512i to_low = _mm512_loadu_si512(order), to_high = _mm512_add_epi16(to_low, _mm512_set1_epi16(16));
    const __mmask32 lanes = n >= 32 ? 0xffffffffu : n <= 0 ? 0 : (1u << n) - 1;
    const __m512i a = _mm512_maskz_loadu_epi16(lanes, first), b = _mm512_maskz_loadu_epi16(both ? lanes : 0, second);
    *low = (vf)_mm512_permutex2var_epi16(a, to_low, b);
    *high = (vf)_mm512_permutex2var_epi16(a, to_high, b);
}

INLINE void pack_pair_rows(float *dst, int64_t ldd, int width, const uint16_t *src, int64_t ld, int64_t n,
                           int64_t kc) {
    for (int64_t k = 0; k < kc; k += 2, dst += ldd, src += 2 * ld) {
        vf low, high;
        pair_words(src, src + ld, k + 1 < kc, n, &low, &high);
        v_store_n(dst, low, width);
        if (width > 16)
            v_store_n(dst + 16, high, width - 16);
    }
}
#endif

INLINE void pack_rows(const int kind, float *dst, int64_t ldd, int width, const char *src, int64_t ld,
                      int64_t n, int64_t kc) {
    const int bytes = kind == WORD_F32 ? 4 : 2;
    if (width == 2 * SIMD_VL && n >= width) {
        for (int64_t k = 0; k < kc; k++, src += ld * bytes, dst += ldd) {
            vf a = word_load(kind, src, SIMD_VL), b = word_load(kind, src + SIMD_VL * bytes, SIMD_VL);
            v_store(dst, a);
            v_store(dst + SIMD_VL, b);
        }
        return;
    }
    for (int64_t k = 0; k < kc; k++, src += ld * bytes, dst += ldd)
        for (int i = 0; i < width; i += SIMD_VL)
            v_store_n(dst + i, word_load(kind, src + i * bytes, n - i > 0 ? n - i : 0), width - i);
}

/* A vector of words from `count` elements at p, in pairs with those at q (NULL: zero). */
INLINE vf word_join(const int kind, const char *p, const char *q, int64_t count) {
#if SIMD == 512
    if (kind == WORD_PAIR) {
        const __mmask16 lanes = v_lanes(count);
        const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, p));
        if (!q)
            return (vf)low;
        return (vf)_mm512_or_si512(low, _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, q)), 16));
    }
#endif
    (void)q;
    return word_load(kind, p, count);
}

#if SIMD == 512
/* Words of n pairs of neighbours, `count` elements each: weights with their few taps innermost. */
static void words_in_a_row(float *dst, const char *src, int64_t n, int count) {
    uint16_t order[32];
    for (int k = 0; k < 16; k++) {
        order[2 * k] = (uint16_t)k;
        order[2 * k + 1] = (uint16_t)((k + count) & 31);
    }
    const __m512i lanes = _mm512_loadu_si512(order);
    const __mmask32 taken = count == 16 ? 0xffffffffu : (1u << 2 * count) - 1;
    for (int64_t i = 0; i < n; i++, dst += count, src += 4 * count) {
        v_prefetch(src + 1024);
        _mm512_mask_storeu_epi32(dst, v_lanes(count), _mm512_permutexvar_epi16(lanes, _mm512_maskz_loadu_epi16(taken, src)));
    }
}
#endif

INLINE void words(const int kind, float *dst, int64_t ldd, const char *src, int64_t ld, int64_t second, int64_t n, int64_t count) {
    const int bytes = kind == WORD_F32 ? 4 : 2;
#if SIMD == 512
    if (kind == WORD_PAIR && second == count && ld == 2 * count && ldd == count && count <= SIMD_VL) {
        words_in_a_row(dst, src, n, (int)count);
        return;
    }
#endif
    for (int64_t i = 0; i < n; i++, dst += ldd, src += ld * bytes) {
        const char *q = second ? src + second * bytes : NULL;
        for (int64_t k = 0; k < count; k += SIMD_VL)
            v_store_n(dst + k, word_join(kind, src + k * bytes, q ? q + k * bytes : NULL, count - k), count - k);
    }
}

/* Blocks of whole vectors; a full store may run into later elements of narrow words: they are written after it. */
INLINE void lay(const int kind, float *dst, int64_t width, const char *src, int64_t ld, int64_t second, int64_t n, int64_t count) {
    const int bytes = kind == WORD_F32 ? 4 : 2;
    if (width == 1) {
        words(kind, dst, 0, src, 0, second, 1, count);
        return;
    }
    int64_t k = 0;
    if (width == SIMD_VL / 2 && n == width) /* two vectors of each row at once */
        for (; k + 2 * SIMD_VL <= count; k += 2 * SIMD_VL) {
            vf r[SIMD_VL];
            _Pragma("GCC unroll 8") for (int i = 0; i < SIMD_VL / 2; i++) {
                const char *p = src + (i * ld + k) * bytes, *q = second ? p + second * bytes : NULL;
                r[i] = word_join(kind, p, q, SIMD_VL);
                r[SIMD_VL / 2 + i] = word_join(kind, p + SIMD_VL * bytes, q ? q + SIMD_VL * bytes : NULL, SIMD_VL);
                v_prefetch(p + 256);
            }
            v_transpose(r);
            _Pragma("GCC unroll 16") for (int j = 0; j < SIMD_VL; j++) v_store_halves(dst + (k + j) * width, dst + (k + SIMD_VL + j) * width, r[j]);
        }
    for (; k < count; k += SIMD_VL)
        for (int64_t first = 0; first < width; first += SIMD_VL) {
            const int64_t left = count - k < SIMD_VL ? count - k : SIMD_VL, w = width - first < SIMD_VL ? width - first : SIMD_VL;
            const char *p = src + (first * ld + k) * bytes;
            vf r[SIMD_VL];
            _Pragma("GCC unroll 16") for (int i = 0; i < SIMD_VL; i++, p += ld * bytes) {
                r[i] = first + i < n ? word_join(kind, p, second ? p + second * bytes : NULL, left) : v_zero();
                v_prefetch(p + 256); /* too many streams for the processor to follow */
            }
            v_transpose(r);
            float *to = dst + k * width + first;
            if (left == SIMD_VL && (w == SIMD_VL || (first == 0 && (k + SIMD_VL - 1) * width + SIMD_VL <= count * width))) {
                _Pragma("GCC unroll 16") for (int j = 0; j < SIMD_VL; j++) v_store(to + j * width, r[j]);
            } else {
                for (int j = 0; j < left; j++)
                    v_store_n(to + j * width, r[j], w);
            }
        }
}

#define LAY_DEFINE(NAME, KIND)                                                                               \
    static void lay_##NAME(void *dst, int64_t width, const void *src, int64_t ld, int64_t second, int64_t n, int64_t count) { \
        lay(KIND, dst, width, src, ld, second, n, count);                                                    \
    }                                                                                                        \
    static void words_##NAME(void *dst, int64_t ldd, const void *src, int64_t ld, int64_t second, int64_t n, int64_t count) { \
        words(KIND, dst, ldd, src, ld, second, n, count);                                                    \
    }
#define PACK_DEFINE(NAME, KIND)                                                                              \
    static void pack_cols_##NAME(void *dst, int64_t ldd, int width, const void *src, int64_t ld, int64_t n,  \
                                 int64_t kc) {                                                               \
        pack_cols(KIND, dst, ldd, width, src, ld, n, kc);                                                    \
    }                                                                                                        \
    static void pack_rows_##NAME(void *dst, int64_t ldd, int width, const void *src, int64_t ld, int64_t n,  \
                                 int64_t kc) {                                                               \
        pack_rows(KIND, dst, ldd, width, src, ld, n, kc);                                                    \
    }                                                                                                        \
    LAY_DEFINE(NAME, KIND)
PACK_DEFINE(f32, WORD_F32)
PACK_DEFINE(bf16, WORD_BF16)
PACK_DEFINE(f16, WORD_F16)
#if SIMD == 512
static void pack_cols_pair(void *dst, int64_t ldd, int width, const void *src, int64_t ld, int64_t n,
                           int64_t kc) {
    pack_cols(WORD_PAIR, dst, ldd, width, src, ld, n, kc);
}
static void pack_rows_pair(void *dst, int64_t ldd, int width, const void *src, int64_t ld, int64_t n,
                           int64_t kc) {
    pack_pair_rows(dst, ldd, width, src, ld, n, kc);
}
LAY_DEFINE(pair, WORD_PAIR)
#endif
#undef PACK_DEFINE
#undef LAY_DEFINE

static void pack_cols_f64(void *dst_, int64_t ldd, int width, const void *src_, int64_t ld, int64_t n,
                          int64_t kc) {
    double *dst = dst_;
    const double *src = src_;
    for (int64_t k = 0; k < kc; k++)
        for (int i = 0; i < width; i++)
            dst[k * ldd + i] = i < n ? src[i * ld + k] : 0;
}
static void pack_rows_f64(void *dst_, int64_t ldd, int width, const void *src_, int64_t ld, int64_t n,
                          int64_t kc) {
    double *dst = dst_;
    const double *src = src_;
    for (int64_t k = 0; k < kc; k++)
        for (int i = 0; i < width; i++)
            dst[k * ldd + i] = i < n ? src[k * ld + i] : 0;
}

static void lay_f64(void *dst_, int64_t width, const void *src_, int64_t ld, int64_t second, int64_t n, int64_t count) {
    (void)second;
    pack_cols_f64(dst_, width, (int)width, src_, ld, n, count);
}
static void words_f64(void *dst, int64_t ldd, const void *src, int64_t ld, int64_t second, int64_t n, int64_t count) {
    (void)second;
    for (int64_t i = 0; i < n; i++)
        memcpy((double *)dst + i * ldd, (const double *)src + i * ld, (size_t)count * 8);
}
static void unlay_f64(tt_dtype type, void *dst, int64_t ld, const void *src, int64_t width, int64_t n, int64_t count) {
    (void)type;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < count; k++)
            ((double *)dst)[i * ld + k] = ((const double *)src)[k * width + i];
}

static void widen(tt_dtype type, float *dst, const void *src, int64_t n) {
    if (type == TT_F32) {
        memcpy(dst, src, (size_t)n * 4);
        return;
    }
    if (type == TT_BF16)
        EACH_VECTOR(n, v_store_n(dst + i, v_get_n(TT_BF16, src, i, left), left););
    else
        EACH_VECTOR(n, v_store_n(dst + i, v_get_n(TT_F16, src, i, left), left););
}

static void narrow(tt_dtype type, void *dst, const float *src, int64_t n) {
    if (type == TT_F32) {
        memcpy(dst, src, (size_t)n * 4);
        return;
    }
    if (type == TT_BF16)
        EACH_VECTOR(n, v_put_n(TT_BF16, dst, i, v_load_n(src + i, left), left););
    else
        EACH_VECTOR(n, v_put_n(TT_F16, dst, i, v_load_n(src + i, left), left););
}

static void narrow_rows(tt_dtype type, void *dst, int64_t ldd, const float *src, int64_t ld, int64_t rows, int64_t n) {
    if (type == TT_BF16 && n == 2 * SIMD_VL) {
        uint16_t *to = dst;
        for (int64_t r = 0; r < rows; r++, to += ldd, src += ld) {
            v_put(TT_BF16, to, 0, v_load(src));
            v_put(TT_BF16, to, SIMD_VL, v_load(src + SIMD_VL));
        }
        return;
    }
    for (int64_t r = 0; r < rows; r++)
        narrow(type, (char *)dst + r * ldd * tt_dtype_size(type), src + r * ld, n);
}

static void unlay(tt_dtype type, void *dst, int64_t ld, const void *src_, int64_t width, int64_t n, int64_t count) {
    const float *src = src_;
    if (width == 1) {
        narrow(type, dst, src, count);
        return;
    }
    int64_t done = 0;
    if (width == SIMD_VL / 2 && n == width) /* two vectors of each row at once */
        for (; done + 2 * SIMD_VL <= count; done += 2 * SIMD_VL) {
            vf r[SIMD_VL];
            _Pragma("GCC unroll 16") for (int j = 0; j < SIMD_VL; j++) r[j] = v_load_halves(src + (done + j) * width, src + (done + SIMD_VL + j) * width);
            v_transpose(r);
            _Pragma("GCC unroll 8") for (int i = 0; i < SIMD_VL / 2; i++) {
                v_put(type, dst, i * ld + done, r[i]);
                v_put(type, dst, i * ld + done + SIMD_VL, r[SIMD_VL / 2 + i]);
            }
        }
    for (int64_t first = 0; first < n; first += SIMD_VL)
        for (int64_t k = done; k < count; k += SIMD_VL) {
            const int64_t left = count - k < SIMD_VL ? count - k : SIMD_VL, lanes = n - first < SIMD_VL ? n - first : SIMD_VL;
            vf r[SIMD_VL];
            _Pragma("GCC unroll 16") for (int j = 0; j < SIMD_VL; j++) r[j] =
                j < left ? v_load_n(src + (k + j) * width + first, lanes) : v_zero();
            v_transpose(r);
            for (int i = 0; i < lanes; i++)
                v_put_n(type, dst, (first + i) * ld + k, r[i], left);
        }
}

/* simd.h - one vector vocabulary for the kernels: vf is SIMD_VL floats, vd half as many doubles.
 *
 * Included by a kernels_*.c file that has set SIMD (512, 256 or 128) and, through a pragma, the target.
 * `_n` forms touch the first n lanes only (n may exceed the vector; lanes beyond read as zero).
 * Conversions to bf16 and f16 round to nearest even, keep denormals and NaN. */
#ifndef ENG_SIMD_H
#define ENG_SIMD_H
#include "base/dtype.h"
#include <math.h>
#include <stdint.h>
#include <string.h>
#if SIMD > 128
#include <immintrin.h>
#endif

#define INLINE  static inline __attribute__((always_inline, unused))
#define SIMD_VL (SIMD / 32)
#define SIMD_DL (SIMD / 64)

typedef float vf __attribute__((vector_size(SIMD / 8)));
typedef double vd __attribute__((vector_size(SIMD / 8)));
typedef int32_t vi __attribute__((vector_size(SIMD / 8)));
typedef float vf_loose __attribute__((vector_size(SIMD / 8), aligned(4), may_alias));
typedef double vd_loose __attribute__((vector_size(SIMD / 8), aligned(8), may_alias));

INLINE vf v_zero(void) {
    return (vf){};
}
INLINE vf v_load(const float *p) {
    return *(const vf_loose *)p;
}
INLINE void v_store(float *p, vf v) {
    *(vf_loose *)p = v;
}
INLINE vd d_load(const double *p) {
    return *(const vd_loose *)p;
}
INLINE void d_store(double *p, vd v) {
    *(vd_loose *)p = v;
}
/* A broadcast, not an addition: words that are pairs of bf16 must keep their bits. */
#if SIMD == 512
INLINE vf v_set(float x) {
    return (vf)_mm512_set1_ps(x);
}
INLINE vd d_set(double x) {
    return (vd)_mm512_set1_pd(x);
}
#elif SIMD == 256
INLINE vf v_set(float x) {
    return (vf)_mm256_set1_ps(x);
}
INLINE vd d_set(double x) {
    return (vd)_mm256_set1_pd(x);
}
#else
INLINE vf v_set(float x) {
    return (vf){x, x, x, x};
}
INLINE vd d_set(double x) {
    return (vd){x, x};
}
#endif
/* n is a constant that fills the vector: no mask then */
#define WHOLE(n) (__builtin_constant_p(n) && (n) >= SIMD_VL)
/* Holds v in a register: the compiler would rather load it again for every use. */
#if SIMD == 512
#define V_KEEP(v) __asm__("" : "+v"(v))
#elif SIMD == 256
#define V_KEEP(v) __asm__("" : "+x"(v))
#else
#define V_KEEP(v) (void)(v)
#endif
/* mask lanes are all ones or zero */
INLINE vf v_select(vi mask, vf yes, vf no) {
    return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
}

#if SIMD == 512
/* ---- AVX-512 ---- */
INLINE __mmask16 v_lanes(int64_t n) {
    return n >= 16 ? 0xffff : n <= 0 ? 0 : (__mmask16)((1u << n) - 1);
}
INLINE __mmask8 d_lanes(int64_t n) {
    return n >= 8 ? 0xff : n <= 0 ? 0 : (__mmask8)((1u << n) - 1);
}
INLINE vf v_load_n(const float *p, int64_t n) {
    return WHOLE(n) ? v_load(p) : (vf)_mm512_maskz_loadu_ps(v_lanes(n), p);
}
INLINE void v_store_n(float *p, vf v, int64_t n) {
    if (WHOLE(n))
        v_store(p, v);
    else
        _mm512_mask_storeu_ps(p, v_lanes(n), (__m512)v);
}
INLINE vd d_load_n(const double *p, int64_t n) {
    return (vd)_mm512_maskz_loadu_pd(d_lanes(n), p);
}
INLINE void d_store_n(double *p, vd v, int64_t n) {
    _mm512_mask_storeu_pd(p, d_lanes(n), (__m512d)v);
}
INLINE vf v_fma(vf a, vf b, vf c) {
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
INLINE vd d_fma(vd a, vd b, vd c) {
    return (vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
/* a NaN in b comes through, one in a does not: the rule of maxps */
INLINE vf v_max(vf a, vf b) {
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
}
INLINE vf v_min(vf a, vf b) {
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
}
/* b if it is greater or NaN */
INLINE vf v_larger(vf a, vf b) {
    __mmask16 take = _mm512_cmp_ps_mask((__m512)b, (__m512)a, _CMP_GT_OQ) | _mm512_cmp_ps_mask((__m512)b, (__m512)b, _CMP_UNORD_Q);
    return (vf)_mm512_mask_mov_ps((__m512)a, take, (__m512)b);
}
/* x[at[i]]; 0 where at < 0 */
INLINE vf v_pick_n(const float *x, const int32_t *at, int64_t n) {
    __m512i i = _mm512_maskz_loadu_epi32(v_lanes(n), at);
    __mmask16 lanes = _mm512_mask_cmpge_epi32_mask(v_lanes(n), i, _mm512_setzero_si512());
    return (vf)_mm512_mask_i32gather_ps(_mm512_setzero_ps(), lanes, i, x, 4);
}
INLINE vf v_round(vf a) {
    return (vf)_mm512_roundscale_ps((__m512)a, 8);
}
INLINE vf v_scale2(vf a, vf n) {
    return (vf)_mm512_scalef_ps((__m512)a, (__m512)n);
}
INLINE float v_sum(vf a) {
    return _mm512_reduce_add_ps((__m512)a);
}
INLINE float v_top(vf a) {
    return _mm512_reduce_max_ps((__m512)a);
}
INLINE vf v_from_bf16(__m256i x) {
    return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16);
}
INLINE vf v_load_bf16(const void *p) {
    return v_from_bf16(_mm256_loadu_si256((const __m256i *)p));
}
INLINE vf v_load_bf16_n(const void *p, int64_t n) {
    return v_from_bf16(_mm256_maskz_loadu_epi16(v_lanes(n), p));
}
INLINE vf v_load_f16(const void *p) {
    return (vf)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
INLINE vf v_load_f16_n(const void *p, int64_t n) {
    return (vf)_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(v_lanes(n), p));
}
INLINE __m256i v_to_bf16(vf v) {
    __m512i u = (__m512i)v, odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    __m512i r = _mm512_srli_epi32(_mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    __mmask16 nan = _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q);
    r = _mm512_mask_or_epi32(r, nan, _mm512_srli_epi32(u, 16), _mm512_set1_epi32(0x40));
    return _mm512_cvtepi32_epi16(r);
}
INLINE void v_store_bf16(void *p, vf v) {
    _mm256_storeu_si256((__m256i *)p, v_to_bf16(v));
}
INLINE void v_store_bf16_n(void *p, vf v, int64_t n) {
    _mm256_mask_storeu_epi16(p, v_lanes(n), v_to_bf16(v));
}
INLINE void v_store_f16(void *p, vf v) {
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph((__m512)v, 8));
}
INLINE void v_store_f16_n(void *p, vf v, int64_t n) {
    _mm256_mask_storeu_epi16(p, v_lanes(n), _mm512_cvtps_ph((__m512)v, 8));
}
INLINE void v_prefetch(const void *p) {
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}
/* v in the first n lanes, rest beyond */
INLINE vf v_first_n(vf v, int64_t n, vf rest) {
    return WHOLE(n) ? v : (vf)_mm512_mask_mov_ps((__m512)rest, v_lanes(n), (__m512)v);
}

#elif SIMD == 256
/* ---- AVX2 ---- */
INLINE __m256i v_lanes(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n > 8 ? 8 : (int)n),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE __m256i d_lanes(int64_t n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
INLINE vf v_load_n(const float *p, int64_t n) {
    return WHOLE(n) ? v_load(p) : (vf)_mm256_maskload_ps(p, v_lanes(n));
}
INLINE void v_store_n(float *p, vf v, int64_t n) {
    if (WHOLE(n))
        v_store(p, v);
    else
        _mm256_maskstore_ps(p, v_lanes(n), (__m256)v);
}
INLINE vd d_load_n(const double *p, int64_t n) {
    return (vd)_mm256_maskload_pd(p, d_lanes(n));
}
INLINE void d_store_n(double *p, vd v, int64_t n) {
    _mm256_maskstore_pd(p, d_lanes(n), (__m256d)v);
}
INLINE vf v_fma(vf a, vf b, vf c) {
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
INLINE vd d_fma(vd a, vd b, vd c) {
    return (vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
INLINE vf v_max(vf a, vf b) {
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
}
INLINE vf v_min(vf a, vf b) {
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
}
INLINE vf v_pick_n(const float *x, const int32_t *at, int64_t n) {
    __m256i i = _mm256_maskload_epi32(at, v_lanes(n));
    __m256i lanes = _mm256_and_si256(v_lanes(n), _mm256_cmpgt_epi32(i, _mm256_set1_epi32(-1)));
    return (vf)_mm256_mask_i32gather_ps(_mm256_setzero_ps(), x, i, (__m256)lanes, 4);
}
INLINE vf v_round(vf a) {
    return (vf)_mm256_round_ps((__m256)a, 8);
}
INLINE vf v_scale2(vf a, vf n) {
    vi k = (vi)_mm256_cvtps_epi32((__m256)n), half = k >> 1;
    return a * (vf)((half + 127) << 23) * (vf)((k - half + 127) << 23);
}
INLINE vf v_from_bf16(__m128i x) {
    return (vf)_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16);
}
INLINE __m128i v_half_n(const void *p, int64_t n) {
    __m128i x = _mm_setzero_si128();
    if (n > 0)
        memcpy(&x, p, (size_t)(n > 8 ? 8 : n) * 2);
    return x;
}
INLINE vf v_load_bf16(const void *p) {
    return v_from_bf16(_mm_loadu_si128((const __m128i *)p));
}
INLINE vf v_load_bf16_n(const void *p, int64_t n) {
    return v_from_bf16(v_half_n(p, n));
}
INLINE vf v_load_f16(const void *p) {
    return (vf)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
INLINE vf v_load_f16_n(const void *p, int64_t n) {
    return (vf)_mm256_cvtph_ps(v_half_n(p, n));
}
INLINE __m128i v_to_bf16(vf v) {
    typedef uint32_t vu __attribute__((vector_size(32)));
    vu u = (vu)v, r = (u + ((u >> 16) & 1) + 0x7fff) >> 16;
    vu nan = (vu)(v != v);
    r = (r & ~nan) | (((u >> 16) | 0x40) & nan);
    __m256i packed = _mm256_packus_epi32((__m256i)r, _mm256_setzero_si256());
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
}
INLINE void v_half_store_n(void *p, __m128i x, int64_t n) {
    if (n > 0)
        memcpy(p, &x, (size_t)(n > 8 ? 8 : n) * 2);
}
INLINE void v_store_bf16(void *p, vf v) {
    _mm_storeu_si128((__m128i *)p, v_to_bf16(v));
}
INLINE void v_store_bf16_n(void *p, vf v, int64_t n) {
    v_half_store_n(p, v_to_bf16(v), n);
}
INLINE void v_store_f16(void *p, vf v) {
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph((__m256)v, 8));
}
INLINE void v_store_f16_n(void *p, vf v, int64_t n) {
    v_half_store_n(p, _mm256_cvtps_ph((__m256)v, 8), n);
}
INLINE void v_prefetch(const void *p) {
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}
INLINE vf v_first_n(vf v, int64_t n, vf rest) {
    return WHOLE(n) ? v : v_select((vi)v_lanes(n), v, rest);
}

#else
/* ---- any processor ---- */
INLINE vf v_load_n(const float *p, int64_t n) {
    vf v = {};
    for (int i = 0; i < SIMD_VL && i < n; i++)
        v[i] = p[i];
    return v;
}
INLINE void v_store_n(float *p, vf v, int64_t n) {
    for (int i = 0; i < SIMD_VL && i < n; i++)
        p[i] = v[i];
}
INLINE vd d_load_n(const double *p, int64_t n) {
    vd v = {};
    for (int i = 0; i < SIMD_DL && i < n; i++)
        v[i] = p[i];
    return v;
}
INLINE void d_store_n(double *p, vd v, int64_t n) {
    for (int i = 0; i < SIMD_DL && i < n; i++)
        p[i] = v[i];
}
#if defined(__aarch64__)
#include <arm_neon.h>
INLINE vf v_fma(vf a, vf b, vf c) {
    return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
INLINE vd d_fma(vd a, vd b, vd c) {
    return (vd)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#else
INLINE vf v_fma(vf a, vf b, vf c) {
    return a * b + c;
}
INLINE vd d_fma(vd a, vd b, vd c) {
    return a * b + c;
}
#endif
INLINE vf v_max(vf a, vf b) {
    return v_select(a > b, a, b);
}
INLINE vf v_min(vf a, vf b) {
    return v_select(a < b, a, b);
}
INLINE vf v_round(vf a) { /* |a| < 2^22 */
    vf magic = v_set(12582912.f);
    return (a + magic) - magic;
}
INLINE vf v_scale2(vf a, vf n) {
    vi k = __builtin_convertvector(n, vi), half = k >> 1;
    return a * (vf)((half + 127) << 23) * (vf)((k - half + 127) << 23);
}
INLINE vf v_pick_n(const float *x, const int32_t *at, int64_t n) {
    vf v = {};
    for (int i = 0; i < SIMD_VL && i < n; i++)
        v[i] = at[i] < 0 ? 0 : x[at[i]];
    return v;
}
INLINE vf v_load_bf16_n(const void *p, int64_t n) {
    vi v = {};
    for (int i = 0; i < SIMD_VL && i < n; i++)
        v[i] = (int32_t)((uint32_t)((const uint16_t *)p)[i] << 16);
    return (vf)v;
}
INLINE vf v_load_bf16(const void *p) {
    return v_load_bf16_n(p, SIMD_VL);
}
INLINE vf v_load_f16_n(const void *p, int64_t n) {
    vf v = {};
    for (int i = 0; i < SIMD_VL && i < n; i++)
        v[i] = tt_f16_to_f32(((const uint16_t *)p)[i]);
    return v;
}
INLINE vf v_load_f16(const void *p) {
    return v_load_f16_n(p, SIMD_VL);
}
INLINE void v_store_bf16_n(void *p, vf v, int64_t n) {
    for (int i = 0; i < SIMD_VL && i < n; i++)
        ((uint16_t *)p)[i] = tt_f32_to_bf16(v[i]);
}
INLINE void v_store_bf16(void *p, vf v) {
    v_store_bf16_n(p, v, SIMD_VL);
}
INLINE void v_store_f16_n(void *p, vf v, int64_t n) {
    for (int i = 0; i < SIMD_VL && i < n; i++)
        ((uint16_t *)p)[i] = tt_f32_to_f16(v[i]);
}
INLINE void v_store_f16(void *p, vf v) {
    v_store_f16_n(p, v, SIMD_VL);
}
INLINE void v_prefetch(const void *p) {
    __builtin_prefetch(p);
}
INLINE vf v_first_n(vf v, int64_t n, vf rest) {
    for (int i = 0; i < SIMD_VL; i++)
        if (i >= n)
            v[i] = rest[i];
    return v;
}
#endif

#if SIMD < 512
INLINE vf v_larger(vf a, vf b) {
    return v_select((b > a) | (b != b), b, a);
}
INLINE float v_sum(vf a) { /* pairwise, the order of the AVX-512 reduction */
    float s[SIMD_VL];
    for (int i = 0; i < SIMD_VL; i++)
        s[i] = a[i];
    for (int width = SIMD_VL / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            s[i] += s[i + width];
    return s[0];
}
INLINE float v_top(vf a) {
    float top = a[0];
    for (int i = 1; i < SIMD_VL; i++)
        top = a[i] > top ? a[i] : top;
    return top;
}
#endif

/* A bit for each lane of a mask. */
INLINE uint32_t v_bits(vi mask) {
#if SIMD == 512
    return _mm512_movepi32_mask((__m512i)mask);
#elif SIMD == 256
    return (uint32_t)_mm256_movemask_ps((__m256)mask);
#else
    uint32_t bits = 0;
    for (int i = 0; i < SIMD_VL; i++)
        bits |= (uint32_t)(mask[i] & 1) << i;
    return bits;
#endif
}

/* y, which was computed from x, or x where that is NaN: with AVX-512 y has become NaN by itself. */
INLINE vf v_keep_nan(vf x, vf y) {
#if SIMD < 512
    return v_select(x != x, x, y);
#else
    (void)x;
    return y;
#endif
}

/* e^x to 1 ulp: overflow to inf, underflow through denormals to 0, NaN kept. */
INLINE vf v_exp(vf x) {
    vf c = v_min(v_set(89.f), v_max(v_set(-104.f), x));
    vf n = v_round(c * v_set(1.44269504088896341f));
    vf r = v_fma(n, v_set(-0.693145752f), c);
    r = v_fma(n, v_set(-1.42860677e-6f), r);
    vf p = v_set(1.37805939e-3f);
    p = v_fma(p, r, v_set(8.37312452e-3f));
    p = v_fma(p, r, v_set(4.16695364e-2f));
    p = v_fma(p, r, v_set(1.66664720e-1f));
    p = v_fma(p, r, v_set(4.99999851e-1f));
    p = v_fma(p, r, v_set(1.f));
    p = v_fma(p, r, v_set(1.f));
    return v_keep_nan(x, v_scale2(p, n));
}

/* 2^x to 1e-7 of it, NaN kept, made for what is hardly above 0, as a softmax's: x - floor(x) passes a polynomial that is 1 at 0. */
INLINE vf v_exp2_below(vf x) {
#if SIMD == 512
    const vf n = x, r = (vf)_mm512_reduce_ps((__m512)x, 9); /* of -inf: 0 */
#else
    const vf c = v_min(v_max(v_set(-151.f), x), v_set(130.f)), n = v_round(c - v_set(0.5f)), r = c - n;
#endif
    vf p = v_fma(v_set(1.86713008e-3f), r, v_set(9.01703028e-3f));
    p = v_fma(p, r, v_set(5.57999132e-2f));
    p = v_fma(p, r, v_set(2.40164450e-1f));
    p = v_fma(p, r, v_set(6.93151312e-1f));
    p = v_fma(p, r, v_set(1.f));
    return v_keep_nan(x, v_scale2(p, n));
}

/* Element access by type; `type` is a constant wherever these are inlined. */
INLINE vf v_get(tt_dtype type, const void *p, int64_t i) {
    if (type == TT_F32)
        return v_load((const float *)p + i);
    return type == TT_BF16 ? v_load_bf16((const uint16_t *)p + i) : v_load_f16((const uint16_t *)p + i);
}
INLINE vf v_get_n(tt_dtype type, const void *p, int64_t i, int64_t n) {
    if (WHOLE(n))
        return v_get(type, p, i);
    if (type == TT_F32)
        return v_load_n((const float *)p + i, n);
    return type == TT_BF16 ? v_load_bf16_n((const uint16_t *)p + i, n)
                           : v_load_f16_n((const uint16_t *)p + i, n);
}
INLINE void v_put(tt_dtype type, void *p, int64_t i, vf v) {
    if (type == TT_F32)
        v_store((float *)p + i, v);
    else if (type == TT_BF16)
        v_store_bf16((uint16_t *)p + i, v);
    else
        v_store_f16((uint16_t *)p + i, v);
}
INLINE void v_put_n(tt_dtype type, void *p, int64_t i, vf v, int64_t n) {
    if (WHOLE(n))
        v_put(type, p, i, v);
    else if (type == TT_F32)
        v_store_n((float *)p + i, v, n);
    else if (type == TT_BF16)
        v_store_bf16_n((uint16_t *)p + i, v, n);
    else
        v_store_f16_n((uint16_t *)p + i, v, n);
}
/* Runs the statements for i = 0, SIMD_VL ..; `left` is what is left of n, a constant for whole vectors. */
#define EACH_VECTOR(n, ...)                                                                                  \
    do {                                                                                                     \
        int64_t i = 0;                                                                                       \
        for (; i + SIMD_VL <= (n); i += SIMD_VL) {                                                           \
            enum { left = SIMD_VL };                                                                         \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
        if (i < (n)) {                                                                                       \
            const int64_t left = (n) - i;                                                                    \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    } while (0)

/* A function of a constant type by the type at hand. */
#define BY_TYPE(TYPE, CALL)                                                                                  \
    do {                                                                                                     \
        if ((TYPE) == TT_F32) {                                                                              \
            CALL(TT_F32);                                                                                    \
        } else if ((TYPE) == TT_BF16) {                                                                      \
            CALL(TT_BF16);                                                                                   \
        } else {                                                                                             \
            CALL(TT_F16);                                                                                    \
        }                                                                                                    \
    } while (0)

INLINE float v_scalar(tt_dtype type, const void *p, int64_t i) {
    return v_get_n(type, p, i, 1)[0];
}
#endif

/* loop_vector.h - the vector layer under loop_kernels.h: f32 lanes, their loads and stores from f32, bf16 and f16, and the
 * elementary functions over them. Included once per instruction set: LOOP_ISA is 512, 256 or 0; the including file has set the
 * target by pragma. Names are static; nothing here is shared between instruction sets. */
#include <stdint.h>
#include <string.h>
#if LOOP_ISA
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
/* With fused multiply-add every function below gives the same bits at every level. */
#define LOOP_FMA (LOOP_ISA || __aarch64__)

#if LOOP_ISA == 512
#define VL 16
#elif LOOP_ISA == 256
#define VL 8
#else
#define VL 4
#endif
#define INLINE static inline __attribute__((always_inline, unused))

typedef float vf __attribute__((vector_size(VL * 4)));
typedef int32_t vi __attribute__((vector_size(VL * 4)));
typedef uint32_t vu __attribute__((vector_size(VL * 4)));
typedef double vd __attribute__((vector_size(VL * 4)));
typedef int64_t vl __attribute__((vector_size(VL * 4)));
typedef uint16_t vh __attribute__((vector_size(VL * 2)));
typedef int8_t vb __attribute__((vector_size(VL)));
typedef float vf_any __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef double vd_any __attribute__((vector_size(VL * 4), aligned(8), may_alias));
typedef uint16_t vh_any __attribute__((vector_size(VL * 2), aligned(2), may_alias));
typedef int8_t vb_any __attribute__((vector_size(VL), aligned(1), may_alias));

#define K(x) ((vf){} + (float)(x))
#define KI(x) ((vi){} + (int32_t)(x))
#define KU(x) ((vu){} + (uint32_t)(x))

/* ---- masks: k registers where there are any, else lanes of all ones ---- */
#if LOOP_ISA == 512
typedef __mmask16 vm;
INLINE vm lt(vf a, vf b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ); }
INLINE vm le(vf a, vf b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LE_OQ); }
INLINE vm eq(vf a, vf b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ); }
INLINE vm ne(vf a, vf b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_NEQ_UQ); }
INLINE vm either(vm a, vm b) { return (vm)(a | b); }
INLINE vf sel(vm m, vf a, vf b) { return (vf)_mm512_mask_blend_ps(m, (__m512)b, (__m512)a); }
INLINE int any(vm m) { return m != 0; }
#else
typedef vi vm;
INLINE vm lt(vf a, vf b) { return a < b; }
INLINE vm le(vf a, vf b) { return a <= b; }
INLINE vm eq(vf a, vf b) { return a == b; }
INLINE vm ne(vf a, vf b) { return a != b; }
INLINE vm either(vm a, vm b) { return a | b; }
INLINE vf sel(vm m, vf a, vf b) { return (vf)(((vi)a & m) | ((vi)b & ~m)); }
INLINE int any(vm m) {
    int32_t s = 0;
    for (int i = 0; i < VL; i++)
        s |= m[i];
    return s != 0;
}
#endif

INLINE vd sel_D(vl m, vd a, vd b) { return (vd)(((vl)a & m) | ((vl)b & ~m)); }
INLINE vf vabs(vf a) { return (vf)((vi)a & KI(0x7fffffff)); }
INLINE vf with_sign(vf magnitude, vf sign) { return (vf)(((vi)magnitude & KI(0x7fffffff)) | ((vi)sign & KI(INT32_MIN))); }

/* ---- what the instruction sets name differently ---- */
#if LOOP_ISA == 512
INLINE vf fma_(vf a, vf b, vf c) { return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
INLINE vf vrint(vf a) { return (vf)_mm512_roundscale_ps((__m512)a, 8); }
INLINE vf vfloor(vf a) { return (vf)_mm512_roundscale_ps((__m512)a, 9); }
INLINE vf vceil(vf a) { return (vf)_mm512_roundscale_ps((__m512)a, 10); }
INLINE vf vtrunc(vf a) { return (vf)_mm512_roundscale_ps((__m512)a, 11); }
INLINE vf scale2(vf a, vf n) { return (vf)_mm512_scalef_ps((__m512)a, (__m512)n); }
INLINE vf vsqrt(vf a) { return (vf)_mm512_sqrt_ps((__m512)a); }
/* x86: the second operand where either is NaN or both are zero */
INLINE vf max_x86(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE vf min_x86(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
#elif LOOP_ISA == 256
INLINE vf fma_(vf a, vf b, vf c) { return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
INLINE vf vrint(vf a) { return (vf)_mm256_round_ps((__m256)a, 8); }
INLINE vf vfloor(vf a) { return (vf)_mm256_round_ps((__m256)a, 9); }
INLINE vf vceil(vf a) { return (vf)_mm256_round_ps((__m256)a, 10); }
INLINE vf vtrunc(vf a) { return (vf)_mm256_round_ps((__m256)a, 11); }
INLINE vf vsqrt(vf a) { return (vf)_mm256_sqrt_ps((__m256)a); }
INLINE vf max_x86(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE vf min_x86(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
#elif defined(__aarch64__)
INLINE vf fma_(vf a, vf b, vf c) { return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
INLINE vf vrint(vf a) { return (vf)vrndnq_f32((float32x4_t)a); }
INLINE vf vfloor(vf a) { return (vf)vrndmq_f32((float32x4_t)a); }
INLINE vf vceil(vf a) { return (vf)vrndpq_f32((float32x4_t)a); }
INLINE vf vtrunc(vf a) { return (vf)vrndq_f32((float32x4_t)a); }
INLINE vf vsqrt(vf a) { return (vf)vsqrtq_f32((float32x4_t)a); }
INLINE vf max_x86(vf a, vf b) { return sel(lt(b, a), a, b); }
INLINE vf min_x86(vf a, vf b) { return sel(lt(a, b), a, b); }
#else
INLINE vf fma_(vf a, vf b, vf c) { return a * b + c; }
INLINE vf vrint(vf a) { /* adding 2^23 leaves no fraction bits */
    vf big = K(8388608.0f), m = (vabs(a) + big) - big;
    return sel(lt(vabs(a), big), with_sign(m, a), a);
}
INLINE vf vfloor(vf a) {
    vf r = vrint(a);
    return sel(lt(a, r), r - K(1), r);
}
INLINE vf vceil(vf a) {
    vf r = vrint(a);
    return with_sign(sel(lt(r, a), r + K(1), r), a);
}
INLINE vf vtrunc(vf a) { return with_sign(vfloor(vabs(a)), a); }
INLINE vf vsqrt(vf a) {
    for (int i = 0; i < VL; i++)
        a[i] = __builtin_sqrtf(a[i]);
    return a;
}
INLINE vf max_x86(vf a, vf b) { return sel(lt(b, a), a, b); }
INLINE vf min_x86(vf a, vf b) { return sel(lt(a, b), a, b); }
#endif
#if LOOP_ISA != 512
/* a * 2^n, n whole, |n| < 254: in two steps, so that results below the normal range round once */
INLINE vf scale2(vf a, vf n) {
    vi k = __builtin_convertvector(n, vi), h = k >> 1;
    return a * (vf)((h + 127) << 23) * (vf)((k - h + 127) << 23);
}
#endif
INLINE vf vmax(vf a, vf b) { /* NaN wins, +0 over -0 */
    vf m = sel(eq(a, b), (vf)((vi)a & (vi)b), max_x86(a, b));
    return sel(ne(a, a), a, m);
}
INLINE vf vmin(vf a, vf b) {
    vf m = sel(eq(a, b), (vf)((vi)a | (vi)b), min_x86(a, b));
    return sel(ne(a, a), a, m);
}

/* ---- loads and stores: F is f32, B bf16, H f16; ...p_ moves only the first n < VL elements ---- */
typedef float elem_F;
typedef uint16_t elem_B, elem_H;

INLINE vf wide_B(vh h) { return (vf)(__builtin_convertvector(h, vu) << 16); }
INLINE vh narrow_B(vf v) { /* to nearest even; NaN stays NaN */
    vu u = (vu)v, r = (u + KU(0x7fff) + ((u >> 16) & 1)) >> 16, q = (u >> 16) | KU(0x40);
    r = (vu)sel(ne(v, v), (vf)q, (vf)r);
#if LOOP_ISA == 512
    return (vh)_mm512_cvtepi32_epi16((__m512i)r);
#elif LOOP_ISA == 256
    __m256i p = _mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)r, (__m256i)r), 0x08);
    return (vh)_mm256_castsi256_si128(p);
#else
    return __builtin_convertvector(r, vh);
#endif
}
#if LOOP_ISA == 512
INLINE vf wide_H(vh h) { return (vf)_mm512_cvtph_ps((__m256i)h); }
INLINE vh narrow_H(vf v) { return (vh)_mm512_cvtps_ph((__m512)v, 8); }
#elif LOOP_ISA == 256
INLINE vf wide_H(vh h) { return (vf)_mm256_cvtph_ps((__m128i)h); }
INLINE vh narrow_H(vf v) { return (vh)_mm256_cvtps_ph((__m256)v, 8); }
#else
INLINE vf wide_H(vh h) { /* place the bits, then multiply the exponent's bias away: exact, also below the normal range */
    vu w = __builtin_convertvector(h, vu), m = w & KU(0x7fff);
    vf v = (vf)(m << 13) * K(0x1p112f);
    v = sel((vi)(m >= KU(0x7c00)), (vf)((m << 13) | KU(0x7f800000)), v);
    return (vf)((vu)v | ((w & KU(0x8000)) << 16));
}
INLINE vh narrow_H(vf v) {
    vu s = ((vu)v >> 16) & KU(0x8000);
    vf a = vabs(v);
    vu u = (vu)a;
    /* normals: round the low 13 bits away; below 2^-14: let an addition round to multiples of 2^-24 */
    vu normal = (u - KU(0x38000000) + KU(0xfff) + ((u >> 13) & 1)) >> 13;
    vu tiny = (vu)(a + K(0.5f)) - KU(0x3f000000);
    vu r = (vu)sel(lt(a, K(0x1p-14f)), (vf)tiny, (vf)normal);
    r = (vu)sel(le(K(65520.0f), a), (vf)KU(0x7c00), (vf)r);
    r = (vu)sel(ne(v, v), (vf)(((u >> 13) & 0x3ff) | KU(0x7e00)), (vf)r);
    return __builtin_convertvector(r | s, vh);
}
#endif
INLINE vf ld_F(const float *p) { return *(const vf_any *)p; }
INLINE vf ld_B(const uint16_t *p) { return wide_B(*(const vh_any *)p); }
INLINE vf ld_H(const uint16_t *p) { return wide_H(*(const vh_any *)p); }
INLINE void st_F(float *p, vf v) { *(vf_any *)p = v; }
INLINE void st_B(uint16_t *p, vf v) { *(vh_any *)p = narrow_B(v); }
INLINE void st_H(uint16_t *p, vf v) { *(vh_any *)p = narrow_H(v); }
#if LOOP_ISA == 512
INLINE __mmask16 first(int64_t n) { return (__mmask16)((1u << n) - 1); }
INLINE vf ldp_F(const float *p, int64_t n) { return (vf)_mm512_maskz_loadu_ps(first(n), p); }
INLINE void stp_F(float *p, vf v, int64_t n) { _mm512_mask_storeu_ps(p, first(n), (__m512)v); }
INLINE vh ldp_16(const uint16_t *p, int64_t n) { return (vh)_mm256_maskz_loadu_epi16(first(n), p); }
INLINE void stp_16(uint16_t *p, vh v, int64_t n) { _mm256_mask_storeu_epi16(p, first(n), (__m256i)v); }
#else
INLINE vf ldp_F(const float *p, int64_t n) {
    vf v = {0};
    memcpy(&v, p, (size_t)n * 4);
    return v;
}
INLINE void stp_F(float *p, vf v, int64_t n) { memcpy(p, &v, (size_t)n * 4); }
INLINE vh ldp_16(const uint16_t *p, int64_t n) {
    vh v = {0};
    memcpy(&v, p, (size_t)n * 2);
    return v;
}
INLINE void stp_16(uint16_t *p, vh v, int64_t n) { memcpy(p, &v, (size_t)n * 2); }
#endif
INLINE vf ldp_B(const uint16_t *p, int64_t n) { return wide_B(ldp_16(p, n)); }
INLINE vf ldp_H(const uint16_t *p, int64_t n) { return wide_H(ldp_16(p, n)); }
INLINE void stp_B(uint16_t *p, vf v, int64_t n) { stp_16(p, narrow_B(v), n); }
INLINE void stp_H(uint16_t *p, vf v, int64_t n) { stp_16(p, narrow_H(v), n); }

/* a pred for each lane */
INLINE vb pred_of(vm m) {
#if LOOP_ISA == 512
    return (vb)_mm_maskz_set1_epi8(m, 1);
#else
    return -__builtin_convertvector(m, vb);
#endif
}

/* ---- elementary functions; errors in ulp are measured by tests/c over all floats ---- */
INLINE vf vexp(vf x) { /* 2^n p(r), |r| <= ln2/2 */
    vf c = min_x86(K(89), max_x86(K(-104), x)); /* which leave a NaN */
    vf n = vrint(c * K(1.44269504088896341f));
    vf r = fma_(n, K(-0.693145752f), c);
    r = fma_(n, K(-1.42860677e-6f), r);
    vf p = K(1.37805939e-3f);
    p = fma_(p, r, K(8.37312452e-3f));
    p = fma_(p, r, K(4.16695364e-2f));
    p = fma_(p, r, K(1.66664720e-1f));
    p = fma_(p, r, K(4.99999851e-1f));
    p = fma_(p, r, K(1));
    p = fma_(p, r, K(1));
    return scale2(p, n);
}
INLINE vf vexpm1(vf x) { /* a series where exp(x) - 1 would cancel */
    vf p = K(1.0f / 362880);
    p = fma_(p, x, K(1.0f / 40320));
    p = fma_(p, x, K(1.0f / 5040));
    p = fma_(p, x, K(1.0f / 720));
    p = fma_(p, x, K(1.0f / 120));
    p = fma_(p, x, K(1.0f / 24));
    p = fma_(p, x, K(1.0f / 6));
    p = fma_(p, x, K(0.5f));
    vf s = fma_(p * x, x, x);
    return sel(lt(vabs(x), K(0.5f)), with_sign(s, x), vexp(x) - K(1));
}
INLINE vf vexp2(vf x) { /* whole powers are exact */
    vf c = min_x86(K(129), max_x86(K(-151), x)), n = vrint(c), f = c - n;
    vf p = K(1.534586402e-4f);
    p = fma_(p, f, K(1.339992998e-3f));
    p = fma_(p, f, K(9.618488772e-3f));
    p = fma_(p, f, K(5.550328782e-2f));
    p = fma_(p, f, K(2.402264689e-1f));
    p = fma_(p, f, K(6.931472057e-1f));
    p = fma_(p, f, K(1));
    return scale2(p, n);
}
INLINE vf vtanh(vf x) { /* odd polynomial below 0.625, else 1 - 2 / (e^2|x| + 1) */
    vf a = vabs(x), z = x * x, p = K(-5.70498872745e-3f);
    p = fma_(p, z, K(2.06390887954e-2f));
    p = fma_(p, z, K(-5.37397155531e-2f));
    p = fma_(p, z, K(1.33314422036e-1f));
    p = fma_(p, z, K(-3.33332819422e-1f));
    vf s = fma_(p * z, x, x), c = min_x86(K(20), a), t = K(1) - K(2) / (vexp(c + c) + K(1));
    t = sel(lt(a, K(0.625f)), s, t);
    return with_sign(t, x);
}
INLINE vf verf(vf x) { /* an odd polynomial below 0.875, above 1 - 2^(t p(t)), t = |x| up to 4, where it is 1 */
    vf s = x * x, q = K(-6.20325562e-4f);
    q = fma_(q, s, K(5.03218127e-3f));
    q = fma_(q, s, K(-2.67914627e-2f));
    q = fma_(q, s, K(1.12824552e-1f));
    q = fma_(q, s, K(-3.76125515e-1f));
    q = fma_(q, s, K(1.28379151e-1f));
    q = fma_(q, x, x);
    vf t = min_x86(K(4), vabs(x)), p = K(3.09897820e-4f);
    p = fma_(p, t, K(-4.64807032e-3f));
    p = fma_(p, t, K(3.30553055e-2f));
    p = fma_(p, t, K(-1.51911438e-1f));
    p = fma_(p, t, K(-9.17108655e-1f));
    p = fma_(p, t, K(-1.62811375e0f));
    vf n = vrint(p * t), f = fma_(p, t, -n), e = K(1.32257072e-3f);
    e = fma_(e, f, K(9.67176259e-3f));
    e = fma_(e, f, K(5.55089153e-2f));
    e = fma_(e, f, K(2.40222365e-1f));
    e = fma_(e, f, K(6.93146825e-1f));
    e = fma_(e, f, K(1));
    return sel(lt(K(0.765625f), s), with_sign(K(1) - scale2(e, n), x), q);
}
INLINE vf vlog(vf x) { /* e ln2 + log(m), m in [sqrt(1/2), sqrt(2)) */
    vm tiny = lt(x, K(1.17549435e-38f));
    vf y = sel(tiny, x * K(8388608.0f), x);
    vi bits = (vi)y, e = ((bits >> 23) & 255) - 126;
    vf m = (vf)((bits & KI(0x007fffff)) | KI(0x3f000000));
    vm low = lt(m, K(0.707106781186547524f));
    vf ef = __builtin_convertvector(e, vf) - sel(low, K(1), K(0)) - sel(tiny, K(23), K(0));
    m = m + sel(low, m, K(0)) - K(1);
    vf z = m * m, p = K(7.0376836292e-2f);
    p = fma_(p, m, K(-1.1514610310e-1f));
    p = fma_(p, m, K(1.1676998740e-1f));
    p = fma_(p, m, K(-1.2420140846e-1f));
    p = fma_(p, m, K(1.4249322787e-1f));
    p = fma_(p, m, K(-1.6668057665e-1f));
    p = fma_(p, m, K(2.0000714765e-1f));
    p = fma_(p, m, K(-2.4999993993e-1f));
    p = fma_(p, m, K(3.3333331174e-1f));
    vf r = p * m * z;
    r = fma_(ef, K(-2.12194440e-4f), r);
    r = fma_(z, K(-0.5f), r);
    r = m + r;
    r = fma_(ef, K(0.693359375f), r);
    r = sel(eq(x, K(0)), K(-__builtin_inff()), r);
    r = sel(lt(x, K(0)), K(__builtin_nanf("")), r);
    return sel(either(ne(x, x), eq(x, K(__builtin_inff()))), x, r);
}
INLINE vf vlog1p(vf x) { /* log(u) + what u = 1 + x lost, over u */
    vf u = K(1) + x, r = vlog(u) + (x - (u - K(1))) / u;
    r = sel(eq(u, K(1)), x, r);
    r = sel(eq(x, K(-1)), K(-__builtin_inff()), r);
    return sel(eq(x, K(__builtin_inff())), x, r);
}
/* erfc(|x|) = exp(-x^2) p(t) / (1 + 2|x|), t = (|x| - 2) / (|x| + 2). The square in two parts, of which the first is exact. */
INLINE vf verfc(vf x) {
    vf a = min_x86(K(10.5f), vabs(x)), t = (a - K(2)) / (a + K(2));
    vf p = K(1.77333999e-5f);
    p = fma_(p, t, K(1.16331788e-4f));
    p = fma_(p, t, K(1.67447495e-4f));
    p = fma_(p, t, K(-4.45100594e-4f));
    p = fma_(p, t, K(-1.43439345e-3f));
    p = fma_(p, t, K(1.27219846e-3f));
    p = fma_(p, t, K(8.71683717e-3f));
    p = fma_(p, t, K(-8.03468629e-3f));
    p = fma_(p, t, K(-5.42193051e-2f));
    p = fma_(p, t, K(1.64051358e-1f));
    p = fma_(p, t, K(-1.66030429e-1f));
    p = fma_(p, t, K(-9.27638286e-2f));
    p = fma_(p, t, K(1.27697838f));
    vf high = (vf)((vi)a & KI(0x7ffff000)), low = (a - high) * (a + high);
    vf r = vexp(-(high * high)) * (vexp(-low) * p / (K(1) + K(2) * a));
    return sel(ne(x, x), x, sel(lt(x, K(0)), K(2) - r, r));
}
INLINE vf vasinh(vf x) { /* log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))); far out log(2 |x|) */
    vf a = vabs(x), z = a * a;
    vm far = lt(K(1e10f), a);
    vf r = vlog1p(sel(far, a, a + z / (K(1) + vsqrt(z + K(1)))));
    return with_sign(r + sel(far, K(0.693147182f), K(0)), x);
}
INLINE vf vacosh(vf x) {
    vf t = x - K(1);
    vm far = lt(K(1e10f), x);
    vf r = vlog1p(sel(far, x, t + vsqrt(t * (t + K(2))))) + sel(far, K(0.693147182f), K(0));
    return sel(lt(x, K(1)), K(__builtin_nanf("")), r);
}
INLINE vf vatanh(vf x) { /* log1p(2|x| / (1 - |x|)) / 2 */
    vf a = vabs(x);
    return with_sign(K(0.5f) * vlog1p((a + a) / (K(1) - a)), x);
}
INLINE vf vlogistic(vf x) { /* the exponential of -|x| cannot overflow */
    vf e = vexp((vf)((vi)x | KI(INT32_MIN)));
    return sel(lt(x, K(0)), e, K(1)) / (K(1) + e);
}
#if LOOP_FMA
/* sin (quadrant 0) or cos (quadrant 1); lanes beyond the reduction's range are done by libm */
INLINE vf vsincos(vf x, int quadrant) {
    vf n = vrint(x * K(0.636619747f));
    vf r = fma_(n, K(-0x1.921fb4p+0f), x);
    r = fma_(n, K(-0x1.4442d0p-24f), r);
    r = fma_(n, K(-0x1.84698ap-48f), r);
    vi q = __builtin_convertvector(n, vi) + quadrant;
    vf z = r * r, s = K(2.86567956e-6f), c = K(2.44677067e-5f);
    s = fma_(s, z, K(-1.98559923e-4f));
    s = fma_(s, z, K(8.33338592e-3f));
    s = fma_(s, z, K(-1.66666672e-1f));
    s = fma_(s * z, r, r);
    c = fma_(c, z, K(-1.38877297e-3f));
    c = fma_(c, z, K(4.16666567e-2f));
    c = fma_(c, z, K(-5.00000000e-1f));
    c = fma_(c, z, K(1));
    vf odd = (vf)((q & 1) << 31 >> 31), v = (vf)(((vi)c & (vi)odd) | ((vi)s & ~(vi)odd));
    v = (vf)((vi)v ^ ((q & 2) << 30));
    v = quadrant ? v : sel(eq(x, K(0)), x, v);
    vf magnitude = vabs(x);
    if (any(lt(K(30000), magnitude)) || any(ne(x, x)))
        for (int i = 0; i < VL; i++)
            if (!(magnitude[i] <= 30000))
                v[i] = quadrant ? __builtin_cosf(x[i]) : __builtin_sinf(x[i]);
    return v;
}
#else
INLINE vf vsincos(vf x, int quadrant) {
    for (int i = 0; i < VL; i++)
        x[i] = quadrant ? __builtin_cosf(x[i]) : __builtin_sinf(x[i]);
    return x;
}
#endif
INLINE vf vtan(vf x) { return sel(eq(x, K(0)), x, vsincos(x, 0) / vsincos(x, 1)); }
INLINE vf vsinh(vf x) { /* by halves of the exponent, where e^|x| may overflow */
    vf a = vabs(x), e = vexpm1(min_x86(K(20), a)), h = vexp(a * K(0.5f));
    vf low = K(0.5f) * (e + e / (e + K(1)));
    return with_sign(sel(lt(a, K(20)), low, K(0.5f) * h * h), x);
}
INLINE vf vcosh(vf x) {
    vf a = vabs(x), e = vexp(min_x86(K(20), a)), h = vexp(a * K(0.5f));
    return sel(lt(a, K(20)), K(0.5f) * (e + K(1) / e), K(0.5f) * h * h);
}
/* of t in [0, 1] */
INLINE vf atan_of(vf t) {
    vf z = t * t, p = K(1.13487523e-3f);
    p = fma_(p, z, K(-7.42262322e-3f));
    p = fma_(p, z, K(2.2760313e-2f));
    p = fma_(p, z, K(-4.49464135e-2f));
    p = fma_(p, z, K(6.75956979e-2f));
    p = fma_(p, z, K(-8.81884769e-2f));
    p = fma_(p, z, K(1.10602446e-1f));
    p = fma_(p, z, K(-1.428013e-1f));
    p = fma_(p, z, K(1.99996933e-1f));
    p = fma_(p, z, K(-3.33333284e-1f));
    return fma_(p * z, t, t);
}
INLINE vf vatan(vf x) {
    vf a = vabs(x);
    vm far = lt(K(1), a);
    vf r = atan_of(sel(far, K(1) / a, a));
    return with_sign(sel(far, (K(1.57079637f) - r) + K(-4.37113883e-8f), r), x);
}
INLINE vf vatan2(vf y, vf x) { /* the smaller over the larger; 0 / 0 is 0 and inf / inf 1 */
    vf a = vabs(y), b = vabs(x), most = max_x86(a, b), least = min_x86(a, b);
    vf t = sel(eq(least, most), sel(eq(most, K(0)), K(0), K(1)), least / most), r = atan_of(t);
    r = sel(lt(b, a), (K(1.57079637f) - r) + K(-4.37113883e-8f), r);
    vf back = (K(3.14159274f) - r) + K(-8.74227766e-8f);
    r = with_sign(sel(lt(with_sign(K(1), x), K(0)), back, r), y);
    return sel(either(ne(x, x), ne(y, y)), x + y, r);
}
/* of t in [0, 1/2], z its square */
INLINE vf asin_of(vf t, vf z) {
    vf p = K(3.7565235e-2f);
    p = fma_(p, z, K(1.44025842e-2f));
    p = fma_(p, z, K(3.18176188e-2f));
    p = fma_(p, z, K(4.45157178e-2f));
    p = fma_(p, z, K(7.50051066e-2f));
    p = fma_(p, z, K(1.66666597e-1f));
    return fma_(p * z, t, t);
}
INLINE vf vasin(vf x) {
    vf a = vabs(x), z = (K(1) - a) * K(0.5f);
    vm low = lt(a, K(0.5f));
    vf r = asin_of(sel(low, a, vsqrt(z)), sel(low, a * a, z));
    return with_sign(sel(low, r, (K(1.57079637f) - K(2) * r) + K(-4.37113883e-8f)), x);
}
INLINE vf vacos(vf x) {
    vf a = vabs(x), z = (K(1) - a) * K(0.5f);
    vm low = lt(a, K(0.5f));
    vf r = asin_of(sel(low, a, vsqrt(z)), sel(low, a * a, z));
    vf middle = K(1.57079637f) - (with_sign(r, x) - K(-4.37113883e-8f)), back = K(3.14159274f) - (K(2) * r - K(-8.74227766e-8f));
    return sel(low, middle, sel(lt(x, K(0)), back, K(2) * r));
}
INLINE vf verf_inv(vf x) { /* polynomials in w = -log(1 - x^2) for the middle, in sqrt(w) for the tails */
    vf w = -vlog((K(1) - x) * (K(1) + x)), m = w - K(2.5f), t = vsqrt(w) - K(3);
    vf p = K(2.81022636e-08f), q = K(-0.000200214257f);
    p = fma_(p, m, K(3.43273939e-07f));
    p = fma_(p, m, K(-3.5233877e-06f));
    p = fma_(p, m, K(-4.39150654e-06f));
    p = fma_(p, m, K(0.00021858087f));
    p = fma_(p, m, K(-0.00125372503f));
    p = fma_(p, m, K(-0.00417768164f));
    p = fma_(p, m, K(0.246640727f));
    p = fma_(p, m, K(1.50140941f));
    q = fma_(q, t, K(0.000100950558f));
    q = fma_(q, t, K(0.00134934322f));
    q = fma_(q, t, K(-0.00367342844f));
    q = fma_(q, t, K(0.00573950773f));
    q = fma_(q, t, K(-0.0076224613f));
    q = fma_(q, t, K(0.00943887047f));
    q = fma_(q, t, K(1.00167406f));
    q = fma_(q, t, K(2.83297682f));
    vf r = sel(lt(w, K(5)), p, q) * x;
    return sel(eq(vabs(x), K(1)), x * K(__builtin_inff()), sel(eq(x, K(0)), x, r));
}
#if LOOP_FMA
/* The quotient's whole part is right or one too many, and then what is left comes out negative: both subtractions are exact. */
INLINE vf vfmod(vf x, vf y) {
    vf a = vabs(x), b = vabs(y), q = vtrunc(a / b), r = fma_(-q, b, a);
    r = sel(lt(r, K(0)), r + b, r);
    vf v = with_sign(r, x);
    vm fine = lt(q, K(4194304.0f)), finite = lt(b, K(__builtin_inff()));
    vf ok = sel(fine, sel(finite, K(1), K(0)), K(0));
    if (any(ne(ok, K(1))))
        for (int i = 0; i < VL; i++)
            if (ok[i] != 1)
                v[i] = __builtin_fmodf(x[i], y[i]);
    return v;
}
#else
INLINE vf vfmod(vf x, vf y) {
    for (int i = 0; i < VL; i++)
        x[i] = __builtin_fmodf(x[i], y[i]);
    return x;
}
#endif
INLINE vf vsign(vf x) { return sel(either(eq(x, K(0)), ne(x, x)), x, with_sign(K(1), x)); }
INLINE vf vround_afz(vf x) {
    vf a = vabs(x), t = vtrunc(a);
    return with_sign(t + sel(le(K(0.5f), a - t), K(1), K(0)), x);
}

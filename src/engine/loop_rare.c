/* loop_rare.c - tile kernels that gain nothing from vectors written by hand: functions of libm one element at a time, complex
 * arithmetic, integer powers, and conversions of wide numbers to 16-bit floats. */
#include "engine/fast.h"
#include "engine/ref.h"
#include <math.h>
#include <string.h>

#define KERNEL(name) static void name(void *dv, const void *av, const void *bv, const void *cv, int64_t n)
/* plain loops that the compiler makes vectors of */
#define CLONED(name) static FAST_CLONES void name(void *dv, const void *av, const void *bv, const void *cv, int64_t n)
#define UNUSED3 (void)av, (void)bv, (void)cv

/* Elements go through f32 in blocks, converted by the vector kernels. */
enum { BLOCK = 256 };
#define HALF1(name, type, f)                                                                      \
    KERNEL(name##_##type) {                                                                       \
        float x[BLOCK];                                                                           \
        loop_kernel get = loop_find(HLO_CONVERT, TT_##type, TT_F32, 0), put = loop_find(HLO_CONVERT, TT_F32, TT_##type, 0); \
        UNUSED3;                                                                                  \
        for (int64_t at = 0; at < n; at += BLOCK) {                                               \
            int64_t m = loop_min(BLOCK, n - at);                                                  \
            get(x, (const uint16_t *)av + at, NULL, NULL, m);                                     \
            for (int64_t i = 0; i < m; i++)                                                       \
                x[i] = f(x[i]);                                                                   \
            put((uint16_t *)dv + at, x, NULL, NULL, m);                                           \
        }                                                                                         \
    }
#define WHOLE1(name, type, T, f)                                                                  \
    KERNEL(name##_##type) {                                                                       \
        T *d = dv;                                                                                \
        const T *a = av;                                                                          \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                           \
            d[i] = f(a[i]);                                                                       \
    }
#define WHOLE2(name, type, T, f)                                                                  \
    KERNEL(name##_##type) {                                                                       \
        T *d = dv;                                                                                \
        const T *a = av, *b = bv;                                                                 \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                           \
            d[i] = f(a[i], b[i]);                                                                 \
    }
#define ALL1(name, fn) HALF1(name, BF16, fn##f) HALF1(name, F16, fn##f) WHOLE1(name, F32, float, fn##f) WHOLE1(name, F64, double, fn)

ALL1(k_cbrt, cbrt)
WHOLE1(k_acosh, F64, double, acosh)
WHOLE1(k_asinh, F64, double, asinh)
WHOLE1(k_atanh, F64, double, atanh)
WHOLE1(k_lgamma, F64, double, ref_lgamma)
WHOLE1(k_digamma, F64, double, ref_digamma)
WHOLE2(k_remainder, F64, double, fmod)
WHOLE1(k_erf_inv, F64, double, ref_erf_inv)
WHOLE1(k_round_afz, F64, double, round)

/* x^y by squaring, wrapping; negative powers: of 1 and -1 whole, of others 0 */
#define INT_POWER(type, T, U, SIGNED)                                                             \
    KERNEL(k_power_##type) {                                                                      \
        T *d = dv;                                                                                \
        const T *a = av, *b = bv;                                                                 \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                         \
            uint64_t x = (uint64_t)a[i], r = 1;                                                   \
            if (SIGNED && (int64_t)b[i] < 0) {                                                    \
                r = a[i] == 1 ? 1 : a[i] == (T)-1 ? (b[i] & 1 ? (uint64_t)-1 : 1) : 0;            \
            } else {                                                                              \
                for (uint64_t e = (uint64_t)b[i]; e; e >>= 1, x *= x)                             \
                    r = e & 1 ? r * x : r;                                                        \
            }                                                                                     \
            d[i] = (T)(U)r;                                                                       \
        }                                                                                         \
    }
#define INT_BITS(type, U, bits)                                                                   \
    KERNEL(k_popcnt_##type) {                                                                     \
        U *d = dv;                                                                                \
        const U *a = av;                                                                          \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                           \
            d[i] = (U)__builtin_popcountll(a[i]);                                                 \
    }                                                                                             \
    KERNEL(k_clz_##type) {                                                                        \
        U *d = dv;                                                                                \
        const U *a = av;                                                                          \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                           \
            d[i] = (U)(a[i] ? __builtin_clzll(a[i]) - (64 - bits) : bits);                        \
    }
INT_POWER(I8, int8_t, uint8_t, 1)
INT_POWER(I16, int16_t, uint16_t, 1)
INT_POWER(I32, int32_t, uint32_t, 1)
INT_POWER(I64, int64_t, uint64_t, 1)
INT_POWER(U8, uint8_t, uint8_t, 0)
INT_POWER(U16, uint16_t, uint16_t, 0)
INT_POWER(U32, uint32_t, uint32_t, 0)
INT_POWER(U64, uint64_t, uint64_t, 0)
INT_BITS(U8, uint8_t, 8)
INT_BITS(U16, uint16_t, 16)
INT_BITS(U32, uint32_t, 32)
INT_BITS(U64, uint64_t, 64)

/* ---- 16-bit floats from numbers that f32 does not hold: rounded to f32 first, as PyTorch and the reference do ---- */
#define WIDE_TO_HALF(from, T, type)                                                               \
    CLONED(k_convert_##from##_##type) {                                                           \
        float x[BLOCK];                                                                           \
        loop_kernel put = loop_find(HLO_CONVERT, TT_F32, TT_##type, 0);                           \
        const T *a = av;                                                                          \
        UNUSED3;                                                                                  \
        for (int64_t at = 0; at < n; at += BLOCK) {                                               \
            int64_t m = loop_min(BLOCK, n - at);                                                  \
            for (int64_t i = 0; i < m; i++)                                                       \
                x[i] = (float)a[at + i];                                                          \
            put((uint16_t *)dv + at, x, NULL, NULL, m);                                           \
        }                                                                                         \
    }
#define WIDE_TO_HALVES(from, T) WIDE_TO_HALF(from, T, BF16) WIDE_TO_HALF(from, T, F16)
WIDE_TO_HALVES(F64, double)
WIDE_TO_HALVES(I32, int32_t)
WIDE_TO_HALVES(U32, uint32_t)
WIDE_TO_HALVES(I64, int64_t)
WIDE_TO_HALVES(U64, uint64_t)

CLONED(k_convert_BF16_F64) {
    double *d = dv;
    const uint16_t *a = av;
    UNUSED3;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)a[i] << 16;
        float f;
        memcpy(&f, &bits, sizeof f);
        d[i] = (double)f;
    }
}
KERNEL(k_convert_F16_F64) {
    float x[BLOCK];
    loop_kernel get = loop_find(HLO_CONVERT, TT_F16, TT_F32, 0);
    double *d = dv;
    UNUSED3;
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t m = loop_min(BLOCK, n - at);
        get(x, (const uint16_t *)av + at, NULL, NULL, m);
        for (int64_t i = 0; i < m; i++)
            d[at + i] = (double)x[i];
    }
}

/* ---- complex: pairs (re, im) ----
 * GCC 12 makes multiply-adds of a difference beside a sum of products, for all that -ffp-contract=off says, and what overflows would
 * be an infinity instead of a NaN: the difference is a sum with a factor that it does not know. */
static const volatile float minus_one = -1;
#define COMPLEX(type, T, hypot_)                                                                  \
    CLONED(k_add_##type) {                                                                        \
        T *d = dv;                                                                                \
        const T *a = av, *b = bv;                                                                 \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < 2 * n; i++)                                                       \
            d[i] = a[i] + b[i];                                                                   \
    }                                                                                             \
    CLONED(k_subtract_##type) {                                                                   \
        T *d = dv;                                                                                \
        const T *a = av, *b = bv;                                                                 \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < 2 * n; i++)                                                       \
            d[i] = a[i] - b[i];                                                                   \
    }                                                                                             \
    CLONED(k_multiply_##type) {                                                                   \
        T *d = dv;                                                                                \
        const T *a = av, *b = bv;                                                                 \
        UNUSED3;                                                                                  \
        const T minus = (T)minus_one;                                                             \
        for (int64_t i = 0; i < n; i++) {                                                         \
            T p = a[2 * i], q = a[2 * i + 1], r = b[2 * i], s = b[2 * i + 1];                     \
            d[2 * i] = p * r + minus * q * s;                                                     \
            d[2 * i + 1] = p * s + q * r;                                                         \
        }                                                                                         \
    }                                                                                             \
    CLONED(k_negate_##type) {                                                                     \
        T *d = dv;                                                                                \
        const T *a = av;                                                                          \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < 2 * n; i++)                                                       \
            d[i] = -a[i];                                                                         \
    }                                                                                             \
    CLONED(k_conj_##type) {                                                                       \
        T *d = dv;                                                                                \
        const T *a = av;                                                                          \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                         \
            d[2 * i] = a[2 * i];                                                                  \
            d[2 * i + 1] = -a[2 * i + 1];                                                         \
        }                                                                                         \
    }                                                                                             \
    CLONED(k_real_##type) {                                                                       \
        T *d = dv;                                                                                \
        const T *a = av;                                                                          \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                           \
            d[i] = a[2 * i];                                                                      \
    }                                                                                             \
    CLONED(k_imag_##type) {                                                                       \
        T *d = dv;                                                                                \
        const T *a = av;                                                                          \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                           \
            d[i] = a[2 * i + 1];                                                                  \
    }                                                                                             \
    CLONED(k_abs_##type) {                                                                        \
        T *d = dv;                                                                                \
        const T *a = av;                                                                          \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                           \
            d[i] = hypot_(a[2 * i], a[2 * i + 1]);                                                \
    }                                                                                             \
    CLONED(k_complex_##type) {                                                                    \
        T *d = dv;                                                                                \
        const T *a = av, *b = bv;                                                                 \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                         \
            d[2 * i] = a[i];                                                                      \
            d[2 * i + 1] = b[i];                                                                  \
        }                                                                                         \
    }                                                                                             \
    CLONED(k_eq_##type) {                                                                         \
        uint8_t *d = dv;                                                                          \
        const T *a = av, *b = bv;                                                                 \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                           \
            d[i] = a[2 * i] == b[2 * i] && a[2 * i + 1] == b[2 * i + 1];                          \
    }                                                                                             \
    CLONED(k_ne_##type) {                                                                         \
        uint8_t *d = dv;                                                                          \
        const T *a = av, *b = bv;                                                                 \
        UNUSED3;                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                           \
            d[i] = !(a[2 * i] == b[2 * i] && a[2 * i + 1] == b[2 * i + 1]);                       \
    }
COMPLEX(C64, float, hypotf)
COMPLEX(C128, double, hypot)

/* In f64, where nothing overflows; what comes out as no number is for the language's own division to say. */
CLONED(k_divide_C64) {
    float *d = dv;
    const float *a = av, *b = bv;
    UNUSED3;
    for (int64_t at = 0; at < n; at += BLOCK) {
        float r[2 * BLOCK];
        const int64_t m = loop_min(BLOCK, n - at);
        int odd = 0;
        for (int64_t i = 0; i < m; i++) {
            const double x = a[2 * (at + i)], y = a[2 * (at + i) + 1], u = b[2 * (at + i)], v = b[2 * (at + i) + 1], square = u * u + v * v;
            r[2 * i] = (float)((x * u + y * v) / square);
            r[2 * i + 1] = (float)((y * u - x * v) / square);
            odd |= (r[2 * i] != r[2 * i]) | (r[2 * i + 1] != r[2 * i + 1]);
        }
        for (int64_t i = 0; odd && i < m; i++) {
            const double _Complex z = __builtin_complex((double)a[2 * (at + i)], (double)a[2 * (at + i) + 1]) /
                                      __builtin_complex((double)b[2 * (at + i)], (double)b[2 * (at + i) + 1]);
            r[2 * i] = (float)__real__ z;
            r[2 * i + 1] = (float)__imag__ z;
        }
        memcpy(d + 2 * at, r, sizeof *r * (size_t)(2 * m));
    }
}

#define CASE(op, type, kernel) case HLO_##op * 32 + TT_##type: return kernel##_##type;
#define CASE_ALL(op, k) CASE(op, F32, k) CASE(op, BF16, k) CASE(op, F16, k) CASE(op, F64, k)
#define CASE_INT(op, k) CASE(op, I8, k) CASE(op, I16, k) CASE(op, I32, k) CASE(op, I64, k) \
                        CASE(op, U8, k) CASE(op, U16, k) CASE(op, U32, k) CASE(op, U64, k)
#define CASE_BITS(op, k, b) case HLO_##op * 32 + TT_I##b: case HLO_##op * 32 + TT_U##b: return k##_U##b;
#define CASE_COMPLEX(op, k) CASE(op, C64, k) CASE(op, C128, k)
#define CASE_TO(from, to) case TT_##from * 32 + TT_##to: return k_convert_##from##_##to;

loop_kernel loop_find_rare(int op, tt_dtype in, tt_dtype out, int direction) {
    if (op == HLO_COMPARE) {
        if (in == TT_C64)
            return direction == LOOP_EQ ? k_eq_C64 : direction == LOOP_NE ? k_ne_C64 : NULL;
        if (in == TT_C128)
            return direction == LOOP_EQ ? k_eq_C128 : direction == LOOP_NE ? k_ne_C128 : NULL;
        return NULL;
    }
    if (op == HLO_CONVERT) {
        switch (in * 32 + out) {
            CASE_TO(F64, BF16) CASE_TO(F64, F16) CASE_TO(I32, BF16) CASE_TO(I32, F16) CASE_TO(U32, BF16) CASE_TO(U32, F16)
            CASE_TO(I64, BF16) CASE_TO(I64, F16) CASE_TO(U64, BF16) CASE_TO(U64, F16) CASE_TO(BF16, F64) CASE_TO(F16, F64)
        }
        return NULL;
    }
    switch (op * 32 + (int)in) {
        CASE_ALL(CBRT, k_cbrt) CASE(CHLO_ACOSH, F64, k_acosh) CASE(CHLO_ASINH, F64, k_asinh) CASE(CHLO_ATANH, F64, k_atanh)
        CASE(CHLO_LGAMMA, F64, k_lgamma) CASE(CHLO_DIGAMMA, F64, k_digamma) CASE(REMAINDER, F64, k_remainder)
        CASE(CHLO_ERF_INV, F64, k_erf_inv) CASE(ROUND_AFZ, F64, k_round_afz)
        CASE_INT(POWER, k_power) CASE_BITS(POPCNT, k_popcnt, 8) CASE_BITS(POPCNT, k_popcnt, 16) CASE_BITS(POPCNT, k_popcnt, 32)
        CASE_BITS(POPCNT, k_popcnt, 64) CASE_BITS(CLZ, k_clz, 8) CASE_BITS(CLZ, k_clz, 16) CASE_BITS(CLZ, k_clz, 32) CASE_BITS(CLZ, k_clz, 64)
        CASE_COMPLEX(ADD, k_add) CASE_COMPLEX(SUBTRACT, k_subtract) CASE_COMPLEX(MULTIPLY, k_multiply)
        CASE_COMPLEX(NEGATE, k_negate) CASE_COMPLEX(CHLO_CONJ, k_conj) CASE_COMPLEX(REAL, k_real) CASE_COMPLEX(IMAG, k_imag)
        CASE_COMPLEX(ABS, k_abs)
    case HLO_DIVIDE * 32 + TT_C64: return k_divide_C64;
    case HLO_COMPLEX * 32 + TT_F32: return k_complex_C64;
    case HLO_COMPLEX * 32 + TT_F64: return k_complex_C128;
    }
    return NULL;
}

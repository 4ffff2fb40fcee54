/* loop_kernels.h - the tile kernels, once per instruction set (see loop_vector.h for how).
 *
 * Floats of 16 and 32 bits run in f32 lanes written out with vector types; f64 and integers are plain loops that the compiler
 * vectorises for the set target (ivdep: a tile may be its own operand, element for element). LOOP_FIND(op, in, out, direction) at the end names every kernel. */
#include "engine/loop.h"
#include "engine/loop_vector.h"

#define KERNEL(name) static void name(void *dv, const void *av, const void *bv, const void *cv, int64_t n)
#define UNUSED3 (void)av, (void)bv, (void)cv

/* ---- f32, bf16, f16 ---- */
#define FLOAT1_(name, L, expr)                                                \
    KERNEL(name##_##L) {                                                      \
        elem_##L *d = dv;                                                     \
        const elem_##L *a = av;                                               \
        int64_t i = 0;                                                        \
        UNUSED3;                                                              \
        for (; i + VL <= n; i += VL) {                                        \
            vf x = ld_##L(a + i);                                             \
            st_##L(d + i, expr);                                              \
        }                                                                     \
        if (i < n) {                                                          \
            vf x = ldp_##L(a + i, n - i);                                     \
            stp_##L(d + i, expr, n - i);                                      \
        }                                                                     \
    }
#define FLOAT2_(name, L, expr)                                                \
    KERNEL(name##_##L) {                                                      \
        elem_##L *d = dv;                                                     \
        const elem_##L *a = av, *b = bv;                                      \
        int64_t i = 0;                                                        \
        UNUSED3;                                                              \
        _Pragma("GCC unroll 4") for (; i + VL <= n; i += VL) {                \
            vf x = ld_##L(a + i), y = ld_##L(b + i);                          \
            st_##L(d + i, expr);                                              \
        }                                                                     \
        if (i < n) {                                                          \
            vf x = ldp_##L(a + i, n - i), y = ldp_##L(b + i, n - i);          \
            stp_##L(d + i, expr, n - i);                                      \
        }                                                                     \
    }
#define FLOAT3_(name, L, expr)                                                \
    KERNEL(name##_##L) {                                                      \
        elem_##L *d = dv;                                                     \
        const elem_##L *a = av, *b = bv, *c = cv;                             \
        int64_t i = 0;                                                        \
        for (; i + VL <= n; i += VL) {                                        \
            vf x = ld_##L(a + i), y = ld_##L(b + i), z = ld_##L(c + i);       \
            st_##L(d + i, expr);                                              \
        }                                                                     \
        if (i < n) {                                                          \
            vf x = ldp_##L(a + i, n - i), y = ldp_##L(b + i, n - i), z = ldp_##L(c + i, n - i); \
            stp_##L(d + i, expr, n - i);                                      \
        }                                                                     \
    }
/* results are preds */
#define TEST_(name, L, expr, second)                                          \
    KERNEL(name##_##L) {                                                      \
        int8_t *d = dv;                                                       \
        const elem_##L *a = av, *b = second;                                  \
        int64_t i = 0;                                                        \
        UNUSED3;                                                              \
        for (; i + VL <= n; i += VL) {                                        \
            vf x = ld_##L(a + i), y = ld_##L(b + i);                          \
            (void)y;                                                          \
            *(vb_any *)(d + i) = pred_of(expr);                               \
        }                                                                     \
        if (i < n) {                                                          \
            vf x = ldp_##L(a + i, n - i), y = ldp_##L(b + i, n - i);          \
            (void)y;                                                          \
            vb r = pred_of(expr);                                             \
            memcpy(d + i, &r, (size_t)(n - i));                               \
        }                                                                     \
    }
#define TEST1_(name, L, expr) TEST_(name, L, expr, av)
#define TEST2_(name, L, expr) TEST_(name, L, expr, bv)
#define FBH(M, name, expr) M(name, F, expr) M(name, B, expr) M(name, H, expr)

FLOAT1_(k_abs, F, vabs(x))
FLOAT1_(k_abs, H, vabs(x))
FBH(FLOAT1_, k_ceil, vceil(x))
FBH(FLOAT1_, k_cosine, vsincos(x, 1))
FBH(FLOAT1_, k_exp, vexp(x))
FBH(FLOAT1_, k_expm1, vexpm1(x))
FBH(FLOAT1_, k_floor, vfloor(x))
FBH(FLOAT1_, k_log, vlog(x))
FBH(FLOAT1_, k_log1p, vlog1p(x))
FBH(FLOAT1_, k_logistic, vlogistic(x))
FLOAT1_(k_negate, F, (vf)((vi)x ^ KI(INT32_MIN)))
FLOAT1_(k_negate, H, (vf)((vi)x ^ KI(INT32_MIN)))
FBH(FLOAT1_, k_round_afz, vround_afz(x))
FBH(FLOAT1_, k_round_even, vrint(x))
FBH(FLOAT1_, k_rsqrt, K(1) / vsqrt(x))
FBH(FLOAT1_, k_sign, vsign(x))
FBH(FLOAT1_, k_sine, vsincos(x, 0))
FBH(FLOAT1_, k_sqrt, vsqrt(x))
FBH(FLOAT1_, k_square, x * x)
FBH(FLOAT1_, k_tanh, vtanh(x))
FBH(FLOAT1_, k_tan, vtan(x))
FBH(FLOAT1_, k_sinh, vsinh(x))
FBH(FLOAT1_, k_cosh, vcosh(x))
FBH(FLOAT1_, k_asin, vasin(x))
FBH(FLOAT1_, k_acos, vacos(x))
FBH(FLOAT1_, k_atan, vatan(x))
FBH(FLOAT2_, k_atan2, vatan2(x, y))
FBH(FLOAT1_, k_erf, verf(x))
FBH(FLOAT1_, k_erf_inv, verf_inv(x))
FBH(FLOAT1_, k_erfc, verfc(x))
FBH(FLOAT1_, k_asinh, vasinh(x))
FBH(FLOAT1_, k_acosh, vacosh(x))
FBH(FLOAT1_, k_atanh, vatanh(x))
FBH(FLOAT2_, k_remainder, vfmod(x, y))
FBH(FLOAT2_, k_add, x + y)
FBH(FLOAT2_, k_subtract, x - y)
FBH(FLOAT2_, k_multiply, x * y)
FBH(FLOAT2_, k_divide, x / y)
FBH(FLOAT2_, k_maximum, vmax(x, y))
FBH(FLOAT2_, k_minimum, vmin(x, y))
FBH(FLOAT3_, k_clamp, vmin(vmax(y, x), z))
FBH(TEST2_, k_eq, eq(x, y))
FBH(TEST2_, k_ne, ne(x, y))
FBH(TEST2_, k_lt, lt(x, y))
FBH(TEST2_, k_le, le(x, y))
FBH(TEST2_, k_gt, lt(y, x))
FBH(TEST2_, k_ge, le(y, x))
FBH(TEST1_, k_is_finite, lt(vabs(x), K(__builtin_inff())))
FBH(TEST1_, k_is_inf, eq(vabs(x), K(__builtin_inff())))

/* conversions among them */
#define FLOAT_CONVERT(from, to)                                               \
    KERNEL(k_convert_##from##_##to) {                                         \
        elem_##to *d = dv;                                                    \
        const elem_##from *a = av;                                            \
        int64_t i = 0;                                                        \
        UNUSED3;                                                              \
        for (; i + VL <= n; i += VL)                                          \
            st_##to(d + i, ld_##from(a + i));                                 \
        if (i < n)                                                            \
            stp_##to(d + i, ldp_##from(a + i, n - i), n - i);                 \
    }
FLOAT_CONVERT(F, B)
FLOAT_CONVERT(F, H)
FLOAT_CONVERT(B, F)
FLOAT_CONVERT(B, H)
FLOAT_CONVERT(H, F)
FLOAT_CONVERT(H, B)

/* ---- plain loops ---- */
#define LOOP _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)
#define PLAIN1(name, T, R, expr)                                              \
    KERNEL(name) {                                                            \
        R *d = dv;                                                            \
        const T *a = av;                                                      \
        UNUSED3;                                                              \
        LOOP {                                                                \
            T x = a[i];                                                       \
            d[i] = (R)(expr);                                                 \
        }                                                                     \
    }
#define PLAIN2(name, T, R, expr)                                              \
    KERNEL(name) {                                                            \
        R *d = dv;                                                            \
        const T *a = av, *b = bv;                                             \
        UNUSED3;                                                              \
        LOOP {                                                                \
            T x = a[i], y = b[i];                                             \
            d[i] = (R)(expr);                                                 \
        }                                                                     \
    }
#define PLAIN3(name, T, R, expr)                                              \
    KERNEL(name) {                                                            \
        R *d = dv;                                                            \
        const T *a = av, *b = bv, *c = cv;                                    \
        LOOP {                                                                \
            T x = a[i], y = b[i], z = c[i];                                   \
            d[i] = (R)(expr);                                                 \
        }                                                                     \
    }
PLAIN1(k_abs_B, uint16_t, uint16_t, x & 0x7fff)
PLAIN1(k_negate_B, uint16_t, uint16_t, x ^ 0x8000)
#define SELECT(bits)                                                          \
    KERNEL(k_select_##bits) {                                                 \
        uint##bits##_t *d = dv;                                               \
        const uint8_t *p = av;                                                \
        const uint##bits##_t *b = bv, *c = cv;                                \
        LOOP d[i] = p[i] ? b[i] : c[i];                                       \
    }
SELECT(8)
SELECT(16)
SELECT(32)
SELECT(64)

/* the next f32 of x towards y, by bits */
static inline int32_t next_after_bits(int32_t x, int32_t y) {
    float a, b;
    memcpy(&a, &x, 4), memcpy(&b, &y, 4);
    const int32_t least = (y & INT32_MIN) | 1, next = (int32_t)((uint32_t)x + ((a < b) == (a > 0) ? 1u : UINT32_MAX));
    return a != a || b != b ? 0x7fc00000 : a == b ? y : a == 0 ? least : next;
}
PLAIN2(k_next_after_F, int32_t, int32_t, next_after_bits(x, y))

/* f64 */
#define dabs(x) __builtin_fabs(x)
#define DINLINE static inline __attribute__((always_inline))
DINLINE uint64_t dbits(double x) {
    uint64_t u;
    memcpy(&u, &x, 8);
    return u;
}
DINLINE double dfrom(uint64_t u) {
    double x;
    memcpy(&x, &u, 8);
    return x;
}
/* NaN wins, +0 over -0; where both are zeros their bits tell */
DINLINE double dmax(double x, double y) {
    const double most = x == y ? dfrom(dbits(x) & dbits(y)) : x > y ? x : y;
    return x != x ? x : most;
}
DINLINE double dmin(double x, double y) {
    const double least = x == y ? dfrom(dbits(x) | dbits(y)) : x < y ? x : y;
    return x != x ? x : least;
}
PLAIN1(k_abs_D, double, double, dabs(x))
PLAIN1(k_negate_D, double, double, -x)
PLAIN1(k_sqrt_D, double, double, __builtin_sqrt(x))
PLAIN1(k_rsqrt_D, double, double, 1 / __builtin_sqrt(x))
PLAIN1(k_square_D, double, double, x *x)
PLAIN1(k_sign_D, double, double, x > 0 ? 1.0 : x < 0 ? -1.0 : x)
PLAIN1(k_floor_D, double, double, __builtin_floor(x))
PLAIN1(k_ceil_D, double, double, __builtin_ceil(x))
PLAIN1(k_round_even_D, double, double, __builtin_rint(x))
PLAIN2(k_add_D, double, double, x + y)
PLAIN2(k_subtract_D, double, double, x - y)
PLAIN2(k_multiply_D, double, double, x *y)
PLAIN2(k_divide_D, double, double, x / y)
PLAIN2(k_maximum_D, double, double, dmax(x, y))
PLAIN2(k_minimum_D, double, double, dmin(x, y))
KERNEL(k_clamp_D) {
    double *d = dv;
    const double *a = av, *b = bv, *c = cv;
    LOOP {
        double m = dmax(b[i], a[i]), z = c[i];
        d[i] = dmin(m, z);
    }
}
PLAIN1(k_is_finite_D, double, uint8_t, dabs(x) < __builtin_inf())
PLAIN1(k_is_inf_D, double, uint8_t, dabs(x) == __builtin_inf())

#define COMPARES(L, T)                            \
    PLAIN2(k_eq_##L, T, uint8_t, x == y)          \
    PLAIN2(k_ne_##L, T, uint8_t, x != y)          \
    PLAIN2(k_lt_##L, T, uint8_t, x < y)           \
    PLAIN2(k_le_##L, T, uint8_t, x <= y)          \
    PLAIN2(k_gt_##L, T, uint8_t, x > y)           \
    PLAIN2(k_ge_##L, T, uint8_t, x >= y)
COMPARES(D, double)

/* Integers: U wraps as two's complement. Division by zero gives all ones, the remainder then is the dividend; a shift by the width
 * or more (a negative amount is a large one) leaves nothing but the sign. */
#define WIDE(U) __typeof__((U)1 + 0u) /* unsigned, no narrower than int */
#define INT_ANY(L, T, U)                                                                        \
    PLAIN2(k_add_##L, U, U, x + y)                                                              \
    PLAIN2(k_subtract_##L, U, U, x - y)                                                         \
    PLAIN2(k_multiply_##L, U, U, (U)((WIDE(U))x * y))                                           \
    PLAIN1(k_negate_##L, U, U, (U)0 - x)                                                        \
    PLAIN1(k_square_##L, U, U, (U)((WIDE(U))x * x))                                             \
    PLAIN2(k_maximum_##L, T, T, x > y ? x : y)                                                  \
    PLAIN2(k_minimum_##L, T, T, x < y ? x : y)                                                  \
    PLAIN3(k_clamp_##L, T, T, (y > x ? y : x) < z ? (y > x ? y : x) : z)                        \
    PLAIN2(k_and_##L, U, U, x & y)                                                              \
    PLAIN2(k_or_##L, U, U, x | y)                                                               \
    PLAIN2(k_xor_##L, U, U, x ^ y)                                                              \
    PLAIN1(k_not_##L, U, U, ~x)                                                                 \
    PLAIN2(k_shift_left_##L, U, U, y >= sizeof(U) * 8 ? 0 : (U)((WIDE(U))x << (y & (sizeof(U) * 8 - 1)))) \
    PLAIN2(k_shift_right_logical_##L, U, U, y >= sizeof(U) * 8 ? 0 : x >> (y & (sizeof(U) * 8 - 1)))       \
    COMPARES(L, T)
/* Quotients by f64, which gives the whole part right where both numbers are below 2^53; blocks of larger ones element by element. */
#define FEW_BITS(x) ((uint64_t)((int64_t)(x) ^ (int64_t)(x) >> 63)) /* of a negative number its complement */
#define DIVIDE_BLOCKS(name, T, exact, by_f64)                                                   \
    KERNEL(name) {                                                                              \
        T *d = dv;                                                                              \
        const T *a = av, *b = bv;                                                               \
        UNUSED3;                                                                                \
        for (int64_t at = 0; at < n; at += 64) {                                                \
            const int64_t end = loop_min(n, at + 64);                                           \
            uint64_t bits = 0;                                                                  \
            for (int64_t i = at; i < end; i++)                                                  \
                bits |= FEW_BITS(a[i]) | FEW_BITS(b[i]) | (sizeof(T) == 8 && (T)-1 > 0 ? (uint64_t)a[i] | (uint64_t)b[i] : 0); \
            if (bits >> 53)                                                                     \
                for (int64_t i = at; i < end; i++) {                                            \
                    T x = a[i], y = b[i];                                                       \
                    d[i] = (T)(exact);                                                          \
                }                                                                               \
            else                                                                                \
                _Pragma("GCC ivdep") for (int64_t i = at; i < end; i++) {                       \
                    T x = a[i], y = b[i];                                                       \
                    int64_t q = (int64_t)((double)x / (double)(y == 0 ? 1 : y));                \
                    d[i] = (T)(by_f64);                                                         \
                }                                                                               \
        }                                                                                       \
    }
#define DIVIDE(L, T, U, quotient, remainder)                                                    \
    DIVIDE_BLOCKS(k_divide_##L, T, quotient, y == 0 ? (int64_t)-1 : q)                          \
    DIVIDE_BLOCKS(k_remainder_##L, T, remainder, y == 0 ? (int64_t)x : (int64_t)((uint64_t)x - (uint64_t)q * (uint64_t)y))
#define INT_SIGNED(L, T, U)                                                                     \
    INT_ANY(L, T, U)                                                                            \
    PLAIN1(k_abs_##L, T, T, x < 0 ? (T)(0 - (U)x) : x)                                          \
    PLAIN1(k_sign_##L, T, T, (x > 0) - (x < 0))                                                 \
    PLAIN2(k_shift_right_arith_##L, T, T, x >> ((U)y >= sizeof(U) * 8 ? sizeof(U) * 8 - 1 : (U)y))         \
    DIVIDE(L, T, U, y == 0 ? (T)-1 : y == -1 ? (T)(0 - (U)x) : x / y, y == 0 ? x : y == -1 ? 0 : x % y)
#define INT_UNSIGNED(L, T)                                                                      \
    INT_ANY(L, T, T)                                                                            \
    PLAIN1(k_abs_##L, T, T, x)                                                                  \
    PLAIN1(k_sign_##L, T, T, x != 0)                                                            \
    KERNEL(k_shift_right_arith_##L) { /* the top bit is a sign to it, whatever the type says */ \
        k_shift_right_arith_S##L(dv, av, bv, cv, n);                                            \
    }                                                                                           \
    DIVIDE(L, T, T, y == 0 ? (T)-1 : x / y, y == 0 ? x : x % y)
INT_SIGNED(I8, int8_t, uint8_t)
INT_SIGNED(I16, int16_t, uint16_t)
INT_SIGNED(I32, int32_t, uint32_t)
INT_SIGNED(I64, int64_t, uint64_t)
#define k_shift_right_arith_SU8 k_shift_right_arith_I8
#define k_shift_right_arith_SU16 k_shift_right_arith_I16
#define k_shift_right_arith_SU32 k_shift_right_arith_I32
#define k_shift_right_arith_SU64 k_shift_right_arith_I64
INT_UNSIGNED(U8, uint8_t)
INT_UNSIGNED(U16, uint16_t)
INT_UNSIGNED(U32, uint32_t)
INT_UNSIGNED(U64, uint64_t)
PLAIN1(k_not_PRED, uint8_t, uint8_t, !x)

/* Conversions. Narrow integers take a float's low bits after truncation to a wider integer: what PyTorch does on x86. */
#define TO_INT(L, T, via)                                                     \
    PLAIN1(k_convert_F_##L, float, T, (via)x)                                 \
    PLAIN1(k_convert_D_##L, double, T, (via)x)                                \
    KERNEL(k_convert_B_##L) { /* bf16 is the top of an f32 */                 \
        T *d = dv;                                                            \
        const uint16_t *a = av;                                               \
        UNUSED3;                                                              \
        LOOP {                                                                \
            uint32_t u = (uint32_t)a[i] << 16;                                \
            float x;                                                          \
            memcpy(&x, &u, 4);                                                \
            d[i] = (T)(via)x;                                                 \
        }                                                                     \
    }                                                                         \
    KERNEL(k_convert_H_##L) {                                                 \
        T *d = dv;                                                            \
        const uint16_t *a = av;                                               \
        float x[256];                                                         \
        UNUSED3;                                                              \
        for (int64_t at = 0; at < n; at += 256) {                             \
            int64_t m = loop_min(256, n - at);                                \
            k_convert_H_F(x, a + at, NULL, NULL, m);                          \
            _Pragma("GCC ivdep") for (int64_t i = 0; i < m; i++) d[at + i] = (T)(via)x[i]; \
        }                                                                     \
    }
#define TO_FLOAT(L, T)                                                        \
    PLAIN1(k_convert_##L##_F, T, float, x)                                    \
    PLAIN1(k_convert_##L##_D, T, double, x)
#define TO_HALF(L, T, to) /* exact in f32, so it rounds once */               \
    KERNEL(k_convert_##L##_##to) {                                            \
        uint16_t *d = dv;                                                     \
        const T *a = av;                                                      \
        float x[256];                                                         \
        UNUSED3;                                                              \
        for (int64_t at = 0; at < n; at += 256) {                             \
            int64_t m = loop_min(256, n - at);                                \
            for (int64_t i = 0; i < m; i++)                                   \
                x[i] = (float)a[at + i];                                      \
            k_convert_F_##to(d + at, x, NULL, NULL, m);                       \
        }                                                                     \
    }
#define INT_CONVERT(L, T)                                                     \
    PLAIN1(k_convert_##L##_I8, T, int8_t, x)                                  \
    PLAIN1(k_convert_##L##_I16, T, int16_t, x)                                \
    PLAIN1(k_convert_##L##_I32, T, int32_t, x)                                \
    PLAIN1(k_convert_##L##_I64, T, int64_t, x)                                \
    PLAIN1(k_convert_##L##_PRED, T, uint8_t, x != 0)
INT_CONVERT(I8, int8_t)
INT_CONVERT(I16, int16_t)
INT_CONVERT(I32, int32_t)
INT_CONVERT(I64, int64_t)
INT_CONVERT(U8, uint8_t)
INT_CONVERT(U16, uint16_t)
INT_CONVERT(U32, uint32_t)
INT_CONVERT(U64, uint64_t)
TO_INT(I8, int8_t, int32_t)
TO_INT(I16, int16_t, int32_t)
TO_INT(I32, int32_t, int32_t)
TO_INT(I64, int64_t, int64_t)
TO_INT(U8, uint8_t, int32_t)
TO_INT(U16, uint16_t, int32_t)
TO_INT(U32, uint32_t, int64_t)
TO_INT(U64, uint64_t, uint64_t)
TO_FLOAT(I8, int8_t)
TO_FLOAT(I16, int16_t)
TO_FLOAT(I32, int32_t)
TO_FLOAT(I64, int64_t)
TO_FLOAT(U8, uint8_t)
TO_FLOAT(U16, uint16_t)
TO_FLOAT(U32, uint32_t)
TO_FLOAT(U64, uint64_t)
TO_HALF(I8, int8_t, B)
TO_HALF(I8, int8_t, H)
TO_HALF(U8, uint8_t, B)
TO_HALF(U8, uint8_t, H)
TO_HALF(I16, int16_t, B)
TO_HALF(I16, int16_t, H)
TO_HALF(U16, uint16_t, B)
TO_HALF(U16, uint16_t, H)
PLAIN1(k_convert_F_PRED, float, uint8_t, x != 0)
PLAIN1(k_convert_D_PRED, double, uint8_t, x != 0)
PLAIN1(k_convert_B_PRED, uint16_t, uint8_t, (x & 0x7fff) != 0)
PLAIN1(k_convert_F_D, float, double, x)
PLAIN1(k_convert_D_F, double, float, x)

#include "engine/loop_double.h"
#include "engine/loop_double_math.h"

/* ---- rows: one number from n; the kernel's d is a single element ----
 * 16- and 32-bit floats give an f32 (sums of at most a few thousand elements; callers add those up in f64), others their own type. */
#define ROW_FLOAT_(name, L, start, each, step, last)                          \
    KERNEL(name##_##L) {                                                      \
        const elem_##L *a = av;                                               \
        vf m[4] = {K(start), K(start), K(start), K(start)};                   \
        int64_t i = 0;                                                        \
        UNUSED3;                                                              \
        for (; i + 4 * VL <= n; i += 4 * VL)                                  \
            _Pragma("GCC unroll 4") for (int u = 0; u < 4; u++) {             \
                vf x = m[u], y = ld_##L(a + i + u * VL);                      \
                y = each;                                                     \
                m[u] = step;                                                  \
            }                                                                 \
        for (; i + VL <= n; i += VL) {                                        \
            vf x = m[0], y = ld_##L(a + i);                                   \
            y = each;                                                         \
            m[0] = step;                                                      \
        }                                                                     \
        if (i < n) {                                                          \
            vf x = m[1], y = ldp_##L(a + i, n - i), z;                        \
            y = each, z = step;                                               \
            for (int k = 0; k < n - i; k++)                                   \
                m[1][k] = z[k];                                               \
        }                                                                     \
        {                                                                     \
            vf x = m[0], y = m[1], z;                                         \
            z = step, x = m[2], y = m[3];                                     \
            y = step, x = z;                                                  \
            m[0] = step;                                                      \
        }                                                                     \
        for (int w = VL / 2; w; w /= 2)                                       \
            for (int k = 0; k < w; k++) {                                     \
                float x = m[0][k], y = m[0][k + w];                           \
                m[0][k] = last;                                               \
            }                                                                 \
        *(float *)dv = m[0][0];                                               \
    }
#define fmaximum(x, y) ((x) != (x) ? (x) : (y) != (y) || (y) > (x) ? (y) : (x))
#define fminimum(x, y) ((x) != (x) ? (x) : (y) != (y) || (y) < (x) ? (y) : (x))
#define ROW_FBH(name, start, each, step, last) \
    ROW_FLOAT_(name, F, start, each, step, last) ROW_FLOAT_(name, B, start, each, step, last) ROW_FLOAT_(name, H, start, each, step, last)
ROW_FBH(k_row_add, 0, y, x + y, x + y)
ROW_FBH(k_row_multiply, 1, y, x * y, x * y)
ROW_FBH(k_row_square, 0, y * y, x + y, x + y) /* the sum of squares */
/* Which zero an extreme of zero is: +0 is larger than -0. The row is read again only then, up to the zero that decides. */
static double row_zero(const char *a, int size, int64_t n, bool maximum) {
    uint64_t decides = maximum ? 0 : (uint64_t)1 << (8 * size - 1);
    for (int64_t i = 0; i < n; i++, a += size) {
        uint64_t u = 0;
        memcpy(&u, a, (size_t)size);
        if (u == decides)
            return maximum ? 0.0 : -0.0;
    }
    return maximum ? -0.0 : 0.0;
}
#define ROW_EXTREME(name, L, T, size, raw, maximum)                           \
    KERNEL(name##_##L) {                                                      \
        raw##_##L(dv, av, bv, cv, n);                                         \
        if (*(T *)dv == 0)                                                    \
            *(T *)dv = (T)row_zero(av, size, n, maximum);                     \
    }
#define ROW_EXTREMES(L, T, size)                                              \
    ROW_EXTREME(k_row_maximum, L, T, size, k_row_maximum_raw, true) ROW_EXTREME(k_row_minimum, L, T, size, k_row_minimum_raw, false)
ROW_FBH(k_row_maximum_raw, -__builtin_inff(), y, sel(ne(x, x), x, max_x86(x, y)), fmaximum(x, y))
ROW_FBH(k_row_minimum_raw, __builtin_inff(), y, sel(ne(x, x), x, min_x86(x, y)), fminimum(x, y))
ROW_EXTREMES(F, float, 4)
ROW_EXTREMES(B, float, 2)
ROW_EXTREMES(H, float, 2)

#define ROW_DOUBLE(name, start, expr)                                         \
    KERNEL(name##_D) {                                                        \
        const double *a = av;                                                 \
        double m[16];                                                         \
        int64_t i = 0;                                                        \
        UNUSED3;                                                              \
        for (int k = 0; k < 16; k++)                                          \
            m[k] = start;                                                     \
        for (; i + 16 <= n; i += 16)                                          \
            _Pragma("GCC unroll 16") for (int k = 0; k < 16; k++) {           \
                double x = m[k], y = a[i + k];                                \
                m[k] = expr;                                                  \
            }                                                                 \
        for (int k = 0; i < n; i++, k++) {                                    \
            double x = m[k], y = a[i];                                        \
            m[k] = expr;                                                      \
        }                                                                     \
        for (int w = 8; w; w /= 2)                                            \
            for (int k = 0; k < w; k++) {                                     \
                double x = m[k], y = m[k + w];                                \
                m[k] = expr;                                                  \
            }                                                                 \
        *(double *)dv = m[0];                                                 \
    }
ROW_DOUBLE(k_row_add, 0, x + y)
ROW_DOUBLE(k_row_multiply, 1, x *y)
#define ROW_DOUBLE_EXTREME(name, start, after)                                \
    KERNEL(name##_D) {                                                        \
        const double *a = av;                                                 \
        vd m[4] = {(vd){} + start, (vd){} + start, (vd){} + start, (vd){} + start}; \
        double most;                                                          \
        int64_t i = 0;                                                        \
        UNUSED3;                                                              \
        for (; i + 2 * VL <= n; i += 2 * VL)                                  \
            _Pragma("GCC unroll 4") for (int u = 0; u < 4; u++) {             \
                const vd y = *(const vd_any *)(a + i + u * (VL / 2));         \
                m[u] = sel_D((y after m[u]) | (y != y), y, m[u]);             \
            }                                                                 \
        for (int u = 1; u < 4; u++)                                           \
            m[0] = sel_D((m[u] after m[0]) | (m[u] != m[u]), m[u], m[0]);     \
        most = m[0][0];                                                       \
        for (int k = 1; k < VL / 2; k++)                                      \
            most = m[0][k] after most || m[0][k] != m[0][k] ? m[0][k] : most; \
        for (; i < n; i++)                                                    \
            most = a[i] after most || a[i] != a[i] ? a[i] : most;             \
        *(double *)dv = most;                                                 \
    }
ROW_DOUBLE_EXTREME(k_row_maximum_raw, -__builtin_inf(), >)
ROW_DOUBLE_EXTREME(k_row_minimum_raw, __builtin_inf(), <)
ROW_EXTREMES(D, double, 8)

#define ROW_INT_(name, T, start, expr)                                        \
    KERNEL(name) {                                                            \
        const T *a = av;                                                      \
        T x = (T)(start);                                                     \
        UNUSED3;                                                              \
        for (int64_t i = 0; i < n; i++) {                                     \
            T y = a[i];                                                       \
            x = (T)(expr);                                                    \
        }                                                                     \
        *(T *)dv = x;                                                         \
    }
#define ROW_ANY(L, U)                                                         \
    ROW_INT_(k_row_add_##L, U, 0, x + y)                                      \
    ROW_INT_(k_row_multiply_##L, U, 1, x *(uint64_t)y)                        \
    ROW_INT_(k_row_and_##L, U, -1, x & y)                                     \
    ROW_INT_(k_row_or_##L, U, 0, x | y)                                       \
    ROW_INT_(k_row_xor_##L, U, 0, x ^ y)
#define ROW_ORDER(L, T, least, most)                                          \
    ROW_INT_(k_row_maximum_##L, T, least, x > y ? x : y)                      \
    ROW_INT_(k_row_minimum_##L, T, most, x < y ? x : y)
ROW_ANY(U8, uint8_t)
ROW_ANY(U16, uint16_t)
ROW_ANY(U32, uint32_t)
ROW_ANY(U64, uint64_t)
ROW_ORDER(I8, int8_t, INT8_MIN, INT8_MAX)
ROW_ORDER(I16, int16_t, INT16_MIN, INT16_MAX)
ROW_ORDER(I32, int32_t, INT32_MIN, INT32_MAX)
ROW_ORDER(I64, int64_t, INT64_MIN, INT64_MAX)
ROW_ORDER(U8, uint8_t, 0, UINT8_MAX)
ROW_ORDER(U16, uint16_t, 0, UINT16_MAX)
ROW_ORDER(U32, uint32_t, 0, UINT32_MAX)
ROW_ORDER(U64, uint64_t, 0, UINT64_MAX)

/* ---- the table ---- */
#define KEY(op, type) ((op) * 32 + (type))
#define CASE(op, type, kernel) case KEY(HLO_##op, TT_##type): return kernel;
#define CASE_FBH(op, name) CASE(op, F32, name##_F) CASE(op, BF16, name##_B) CASE(op, F16, name##_H)
#define CASE_FLOAT(op, name) CASE_FBH(op, name) CASE(op, F64, name##_D)
#define CASE_INT(op, name)                                                                                          \
    CASE(op, I8, name##_I8) CASE(op, I16, name##_I16) CASE(op, I32, name##_I32) CASE(op, I64, name##_I64)           \
    CASE(op, U8, name##_U8) CASE(op, U16, name##_U16) CASE(op, U32, name##_U32) CASE(op, U64, name##_U64)

static loop_kernel find_compare(tt_dtype in, int direction) {
#define ROW(L, type)                                                                                                \
    case TT_##type: {                                                                                               \
        static const loop_kernel row[6] = {k_eq_##L, k_ne_##L, k_lt_##L, k_le_##L, k_gt_##L, k_ge_##L};             \
        return row[direction];                                                                                      \
    }
    switch ((int)in) {
        ROW(F, F32) ROW(B, BF16) ROW(H, F16) ROW(D, F64) ROW(I8, I8) ROW(I16, I16) ROW(I32, I32) ROW(I64, I64)
        ROW(U8, PRED) ROW(U8, U8) ROW(U16, U16) ROW(U32, U32) ROW(U64, U64)
    }
#undef ROW
    return NULL;
}

static loop_kernel find_convert(tt_dtype in, tt_dtype out) {
#define TO(from, to, kernel) case KEY(TT_##from, TT_##to): return k_convert_##kernel;
#define INT_ROW(L)                                                                                                  \
    TO(L, PRED, L##_PRED) TO(L, I8, L##_I8) TO(L, U8, L##_I8) TO(L, I16, L##_I16) TO(L, U16, L##_I16)               \
    TO(L, I32, L##_I32) TO(L, U32, L##_I32) TO(L, I64, L##_I64) TO(L, U64, L##_I64) TO(L, F32, L##_F) TO(L, F64, L##_D)
#define FLOAT_ROW(type, L)                                                                                          \
    TO(type, I8, L##_I8) TO(type, I16, L##_I16) TO(type, I32, L##_I32) TO(type, I64, L##_I64)                       \
    TO(type, U8, L##_U8) TO(type, U16, L##_U16) TO(type, U32, L##_U32) TO(type, U64, L##_U64)
    switch (KEY(in, out)) {
        INT_ROW(I8) INT_ROW(I16) INT_ROW(I32) INT_ROW(I64) INT_ROW(U8) INT_ROW(U16) INT_ROW(U32) INT_ROW(U64)
        FLOAT_ROW(F32, F) FLOAT_ROW(BF16, B) FLOAT_ROW(F16, H) FLOAT_ROW(F64, D)
        TO(I8, BF16, I8_B) TO(I8, F16, I8_H) TO(U8, BF16, U8_B) TO(U8, F16, U8_H)
        TO(I16, BF16, I16_B) TO(I16, F16, I16_H) TO(U16, BF16, U16_B) TO(U16, F16, U16_H)
        TO(F32, PRED, F_PRED) TO(BF16, PRED, B_PRED) TO(F16, PRED, B_PRED) TO(F64, PRED, D_PRED)
        TO(F32, F64, F_D) TO(F64, F32, D_F) TO(F32, BF16, F_B) TO(F32, F16, F_H)
        TO(BF16, F32, B_F) TO(BF16, F16, B_H) TO(F16, F32, H_F) TO(F16, BF16, H_B)
        TO(PRED, I8, U8_I8) TO(PRED, U8, U8_I8) TO(PRED, I16, U8_I16) TO(PRED, U16, U8_I16) TO(PRED, I32, U8_I32)
        TO(PRED, U32, U8_I32) TO(PRED, I64, U8_I64) TO(PRED, U64, U8_I64) TO(PRED, F32, U8_F) TO(PRED, F64, U8_D)
        TO(PRED, BF16, U8_B) TO(PRED, F16, U8_H)
    }
    return NULL;
}

static loop_kernel find_unary(int op, tt_dtype in) {
    switch (KEY(op, in)) {
        CASE_FLOAT(ABS, k_abs) CASE_INT(ABS, k_abs) CASE_FLOAT(CEIL, k_ceil) CASE_FLOAT(FLOOR, k_floor)
        CASE_FLOAT(COSINE, k_cosine) CASE_FLOAT(SINE, k_sine) CASE_FLOAT(EXP, k_exp) CASE_FLOAT(EXPM1, k_expm1)
        CASE_FLOAT(LOG, k_log) CASE_FLOAT(LOG1P, k_log1p) CASE_FLOAT(LOGISTIC, k_logistic) CASE_FLOAT(TANH, k_tanh)
        CASE_FLOAT(TAN, k_tan) CASE_FLOAT(CHLO_TAN, k_tan) CASE_FLOAT(CHLO_SINH, k_sinh) CASE_FLOAT(CHLO_COSH, k_cosh)
        CASE_FLOAT(CHLO_ASIN, k_asin) CASE_FLOAT(CHLO_ACOS, k_acos) CASE_FLOAT(CHLO_ATAN, k_atan)
        CASE_FLOAT(CHLO_ERF, k_erf) CASE_FLOAT(CHLO_ERFC, k_erfc) CASE_FBH(CHLO_ERF_INV, k_erf_inv)
        CASE_FBH(CHLO_ASINH, k_asinh) CASE_FBH(CHLO_ACOSH, k_acosh) CASE_FBH(CHLO_ATANH, k_atanh)
        CASE_FBH(CHLO_LGAMMA, k_lgamma) CASE_FBH(CHLO_DIGAMMA, k_digamma) CASE_FLOAT(NEGATE, k_negate) CASE_INT(NEGATE, k_negate)
        CASE_FBH(ROUND_AFZ, k_round_afz) CASE_FLOAT(ROUND_EVEN, k_round_even)
        CASE_FLOAT(RSQRT, k_rsqrt) CASE_FLOAT(SQRT, k_sqrt) CASE_FLOAT(SIGN, k_sign) CASE_INT(SIGN, k_sign)
        CASE_FLOAT(CHLO_SQUARE, k_square) CASE_INT(CHLO_SQUARE, k_square)
        CASE_FLOAT(IS_FINITE, k_is_finite) CASE_FLOAT(CHLO_IS_INF, k_is_inf)
        CASE_INT(NOT, k_not) CASE(NOT, PRED, k_not_PRED)
    }
    return NULL;
}

static loop_kernel find_row(int op, tt_dtype in) {
#define CASE_UINT(op, name)                                                                                         \
    CASE(op, I8, name##_U8) CASE(op, I16, name##_U16) CASE(op, I32, name##_U32) CASE(op, I64, name##_U64)           \
    CASE(op, U8, name##_U8) CASE(op, U16, name##_U16) CASE(op, U32, name##_U32) CASE(op, U64, name##_U64)
    switch (KEY(op, in)) {
        CASE_FBH(CHLO_SQUARE, k_row_square)
        CASE_FLOAT(ADD, k_row_add) CASE_FLOAT(MULTIPLY, k_row_multiply) CASE_FLOAT(MAXIMUM, k_row_maximum)
        CASE_FLOAT(MINIMUM, k_row_minimum) CASE_UINT(ADD, k_row_add) CASE_UINT(MULTIPLY, k_row_multiply)
        CASE_UINT(AND, k_row_and) CASE_UINT(OR, k_row_or) CASE_UINT(XOR, k_row_xor) CASE_INT(MAXIMUM, k_row_maximum)
        CASE_INT(MINIMUM, k_row_minimum)
        CASE(ADD, PRED, k_row_or_U8) CASE(MULTIPLY, PRED, k_row_and_U8) CASE(MAXIMUM, PRED, k_row_or_U8)
        CASE(MINIMUM, PRED, k_row_and_U8) CASE(AND, PRED, k_row_and_U8) CASE(OR, PRED, k_row_or_U8) CASE(XOR, PRED, k_row_xor_U8)
    }
    return NULL;
}

loop_kernel LOOP_FIND(int op, tt_dtype in, tt_dtype out, int direction) {
    if (op >= LOOP_ROW)
        return find_row(op - LOOP_ROW, in);
    if (op == HLO_COMPARE)
        return find_compare(in, direction);
    if (op == HLO_CONVERT)
        return find_convert(in, out);
    switch (KEY(op, in)) {
        CASE_FLOAT(ADD, k_add) CASE_INT(ADD, k_add) CASE_FLOAT(SUBTRACT, k_subtract) CASE_INT(SUBTRACT, k_subtract)
        CASE_FLOAT(MULTIPLY, k_multiply) CASE_INT(MULTIPLY, k_multiply) CASE_FLOAT(DIVIDE, k_divide)
        CASE_FLOAT(MAXIMUM, k_maximum) CASE_INT(MAXIMUM, k_maximum) CASE_FLOAT(MINIMUM, k_minimum)
        CASE_INT(MINIMUM, k_minimum) CASE_FLOAT(CLAMP, k_clamp) CASE_INT(CLAMP, k_clamp)
        CASE_INT(DIVIDE, k_divide) CASE_INT(REMAINDER, k_remainder) CASE_FBH(REMAINDER, k_remainder) CASE_FLOAT(POWER, k_power) CASE_FLOAT(ATAN2, k_atan2)
        CASE(CHLO_NEXT_AFTER, F32, k_next_after_F)
        CASE_INT(AND, k_and) CASE_INT(OR, k_or) CASE_INT(XOR, k_xor)
        CASE(AND, PRED, k_and_U8) CASE(OR, PRED, k_or_U8) CASE(XOR, PRED, k_xor_U8)
        CASE(ADD, PRED, k_or_U8) CASE(MULTIPLY, PRED, k_and_U8) CASE(MAXIMUM, PRED, k_or_U8) CASE(MINIMUM, PRED, k_and_U8)
        CASE_INT(SHIFT_LEFT, k_shift_left) CASE_INT(SHIFT_RIGHT_LOGICAL, k_shift_right_logical)
        CASE_INT(SHIFT_RIGHT_ARITH, k_shift_right_arith)
    case KEY(HLO_SELECT, TT_PRED): case KEY(HLO_SELECT, TT_I8): case KEY(HLO_SELECT, TT_U8): return k_select_8;
    case KEY(HLO_SELECT, TT_I16): case KEY(HLO_SELECT, TT_U16): case KEY(HLO_SELECT, TT_F16): case KEY(HLO_SELECT, TT_BF16): return k_select_16;
    case KEY(HLO_SELECT, TT_I32): case KEY(HLO_SELECT, TT_U32): case KEY(HLO_SELECT, TT_F32): return k_select_32;
    case KEY(HLO_SELECT, TT_I64): case KEY(HLO_SELECT, TT_U64): case KEY(HLO_SELECT, TT_F64): case KEY(HLO_SELECT, TT_C64): return k_select_64;
    }
    return find_unary(op, in);
}

/* ref_elem.c - reference kernels of elementwise ops on integers, predicates and real floats.
 *
 * Below the kernel table, above nothing: typed loops made from ref_int.inc and ref_float.inc. Narrow floats compute in f32 and
 * round once per op; small integers compute in eight bits and wrap. Complex numbers are ref_complex.c's. */
#include "engine/ref.h"
#include <math.h>
#include <pthread.h>

enum { CHUNK = 512 };
enum { DIR_EQ, DIR_NE, DIR_LT, DIR_LE, DIR_GT, DIR_GE, DIR_BAD };

#define LOOP1(expr)                       \
    do {                                  \
        for (int64_t i = 0; i < n; i++) { \
            T x = s[i];                   \
            d[i] = (expr);                \
        }                                 \
        return true;                      \
    } while (0)
#define LOOP1P LOOP1
#define LOOP2(expr)                       \
    do {                                  \
        for (int64_t i = 0; i < n; i++) { \
            T x = a[i], y = b[i];         \
            d[i] = (expr);                \
        }                                 \
        return true;                      \
    } while (0)
#define COMPARE_LOOP(rel)             \
    for (int64_t i = 0; i < n; i++)   \
        d[i] = a[i] rel b[i];         \
    return;
#define COMPARE_SWITCH               \
    switch (direction) {             \
    case DIR_EQ: COMPARE_LOOP(==)    \
    case DIR_NE: COMPARE_LOOP(!=)    \
    case DIR_LT: COMPARE_LOOP(<)     \
    case DIR_LE: COMPARE_LOOP(<=)    \
    case DIR_GT: COMPARE_LOOP(>)     \
    case DIR_GE: COMPARE_LOOP(>=)    \
    }

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;
#define SHIFT_AND_HIGH(name, T, S, W, bits)                                \
    static T name##_sra(T x, int by) { return (T)((S)x >> by); }           \
    static T name##_mulhi(T x, T y) { return (T)(((W)x * (W)y) >> bits); }
SHIFT_AND_HIGH(i8, int8_t, int8_t, int32_t, 8)
SHIFT_AND_HIGH(i16, int16_t, int16_t, int32_t, 16)
SHIFT_AND_HIGH(i32, int32_t, int32_t, int64_t, 32)
SHIFT_AND_HIGH(i64, int64_t, int64_t, i128, 64)
SHIFT_AND_HIGH(u8, uint8_t, int8_t, uint32_t, 8)
SHIFT_AND_HIGH(u16, uint16_t, int16_t, uint32_t, 16)
SHIFT_AND_HIGH(u32, uint32_t, int32_t, uint64_t, 32)
SHIFT_AND_HIGH(u64, uint64_t, int64_t, u128, 64)

/* The unsigned instances compare x < 0 and such; SIGNED guards them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
#define BITS 8
#define SIGNED 1
#define T int8_t
#define U uint32_t
#define NAME(x) i8_##x
#include "ref_int.inc"
#undef BITS
#undef T
#undef NAME
#define BITS 16
#define T int16_t
#define NAME(x) i16_##x
#include "ref_int.inc"
#undef BITS
#undef T
#undef NAME
#define BITS 32
#define T int32_t
#define NAME(x) i32_##x
#include "ref_int.inc"
#undef BITS
#undef T
#undef U
#undef NAME
#define BITS 64
#define T int64_t
#define U uint64_t
#define NAME(x) i64_##x
#include "ref_int.inc"
#undef SIGNED
#undef T
#undef NAME
#define SIGNED 0
#define T uint64_t
#define NAME(x) u64_##x
#include "ref_int.inc"
#undef BITS
#undef T
#undef U
#undef NAME
#define BITS 8
#define T uint8_t
#define U uint32_t
#define NAME(x) u8_##x
#include "ref_int.inc"
#undef BITS
#undef T
#undef NAME
#define BITS 16
#define T uint16_t
#define NAME(x) u16_##x
#include "ref_int.inc"
#undef BITS
#undef T
#undef NAME
#define BITS 32
#define T uint32_t
#define NAME(x) u32_##x
#include "ref_int.inc"
#undef BITS
#undef SIGNED
#undef T
#undef U
#undef NAME
#pragma GCC diagnostic pop

#define T float
#define F(name) name##f
#define NAME(x) f32_##x
#include "ref_float.inc"
#undef T
#undef F
#undef NAME
#define T double
#define F(name) name
#define NAME(x) f64_##x
#include "ref_float.inc"
#undef T
#undef F
#undef NAME

/* ---- narrow floats ---- */
static float f16_decode(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023, u;
    if (e == 0) {
        float v = (float)m * 0x1p-24f;
        return sign ? -v : v;
    }
    u = sign | (e == 31 ? 0x7F800000u : (e + 112) << 23) | m << 13;
    float v;
    memcpy(&v, &u, 4);
    return v;
}

static uint16_t f16_encode(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    uint32_t sign = u >> 16 & 0x8000, a = u & 0x7FFFFFFF;
    if (a > 0x7F800000)
        return (uint16_t)(sign | 0x7E00 | (a >> 13 & 0x3FF));
    if (a >= 0x47800000)
        return (uint16_t)(sign | 0x7C00);
    if (a < 0x38800000) { /* adding a half aligns the last place of a subnormal f16 with that of the sum */
        float v = fabsf(x) + 0.5f;
        memcpy(&a, &v, 4);
        return (uint16_t)(sign | (a - 0x3F000000));
    }
    return (uint16_t)(sign | (a - 0x38000000 + 0xFFF + (a >> 13 & 1)) >> 13);
}

static float f8_table[TT_N_DTYPES][256];
static pthread_once_t f8_once = PTHREAD_ONCE_INIT;

static void f8_fill(void) {
    for (int t = 1; t < TT_N_DTYPES; t++)
        for (int i = 0; i < 256 && tt_is_float((tt_dtype)t) && tt_dtype_size((tt_dtype)t) == 1; i++)
            f8_table[t][i] = (float)tt_element_get((tt_dtype)t, &(uint8_t){(uint8_t)i});
}

void ref_to_f32(tt_dtype t, float *dst, const void *src, int64_t n) {
    const uint16_t *h = src;
    const uint8_t *b = src;
    if (t == TT_F32) {
        memmove(dst, src, (size_t)n * 4);
    } else if (t == TT_BF16) {
        for (int64_t i = 0; i < n; i++)
            dst[i] = tt_bf16_to_f32(h[i]);
    } else if (t == TT_F16) {
        for (int64_t i = 0; i < n; i++)
            dst[i] = f16_decode(h[i]);
    } else {
        pthread_once(&f8_once, f8_fill);
        for (int64_t i = 0; i < n; i++)
            dst[i] = f8_table[t][b[i]];
    }
}

void ref_from_f32(tt_dtype t, void *dst, const float *src, int64_t n) {
    uint16_t *h = dst;
    if (t == TT_F32)
        memmove(dst, src, (size_t)n * 4);
    else if (t == TT_BF16)
        for (int64_t i = 0; i < n; i++)
            h[i] = tt_f32_to_bf16(src[i]);
    else if (t == TT_F16)
        for (int64_t i = 0; i < n; i++)
            h[i] = f16_encode(src[i]);
    else
        for (int64_t i = 0; i < n; i++)
            tt_element_set(t, (uint8_t *)dst + i, (double)src[i]);
}

void ref_to_f64(tt_dtype t, double *dst, const void *src, int64_t n) {
    float chunk[CHUNK];
    if (t == TT_F64) {
        memcpy(dst, src, (size_t)n * 8);
        return;
    }
    for (int64_t i = 0, k; i < n; i += k) {
        k = n - i < CHUNK ? n - i : CHUNK;
        ref_to_f32(t, chunk, (const char *)src + i * tt_dtype_size(t), k);
        for (int64_t j = 0; j < k; j++)
            dst[i + j] = (double)chunk[j];
    }
}

void ref_from_f64(tt_dtype t, void *dst, const double *src, int64_t n) {
    float chunk[CHUNK];
    if (t == TT_F64) {
        memcpy(dst, src, (size_t)n * 8);
        return;
    }
    for (int64_t i = 0, k; i < n; i += k) {
        k = n - i < CHUNK ? n - i : CHUNK;
        for (int64_t j = 0; j < k; j++)
            chunk[j] = (float)src[i + j];
        ref_from_f32(t, (char *)dst + i * tt_dtype_size(t), chunk, k);
    }
}

/* Steps in the sign-magnitude order of the bits, which holds for every narrow float. */
static void narrow_next_after(tt_dtype t, void *dst, const void *a, const void *b, int64_t n) {
    int size = tt_dtype_size(t);
    uint32_t top = size == 2 ? 0x8000 : 0x80;
    for (int64_t i = 0; i < n; i++) {
        double x = tt_element_get(t, (const char *)a + i * size), y = tt_element_get(t, (const char *)b + i * size);
        uint32_t bits = 0;
        memcpy(&bits, (const char *)(isnan(y) ? b : a) + i * size, (size_t)size);
        if (x == y)
            memcpy(&bits, (const char *)b + i * size, (size_t)size);
        else if (!isnan(x) && !isnan(y) && x == 0)
            bits = (y < 0 ? top : 0) | 1;
        else if (!isnan(x) && !isnan(y))
            bits += (x < y) == (x > 0) ? 1 : (uint32_t)-1;
        memcpy((char *)dst + i * size, &bits, (size_t)size);
    }
}

static bool narrow_unary(hlo_op op, tt_dtype t, void *dst, const void *src, int64_t n) {
    float x[CHUNK];
    for (int64_t i = 0, k; i < n; i += k) {
        k = n - i < CHUNK ? n - i : CHUNK;
        ref_to_f32(t, x, (const char *)src + i * tt_dtype_size(t), k);
        if (!f32_unary(op, x, x, k))
            return false;
        ref_from_f32(t, (char *)dst + i * tt_dtype_size(t), x, k);
    }
    return true;
}

static bool narrow_binary(hlo_op op, tt_dtype t, void *dst, const void *a, const void *b, int64_t n) {
    float x[CHUNK], y[CHUNK];
    if (op == HLO_CHLO_NEXT_AFTER) {
        narrow_next_after(t, dst, a, b, n);
        return true;
    }
    for (int64_t i = 0, k; i < n; i += k) {
        int64_t at = i * tt_dtype_size(t);
        k = n - i < CHUNK ? n - i : CHUNK;
        ref_to_f32(t, x, (const char *)a + at, k);
        ref_to_f32(t, y, (const char *)b + at, k);
        if (!f32_binary(op, x, x, y, k))
            return false;
        ref_from_f32(t, (char *)dst + at, x, k);
    }
    return true;
}

static bool narrow_predicate(hlo_op op, tt_dtype t, uint8_t *dst, const void *src, int64_t n) {
    float x[CHUNK];
    for (int64_t i = 0, k; i < n; i += k) {
        k = n - i < CHUNK ? n - i : CHUNK;
        ref_to_f32(t, x, (const char *)src + i * tt_dtype_size(t), k);
        if (!f32_predicate(op, dst + i, x, k))
            return false;
    }
    return true;
}

/* ---- integers under a byte, kept one to a byte ---- */
int ref_bits(tt_dtype t) {
    return t == TT_I4 || t == TT_U4 ? 4 : t == TT_I2 || t == TT_U2 ? 2 : tt_dtype_size(t) * 8;
}

static bool is_small(tt_dtype t) {
    return tt_is_int(t) && ref_bits(t) < 8;
}

static void small_wrap(tt_dtype t, void *dst, const void *src, int64_t n) {
    const int8_t *s = src;
    for (int64_t i = 0; i < n; i++)
        tt_element_set_int(t, (uint8_t *)dst + i, s[i]);
}

/* The sign-extended eight-bit result wraps to the right one, but for ops that look at the width. */
static void small_fix(hlo_op op, tt_dtype t, void *dst, int64_t n) {
    int8_t *d = dst;
    if (op == HLO_CLZ)
        for (int64_t i = 0; i < n; i++)
            d[i] = (int8_t)(d[i] - (8 - ref_bits(t)));
    small_wrap(t, dst, dst, n);
}

static bool small_unary(hlo_op op, tt_dtype t, void *dst, const void *src, int64_t n) {
    bool by_bits = op == HLO_CLZ || op == HLO_POPCNT;
    tt_dtype wide = by_bits || t == TT_U4 || t == TT_U2 ? TT_U8 : TT_I8;
    uint8_t mask = (uint8_t)((1 << ref_bits(t)) - 1), x[CHUNK];
    for (int64_t i = 0, k; i < n; i += k) {
        k = n - i < CHUNK ? n - i : CHUNK;
        small_wrap(t, x, (const char *)src + i, k);
        for (int64_t j = 0; j < k && by_bits; j++)
            x[j] &= mask;
        if (!ref_unary(op, wide, x, x, k))
            return false;
        small_fix(op, t, x, k);
        memcpy((char *)dst + i, x, (size_t)k);
    }
    return true;
}

static bool small_binary(hlo_op op, tt_dtype t, void *dst, const void *a, const void *b, int64_t n) {
    bool unsigned_ = t == TT_U4 || t == TT_U2 || op == HLO_SHIFT_RIGHT_LOGICAL;
    uint8_t mask = (uint8_t)((1 << ref_bits(t)) - 1), x[CHUNK], y[CHUNK];
    for (int64_t i = 0, k; i < n; i += k) {
        k = n - i < CHUNK ? n - i : CHUNK;
        small_wrap(t, x, (const char *)a + i, k);
        small_wrap(t, y, (const char *)b + i, k);
        for (int64_t j = 0; j < k && op == HLO_SHIFT_RIGHT_LOGICAL; j++)
            x[j] &= mask;
        if (op == HLO_CHLO_MULHI) /* the high half of 4 bits x 4 bits lies in the low byte */
            for (int64_t j = 0; j < k; j++)
                x[j] = (uint8_t)(unsigned_ ? x[j] * y[j] >> ref_bits(t) : (int8_t)x[j] * (int8_t)y[j] >> ref_bits(t));
        else if (!ref_binary(op, unsigned_ ? TT_U8 : TT_I8, x, x, y, k))
            return false;
        small_wrap(t, (char *)dst + i, x, k);
    }
    return true;
}

/* ---- predicates ---- */
static bool pred_binary(hlo_op op, uint8_t *d, const uint8_t *a, const uint8_t *b, int64_t n) {
    typedef uint8_t T;
    switch ((int)op) {
    case HLO_ADD: case HLO_OR: case HLO_MAXIMUM: LOOP2((x | y) != 0);
    case HLO_MULTIPLY: case HLO_AND: case HLO_MINIMUM: LOOP2(x && y);
    case HLO_XOR: case HLO_SUBTRACT: LOOP2(!x != !y);
    }
    return false;
}

static bool pred_unary(hlo_op op, uint8_t *d, const uint8_t *s, int64_t n) {
    typedef uint8_t T;
    switch ((int)op) {
    case HLO_NOT: LOOP1(!x);
    }
    return false;
}

/* ---- dispatch ---- */
static bool predicate(hlo_op op, tt_dtype t, void *dst, const void *src, int64_t n) {
    if (t == TT_F32)
        return f32_predicate(op, dst, src, n);
    if (t == TT_F64)
        return f64_predicate(op, dst, src, n);
    return tt_is_float(t) && narrow_predicate(op, t, dst, src, n);
}

bool ref_unary(hlo_op op, tt_dtype t, void *dst, const void *src, int64_t n) {
    if (op == HLO_IS_FINITE || op == HLO_CHLO_IS_INF)
        return predicate(op, t, dst, src, n);
    switch ((int)t) {
    case TT_PRED: return pred_unary(op, dst, src, n);
    case TT_I8: return i8_unary(op, dst, src, n);
    case TT_I16: return i16_unary(op, dst, src, n);
    case TT_I32: return i32_unary(op, dst, src, n);
    case TT_I64: return i64_unary(op, dst, src, n);
    case TT_U8: return u8_unary(op, dst, src, n);
    case TT_U16: return u16_unary(op, dst, src, n);
    case TT_U32: return u32_unary(op, dst, src, n);
    case TT_U64: return u64_unary(op, dst, src, n);
    case TT_F32: return f32_unary(op, dst, src, n);
    case TT_F64: return f64_unary(op, dst, src, n);
    case TT_C64: case TT_C128: return ref_complex_unary(op, t, dst, src, n);
    }
    return is_small(t) ? small_unary(op, t, dst, src, n) : tt_is_float(t) && narrow_unary(op, t, dst, src, n);
}

bool ref_binary(hlo_op op, tt_dtype t, void *dst, const void *a, const void *b, int64_t n) {
    switch ((int)t) {
    case TT_PRED: return pred_binary(op, dst, a, b, n);
    case TT_I8: return i8_binary(op, dst, a, b, n);
    case TT_I16: return i16_binary(op, dst, a, b, n);
    case TT_I32: return i32_binary(op, dst, a, b, n);
    case TT_I64: return i64_binary(op, dst, a, b, n);
    case TT_U8: return u8_binary(op, dst, a, b, n);
    case TT_U16: return u16_binary(op, dst, a, b, n);
    case TT_U32: return u32_binary(op, dst, a, b, n);
    case TT_U64: return u64_binary(op, dst, a, b, n);
    case TT_F32: return f32_binary(op, dst, a, b, n);
    case TT_F64: return f64_binary(op, dst, a, b, n);
    case TT_C64: case TT_C128: return ref_complex_binary(op, t, dst, a, b, n);
    }
    return is_small(t) ? small_binary(op, t, dst, a, b, n) : tt_is_float(t) && narrow_binary(op, t, dst, a, b, n);
}

static int direction_of(const char *text) {
    static const char names[][3] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    for (int i = 0; i < DIR_BAD; i++)
        if (!strcmp(names[i], text))
            return i;
    return DIR_BAD;
}

/* TOTALORDER: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN, which is the order of the bits read as sign and magnitude. */
static void total_key32(const float *s, int32_t *d, int64_t n) {
    memcpy(d, s, (size_t)n * 4);
    for (int64_t i = 0; i < n; i++)
        d[i] ^= (int32_t)((uint32_t)(d[i] >> 31) >> 1);
}

static void total_key64(const double *s, int64_t *d, int64_t n) {
    memcpy(d, s, (size_t)n * 8);
    for (int64_t i = 0; i < n; i++)
        d[i] ^= (int64_t)((uint64_t)(d[i] >> 63) >> 1);
}

static void compare_floats(int dir, bool total, tt_dtype t, uint8_t *dst, const void *a, const void *b, int64_t n) {
    float x[CHUNK], y[CHUNK];
    int32_t p[CHUNK], q[CHUNK];
    for (int64_t i = 0, k; i < n; i += k) {
        k = n - i < CHUNK ? n - i : CHUNK;
        ref_to_f32(t, x, (const char *)a + i * tt_dtype_size(t), k);
        ref_to_f32(t, y, (const char *)b + i * tt_dtype_size(t), k);
        if (!total) {
            f32_compare(dir, dst + i, x, y, k);
            continue;
        }
        total_key32(x, p, k);
        total_key32(y, q, k);
        i32_compare(dir, dst + i, p, q, k);
    }
}

static void compare_doubles(int dir, bool total, uint8_t *dst, const double *a, const double *b, int64_t n) {
    int64_t p[CHUNK], q[CHUNK];
    if (!total) {
        f64_compare(dir, dst, a, b, n);
        return;
    }
    for (int64_t i = 0, k; i < n; i += k) {
        k = n - i < CHUNK ? n - i : CHUNK;
        total_key64(a + i, p, k);
        total_key64(b + i, q, k);
        i64_compare(dir, dst + i, p, q, k);
    }
}

static bool compare_complex(int dir, tt_dtype t, uint8_t *dst, const void *a, const void *b, int64_t n) {
    for (int64_t i = 0; i < n && (dir == DIR_EQ || dir == DIR_NE); i++) {
        bool equal;
        if (t == TT_C64) {
            const float *x = (const float *)a + 2 * i, *y = (const float *)b + 2 * i;
            equal = x[0] == y[0] && x[1] == y[1];
        } else {
            const double *x = (const double *)a + 2 * i, *y = (const double *)b + 2 * i;
            equal = x[0] == y[0] && x[1] == y[1];
        }
        dst[i] = equal == (dir == DIR_EQ);
    }
    return dir == DIR_EQ || dir == DIR_NE;
}

bool ref_compare(const char *direction, bool total, tt_dtype t, uint8_t *dst, const void *a, const void *b, int64_t n) {
    int dir = direction_of(direction);
    if (dir == DIR_BAD)
        return false;
    switch ((int)t) {
    case TT_I8: i8_compare(dir, dst, a, b, n); return true;
    case TT_I16: i16_compare(dir, dst, a, b, n); return true;
    case TT_I32: i32_compare(dir, dst, a, b, n); return true;
    case TT_I64: i64_compare(dir, dst, a, b, n); return true;
    case TT_PRED: case TT_U8: u8_compare(dir, dst, a, b, n); return true;
    case TT_U16: u16_compare(dir, dst, a, b, n); return true;
    case TT_U32: u32_compare(dir, dst, a, b, n); return true;
    case TT_U64: u64_compare(dir, dst, a, b, n); return true;
    case TT_F64: compare_doubles(dir, total, dst, a, b, n); return true;
    case TT_C64: case TT_C128: return compare_complex(dir, t, dst, a, b, n);
    }
    if (!is_small(t) && !tt_is_float(t))
        return false;
    if (!is_small(t)) {
        compare_floats(dir, total, t, dst, a, b, n);
        return true;
    }
    int8_t x[CHUNK], y[CHUNK];
    for (int64_t i = 0, k; i < n; i += k) {
        k = n - i < CHUNK ? n - i : CHUNK;
        small_wrap(t, x, (const char *)a + i, k);
        small_wrap(t, y, (const char *)b + i, k);
        i8_compare(dir, dst + i, x, y, k);
    }
    return true;
}

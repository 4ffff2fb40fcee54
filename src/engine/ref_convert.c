/* ref_convert.c - reference conversions between element types: convert, bitcast_convert, reduce_precision.
 *
 * Arrays in, arrays out, in chunks through int64 (integers) or float/double. Floats become integers by truncation and
 * saturation, NaN becomes 0, as XLA does; narrow floats are rounded from f32. */
#include "engine/ref.h"
#include <math.h>

enum { CHUNK = 512 };

#define GET(type)                                  \
    for (int64_t i = 0; i < n; i++)                \
        dst[i] = (int64_t)((const type *)src)[i];  \
    return

static void get_ints(tt_dtype t, int64_t *dst, const void *src, int64_t n) {
    switch ((int)t) {
    case TT_I8: GET(int8_t);
    case TT_I16: GET(int16_t);
    case TT_I32: GET(int32_t);
    case TT_I64: case TT_U64: GET(int64_t);
    case TT_U8: GET(uint8_t);
    case TT_U16: GET(uint16_t);
    case TT_U32: GET(uint32_t);
    }
    for (int64_t i = 0; i < n; i++)
        dst[i] = tt_element_get_int(t, (const char *)src + i * tt_dtype_size(t));
}

#define PUT(type)                        \
    for (int64_t i = 0; i < n; i++)      \
        ((type *)dst)[i] = (type)src[i]; \
    return

static void put_ints(tt_dtype t, void *dst, const int64_t *src, int64_t n) {
    switch ((int)t) {
    case TT_PRED:
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)dst)[i] = src[i] != 0;
        return;
    case TT_I8: PUT(int8_t);
    case TT_I16: PUT(int16_t);
    case TT_I32: PUT(int32_t);
    case TT_I64: case TT_U64: PUT(int64_t);
    case TT_U8: PUT(uint8_t);
    case TT_U16: PUT(uint16_t);
    case TT_U32: PUT(uint32_t);
    }
    for (int64_t i = 0; i < n; i++)
        tt_element_set_int(t, (char *)dst + i * tt_dtype_size(t), src[i]);
}

static int64_t saturate(tt_dtype t, double x) {
    int bits = ref_bits(t);
    if (x != x)
        return 0;
    if (tt_dtype_class(t) == TT_CLASS_UINT) {
        double top = ldexp(1, bits);
        return x <= 0 ? 0 : x >= top ? (int64_t)(UINT64_MAX >> (64 - bits)) : (int64_t)(uint64_t)x;
    }
    double top = ldexp(1, bits - 1);
    return x <= -top ? (int64_t)(UINT64_MAX << (bits - 1)) : x >= top ? (int64_t)(UINT64_MAX >> (65 - bits)) : (int64_t)x;
}

/* One source chunk as both kinds: integers stay integers so that 64 bits are exact. */
typedef struct numbers {
    bool is_int, is_u64;
    int64_t ints[CHUNK];
    double reals[CHUNK], imags[CHUNK];
} numbers;

static void read_chunk(numbers *c, tt_dtype t, const void *src, int64_t n) {
    c->is_int = tt_is_int(t) || t == TT_PRED;
    c->is_u64 = t == TT_U64;
    memset(c->imags, 0, (size_t)n * sizeof(double));
    if (c->is_int) {
        get_ints(t, c->ints, src, n);
    } else if (t == TT_C64) {
        for (int64_t i = 0; i < n; i++)
            c->reals[i] = (double)((const float *)src)[2 * i], c->imags[i] = (double)((const float *)src)[2 * i + 1];
    } else if (t == TT_C128) {
        for (int64_t i = 0; i < n; i++)
            c->reals[i] = ((const double *)src)[2 * i], c->imags[i] = ((const double *)src)[2 * i + 1];
    } else {
        ref_to_f64(t, c->reals, src, n);
    }
}

static void write_f32(const numbers *c, float *dst, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        dst[i] = !c->is_int ? (float)c->reals[i] : c->is_u64 ? (float)(uint64_t)c->ints[i] : (float)c->ints[i];
}

static void write_f64(const numbers *c, double *dst, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        dst[i] = !c->is_int ? c->reals[i] : c->is_u64 ? (double)(uint64_t)c->ints[i] : (double)c->ints[i];
}

static void write_ints(numbers *c, tt_dtype t, void *dst, int64_t n) {
    for (int64_t i = 0; i < n && !c->is_int; i++)
        c->ints[i] = t == TT_PRED ? c->reals[i] != 0 : saturate(t, c->reals[i]);
    put_ints(t, dst, c->ints, n);
}

static void write_chunk(numbers *c, tt_dtype t, void *dst, int64_t n) {
    float f[CHUNK];
    double d[CHUNK];
    if (t == TT_F64) {
        write_f64(c, dst, n);
    } else if (tt_is_float(t)) {
        write_f32(c, f, n);
        ref_from_f32(t, dst, f, n);
    } else if (t == TT_C64) {
        write_f32(c, f, n);
        for (int64_t i = 0; i < n; i++)
            ((float *)dst)[2 * i] = f[i], ((float *)dst)[2 * i + 1] = (float)c->imags[i];
    } else if (t == TT_C128) {
        write_f64(c, d, n);
        for (int64_t i = 0; i < n; i++)
            ((double *)dst)[2 * i] = d[i], ((double *)dst)[2 * i + 1] = c->imags[i];
    } else {
        write_ints(c, t, dst, n);
    }
}

void ref_convert(tt_dtype to, void *dst, tt_dtype from, const void *src, int64_t n) {
    numbers c;
    if (to == from && ref_bits(to) >= 8) {
        if (n)
            memmove(dst, src, (size_t)n * (size_t)tt_dtype_size(to));
        return;
    }
    for (int64_t i = 0, k; i < n; i += k) {
        k = n - i < CHUNK ? n - i : CHUNK;
        read_chunk(&c, from, (const char *)src + i * tt_dtype_size(from), k);
        write_chunk(&c, to, (char *)dst + i * tt_dtype_size(to), k);
    }
}

/* Elements become a string of bits, the lowest first, and are cut anew. Only types under a byte need the long way. */
void ref_bitcast(tt_dtype to, void *dst, tt_dtype from, const void *src, int64_t n_from) {
    int a = ref_bits(from), b = ref_bits(to);
    int64_t n_to = n_from * a / b;
    if (a >= 8 && b >= 8) {
        if (n_from)
            memmove(dst, src, (size_t)(n_from * (a / 8)));
        return;
    }
    if (n_to)
        memset(dst, 0, (size_t)(n_to * tt_dtype_size(to)));
    const uint8_t *s = src;
    uint8_t *d = dst;
    for (int64_t bit = 0; bit < n_from * a; bit++) {
        int64_t i = bit / a, j = bit % a, k = bit / b, l = bit % b;
        int value = s[i * tt_dtype_size(from) + j / 8] >> j % 8 & 1;
        d[k * tt_dtype_size(to) + l / 8] |= (uint8_t)(value << l % 8);
    }
    for (int64_t i = 0; i < n_to && b < 8; i++)
        tt_element_set_int(to, d + i, tt_element_get_int(to, d + i));
}

/* x (bits of a float with `mantissa` bits below its exponent field) rounded to fewer exponent and mantissa bits; what leaves the range
 * becomes infinity or zero. */
static uint64_t reduce_bits(uint64_t x, int exponent, int mantissa, int64_t to_exponent, int64_t to_mantissa) {
    uint64_t sign = x >> (exponent + mantissa) << (exponent + mantissa), a = x ^ sign;
    uint64_t infinity = ((1ull << exponent) - 1) << mantissa;
    if (a > infinity) /* a NaN keeps its payload, unless no mantissa is left to tell it from infinity */
        return to_mantissa > 0 ? x : sign | infinity;
    if (a == infinity)
        return x;
    if (to_mantissa < mantissa) {
        int drop = mantissa - (int)to_mantissa;
        a += ((1ull << (drop - 1)) - 1) + (a >> drop & 1);
        a = a >> drop << drop;
    }
    if (to_exponent < exponent) {
        uint64_t bias = (1ull << (exponent - 1)) - 1, to_bias = (1ull << (to_exponent - 1)) - 1;
        uint64_t field = a >> mantissa;
        if (field > bias + to_bias)
            a = infinity;
        else if (field <= bias - to_bias)
            a = 0;
    }
    return sign | (a > infinity ? infinity : a);
}

bool ref_reduce_precision(tt_dtype t, int64_t exponent_bits, int64_t mantissa_bits, void *dst, const void *src, int64_t n) {
    int size = tt_dtype_size(t), exponent = t == TT_F64 ? 11 : t == TT_F16 ? 5 : 8;
    if ((t != TT_F64 && t != TT_F32 && t != TT_F16 && t != TT_BF16) || exponent_bits < 1 || mantissa_bits < 0)
        return false;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)src + i * size, (size_t)size);
        bits = reduce_bits(bits, exponent, size * 8 - 1 - exponent, exponent_bits, mantissa_bits);
        memcpy((char *)dst + i * size, &bits, (size_t)size);
    }
    return true;
}

/* dtype.c - element types: names, sizes, and one element at a time between host bytes and numbers.
 *
 * The narrow floats share one decoder and one encoder over a description of their bits. Speed does not matter
 * here: kernels have their own conversions. */
#include "base/dtype.h"
#include <math.h>
#include <string.h>

typedef struct row {
    const char *name;
    int bits, torch, pjrt;
    tt_class class_;
} row;

static const row rows[TT_N_DTYPES] = {
    [TT_DTYPE_NONE] = {"none", 0, -1, 0, TT_CLASS_PRED},
#define DTYPE(name, mlir, bits, class_, torch, pjrt)                                                         \
    [TT_##name] = {mlir, bits, torch, pjrt, TT_CLASS_##class_},
#include "tables/dtype.def"
#undef DTYPE
};

static const row *row_of(tt_dtype d) {
    return &rows[(unsigned)d < TT_N_DTYPES ? d : TT_DTYPE_NONE];
}

const char *tt_dtype_name(tt_dtype d) {
    return row_of(d)->name;
}

int tt_dtype_size(tt_dtype d) {
    return row_of(d)->bits / 8;
}

tt_class tt_dtype_class(tt_dtype d) {
    return row_of(d)->class_;
}

int tt_dtype_to_torch(tt_dtype d) {
    return row_of(d)->torch;
}

int tt_dtype_to_pjrt(tt_dtype d) {
    return row_of(d)->pjrt;
}

tt_dtype tt_dtype_from_torch(int scalar_type) {
    for (int d = 1; d < TT_N_DTYPES && scalar_type >= 0; d++)
        if (rows[d].torch == scalar_type)
            return (tt_dtype)d;
    return TT_DTYPE_NONE;
}

tt_dtype tt_dtype_from_pjrt(int buffer_type) {
    for (int d = 1; d < TT_N_DTYPES; d++)
        if (rows[d].pjrt == buffer_type)
            return (tt_dtype)d;
    return TT_DTYPE_NONE;
}

tt_dtype tt_dtype_from_name(const char *name, int length) {
    for (int d = 1; d < TT_N_DTYPES; d++)
        if (!strncmp(rows[d].name, name, (size_t)length) && rows[d].name[length] == 0)
            return (tt_dtype)d;
    return TT_DTYPE_NONE;
}

tt_dtype tt_dtype_real(tt_dtype d) {
    return d == TT_C64 ? TT_F32 : d == TT_C128 ? TT_F64 : d;
}

uint16_t tt_f32_to_bf16(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    if ((u & 0x7FFFFFFFu) > 0x7F800000u)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7FFFu + (u >> 16 & 1)) >> 16);
}

float tt_bf16_to_f32(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float x;
    memcpy(&x, &u, 4);
    return x;
}

/* A narrow float: how many bits, and how it spells what is not finite. */
typedef struct narrow {
    int exponent_bits, mantissa_bits, bias;
    enum { IEEE, FN, FNUZ } special; /* FN: all ones is NaN, no inf. FNUZ: "-0" is the NaN, no inf, no -0 */
} narrow;

static const narrow F16_BITS = {5, 10, 15, IEEE}, BF16_BITS = {8, 7, 127, IEEE};

static const narrow *narrow_of(tt_dtype d) {
    static const narrow e5m2 = {5, 2, 15, IEEE}, e4m3fn = {4, 3, 7, FN}, e4m3b11 = {4, 3, 11, FNUZ},
                        e5m2fnuz = {5, 2, 16, FNUZ}, e4m3fnuz = {4, 3, 8, FNUZ}, e4m3 = {4, 3, 7, IEEE},
                        e3m4 = {3, 4, 3, IEEE};
    switch ((int)d) {
    case TT_F16:
        return &F16_BITS;
    case TT_BF16:
        return &BF16_BITS;
    case TT_F8E5M2:
        return &e5m2;
    case TT_F8E4M3FN:
        return &e4m3fn;
    case TT_F8E4M3B11FNUZ:
        return &e4m3b11;
    case TT_F8E5M2FNUZ:
        return &e5m2fnuz;
    case TT_F8E4M3FNUZ:
        return &e4m3fnuz;
    case TT_F8E4M3:
        return &e4m3;
    case TT_F8E3M4:
        return &e3m4;
    }
    return NULL;
}

static double narrow_decode(const narrow *f, uint32_t bits) {
    int e = (int)(bits >> f->mantissa_bits & ((1u << f->exponent_bits) - 1));
    uint32_t m = bits & ((1u << f->mantissa_bits) - 1);
    uint32_t sign = bits >> (f->exponent_bits + f->mantissa_bits) & 1;
    int all_ones = (1 << f->exponent_bits) - 1;
    double v;
    if (f->special == FNUZ && sign && !e && !m)
        return NAN;
    if (f->special == IEEE && e == all_ones)
        v = m ? NAN : INFINITY;
    else if (f->special == FN && e == all_ones && m == (1u << f->mantissa_bits) - 1)
        v = NAN;
    else if (e)
        v = ldexp((double)(m | 1u << f->mantissa_bits), e - f->bias - f->mantissa_bits);
    else
        v = ldexp((double)m, 1 - f->bias - f->mantissa_bits);
    return sign ? -v : v;
}

static uint32_t narrow_encode(const narrow *f, double v) {
    uint32_t sign = signbit(v) ? 1u << (f->exponent_bits + f->mantissa_bits) : 0;
    uint32_t exponent_mask = ((1u << f->exponent_bits) - 1) << f->mantissa_bits;
    uint32_t mantissa_mask = (1u << f->mantissa_bits) - 1;
    uint32_t nan = f->special == IEEE ? sign | exponent_mask | 1u << (f->mantissa_bits - 1)
                   : f->special == FN ? sign | exponent_mask | mantissa_mask
                                      : 1u << (f->exponent_bits + f->mantissa_bits);
    uint32_t overflow = f->special == IEEE ? sign | exponent_mask : nan;
    if (isnan(v))
        return nan;
    if (isinf(v))
        return overflow;
    v = fabs(v);
    int e;
    frexp(v, &e); /* v = x * 2^e, x in [0.5, 1) */
    int lowest = 1 - f->bias;
    int unit = (e - 1 < lowest || v == 0 ? lowest : e - 1) - f->mantissa_bits;
    /* to integer multiples of the last place; exact in a double, so rint rounds once, to even */
    double units = rint(ldexp(v, -unit));
    uint64_t u = (uint64_t)units;
    uint64_t field = (uint64_t)(unit + f->mantissa_bits - lowest); /* exponent field - 1 for normals */
    uint64_t bits = u + (field << f->mantissa_bits); /* the hidden bit carries into the exponent */
    uint64_t largest = f->special == IEEE ? exponent_mask - 1
                       : f->special == FN ? (exponent_mask | mantissa_mask) - 1
                                          : exponent_mask | mantissa_mask;
    if (bits > largest)
        return overflow;
    if (!bits && f->special == FNUZ)
        return 0;
    return sign | (uint32_t)bits;
}

uint16_t tt_f32_to_f16(float x) {
    return (uint16_t)narrow_encode(&F16_BITS, (double)x);
}

float tt_f16_to_f32(uint16_t h) {
    return (float)narrow_decode(&F16_BITS, h);
}

/* One byte: 2^(bits - 127), all ones is NaN; no sign and no zero. */
static double e8m0_decode(uint8_t bits) {
    return bits == 255 ? NAN : ldexp(1, bits - 127);
}

static uint8_t e8m0_encode(double v) {
    if (isnan(v) || isinf(v) || v < 0)
        return 255;
    int e;
    double x = frexp(v, &e); /* 1.5 lies halfway between two powers; the even exponent field wins */
    if (v == 0 || e - 1 < -127)
        return 0;
    int field = e - 1 + 127;
    if (x > 0.75 || (x == 0.75 && (field & 1)))
        field++;
    return (uint8_t)(field > 254 ? 255 : field);
}

static bool is_inexact(tt_dtype d) {
    return tt_is_float(d) || tt_is_complex(d);
}

#define LOAD(type)                                                                                           \
    type v;                                                                                                  \
    memcpy(&v, p, sizeof v)

double tt_element_get(tt_dtype d, const void *p) {
    const narrow *f = narrow_of(d);
    if (f && tt_dtype_size(d) == 2) {
        LOAD(uint16_t);
        return narrow_decode(f, v);
    }
    if (f)
        return narrow_decode(f, *(const uint8_t *)p);
    if (d == TT_F32 || d == TT_C64) {
        LOAD(float);
        return (double)v;
    }
    if (d == TT_F64 || d == TT_C128) {
        LOAD(double);
        return v;
    }
    if (d == TT_F8E8M0FNU)
        return e8m0_decode(*(const uint8_t *)p);
    int64_t n = tt_element_get_int(d, p);
    return d == TT_U64 ? (double)(uint64_t)n : (double)n;
}

int64_t tt_element_get_int(tt_dtype d, const void *p) {
    switch ((int)d) {
    case TT_PRED:
        return *(const uint8_t *)p != 0;
    case TT_I8:
        return *(const int8_t *)p;
    case TT_I4:
        return (int8_t)(*(const uint8_t *)p << 4) >> 4;
    case TT_I2:
        return (int8_t)(*(const uint8_t *)p << 6) >> 6;
    case TT_U8:
        return *(const uint8_t *)p;
    case TT_U4:
        return *(const uint8_t *)p & 15;
    case TT_U2:
        return *(const uint8_t *)p & 3;
    case TT_I16: {
        LOAD(int16_t);
        return v;
    }
    case TT_U16: {
        LOAD(uint16_t);
        return v;
    }
    case TT_I32: {
        LOAD(int32_t);
        return v;
    }
    case TT_U32: {
        LOAD(uint32_t);
        return v;
    }
    case TT_I64:
    case TT_U64: {
        LOAD(int64_t);
        return v;
    }
    }
    double x = is_inexact(d) ? tt_element_get(d, p) : 0;
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}

#define STORE(type, value)                                                                                   \
    do {                                                                                                     \
        type v_ = (type)(value);                                                                             \
        memcpy(p, &v_, sizeof v_);                                                                           \
    } while (0)

void tt_element_set(tt_dtype d, void *p, double x) {
    const narrow *f = narrow_of(d);
    if (f && tt_dtype_size(d) == 2) {
        STORE(uint16_t, narrow_encode(f, x));
    } else if (f) {
        *(uint8_t *)p = (uint8_t)narrow_encode(f, x);
    } else if (d == TT_F32 || d == TT_C64) {
        STORE(float, x);
        if (d == TT_C64)
            memset((char *)p + 4, 0, 4);
    } else if (d == TT_F64 || d == TT_C128) {
        STORE(double, x);
        if (d == TT_C128)
            memset((char *)p + 8, 0, 8);
    } else if (d == TT_F8E8M0FNU) {
        *(uint8_t *)p = e8m0_encode(x);
    } else if (d == TT_PRED) {
        *(uint8_t *)p = x != 0;
    } else if (x >= -9223372036854775808.0 && x < 9223372036854775808.0) {
        tt_element_set_int(d, p, (int64_t)x);
    } else if (x >= 9223372036854775808.0 && x < 18446744073709551616.0) {
        tt_element_set_int(d, p, (int64_t)(uint64_t)x);
    } else {
        tt_element_set_int(d, p, isnan(x) ? 0 : INT64_MIN);
    }
}

void tt_element_set_int(tt_dtype d, void *p, int64_t x) {
    switch ((int)d) {
    case TT_PRED:
        *(uint8_t *)p = x != 0;
        return;
    case TT_I8:
    case TT_U8:
        *(uint8_t *)p = (uint8_t)x;
        return;
    case TT_I4:
        *(int8_t *)p = (int8_t)((int8_t)((uint8_t)x << 4) >> 4);
        return;
    case TT_I2:
        *(int8_t *)p = (int8_t)((int8_t)((uint8_t)x << 6) >> 6);
        return;
    case TT_U4:
        *(uint8_t *)p = (uint8_t)(x & 15);
        return;
    case TT_U2:
        *(uint8_t *)p = (uint8_t)(x & 3);
        return;
    case TT_I16:
    case TT_U16:
        STORE(uint16_t, x);
        return;
    case TT_I32:
    case TT_U32:
        STORE(uint32_t, x);
        return;
    case TT_I64:
    case TT_U64:
        STORE(int64_t, x);
        return;
    }
    if (is_inexact(d))
        tt_element_set(d, p, (double)x);
}

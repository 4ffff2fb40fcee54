/* pointwise_math.c - functions of one tensor: exp log sin erf sign round isnan ...
 *
 * A single StableHLO op stays in its own type (it rounds once anyway); what takes several ops, and every chlo op,
 * is computed in f32 for f16 and bf16. Rounding of integers is the identity, as in PyTorch. */
#include "aten/elem.h"
#include <float.h>
#include <math.h>

static const double pi = 3.14159265358979323846;

static hlo_ref nowhere(const elem *e) {
    hlo_type t = hlo_type_with(&e->type, TT_PRED);
    return hlo_splat_int(e->g, &t, 0);
}

/* One StableHLO op; integers become float; complex as the op has it. exp expm1 log log1p sqrt rsqrt sin cos tan tanh sigmoid */
LOWER_FN(lower_pw_unary) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_FLOAT));
    return elem_end(&e, hlo_unary(e.g, (hlo_op)L->row->param, e.v[0]));
}

/* One chlo op: real, in f32 at least. asin erf lgamma ... */
LOWER_FN(lower_pw_unary_chlo) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_FLOAT | ELEM_UPCAST | ELEM_REAL));
    return elem_end(&e, hlo_unary(e.g, (hlo_op)L->row->param, e.v[0]));
}

/* floor ceil round: floats; integers as they are */
LOWER_FN(lower_pw_round) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_REAL | ELEM_NO_PRED));
    return elem_end(&e, tt_is_int(e.common) ? e.v[0] : hlo_unary(e.g, (hlo_op)L->row->param, e.v[0]));
}

LOWER_FN(lower_pw_trunc) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_REAL | ELEM_NO_PRED));
    return elem_end(&e, elem_trunc(&e, e.v[0]));
}

LOWER_FN(lower_pw_frac) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_REAL | ELEM_FLOATING));
    return elem_end(&e, hlo_sub(e.g, e.v[0], elem_trunc(&e, e.v[0])));
}

/* round.decimals(self, *, int decimals): every step rounds to the tensor's type, as on CPU */
LOWER_FN(lower_pw_round_decimals) {
    elem e;
    int64_t decimals = lower_int(L, 1, 0);
    TT_TRY(elem_begin1(L, &e, ELEM_REAL | ELEM_NO_PRED | (decimals ? ELEM_FLOATING : 0)));
    if (tt_is_int(e.common))
        return elem_end(&e, e.v[0]);
    if (decimals == 0)
        return elem_end(&e, hlo_unary(e.g, HLO_ROUND_EVEN, e.v[0]));
    hlo_ref ten = elem_number(&e, pow(10.0, (double)(decimals < 0 ? -decimals : decimals)));
    hlo_ref x = hlo_binary(e.g, decimals < 0 ? HLO_DIVIDE : HLO_MULTIPLY, e.v[0], ten);
    x = hlo_unary(e.g, HLO_ROUND_EVEN, x);
    return elem_end(&e, hlo_binary(e.g, decimals < 0 ? HLO_MULTIPLY : HLO_DIVIDE, x, ten));
}

/* abs: of a complex tensor, its magnitude */
LOWER_FN(lower_pw_abs) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_NO_PRED));
    if (tt_dtype_class(e.common) == TT_CLASS_UINT)
        return elem_end(&e, e.v[0]);
    e.out = tt_dtype_real(e.common);
    return elem_end(&e, hlo_unary(e.g, HLO_ABS, e.v[0]));
}

LOWER_FN(lower_pw_neg) {
    elem e;
    TT_CHECK(lower_tensor(L, 0)->dtype != TT_PRED, INVALID_ARGUMENT,
             "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
             "`~` or `logical_not()` operator instead.");
    TT_TRY(elem_begin1(L, &e, 0));
    return elem_end(&e, hlo_unary(e.g, HLO_NEGATE, e.v[0]));
}

/* sign, sgn: NaN gives 0; complex (sgn only) x / |x| */
LOWER_FN(lower_pw_sign) {
    elem e;
    TT_TRY(elem_begin1(L, &e, L->row->param ? 0 : ELEM_REAL));
    if (e.common == TT_PRED)
        return elem_end(&e, e.v[0]);
    if (tt_dtype_class(e.common) == TT_CLASS_UINT)
        return elem_end(&e, hlo_convert(e.g, elem_compare(&e, "NE", e.v[0], 0), e.common));
    if (tt_is_complex(e.common)) {
        hlo_ref re = hlo_unary(e.g, HLO_REAL, e.v[0]), im = hlo_unary(e.g, HLO_IMAG, e.v[0]), r = hlo_unary(e.g, HLO_ABS, e.v[0]);
        e.type.dtype = tt_dtype_real(e.common);
        hlo_ref none = elem_compare(&e, "EQ", r, 0), zero = elem_number(&e, 0);
        re = hlo_select(e.g, none, zero, hlo_div(e.g, re, r));
        im = hlo_select(e.g, none, zero, hlo_div(e.g, im, r));
        return elem_end(&e, hlo_complex(e.g, re, im));
    }
    hlo_ref s = hlo_unary(e.g, HLO_SIGN, e.v[0]);
    if (!tt_is_float(e.common))
        return elem_end(&e, s);
    /* PyTorch's (0 < x) - (x < 0): 0 of NaN, and +0 of -0 */
    hlo_ref zero = elem_number(&e, 0), some = hlo_compare(e.g, "GT", hlo_unary(e.g, HLO_ABS, e.v[0]), zero);
    return elem_end(&e, hlo_select(e.g, some, s, zero));
}

LOWER_FN(lower_pw_signbit) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_REAL));
    e.out = TT_PRED;
    if (tt_dtype_class(e.common) == TT_CLASS_UINT || e.common == TT_PRED)
        return elem_end(&e, nowhere(&e));
    return elem_end(&e, elem_negative(&e, e.v[0]));
}

LOWER_FN(lower_pw_reciprocal) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_FLOAT));
    return elem_end(&e, hlo_div(e.g, elem_number(&e, 1), e.v[0]));
}

LOWER_FN(lower_pw_exp2) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_FLOAT | ELEM_UPCAST | ELEM_REAL));
    return elem_end(&e, hlo_binary(e.g, HLO_POWER, elem_number(&e, 2), e.v[0]));
}

/* log2, log10: log(x) / log(base), exact at powers of the base */
LOWER_FN(lower_pw_log_base) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_FLOAT | ELEM_UPCAST | ELEM_REAL));
    return elem_end(&e, hlo_div(e.g, hlo_unary(e.g, HLO_LOG, e.v[0]), elem_number(&e, log((double)L->row->param))));
}

/* sinc: sin(pi x) / (pi x), 1 at 0 */
LOWER_FN(lower_pw_sinc) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_FLOAT | ELEM_UPCAST | ELEM_REAL));
    hlo_ref p = hlo_mul(e.g, elem_number(&e, pi), e.v[0]);
    hlo_ref s = hlo_div(e.g, hlo_unary(e.g, HLO_SINE, p), p);
    return elem_end(&e, hlo_select(e.g, elem_compare(&e, "EQ", e.v[0], 0), elem_number(&e, 1), s));
}

/* special_entr: -x log x for x > 0, 0 at 0, -inf below, NaN stays */
LOWER_FN(lower_pw_entr) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_FLOAT | ELEM_UPCAST | ELEM_REAL));
    hlo_graph *g = e.g;
    hlo_ref x = e.v[0];
    hlo_ref r = hlo_mul(g, hlo_unary(g, HLO_NEGATE, x), hlo_unary(g, HLO_LOG, x));
    r = hlo_select(g, elem_compare(&e, "EQ", x, 0), elem_number(&e, 0), r);
    r = hlo_select(g, elem_compare(&e, "LT", x, 0), elem_number(&e, -INFINITY), r);
    return elem_end(&e, hlo_select(g, elem_nan(&e, x), x, r));
}

/* nextafter(self, other) */
LOWER_FN(lower_pw_nextafter) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_REAL | ELEM_FLOATING));
    if (tt_dtype_size(e.common) >= 4)
        return elem_end(&e, hlo_binary(e.g, HLO_CHLO_NEXT_AFTER, e.v[0], e.v[1]));
    if (tt_dtype_size(e.common) < 2)
        LOWER_UNSUPPORTED(L, "not for float8");
    /* 16 bits: one up or down in the order of the magnitudes; from 0, the smallest number of the other's sign */
    hlo_graph *g = e.g;
    hlo_type it = hlo_type_with(&e.type, TT_I16);
    hlo_ref x = e.v[0], y = e.v[1], bits = hlo_bitcast(g, x, TT_I16), one = hlo_splat_int(g, &it, 1), low = hlo_splat_int(g, &it, INT16_MIN);
    hlo_ref away = hlo_compare(g, "EQ", hlo_compare(g, "LT", x, y), elem_compare(&e, "GT", x, 0));
    hlo_ref next = hlo_add(g, bits, hlo_select(g, away, one, hlo_splat_int(g, &it, -1)));
    hlo_ref least = hlo_binary(g, HLO_OR, one, hlo_select(g, elem_negative(&e, y), low, hlo_splat_int(g, &it, 0)));
    hlo_ref r = hlo_bitcast(g, hlo_select(g, elem_compare(&e, "EQ", x, 0), least, next), e.type.dtype);
    r = hlo_select(g, hlo_compare(g, "EQ", x, y), y, r);
    hlo_ref nan = hlo_binary(g, HLO_OR, elem_nan(&e, x), elem_nan(&e, y));
    return elem_end(&e, hlo_select(g, nan, elem_number(&e, NAN), r));
}

/* ---- complex ---- */

/* angle: atan2(im, re); of a real x: pi below 0, NaN stays, else 0 */
LOWER_FN(lower_pw_angle) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_FLOAT));
    hlo_graph *g = e.g;
    hlo_ref x = e.v[0];
    if (tt_is_complex(e.common)) {
        e.out = tt_dtype_real(e.common);
        return elem_end(&e, hlo_binary(g, HLO_ATAN2, hlo_unary(g, HLO_IMAG, x), hlo_unary(g, HLO_REAL, x)));
    }
    hlo_ref r = hlo_select(g, elem_compare(&e, "LT", x, 0), elem_number(&e, pi), elem_number(&e, 0));
    return elem_end(&e, hlo_select(g, elem_nan(&e, x), x, r));
}

/* complex(real, imag); polar(abs, angle) (param 1) */
LOWER_FN(lower_pw_complex) {
    elem e;
    tt_dtype a = lower_tensor(L, 0)->dtype, b = lower_tensor(L, 1)->dtype;
    TT_CHECK(a == b, INVALID_ARGUMENT, "Expected object of scalar type %s but got scalar type %s for second argument",
             tt_dtype_name(a), tt_dtype_name(b));
    TT_TRY(elem_begin2(L, &e, ELEM_FLOATING | ELEM_REAL));
    if (e.common != TT_F32 && e.common != TT_F64)
        LOWER_UNSUPPORTED(L, "for f32 and f64 only");
    e.out = e.common == TT_F32 ? TT_C64 : TT_C128;
    hlo_ref re = e.v[0], im = e.v[1];
    if (L->row->param) {
        re = hlo_mul(e.g, e.v[0], hlo_unary(e.g, HLO_COSINE, e.v[1]));
        im = hlo_mul(e.g, e.v[0], hlo_unary(e.g, HLO_SINE, e.v[1]));
    }
    return elem_end(&e, hlo_complex(e.g, re, im));
}

LOWER_FN(lower_pw_conj) {
    elem e;
    TT_TRY(elem_begin1(L, &e, 0));
    if (!tt_is_complex(e.common))
        return elem_end(&e, e.v[0]);
    hlo_ref im = hlo_unary(e.g, HLO_NEGATE, hlo_unary(e.g, HLO_IMAG, e.v[0]));
    return elem_end(&e, hlo_complex(e.g, hlo_unary(e.g, HLO_REAL, e.v[0]), im));
}

/* ---- tests ---- */

/* isnan isinf isposinf isneginf: param 0, 1, 2, 3 */
LOWER_FN(lower_pw_is) {
    elem e;
    int what = L->row->param;
    TT_TRY(elem_begin1(L, &e, what >= 2 ? ELEM_REAL : 0));
    e.out = TT_PRED;
    hlo_ref x = e.v[0];
    if (tt_is_complex(e.common)) {
        hlo_ref re = hlo_unary(e.g, HLO_REAL, x), im = hlo_unary(e.g, HLO_IMAG, x);
        e.type.dtype = tt_dtype_real(e.common);
        if (what == 0)
            return elem_end(&e, hlo_binary(e.g, HLO_OR, elem_nan(&e, re), elem_nan(&e, im)));
        re = elem_compare(&e, "EQ", hlo_unary(e.g, HLO_ABS, re), INFINITY);
        im = elem_compare(&e, "EQ", hlo_unary(e.g, HLO_ABS, im), INFINITY);
        return elem_end(&e, hlo_binary(e.g, HLO_OR, re, im));
    }
    if (!tt_is_float(e.common))
        return elem_end(&e, nowhere(&e));
    if (what == 0)
        return elem_end(&e, elem_nan(&e, x));
    x = what == 1 ? hlo_unary(e.g, HLO_ABS, x) : x;
    return elem_end(&e, elem_compare(&e, "EQ", x, what == 3 ? -INFINITY : INFINITY));
}

static double largest(tt_dtype d) {
    switch (d) {
    case TT_BF16: return 3.3895313892515355e38;
    case TT_F16: return 65504;
    case TT_F64: return DBL_MAX;
    default: return FLT_MAX;
    }
}

/* nan_to_num(self, float? nan=None, float? posinf=None, float? neginf=None) */
LOWER_FN(lower_pw_nan_to_num) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_REAL));
    if (!tt_is_float(e.common))
        return elem_end(&e, e.v[0]);
    if (tt_dtype_size(e.common) == 1)
        LOWER_UNSUPPORTED(L, "not for float8");
    hlo_graph *g = e.g;
    hlo_ref x = e.v[0];
    hlo_ref nan = lower_has(L, 1) ? elem_scalar(&e, 1) : elem_number(&e, 0);
    hlo_ref high = lower_has(L, 2) ? elem_scalar(&e, 2) : elem_number(&e, largest(e.common));
    hlo_ref low = lower_has(L, 3) ? elem_scalar(&e, 3) : elem_number(&e, -largest(e.common));
    hlo_ref r = hlo_select(g, elem_nan(&e, x), nan, x);
    r = hlo_select(g, elem_compare(&e, "EQ", x, INFINITY), high, r);
    return elem_end(&e, hlo_select(g, elem_compare(&e, "EQ", x, -INFINITY), low, r));
}

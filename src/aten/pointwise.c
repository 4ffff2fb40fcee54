/* pointwise.c - arithmetic on one, two and three tensors: add sub mul div pow remainder lerp addcmul ...
 *
 * Formulas are those of PyTorch's CPU kernels, so that results agree to the last bits. Tensor and Scalar
 * overloads share one function: a Scalar argument counts as a Python number. */
#include "aten/elem.h"
#include <math.h>
#include <string.h>

/* ---- alpha ---- */

static tt_status alpha_check(tt_lower *L, int arg, tt_dtype common) {
    if (!lower_has(L, arg))
        return TT_OK;
    tt_class c = lower_scalar_class(L, arg);
    TT_CHECK(c != TT_CLASS_PRED || common == TT_PRED, INVALID_ARGUMENT, "Boolean alpha only supported for Boolean results.");
    TT_CHECK(c != TT_CLASS_FLOAT || tt_is_float(common) || tt_is_complex(common), INVALID_ARGUMENT,
             "For integral input tensors, argument alpha must not be a floating point number.");
    TT_CHECK(c != TT_CLASS_COMPLEX || tt_is_complex(common), INVALID_ARGUMENT,
             "For non-complex input tensors, argument alpha must not be a complex number.");
    return TT_OK;
}

/* An integer alpha (the default 1) is part of the signature, a float one may change from call to call. */
static bool alpha_is_one(tt_lower *L, int arg) {
    if (!lower_has(L, arg))
        return true;
    tt_class c = lower_scalar_class(L, arg);
    return (c == TT_CLASS_SINT || c == TT_CLASS_PRED) && lower_int(L, arg, 1) == 1;
}

static unsigned alpha_flags(tt_lower *L, int arg) { return alpha_is_one(L, arg) ? ELEM_MIXED : ELEM_UPCAST; }

static hlo_ref scaled(elem *e, hlo_ref x, int arg) {
    return alpha_is_one(e->L, arg) ? x : hlo_mul(e->g, x, elem_scalar(e, arg));
}

/* add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1): self + alpha * other */
LOWER_FN(lower_pw_add) {
    elem e;
    TT_TRY(elem_begin2(L, &e, alpha_flags(L, 2)));
    TT_TRY(alpha_check(L, 2, e.common));
    return elem_end(&e, hlo_add(e.g, e.v[0], scaled(&e, e.v[1], 2)));
}

static tt_status sub_check(tt_lower *L) {
    tt_dtype b = L->args[1].tag == TT_ARG_TENSOR ? lower_tensor(L, 1)->dtype
                 : lower_scalar_class(L, 1) == TT_CLASS_PRED ? TT_PRED : TT_F32;
    tt_dtype a = lower_tensor(L, 0)->dtype;
    TT_CHECK(a != TT_PRED || b != TT_PRED, INVALID_ARGUMENT,
             "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
             "operator instead.");
    TT_CHECK(a != TT_PRED && b != TT_PRED, INVALID_ARGUMENT,
             "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use "
             "the `~` or `logical_not()` operator instead.");
    return TT_OK;
}

/* sub.Tensor: self - alpha * other; rsub (param 1): other - alpha * self */
LOWER_FN(lower_pw_sub) {
    elem e;
    TT_TRY(sub_check(L));
    TT_TRY(elem_begin2(L, &e, alpha_flags(L, 2)));
    TT_TRY(alpha_check(L, 2, e.common));
    int a = L->row->param ? 1 : 0;
    return elem_end(&e, hlo_sub(e.g, e.v[a], scaled(&e, e.v[1 - a], 2)));
}

/* _add_relu.Tensor(self, other, *, alpha) */
LOWER_FN(lower_pw_add_relu) {
    elem e;
    TT_TRY(elem_begin2(L, &e, alpha_flags(L, 2) | ELEM_REAL | ELEM_NO_PRED));
    TT_TRY(alpha_check(L, 2, e.common));
    hlo_ref sum = hlo_add(e.g, e.v[0], scaled(&e, e.v[1], 2));
    return elem_end(&e, hlo_binary(e.g, HLO_MAXIMUM, sum, elem_number(&e, 0)));
}

LOWER_FN(lower_pw_mul) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_MIXED));
    return elem_end(&e, hlo_mul(e.g, e.v[0], e.v[1]));
}

/* ---- division ---- */

static hlo_ref differ_in_sign(const elem *e, hlo_ref a, hlo_ref b) {
    return hlo_compare(e->g, "NE", elem_compare(e, "LT", a, 0), elem_compare(e, "LT", b, 0));
}

static bool is_unsigned(tt_dtype d) { return tt_dtype_class(d) == TT_CLASS_UINT || d == TT_PRED; }

/* c10::div_floor_floating, c10::div_floor_integer */
static hlo_ref floor_divide(const elem *e, hlo_ref a, hlo_ref b) {
    hlo_graph *g = e->g;
    hlo_ref q = elem_divide(e, HLO_DIVIDE, a, b);
    if (is_unsigned(e->type.dtype))
        return q;
    hlo_ref one = elem_number(e, 1), zero = elem_number(e, 0);
    if (!tt_is_float(e->type.dtype)) {
        hlo_ref rest = hlo_sub(g, a, hlo_mul(g, q, b));
        hlo_ref down = hlo_binary(g, HLO_AND, elem_compare(e, "NE", rest, 0), differ_in_sign(e, rest, b));
        return hlo_select(g, down, hlo_sub(g, q, one), q);
    }
    hlo_ref mod = hlo_binary(g, HLO_REMAINDER, a, b);
    hlo_ref div = hlo_div(g, hlo_sub(g, a, mod), b);
    hlo_ref down = hlo_binary(g, HLO_AND, elem_compare(e, "NE", mod, 0), differ_in_sign(e, b, mod));
    div = hlo_select(g, down, hlo_sub(g, div, one), div);
    hlo_ref floor = hlo_unary(g, HLO_FLOOR, div);
    hlo_ref up = elem_compare(e, "GT", hlo_sub(g, div, floor), 0.5);
    floor = hlo_select(g, up, hlo_add(g, floor, one), floor);
    hlo_ref none = hlo_select(g, elem_negative(e, q), hlo_unary(g, HLO_NEGATE, zero), zero);
    floor = hlo_select(g, elem_compare(e, "EQ", div, 0), none, floor);
    return hlo_select(g, elem_compare(e, "EQ", b, 0), q, floor);
}

/* div.Tensor, div.Tensor_mode(self, other, *, str? rounding_mode) */
LOWER_FN(lower_pw_div) {
    const char *mode = lower_string(L, 2, "");
    elem e;
    if (!mode[0]) {
        TT_TRY(elem_begin2(L, &e, ELEM_FLOAT | ELEM_MIXED));
        return elem_end(&e, hlo_div(e.g, e.v[0], e.v[1]));
    }
    bool trunc = !strcmp(mode, "trunc");
    TT_CHECK(trunc || !strcmp(mode, "floor"), INVALID_ARGUMENT,
             "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'", mode);
    TT_TRY(elem_begin2(L, &e, ELEM_UPCAST | ELEM_REAL | ELEM_NO_PRED));
    return elem_end(&e, trunc ? elem_trunc(&e, elem_divide(&e, HLO_DIVIDE, e.v[0], e.v[1])) : floor_divide(&e, e.v[0], e.v[1]));
}

LOWER_FN(lower_pw_floor_divide) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_UPCAST | ELEM_REAL | ELEM_NO_PRED));
    return elem_end(&e, floor_divide(&e, e.v[0], e.v[1]));
}

/* remainder: the sign of the divisor; fmod is stablehlo.remainder itself */
LOWER_FN(lower_pw_remainder) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_UPCAST | ELEM_REAL | ELEM_NO_PRED));
    hlo_ref mod = elem_divide(&e, HLO_REMAINDER, e.v[0], e.v[1]);
    if (is_unsigned(e.common))
        return elem_end(&e, mod);
    hlo_ref off = hlo_binary(e.g, HLO_AND, elem_compare(&e, "NE", mod, 0), differ_in_sign(&e, e.v[1], mod));
    return elem_end(&e, hlo_select(e.g, off, hlo_add(e.g, mod, e.v[1]), mod));
}

LOWER_FN(lower_pw_fmod) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_REAL | ELEM_NO_PRED));
    return elem_end(&e, elem_divide(&e, HLO_REMAINDER, e.v[0], e.v[1]));
}

/* Two operands, result float (integers become float), one StableHLO op: atan2. */
LOWER_FN(lower_pw_binary_float) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_FLOAT | ELEM_REAL | ELEM_UPCAST));
    return elem_end(&e, hlo_binary(e.g, (hlo_op)L->row->param, e.v[0], e.v[1]));
}

/* ---- powers ---- */

/* Exact integer power by repeated squaring: wraps like C. */
static hlo_ref power_int(const elem *e, hlo_ref x, int64_t n) {
    hlo_ref r = HLO_NONE;
    for (hlo_ref square = x; n > 0; n >>= 1) {
        if (n & 1)
            r = r == HLO_NONE ? square : hlo_mul(e->g, r, square);
        if (n > 1)
            square = hlo_mul(e->g, square, square);
    }
    return r == HLO_NONE ? elem_number(e, 1) : r;
}

/* The exponents for which PyTorch's CPU kernel has a formula of its own. */
static hlo_ref power_special(const elem *e, hlo_ref x, double n) {
    hlo_graph *g = e->g;
    if (n == 2)
        return hlo_mul(g, x, x);
    if (n == 3)
        return hlo_mul(g, hlo_mul(g, x, x), x);
    if (n == 0.5)
        return hlo_unary(g, HLO_SQRT, x);
    if (n == -0.5)
        return hlo_unary(g, HLO_RSQRT, x);
    if (n == -1)
        return hlo_div(g, elem_number(e, 1), x);
    if (n == -2)
        return hlo_div(g, elem_number(e, 1), hlo_mul(g, x, x));
    return HLO_NONE;
}

/* pow.Tensor_Scalar(Tensor self, Scalar exponent) */
LOWER_FN(lower_pw_pow_scalar) {
    elem e;
    tt_class c = lower_scalar_class(L, 1);
    TT_TRY(elem_begin2(L, &e, ELEM_UPCAST));
    if (c != TT_CLASS_COMPLEX && (c != TT_CLASS_FLOAT || L->slots == NULL || L->slots[1] == HLO_NONE)) {
        double n = lower_double(L, 1, 1);
        if (n == 0)
            return elem_end(&e, elem_number(&e, 1));
        if (n == 1)
            return elem_end(&e, e.v[0]);
        if (e.common == TT_PRED)
            LOWER_UNSUPPORTED(L, "not for bool");
        if (tt_is_int(e.common)) {
            TT_CHECK(n > 0, INVALID_ARGUMENT, "Integers to negative integer powers are not allowed.");
            return elem_end(&e, power_int(&e, e.v[0], (int64_t)n));
        }
        hlo_ref special = power_special(&e, e.v[0], n);
        if (special != HLO_NONE)
            return elem_end(&e, special);
    }
    if (e.common == TT_PRED)
        LOWER_UNSUPPORTED(L, "not for bool");
    return elem_end(&e, hlo_binary(e.g, HLO_POWER, e.v[0], e.v[1]));
}

/* pow.Tensor_Tensor, pow.Scalar. Integers: a negative exponent gives 0, or +-1 for bases +-1 (pow_impl). */
LOWER_FN(lower_pw_pow) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_UPCAST | ELEM_NO_PRED));
    hlo_graph *g = e.g;
    if (!tt_is_int(e.common) || is_unsigned(e.common))
        return elem_end(&e, hlo_binary(g, HLO_POWER, e.v[0], e.v[1]));
    hlo_ref zero = elem_number(&e, 0), one = elem_number(&e, 1), two = elem_number(&e, 2);
    hlo_ref below = elem_compare(&e, "LT", e.v[1], 0);
    hlo_ref plain = hlo_binary(g, HLO_POWER, e.v[0], hlo_select(g, below, zero, e.v[1]));
    hlo_ref odd = elem_compare(&e, "NE", hlo_binary(g, HLO_REMAINDER, e.v[1], two), 0);
    hlo_ref minus = hlo_select(g, odd, elem_number(&e, -1), one);
    hlo_ref inverse = hlo_select(g, elem_compare(&e, "EQ", e.v[0], 1), one,
                                 hlo_select(g, elem_compare(&e, "EQ", e.v[0], -1), minus, zero));
    return elem_end(&e, hlo_select(g, below, inverse, plain));
}

/* ---- three operands ---- */

/* lerp(self, end, weight): weight < 0.5 ? self + weight * (end - self) : end - (end - self) * (1 - weight) */
LOWER_FN(lower_pw_lerp) {
    elem e;
    tt_dtype self = lower_tensor(L, 0)->dtype;
    TT_CHECK(self == lower_tensor(L, 1)->dtype, INVALID_ARGUMENT, "expected dtype %s for `end` but got dtype %s",
             tt_dtype_name(self), tt_dtype_name(lower_tensor(L, 1)->dtype));
    TT_TRY(elem_begin(L, &e, 3, (const int[]){0, 1, 2}, ELEM_UPCAST | ELEM_FLOATING | ELEM_REAL));
    TT_CHECK(e.common == self, INVALID_ARGUMENT, "expected dtype %s for `weight`", tt_dtype_name(self));
    hlo_graph *g = e.g;
    hlo_ref a = e.v[0], b = e.v[1], w = e.v[2], d = hlo_sub(g, b, a);
    hlo_ref low = hlo_add(g, a, hlo_mul(g, w, d));
    hlo_ref high = hlo_sub(g, b, hlo_mul(g, d, hlo_sub(g, elem_number(&e, 1), w)));
    double known;
    if (hlo_constant_splat(g, w, &known))
        return elem_end(&e, fabs(known) < 0.5 ? low : high);
    hlo_ref small = hlo_compare(g, "LT", hlo_unary(g, HLO_ABS, w), elem_number(&e, 0.5));
    return elem_end(&e, hlo_select(g, small, low, high));
}

/* addcmul: self + value * tensor1 * tensor2; addcdiv (param 1): self + value * tensor1 / tensor2 */
LOWER_FN(lower_pw_addc) {
    elem e;
    bool divide = L->row->param;
    TT_TRY(elem_begin(L, &e, 3, (const int[]){0, 1, 2}, ELEM_UPCAST | ELEM_NO_PRED | (divide ? ELEM_FLOATING : 0)));
    if (divide)
        for (int i = 1; i < 3; i++) /* integer division stays PyTorch's error */
            if (!tt_is_float(e.in[1]->dtype) && !tt_is_float(e.in[2]->dtype) && !tt_is_complex(e.in[i]->dtype))
                LOWER_UNSUPPORTED(L, "not for integers");
    TT_CHECK(!tt_is_int(e.common) || lower_scalar_class(L, 3) != TT_CLASS_FLOAT || !lower_has(L, 3), INVALID_ARGUMENT,
             "For integral input tensors, argument value must not be a floating point number.");
    hlo_ref t = alpha_is_one(L, 3) ? e.v[1] : hlo_mul(e.g, elem_scalar(&e, 3), e.v[1]);
    t = divide ? hlo_div(e.g, t, e.v[2]) : hlo_mul(e.g, t, e.v[2]);
    return elem_end(&e, hlo_add(e.g, e.v[0], t));
}

/* ---- two operands, formulas ---- */

/* hypot without overflow: m * sqrt(1 + (n / m)^2), m the larger magnitude */
LOWER_FN(lower_pw_hypot) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_UPCAST | ELEM_REAL | ELEM_FLOATING));
    hlo_graph *g = e.g;
    hlo_ref a = hlo_unary(g, HLO_ABS, e.v[0]), b = hlo_unary(g, HLO_ABS, e.v[1]);
    hlo_ref m = hlo_binary(g, HLO_MAXIMUM, a, b), n = hlo_binary(g, HLO_MINIMUM, a, b);
    hlo_ref q = hlo_div(g, n, m);
    hlo_ref r = hlo_mul(g, m, hlo_unary(g, HLO_SQRT, hlo_add(g, elem_number(&e, 1), hlo_mul(g, q, q))));
    r = hlo_select(g, elem_compare(&e, "EQ", m, 0), elem_number(&e, 0), r);
    hlo_ref inf = hlo_binary(g, HLO_OR, elem_compare(&e, "EQ", a, INFINITY), elem_compare(&e, "EQ", b, INFINITY));
    return elem_end(&e, hlo_select(g, inf, elem_number(&e, INFINITY), r));
}

LOWER_FN(lower_pw_copysign) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_FLOAT | ELEM_REAL));
    hlo_ref differ = hlo_compare(e.g, "NE", elem_negative(&e, e.v[0]), elem_negative(&e, e.v[1]));
    return elem_end(&e, hlo_select(e.g, differ, hlo_unary(e.g, HLO_NEGATE, e.v[0]), e.v[0]));
}

/* heaviside(self, values): self == 0 ? values : self > 0 */
LOWER_FN(lower_pw_heaviside) {
    elem e;
    TT_CHECK(lower_tensor(L, 0)->dtype == lower_tensor(L, 1)->dtype, INVALID_ARGUMENT,
             "heaviside is not yet implemented for tensors with different dtypes.");
    TT_TRY(elem_begin2(L, &e, ELEM_REAL));
    hlo_ref zero = elem_number(&e, 0);
    hlo_ref step = hlo_convert(e.g, hlo_compare(e.g, "GT", e.v[0], zero), e.type.dtype);
    return elem_end(&e, hlo_select(e.g, hlo_compare(e.g, "EQ", e.v[0], zero), e.v[1], step));
}

/* xlogy, special_xlog1py (param 1): y NaN -> NaN, x == 0 -> 0, else x * log(y) */
LOWER_FN(lower_pw_xlogy) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_FLOAT | ELEM_UPCAST | ELEM_REAL));
    hlo_ref log = hlo_unary(e.g, L->row->param ? HLO_LOG1P : HLO_LOG, e.v[1]);
    hlo_ref r = hlo_select(e.g, elem_compare(&e, "EQ", e.v[0], 0), elem_number(&e, 0), hlo_mul(e.g, e.v[0], log));
    return elem_end(&e, hlo_select(e.g, elem_nan(&e, e.v[1]), e.v[1], r));
}

/* logaddexp: m + log1p(exp(-|a - b|)); logaddexp2 (param 1): the same to base 2 */
LOWER_FN(lower_pw_logaddexp) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_UPCAST | ELEM_REAL | ELEM_FLOATING));
    hlo_graph *g = e.g;
    hlo_ref a = e.v[0], b = e.v[1];
    hlo_ref m = hlo_binary(g, HLO_MAXIMUM, a, b);
    hlo_ref d = hlo_unary(g, HLO_NEGATE, hlo_unary(g, HLO_ABS, hlo_sub(g, a, b)));
    hlo_ref r = L->row->param ? hlo_mul(g, hlo_unary(g, HLO_LOG1P, hlo_binary(g, HLO_POWER, elem_number(&e, 2), d)),
                                        elem_number(&e, 1.4426950408889634))
                              : hlo_unary(g, HLO_LOG1P, hlo_unary(g, HLO_EXP, d));
    hlo_ref same = hlo_binary(g, HLO_AND, hlo_compare(g, "EQ", a, b),
                              elem_compare(&e, "EQ", hlo_unary(g, HLO_ABS, a), INFINITY));
    return elem_end(&e, hlo_select(g, same, a, hlo_add(g, m, r)));
}

/* ---- greatest common divisor: Euclid, all elements at once ---- */

static void gcd_more(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    const hlo_type *t = context;
    int64_t dims[HLO_MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        dims[i] = i;
    *out = hlo_reduce(g, HLO_OR, hlo_compare(g, "NE", p[1], hlo_splat(g, t, 0)), HLO_NONE, t->rank, dims);
}

static void gcd_step(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    const hlo_type *t = context;
    hlo_ref done = hlo_compare(g, "EQ", p[1], hlo_splat(g, t, 0));
    hlo_ref rest = hlo_binary(g, HLO_REMAINDER, p[0], hlo_select(g, done, hlo_splat(g, t, 1), p[1]));
    out[0] = hlo_select(g, done, p[0], p[1]);
    out[1] = hlo_select(g, done, p[1], rest);
}

/* gcd; lcm (param 1): |a / gcd * b| */
LOWER_FN(lower_pw_gcd) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_INTEGER | ELEM_NO_PRED));
    hlo_ref in[2], out[2] = {HLO_NONE, HLO_NONE};
    bool plain = is_unsigned(e.common);
    for (int i = 0; i < 2; i++)
        in[i] = plain ? e.v[i] : hlo_unary(e.g, HLO_ABS, e.v[i]);
    hlo_while(e.g, 2, in, gcd_more, gcd_step, &e.type, out);
    if (!L->row->param)
        return elem_end(&e, out[0]);
    hlo_ref none = elem_compare(&e, "EQ", out[0], 0);
    hlo_ref r = hlo_mul(e.g, hlo_div(e.g, e.v[0], hlo_select(e.g, none, elem_number(&e, 1), out[0])), e.v[1]);
    r = plain ? r : hlo_unary(e.g, HLO_ABS, r);
    return elem_end(&e, hlo_select(e.g, none, elem_number(&e, 0), r));
}

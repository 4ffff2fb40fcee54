/* pointwise_bessel.c - Bessel and Airy functions, scaled error function, normal quantiles: Chebyshev series.
 *
 * Every function is a few pieces, each a series in a variable that runs over [-1, 1] (special_tables.inc, made by
 * tools/special_tables.py). The tables of the Bessel functions are long enough for f64; the others leave f64 to the CPU. */
#include "aten/elem.h"
#include <math.h>

#include "aten/special_tables.inc"

enum { SPECIAL = ELEM_FLOAT | ELEM_UPCAST | ELEM_REAL };

static tt_status special_begin(tt_lower *L, elem *e, bool wide) {
    TT_TRY(elem_begin1(L, e, SPECIAL));
    if (e->type.dtype != TT_F32 && !wide)
        LOWER_UNSUPPORTED(L, "for f32 and narrower only");
    return TT_OK;
}

static hlo_ref num(const elem *e, double v) { return elem_number(e, v); }
static hlo_ref add(const elem *e, hlo_ref a, hlo_ref b) { return hlo_add(e->g, a, b); }
static hlo_ref sub(const elem *e, hlo_ref a, hlo_ref b) { return hlo_sub(e->g, a, b); }
static hlo_ref mul(const elem *e, hlo_ref a, hlo_ref b) { return hlo_mul(e->g, a, b); }
static hlo_ref over(const elem *e, hlo_ref a, hlo_ref b) { return hlo_div(e->g, a, b); }
static hlo_ref fun(const elem *e, hlo_op op, hlo_ref x) { return hlo_unary(e->g, op, x); }
static hlo_ref pick(const elem *e, const char *direction, hlo_ref x, double limit, hlo_ref yes, hlo_ref no) {
    return hlo_select(e->g, elem_compare(e, direction, x, limit), yes, no);
}
/* [low, high] to [-1, 1]; what lies outside belongs to another piece and is held at the edge */
static hlo_ref unit(const elem *e, hlo_ref x, double low, double high) {
    x = hlo_binary(e->g, HLO_MINIMUM, hlo_binary(e->g, HLO_MAXIMUM, x, num(e, low)), num(e, high));
    return sub(e, mul(e, sub(e, x, num(e, low)), num(e, 2 / (high - low))), num(e, 1));
}

/* Clenshaw's recurrence for the sum of c[k] T_k(t); f32 takes the terms that it can feel. */
static hlo_ref series(const elem *e, hlo_ref t, int n, const double *c) {
    double largest = 0;
    for (int k = 0; k < n; k++)
        largest = fmax(largest, fabs(c[k]));
    while (e->type.dtype == TT_F32 && n > 1 && fabs(c[n - 1]) < 2e-9 * largest)
        n--;
    hlo_ref twice = add(e, t, t), b1 = num(e, c[n - 1]), b2 = num(e, 0);
    for (int k = n - 2; k > 0; k--) {
        hlo_ref b = add(e, sub(e, mul(e, twice, b1), b2), num(e, c[k]));
        b2 = b1;
        b1 = b;
    }
    return add(e, sub(e, mul(e, t, b1), b2), num(e, c[0]));
}
#define SERIES(e, t, table) series(e, t, (int)(sizeof(table) / sizeof(table)[0]), table)

/* ---- modified Bessel functions ---- */

/* exp(-|x|) I0(x) */
static hlo_ref i0e(const elem *e, hlo_ref x) {
    x = fun(e, HLO_ABS, x);
    hlo_ref near = SERIES(e, unit(e, x, 0, 8), cheb_i0_near);
    hlo_ref far = mul(e, SERIES(e, unit(e, over(e, num(e, 8), x), 0, 1), cheb_i0_far), fun(e, HLO_RSQRT, x));
    return pick(e, "LE", x, 8, near, far);
}

/* i0, special_modified_bessel_i0; special_i0e (param 1). exp in two halves: the product may be finite where exp is not. */
LOWER_FN(lower_pw_i0) {
    elem e;
    TT_TRY(special_begin(L, &e, true));
    hlo_ref r = i0e(&e, e.v[0]);
    if (!L->row->param) {
        hlo_ref half = fun(&e, HLO_EXP, mul(&e, fun(&e, HLO_ABS, e.v[0]), num(&e, 0.5)));
        r = mul(&e, mul(&e, r, half), half);
        r = hlo_select(e.g, elem_compare(&e, "EQ", fun(&e, HLO_ABS, e.v[0]), INFINITY), num(&e, INFINITY), r);
    }
    return elem_end(&e, r);
}

/* exp(-|x|) I1(x) */
static hlo_ref i1e(const elem *e, hlo_ref x) {
    hlo_ref a = fun(e, HLO_ABS, x), near = mul(e, SERIES(e, unit(e, a, 0, 8), cheb_i1_near), x);
    hlo_ref far = mul(e, SERIES(e, unit(e, over(e, num(e, 8), a), 0, 1), cheb_i1_far), fun(e, HLO_RSQRT, a));
    far = hlo_select(e->g, elem_compare(e, "LT", x, 0), fun(e, HLO_NEGATE, far), far);
    return pick(e, "LE", a, 8, near, far);
}

/* special_i1e; special_i1, special_modified_bessel_i1 (param 1): exp(|x|) i1e(x) */
LOWER_FN(lower_pw_i1) {
    elem e;
    TT_TRY(special_begin(L, &e, true));
    hlo_ref r = i1e(&e, e.v[0]);
    if (L->row->param) {
        hlo_ref half = fun(&e, HLO_EXP, mul(&e, fun(&e, HLO_ABS, e.v[0]), num(&e, 0.5)));
        r = mul(&e, mul(&e, r, half), half);
    }
    return elem_end(&e, r);
}

/* special_modified_bessel_k0 k1 and special_scaled_modified_bessel_k0 k1 (times exp(x)): param bit 0 the order, bit 1 scaled */
LOWER_FN(lower_pw_k) {
    elem e;
    TT_TRY(special_begin(L, &e, true));
    bool first = L->row->param & 1, scaled = L->row->param & 2;
    hlo_ref x = e.v[0], t = unit(&e, mul(&e, x, x), 0, 4), log = fun(&e, HLO_LOG, mul(&e, x, num(&e, 0.5)));
    hlo_ref u = unit(&e, over(&e, num(&e, 2), x), 0, 1), near, far, up = fun(&e, HLO_EXP, x);
    if (first) {
        near = add(&e, mul(&e, log, mul(&e, x, SERIES(&e, t, cheb_i1_four))), over(&e, SERIES(&e, t, cheb_k1_near), x));
        far = SERIES(&e, u, cheb_k1_far);
    } else {
        near = sub(&e, SERIES(&e, t, cheb_k0_near), mul(&e, log, SERIES(&e, t, cheb_i0_four)));
        far = SERIES(&e, u, cheb_k0_far);
    }
    far = mul(&e, far, fun(&e, HLO_RSQRT, x));
    if (scaled)
        near = mul(&e, near, up);
    else
        far = mul(&e, far, fun(&e, HLO_EXP, fun(&e, HLO_NEGATE, x)));
    hlo_ref r = pick(&e, "LE", x, 2, near, far);
    r = pick(&e, "EQ", x, 0, num(&e, INFINITY), r);
    return elem_end(&e, pick(&e, "LT", x, 0, num(&e, NAN), r));
}

/* ---- Bessel functions ---- */

/* sqrt(2 / (pi x)) (P cos(x - shift) - Q sin(x - shift)), or P sin + Q cos for the second kind; x > 8 */
static hlo_ref bessel_far(const elem *e, hlo_ref x, bool first, bool second) {
    hlo_ref z = over(e, num(e, 8), x), t = unit(e, mul(e, z, z), 0, 1);
    hlo_ref p = first ? SERIES(e, t, cheb_j1_p) : SERIES(e, t, cheb_j0_p);
    hlo_ref q = mul(e, first ? SERIES(e, t, cheb_j1_q) : SERIES(e, t, cheb_j0_q), z);
    hlo_ref s = sub(e, x, num(e, first ? 2.35619449019234493 : 0.78539816339744831));
    hlo_ref sine = fun(e, HLO_SINE, s), cosine = fun(e, HLO_COSINE, s);
    hlo_ref r = second ? add(e, mul(e, p, sine), mul(e, q, cosine)) : sub(e, mul(e, p, cosine), mul(e, q, sine));
    return mul(e, r, fun(e, HLO_SQRT, over(e, num(e, 0.63661977236758134), x)));
}

/* special_bessel_j0, j1 (param 1) */
LOWER_FN(lower_pw_bessel_j) {
    elem e;
    TT_TRY(special_begin(L, &e, true));
    bool first = L->row->param;
    hlo_ref x = e.v[0], a = fun(&e, HLO_ABS, x), t = unit(&e, mul(&e, a, a), 0, 64);
    hlo_ref near = first ? mul(&e, a, SERIES(&e, t, cheb_j1_near)) : SERIES(&e, t, cheb_j0_near);
    hlo_ref r = pick(&e, "LE", a, 8, near, bessel_far(&e, a, first, false));
    if (first)
        r = pick(&e, "LT", x, 0, fun(&e, HLO_NEGATE, r), r);
    return elem_end(&e, pick(&e, "EQ", a, INFINITY, num(&e, 0), r));
}

/* special_bessel_y0, y1 (param 1) */
LOWER_FN(lower_pw_bessel_y) {
    elem e;
    TT_TRY(special_begin(L, &e, true));
    bool first = L->row->param;
    hlo_ref x = e.v[0], t = unit(&e, mul(&e, x, x), 0, 64), k = num(&e, 0.63661977236758134);
    hlo_ref log = mul(&e, k, fun(&e, HLO_LOG, x)), near;
    if (first) {
        near = mul(&e, log, mul(&e, x, SERIES(&e, t, cheb_j1_near)));
        near = add(&e, sub(&e, near, over(&e, k, x)), mul(&e, x, SERIES(&e, t, cheb_y1_near)));
    } else {
        near = add(&e, mul(&e, log, SERIES(&e, t, cheb_j0_near)), SERIES(&e, t, cheb_y0_near));
    }
    hlo_ref r = pick(&e, "LE", x, 8, near, bessel_far(&e, x, first, true));
    r = pick(&e, "EQ", x, INFINITY, num(&e, 0), r);
    r = pick(&e, "EQ", x, 0, num(&e, -INFINITY), r);
    return elem_end(&e, pick(&e, "LT", x, 0, num(&e, NAN), r));
}

/* special_spherical_bessel_j0: sin(x) / x, near 0 by its Taylor series */
LOWER_FN(lower_pw_spherical_j0) {
    elem e;
    TT_TRY(elem_begin1(L, &e, SPECIAL));
    hlo_ref x = e.v[0], y = mul(&e, x, x), taylor = num(&e, e.type.dtype == TT_F64 ? 1.0 / 6227020800 : 0);
    static const double c[] = {-1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1};
    for (int i = e.type.dtype == TT_F64 ? 0 : 1; i < 6; i++)
        taylor = add(&e, mul(&e, taylor, y), num(&e, c[i]));
    hlo_ref r = pick(&e, "LT", fun(&e, HLO_ABS, x), 0.5, taylor, over(&e, fun(&e, HLO_SINE, x), x));
    return elem_end(&e, pick(&e, "EQ", fun(&e, HLO_ABS, x), INFINITY, num(&e, 0), r));
}

/* special_airy_ai: power series within [-2, 2], outside decay or waves in zeta = 2/3 |x|^1.5 */
LOWER_FN(lower_pw_airy) {
    elem e;
    TT_TRY(special_begin(L, &e, false));
    hlo_ref x = e.v[0], a = fun(&e, HLO_ABS, x), root = fun(&e, HLO_SQRT, a);
    hlo_ref t = unit(&e, mul(&e, mul(&e, x, x), x), -8, 8);
    hlo_ref near = sub(&e, SERIES(&e, t, cheb_ai_f), mul(&e, x, SERIES(&e, t, cheb_ai_g)));
    hlo_ref zeta = mul(&e, mul(&e, a, root), num(&e, 2.0 / 3)), inverse = over(&e, num(&e, 1), zeta);
    hlo_ref u = unit(&e, inverse, 0, 0.53033008588991064), fourth = mul(&e, fun(&e, HLO_RSQRT, root), num(&e, 0.56418958354775629));
    hlo_ref right = mul(&e, SERIES(&e, u, cheb_ai_right), mul(&e, fourth, num(&e, 0.5)));
    right = mul(&e, right, fun(&e, HLO_EXP, fun(&e, HLO_NEGATE, zeta)));
    hlo_ref s = add(&e, zeta, num(&e, 0.78539816339744831));
    hlo_ref left = mul(&e, SERIES(&e, u, cheb_ai_p), fun(&e, HLO_SINE, s));
    left = sub(&e, left, mul(&e, mul(&e, SERIES(&e, u, cheb_ai_q), inverse), fun(&e, HLO_COSINE, s)));
    left = mul(&e, left, fourth);
    hlo_ref far = pick(&e, "GT", x, 0, right, left);
    hlo_ref r = pick(&e, "LE", a, 2, near, far);
    r = pick(&e, "GT", x, 104, num(&e, 0), r);
    return elem_end(&e, pick(&e, "EQ", a, INFINITY, num(&e, NAN), r));
}

/* ---- error functions ---- */

/* exp(x^2) erfc(x); below 0 by 2 exp(x^2) - erfcx(-x) */
static hlo_ref erfcx(const elem *e, hlo_ref x) {
    hlo_ref a = fun(e, HLO_ABS, x), u = over(e, num(e, 4), add(e, a, num(e, 4)));
    hlo_ref r = over(e, SERIES(e, unit(e, u, 0, 1), cheb_erfcx), add(e, add(e, a, a), num(e, 1)));
    hlo_ref left = sub(e, mul(e, num(e, 2), fun(e, HLO_EXP, mul(e, x, x))), r);
    r = pick(e, "LT", x, 0, left, r);
    return hlo_select(e->g, elem_nan(e, x), x, r);
}

LOWER_FN(lower_pw_erfcx) {
    elem e;
    TT_TRY(special_begin(L, &e, false));
    return elem_end(&e, erfcx(&e, e.v[0]));
}

/* special_log_ndtr: log(erfcx(-x / sqrt 2) / 2) - x^2 / 2 left of -1, log1p(-erfc(x / sqrt 2) / 2) elsewhere */
LOWER_FN(lower_pw_log_ndtr) {
    elem e;
    TT_TRY(special_begin(L, &e, false));
    hlo_ref x = e.v[0], t = mul(&e, x, num(&e, 0.70710678118654752));
    hlo_ref low = fun(&e, HLO_LOG, mul(&e, erfcx(&e, fun(&e, HLO_NEGATE, t)), num(&e, 0.5)));
    low = sub(&e, low, mul(&e, t, t));
    hlo_ref high = fun(&e, HLO_LOG1P, mul(&e, fun(&e, HLO_CHLO_ERFC, t), num(&e, -0.5)));
    return elem_end(&e, pick(&e, "LT", x, -1, low, high));
}

/* special_ndtri: sqrt(2) erfinv(2p - 1) in the middle, the tails in x = sqrt(-2 log p) */
LOWER_FN(lower_pw_ndtri) {
    elem e;
    TT_TRY(special_begin(L, &e, false));
    hlo_ref p = e.v[0], q = sub(&e, num(&e, 1), p), tail = hlo_binary(e.g, HLO_MINIMUM, p, q);
    hlo_ref middle = fun(&e, HLO_CHLO_ERF_INV, sub(&e, add(&e, p, p), num(&e, 1)));
    middle = mul(&e, middle, num(&e, 1.41421356237309505));
    hlo_ref x = fun(&e, HLO_SQRT, mul(&e, fun(&e, HLO_LOG, tail), num(&e, -2))), z = over(&e, num(&e, 1), x);
    hlo_ref far = sub(&e, x, mul(&e, fun(&e, HLO_LOG, x), z));
    far = sub(&e, far, mul(&e, SERIES(&e, unit(&e, z, 1.0 / 15, 1 / 1.2), cheb_ndtri), z));
    far = pick(&e, "EQ", tail, 0, num(&e, INFINITY), far);
    far = pick(&e, "LT", p, 0.5, fun(&e, HLO_NEGATE, far), far);
    hlo_ref r = pick(&e, "LT", tail, 0.2, far, middle);
    return elem_end(&e, pick(&e, "LT", tail, 0, num(&e, NAN), r));
}

/* pointwise_special.c - special functions that need a loop or a table: orthogonal polynomials, zeta and polygamma, frexp.
 *
 * A polynomial's degree is data, so its recurrence runs in a while loop until the largest degree; elements that
 * have reached theirs stop changing. */
#include "aten/elem.h"
#include <math.h>

static const double pi = 3.14159265358979323846;

/* ---- orthogonal polynomials ---- */

enum { CHEBYSHEV_T, CHEBYSHEV_U, CHEBYSHEV_V, CHEBYSHEV_W, HERMITE_H, HERMITE_HE, LAGUERRE, LEGENDRE, KIND = 15, SHIFTED = 16 };
/* loop values */
enum { DEGREE, BEFORE, NOW, X, N, N_VALUES };

typedef struct polynomial { int kind; hlo_type type; } polynomial;

static hlo_ref any_of(hlo_graph *g, const hlo_type *t, hlo_ref x) {
    int64_t dims[HLO_MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        dims[i] = i;
    return t->rank ? hlo_reduce(g, HLO_OR, x, HLO_NONE, t->rank, dims) : x;
}

/* An element goes on while its degree is not reached and its value is a number. */
static hlo_ref goes_on(hlo_graph *g, const hlo_ref *p) {
    return hlo_binary(g, HLO_AND, hlo_compare(g, "LT", p[DEGREE], p[N]), hlo_compare(g, "EQ", p[NOW], p[NOW]));
}

static void polynomial_more(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    const polynomial *c = context;
    *out = any_of(g, &c->type, goes_on(g, p));
}

/* From degrees k - 1 and k to k + 1. */
static void polynomial_step(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    const polynomial *c = context;
    hlo_ref one = hlo_splat(g, &c->type, 1), k = p[DEGREE], next = hlo_add(g, k, one), x = p[X], r;
    hlo_ref odd = hlo_add(g, hlo_add(g, k, k), one); /* 2k + 1 */
    switch (c->kind) {
    case HERMITE_H: r = hlo_sub(g, hlo_mul(g, hlo_add(g, x, x), p[NOW]), hlo_mul(g, hlo_add(g, k, k), p[BEFORE])); break;
    case HERMITE_HE: r = hlo_sub(g, hlo_mul(g, x, p[NOW]), hlo_mul(g, k, p[BEFORE])); break;
    case LAGUERRE:
        r = hlo_sub(g, hlo_mul(g, hlo_sub(g, odd, x), p[NOW]), hlo_mul(g, k, p[BEFORE]));
        r = hlo_div(g, r, next);
        break;
    case LEGENDRE:
        r = hlo_sub(g, hlo_mul(g, hlo_mul(g, odd, x), p[NOW]), hlo_mul(g, k, p[BEFORE]));
        r = hlo_div(g, r, next);
        break;
    default: r = hlo_sub(g, hlo_mul(g, hlo_add(g, x, x), p[NOW]), p[BEFORE]); break; /* Chebyshev, all four */
    }
    hlo_ref on = goes_on(g, p);
    out[DEGREE] = next;
    out[BEFORE] = hlo_select(g, on, p[NOW], p[BEFORE]);
    out[NOW] = hlo_select(g, on, r, p[NOW]);
    out[X] = x;
    out[N] = p[N];
}

static hlo_ref times(const elem *e, hlo_ref x, double k) { return hlo_mul(e->g, x, elem_number(e, k)); }
static hlo_ref plus(const elem *e, hlo_ref x, double k) { return hlo_add(e->g, x, elem_number(e, k)); }

static hlo_ref degree_one(const elem *e, int kind, hlo_ref x) {
    switch (kind) {
    case CHEBYSHEV_U: case HERMITE_H: return times(e, x, 2);
    case CHEBYSHEV_V: return plus(e, times(e, x, 2), -1);
    case CHEBYSHEV_W: return plus(e, times(e, x, 2), 1);
    case LAGUERRE: return hlo_sub(e->g, elem_number(e, 1), x);
    default: return x;
    }
}

/* Values at x = 1 and x = -1 that the closed forms below cannot give (0 / 0). */
static hlo_ref at_ends(const elem *e, int kind, hlo_ref x, hlo_ref n, hlo_ref r) {
    hlo_graph *g = e->g;
    hlo_ref one = elem_number(e, 1), two_n = plus(e, hlo_add(g, n, n), 1), n1 = plus(e, n, 1);
    hlo_ref half = hlo_unary(g, HLO_FLOOR, times(e, n, 0.5));
    hlo_ref even = hlo_compare(g, "EQ", hlo_add(g, half, half), n);
    hlo_ref right = kind == CHEBYSHEV_U ? n1 : kind == CHEBYSHEV_W ? two_n : one;
    hlo_ref left = kind == CHEBYSHEV_U ? n1 : kind == CHEBYSHEV_V ? two_n : one;
    left = hlo_select(g, even, left, hlo_unary(g, HLO_NEGATE, left));
    r = hlo_select(g, elem_compare(e, "EQ", x, 1), right, r);
    return hlo_select(g, elem_compare(e, "EQ", x, -1), left, r);
}

/* Chebyshev polynomials of high degree inside (-1, 1) by angle. */
static hlo_ref by_angle(const elem *e, int kind, hlo_ref x, hlo_ref n) {
    hlo_graph *g = e->g;
    hlo_ref a = hlo_unary(g, HLO_CHLO_ACOS, x), half = times(e, a, 0.5);
    hlo_ref shifted = hlo_mul(g, plus(e, n, kind == CHEBYSHEV_U ? 1 : 0.5), a);
    switch (kind) {
    case CHEBYSHEV_T: return hlo_unary(g, HLO_COSINE, hlo_mul(g, n, a));
    case CHEBYSHEV_U: return hlo_div(g, hlo_unary(g, HLO_SINE, shifted), hlo_unary(g, HLO_SINE, a));
    case CHEBYSHEV_V: return hlo_div(g, hlo_unary(g, HLO_COSINE, shifted), hlo_unary(g, HLO_COSINE, half));
    default: return hlo_div(g, hlo_unary(g, HLO_SINE, shifted), hlo_unary(g, HLO_SINE, half));
    }
}

/* special_*_polynomial_*(x, n), Tensor and Scalar forms; param: the kind, with SHIFTED for the argument 2x - 1 */
LOWER_FN(lower_pw_polynomial) {
    elem e;
    int kind = L->row->param & KIND;
    TT_TRY(elem_begin2(L, &e, ELEM_FLOAT | ELEM_UPCAST | ELEM_REAL));
    hlo_graph *g = e.g;
    if (kind == HERMITE_H || kind == HERMITE_HE) { /* in f32 what is left near a root is rounding */
        e.type.dtype = TT_F64;
        for (int i = 0; i < 2; i++)
            e.v[i] = hlo_convert(g, e.v[i], TT_F64);
    }
    hlo_ref x = e.v[0], n = elem_trunc(&e, e.v[1]);
    if (L->row->param & SHIFTED)
        x = plus(&e, times(&e, x, 2), -1);
    bool chebyshev = kind <= CHEBYSHEV_W, ends = chebyshev || kind == LEGENDRE;
    hlo_ref inside = elem_compare(&e, "LT", hlo_unary(g, HLO_ABS, x), 1);
    hlo_ref angle = hlo_binary(g, HLO_AND, inside, elem_compare(&e, "GT", n, kind == CHEBYSHEV_T ? 6 : 8));
    polynomial c = {kind, e.type};
    hlo_ref in[N_VALUES] = {elem_number(&e, 1), elem_number(&e, 1), degree_one(&e, kind, x), x, n}, out[N_VALUES] = {0};
    if (ends) { /* what has a closed form need not run */
        hlo_ref closed = elem_compare(&e, "EQ", hlo_unary(g, HLO_ABS, x), 1);
        closed = chebyshev ? hlo_binary(g, HLO_OR, closed, angle) : closed;
        in[N] = hlo_select(g, closed, elem_number(&e, 0), n);
    }
    hlo_while(g, N_VALUES, in, polynomial_more, polynomial_step, &c, out);
    hlo_ref r = hlo_select(g, elem_compare(&e, "EQ", n, 0), elem_number(&e, 1), out[NOW]);
    if (chebyshev)
        r = hlo_select(g, angle, by_angle(&e, kind, x, n), r);
    if (ends)
        r = at_ends(&e, kind, x, n, r);
    return elem_end(&e, hlo_select(g, elem_compare(&e, "LT", n, 0), elem_number(&e, 0), r));
}

/* ---- zeta ---- */

/* The sum over k >= 0 of (q + k)^-x. Terms are added one by one until q + k > 20 (q may be negative; x is an integer
 * then), and the rest is Euler and Maclaurin's: w^(1-x)/(x-1) + w^-x/2 + sum of B2j/(2j)! x(x+1)...(x+2j-2) w^(-x-2j+1). */
enum { Z_AT, Z_SUM, Z_X, Z_VALUES };

static void zeta_more(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    const hlo_type *t = context;
    *out = any_of(g, t, hlo_compare(g, "LE", p[Z_AT], hlo_splat(g, t, 20)));
}

static hlo_ref power(hlo_graph *g, hlo_ref base, hlo_ref x) {
    return hlo_binary(g, HLO_POWER, base, hlo_unary(g, HLO_NEGATE, x));
}

static void zeta_step(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    const hlo_type *t = context;
    hlo_ref on = hlo_compare(g, "LE", p[Z_AT], hlo_splat(g, t, 20));
    out[Z_AT] = hlo_select(g, on, hlo_add(g, p[Z_AT], hlo_splat(g, t, 1)), p[Z_AT]);
    out[Z_SUM] = hlo_select(g, on, hlo_add(g, p[Z_SUM], power(g, p[Z_AT], p[Z_X])), p[Z_SUM]);
    out[Z_X] = p[Z_X];
}

/* In f64 whatever the type, as PyTorch's CPU kernel: terms of both signs cancel where q is negative. Leaves e computing in f64. */
static hlo_ref zeta(elem *e, hlo_ref x, hlo_ref q) {
    /* B2j / (2j)! for j = 1 ... 12 */
    enum { TERMS = 12 };
    static const double factor[TERMS] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0,
                                         1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15, -2.174868698558062e-16, 5.5090028283602295e-18, -1.3954464685812522e-19};
    hlo_graph *g = e->g;
    e->type.dtype = TT_F64;
    x = hlo_convert(g, x, TT_F64);
    q = hlo_convert(g, q, TT_F64);
    /* where the answer is fixed below, nothing is summed: the loop must not run for q = -1e30 */
    hlo_ref whole = hlo_compare(g, "EQ", q, hlo_unary(g, HLO_FLOOR, q));
    hlo_ref low = elem_compare(e, "LE", q, 0), pole = hlo_binary(g, HLO_AND, low, whole);
    hlo_ref undefined = hlo_binary(g, HLO_AND, low, hlo_compare(g, "NE", x, hlo_unary(g, HLO_FLOOR, x)));
    hlo_ref far = elem_compare(e, "LT", q, -10000);
    hlo_ref start = hlo_select(g, hlo_binary(g, HLO_OR, hlo_binary(g, HLO_OR, pole, undefined), far), elem_number(e, 1), q);
    hlo_ref in[Z_VALUES] = {start, elem_number(e, 0), x}, out[Z_VALUES] = {0};
    hlo_while(g, Z_VALUES, in, zeta_more, zeta_step, &e->type, out);
    hlo_ref w = out[Z_AT], wx = power(g, w, x), one = elem_number(e, 1);
    hlo_ref less = hlo_sub(g, x, one), s = hlo_add(g, out[Z_SUM], hlo_div(g, power(g, w, less), less)); /* w^-x may be too small where this is not */
    s = hlo_add(g, s, times(e, wx, 0.5));
    hlo_ref term = hlo_div(g, hlo_mul(g, x, wx), w); /* x w^(-x-1) */
    for (int j = 0; j < TERMS; j++) {
        s = hlo_add(g, s, times(e, term, factor[j]));
        hlo_ref up = hlo_mul(g, plus(e, x, 2 * j + 1), plus(e, x, 2 * j + 2));
        term = hlo_div(g, hlo_mul(g, term, up), hlo_mul(g, w, w));
    }
    s = hlo_select(g, hlo_binary(g, HLO_OR, undefined, far), elem_number(e, NAN), s);
    s = hlo_select(g, pole, elem_number(e, INFINITY), s);
    s = hlo_select(g, elem_compare(e, "LT", x, 1), elem_number(e, NAN), s);
    s = hlo_select(g, elem_compare(e, "EQ", x, 1), elem_number(e, INFINITY), s);
    s = hlo_select(g, elem_nan(e, x), x, s);
    return hlo_select(g, elem_nan(e, q), q, s);
}

/* special_zeta(x, q) */
LOWER_FN(lower_pw_zeta) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_FLOAT | ELEM_UPCAST | ELEM_REAL));
    return elem_end(&e, zeta(&e, e.v[0], e.v[1]));
}

/* digamma; -inf at +0 and inf at -0. Near 0 it is digamma(x + 1) - 1 / x: what reflects there loses the sign of small x. */
static hlo_ref digamma(const elem *e, hlo_ref x) {
    hlo_graph *g = e->g;
    hlo_ref one = elem_number(e, 1), near = elem_compare(e, "LT", hlo_unary(g, HLO_ABS, x), 0.25);
    hlo_ref r = hlo_unary(g, HLO_CHLO_DIGAMMA, hlo_select(g, near, hlo_add(g, x, one), x));
    r = hlo_select(g, near, hlo_sub(g, r, hlo_div(g, one, x)), r);
    hlo_ref pole = hlo_select(g, elem_negative(e, x), elem_number(e, INFINITY), elem_number(e, -INFINITY));
    return hlo_select(g, elem_compare(e, "EQ", x, 0), pole, r);
}

LOWER_FN(lower_pw_digamma) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_FLOAT | ELEM_UPCAST | ELEM_REAL));
    return elem_end(&e, digamma(&e, e.v[0]));
}

/* The derivative of digamma: reflected below 1/2, moved up by six, then the asymptotic series. */
static hlo_ref trigamma(const elem *e, hlo_ref x) {
    hlo_graph *g = e->g;
    hlo_ref one = elem_number(e, 1), low = elem_compare(e, "LT", x, 0.5);
    hlo_ref s = hlo_div(g, elem_number(e, pi), hlo_unary(g, HLO_SINE, times(e, x, pi)));
    hlo_ref y = hlo_select(g, low, hlo_sub(g, one, x), x), sum = elem_number(e, 0);
    for (int i = 0; i < 6; i++) {
        sum = hlo_add(g, sum, hlo_div(g, one, hlo_mul(g, y, y)));
        y = hlo_add(g, y, one);
    }
    hlo_ref q = hlo_div(g, one, hlo_mul(g, y, y));
    hlo_ref tail = hlo_sub(g, elem_number(e, 1.0 / 30), times(e, q, 1.0 / 42));
    tail = hlo_mul(g, q, hlo_sub(g, elem_number(e, 1.0 / 6), hlo_mul(g, q, tail)));
    tail = hlo_add(g, hlo_add(g, one, hlo_div(g, elem_number(e, 0.5), y)), tail);
    sum = hlo_add(g, sum, hlo_div(g, tail, y));
    return hlo_select(g, low, hlo_sub(g, hlo_mul(g, s, s), sum), sum);
}

/* polygamma(int n, Tensor self): digamma, trigamma, (-1)^(n+1) n! zeta(n + 1, self) */
LOWER_FN(lower_pw_polygamma) {
    elem e;
    int64_t n = lower_int(L, 0, 0);
    TT_CHECK(n >= 0, INVALID_ARGUMENT, "polygamma(n, x) does not support negative n.");
    TT_TRY(elem_begin(L, &e, 1, (const int[]){1}, ELEM_FLOAT | ELEM_UPCAST | ELEM_REAL));
    if (n < 2)
        return elem_end(&e, n ? trigamma(&e, e.v[0]) : digamma(&e, e.v[0]));
    double factor = exp(lgamma((double)n + 1));
    return elem_end(&e, times(&e, zeta(&e, elem_number(&e, (double)n + 1), e.v[0]), n % 2 ? factor : -factor));
}

/* frexp(self) -> (mantissa in [0.5, 1), exponent i32), from the bits; subnormal numbers are scaled up first */
LOWER_FN(lower_pw_frexp) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_FLOATING | ELEM_REAL | ELEM_UPCAST));
    hlo_graph *g = e.g;
    bool wide = e.type.dtype == TT_F64;
    tt_dtype as = wide ? TT_I64 : TT_I32;
    int digits = wide ? 52 : 23;
    hlo_type it = hlo_type_with(&e.type, as);
    hlo_ref x = e.v[0], small = elem_compare(&e, "LT", hlo_unary(g, HLO_ABS, x), wide ? 0x1p-1022 : 0x1p-126);
    hlo_ref scaled = hlo_select(g, small, times(&e, x, ldexp(1, digits + 1)), x);
    hlo_ref bits = hlo_bitcast(g, scaled, as);
    int64_t mask = wide ? 0x7FF : 0xFF, bias = wide ? 1022 : 126;
    hlo_ref power2 = hlo_binary(g, HLO_AND, hlo_binary(g, HLO_SHIFT_RIGHT_LOGICAL, bits, hlo_splat_int(g, &it, digits)),
                                hlo_splat_int(g, &it, mask));
    hlo_ref exponent = hlo_sub(g, power2, hlo_splat_int(g, &it, bias));
    exponent = hlo_sub(g, exponent, hlo_select(g, small, hlo_splat_int(g, &it, digits + 1), hlo_splat_int(g, &it, 0)));
    int64_t clear = ~(mask << digits), put = bias << digits;
    clear = wide ? clear : (int64_t)(int32_t)clear;
    hlo_ref m = hlo_binary(g, HLO_OR, hlo_binary(g, HLO_AND, bits, hlo_splat_int(g, &it, clear)), hlo_splat_int(g, &it, put));
    hlo_ref keep = hlo_binary(g, HLO_OR, elem_compare(&e, "EQ", x, 0),
                              hlo_unary(g, HLO_NOT, hlo_unary(g, HLO_IS_FINITE, x)));
    elem_out(&e, hlo_select(g, keep, x, hlo_bitcast(g, m, e.type.dtype)), e.out);
    elem_out(&e, hlo_select(g, keep, hlo_splat_int(g, &it, 0), exponent), TT_I32);
    return hlo_graph_take_error(g);
}

/* special_gamma.c - the incomplete gamma functions P(a, x) = igamma and Q(a, x) = igammac.
 *
 * P by its power series, Q by its continued fraction (Abramowitz & Stegun 6.5.29, 6.5.31), whichever converges, in f64: the common
 * factor x^a exp(-x) / gamma(a) loses a log(a) ulps. Loops end when no element changes. */
#include "aten/elem.h"
#include <math.h>

enum { MAX_STEPS = 100000 };

typedef struct context { hlo_type type; } context;

static hlo_ref any_of(hlo_graph *g, const hlo_type *t, hlo_ref x) {
    int64_t dims[HLO_MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        dims[i] = i;
    return t->rank ? hlo_reduce(g, HLO_OR, x, HLO_NONE, t->rank, dims) : x;
}

static hlo_ref few(hlo_graph *g, hlo_ref step) {
    return hlo_compare(g, "LT", step, hlo_splat_like(g, step, MAX_STEPS));
}

/* sum of x^k / ((a + 1) ... (a + k)) */
enum { S_STEP, S_TERM, S_SUM, S_AT, S_X, S_N };

static void series_more(hlo_graph *g, void *c, const hlo_ref *p, hlo_ref *out) {
    hlo_ref big = hlo_compare(g, "GT", p[S_TERM], hlo_mul(g, p[S_SUM], hlo_splat_like(g, p[S_SUM], 1e-17)));
    *out = hlo_binary(g, HLO_AND, few(g, p[S_STEP]), any_of(g, &((context *)c)->type, big));
}

static void series_step(hlo_graph *g, void *c, const hlo_ref *p, hlo_ref *out) {
    (void)c;
    out[S_STEP] = hlo_add(g, p[S_STEP], hlo_splat_like(g, p[S_STEP], 1));
    out[S_AT] = hlo_add(g, p[S_AT], hlo_splat_like(g, p[S_AT], 1));
    out[S_TERM] = hlo_mul(g, p[S_TERM], hlo_div(g, p[S_X], out[S_AT]));
    out[S_SUM] = hlo_add(g, p[S_SUM], out[S_TERM]);
    out[S_X] = p[S_X];
}

static hlo_ref power_series(const elem *e, hlo_ref a, hlo_ref x) {
    context c = {e->type};
    hlo_ref one = elem_number(e, 1), in[S_N] = {hlo_scalar(e->g, TT_I32, 0), one, one, a, x}, out[S_N] = {0};
    hlo_while(e->g, S_N, in, series_more, series_step, &c, out);
    return hlo_div(e->g, out[S_SUM], a);
}

/* 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / ...)), by Lentz's method */
enum { F_STEP, F_B, F_C, F_D, F_H, F_A, F_MOVING, F_N };

static void fraction_more(hlo_graph *g, void *c, const hlo_ref *p, hlo_ref *out) {
    *out = hlo_binary(g, HLO_AND, few(g, p[F_STEP]), any_of(g, &((context *)c)->type, p[F_MOVING]));
}

static hlo_ref not_zero(hlo_graph *g, hlo_ref x) {
    hlo_ref tiny = hlo_splat_like(g, x, 1e-300);
    return hlo_select(g, hlo_compare(g, "LT", hlo_unary(g, HLO_ABS, x), tiny), tiny, x);
}

static void fraction_step(hlo_graph *g, void *c, const hlo_ref *p, hlo_ref *out) {
    const context *at = c;
    hlo_ref step = hlo_add(g, p[F_STEP], hlo_splat_like(g, p[F_STEP], 1)), one = hlo_splat(g, &at->type, 1);
    hlo_ref i = hlo_broadcast_to(g, hlo_convert(g, step, TT_F64), at->type.rank, at->type.dims);
    hlo_ref n = hlo_mul(g, i, hlo_sub(g, p[F_A], i)), b = hlo_add(g, p[F_B], hlo_splat(g, &at->type, 2));
    hlo_ref d = hlo_div(g, one, not_zero(g, hlo_add(g, hlo_mul(g, n, p[F_D]), b)));
    hlo_ref cc = not_zero(g, hlo_add(g, b, hlo_div(g, n, p[F_C]))), change = hlo_mul(g, d, cc);
    hlo_ref moved = hlo_compare(g, "GT", hlo_unary(g, HLO_ABS, hlo_sub(g, change, one)), hlo_splat(g, &at->type, 1e-16));
    out[F_STEP] = step, out[F_B] = b, out[F_A] = p[F_A];
    out[F_C] = hlo_select(g, p[F_MOVING], cc, p[F_C]);
    out[F_D] = hlo_select(g, p[F_MOVING], d, p[F_D]);
    out[F_H] = hlo_select(g, p[F_MOVING], hlo_mul(g, p[F_H], change), p[F_H]);
    out[F_MOVING] = hlo_binary(g, HLO_AND, p[F_MOVING], moved);
}

static hlo_ref fraction(const elem *e, hlo_ref a, hlo_ref x) {
    hlo_graph *g = e->g;
    context c = {e->type};
    hlo_type pred = hlo_type_with(&e->type, TT_PRED);
    hlo_ref b = hlo_sub(g, hlo_add(g, x, elem_number(e, 1)), a), d = hlo_div(g, elem_number(e, 1), not_zero(g, b));
    hlo_ref in[F_N] = {hlo_scalar(g, TT_I32, 0), b, elem_number(e, 1e300), d, d, a, hlo_splat_int(g, &pred, 1)}, out[F_N] = {0};
    hlo_while(g, F_N, in, fraction_more, fraction_step, &c, out);
    return out[F_H];
}

/* igamma(self = a, other = x); igammac (param 1) */
LOWER_FN(lower_special_igamma) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_FLOAT | ELEM_REAL | ELEM_FLOATING));
    hlo_graph *g = e.g;
    bool upper = L->row->param;
    e.type.dtype = TT_F64;
    hlo_ref a = hlo_convert(g, e.v[0], TT_F64), x = hlo_convert(g, e.v[1], TT_F64), one = elem_number(&e, 1), zero = elem_number(&e, 0);
    hlo_ref plain = hlo_binary(g, HLO_AND, elem_compare(&e, "GT", a, 0), elem_compare(&e, "GT", x, 0));
    plain = hlo_binary(g, HLO_AND, plain, hlo_binary(g, HLO_AND, hlo_unary(g, HLO_IS_FINITE, a), hlo_unary(g, HLO_IS_FINITE, x)));
    hlo_ref tail = hlo_binary(g, HLO_AND, plain, hlo_binary(g, HLO_AND, elem_compare(&e, "GT", x, 1), hlo_compare(g, "GT", x, a)));
    hlo_ref head = hlo_binary(g, HLO_AND, plain, hlo_unary(g, HLO_NOT, tail));
    hlo_ref sa = hlo_select(g, plain, a, one), sx = hlo_select(g, plain, x, one);
    hlo_ref factor = hlo_sub(g, hlo_sub(g, hlo_mul(g, sa, hlo_unary(g, HLO_LOG, sx)), sx), hlo_unary(g, HLO_CHLO_LGAMMA, sa));
    factor = hlo_unary(g, HLO_EXP, factor);
    hlo_ref p = hlo_mul(g, factor, power_series(&e, hlo_select(g, head, a, one), hlo_select(g, head, x, zero)));
    hlo_ref q = hlo_mul(g, factor, fraction(&e, hlo_select(g, tail, a, one), hlo_select(g, tail, x, elem_number(&e, 2))));
    hlo_ref r = upper ? hlo_select(g, tail, q, hlo_sub(g, one, p)) : hlo_select(g, tail, hlo_sub(g, one, q), p);
    hlo_ref all = upper ? zero : one, nothing = upper ? one : zero, nan = elem_number(&e, NAN);
    hlo_ref ainf = elem_compare(&e, "EQ", a, INFINITY), xinf = elem_compare(&e, "EQ", x, INFINITY);
    r = hlo_select(g, hlo_binary(g, HLO_OR, elem_nan(&e, a), elem_nan(&e, x)), nan, r);
    r = hlo_select(g, xinf, hlo_select(g, ainf, nan, all), hlo_select(g, ainf, nothing, r));
    r = hlo_select(g, elem_compare(&e, "EQ", x, 0), nothing, r);
    r = hlo_select(g, elem_compare(&e, "EQ", a, 0), hlo_select(g, elem_compare(&e, "GT", x, 0), all, nan), r);
    hlo_ref bad = hlo_binary(g, HLO_OR, elem_compare(&e, "LT", a, 0), elem_compare(&e, "LT", x, 0));
    return elem_end(&e, hlo_select(g, bad, nan, r));
}

/* random_count.c - Poisson and binomial samples: whole numbers, computed in f64.
 *
 * Small means: the distribution is added up from 0 until it passes a uniform number. Large ones: Hoermann's transformed rejection, PTRS and
 * BTRS, with the density through lgamma. */
#include "aten/pieces.h"
#include "aten/random.h"
#include <math.h>

enum { SMALL_MEAN = 10, ATTEMPTS = 40, MOST_STEPS = 400 };

/* ---- small means: the first k where p_0 + ... + p_k > u; p_(k+1) = p_k (a - b k) / (k + 1) ---- */
enum { C_K, C_TERM, C_LEFT, C_A, C_B, C_N };

static void count_more(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    const hlo_type *t = context;
    int64_t dims[HLO_MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        dims[i] = i;
    /* a sum that ends short of u, by rounding or after the last count, ends where the terms do */
    hlo_ref zero = hlo_splat_like(g, p[C_LEFT], 0);
    hlo_ref more = hlo_binary(g, HLO_AND, hlo_compare(g, "GE", p[C_LEFT], zero), hlo_compare(g, "GT", p[C_TERM], zero));
    hlo_ref few = hlo_compare(g, "LT", p[C_K], hlo_splat_like(g, p[C_K], MOST_STEPS));
    more = hlo_binary(g, HLO_AND, more, few);
    *out = t->rank ? hlo_reduce(g, HLO_OR, more, HLO_NONE, t->rank, dims) : more;
}

static void count_step(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    (void)context;
    hlo_ref zero = hlo_splat_like(g, p[C_LEFT], 0), k = hlo_add(g, p[C_K], hlo_splat_like(g, p[C_K], 1));
    hlo_ref term = hlo_div(g, hlo_mul(g, p[C_TERM], hlo_sub(g, p[C_A], hlo_mul(g, p[C_B], p[C_K]))), k);
    hlo_ref goes_on = hlo_binary(g, HLO_AND, hlo_compare(g, "GE", p[C_LEFT], zero), hlo_compare(g, "GT", term, zero));
    memcpy(out, p, sizeof *out * C_N);
    out[C_K] = hlo_select(g, goes_on, k, p[C_K]);
    out[C_TERM] = hlo_select(g, goes_on, term, zero);
    out[C_LEFT] = hlo_select(g, goes_on, hlo_sub(g, p[C_LEFT], term), p[C_LEFT]);
}

static hlo_ref count_up(const elem *e, hlo_ref first, hlo_ref a, hlo_ref b) {
    hlo_type t = e->type;
    hlo_ref u = random_uniform(e->L, TT_F64, 53, t.rank, t.dims), out[C_N] = {0};
    if (!hlo_type_elements(&t))
        return elem_number(e, 0);
    hlo_ref in[C_N] = {elem_number(e, 0), first, hlo_sub(e->g, u, first), a, b};
    hlo_while(e->g, C_N, in, count_more, count_step, &t, out);
    return out[C_K];
}

/* ---- large means ---- */
enum { V_A, V_B, V_CENTRE, V_EASY, V_SCALE, V_MEAN, V_LOG, V_MAX, V_N };

/* One attempt: k = floor((2 a / us + b) (u - 1/2) + centre), us = 1/2 - |u - 1/2|; taken at once well inside, else where
 * log(v scale / (a / us^2 + b)) <= log p(k). log p(k) = k log - lgamma(k + 1) - mean, and for a binomial (max finite) - lgamma(max - k + 1). */
static void try_count(tt_lower *L, void *context, const hlo_ref *p, hlo_ref *candidate, hlo_ref *accepted) {
    bool bounded = *(bool *)context;
    hlo_graph *g = L->g;
    hlo_type t = piece_type(L, p[0]);
    hlo_ref half = hlo_splat(g, &t, 0.5), zero = hlo_splat(g, &t, 0), one = hlo_splat(g, &t, 1);
    hlo_ref u = hlo_sub(g, random_open(L, TT_F64, t.rank, t.dims), half), v = random_open(L, TT_F64, t.rank, t.dims);
    hlo_ref us = hlo_sub(g, half, hlo_unary(g, HLO_ABS, u)), ratio = hlo_div(g, p[V_A], us);
    hlo_ref k = hlo_mul(g, hlo_add(g, hlo_add(g, ratio, ratio), p[V_B]), u);
    k = hlo_unary(g, HLO_FLOOR, hlo_add(g, k, p[V_CENTRE]));
    hlo_ref inside = hlo_compare(g, "GE", k, zero);
    if (bounded)
        inside = hlo_binary(g, HLO_AND, inside, hlo_compare(g, "LE", k, p[V_MAX]));
    k = hlo_select(g, inside, k, zero);
    hlo_ref easy = hlo_binary(g, HLO_AND, hlo_compare(g, "GE", us, hlo_splat(g, &t, 0.07)), hlo_compare(g, "LE", v, p[V_EASY]));
    hlo_ref height = hlo_sub(g, hlo_add(g, hlo_unary(g, HLO_LOG, v), p[V_SCALE]), hlo_unary(g, HLO_LOG, hlo_add(g, hlo_div(g, ratio, us), p[V_B])));
    hlo_ref density = hlo_sub(g, hlo_mul(g, k, p[V_LOG]), hlo_unary(g, HLO_CHLO_LGAMMA, hlo_add(g, k, one)));
    if (bounded)
        density = hlo_sub(g, density, hlo_unary(g, HLO_CHLO_LGAMMA, hlo_add(g, hlo_sub(g, p[V_MAX], k), one)));
    hlo_ref under = hlo_compare(g, "LE", height, hlo_sub(g, density, p[V_MEAN]));
    *accepted = hlo_binary(g, HLO_AND, inside, hlo_binary(g, HLO_OR, easy, under));
    *candidate = k;
}

static hlo_ref linear(const elem *e, hlo_ref x, double factor, double constant) {
    return hlo_add(e->g, hlo_mul(e->g, x, elem_number(e, factor)), elem_number(e, constant));
}

/* constant - factor / x */
static hlo_ref inverse(const elem *e, hlo_ref x, double factor, double constant) {
    return hlo_sub(e->g, elem_number(e, constant), hlo_div(e->g, elem_number(e, factor), x));
}

/* poisson(self, generator) */
LOWER_FN(lower_random_poisson) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_UPCAST | ELEM_REAL | ELEM_FLOATING));
    hlo_graph *g = e.g;
    e.type.dtype = TT_F64;
    hlo_ref rate = hlo_convert(g, e.v[0], TT_F64), zero = elem_number(&e, 0);
    hlo_ref valid = elem_compare(&e, "GE", rate, 0), large = elem_compare(&e, "GE", rate, SMALL_MEAN);
    hlo_ref small_rate = hlo_select(g, hlo_binary(g, HLO_AND, valid, hlo_unary(g, HLO_NOT, large)), rate, zero);
    hlo_ref few = count_up(&e, hlo_unary(g, HLO_EXP, hlo_unary(g, HLO_NEGATE, small_rate)), small_rate, zero);
    hlo_ref mean = hlo_select(g, large, rate, elem_number(&e, SMALL_MEAN)), b = linear(&e, hlo_unary(g, HLO_SQRT, mean), 2.53, 0.931);
    hlo_ref values[V_N] = {[V_A] = linear(&e, b, 0.02483, -0.059), [V_B] = b, [V_CENTRE] = linear(&e, mean, 1, 0.43),
                           [V_EASY] = inverse(&e, linear(&e, b, 1, -2), 3.6224, 0.9277),
                           [V_SCALE] = hlo_unary(g, HLO_LOG, inverse(&e, linear(&e, b, 1, -3.4), -1.1328, 1.1239)), [V_MEAN] = mean,
                           [V_LOG] = hlo_unary(g, HLO_LOG, mean), [V_MAX] = zero};
    bool bounded = false;
    hlo_ref many = random_reject(L, ATTEMPTS, V_N, values, hlo_unary(g, HLO_FLOOR, mean), try_count, &bounded);
    hlo_ref r = hlo_select(g, large, many, few);
    return elem_end(&e, random_checked(L, r, valid, "invalid Poisson rate, expected rate to be non-negative"));
}

/* binomial(count, prob, generator): for prob above 1/2 the failures are counted */
LOWER_FN(lower_random_binomial) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_UPCAST | ELEM_REAL | ELEM_FLOATING));
    hlo_graph *g = e.g;
    e.type.dtype = TT_F64;
    hlo_ref n = hlo_unary(g, HLO_FLOOR, hlo_convert(g, e.v[0], TT_F64)), prob = hlo_convert(g, e.v[1], TT_F64), zero = elem_number(&e, 0), one = elem_number(&e, 1);
    hlo_ref flip = elem_compare(&e, "GT", prob, 0.5), p = hlo_select(g, flip, hlo_sub(g, one, prob), prob), mean = hlo_mul(g, n, p);
    hlo_ref large = elem_compare(&e, "GE", mean, SMALL_MEAN), odds = hlo_div(g, p, hlo_sub(g, one, p));
    hlo_ref nothing = hlo_binary(g, HLO_OR, elem_compare(&e, "LE", n, 0), hlo_compare(g, "LE", p, zero));
    nothing = hlo_binary(g, HLO_OR, nothing, large);
    hlo_ref b = hlo_select(g, nothing, zero, odds), a = hlo_mul(g, b, hlo_select(g, nothing, zero, n));
    hlo_ref first = hlo_unary(g, HLO_EXP, hlo_mul(g, n, hlo_unary(g, HLO_LOG1P, hlo_unary(g, HLO_NEGATE, p))));
    hlo_ref few = count_up(&e, hlo_select(g, nothing, one, first), a, b);
    hlo_ref ln = hlo_select(g, large, n, elem_number(&e, 4 * SMALL_MEAN)), lp = hlo_select(g, large, p, elem_number(&e, 0.25));
    hlo_ref lq = hlo_sub(g, one, lp), lmean = hlo_mul(g, ln, lp), spread = hlo_unary(g, HLO_SQRT, hlo_mul(g, lmean, lq));
    hlo_ref lb = linear(&e, spread, 2.53, 1.15), log_odds = hlo_unary(g, HLO_LOG, hlo_div(g, lp, lq));
    hlo_ref m = hlo_unary(g, HLO_FLOOR, hlo_mul(g, hlo_add(g, ln, one), lp)); /* the mode: densities are relative to its own */
    hlo_ref top = hlo_sub(g, hlo_mul(g, m, log_odds), hlo_unary(g, HLO_CHLO_LGAMMA, hlo_add(g, m, one)));
    top = hlo_sub(g, top, hlo_unary(g, HLO_CHLO_LGAMMA, hlo_add(g, hlo_sub(g, ln, m), one)));
    hlo_ref values[V_N] = {[V_A] = hlo_add(g, linear(&e, lb, 0.0248, -0.0873), hlo_mul(g, lp, elem_number(&e, 0.01))), [V_B] = lb,
                           [V_CENTRE] = linear(&e, lmean, 1, 0.5), [V_EASY] = inverse(&e, lb, 4.2, 0.92),
                           [V_SCALE] = hlo_unary(g, HLO_LOG, hlo_mul(g, inverse(&e, lb, -5.1, 2.83), spread)), [V_MEAN] = top,
                           [V_LOG] = log_odds, [V_MAX] = ln};
    bool bounded = true;
    hlo_ref many = random_reject(L, ATTEMPTS, V_N, values, m, try_count, &bounded);
    hlo_ref r = hlo_binary(g, HLO_MINIMUM, hlo_select(g, large, many, few), hlo_binary(g, HLO_MAXIMUM, n, zero));
    r = hlo_select(g, flip, hlo_sub(g, hlo_binary(g, HLO_MAXIMUM, n, zero), r), r);
    hlo_ref odd = hlo_binary(g, HLO_OR, elem_nan(&e, n), elem_nan(&e, prob));
    return elem_end(&e, hlo_select(g, odd, elem_number(&e, NAN), r));
}

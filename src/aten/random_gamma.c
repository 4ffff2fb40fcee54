/* random_gamma.c - gamma and Dirichlet samples, their gradients by implicit differentiation, and the rejection loop.
 *
 * A gamma sample is made as its logarithm, so that small shapes do not underflow. A gradient is -(dF/dalpha) / f, F and f the sample's
 * distribution and density: both from one power series and its derivative, in f64. */
#include "aten/pieces.h"
#include "aten/random.h"
#include <float.h>
#include <math.h>

/* ---- rejection ---- */
enum { REJECT_MAX = 8 };
enum { R_STEP, R_STATE, R_VALUE, R_DONE, R_FIRST };

typedef struct rejection { tt_lower *L; random_try_fn attempt; void *context; int attempts, n; uint64_t used; } rejection;

static hlo_ref every(hlo_graph *g, hlo_ref x) {
    int64_t dims[HLO_MAX_RANK];
    int rank = x == HLO_NONE ? 0 : hlo_type_of(g, x)->rank;
    for (int i = 0; i < rank; i++)
        dims[i] = i;
    return rank ? hlo_reduce(g, HLO_AND, x, HLO_NONE, rank, dims) : x;
}

static void reject_more(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    const rejection *r = context;
    hlo_ref left = hlo_compare(g, "LT", p[R_STEP], hlo_splat_like(g, p[R_STEP], r->attempts));
    *out = hlo_binary(g, HLO_AND, left, hlo_unary(g, HLO_NOT, every(g, p[R_DONE])));
}

static void reject_step(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    rejection *r = context;
    tt_lower *L = r->L;
    hlo_ref rng = L->rng, candidate = HLO_NONE, accepted = HLO_NONE;
    uint64_t used = L->rng_used;
    L->rng = p[R_STATE];
    L->rng_used = 0;
    r->attempt(L, r->context, p + R_FIRST, &candidate, &accepted);
    r->used = L->rng_used;
    L->rng = rng;
    L->rng_used = used;
    hlo_type t = hlo_type_make(TT_U64, 1, (const int64_t[]){2});
    const uint64_t step[2] = {0, r->used};
    out[R_STEP] = hlo_add(g, p[R_STEP], hlo_splat_like(g, p[R_STEP], 1));
    out[R_STATE] = hlo_add(g, p[R_STATE], hlo_constant(g, &t, step));
    out[R_VALUE] = hlo_select(g, hlo_binary(g, HLO_AND, accepted, hlo_unary(g, HLO_NOT, p[R_DONE])), candidate, p[R_VALUE]);
    out[R_DONE] = hlo_binary(g, HLO_OR, p[R_DONE], accepted);
    for (int i = 0; i < r->n; i++)
        out[R_FIRST + i] = p[R_FIRST + i];
}

hlo_ref random_reject(tt_lower *L, int attempts, int n, const hlo_ref *values, hlo_ref fallback, random_try_fn attempt, void *context) {
    hlo_graph *g = L->g;
    if (g->error || fallback == HLO_NONE || n > REJECT_MAX)
        return HLO_NONE;
    rejection r = {.L = L, .attempt = attempt, .context = context, .attempts = attempts, .n = n};
    hlo_type t = piece_type(L, fallback), pred = hlo_type_with(&t, TT_PRED), state = hlo_type_make(TT_U64, 1, (const int64_t[]){2});
    if (!hlo_type_elements(&t))
        return fallback;
    const uint64_t start[2] = {0, L->rng_used};
    hlo_ref in[R_FIRST + REJECT_MAX] = {hlo_scalar(g, TT_I32, 0), hlo_add(g, L->rng, hlo_constant(g, &state, start)), fallback,
                                        hlo_splat_int(g, &pred, 0)}, out[R_FIRST + REJECT_MAX] = {0};
    for (int i = 0; i < n; i++)
        in[R_FIRST + i] = values[i];
    hlo_while(g, R_FIRST + n, in, reject_more, reject_step, &r, out);
    L->rng_used += r.used * (uint64_t)attempts;
    return out[R_VALUE];
}

/* ---- samples ---- */

/* Marsaglia and Tsang: d v with v = (1 + c z)^3 is gamma(d + 1/3) when log u < z^2 / 2 + d (1 - v + log v). values: d, c. The candidate is
 * the logarithm. It is accepted with probability 0.95 and more. */
static void try_gamma(tt_lower *L, void *context, const hlo_ref *values, hlo_ref *candidate, hlo_ref *accepted) {
    (void)context;
    hlo_graph *g = L->g;
    hlo_type t = piece_type(L, values[0]);
    hlo_ref d = values[0], z = random_standard(L, t.dtype, t.rank, t.dims), u = random_open(L, t.dtype, t.rank, t.dims), one = hlo_splat(g, &t, 1);
    hlo_ref root = hlo_add(g, one, hlo_mul(g, values[1], z)), good = hlo_compare(g, "GT", root, hlo_splat(g, &t, 0));
    root = hlo_select(g, good, root, one);
    hlo_ref v = hlo_mul(g, hlo_mul(g, root, root), root), log_v = hlo_mul(g, hlo_unary(g, HLO_LOG, root), hlo_splat(g, &t, 3));
    hlo_ref limit = hlo_add(g, hlo_mul(g, hlo_mul(g, z, z), hlo_splat(g, &t, 0.5)), hlo_mul(g, d, hlo_add(g, hlo_sub(g, one, v), log_v)));
    *accepted = hlo_binary(g, HLO_AND, good, hlo_compare(g, "LT", hlo_unary(g, HLO_LOG, u), limit));
    *candidate = hlo_add(g, hlo_unary(g, HLO_LOG, d), log_v);
}

/* log of gamma(alpha) samples; shapes below 1 by gamma(alpha + 1) u^(1 / alpha) */
static hlo_ref log_gamma_sample(tt_lower *L, hlo_ref alpha) {
    hlo_graph *g = L->g;
    enum { ATTEMPTS = 24 };
    hlo_type t = piece_type(L, alpha);
    hlo_ref one = hlo_splat(g, &t, 1), small = hlo_compare(g, "LT", alpha, one);
    hlo_ref u = random_open(L, t.dtype, t.rank, t.dims), shape = hlo_select(g, small, hlo_add(g, alpha, one), alpha);
    hlo_ref d = hlo_sub(g, shape, hlo_splat(g, &t, 1.0 / 3));
    hlo_ref values[2] = {d, hlo_div(g, one, hlo_unary(g, HLO_SQRT, hlo_mul(g, d, hlo_splat(g, &t, 9))))};
    hlo_ref r = random_reject(L, ATTEMPTS, 2, values, hlo_unary(g, HLO_LOG, d), try_gamma, NULL);
    hlo_ref less = hlo_div(g, hlo_unary(g, HLO_LOG, u), hlo_select(g, small, alpha, one));
    return hlo_add(g, r, hlo_select(g, small, less, hlo_splat(g, &t, 0)));
}

static double smallest_of(tt_dtype d) { return d == TT_F16 ? 6.103515625e-05 : d == TT_F64 ? DBL_MIN : FLT_MIN; }

/* _standard_gamma(self, generator): never zero, as on the CPU */
LOWER_FN(lower_random_gamma) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_UPCAST | ELEM_REAL | ELEM_FLOATING));
    hlo_ref zero = elem_compare(&e, "EQ", e.v[0], 0), r = hlo_unary(e.g, HLO_EXP, log_gamma_sample(L, e.v[0]));
    r = hlo_select(e.g, zero, elem_number(&e, 0), hlo_binary(e.g, HLO_MAXIMUM, r, elem_number(&e, smallest_of(e.out))));
    return elem_end(&e, hlo_select(e.g, elem_compare(&e, "GE", e.v[0], 0), r, elem_number(&e, NAN)));
}

/* _sample_dirichlet(self, generator): gamma samples over their sum along the last dim; within (0, 1) */
LOWER_FN(lower_random_dirichlet) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_UPCAST | ELEM_REAL | ELEM_FLOATING));
    TT_CHECK(e.type.rank > 0, INVALID_ARGUMENT, "_sample_dirichlet: the concentration has no dimensions");
    hlo_graph *g = e.g;
    const int64_t last = e.type.rank - 1;
    hlo_ref x = log_gamma_sample(L, e.v[0]), most = hlo_reduce_keep(g, HLO_MAXIMUM, x, HLO_NONE, 1, &last);
    x = hlo_unary(g, HLO_EXP, hlo_sub(g, x, hlo_broadcast_to(g, most, e.type.rank, e.type.dims)));
    hlo_ref sum = hlo_reduce_keep(g, HLO_ADD, x, HLO_NONE, 1, &last);
    x = hlo_div(g, x, hlo_broadcast_to(g, sum, e.type.rank, e.type.dims));
    double step = e.out == TT_F64 ? DBL_EPSILON : e.out == TT_F16 ? 1.0 / 1024 : e.out == TT_BF16 ? 1.0 / 128 : FLT_EPSILON;
    return elem_end(&e, hlo_clamp(g, elem_number(&e, smallest_of(e.out)), x, elem_number(&e, 1 - step)));
}

/* ---- gradients ---- */

/* sum of s_k and of ds_k/da, where s_0 = first, ds_0 = first * slope, and s_k = s_(k-1) z (top + k - 1) / (bottom + k): each step adds
 * rises/(top + k - 1) - falls/(bottom + k) to the logarithmic slope. Ends when no term counts. */
enum { G_STEP, G_TERM, G_SLOPE, G_SUM, G_DERIVED, G_Z, G_TOP, G_BOTTOM, G_N };

typedef struct terms { hlo_type type; bool has_top, rises, falls; } terms;

static void terms_more(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    (void)context;
    hlo_ref size = hlo_mul(g, p[G_TERM], hlo_add(g, hlo_splat_like(g, p[G_TERM], 1), hlo_unary(g, HLO_ABS, p[G_SLOPE])));
    hlo_ref small = hlo_compare(g, "LE", size, hlo_mul(g, p[G_SUM], hlo_splat_like(g, p[G_SUM], 1e-17)));
    hlo_ref few = hlo_compare(g, "LT", p[G_STEP], hlo_splat_like(g, p[G_STEP], 100000));
    *out = hlo_binary(g, HLO_AND, few, hlo_unary(g, HLO_NOT, every(g, small)));
}

static void terms_step(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    const terms *t = context;
    hlo_ref step = hlo_add(g, p[G_STEP], hlo_splat_like(g, p[G_STEP], 1)), one = hlo_splat(g, &t->type, 1);
    hlo_ref k = hlo_broadcast_to(g, hlo_convert(g, step, TT_F64), t->type.rank, t->type.dims);
    hlo_ref bottom = hlo_add(g, p[G_BOTTOM], k), factor = hlo_div(g, p[G_Z], bottom), slope = p[G_SLOPE];
    if (t->has_top) {
        hlo_ref top = hlo_sub(g, hlo_add(g, p[G_TOP], k), one);
        factor = hlo_mul(g, factor, top);
        slope = t->rises ? hlo_add(g, slope, hlo_div(g, one, top)) : slope;
    }
    slope = t->falls ? hlo_sub(g, slope, hlo_div(g, one, bottom)) : slope;
    memcpy(out, p, sizeof *out * G_N);
    out[G_STEP] = step;
    out[G_TERM] = hlo_mul(g, p[G_TERM], factor);
    out[G_SLOPE] = slope;
    out[G_SUM] = hlo_add(g, p[G_SUM], out[G_TERM]);
    out[G_DERIVED] = hlo_add(g, p[G_DERIVED], hlo_mul(g, out[G_TERM], slope));
}

/* S L + dS/da for the series that starts with 1 / bottom */
static hlo_ref derived(hlo_graph *g, terms *t, hlo_ref z, hlo_ref top, hlo_ref bottom, hlo_ref slope_of_factor) {
    hlo_ref first = hlo_div(g, hlo_splat(g, &t->type, 1), bottom), zero = hlo_splat(g, &t->type, 0), out[G_N] = {0};
    hlo_ref slope = t->falls ? hlo_unary(g, HLO_NEGATE, first) : zero;
    hlo_ref in[G_N] = {hlo_scalar(g, TT_I32, 0), first, slope, first, hlo_mul(g, first, slope), z, top, bottom};
    hlo_while(g, G_N, in, terms_more, terms_step, t, out);
    return hlo_add(g, hlo_mul(g, out[G_SUM], slope_of_factor), out[G_DERIVED]);
}

/* _standard_gamma_grad(self = alpha, output = x). F = x^a e^-x / gamma(a) S, S = sum of x^k / (a ... (a + k)), f = x^(a-1) e^-x / gamma(a):
 * the gradient is -x (S (log x - digamma(a)) + dS/da). */
LOWER_FN(lower_random_gamma_grad) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_UPCAST | ELEM_REAL | ELEM_FLOATING));
    hlo_graph *g = e.g;
    e.type.dtype = TT_F64;
    hlo_ref a = hlo_convert(g, e.v[0], TT_F64), x = hlo_convert(g, e.v[1], TT_F64);
    terms t = {.type = e.type, .falls = true};
    hlo_ref factor = hlo_sub(g, hlo_unary(g, HLO_LOG, x), hlo_unary(g, HLO_CHLO_DIGAMMA, a));
    return elem_end(&e, hlo_unary(g, HLO_NEGATE, hlo_mul(g, x, derived(g, &t, x, a, a, factor))));
}

/* _dirichlet_grad(x, alpha, total): the gradient of a beta(a, b = total - a) sample over 1 - x. F = x^a (1-x)^b / B(a, b) S(x; a), S the series
 * of 2F1(a + b, 1; a + 1; x) / a; right of the middle 1 - F by the same series with a and b, x and 1 - x exchanged. */
LOWER_FN(lower_random_dirichlet_grad) {
    elem e;
    TT_TRY(elem_begin(L, &e, 3, (const int[]){0, 1, 2}, ELEM_UPCAST | ELEM_REAL | ELEM_FLOATING));
    hlo_graph *g = e.g;
    e.type.dtype = TT_F64;
    hlo_ref x = hlo_convert(g, e.v[0], TT_F64), a = hlo_convert(g, e.v[1], TT_F64), sum = hlo_convert(g, e.v[2], TT_F64);
    hlo_ref b = hlo_sub(g, sum, a), y = hlo_sub(g, elem_number(&e, 1), x), left = elem_compare(&e, "LE", x, 0.5), none = elem_number(&e, 0);
    hlo_ref factor = hlo_add(g, hlo_sub(g, hlo_unary(g, HLO_LOG, x), hlo_unary(g, HLO_CHLO_DIGAMMA, a)), hlo_unary(g, HLO_CHLO_DIGAMMA, sum));
    terms low = {.type = e.type, .has_top = true, .rises = true, .falls = true}, high = {.type = e.type, .has_top = true, .rises = true};
    hlo_ref below = derived(g, &low, hlo_select(g, left, x, none), sum, a, factor);
    hlo_ref above = derived(g, &high, hlo_select(g, left, none, y), sum, b, factor);
    hlo_ref r = hlo_select(g, left, hlo_unary(g, HLO_NEGATE, below), above);
    return elem_end(&e, hlo_mul(g, x, r));
}

/* reduce.c - sums, products, extremes, logic, moments and norms over dims.
 *
 * f16 and bf16 accumulate in f32 and round once; sums of integers and bool are i64. Results are contiguous. */
#include "aten/reduce.h"
#include <math.h>

tt_status reduction_read(tt_lower *L, reduction *r, int dim_arg, int keep_arg, bool empty_is_none) {
    const tt_tensor *x = lower_tensor(L, 0);
    *r = (reduction){.L = L, .x = x, .count = 1};
    r->keep = keep_arg >= 0 && lower_bool(L, keep_arg, false);
    bool seen[HLO_MAX_RANK] = {false};
    hlo_ints dims = {0, NULL};
    bool given = dim_arg >= 0 && lower_has(L, dim_arg);
    if (given)
        dims = lower_ints(L, dim_arg);
    if (dims.n == 0 && !(given && empty_is_none))
        for (int d = 0; d < x->rank; d++)
            seen[d] = true;
    for (int i = 0; i < dims.n; i++) {
        int d = lower_dim(L, dims.v[i], x->rank);
        TT_TRY(hlo_graph_take_error(L->g));
        TT_CHECK(!seen[d], INVALID_ARGUMENT, "dim %d appears multiple times in the list of dims", d);
        seen[d] = true;
    }
    r->shape.dtype = x->dtype;
    for (int d = 0; d < x->rank; d++) {
        if (seen[d]) {
            r->dims[r->n++] = d;
            r->count *= x->dims[d];
        }
        if (!seen[d] || r->keep)
            r->shape.dims[r->shape.rank++] = seen[d] ? 1 : x->dims[d];
    }
    return TT_OK;
}

hlo_ref reduction_apply(const reduction *r, hlo_op op, hlo_ref x) {
    return r->n ? hlo_reduce(r->L->g, op, x, HLO_NONE, r->n, r->dims) : x;
}

hlo_ref reduction_keep(const reduction *r, hlo_op op, hlo_ref x) {
    return r->n ? hlo_reduce_keep(r->L->g, op, x, HLO_NONE, r->n, r->dims) : x;
}

hlo_ref reduction_spread(const reduction *r, hlo_ref kept, hlo_ref like) {
    hlo_type t = piece_type(r->L, like);
    return hlo_broadcast_to(r->L->g, kept, t.rank, t.dims);
}

hlo_ref reduction_shaped(const reduction *r, hlo_ref dropped) {
    return hlo_reshape(r->L->g, dropped, r->shape.rank, r->shape.dims);
}

static tt_status reduce_out(const reduction *r, hlo_ref dropped, tt_dtype dtype) {
    lower_out(r->L, reduction_shaped(r, hlo_convert(r->L->g, dropped, dtype)));
    return hlo_graph_take_error(r->L->g);
}

static bool is_exact(tt_dtype d) { return tt_is_int(d) || d == TT_PRED; }

/* ---- sums ---- */

enum { SUM, NANSUM, MEAN, PROD, FULL = 16 /* no dim argument: (self, *, dtype) */ };

/* sum mean nansum prod: (self, dim, keepdim, *, dtype), or with FULL (self, *, dtype) */
LOWER_FN(lower_reduce_sum) {
    int what = L->row->param & 15;
    bool full = L->row->param & FULL;
    reduction r;
    TT_TRY(reduction_read(L, &r, full ? -1 : 1, full ? -1 : 2, false));
    tt_dtype in = r.x->dtype, out = lower_dtype(L, full ? 1 : 3, is_exact(in) && what != MEAN ? TT_I64 : in);
    TT_TRY(hlo_graph_take_error(L->g));
    TT_CHECK(what != MEAN || !is_exact(out), INVALID_ARGUMENT,
             "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: %s",
             tt_dtype_name(out));
    tt_dtype acc = lower_accumulate_dtype(out);
    hlo_ref x = hlo_convert(L->g, hlo_convert(L->g, r.x->value, out), acc);
    if (out == TT_PRED) /* sum(dtype=bool) */
        LOWER_UNSUPPORTED(L, "bool results");
    if (what == NANSUM && tt_is_complex(out))
        LOWER_UNSUPPORTED(L, "not for complex numbers");
    if (what == NANSUM && tt_is_float(out)) {
        hlo_type t = piece_type(L, x);
        x = hlo_select(L->g, hlo_compare(L->g, "NE", x, x), hlo_splat(L->g, &t, 0), x);
    }
    hlo_ref v;
    if (what != PROD && tt_is_complex(out)) /* the parts by themselves */
        v = hlo_complex(L->g, reduction_apply(&r, HLO_ADD, hlo_unary(L->g, HLO_REAL, x)), reduction_apply(&r, HLO_ADD, hlo_unary(L->g, HLO_IMAG, x)));
    else
        v = reduction_apply(&r, what == PROD ? HLO_MULTIPLY : HLO_ADD, x);
    if (what == MEAN && v != HLO_NONE)
        v = hlo_div(L->g, v, hlo_splat_like(L->g, v, (double)r.count));
    return reduce_out(&r, v, out);
}

/* count_nonzero(self, dim) */
LOWER_FN(lower_reduce_count) {
    reduction r;
    TT_TRY(reduction_read(L, &r, 1, -1, false));
    hlo_ref x = hlo_convert(L->g, hlo_convert(L->g, r.x->value, TT_PRED), TT_I64);
    return reduce_out(&r, reduction_apply(&r, HLO_ADD, x), TT_I64);
}

/* ---- extremes ---- */

static tt_status extreme_check(tt_lower *L, const reduction *r) {
    if (tt_is_complex(r->x->dtype))
        LOWER_UNSUPPORTED(L, "not for complex numbers");
    TT_CHECK(r->count > 0, INVALID_ARGUMENT,
             "%s: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
             "argument.",
             L->row->name);
    return TT_OK;
}

/* amax amin (self, dim, keepdim); max min (self): param the op, with EXTREME_FULL when there is no dim */
enum { EXTREME_FULL = 1 << 12 };
LOWER_FN(lower_reduce_extreme) {
    bool full = L->row->param & EXTREME_FULL;
    reduction r;
    TT_TRY(reduction_read(L, &r, full ? -1 : 1, full ? -1 : 2, false));
    TT_TRY(extreme_check(L, &r));
    return reduce_out(&r, reduction_apply(&r, (hlo_op)(L->row->param & ~EXTREME_FULL), r.x->value), r.x->dtype);
}

/* aminmax(self, *, dim, keepdim); _aminmax(self), _aminmax.dim(self, dim, keepdim) */
LOWER_FN(lower_reduce_aminmax) {
    reduction r;
    TT_TRY(reduction_read(L, &r, 1, 2, false));
    TT_TRY(extreme_check(L, &r));
    TT_TRY(reduce_out(&r, reduction_apply(&r, HLO_MINIMUM, r.x->value), r.x->dtype));
    return reduce_out(&r, reduction_apply(&r, HLO_MAXIMUM, r.x->value), r.x->dtype);
}

static void arg_extreme(const reduction *r, hlo_op op, hlo_ref x, int dim, hlo_ref *value, hlo_ref *index) {
    if (r->x->dtype == TT_PRED)
        x = hlo_convert(r->L->g, x, TT_I32);
    hlo_reduce_arg(r->L->g, op, x, dim, TT_I64, value, index);
    if (r->x->dtype == TT_PRED)
        *value = hlo_convert(r->L->g, *value, TT_PRED);
}

/* max.dim min.dim (self, dim, keepdim) -> (values, indices); param the op */
LOWER_FN(lower_reduce_extreme_dim) {
    reduction r;
    TT_TRY(reduction_read(L, &r, 1, 2, false));
    TT_TRY(extreme_check(L, &r));
    hlo_ref value = r.x->value, index = HLO_NONE;
    if (r.n)
        arg_extreme(&r, (hlo_op)L->row->param, value, (int)r.dims[0], &value, &index);
    else
        index = hlo_scalar_int(L->g, TT_I64, 0);
    lower_out(L, reduction_shaped(&r, value));
    lower_out(L, reduction_shaped(&r, index));
    return hlo_graph_take_error(L->g);
}

/* argmax argmin (self, dim=None, keepdim=False): without dim over the flattened tensor; param the op */
LOWER_FN(lower_reduce_arg) {
    reduction r;
    TT_TRY(reduction_read(L, &r, 1, 2, false));
    TT_CHECK(r.count > 0, OUT_OF_RANGE, "%s(): Expected reduction dim %d to have non-zero size.", L->row->name,
             r.n ? (int)r.dims[0] : 0);
    if (tt_is_complex(r.x->dtype) || r.x->dtype == TT_PRED)
        LOWER_UNSUPPORTED(L, "not for bool and complex");
    hlo_ref x = r.x->value, value, index = HLO_NONE;
    int dim = r.n ? (int)r.dims[0] : 0;
    if (r.n != 1) {
        x = hlo_reshape(L->g, x, 1, &r.count);
        dim = 0;
    }
    hlo_reduce_arg(L->g, (hlo_op)L->row->param, x, dim, TT_I64, &value, &index);
    lower_out(L, reduction_shaped(&r, index));
    return hlo_graph_take_error(L->g);
}

/* ---- logic ---- */

/* all any: (self), .dim (self, dim, keepdim), .dims (self, dims, keepdim; [] reduces nothing); param the op */
LOWER_FN(lower_reduce_logic) {
    reduction r;
    TT_TRY(reduction_read(L, &r, 1, 2, true));
    hlo_ref v = reduction_apply(&r, (hlo_op)L->row->param, hlo_convert(L->g, r.x->value, TT_PRED));
    return reduce_out(&r, v, r.x->dtype == TT_U8 ? TT_U8 : TT_PRED);
}

/* ---- moments ---- */

enum { STD = 1, WITH_MEAN = 2 };

/* var std var_mean std_mean .correction (self, dim, *, correction, keepdim): sum((x - mean)^2) / max(0, n - correction) */
LOWER_FN(lower_reduce_var) {
    reduction r;
    TT_TRY(reduction_read(L, &r, 1, 3, false));
    tt_dtype out = r.x->dtype;
    TT_CHECK(tt_is_float(out) || tt_is_complex(out), INVALID_ARGUMENT,
             "std and var only support floating point and complex dtypes");
    hlo_graph *g = L->g;
    double divisor = (double)r.count - lower_double(L, 2, 1);
    hlo_ref x = hlo_convert(g, r.x->value, lower_accumulate_dtype(out));
    hlo_ref sum = reduction_keep(&r, HLO_ADD, x);
    if (sum == HLO_NONE)
        return hlo_graph_take_error(g);
    hlo_ref mean = hlo_div(g, sum, hlo_splat_like(g, sum, (double)r.count));
    hlo_ref d = hlo_sub(g, x, reduction_spread(&r, mean, x));
    hlo_ref square = hlo_mul(g, d, d);
    if (tt_is_complex(out)) {
        hlo_ref re = hlo_unary(g, HLO_REAL, d), im = hlo_unary(g, HLO_IMAG, d);
        square = hlo_add(g, hlo_mul(g, re, re), hlo_mul(g, im, im));
    }
    hlo_ref v = reduction_apply(&r, HLO_ADD, square);
    if (v != HLO_NONE)
        v = hlo_div(g, v, hlo_splat_like(g, v, divisor > 0 ? divisor : 0));
    if (L->row->param & STD)
        v = hlo_unary(g, HLO_SQRT, v);
    TT_TRY(reduce_out(&r, v, tt_is_complex(out) ? tt_dtype_real(out) : out));
    return L->row->param & WITH_MEAN ? reduce_out(&r, mean, out) : TT_OK;
}

/* ---- norms ---- */

static hlo_ref power_of(tt_lower *L, hlo_ref x, double p) {
    return hlo_binary(L->g, HLO_POWER, x, hlo_splat_like(L->g, x, p));
}

/* The p-norm over r's dims of a real or complex value; keep says whether the dims stay. */
static hlo_ref norm(const reduction *r, hlo_ref x, double p, bool keep) {
    hlo_graph *g = r->L->g;
    hlo_ref (*reduce)(const reduction *, hlo_op, hlo_ref) = keep ? reduction_keep : reduction_apply;
    if (p == 2 && tt_is_float(piece_type(r->L, x).dtype))
        return hlo_unary(g, HLO_SQRT, reduce(r, HLO_ADD, hlo_mul(g, x, x)));
    x = hlo_unary(g, HLO_ABS, x);
    if (x == HLO_NONE)
        return x;
    if (isinf(p))
        return reduce(r, p > 0 ? HLO_MAXIMUM : HLO_MINIMUM, x);
    if (p == 0) {
        hlo_ref on = hlo_compare(g, "NE", x, hlo_splat_like(g, x, 0));
        return reduce(r, HLO_ADD, hlo_convert(g, on, piece_type(r->L, x).dtype));
    }
    if (p == 1)
        return reduce(r, HLO_ADD, x);
    if (p == 2)
        return hlo_unary(g, HLO_SQRT, reduce(r, HLO_ADD, hlo_mul(g, x, x)));
    hlo_ref sum = reduce(r, HLO_ADD, power_of(r->L, x, p));
    return sum == HLO_NONE ? sum : power_of(r->L, sum, 1 / p);
}

/* linalg_vector_norm(self, ord=2, dim, keepdim, *, dtype); norm.ScalarOpt_dim[_dtype](self, p, dim, keepdim[, dtype]) */
LOWER_FN(lower_reduce_norm) {
    reduction r;
    TT_TRY(reduction_read(L, &r, 2, 3, false));
    double p = lower_double(L, 1, 2);
    tt_dtype in = lower_dtype(L, 4, r.x->dtype);
    TT_TRY(hlo_graph_take_error(L->g));
    TT_CHECK(!is_exact(in), INVALID_ARGUMENT, "%s: Expected a floating point or complex tensor as input. Got %s", L->row->name,
             tt_dtype_name(in));
    TT_CHECK(r.count > 0 || (p >= 0 && !isinf(p)), INVALID_ARGUMENT,
             "%s cannot compute the %g norm on an empty tensor because the operation does not have an identity", L->row->name, p);
    if (tt_is_complex(r.x->dtype) && !tt_is_complex(in))
        LOWER_UNSUPPORTED(L, "complex to real");
    hlo_ref x = hlo_convert(L->g, r.x->value, lower_accumulate_dtype(in));
    if (r.count == 0) {
        hlo_type t = hlo_type_with(&r.shape, tt_dtype_real(in));
        lower_out(L, hlo_splat(L->g, &t, 0));
        return hlo_graph_take_error(L->g);
    }
    return reduce_out(&r, norm(&r, x, p, false), tt_dtype_real(in));
}

/* renorm(self, p, dim, maxnorm): slices along dim whose p-norm exceeds maxnorm are scaled by maxnorm / (norm + 1e-7) */
LOWER_FN(lower_reduce_renorm) {
    const tt_tensor *x = lower_tensor(L, 0);
    double p = lower_double(L, 1, 2);
    TT_CHECK(p > 0, INVALID_ARGUMENT, "non-positive-norm not supported");
    TT_CHECK(x->rank > 1, INVALID_ARGUMENT, "renorm: input needs at least 2 dimensions, got %d dimensions", x->rank);
    int dim = lower_dim(L, lower_int(L, 2, 0), x->rank);
    TT_TRY(hlo_graph_take_error(L->g));
    if (!tt_is_float(x->dtype))
        LOWER_UNSUPPORTED(L, "for real floating point only");
    reduction r = {.L = L, .x = x};
    for (int d = 0; d < x->rank; d++)
        if (d != dim)
            r.dims[r.n++] = d;
    hlo_graph *g = L->g;
    tt_dtype acc = lower_accumulate_dtype(x->dtype);
    hlo_ref v = hlo_convert(g, x->value, acc), size = norm(&r, v, p, true);
    if (size == HLO_NONE)
        return hlo_graph_take_error(g);
    hlo_ref limit = lower_scalar_like(L, 3, size);
    hlo_ref scale = hlo_div(g, limit, hlo_add(g, size, hlo_splat_like(g, size, 1e-7)));
    scale = hlo_select(g, hlo_compare(g, "GT", size, limit), scale, hlo_splat_like(g, size, 1));
    lower_out(L, hlo_convert(g, hlo_mul(g, v, reduction_spread(&r, scale, v)), x->dtype));
    return hlo_graph_take_error(g);
}

/* logsumexp(self, dim, keepdim): log(sum(exp(x - m))) + m, m the maximum, 0 where that is infinite */
LOWER_FN(lower_reduce_logsumexp) {
    reduction r;
    TT_TRY(reduction_read(L, &r, 1, 2, false));
    tt_dtype out = is_exact(r.x->dtype) ? lower_default_float() : r.x->dtype;
    hlo_graph *g = L->g;
    hlo_ref x = hlo_convert(g, r.x->value, lower_accumulate_dtype(out));
    hlo_ref m = reduction_keep(&r, HLO_MAXIMUM, tt_is_complex(out) ? hlo_unary(g, HLO_REAL, x) : x);
    if (m == HLO_NONE)
        return hlo_graph_take_error(g);
    hlo_ref inf = hlo_compare(g, "EQ", hlo_unary(g, HLO_ABS, m), hlo_splat_like(g, m, INFINITY));
    m = hlo_select(g, inf, hlo_splat_like(g, m, 0), m);
    if (tt_is_complex(out))
        m = hlo_complex(g, m, hlo_splat_like(g, m, 0));
    hlo_ref sum = reduction_keep(&r, HLO_ADD, hlo_unary(g, HLO_EXP, hlo_sub(g, x, reduction_spread(&r, m, x))));
    return reduce_out(&r, hlo_add(g, hlo_unary(g, HLO_LOG, sum), m), out);
}

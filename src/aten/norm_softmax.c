/* norm_softmax.c - softmax, log_softmax and their gradients as the composites tt.softmax and
 * tt.softmax_backward over the last dim.
 *
 * The decomposition is what XLA and libtpu run: f16 and bf16 are computed in f32 and rounded once. */
#include "aten/pieces.h"

/* Brings `dim` to the end: rank 0 becomes rank 1. undo() takes it back. */
typedef struct turned {
    int rank, dim;
    hlo_type type;
} turned;

static turned turn(tt_lower *L, hlo_ref x, int64_t dim) {
    turned t = {.type = piece_type(L, x)};
    t.rank = t.type.rank;
    t.dim = lower_dim(L, dim, t.rank);
    return t;
}

static hlo_ref turn_value(tt_lower *L, const turned *t, hlo_ref x) {
    int64_t one[1] = {1};
    if (t->rank == 0)
        return hlo_reshape(L->g, x, 1, one);
    return t->dim == t->rank - 1 ? x : piece_swap(L, x, t->dim, t->rank - 1);
}

static hlo_ref turn_back(tt_lower *L, const turned *t, hlo_ref x) {
    if (t->rank == 0)
        return hlo_reshape(L->g, x, 0, NULL);
    return t->dim == t->rank - 1 ? x : piece_swap(L, x, t->dim, t->rank - 1);
}

static const char *log_attribute(bool log) {
    return log ? "log = true" : "log = false";
}

static const char *attributes_of(tt_lower *L, hlo_ref x, int dim, bool log) {
    const bool is_last = dim == piece_type(L, x).rank - 1;
    return is_last ? log_attribute(log) : tt_arena_printf(L->arena, "%s, dim = %d", log_attribute(log), dim);
}

/* Over any dim of x. */
static hlo_ref softmax(tt_lower *L, hlo_ref x, int dim, bool log) {
    hlo_graph *g = L->g;
    hlo_ref p, y;
    hlo_composite c = hlo_composite_begin(g, "tt.softmax", attributes_of(L, x, dim, log), 1, &x, &p);
    hlo_type t = piece_type(L, p);
    int64_t last[1] = {dim};
    hlo_ref v = hlo_convert(g, p, lower_accumulate_dtype(t.dtype));
    hlo_ref d = hlo_sub(
        g, v, hlo_broadcast_to(g, hlo_reduce_keep(g, HLO_MAXIMUM, v, HLO_NONE, 1, last), t.rank, t.dims));
    hlo_ref e = hlo_unary(g, HLO_EXP, d);
    hlo_ref sum = hlo_reduce_keep(g, HLO_ADD, e, HLO_NONE, 1, last);
    y = log ? hlo_sub(g, d, hlo_broadcast_to(g, hlo_unary(g, HLO_LOG, sum), t.rank, t.dims))
            : hlo_div(g, e, hlo_broadcast_to(g, sum, t.rank, t.dims));
    y = hlo_convert(g, y, t.dtype);
    hlo_ref out;
    hlo_composite_end(g, &c, 1, &y, &out);
    return out;
}

/* _softmax(self, dim, half_to_float), _log_softmax; param 1: log. A long dim is brought to the end. */
enum { SHORT = 2048 };

LOWER(lower_softmax) {
    hlo_ref x = lower_value(L, 0);
    if (lower_bool(L, 2, false))
        x = hlo_convert(L->g, x, TT_F32);
    turned t = turn(L, x, lower_int(L, 1, -1));
    TT_CHECK(tt_is_float(t.type.dtype), UNIMPLEMENTED, "softmax of %s", tt_dtype_name(t.type.dtype));
    if (hlo_type_elements(&t.type) == 0)
        lower_out(L, x);
    else if (t.rank && t.type.dims[t.dim] <= SHORT)
        lower_out(L, softmax(L, x, t.dim, L->row->param));
    else
        lower_out(L, turn_back(L, &t, softmax(L, turn_value(L, &t, x), t.rank ? t.rank - 1 : 0, L->row->param)));
    return TT_OK;
}

/* _safe_softmax(self, dim, dtype): rows that are all -inf give zeros. */
LOWER(lower_safe_softmax) {
    hlo_ref x = lower_value(L, 0);
    x = hlo_convert(L->g, x, lower_dtype(L, 2, piece_type(L, x).dtype));
    turned t = turn(L, x, lower_int(L, 1, -1));
    TT_CHECK(tt_is_float(t.type.dtype), UNIMPLEMENTED, "softmax of %s", tt_dtype_name(t.type.dtype));
    if (hlo_type_elements(&t.type) == 0) {
        lower_out(L, x);
        return TT_OK;
    }
    x = turn_value(L, &t, x);
    hlo_type shape = piece_type(L, x);
    int64_t last[1] = {shape.rank - 1};
    hlo_ref dead =
        piece_compare(L, "EQ", hlo_reduce_keep(L->g, HLO_MAXIMUM, x, HLO_NONE, 1, last), -__builtin_inf());
    hlo_ref y = softmax(L, x, piece_type(L, x).rank - 1, false);
    y = hlo_select(L->g, hlo_broadcast_to(L->g, dead, shape.rank, shape.dims), hlo_splat_like(L->g, y, 0), y);
    lower_out(L, turn_back(L, &t, y));
    return TT_OK;
}

/* softmax: out (grad - sum(grad out)); log_softmax: grad - exp(out) sum(grad) */
static hlo_ref softmax_backward(tt_lower *L, hlo_ref grad, hlo_ref output, int dim, bool log) {
    hlo_graph *g = L->g;
    hlo_ref in[2] = {grad, output}, p[2], y, out;
    hlo_composite c = hlo_composite_begin(g, "tt.softmax_backward", attributes_of(L, output, dim, log), 2, in, p);
    hlo_type t = piece_type(L, p[1]);
    int64_t last[1] = {dim};
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    hlo_ref dy = hlo_convert(g, p[0], wide), o = hlo_convert(g, p[1], wide);
    hlo_ref product = log ? dy : hlo_mul(g, dy, o);
    hlo_ref sum =
        hlo_broadcast_to(g, hlo_reduce_keep(g, HLO_ADD, product, HLO_NONE, 1, last), t.rank, t.dims);
    y = log ? hlo_sub(g, dy, hlo_mul(g, hlo_unary(g, HLO_EXP, o), sum)) : hlo_mul(g, o, hlo_sub(g, dy, sum));
    y = hlo_convert(g, y, t.dtype);
    hlo_composite_end(g, &c, 1, &y, &out);
    return out;
}

/* _softmax_backward_data(grad_output, output, dim, input_dtype), _log_softmax_backward_data; param 1: log. */
LOWER(lower_softmax_backward) {
    hlo_ref grad = lower_value(L, 0), output = lower_value(L, 1);
    turned t = turn(L, output, lower_int(L, 2, -1));
    TT_CHECK(tt_is_float(t.type.dtype), UNIMPLEMENTED, "softmax of %s", tt_dtype_name(t.type.dtype));
    tt_dtype out = lower_dtype(L, 3, t.type.dtype);
    if (hlo_type_elements(&t.type) && t.rank && t.type.dims[t.dim] <= SHORT) {
        grad = softmax_backward(L, hlo_convert(L->g, grad, t.type.dtype), output, t.dim, L->row->param);
    } else if (hlo_type_elements(&t.type)) {
        grad = hlo_convert(L->g, turn_value(L, &t, grad), t.type.dtype);
        grad = turn_back(L, &t, softmax_backward(L, grad, turn_value(L, &t, output), t.rank ? t.rank - 1 : 0, L->row->param));
    }
    lower_out(L, hlo_convert(L->g, grad, out));
    return TT_OK;
}

/* reduce_scan.c - running sums, products and extremes along a dim.
 *
 * A scan is a reduce_window whose window is the whole dim, padded by n - 1 in front: the engine (and XLA) knows that
 * pattern. logcumsumexp has no such combiner and is built from log2(n) shifted additions. */
#include "aten/reduce.h"
#include <math.h>

static hlo_ref scan(tt_lower *L, hlo_op op, hlo_ref x, int dim) {
    hlo_type t = piece_type(L, x);
    if (t.rank == 0 || t.dims[dim] <= 1 || hlo_type_elements(&t) == 0)
        return x;
    int64_t size[HLO_MAX_RANK], low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {0};
    for (int d = 0; d < t.rank; d++)
        size[d] = d == dim ? t.dims[d] : 1;
    low[dim] = t.dims[dim] - 1;
    hlo_window w = {.size = size, .padding_low = low, .padding_high = high};
    return hlo_reduce_window(L->g, op, x, HLO_NONE, &w);
}

static tt_status scan_dim(tt_lower *L, const tt_tensor *x, int *out) {
    *out = lower_dim(L, lower_int(L, 1, 0), x->rank);
    return hlo_graph_take_error(L->g);
}

/* cumsum cumprod (self, dim, *, dtype); param the op */
LOWER_FN(lower_scan_sum) {
    const tt_tensor *x = lower_tensor(L, 0);
    int dim;
    TT_TRY(scan_dim(L, x, &dim));
    bool exact = tt_is_int(x->dtype) || x->dtype == TT_PRED;
    tt_dtype out = lower_dtype(L, 2, exact ? TT_I64 : x->dtype);
    if (out == TT_PRED)
        LOWER_UNSUPPORTED(L, "bool results");
    hlo_ref v = hlo_convert(L->g, hlo_convert(L->g, x->value, out), lower_accumulate_dtype(out));
    const hlo_op op = (hlo_op)L->row->param;
    if (op == HLO_ADD && tt_is_complex(out)) /* the parts by themselves */
        v = hlo_complex(L->g, scan(L, op, hlo_unary(L->g, HLO_REAL, v), dim), scan(L, op, hlo_unary(L->g, HLO_IMAG, v), dim));
    else
        v = scan(L, op, v, dim);
    lower_out(L, hlo_convert(L->g, v, out));
    return hlo_graph_take_error(L->g);
}

/* cummax cummin (self, dim) -> (values, indices): the index of the last element that is the extreme so far (NaN is).
 * Those elements are the ones equal to their running extreme; a running maximum of their positions is the answer. */
LOWER_FN(lower_scan_extreme) {
    const tt_tensor *x = lower_tensor(L, 0);
    int dim;
    TT_TRY(scan_dim(L, x, &dim));
    if (tt_is_complex(x->dtype))
        LOWER_UNSUPPORTED(L, "not for complex numbers");
    hlo_graph *g = L->g;
    const hlo_op op = (hlo_op)L->row->param;
    hlo_ref in = x->dtype == TT_PRED ? hlo_convert(g, x->value, TT_I8) : x->value, inside, results[2], out[2];
    char *attributes = tt_arena_printf(L->arena, "dim = %d, least = %s", dim, op == HLO_MINIMUM ? "true" : "false");
    hlo_composite c = hlo_composite_begin(g, "tt.running_extreme", attributes, 1, &in, &inside);
    results[0] = scan(L, op, inside, dim);
    hlo_type t = hlo_type_make(TT_I32, x->rank, x->dims);
    hlo_ref none = hlo_splat_int(g, &t, 0), index = none;
    if (x->rank) {
        hlo_ref here = hlo_compare(g, "EQ", inside, results[0]);
        if (tt_is_float(x->dtype))
            here = hlo_binary(g, HLO_OR, here, hlo_compare(g, "NE", inside, inside));
        index = scan(L, HLO_MAXIMUM, hlo_select(g, here, hlo_iota(g, &t, dim), none), dim);
    }
    results[1] = hlo_convert(g, index, TT_I64);
    hlo_composite_end(g, &c, 2, results, out);
    lower_out(L, hlo_convert(g, out[0], x->dtype));
    lower_out(L, out[1]);
    return hlo_graph_take_error(g);
}

/* _logcumsumexp(self, dim) */
LOWER_FN(lower_scan_logsumexp) {
    const tt_tensor *x = lower_tensor(L, 0);
    int dim;
    TT_TRY(scan_dim(L, x, &dim));
    if (!tt_is_float(x->dtype))
        LOWER_UNSUPPORTED(L, "for real floating point only");
    hlo_graph *g = L->g;
    tt_dtype acc = lower_accumulate_dtype(x->dtype); /* f64 would be closer, and take libtpu 40 s to compile */
    hlo_ref v = hlo_convert(g, x->value, acc);
    int64_t n = x->rank ? x->dims[dim] : 1;
    hlo_ref lowest = hlo_scalar(g, acc, -INFINITY);
    hlo_type t = hlo_type_make(acc, x->rank, x->dims);
    for (int64_t step = 1; step < n; step *= 2) {
        int64_t low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {0};
        low[dim] = step;
        high[dim] = -step;
        hlo_ref s = hlo_pad(g, v, lowest, low, high, NULL), m = hlo_binary(g, HLO_MAXIMUM, v, s);
        hlo_ref d = hlo_unary(g, HLO_NEGATE, hlo_unary(g, HLO_ABS, hlo_sub(g, v, s)));
        hlo_ref sum = hlo_add(g, m, hlo_unary(g, HLO_LOG1P, hlo_unary(g, HLO_EXP, d)));
        hlo_ref same = hlo_binary(g, HLO_AND, hlo_compare(g, "EQ", v, s),
                                  hlo_compare(g, "EQ", hlo_unary(g, HLO_ABS, v), hlo_splat(g, &t, INFINITY)));
        v = hlo_select(g, same, v, sum);
    }
    lower_out(L, hlo_convert(g, v, x->dtype));
    return hlo_graph_take_error(g);
}

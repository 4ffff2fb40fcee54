/* build_reduce.c - builders of reductions, windows, sort, products, convolution and linear algebra, with the
 * regions they need. */
#include "hlo/build.h"
#include "hlo/internal.h"
#include <string.h>

hlo_block *hlo_combiner(hlo_graph *g, hlo_op op, tt_dtype dtype) {
    hlo_type scalar = hlo_type_make(dtype, 0, NULL);
    hlo_block *saved, *b = hlo_block_begin(g, &saved);
    hlo_ref old = hlo_param(g, &scalar), new = hlo_param(g, &scalar);
    hlo_ref r = op == HLO_INVALID ? new : hlo_binary(g, op, old, new);
    hlo_return(g, 1, &r);
    hlo_block_end(g, saved);
    return b;
}

static hlo_ref identity_of(hlo_graph *g, hlo_op op, tt_dtype dtype) {
    hlo_type scalar = hlo_type_make(dtype, 0, NULL);
    switch ((int)op) {
    case HLO_ADD:
    case HLO_OR:
    case HLO_XOR:
        return hlo_splat(g, &scalar, 0);
    case HLO_MULTIPLY:
        return hlo_splat(g, &scalar, 1);
    case HLO_MAXIMUM:
        return hlo_min_value(g, &scalar);
    case HLO_MINIMUM:
        return hlo_max_value(g, &scalar);
    case HLO_AND:
        return dtype == TT_PRED ? hlo_splat(g, &scalar, 1) : hlo_splat_int(g, &scalar, -1);
    }
    return HLO_FAIL(g, INTERNAL, "%s is no reduction", hlo_op_text(op));
}

/* A transposed value, or what one was converted to, is reduced as it lies, and what is left is transposed. */
static hlo_ref reduce_untransposed(hlo_graph *g, hlo_op op, hlo_ref x, hlo_ref init, int n_dims, const int64_t *dims) {
    const tt_dtype dtype = hlo_type_of(g, x)->dtype;
    const hlo_node *top = hlo_node_at(g, x), *n = top->op == HLO_CONVERT ? hlo_node_at(g, top->operands[0]) : top;
    const hlo_ref from = n->operands[0];
    const int rank = n->type->rank;
    int64_t permutation[HLO_MAX_RANK], reduced[HLO_MAX_RANK], left[HLO_MAX_RANK];
    int position[HLO_MAX_RANK], n_left = 0, at = 0;
    bool gone[HLO_MAX_RANK] = {false}, in_order = true;
    memcpy(permutation, hlo_attr_ints(n, HLO_A_PERMUTATION).v, sizeof *permutation * (size_t)rank);
    for (int i = 0; i < n_dims; i++) {
        reduced[i] = permutation[dims[i]];
        gone[reduced[i]] = true;
    }
    for (int d = 0; d < rank; d++)
        position[d] = gone[d] ? -1 : at++;
    for (int d = 0; d < rank; d++)
        if (!gone[permutation[d]]) {
            left[n_left] = position[permutation[d]];
            in_order = in_order && left[n_left] == n_left;
            n_left++;
        }
    hlo_ref r = hlo_reduce(g, op, hlo_convert(g, from, dtype), init, n_dims, reduced);
    return in_order || !r ? r : hlo_transpose(g, r, left);
}

hlo_ref hlo_reduce(hlo_graph *g, hlo_op op, hlo_ref x, hlo_ref init, int n_dims, const int64_t *dims) {
    const hlo_type *t = hlo_need(g, "reduce", x);
    if (!t)
        return HLO_NONE;
    bool legal = true;
    for (int i = 0; i < n_dims; i++)
        legal = legal && dims[i] >= 0 && dims[i] < t->rank;
    const hlo_node *n = hlo_node_at(g, x);
    n = n->op == HLO_CONVERT ? hlo_node_at(g, n->operands[0]) : n;
    if (legal && n->op == HLO_TRANSPOSE)
        return reduce_untransposed(g, op, x, init, n_dims, dims);
    if (!init)
        init = identity_of(g, op, t->dtype);
    hlo_block *region = hlo_combiner(g, op, t->dtype);
    hlo_attr a = hlo_attr_make_ints(g, HLO_A_DIMENSIONS, n_dims, dims);
    hlo_ref operands[2] = {x, init};
    return hlo_make(g, HLO_REDUCE, 2, operands, 1, &a, 1, &region, 1, NULL);
}

hlo_ref hlo_reduce_keep(hlo_graph *g, hlo_op op, hlo_ref x, hlo_ref init, int n_dims, const int64_t *dims) {
    const hlo_type *t = hlo_need(g, "reduce", x);
    if (!t)
        return HLO_NONE;
    hlo_ref r = hlo_reduce(g, op, x, init, n_dims, dims);
    if (!r)
        return HLO_NONE;
    hlo_type kept = *t;
    for (int i = 0; i < n_dims; i++)
        kept.dims[dims[i]] = 1;
    return hlo_reshape(g, r, kept.rank, kept.dims);
}

/* (value, index) pairs: the better value wins; among equals (and among NaNs) the smaller index. */
static hlo_block *arg_region(hlo_graph *g, hlo_op op, tt_dtype dtype, tt_dtype index_dtype) {
    hlo_type value = hlo_type_make(dtype, 0, NULL), index = hlo_type_make(index_dtype, 0, NULL);
    hlo_block *saved, *b = hlo_block_begin(g, &saved);
    hlo_ref x = hlo_param(g, &value), i = hlo_param(g, &index), y = hlo_param(g, &value),
            j = hlo_param(g, &index);
    hlo_ref better = hlo_compare(g, op == HLO_MAXIMUM ? "GT" : "LT", x, y),
            equal = hlo_compare(g, "EQ", x, y);
    if (tt_is_float(dtype)) {
        hlo_ref x_nan = hlo_compare(g, "NE", x, x), y_nan = hlo_compare(g, "NE", y, y);
        hlo_ref y_number = hlo_unary(g, HLO_NOT, y_nan);
        better = hlo_binary(g, HLO_OR, better, hlo_binary(g, HLO_AND, x_nan, y_number));
        equal = hlo_binary(g, HLO_OR, equal, hlo_binary(g, HLO_AND, x_nan, y_nan));
    }
    hlo_ref earlier = hlo_compare(g, "LT", i, j);
    hlo_ref take = hlo_binary(g, HLO_OR, better, hlo_binary(g, HLO_AND, equal, earlier));
    hlo_ref results[2] = {hlo_select(g, take, x, y), hlo_select(g, take, i, j)};
    hlo_return(g, 2, results);
    hlo_block_end(g, saved);
    return b;
}

void hlo_reduce_arg(hlo_graph *g, hlo_op op, hlo_ref x, int dim, tt_dtype index_dtype, hlo_ref *out_value,
                    hlo_ref *out_index) {
    *out_value = *out_index = HLO_NONE;
    const hlo_type *t = hlo_need(g, "reduce_arg", x);
    if (!t)
        return;
    if (op != HLO_MAXIMUM && op != HLO_MINIMUM) {
        HLO_FAIL(g, INTERNAL, "reduce_arg: %s has no extreme", hlo_op_text(op));
        return;
    }
    /* the start is the worst value at index 0: where it ties, all elements tie and 0 is right */
    hlo_type indices = hlo_type_with(t, index_dtype);
    hlo_ref operands[4] = {x, hlo_iota(g, &indices, dim), identity_of(g, op, t->dtype),
                           hlo_scalar_int(g, index_dtype, 0)};
    hlo_block *region = arg_region(g, op, t->dtype, index_dtype);
    int64_t dim64 = dim;
    hlo_attr a = hlo_attr_make_ints(g, HLO_A_DIMENSIONS, 1, &dim64);
    hlo_ref r = hlo_make(g, HLO_REDUCE, 4, operands, 1, &a, 1, &region, 2, NULL);
    if (r) {
        *out_value = r;
        *out_index = r + 1;
    }
}

/* ---- windows ---- */

static hlo_attr window_ints(hlo_graph *g, hlo_attr_name name, int rank, const int64_t *v, int64_t absent) {
    int64_t filled[HLO_MAX_RANK];
    for (int i = 0; i < rank; i++)
        filled[i] = v ? v[i] : absent;
    return hlo_attr_make_ints(g, name, rank, filled);
}

static hlo_attr padding_attr(hlo_graph *g, int rank, const int64_t *low, const int64_t *high) {
    int64_t pairs[2 * HLO_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        pairs[2 * i] = low ? low[i] : 0;
        pairs[2 * i + 1] = high ? high[i] : 0;
    }
    return hlo_attr_make_ints2d(g, HLO_A_PADDING, rank, 2, pairs);
}

hlo_ref hlo_reduce_window(hlo_graph *g, hlo_op op, hlo_ref x, hlo_ref init, const hlo_window *w) {
    const hlo_type *t = hlo_need(g, "reduce_window", x);
    if (!t)
        return HLO_NONE;
    if (!init)
        init = identity_of(g, op, t->dtype);
    hlo_block *region = hlo_combiner(g, op, t->dtype);
    hlo_attr attrs[5] = {window_ints(g, HLO_A_WINDOW_DIMENSIONS, t->rank, w->size, 1),
                         window_ints(g, HLO_A_WINDOW_STRIDES, t->rank, w->stride, 1),
                         window_ints(g, HLO_A_BASE_DILATIONS, t->rank, w->base_dilation, 1),
                         window_ints(g, HLO_A_WINDOW_DILATIONS, t->rank, w->dilation, 1),
                         padding_attr(g, t->rank, w->padding_low, w->padding_high)};
    hlo_ref operands[2] = {x, init};
    return hlo_make(g, HLO_REDUCE_WINDOW, 2, operands, 5, attrs, 1, &region, 1, NULL);
}

hlo_ref hlo_select_and_scatter(hlo_graph *g, hlo_ref x, hlo_ref source, hlo_ref init, const char *select,
                               const hlo_window *w) {
    const hlo_type *t = hlo_need(g, "select_and_scatter", x);
    if (!t)
        return HLO_NONE;
    if (!init)
        init = identity_of(g, HLO_ADD, t->dtype);
    hlo_type scalar = hlo_type_make(t->dtype, 0, NULL);
    hlo_block *saved, *regions[2];
    regions[0] = hlo_block_begin(g, &saved);
    hlo_ref a = hlo_param(g, &scalar), b = hlo_param(g, &scalar), r = hlo_compare(g, select, a, b);
    hlo_return(g, 1, &r);
    hlo_block_end(g, saved);
    regions[1] = hlo_combiner(g, HLO_ADD, t->dtype);
    hlo_attr attrs[3] = {window_ints(g, HLO_A_WINDOW_DIMENSIONS, t->rank, w->size, 1),
                         window_ints(g, HLO_A_WINDOW_STRIDES, t->rank, w->stride, 1),
                         padding_attr(g, t->rank, w->padding_low, w->padding_high)};
    hlo_ref operands[3] = {x, source, init};
    return hlo_make(g, HLO_SELECT_AND_SCATTER, 3, operands, 3, attrs, 2, regions, 1, NULL);
}

/* ---- sort ---- */

/* a before b: the smaller (or larger) first, NaN greater than every number. */
static hlo_ref sort_order(hlo_graph *g, hlo_ref a, hlo_ref b, tt_dtype dtype, bool descending) {
    hlo_ref before = hlo_compare(g, descending ? "GT" : "LT", a, b);
    if (!tt_is_float(dtype))
        return before;
    hlo_ref great = descending ? a : b, other = descending ? b : a;
    hlo_ref great_nan = hlo_compare(g, "NE", great, great), other_number = hlo_compare(g, "EQ", other, other);
    return hlo_binary(g, HLO_OR, before, hlo_binary(g, HLO_AND, great_nan, other_number));
}

void hlo_sort(hlo_graph *g, int n, const hlo_ref *xs, int dim, bool descending, bool stable,
              hlo_ref *out_values) {
    memset(out_values, 0, sizeof *out_values * (size_t)n);
    for (int i = 0; i < n; i++)
        if (!hlo_need(g, "sort", xs[i]))
            return;
    if (n < 1) {
        HLO_FAIL(g, INTERNAL, "sort: needs an operand");
        return;
    }
    hlo_block *saved, *region = hlo_block_begin(g, &saved);
    hlo_ref first[2] = {HLO_NONE, HLO_NONE};
    for (int i = 0; i < 2 * n; i++) {
        hlo_type scalar = hlo_type_make(hlo_type_of(g, xs[i / 2])->dtype, 0, NULL);
        hlo_ref p = hlo_param(g, &scalar);
        if (i < 2)
            first[i] = p;
    }
    hlo_ref before = sort_order(g, first[0], first[1], hlo_type_of(g, xs[0])->dtype, descending);
    hlo_return(g, 1, &before);
    hlo_block_end(g, saved);
    hlo_attr attrs[2] = {hlo_attr_make_int(HLO_A_DIMENSION, dim),
                         hlo_attr_make_bool(HLO_A_IS_STABLE, stable)};
    hlo_ref r = hlo_make(g, HLO_SORT, n, xs, 2, attrs, 1, &region, n, NULL);
    for (int i = 0; i < n && r; i++)
        out_values[i] = r + (hlo_ref)i;
}

void hlo_top_k(hlo_graph *g, hlo_ref x, int64_t k, hlo_ref *out_values, hlo_ref *out_indices) {
    *out_values = *out_indices = HLO_NONE;
    hlo_attr a = hlo_attr_make_int(HLO_A_K, k);
    hlo_ref r = hlo_make(g, HLO_CHLO_TOP_K, 1, &x, 1, &a, 0, NULL, 2, NULL);
    if (r) {
        *out_values = r;
        *out_indices = r + 1;
    }
}

/* ---- products ---- */

static hlo_attr precision_attr(hlo_graph *g, const char *precision) {
    const char *p = precision ? precision : "DEFAULT";
    return hlo_attr_make_text(g, HLO_A_PRECISION_CONFIG, tt_arena_printf(g->arena, "%s,%s", p, p));
}

/* The op with its result in another element type: shape rule first, then the type it was asked for. */
static hlo_ref make_with_dtype(hlo_graph *g, hlo_op op, const hlo_ref *operands, int n_attrs,
                               const hlo_attr *attrs, tt_dtype dtype) {
    if (g->error)
        return HLO_NONE;
    for (int i = 0; i < 2; i++)
        if (!operands[i])
            return HLO_FAIL(g, INTERNAL, "%s: operand %d is no value", hlo_op_text(op), i);
    if (dtype == TT_DTYPE_NONE)
        return hlo_make(g, op, 2, operands, n_attrs, attrs, 0, NULL, 1, NULL);
    hlo_node node = {.op = (uint16_t)op,
                     .n_results = 1,
                     .n_attrs = (uint16_t)n_attrs,
                     .n_operands = 2,
                     .operands = operands,
                     .attrs = attrs};
    hlo_type type;
    tt_status error = hlo_infer(g, &node, NULL, &type);
    if (error)
        return hlo_fail(g, error);
    type.dtype = dtype;
    return hlo_make(g, op, 2, operands, n_attrs, attrs, 0, NULL, 1, &type);
}

hlo_ref hlo_dot_general(hlo_graph *g, hlo_ref a, hlo_ref b, const hlo_dims *dims, tt_dtype out_dtype,
                        const char *precision) {
    hlo_attr attrs[2] = {hlo_attr_make_dims(g, HLO_A_DOT_DIMENSION_NUMBERS, dims),
                         precision_attr(g, precision)};
    hlo_ref operands[2] = {a, b};
    return make_with_dtype(g, HLO_DOT_GENERAL, operands, 2, attrs, out_dtype);
}

hlo_ref hlo_matmul(hlo_graph *g, hlo_ref a, hlo_ref b, int n_batch, tt_dtype out_dtype,
                   const char *precision) {
    if (n_batch < 0 || n_batch > HLO_MAX_RANK - 2)
        return HLO_FAIL(g, INTERNAL, "matmul: %d batch dims", n_batch);
    int64_t batch[HLO_MAX_RANK], x_k = n_batch + 1, y_k = n_batch;
    for (int i = 0; i < n_batch; i++)
        batch[i] = i;
    hlo_dims d = {
        .kind = HLO_DIMS_DOT, .a = {n_batch, batch}, .b = {n_batch, batch}, .c = {1, &x_k}, .d = {1, &y_k}};
    return hlo_dot_general(g, a, b, &d, out_dtype, precision);
}

hlo_ref hlo_convolution(hlo_graph *g, hlo_ref x, hlo_ref w, const hlo_conv *c, tt_dtype out_dtype,
                        const char *precision) {
    const hlo_type *t = hlo_need(g, "convolution", x);
    if (!t)
        return HLO_NONE;
    int s = t->rank - 2;
    if (s < 0)
        return HLO_FAIL(g, INVALID_ARGUMENT, "convolution: %s needs a rank of at least 2",
                        hlo_type_print(g->arena, t));
    hlo_attr attrs[9] = {
        window_ints(g, HLO_A_WINDOW_STRIDES, s, c->stride, 1),
        padding_attr(g, s, c->padding_low, c->padding_high),
        window_ints(g, HLO_A_LHS_DILATION, s, c->lhs_dilation, 1),
        window_ints(g, HLO_A_RHS_DILATION, s, c->rhs_dilation, 1),
        window_ints(g, HLO_A_WINDOW_REVERSAL, s, c->window_reversal, 0),
        hlo_attr_make_dims(g, HLO_A_DIMENSION_NUMBERS, &c->dims),
        hlo_attr_make_int(HLO_A_FEATURE_GROUP_COUNT, c->feature_groups ? c->feature_groups : 1),
        hlo_attr_make_int(HLO_A_BATCH_GROUP_COUNT, c->batch_groups ? c->batch_groups : 1),
        precision_attr(g, precision)};
    hlo_ref operands[2] = {x, w};
    return make_with_dtype(g, HLO_CONVOLUTION, operands, 9, attrs, out_dtype);
}

/* ---- linear algebra, FFT, random bits ---- */

hlo_ref hlo_cholesky(hlo_graph *g, hlo_ref x, bool lower) {
    hlo_attr a = hlo_attr_make_bool(HLO_A_LOWER, lower);
    return hlo_make(g, HLO_CHOLESKY, 1, &x, 1, &a, 0, NULL, 1, NULL);
}

hlo_ref hlo_triangular_solve(hlo_graph *g, hlo_ref a, hlo_ref b, bool left, bool lower, bool unit,
                             const char *transpose) {
    const hlo_type *t = hlo_need(g, "triangular_solve", b);
    if (!t)
        return HLO_NONE;
    hlo_attr attrs[4] = {hlo_attr_make_bool(HLO_A_LEFT_SIDE, left), hlo_attr_make_bool(HLO_A_LOWER, lower),
                         hlo_attr_make_bool(HLO_A_UNIT_DIAGONAL, unit),
                         hlo_attr_make_text(g, HLO_A_TRANSPOSE_A, transpose ? transpose : "NO_TRANSPOSE")};
    hlo_ref operands[2] = {a, b};
    return hlo_make(g, HLO_TRIANGULAR_SOLVE, 2, operands, 4, attrs, 0, NULL, 1, t);
}

hlo_ref hlo_fft(hlo_graph *g, hlo_ref x, const char *type, int n, const int64_t *lengths) {
    hlo_attr attrs[2] = {hlo_attr_make_text(g, HLO_A_FFT_TYPE, type),
                         hlo_attr_make_ints(g, HLO_A_FFT_LENGTH, n, lengths)};
    return hlo_make(g, HLO_FFT, 1, &x, 2, attrs, 0, NULL, 1, NULL);
}

void hlo_rng_bits(hlo_graph *g, hlo_ref state, const char *algorithm, const hlo_type *bits,
                  hlo_ref *out_state, hlo_ref *out_bits) {
    *out_state = *out_bits = HLO_NONE;
    const hlo_type *t = hlo_need(g, "rng_bit_generator", state);
    if (!t)
        return;
    hlo_attr a = hlo_attr_make_text(g, HLO_A_RNG_ALGORITHM, algorithm);
    hlo_type types[2] = {*t, *bits};
    hlo_ref r = hlo_make(g, HLO_RNG_BIT_GENERATOR, 1, &state, 1, &a, 0, NULL, 2, types);
    if (r) {
        *out_state = r;
        *out_bits = r + 1;
    }
}

/* embedding_bag.c - sums, means and maxima of embedding rows over bags (consecutive indices from one offset
 * to the next), and the gradient.
 *
 * Bags are found by counting the offsets up to each position. Rows of padding_idx count nowhere. */
#include "aten/index.h"
#include <math.h>

enum { SUM = 0, MEAN = 1, MAX = 2 };

static hlo_ref scatter_sum(tt_lower *L, hlo_ref into, hlo_ref at, hlo_ref updates, hlo_op op) {
    hlo_type t = piece_type(L, into);
    static const int64_t zero[1] = {0}, window[1] = {1};
    int64_t column[2] = {piece_type(L, at).dims[0], 1};
    hlo_dims d = {.kind = HLO_DIMS_SCATTER,
                  .a = {t.rank - 1, window},
                  .b = {1, zero},
                  .e = {1, zero},
                  .index_vector_dim = 1};
    return hlo_scatter(L->g, into, hlo_reshape(L->g, at, 2, column), updates, &d, op, false, NULL);
}

/* The bag of each position: how many offsets are not beyond it, less one. Counts where bags begin and adds up; an offset at the
 * end (of an empty bag) falls outside and is dropped. */
static hlo_ref bag_of(tt_lower *L, hlo_ref offsets, int64_t n, int64_t n_bags) {
    hlo_graph *g = L->g;
    int64_t flat[1] = {n}, bags[1] = {n_bags}, low[1] = {n - 1};
    hlo_type one = hlo_type_make(TT_I32, 1, flat), each = hlo_type_make(TT_I32, 1, bags);
    if (n_bags == 0)
        return hlo_splat(g, &one, 0);
    hlo_ref begun = scatter_sum(L, hlo_splat(g, &one, 0), offsets, hlo_splat(g, &each, 1), HLO_ADD);
    if (n > 1) {
        hlo_window w = {.size = flat, .padding_low = low};
        begun = hlo_reduce_window(g, HLO_ADD, begun, HLO_NONE, &w);
    }
    return hlo_sub(g, begun, hlo_splat(g, &one, 1));
}

static hlo_ref not_padding(tt_lower *L, hlo_ref index, int64_t padding, tt_dtype wide) {
    hlo_type t = piece_type(L, index), wt = hlo_type_with(&t, wide);
    if (padding < 0)
        return hlo_splat(L->g, &wt, 1);
    return hlo_convert(L->g, hlo_compare(L->g, "NE", index, hlo_splat_int(L->g, &t, padding)), wide);
}

/* rows with -inf instead of each NaN that is not of its bag's first row: as comparisons one after the other have it, from that row on. */
static hlo_ref numbers_after_first(tt_lower *L, hlo_ref rows, hlo_ref use, hlo_ref bag, int64_t n_bags) {
    hlo_graph *g = L->g;
    hlo_type rt = piece_type(L, rows), at = hlo_type_make(TT_I32, 1, rt.dims), bags = hlo_type_make(TT_I32, 1, &n_bags), all = hlo_type_with(&rt, TT_PRED);
    hlo_ref last = hlo_splat_int(g, &at, rt.dims[0] - 1), here = hlo_iota(g, &at, 0);
    hlo_ref first = scatter_sum(L, hlo_splat_int(g, &bags, rt.dims[0] - 1), bag, hlo_select(g, piece_compare(L, "NE", use, 0), here, last), HLO_MINIMUM);
    hlo_ref later = piece_along(L, hlo_compare(g, "NE", index_rows(L, first, 0, bag, NULL), here), &all, 0);
    return hlo_select(g, hlo_binary(g, HLO_AND, later, hlo_compare(g, "NE", rows, rows)), hlo_splat(g, &rt, -INFINITY), rows);
}

/* The results of mode max: the largest of each bag's values, 0 of an empty one, and whose row it is (the first of equals, or of NaN). */
static tt_status bag_maxima(tt_lower *L, const hlo_type *out, hlo_ref rows, hlo_ref use, hlo_ref used, hlo_ref empty, hlo_ref bag,
                            hlo_ref index, hlo_ref count, tt_dtype index_dtype) {
    hlo_graph *g = L->g;
    hlo_type rt = piece_type(L, rows), at = hlo_type_with(&rt, TT_I32), best = hlo_type_with(out, TT_I32);
    TT_CHECK(!lower_has(L, 6), INVALID_ARGUMENT, "embedding_bag: per_sample_weights was not None, but only mode='sum' takes it");
    rows = hlo_select(g, used, numbers_after_first(L, rows, use, bag, out->dims[0]), hlo_splat(g, &rt, -INFINITY));
    hlo_ref y = scatter_sum(L, hlo_splat(g, out, -INFINITY), bag, rows, HLO_MAXIMUM);
    hlo_ref largest = hlo_binary(g, HLO_OR, hlo_compare(g, "EQ", rows, index_rows(L, y, 0, bag, NULL)), hlo_compare(g, "NE", rows, rows));
    hlo_ref hit = hlo_binary(g, HLO_AND, used, largest);
    hlo_ref last = hlo_splat_int(g, &at, rt.dims[0] - 1), place = hlo_select(g, hit, hlo_iota(g, &at, 0), last);
    hlo_ref first = scatter_sum(L, hlo_splat_int(g, &best, rt.dims[0] - 1), bag, place, HLO_MINIMUM);
    int64_t flat[1] = {out->dims[0] * out->dims[1]};
    hlo_ref whose = hlo_reshape(g, index_rows(L, index, 0, hlo_reshape(g, first, 1, flat), NULL), 2, out->dims);
    lower_out(L, hlo_convert(g, hlo_select(g, empty, hlo_splat(g, out, 0), y), piece_type(L, lower_value(L, 0)).dtype));
    lower_out(L, hlo_convert(g, bag, index_dtype));
    lower_out(L, hlo_convert(g, count, index_dtype));
    lower_out(L, hlo_convert(g, hlo_select(g, empty, hlo_splat_like(g, whose, 0), whose), index_dtype));
    return TT_OK;
}

/* The gradient of mode max: each bag's goes to the rows that gave its values. */
static tt_status bag_maxima_backward(tt_lower *L, hlo_ref grad, hlo_ref size, hlo_ref whose, const int64_t *table) {
    static const int64_t zero[1] = {0};
    hlo_graph *g = L->g;
    hlo_type t = piece_type(L, grad), it = hlo_type_with(&t, TT_I64);
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    int64_t all[1] = {table[0] * table[1]}, column[2] = {hlo_type_elements(&t), 1}, flat[1] = {hlo_type_elements(&t)};
    hlo_ref at = hlo_add(g, hlo_mul(g, hlo_convert(g, whose, TT_I64), hlo_splat_int(g, &it, table[1])), hlo_iota(g, &it, 1));
    hlo_type bt = hlo_type_with(&t, TT_PRED);
    hlo_ref filled = piece_along(L, piece_compare(L, "GT", size, 0), &bt, 0);
    hlo_ref v = hlo_select(g, filled, hlo_convert(g, grad, wide), piece_zeros(L, wide, 2, t.dims));
    hlo_dims d = {.kind = HLO_DIMS_SCATTER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    hlo_ref r = hlo_scatter(g, piece_zeros(L, wide, 1, all), hlo_reshape(g, at, 2, column), hlo_reshape(g, v, 1, flat), &d,
                            HLO_ADD, false, NULL);
    lower_out(L, hlo_convert(g, hlo_reshape(g, r, 2, table), t.dtype));
    return TT_OK;
}

/* Sums or means with nothing left out: y, the bag of each index and the size of each bag, as the composite tt.embedding_bag. */
static tt_status plain_bags(tt_lower *L, hlo_ref table, hlo_ref index, hlo_ref offsets, bool mean, tt_dtype index_dtype) {
    hlo_graph *g = L->g;
    hlo_ref in[3] = {table, hlo_convert(g, index, TT_I64), hlo_convert(g, offsets, TT_I64)}, p[3], results[3], out[3];
    const char *attributes = tt_arena_printf(L->arena, "checked = %s, mean = %s", L->check_bounds ? "true" : "false", mean ? "true" : "false");
    hlo_composite c = hlo_composite_begin(g, "tt.embedding_bag", attributes, 3, in, p);
    hlo_type t = piece_type(L, p[0]), it = piece_type(L, p[1]), ot = piece_type(L, p[2]);
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    int64_t dims[2] = {ot.dims[0], t.dims[1]};
    hlo_type y_type = hlo_type_make(wide, 2, dims), sizes = hlo_type_make(TT_I64, 1, dims);
    hlo_ref bag = bag_of(L, p[2], it.dims[0], dims[0]);
    hlo_ref rows = hlo_convert(g, index_rows(L, p[0], 0, index_narrow(L, p[1], t.dims[0]), index_bounds(L)), wide);
    hlo_ref count = scatter_sum(L, hlo_splat(g, &sizes, 0), bag, hlo_splat_like(g, p[1], 1), HLO_ADD);
    hlo_ref y = scatter_sum(L, hlo_splat(g, &y_type, 0), bag, rows, HLO_ADD);
    if (mean) {
        hlo_ref size = piece_along(L, hlo_convert(g, count, wide), &y_type, 0);
        y = hlo_select(g, hlo_compare(g, "EQ", size, hlo_splat_like(g, size, 0)), y, hlo_div(g, y, size));
    }
    results[0] = hlo_convert(g, y, t.dtype);
    results[1] = hlo_convert(g, bag, TT_I64);
    results[2] = count;
    hlo_composite_end(g, &c, 3, results, out);
    int64_t nothing[1] = {0};
    hlo_type lt = hlo_type_make(index_dtype, 1, dims), none = hlo_type_make(index_dtype, 1, nothing);
    const bool sum_only = L->row->param && !mean; /* without a backward PyTorch's CPU leaves the bags of sums out */
    lower_out(L, out[0]);
    if (sum_only) {
        lower_out_zeros(L, &none);
        lower_out_zeros(L, &lt);
    } else {
        lower_out(L, hlo_convert(g, out[1], index_dtype));
        lower_out(L, hlo_convert(g, out[2], index_dtype));
    }
    lower_out_zeros(L, &lt);
    return TT_OK;
}

/* _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
 * include_last_offset, padding_idx); param 1: its forward_only form
 * -> (output, offset2bag, bag_size, maximum_indices) */
LOWER(lower_embedding_bag) {
    hlo_graph *g = L->g;
    hlo_ref table = lower_value(L, 0), index = lower_value(L, 1), offsets = lower_value(L, 2);
    hlo_type t = piece_type(L, table), it = piece_type(L, index), ot = piece_type(L, offsets);
    TT_CHECK(t.rank == 2 && it.rank == 1 && ot.rank == 1 && tt_is_float(t.dtype), UNIMPLEMENTED,
             "embedding_bag of these tensors");
    TT_TRY(index_check(L, it.dtype));
    int64_t padding = lower_int(L, 8, -1), n = it.dims[0],
            n_bags = ot.dims[0] - (lower_bool(L, 7, false) ? 1 : 0), last[1] = {n_bags};
    int mode = (int)lower_int(L, 4, SUM);
    TT_CHECK(n > 0 && n_bags > 0, UNIMPLEMENTED,
             "embedding_bag of %lld indices in %lld bags", (long long)n, (long long)n_bags);
    if (padding < 0 && padding != -1)
        padding += t.dims[0];
    if (mode != MAX && padding < 0 && !lower_has(L, 6))
        return plain_bags(L, table, index, hlo_slice_dim(g, offsets, 0, 0, n_bags, 1), mode == MEAN, it.dtype);
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    int64_t dims[2] = {n_bags, t.dims[1]};
    hlo_type out = hlo_type_make(wide, 2, dims), sizes = hlo_type_make(wide, 1, dims);
    hlo_ref bag = bag_of(L, hlo_slice_dim(g, offsets, 0, 0, n_bags, 1), n, n_bags),
            use = not_padding(L, index, padding, wide);
    hlo_ref rows =
        hlo_convert(g, index_rows(L, table, 0, index_narrow(L, index, t.dims[0]), index_bounds(L)), wide);
    hlo_type rt = piece_type(L, rows);
    hlo_ref count = scatter_sum(L, hlo_splat(g, &sizes, 0), bag, use, HLO_ADD), y;
    hlo_ref used = piece_along(L, piece_compare(L, "NE", use, 0), &rt, 0),
            empty = piece_along(L, piece_compare(L, "EQ", count, 0), &out, 0);
    if (mode == MAX)
        return bag_maxima(L, &out, rows, use, used, empty, bag, index, count, it.dtype);
    if (lower_has(L, 6))
        rows = hlo_mul(g, rows, piece_along(L, hlo_convert(g, lower_value(L, 6), wide), &rt, 0));
    if (padding >= 0)
        rows = hlo_select(g, used, rows, hlo_splat(g, &rt, 0));
    y = scatter_sum(L, hlo_splat(g, &out, 0), bag, rows, HLO_ADD);
    if (mode == MEAN)
        y = hlo_select(g, empty, y, hlo_div(g, y, piece_along(L, count, &out, 0)));
    lower_out(L, hlo_convert(g, y, t.dtype));
    lower_out(L, hlo_convert(g, bag, it.dtype));
    lower_out(L, hlo_convert(g, count, it.dtype));
    hlo_type lt = hlo_type_make(it.dtype, 1, last);
    lower_out(L, hlo_splat(g, &lt, 0));
    return TT_OK;
}

/* _embedding_bag_dense_backward(grad, indices, offset2bag, bag_size, maximum_indices, num_weights,
 * scale_grad_by_freq, mode, per_sample_weights, padding_idx); param 1, _embedding_bag_backward: offsets comes
 * before offset2bag, and sparse before per_sample_weights. */
LOWER(lower_embedding_bag_backward) {
    hlo_graph *g = L->g;
    int shift = L->row->param, late = 2 * shift; /* of arguments before and after `sparse` */
    TT_CHECK(!shift || !lower_bool(L, 9, false), UNIMPLEMENTED, "embedding_bag with sparse gradients");
    hlo_ref grad = lower_value(L, 0), index = lower_value(L, 1), bag = lower_value(L, 2 + shift);
    hlo_type t = piece_type(L, grad), it = piece_type(L, index);
    int64_t weights = lower_int(L, 5 + shift, 0), padding = lower_int(L, 9 + late, -1),
            table[2] = {weights, t.rank == 2 ? t.dims[1] : 0};
    int mode = (int)lower_int(L, 7 + shift, SUM);
    TT_CHECK(t.rank == 2 && hlo_type_elements(&it) > 0 && hlo_type_elements(&t) > 0,
             UNIMPLEMENTED, "embedding_bag backward of these tensors");
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    if (mode == MAX)
        return bag_maxima_backward(L, grad, lower_value(L, 3 + shift), lower_value(L, 4 + shift), table);
    if (padding < 0 && padding != -1)
        padding += weights;
    hlo_ref rows = hlo_convert(g, index_rows(L, grad, 0, bag, NULL), wide),
            use = not_padding(L, index, padding, wide);
    hlo_type rt = piece_type(L, rows), wt = hlo_type_make(wide, 1, table);
    if (mode == MEAN) {
        hlo_ref size = hlo_convert(g, index_rows(L, lower_value(L, 3 + shift), 0, bag, NULL), wide);
        rows = hlo_div(g, rows,
                       piece_along(L, hlo_binary(g, HLO_MAXIMUM, size, hlo_splat_like(g, size, 1)), &rt, 0));
    }
    if (lower_has(L, 8 + late))
        rows = hlo_mul(g, rows, piece_along(L, hlo_convert(g, lower_value(L, 8 + late), wide), &rt, 0));
    if (lower_bool(L, 6 + shift, false)) {
        hlo_ref ones = hlo_splat_like(g, use, 1),
                counts = scatter_sum(L, hlo_splat(g, &wt, 0), index, ones, HLO_ADD);
        rows = hlo_div(g, rows, piece_along(L, index_rows(L, counts, 0, index, NULL), &rt, 0));
    }
    if (padding >= 0)
        rows = hlo_select(g, piece_along(L, piece_compare(L, "NE", use, 0), &rt, 0), rows, hlo_splat(g, &rt, 0));
    lower_out(L, index_sum_rows(L, rows, index, weights, t.dtype));
    return TT_OK;
}

/* _embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, offset2bag, mode, padding_idx):
 * the product of each sample's row with its bag's gradient */
LOWER(lower_embedding_bag_samples_backward) {
    hlo_graph *g = L->g;
    hlo_ref grad = lower_value(L, 0), table = lower_value(L, 1), index = lower_value(L, 2),
            bag = lower_value(L, 4);
    hlo_type t = piece_type(L, grad), wt = piece_type(L, table), it = piece_type(L, index);
    TT_CHECK(t.rank == 2 && wt.rank == 2 && hlo_type_elements(&it) > 0 && hlo_type_elements(&t) > 0,
             UNIMPLEMENTED, "embedding_bag backward of these tensors");
    TT_CHECK(lower_int(L, 5, SUM) == SUM, INVALID_ARGUMENT,
             "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
    int64_t padding = lower_int(L, 6, -1), over[1] = {1};
    if (padding < 0 && padding != -1)
        padding += wt.dims[0];
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    hlo_ref rows =
        hlo_convert(g, index_rows(L, table, 0, index_narrow(L, index, wt.dims[0]), index_bounds(L)), wide);
    hlo_ref sums =
        hlo_reduce(g, HLO_ADD, hlo_mul(g, rows, hlo_convert(g, index_rows(L, grad, 0, bag, NULL), wide)),
                   HLO_NONE, 1, over);
    hlo_ref use = not_padding(L, index, padding, wide);
    sums = hlo_select(g, piece_compare(L, "NE", use, 0), sums, hlo_splat_like(g, sums, 0));
    lower_out(L, hlo_convert(g, sums, t.dtype));
    return TT_OK;
}

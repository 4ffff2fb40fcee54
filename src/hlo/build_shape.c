/* build_shape.c - builders of ops that move elements. Identities fold, chains of reshapes and of transposes
 * become one, and a splat constant stays a splat constant through anything that only moves elements. */
#include "hlo/build.h"
#include "hlo/internal.h"
#include <string.h>

/* x is a splat constant: the same element in another shape. */
static hlo_ref resplat(hlo_graph *g, hlo_ref x, const hlo_type *to) {
    const hlo_node *n = hlo_node_at(g, x);
    if (n->op != HLO_CONSTANT)
        return HLO_NONE;
    const hlo_attr *a = hlo_attr_find(n, HLO_A_VALUE);
    if (!a || !a->splat || !hlo_type_valid(to))
        return HLO_NONE;
    hlo_attr value = hlo_attr_make_dense(g, to, a->data, true);
    return hlo_make(g, HLO_CONSTANT, 0, NULL, 1, &value, 0, NULL, 1, value.type);
}

static hlo_ref rank_error(hlo_graph *g, const char *builder, int rank) {
    return HLO_FAIL(g, INVALID_ARGUMENT, "%s: rank %d is outside 0..%d", builder, rank, HLO_MAX_RANK);
}

hlo_ref hlo_reshape(hlo_graph *g, hlo_ref x, int rank, const int64_t *dims) {
    const hlo_type *t = hlo_need(g, "reshape", x);
    if (!t)
        return HLO_NONE;
    if (rank < 0 || rank > HLO_MAX_RANK)
        return rank_error(g, "reshape", rank);
    hlo_type to = hlo_type_make(t->dtype, rank, dims);
    if (hlo_type_equal(t, &to))
        return x;
    const hlo_node *n = hlo_node_at(g, x);
    if (n->op == HLO_RESHAPE)
        return hlo_reshape(g, n->operands[0], rank, dims);
    if (hlo_type_valid(&to) && hlo_type_elements(t) == hlo_type_elements(&to)) {
        hlo_ref splat = resplat(g, x, &to);
        if (splat)
            return splat;
    }
    return hlo_make(g, HLO_RESHAPE, 1, &x, 0, NULL, 0, NULL, 1, &to);
}

hlo_ref hlo_transpose(hlo_graph *g, hlo_ref x, const int64_t *permutation) {
    const hlo_type *t = hlo_need(g, "transpose", x);
    if (!t)
        return HLO_NONE;
    int64_t p[HLO_MAX_RANK];
    hlo_ints given = {t->rank, permutation};
    if (!hlo_dims_distinct(given, t->rank))
        return HLO_FAIL(g, INVALID_ARGUMENT, "transpose: permutation is none of rank %d", t->rank);
    const hlo_node *n = hlo_node_at(g, x);
    hlo_ref source = x;
    hlo_ints inner = {0, NULL};
    if (n->op == HLO_TRANSPOSE) {
        source = n->operands[0];
        inner = hlo_attr_ints(n, HLO_A_PERMUTATION);
    }
    bool identity = true;
    for (int i = 0; i < t->rank; i++) {
        p[i] = inner.n ? inner.v[permutation[i]] : permutation[i];
        identity &= p[i] == i;
    }
    if (identity)
        return source;
    hlo_attr a = hlo_attr_make_ints(g, HLO_A_PERMUTATION, t->rank, p);
    hlo_type to = *t;
    for (int i = 0; i < t->rank; i++)
        to.dims[i] = t->dims[permutation[i]];
    hlo_ref splat = resplat(g, x, &to);
    return splat ? splat : hlo_make(g, HLO_TRANSPOSE, 1, &source, 1, &a, 0, NULL, 1, NULL);
}

hlo_ref hlo_broadcast_in_dim(hlo_graph *g, hlo_ref x, int rank, const int64_t *dims, const int64_t *mapping) {
    const hlo_type *t = hlo_need(g, "broadcast_in_dim", x);
    if (!t)
        return HLO_NONE;
    if (rank < 0 || rank > HLO_MAX_RANK)
        return rank_error(g, "broadcast_in_dim", rank);
    hlo_type to = hlo_type_make(t->dtype, rank, dims);
    hlo_attr a = hlo_attr_make_ints(g, HLO_A_BROADCAST_DIMENSIONS, t->rank, mapping);
    hlo_ints m = {t->rank, a.ints};
    bool identity = hlo_type_equal(t, &to), valid = hlo_dims_distinct(m, rank);
    for (int i = 0; i < t->rank; i++) {
        identity &= mapping[i] == i;
        valid = valid && (t->dims[i] == 1 || t->dims[i] == dims[mapping[i]]);
    }
    if (identity)
        return x;
    hlo_ref splat = valid ? resplat(g, x, &to) : HLO_NONE;
    return splat ? splat : hlo_make(g, HLO_BROADCAST_IN_DIM, 1, &x, 1, &a, 0, NULL, 1, &to);
}

hlo_ref hlo_broadcast_to(hlo_graph *g, hlo_ref x, int rank, const int64_t *dims) {
    const hlo_type *t = hlo_need(g, "broadcast_to", x);
    if (!t)
        return HLO_NONE;
    if (rank < t->rank)
        return HLO_FAIL(g, INVALID_ARGUMENT, "broadcast: %s has more dimensions than the %d wanted",
                        hlo_type_print(g->arena, t), rank);
    int64_t mapping[HLO_MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        mapping[i] = rank - t->rank + i;
    return hlo_broadcast_in_dim(g, x, rank, dims, mapping);
}

hlo_ref hlo_slice(hlo_graph *g, hlo_ref x, const int64_t *start, const int64_t *limit,
                  const int64_t *stride) {
    const hlo_type *t = hlo_need(g, "slice", x);
    if (!t)
        return HLO_NONE;
    int64_t ones[HLO_MAX_RANK];
    for (int i = 0; i < HLO_MAX_RANK; i++)
        ones[i] = 1;
    if (!stride)
        stride = ones;
    bool everything = true;
    for (int i = 0; i < t->rank; i++)
        everything &= start[i] == 0 && limit[i] == t->dims[i] && stride[i] == 1;
    if (everything)
        return x;
    hlo_attr attrs[3] = {hlo_attr_make_ints(g, HLO_A_START_INDICES, t->rank, start),
                         hlo_attr_make_ints(g, HLO_A_LIMIT_INDICES, t->rank, limit),
                         hlo_attr_make_ints(g, HLO_A_STRIDES, t->rank, stride)};
    return hlo_make(g, HLO_SLICE, 1, &x, 3, attrs, 0, NULL, 1, NULL);
}

hlo_ref hlo_slice_dim(hlo_graph *g, hlo_ref x, int dim, int64_t start, int64_t limit, int64_t stride) {
    const hlo_type *t = hlo_need(g, "slice", x);
    if (!t)
        return HLO_NONE;
    if (dim < 0 || dim >= t->rank)
        return HLO_FAIL(g, INVALID_ARGUMENT, "slice: dimension %d is outside rank %d", dim, t->rank);
    int64_t starts[HLO_MAX_RANK] = {0}, limits[HLO_MAX_RANK], strides[HLO_MAX_RANK];
    for (int i = 0; i < t->rank; i++) {
        limits[i] = t->dims[i];
        strides[i] = 1;
    }
    starts[dim] = start;
    limits[dim] = limit;
    strides[dim] = stride;
    return hlo_slice(g, x, starts, limits, strides);
}

hlo_ref hlo_pad(hlo_graph *g, hlo_ref x, hlo_ref value, const int64_t *low, const int64_t *high,
                const int64_t *interior) {
    const hlo_type *t = hlo_need(g, "pad", x);
    if (!t)
        return HLO_NONE;
    static const int64_t zeros[HLO_MAX_RANK];
    low = low ? low : zeros;
    high = high ? high : zeros;
    interior = interior ? interior : zeros;
    bool nothing = true;
    for (int i = 0; i < t->rank; i++)
        nothing &= low[i] == 0 && high[i] == 0 && (interior[i] == 0 || (t->dims[i] < 2 && interior[i] > 0));
    if (nothing)
        return x;
    hlo_attr attrs[3] = {hlo_attr_make_ints(g, HLO_A_EDGE_PADDING_LOW, t->rank, low),
                         hlo_attr_make_ints(g, HLO_A_EDGE_PADDING_HIGH, t->rank, high),
                         hlo_attr_make_ints(g, HLO_A_INTERIOR_PADDING, t->rank, interior)};
    hlo_ref operands[2] = {x, value};
    return hlo_make(g, HLO_PAD, 2, operands, 3, attrs, 0, NULL, 1, NULL);
}

hlo_ref hlo_concatenate(hlo_graph *g, int n, const hlo_ref *xs, int dim) {
    for (int i = 0; i < n; i++)
        if (!hlo_need(g, "concatenate", xs[i]))
            return HLO_NONE;
    if (n == 1 && dim >= 0 && dim < hlo_type_of(g, xs[0])->rank)
        return xs[0];
    hlo_attr a = hlo_attr_make_int(HLO_A_DIMENSION, dim);
    return hlo_make(g, HLO_CONCATENATE, n, xs, 1, &a, 0, NULL, 1, NULL);
}

hlo_ref hlo_reverse(hlo_graph *g, hlo_ref x, int n, const int64_t *dims) {
    if (!hlo_need(g, "reverse", x))
        return HLO_NONE;
    if (n == 0)
        return x;
    hlo_attr a = hlo_attr_make_ints(g, HLO_A_DIMENSIONS, n, dims);
    return hlo_make(g, HLO_REVERSE, 1, &x, 1, &a, 0, NULL, 1, NULL);
}

hlo_ref hlo_dynamic_slice(hlo_graph *g, hlo_ref x, const hlo_ref *starts, const int64_t *sizes) {
    const hlo_type *t = hlo_need(g, "dynamic_slice", x);
    if (!t)
        return HLO_NONE;
    if (!memcmp(t->dims, sizes, sizeof *sizes * (size_t)t->rank))
        return x; /* starts are clamped to 0 */
    hlo_ref operands[1 + HLO_MAX_RANK] = {x};
    memcpy(operands + 1, starts, sizeof *starts * (size_t)t->rank);
    hlo_attr a = hlo_attr_make_ints(g, HLO_A_SLICE_SIZES, t->rank, sizes);
    return hlo_make(g, HLO_DYNAMIC_SLICE, 1 + t->rank, operands, 1, &a, 0, NULL, 1, NULL);
}

hlo_ref hlo_dynamic_update_slice(hlo_graph *g, hlo_ref x, hlo_ref update, const hlo_ref *starts) {
    const hlo_type *t = hlo_need(g, "dynamic_update_slice", x),
                   *u = hlo_need(g, "dynamic_update_slice", update);
    if (!t || !u)
        return HLO_NONE;
    if (hlo_type_equal(t, u))
        return update;
    hlo_ref operands[2 + HLO_MAX_RANK] = {x, update};
    memcpy(operands + 2, starts, sizeof *starts * (size_t)t->rank);
    return hlo_make(g, HLO_DYNAMIC_UPDATE_SLICE, 2 + t->rank, operands, 0, NULL, 0, NULL, 1, NULL);
}

hlo_ref hlo_gather(hlo_graph *g, hlo_ref x, hlo_ref indices, const hlo_dims *dims, const int64_t *slice_sizes,
                   const char *bounds) {
    const hlo_type *t = hlo_need(g, "gather", x);
    if (!t)
        return HLO_NONE;
    hlo_attr attrs[4] = {hlo_attr_make_dims(g, HLO_A_DIMENSION_NUMBERS, dims),
                         hlo_attr_make_ints(g, HLO_A_SLICE_SIZES, t->rank, slice_sizes),
                         hlo_attr_make_bool(HLO_A_INDICES_ARE_SORTED, false)};
    int n_attrs = 3;
    if (bounds)
        attrs[n_attrs++] = hlo_attr_make_text(g, HLO_A_TT_BOUNDS, bounds);
    hlo_ref operands[2] = {x, indices};
    return hlo_make(g, HLO_GATHER, 2, operands, n_attrs, attrs, 0, NULL, 1, NULL);
}

hlo_ref hlo_scatter(hlo_graph *g, hlo_ref x, hlo_ref indices, hlo_ref updates, const hlo_dims *dims,
                    hlo_op op, bool unique, const char *bounds) {
    const hlo_type *t = hlo_need(g, "scatter", x);
    if (!t)
        return HLO_NONE;
    hlo_block *region = hlo_combiner(g, op, t->dtype);
    hlo_attr attrs[4] = {hlo_attr_make_dims(g, HLO_A_SCATTER_DIMENSION_NUMBERS, dims),
                         hlo_attr_make_bool(HLO_A_INDICES_ARE_SORTED, false),
                         hlo_attr_make_bool(HLO_A_UNIQUE_INDICES, unique)};
    int n_attrs = 3;
    if (bounds)
        attrs[n_attrs++] = hlo_attr_make_text(g, HLO_A_TT_BOUNDS, bounds);
    hlo_ref operands[3] = {x, indices, updates};
    return hlo_make(g, HLO_SCATTER, 3, operands, n_attrs, attrs, 1, &region, 1, NULL);
}

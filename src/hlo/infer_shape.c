/* infer_shape.c - result types and constraints of ops that move elements: slices, pads, gathers, transposes,
 * and the constraints of those whose type is given (reshape, broadcast_in_dim, iota, constant, convert,
 * bitcast). */
#include "base/checked.h"
#include "hlo/internal.h"

tt_status hlo_rule_BROADCAST(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    hlo_ints sizes = hlo_attr_ints(n, HLO_A_BROADCAST_SIZES);
    const hlo_type *x = HLO_OPERAND(0);
    HLO_NEED(sizes.n + x->rank <= HLO_MAX_RANK, "rank %d is over %d", sizes.n + x->rank, HLO_MAX_RANK);
    *out = (hlo_type){.dtype = x->dtype, .rank = sizes.n + x->rank};
    for (int i = 0; i < sizes.n; i++)
        out->dims[i] = sizes.v[i];
    for (int i = 0; i < x->rank; i++)
        out->dims[sizes.n + i] = x->dims[i];
    return TT_OK;
}

tt_status hlo_rule_CONCATENATE(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    HLO_NEED(n->n_operands > 0, "needs an operand");
    *out = *HLO_OPERAND(0);
    int64_t dim = hlo_attr_int(n, HLO_A_DIMENSION, -1);
    HLO_NEED(dim >= 0 && dim < out->rank, "dimension %lld is outside rank %d", (long long)dim, out->rank);
    for (uint32_t i = 1; i < n->n_operands; i++) {
        hlo_type t = *HLO_OPERAND(i);
        int64_t size = t.dims[dim];
        t.dims[dim] = out->dims[dim];
        HLO_NEED(hlo_type_equal(&t, out), "operands %s and %s differ outside dimension %lld",
                 HLO_OPERAND_TEXT(0), HLO_OPERAND_TEXT(i), (long long)dim);
        HLO_NEED(tt_add_i64(out->dims[dim], size, &out->dims[dim]), "size overflows");
    }
    return TT_OK;
}

static tt_status check_starts(const hlo_graph *g, const hlo_node *n, uint32_t first, int rank) {
    HLO_NEED(n->n_operands == first + (uint32_t)rank, "has %u start indices for rank %d",
             n->n_operands - first, rank);
    for (uint32_t i = first; i < n->n_operands; i++)
        HLO_NEED(HLO_OPERAND(i)->rank == 0 && tt_is_int(HLO_OPERAND(i)->dtype),
                 "start index %u is %s, not an integer scalar", i - first, HLO_OPERAND_TEXT(i));
    return TT_OK;
}

tt_status hlo_rule_DYNAMIC_SLICE(const hlo_graph *g, const hlo_node *n, const hlo_type *given,
                                 hlo_type *out) {
    (void)given;
    HLO_NEED(n->n_operands > 0, "needs an operand");
    *out = *HLO_OPERAND(0);
    TT_TRY(check_starts(g, n, 1, out->rank));
    hlo_ints sizes = hlo_attr_ints(n, HLO_A_SLICE_SIZES);
    HLO_NEED(sizes.n == out->rank, "slice_sizes has %d entries for rank %d", sizes.n, out->rank);
    for (int i = 0; i < sizes.n; i++) {
        HLO_NEED(sizes.v[i] >= 0 && sizes.v[i] <= out->dims[i],
                 "slice size %lld is outside dimension %d of %s", (long long)sizes.v[i], i,
                 HLO_OPERAND_TEXT(0));
        out->dims[i] = sizes.v[i];
    }
    return TT_OK;
}

tt_status hlo_rule_PAD(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    const hlo_type *x = HLO_OPERAND(0), *v = HLO_OPERAND(1);
    hlo_ints low = hlo_attr_ints(n, HLO_A_EDGE_PADDING_LOW), high = hlo_attr_ints(n, HLO_A_EDGE_PADDING_HIGH),
             interior = hlo_attr_ints(n, HLO_A_INTERIOR_PADDING);
    HLO_NEED(v->rank == 0 && v->dtype == x->dtype, "padding value %s does not fit %s", HLO_OPERAND_TEXT(1),
             HLO_OPERAND_TEXT(0));
    HLO_NEED(low.n == x->rank && high.n == x->rank && interior.n == x->rank, "paddings do not have rank %d",
             x->rank);
    *out = *x;
    for (int i = 0; i < x->rank; i++) {
        int64_t size = 0;
        bool fits = interior.v[i] >= 0 && tt_mul_i64(x->dims[i] ? x->dims[i] - 1 : 0, interior.v[i], &size) &&
                    tt_add_i64(size, x->dims[i], &size) && tt_add_i64(size, low.v[i], &size) &&
                    tt_add_i64(size, high.v[i], &size);
        HLO_NEED(fits && size >= 0, "padding (%lld, %lld, %lld) of dimension %d of %s gives a negative size",
                 (long long)low.v[i], (long long)high.v[i], (long long)interior.v[i], i, HLO_OPERAND_TEXT(0));
        out->dims[i] = size;
    }
    return TT_OK;
}

tt_status hlo_rule_SLICE(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    const hlo_type *x = HLO_OPERAND(0);
    hlo_ints start = hlo_attr_ints(n, HLO_A_START_INDICES), limit = hlo_attr_ints(n, HLO_A_LIMIT_INDICES),
             stride = hlo_attr_ints(n, HLO_A_STRIDES);
    HLO_NEED(start.n == x->rank && limit.n == x->rank && stride.n == x->rank, "indices do not have rank %d",
             x->rank);
    *out = *x;
    for (int i = 0; i < x->rank; i++) {
        HLO_NEED(start.v[i] >= 0 && start.v[i] <= limit.v[i] && limit.v[i] <= x->dims[i] && stride.v[i] > 0,
                 "[%lld:%lld:%lld] is outside dimension %d of %s", (long long)start.v[i],
                 (long long)limit.v[i], (long long)stride.v[i], i, HLO_OPERAND_TEXT(0));
        int64_t length = limit.v[i] - start.v[i];
        out->dims[i] = length ? (length - 1) / stride.v[i] + 1 : 0;
    }
    return TT_OK;
}

tt_status hlo_rule_TRANSPOSE(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    const hlo_type *x = HLO_OPERAND(0);
    hlo_ints p = hlo_attr_ints(n, HLO_A_PERMUTATION);
    HLO_NEED(p.n == x->rank && hlo_dims_distinct(p, x->rank), "permutation is none of rank %d", x->rank);
    *out = *x;
    for (int i = 0; i < x->rank; i++)
        out->dims[i] = x->dims[p.v[i]];
    return TT_OK;
}

static tt_status check_gather(const hlo_graph *g, const hlo_node *n, const hlo_dims *d, hlo_ints sizes) {
    const hlo_type *x = HLO_OPERAND(0), *indices = HLO_OPERAND(1);
    HLO_NEED(tt_is_int(indices->dtype), "indices are %s", HLO_OPERAND_TEXT(1));
    HLO_NEED(d->index_vector_dim >= 0 && d->index_vector_dim <= indices->rank,
             "index_vector_dim %lld is outside indices %s", (long long)d->index_vector_dim,
             HLO_OPERAND_TEXT(1));
    int64_t depth = d->index_vector_dim < indices->rank ? indices->dims[d->index_vector_dim] : 1;
    HLO_NEED(d->e.n == depth, "start_index_map has %d entries for %lld index components", d->e.n,
             (long long)depth);
    HLO_NEED(sizes.n == x->rank, "slice_sizes has %d entries for rank %d", sizes.n, x->rank);
    HLO_NEED(hlo_dims_distinct(d->b, x->rank) && hlo_dims_distinct(d->c, x->rank) &&
                 hlo_dims_distinct(d->e, x->rank),
             "dimension numbers repeat or are outside rank %d", x->rank);
    HLO_NEED(hlo_dims_distinct(d->d, indices->rank) && d->d.n == d->c.n &&
                 !hlo_ints_contain(d->d, d->index_vector_dim),
             "start_indices_batching_dims do not match operand_batching_dims");
    HLO_NEED(d->a.n + d->b.n + d->c.n == x->rank,
             "offset, collapsed and batching dims do not add up to rank %d", x->rank);
    for (int i = 0; i < d->a.n; i++)
        HLO_NEED(i == 0 ? d->a.v[0] >= 0 : d->a.v[i] > d->a.v[i - 1], "offset_dims are not increasing");
    for (int i = 0; i < d->c.n; i++) {
        HLO_NEED(!hlo_ints_contain(d->b, d->c.v[i]) && !hlo_ints_contain(d->e, d->c.v[i]),
                 "operand_batching_dims are used twice");
        HLO_NEED(x->dims[d->c.v[i]] == indices->dims[d->d.v[i]], "batching dimensions have different sizes");
    }
    for (int i = 0; i < sizes.n; i++) {
        bool one = hlo_ints_contain(d->b, i) || hlo_ints_contain(d->c, i);
        HLO_NEED(sizes.v[i] >= 0 && sizes.v[i] <= x->dims[i] && (!one || sizes.v[i] <= 1),
                 "slice size %lld does not fit dimension %d of %s", (long long)sizes.v[i], i,
                 HLO_OPERAND_TEXT(0));
    }
    return TT_OK;
}

tt_status hlo_rule_GATHER(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    const hlo_type *x = HLO_OPERAND(0), *indices = HLO_OPERAND(1);
    const hlo_attr *a = hlo_attr_find(n, HLO_A_DIMENSION_NUMBERS);
    HLO_NEED(a && a->kind == HLO_K_DIMS && a->dims->kind == HLO_DIMS_GATHER, "needs dimension_numbers");
    const hlo_dims *d = a->dims;
    hlo_ints sizes = hlo_attr_ints(n, HLO_A_SLICE_SIZES);
    TT_TRY(check_gather(g, n, d, sizes));
    int rank = indices->rank - (d->index_vector_dim < indices->rank) + d->a.n;
    HLO_NEED(rank <= HLO_MAX_RANK, "result rank %d is over %d", rank, HLO_MAX_RANK);
    HLO_NEED(d->a.n == 0 || d->a.v[d->a.n - 1] < rank, "offset_dims are outside rank %d", rank);
    *out = (hlo_type){.dtype = x->dtype, .rank = rank};
    int from_slice = 0, from_indices = 0;
    for (int i = 0; i < rank; i++) {
        if (hlo_ints_contain(d->a, i)) {
            while (hlo_ints_contain(d->b, from_slice) || hlo_ints_contain(d->c, from_slice))
                from_slice++;
            out->dims[i] = sizes.v[from_slice++];
        } else {
            from_indices += from_indices == d->index_vector_dim;
            out->dims[i] = indices->dims[from_indices++];
        }
    }
    return TT_OK;
}

/* ---- constraints where the type is known: rule SAME outside elementwise ---- */

static tt_status check_square(const hlo_graph *g, const hlo_node *n, const hlo_type *a) {
    HLO_NEED(a->rank >= 2 && a->dims[a->rank - 1] == a->dims[a->rank - 2],
             "%s is no batch of square matrices", HLO_OPERAND_TEXT(0));
    HLO_NEED(tt_is_float(a->dtype) || tt_is_complex(a->dtype), "element type %s", tt_dtype_name(a->dtype));
    return TT_OK;
}

tt_status hlo_check_shape_op(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    const hlo_type *x = HLO_OPERAND(0);
    switch ((int)n->op) {
    case HLO_REVERSE:
        HLO_NEED(hlo_dims_distinct(hlo_attr_ints(n, HLO_A_DIMENSIONS), x->rank),
                 "dimensions repeat or are outside rank %d", x->rank);
        return TT_OK;
    case HLO_DYNAMIC_UPDATE_SLICE: {
        HLO_NEED(n->n_operands >= 2, "needs an update");
        const hlo_type *u = HLO_OPERAND(1);
        HLO_NEED(u->rank == x->rank && u->dtype == x->dtype, "update %s does not fit operand %s",
                 HLO_OPERAND_TEXT(1), HLO_OPERAND_TEXT(0));
        for (int i = 0; i < x->rank; i++)
            HLO_NEED(u->dims[i] <= x->dims[i], "update %s is larger than operand %s", HLO_OPERAND_TEXT(1),
                     HLO_OPERAND_TEXT(0));
        return check_starts(g, n, 2, x->rank);
    }
    case HLO_CHOLESKY:
        return check_square(g, n, x);
    case HLO_BATCH_NORM_INFERENCE: {
        int64_t f = hlo_attr_int(n, HLO_A_FEATURE_INDEX, -1);
        HLO_NEED(f >= 0 && f < x->rank, "feature_index %lld is outside rank %d", (long long)f, x->rank);
        for (uint32_t i = 1; i < 5; i++)
            HLO_NEED(HLO_OPERAND(i)->rank == 1 && HLO_OPERAND(i)->dims[0] == x->dims[f], "operand %u is %s",
                     i, HLO_OPERAND_TEXT(i));
        return TT_OK;
    }
    case HLO_SELECT_AND_SCATTER:
        return hlo_check_window_op(g, n, given, out);
    }
    return TT_OK;
}

static tt_status check_broadcast_in_dim(const hlo_graph *g, const hlo_node *n, const hlo_type *to) {
    const hlo_type *x = HLO_OPERAND(0);
    hlo_ints m = hlo_attr_ints(n, HLO_A_BROADCAST_DIMENSIONS);
    HLO_NEED(to->dtype == x->dtype, "changes the element type from %s to %s", tt_dtype_name(x->dtype),
             tt_dtype_name(to->dtype));
    HLO_NEED(m.n == x->rank && hlo_dims_distinct(m, to->rank),
             "broadcast_dimensions do not map rank %d into rank %d", x->rank, to->rank);
    for (int i = 0; i < x->rank; i++)
        HLO_NEED(x->dims[i] == 1 || x->dims[i] == to->dims[m.v[i]],
                 "dimension %d of %s does not broadcast to dimension %lld of %s", i, HLO_OPERAND_TEXT(0),
                 (long long)m.v[i], hlo_type_print(g->arena, to));
    return TT_OK;
}

static tt_status check_bitcast(const hlo_graph *g, const hlo_node *n, const hlo_type *to) {
    const hlo_type *x = HLO_OPERAND(0);
    int from_size = tt_dtype_size(x->dtype), to_size = tt_dtype_size(to->dtype);
    int common = x->rank < to->rank ? x->rank : to->rank;
    bool fits = from_size && to_size && tt_is_complex(x->dtype) == tt_is_complex(to->dtype);
    for (int i = 0; fits && i < common; i++)
        fits = x->dims[i] == to->dims[i];
    if (fits && from_size == to_size)
        fits = x->rank == to->rank;
    else if (fits && from_size > to_size)
        fits = to->rank == x->rank + 1 && to->dims[x->rank] == from_size / to_size;
    else if (fits)
        fits = x->rank == to->rank + 1 && x->dims[to->rank] == to_size / from_size;
    /* 4 and 2 bit types take a byte each on the host, so sizes say nothing about them */
    bool packed = x->dtype == TT_I4 || x->dtype == TT_U4 || to->dtype == TT_I4 || to->dtype == TT_U4 ||
                  x->dtype == TT_I2 || x->dtype == TT_U2 || to->dtype == TT_I2 || to->dtype == TT_U2;
    HLO_NEED(fits || packed, "%s cannot become %s", HLO_OPERAND_TEXT(0), hlo_type_print(g->arena, to));
    return TT_OK;
}

tt_status hlo_check_given(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    const hlo_type *x = n->n_operands ? HLO_OPERAND(0) : NULL;
    switch ((int)n->op) {
    case HLO_CONVERT:
        HLO_NEED(hlo_dims_equal(x, given), "changes the shape from %s to %s", HLO_OPERAND_TEXT(0),
                 hlo_type_print(g->arena, given));
        return TT_OK;
    case HLO_CONSTANT: {
        const hlo_attr *a = hlo_attr_find(n, HLO_A_VALUE);
        HLO_NEED(a && a->kind == HLO_K_DENSE && hlo_type_equal(a->type, given),
                 "the value's type is not the result's");
        return TT_OK;
    }
    case HLO_IOTA: {
        int64_t dim = hlo_attr_int(n, HLO_A_IOTA_DIMENSION, -1);
        HLO_NEED(dim >= 0 && dim < given->rank, "iota_dimension %lld is outside %s", (long long)dim,
                 hlo_type_print(g->arena, given));
        HLO_NEED(given->dtype != TT_PRED, "element type i1");
        return TT_OK;
    }
    case HLO_BROADCAST_IN_DIM:
        return check_broadcast_in_dim(g, n, given);
    case HLO_RESHAPE:
        HLO_NEED(x->dtype == given->dtype && hlo_type_valid(given) &&
                     hlo_type_elements(x) == hlo_type_elements(given),
                 "%s cannot become %s", HLO_OPERAND_TEXT(0), hlo_type_print(g->arena, given));
        return TT_OK;
    case HLO_BITCAST_CONVERT:
        return check_bitcast(g, n, given);
    }
    return hlo_check_control(g, n, given, out);
}

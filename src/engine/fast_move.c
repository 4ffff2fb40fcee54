/* fast_move.c - nodes that only move elements: each is one or a few strided copies (fast_copy.c). */
#include "engine/fast.h"
#include "engine/ref.h"
#include <string.h>

static int size_of(const eng_tensor *t) {
    return tt_dtype_size(t->type.dtype);
}

tt_status eng_fast_reshape(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    int64_t n = hlo_type_elements(&out->type), size = size_of(out);
    (void)run, (void)g, (void)node;
    if (out->data != in->data)
        fast_copy(1, &n, (int)size, out->data, &size, in->data, &size);
    return TT_OK;
}

tt_status eng_fast_transpose(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    hlo_ints perm = hlo_attr_ints(node, HLO_A_PERMUTATION);
    int64_t strides[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK];
    (void)run, (void)g;
    if (perm.n != out->type.rank)
        return eng_not_mine;
    fast_strides(&in->type, strides);
    fast_strides(&out->type, to);
    for (int d = 0; d < perm.n; d++)
        from[d] = strides[perm.v[d]];
    fast_copy(perm.n, out->type.dims, size_of(out), out->data, to, in->data, from);
    return TT_OK;
}

tt_status eng_fast_broadcast_in_dim(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    hlo_ints map = hlo_attr_ints(node, HLO_A_BROADCAST_DIMENSIONS);
    int64_t strides[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK] = {0};
    (void)run, (void)g;
    if (map.n != in->type.rank)
        return eng_not_mine;
    fast_strides(&in->type, strides);
    fast_strides(&out->type, to);
    for (int i = 0; i < map.n; i++)
        if (in->type.dims[i] != 1)
            from[map.v[i]] = strides[i];
    fast_copy(out->type.rank, out->type.dims, size_of(out), out->data, to, in->data, from);
    return TT_OK;
}

static void copy_window(const eng_tensor *in, const int64_t *start, const int64_t *step, eng_tensor *out) {
    int64_t strides[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK];
    const char *src = in->data;
    fast_strides(&in->type, strides);
    fast_strides(&out->type, to);
    for (int d = 0; d < out->type.rank; d++) {
        src += start[d] * strides[d];
        from[d] = strides[d] * (step ? step[d] : 1);
    }
    if (hlo_type_elements(&out->type))
        fast_copy(out->type.rank, out->type.dims, size_of(out), out->data, to, src, from);
}

tt_status eng_fast_slice(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    hlo_ints start = hlo_attr_ints(node, HLO_A_START_INDICES), step = hlo_attr_ints(node, HLO_A_STRIDES);
    (void)run, (void)g;
    if (start.n != in->type.rank || (step.n && step.n != in->type.rank))
        return eng_not_mine;
    copy_window(in, start.v, step.n ? step.v : NULL, out);
    return TT_OK;
}

tt_status eng_fast_reverse(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    hlo_ints dims = hlo_attr_ints(node, HLO_A_DIMENSIONS);
    int64_t start[HLO_MAX_RANK] = {0}, step[HLO_MAX_RANK];
    (void)run, (void)g;
    for (int d = 0; d < in->type.rank; d++)
        step[d] = 1;
    for (int i = 0; i < dims.n; i++) {
        start[dims.v[i]] = in->type.dims[dims.v[i]] - 1;
        step[dims.v[i]] = -1;
    }
    copy_window(in, start, step, out);
    return TT_OK;
}

tt_status eng_fast_pad(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    hlo_ints low = hlo_attr_ints(node, HLO_A_EDGE_PADDING_LOW), inside = hlo_attr_ints(node, HLO_A_INTERIOR_PADDING);
    int rank = in->type.rank;
    int64_t strides[HLO_MAX_RANK], to[HLO_MAX_RANK], dims[HLO_MAX_RANK];
    char *dst = out->data;
    const char *src = in->data;
    bool whole = true, empty = false;
    (void)run, (void)g;
    if (low.n != rank || (inside.n && inside.n != rank))
        return eng_not_mine;
    fast_strides(&in->type, strides);
    fast_strides(&out->type, to);
    for (int d = 0; d < rank; d++) {
        int64_t step = 1 + (inside.n ? inside.v[d] : 0), first = low.v[d] < 0 ? (-low.v[d] + step - 1) / step : 0;
        int64_t last = (out->type.dims[d] - 1 - low.v[d]) / step; /* the last element that lies inside the result */
        if (out->type.dims[d] - 1 < low.v[d])
            last = -1;
        last = loop_min(last, in->type.dims[d] - 1);
        dims[d] = loop_max(0, last - first + 1);
        empty = empty || !dims[d];
        whole = whole && dims[d] == out->type.dims[d];
        src += first * strides[d];
        dst += (low.v[d] + first * step) * to[d];
        to[d] *= step;
    }
    if (!whole) {
        int64_t n = hlo_type_elements(&out->type), size = size_of(out), none = 0;
        fast_copy(1, &n, (int)size, out->data, &size, in[1].data, &none);
    }
    if (!empty)
        fast_copy(rank, dims, size_of(out), dst, to, src, strides);
    return TT_OK;
}

tt_status eng_fast_concatenate(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    int dim = (int)hlo_attr_int(node, HLO_A_DIMENSION, 0);
    int64_t to[HLO_MAX_RANK], from[HLO_MAX_RANK];
    char *dst = out->data;
    (void)run, (void)g;
    if (dim < 0 || dim >= out->type.rank)
        return eng_not_mine;
    fast_strides(&out->type, to);
    for (uint32_t k = 0; k < node->n_operands; k++) {
        fast_strides(&in[k].type, from);
        fast_copy(out->type.rank, in[k].type.dims, size_of(out), dst, to, in[k].data, from);
        dst += in[k].type.dims[dim] * to[dim];
    }
    return TT_OK;
}

/* Where a window of `sizes` starts in x: clamped, or with tt.bounds an error. */
static tt_status window_starts(const hlo_graph *g, const hlo_node *node, const eng_tensor *x, const int64_t *sizes, const eng_tensor *indices,
                               int n, int64_t *out_start) {
    bool checked = hlo_attr_find(node, HLO_A_TT_BOUNDS) != NULL;
    if (n != x->type.rank)
        return eng_not_mine;
    for (int d = 0; d < n; d++) {
        int64_t i = ref_index(indices + d, 0), last = x->type.dims[d] - sizes[d];
        if (last < 0)
            return eng_not_mine;
        if (checked && (i < 0 || i > last))
            return ref_bounds_fail(g, node, i, last + 1, d);
        out_start[d] = i < 0 ? 0 : i > last ? last : i;
    }
    return TT_OK;
}

tt_status eng_fast_dynamic_slice(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    int64_t start[HLO_MAX_RANK];
    (void)run;
    TT_TRY(window_starts(g, node, in, out->type.dims, in + 1, (int)node->n_operands - 1, start));
    copy_window(in, start, NULL, out);
    return TT_OK;
}

/* The operand's copy is skipped where the caller gave the result its place. */
tt_status eng_fast_dynamic_update_slice(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    int64_t start[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK];
    char *dst = out->data;
    TT_TRY(window_starts(g, node, in, in[1].type.dims, in + 2, (int)node->n_operands - 2, start));
    TT_TRY(eng_fast_reshape(run, g, node, in, out));
    fast_strides(&out->type, to);
    fast_strides(&in[1].type, from);
    for (int d = 0; d < out->type.rank; d++)
        dst += start[d] * to[d];
    if (hlo_type_elements(&in[1].type))
        fast_copy(out->type.rank, in[1].type.dims, size_of(out), dst, to, in[1].data, from);
    return TT_OK;
}

#define COUNT(dtype, T)                                                       \
    case dtype:                                                               \
        for (int64_t i = 0; i < n; i++)                                       \
            ((T *)out)[i] = (T)i;                                             \
        return;

static FAST_CLONES void count_up(tt_dtype dtype, int64_t n, void *out) {
    switch ((int)dtype) {
        COUNT(TT_I32, int32_t)
        COUNT(TT_I64, int64_t)
        COUNT(TT_F32, float)
    }
    for (int64_t i = 0; i < n; i++) {
        char *at = (char *)out + i * tt_dtype_size(dtype);
        tt_is_int(dtype) ? tt_element_set_int(dtype, at, i) : tt_element_set(dtype, at, (double)i);
    }
}

/* Rows of one value each along the dim, repeated; the innermost dim counts. */
tt_status eng_fast_iota(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    int dim = (int)hlo_attr_int(node, HLO_A_IOTA_DIMENSION, 0), size = size_of(out);
    tt_dtype dtype = out->type.dtype;
    int64_t n, to[HLO_MAX_RANK], from[HLO_MAX_RANK] = {0};
    (void)run, (void)g, (void)in;
    if (dim < 0 || dim >= out->type.rank || (!tt_is_int(dtype) && !tt_is_float(dtype)) || !hlo_type_elements(&out->type))
        return hlo_type_elements(&out->type) ? eng_not_mine : TT_OK;
    n = out->type.dims[dim];
    const bool all = n == hlo_type_elements(&out->type);
    char *count = all ? out->data : eng_scratch(FAST_SCRATCH, (size_t)(n * size));
    if (!count)
        return eng_not_mine;
    count_up(dtype, n, count);
    if (all)
        return TT_OK;
    fast_strides(&out->type, to);
    from[dim] = size;
    fast_copy(out->type.rank, out->type.dims, size, out->data, to, count, from);
    return TT_OK;
}

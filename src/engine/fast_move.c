/* fast_move.c - nodes that only move elements: each is one or a few strided copies (fast_copy.c), as are chains of them (program_move.c). */
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

/* ---- pieces ---- */

enum { PART_BYTES = 1 << 18 };

void fast_move_plan(fast_move *m, const hlo_type *result) {
    int64_t strides[HLO_MAX_RANK], bytes = hlo_type_bytes(result);
    fast_strides(result, strides);
    int common = m->n_pieces > 1 ? result->rank : 0;
    for (int k = 0; k < m->n_pieces; k++) {
        const fast_piece *q = &m->pieces[k];
        int d = 0;
        while (d < common && q->rank == result->rank && q->dims[d] == result->dims[d] && q->to[d] == strides[d])
            d++;
        common = d;
    }
    m->items = 1;
    for (m->outer = 0; m->outer < common && bytes > PART_BYTES; m->outer++) {
        const int64_t n = result->dims[m->outer];
        m->cut = n;
        if (bytes / n < PART_BYTES) { /* some of this dim at a time */
            m->cut = PART_BYTES / (bytes / n);
            m->items *= (n + m->cut - 1) / m->cut;
            m->outer++;
            return;
        }
        m->cut = 1;
        m->items *= n;
        bytes /= n;
    }
}

typedef struct move_job { const fast_move *m; void *const *inputs; char *out; } move_job;

/* Parts of the result: an index each of the outer dims, a range of the last of them. */
static void move_range(void *context, int64_t first, int64_t last) {
    const move_job *j = context;
    const fast_move *m = j->m;
    for (int64_t item = first; item < last; item++)
        for (int k = 0; k < m->n_pieces; k++) {
            fast_piece q = m->pieces[k];
            int64_t rest = item;
            for (int d = m->outer - 1; d >= 0; d--) {
                const int64_t cut = d == m->outer - 1 ? m->cut : 1, parts = (q.dims[d] + cut - 1) / cut, at = rest % parts * cut;
                rest /= parts;
                q.from_offset += at * q.from[d];
                q.to_offset += at * q.to[d];
                q.dims[d] = loop_min(cut, q.dims[d] - at);
            }
            fast_copy(q.rank, q.dims, m->size, j->out + q.to_offset, q.to, (const char *)j->inputs[q.input] + q.from_offset, q.from);
        }
}

void fast_move_run(const fast_move *m, void *const *inputs, void *out) {
    move_job j = {m, inputs, out};
    if (m->items > 1)
        fast_ranges(m->items, 4, move_range, &j);
    else
        move_range(&j, 0, 1);
}

tt_status eng_fast_concatenate(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    int dim = (int)hlo_attr_int(node, HLO_A_DIMENSION, 0);
    enum { MOST = 16 };
    fast_piece pieces[MOST];
    void *inputs[MOST];
    int64_t at = 0;
    (void)run, (void)g;
    if (dim < 0 || dim >= out->type.rank)
        return eng_not_mine;
    for (uint32_t first = 0; first < node->n_operands; first += MOST) {
        fast_move m = {.size = size_of(out), .pieces = pieces};
        for (uint32_t k = first; k < node->n_operands && m.n_pieces < MOST; k++) {
            fast_piece *q = &pieces[m.n_pieces];
            inputs[m.n_pieces] = in[k].data;
            *q = (fast_piece){.input = m.n_pieces++, .rank = out->type.rank};
            memcpy(q->dims, in[k].type.dims, sizeof q->dims);
            fast_strides(&in[k].type, q->from);
            fast_strides(&out->type, q->to);
            q->to_offset = at * q->to[dim];
            at += q->dims[dim];
        }
        fast_move_plan(&m, &out->type);
        fast_move_run(&m, inputs, out->data);
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

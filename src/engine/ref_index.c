/* ref_index.c - reference kernels of gather and scatter, the full specification with batching dimensions.
 *
 * Both walk the batch of index vectors; each vector places one window in the operand. Gather clamps the window into the
 * operand, scatter drops the parts that lie outside. With tt.bounds either fails instead. */
#include "engine/ref.h"

typedef struct placement {
    const hlo_node *node;
    const hlo_dims *dims;
    const eng_tensor *indices;
    int rank;                            /* of the operand */
    int n_batch, batch_of[HLO_MAX_RANK]; /* dims of indices but index_vector_dim */
    int64_t batch_dims[HLO_MAX_RANK];
    int n_window, window_of[HLO_MAX_RANK]; /* operand dims that a window spans with an update or offset dim, in order */
    int64_t index_strides[HLO_MAX_RANK];   /* in elements */
} placement;

static bool has(hlo_ints list, int64_t v) {
    for (int i = 0; i < list.n; i++)
        if (list.v[i] == v)
            return true;
    return false;
}

static bool in_range(hlo_ints list, int64_t end) {
    for (int i = 0; i < list.n; i++)
        if (list.v[i] < 0 || list.v[i] >= end)
            return false;
    return true;
}

/* dims.b collapsed or inserted, dims.c operand batching, dims.d indices batching, dims.e index map: the same places for both ops. */
static tt_status place_init(placement *p, const hlo_node *node, hlo_attr_name name, const eng_tensor *x, const eng_tensor *indices,
                            int window_rank) {
    const hlo_attr *a = hlo_attr_find(node, name);
    const char *text = hlo_op_text((hlo_op)node->op);
    TT_CHECK(a && a->dims, INVALID_ARGUMENT, "%s without dimension numbers", text);
    *p = (placement){.node = node, .dims = a->dims, .indices = indices, .rank = x->type.rank};
    const hlo_dims *d = a->dims;
    for (int i = 0; i < indices->type.rank; i++)
        if (i != d->index_vector_dim) {
            p->batch_of[p->n_batch] = i;
            p->batch_dims[p->n_batch++] = indices->type.dims[i];
        }
    for (int i = 0; i < x->type.rank; i++)
        if (!has(d->b, i) && !has(d->c, i))
            p->window_of[p->n_window++] = i;
    int64_t vector = d->index_vector_dim < indices->type.rank ? indices->type.dims[d->index_vector_dim] : 1;
    TT_CHECK(p->n_window == d->a.n && in_range(d->a, window_rank) && in_range(d->c, p->rank) && in_range(d->d, indices->type.rank) &&
                 in_range(d->e, p->rank) && d->e.n == vector && d->c.n == d->d.n && d->index_vector_dim >= 0 &&
                 !has(d->d, d->index_vector_dim) && window_rank == p->n_window + p->n_batch,
             INVALID_ARGUMENT, "%s: malformed dimension numbers", text);
    int64_t stride = 1;
    for (int i = indices->type.rank; i-- > 0; stride *= indices->type.dims[i])
        p->index_strides[i] = stride;
    return TT_OK;
}

/* Where the window of batch element `at` starts: zero where no index says. */
static void place_start(const placement *p, const int64_t *at, int64_t *out_start) {
    const hlo_dims *d = p->dims;
    int64_t base = 0;
    memset(out_start, 0, sizeof *out_start * (size_t)p->rank);
    for (int i = 0; i < p->n_batch; i++)
        base += at[i] * p->index_strides[p->batch_of[i]];
    int64_t step = d->index_vector_dim < p->indices->type.rank ? p->index_strides[d->index_vector_dim] : 0;
    for (int k = 0; k < d->e.n; k++)
        out_start[d->e.v[k]] = ref_index(p->indices, base + k * step);
    for (int i = 0; i < d->c.n; i++)
        out_start[d->c.v[i]] = at[d->d.v[i] - (d->d.v[i] > d->index_vector_dim)];
}

static tt_status check_start(const hlo_graph *g, const placement *p, const eng_tensor *x, const int64_t *start, const int64_t *sizes) {
    if (!hlo_attr_find(p->node, HLO_A_TT_BOUNDS))
        return TT_OK;
    for (int k = 0; k < p->dims->e.n; k++) {
        int64_t d = p->dims->e.v[k], bound = x->type.dims[d] - sizes[d] + 1;
        if (start[d] < 0 || start[d] >= bound)
            return ref_bounds_fail(g, p->node, start[d], bound, (int)d);
    }
    return TT_OK;
}

/* The dims of the result (gather) or of the updates (scatter) that are not window dims, in order. */
static void batch_positions(const placement *p, int rank, int *out) {
    for (int i = 0, n = 0; i < rank; i++)
        if (!has(p->dims->a, i) && n < p->n_batch)
            out[n++] = i;
}

REF_KERNEL(gather) {
    (void)run;
    placement p;
    int64_t sizes[HLO_MAX_RANK], at[HLO_MAX_RANK] = {0}, start[HLO_MAX_RANK], dims[HLO_MAX_RANK];
    int64_t from[HLO_MAX_RANK], to[HLO_MAX_RANK], window_from[HLO_MAX_RANK], window_to[HLO_MAX_RANK];
    int batch[HLO_MAX_RANK] = {0};
    TT_TRY(place_init(&p, node, HLO_A_DIMENSION_NUMBERS, in, in + 1, out->type.rank));
    if (node->op == HLO_DYNAMIC_GATHER)
        for (int d = 0; d < p.rank; d++)
            sizes[d] = ref_index(in + 2, d);
    else
        TT_TRY(ref_ints(node, HLO_A_SLICE_SIZES, p.rank, 1, sizes));
    for (int d = 0; d < p.rank; d++)
        TT_CHECK(sizes[d] >= 0 && sizes[d] <= in->type.dims[d], INVALID_ARGUMENT, "gather: slice larger than the operand");
    ref_strides(&in->type, from);
    ref_strides(&out->type, to);
    batch_positions(&p, out->type.rank, batch);
    for (int i = 0; i < p.n_window; i++) {
        dims[i] = sizes[p.window_of[i]];
        window_from[i] = from[p.window_of[i]];
        window_to[i] = to[p.dims->a.v[i]];
        TT_CHECK(out->type.dims[p.dims->a.v[i]] == dims[i], INVALID_ARGUMENT, "gather: the result's shape does not fit");
    }
    if (ref_count(out) == 0)
        return TT_OK;
    do {
        place_start(&p, at, start);
        TT_TRY(check_start(g, &p, in, start, sizes));
        const char *s = in->data;
        char *d = out->data;
        for (int i = 0; i < p.rank; i++) {
            int64_t last = in->type.dims[i] - sizes[i];
            s += (start[i] < 0 ? 0 : start[i] > last ? last : start[i]) * from[i];
        }
        for (int i = 0; i < p.n_batch; i++)
            d += at[i] * to[batch[i]];
        ref_copy(p.n_window, dims, ref_size(out), d, window_to, s, window_from);
    } while (ref_next(p.n_batch, p.batch_dims, at));
    return TT_OK;
}

/* ---- scatter ---- */
typedef struct scatter {
    placement p;
    ref_region *region;
    bool takes_update;
    int n; /* operands */
    const eng_tensor *updates;
    eng_tensor *out;
    int batch[HLO_MAX_RANK];
    char *old[HLO_MAX_RANK], *new_[HLO_MAX_RANK], *result[HLO_MAX_RANK]; /* one window each */
} scatter;

/* One window: clipped to the operand, read, combined, written. */
static tt_status scatter_window(scatter *s, const int64_t *at, const int64_t *start) {
    const placement *p = &s->p;
    int64_t dims[HLO_MAX_RANK], skip[HLO_MAX_RANK], count = 1;
    int64_t strides[HLO_MAX_RANK], update_strides[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK];
    const int64_t *x_dims = s->out->type.dims;
    for (int i = 0; i < p->rank; i++)
        if (!has(p->dims->b, i) && !has(p->dims->c, i))
            continue;
        else if (start[i] < 0 || start[i] >= x_dims[i])
            return TT_OK;
    for (int i = 0; i < p->n_window; i++) {
        int64_t size = s->updates->type.dims[p->dims->a.v[i]], first = start[p->window_of[i]], end = x_dims[p->window_of[i]];
        if (first >= end || first <= -size)
            return TT_OK;
        skip[i] = first < 0 ? -first : 0;
        dims[i] = (end - first < size ? end - first : size) - skip[i];
        count *= dims[i];
    }
    const void *in[2 * HLO_MAX_RANK];
    void *out[HLO_MAX_RANK];
    hlo_type window = hlo_type_make(TT_I8, p->n_window, dims);
    for (int k = 0; k < s->n; k++) {
        int size = ref_size(s->out + k);
        window.dtype = s->out[k].type.dtype;
        int64_t dense[HLO_MAX_RANK];
        ref_strides(&window, dense);
        ref_strides(&s->out[k].type, strides);
        ref_strides(&s->updates[k].type, update_strides);
        char *x = s->out[k].data;
        const char *u = s->updates[k].data;
        for (int i = 0; i < p->rank; i++)
            x += start[i] * strides[i];
        for (int i = 0; i < p->n_batch; i++)
            u += at[i] * update_strides[s->batch[i]];
        for (int i = 0; i < p->n_window; i++) {
            to[i] = strides[p->window_of[i]];
            from[i] = update_strides[p->dims->a.v[i]];
            x += skip[i] * to[i];
            u += skip[i] * from[i];
        }
        if (s->takes_update) {
            ref_copy(p->n_window, dims, size, x, to, u, from);
            return TT_OK;
        }
        ref_copy(p->n_window, dims, size, s->old[k], dense, x, to);
        ref_copy(p->n_window, dims, size, s->new_[k], dense, u, from);
        in[k] = s->old[k], in[s->n + k] = s->new_[k], out[k] = s->result[k];
    }
    TT_TRY(ref_region_run(s->region, count, in, out));
    for (int k = 0; k < s->n; k++) {
        int64_t dense[HLO_MAX_RANK];
        window.dtype = s->out[k].type.dtype;
        ref_strides(&window, dense);
        ref_strides(&s->out[k].type, strides);
        char *x = s->out[k].data;
        for (int i = 0; i < p->rank; i++)
            x += start[i] * strides[i];
        for (int i = 0; i < p->n_window; i++) {
            to[i] = strides[p->window_of[i]];
            x += skip[i] * to[i];
        }
        ref_copy(p->n_window, dims, ref_size(s->out + k), x, to, s->result[k], dense);
    }
    return TT_OK;
}

static tt_status scatter_run(scatter *s, const hlo_graph *g, const eng_tensor *x, int64_t count) {
    int64_t at[HLO_MAX_RANK] = {0}, start[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
    for (int d = 0; d < s->p.rank; d++)
        sizes[d] = 1;
    for (int i = 0; i < s->p.n_window; i++)
        sizes[s->p.window_of[i]] = s->updates->type.dims[s->p.dims->a.v[i]];
    for (int k = 0; k < s->n && !s->takes_update; k++) {
        TT_TRY(ref_alloc(count, ref_size(x + k), &s->old[k]));
        TT_TRY(ref_alloc(count, ref_size(x + k), &s->new_[k]));
        TT_TRY(ref_alloc(count, ref_size(x + k), &s->result[k]));
    }
    do {
        place_start(&s->p, at, start);
        TT_TRY(check_start(g, &s->p, x, start, sizes));
        TT_TRY(scatter_window(s, at, start));
    } while (ref_next(s->p.n_batch, s->p.batch_dims, at));
    return TT_OK;
}

REF_KERNEL(scatter) {
    scatter s = {.n = (int)node->n_operands / 2, .out = out};
    TT_CHECK(node->n_regions == 1 && s.n >= 1 && s.n <= HLO_MAX_RANK && (int)node->n_operands == 2 * s.n + 1 && node->n_results == s.n,
             INVALID_ARGUMENT, "scatter of %u operands", node->n_operands);
    const eng_tensor *indices = in + s.n;
    s.updates = indices + 1;
    TT_TRY(place_init(&s.p, node, HLO_A_SCATTER_DIMENSION_NUMBERS, in, indices, s.updates->type.rank));
    for (int k = 0; k < s.n; k++) {
        TT_CHECK(hlo_dims_equal(&in[k].type, &in[0].type) && hlo_dims_equal(&s.updates[k].type, &s.updates[0].type), INVALID_ARGUMENT,
                 "scatter: operands of different shapes");
        ref_memcpy(out[k].data, in[k].data, hlo_type_bytes(&out[k].type));
    }
    batch_positions(&s.p, s.updates->type.rank, s.batch);
    for (int i = 0; i < s.p.n_batch; i++)
        TT_CHECK(s.updates->type.dims[s.batch[i]] == s.p.batch_dims[i], INVALID_ARGUMENT, "scatter: the updates' shape does not fit");
    if (ref_count(s.updates) == 0)
        return TT_OK;
    int64_t count = 1;
    for (int i = 0; i < s.p.n_window; i++)
        count *= s.updates->type.dims[s.p.dims->a.v[i]];
    s.takes_update = s.n == 1 && ref_region_takes_update(g, node->regions[0]);
    TT_TRY(ref_region_create(run, g, node->regions[0], &s.region));
    tt_status error = scatter_run(&s, g, in, count);
    ref_region_destroy(s.region);
    for (int k = 0; k < s.n; k++) {
        ref_free(&s.old[k]);
        ref_free(&s.new_[k]);
        ref_free(&s.result[k]);
    }
    return error;
}

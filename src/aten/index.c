/* index.c - reading by index: index, index_select, gather, take, embedding, and their kin. Writing by index
 * is in index_put.c.
 *
 * Negative indices wrap. An index outside is an error in PyTorch; plain StableHLO clamps, so under
 * check_bounds the gathers carry tt.bounds with the op's name and an engine that knows it raises. */
#include "aten/index.h"

hlo_ref index_wrap(tt_lower *L, hlo_ref index, int64_t size) {
    hlo_graph *g = L->g;
    hlo_type t = piece_type(L, index);
    if (!tt_is_int(t.dtype) || tt_dtype_class(t.dtype) == TT_CLASS_UINT)
        return index;
    hlo_ref low = hlo_compare(g, "LT", index, hlo_splat_int(g, &t, 0));
    return hlo_select(g, low, hlo_add(g, index, hlo_splat_int(g, &t, size)), index);
}

hlo_ref index_narrow(tt_lower *L, hlo_ref index, int64_t limit) {
    tt_dtype d = piece_type(L, index).dtype;
    if (L->check_bounds) /* narrowing would make a far index a near one */
        return d == TT_I64 ? index : hlo_convert(L->g, index, TT_I64);
    return hlo_convert(L->g, index, limit < INT32_MAX ? TT_I32 : TT_I64);
}

const char *index_bounds(const tt_lower *L) {
    if (!L->check_bounds)
        return NULL;
    /* PyTorch's kernels of these raise a RuntimeError, those of the others an IndexError */
    static const char *const plain[] = {"gather", "scatter", "scatter_add", "scatter_reduce", "index_add", "index_reduce"};
    size_t n = strcspn(L->row->name, ".");
    const char *mark = "";
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (strlen(plain[i]) == n && !memcmp(plain[i], L->row->name, n))
            mark = "!";
    return tt_arena_printf(L->arena, "%s%.*s", mark, (int)n, L->row->name);
}

tt_status index_check(const tt_lower *L, tt_dtype d) {
    TT_CHECK(d == TT_I64 || d == TT_I32, INVALID_ARGUMENT,
             "%s(): Expected dtype int32/int64 for index but got %s", L->row->name, tt_dtype_name(d));
    return TT_OK;
}

hlo_ref index_rows(tt_lower *L, hlo_ref x, int dim, hlo_ref index, const char *bounds) {
    hlo_type t = piece_type(L, x), it = piece_type(L, index);
    int64_t sizes[HLO_MAX_RANK], offsets[HLO_MAX_RANK], where[1] = {dim}, dims[HLO_MAX_RANK + 1];
    int n = 0;
    for (int i = 0; i < t.rank; i++) {
        sizes[i] = i == dim ? 1 : t.dims[i];
        if (i != dim)
            offsets[n++] = i < dim ? i : i - 1 + it.rank;
    }
    memcpy(dims, it.dims, sizeof *dims * (size_t)it.rank);
    dims[it.rank] = 1;
    hlo_dims d = {.kind = HLO_DIMS_GATHER,
                  .a = {n, offsets},
                  .b = {1, where},
                  .e = {1, where},
                  .index_vector_dim = it.rank};
    return hlo_gather(L->g, x, hlo_reshape(L->g, index, it.rank + 1, dims), &d, sizes, bounds);
}

/* index_select(self, dim, index) */
LOWER(lower_index_select) {
    hlo_ref x = lower_value(L, 0), index = lower_value(L, 2);
    hlo_type t = piece_type(L, x), it = piece_type(L, index);
    TT_TRY(index_check(L, it.dtype));
    TT_CHECK(it.rank <= 1, OUT_OF_RANGE, "index_select(): Index is supposed to be a vector");
    int dim = lower_dim(L, lower_int(L, 1, 0), t.rank);
    int64_t one[1] = {1}, n[1] = {hlo_type_elements(&it)};
    if (t.rank == 0)
        x = hlo_reshape(L->g, x, 1, one);
    int64_t size = t.rank ? t.dims[dim] : 1;
    index = hlo_reshape(L->g, index, 1, n);
    if (L->check_bounds == false || it.dtype == TT_I64)
        index = index_narrow(L, index, size);
    hlo_ref y = index_rows(L, x, dim, index, index_bounds(L)); /* index_select takes no negative indices */
    if (t.rank == 0)
        y = hlo_reshape(L->g, y, 0, NULL);
    lower_out(L, y);
    return TT_OK;
}

/* embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse): rows of weight */
LOWER(lower_embedding) {
    hlo_ref w = lower_value(L, 0), index = lower_value(L, 1);
    hlo_type t = piece_type(L, w), it = piece_type(L, index);
    TT_CHECK(t.rank == 2, INVALID_ARGUMENT, "'weight' must be 2-D");
    TT_TRY(index_check(L, it.dtype));
    TT_CHECK(it.rank + 1 <= HLO_MAX_RANK - 1, UNIMPLEMENTED, "embedding of %d-dimensional indices", it.rank);
    lower_out(L, index_rows(L, w, 0, index_narrow(L, index, t.dims[0]), index_bounds(L)));
    return TT_OK;
}

hlo_ref index_flatten(tt_lower *L, hlo_ref index, int dim, const hlo_type *t) {
    hlo_graph *g = L->g;
    hlo_type it = piece_type(L, index);
    int64_t all = hlo_type_elements(t);
    hlo_ref flat = HLO_NONE;
    int64_t step = 1;
    index = hlo_convert(g, index, all < INT32_MAX ? TT_I32 : TT_I64);
    it = piece_type(L, index);
    for (int i = t->rank - 1; i >= 0; i--) {
        hlo_ref at = i == dim ? index : hlo_iota(g, &it, i);
        if (it.dims[i] != 1 || i == dim) {
            hlo_ref part = step == 1 ? at : hlo_mul(g, at, hlo_splat_int(g, &it, step));
            flat = flat ? hlo_add(g, flat, part) : part;
        }
        step *= t->dims[i];
    }
    return flat ? flat : hlo_splat_int(g, &it, 0);
}

hlo_ref index_take(tt_lower *L, hlo_ref x, hlo_ref flat, const char *bounds) {
    hlo_type t = piece_type(L, x), it = piece_type(L, flat);
    static const int64_t zero[1] = {0}, one[1] = {1};
    int64_t all[1] = {hlo_type_elements(&t)}, column[2] = {hlo_type_elements(&it), 1};
    hlo_dims d = {.kind = HLO_DIMS_GATHER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    hlo_ref y =
        hlo_gather(L->g, hlo_reshape(L->g, x, 1, all), hlo_reshape(L->g, flat, 2, column), &d, one, bounds);
    return hlo_reshape(L->g, y, it.rank, it.dims);
}

hlo_ref index_column(tt_lower *L, int arg, hlo_ref index, int dim, const hlo_type *t) {
    const int64_t *strides = lower_tensor(L, arg)->strides;
    hlo_type it = piece_type(L, index);
    bool expanded = t->rank > 1 && it.rank == t->rank;
    for (int i = 0; i < t->rank && expanded; i++)
        expanded = i == dim || (it.dims[i] == t->dims[i] && (strides[i] == 0 || it.dims[i] == 1));
    for (int i = 0; i < it.rank && expanded; i++)
        if (i != dim)
            index = hlo_slice_dim(L->g, index, i, 0, 1, 1);
    return expanded ? hlo_reshape(L->g, index, 1, &it.dims[dim]) : HLO_NONE;
}

/* gather(self, dim, index, sparse_grad): out[i][j] = self[index[i][j]][j] for dim 0. index may be smaller
 * than self in the other dims. */
LOWER(lower_gather) {
    hlo_ref x = lower_value(L, 0), index = lower_value(L, 2);
    hlo_type t = piece_type(L, x), it = piece_type(L, index);
    int dim = lower_dim(L, lower_int(L, 1, 0), t.rank);
    if (hlo_type_elements(&it) == 0) {
        lower_out(L, piece_zeros(L, t.dtype, it.rank, it.dims));
        return TT_OK;
    }
    TT_TRY(index_check(L, it.dtype));
    int64_t one[1] = {1};
    int out_rank = it.rank;
    if (t.rank == 0)
        x = hlo_reshape(L->g, x, 1, one), t = piece_type(L, x);
    if (it.rank == 0)
        index = hlo_reshape(L->g, index, 1, one), it = piece_type(L, index);
    TT_CHECK(t.rank == it.rank, INVALID_ARGUMENT,
             "Index tensor must have the same number of dimensions as input tensor");
    for (int i = 0; i < t.rank; i++)
        TT_CHECK(i == dim || it.dims[i] <= t.dims[i], INVALID_ARGUMENT,
                 "Size does not match at dimension %d expected index to be no larger than self apart from "
                 "dimension %d",
                 i, dim);
    hlo_ref y, column = index_column(L, 2, index, dim, &t);
    if (column != HLO_NONE)
        y = index_rows(L, x, dim, column, index_bounds(L));
    else if (L->check_bounds)
        y = index_take_checked(L, x, index, dim, index_bounds(L));
    else
        y = index_take(L, x, index_flatten(L, index, dim, &t), NULL);
    lower_out(L, out_rank == 0 ? hlo_reshape(L->g, y, 0, NULL) : y);
    return TT_OK;
}

/* Fills d with the dimension numbers of a gather or scatter by `index` along dim, every other dim batching; false where index is
 * shorter than x there. lists: room for 2 * HLO_MAX_RANK. */
bool index_batching(const hlo_type *t, const hlo_type *it, int dim, int64_t *lists, hlo_dims *d) {
    int n = 0;
    for (int i = 0; i < t->rank; i++) {
        if (i != dim && it->dims[i] != t->dims[i])
            return false;
        if (i != dim)
            lists[n++] = i;
    }
    lists[HLO_MAX_RANK] = dim;
    d->b = d->e = (hlo_ints){1, lists + HLO_MAX_RANK};
    d->c = d->d = (hlo_ints){n, lists};
    d->index_vector_dim = t->rank;
    return true;
}

/* One start index a dim, or batching dims, so that the engine can tell which one is out of bounds. */
hlo_ref index_take_checked(tt_lower *L, hlo_ref x, hlo_ref index, int dim, const char *bounds) {
    hlo_graph *g = L->g;
    hlo_type t = piece_type(L, x), it = piece_type(L, index);
    hlo_ref parts[HLO_MAX_RANK];
    int64_t lists[2 * HLO_MAX_RANK], ones[HLO_MAX_RANK];
    hlo_dims batching = {.kind = HLO_DIMS_GATHER};
    if (index_batching(&t, &it, dim, lists, &batching)) {
        for (int i = 0; i < t.rank; i++)
            ones[i] = 1;
        return hlo_gather(g, x, hlo_convert(g, index, TT_I64), &batching, ones, bounds);
    }
    int64_t all[HLO_MAX_RANK], sizes[HLO_MAX_RANK], column[2] = {hlo_type_elements(&it), 1};
    index = hlo_convert(g, index, TT_I64);
    it = piece_type(L, index);
    for (int i = 0; i < t.rank; i++) {
        all[i] = i;
        sizes[i] = 1;
        parts[i] = hlo_reshape(g, i == dim ? index : hlo_iota(g, &it, i), 2, column);
    }
    hlo_dims d = {.kind = HLO_DIMS_GATHER, .b = {t.rank, all}, .e = {t.rank, all}, .index_vector_dim = 1};
    hlo_ref y = hlo_gather(g, x, hlo_concatenate(g, t.rank, parts, 1), &d, sizes, bounds);
    return hlo_reshape(g, y, it.rank, it.dims);
}

/* take(self, index): elements of self, flattened */
LOWER(lower_take) {
    hlo_ref x = lower_value(L, 0), index = lower_value(L, 1);
    hlo_type t = piece_type(L, x), it = piece_type(L, index);
    TT_CHECK(it.dtype == TT_I64, INVALID_ARGUMENT, "take(): Expected a long tensor for index, but got %s",
             tt_dtype_name(it.dtype));
    if (hlo_type_elements(&it) == 0) {
        lower_out(L, piece_zeros(L, t.dtype, it.rank, it.dims));
        return TT_OK;
    }
    int64_t n = hlo_type_elements(&t);
    TT_CHECK(n > 0, OUT_OF_RANGE, "take(): tried to take from an empty tensor");
    lower_out(L, index_take(L, x, index_wrap(L, index, n), index_bounds(L)));
    return TT_OK;
}

/* ---- index.Tensor ---- */

tt_status index_plan_make(tt_lower *L, int arg, const hlo_type *x, index_plan *p) {
    tt_tensor *const *list;
    int n = lower_tensors(L, arg, &list);
    const hlo_type *types[HLO_MAX_RANK];
    hlo_type kept[HLO_MAX_RANK];
    memset(p, 0, sizeof *p);
    TT_CHECK(n <= x->rank, OUT_OF_RANGE, "too many indices for tensor of dimension %d (got %d)", x->rank, n);
    for (int i = 0; i < n; i++) {
        if (!list[i])
            continue;
        tt_dtype d = list[i]->dtype;
        TT_CHECK(d != TT_PRED && d != TT_U8, UNIMPLEMENTED, "%s with a mask", L->row->name);
        TT_CHECK(d == TT_I64 || d == TT_I32, OUT_OF_RANGE,
                 "tensors used as indices must be long, int, byte or bool tensors");
        kept[p->n] = hlo_type_make(d, list[i]->rank, list[i]->dims);
        types[p->n] = &kept[p->n];
        p->dims[p->n] = i;
        p->value[p->n++] = list[i]->value;
    }
    TT_CHECK(p->n > 0, UNIMPLEMENTED, "%s without an index", L->row->name);
    tt_status s = lower_broadcast_shape(p->n, types, &p->shape);
    if (s) {
        tt_status_free(s);
        TT_FAIL(OUT_OF_RANGE, "shape mismatch: indexing tensors could not be broadcast together");
    }
    p->adjacent = true;
    for (int i = 1; i < p->n; i++)
        p->adjacent &= p->dims[i] == p->dims[i - 1] + 1;
    p->at = p->adjacent ? (int)p->dims[0] : 0;
    return TT_OK;
}

hlo_ref index_plan_indices(tt_lower *L, const index_plan *p, const hlo_type *x) {
    hlo_ref parts[HLO_MAX_RANK];
    int64_t dims[HLO_MAX_RANK + 1], limit = 1;
    for (int i = 0; i < p->n; i++)
        limit = x->dims[p->dims[i]] > limit ? x->dims[p->dims[i]] : limit;
    memcpy(dims, p->shape.dims, sizeof *dims * (size_t)p->shape.rank);
    dims[p->shape.rank] = 1;
    for (int i = 0; i < p->n; i++) {
        hlo_ref v = index_narrow(L, p->value[i], limit);
        v = hlo_broadcast_to(L->g, index_wrap(L, v, x->dims[p->dims[i]]), p->shape.rank, p->shape.dims);
        parts[i] = hlo_reshape(L->g, v, p->shape.rank + 1, dims);
    }
    return p->n == 1 ? parts[0] : hlo_concatenate(L->g, p->n, parts, p->shape.rank);
}

/* index.Tensor(self, indices): the indexed dims give way to the indices' broadcast shape: at the first of
 * them when they are next to each other, else in front. Masks are turned into index lists before they come
 * here. */
LOWER(lower_index) {
    hlo_ref x = lower_value(L, 0);
    hlo_type t = piece_type(L, x);
    index_plan p;
    TT_TRY(index_plan_make(L, 1, &t, &p));
    TT_CHECK(t.rank - p.n + p.shape.rank < HLO_MAX_RANK && p.shape.rank + 1 < HLO_MAX_RANK, UNIMPLEMENTED,
             "an index result of more than %d dimensions", HLO_MAX_RANK - 1);
    int64_t sizes[HLO_MAX_RANK], offsets[HLO_MAX_RANK], n = 0, result[HLO_MAX_RANK];
    for (int i = 0, k = 0; i < t.rank; i++) {
        bool indexed = k < p.n && p.dims[k] == i;
        k += indexed;
        sizes[i] = indexed ? 1 : t.dims[i];
        if (!indexed)
            offsets[n] = n < p.at ? n : n + p.shape.rank, n++;
    }
    int rank = (int)n + p.shape.rank;
    bool empty_dim = false;
    for (int i = 0; i < p.n; i++)
        empty_dim |= t.dims[p.dims[i]] == 0;
    if (empty_dim) {
        TT_CHECK(hlo_type_elements(&p.shape) == 0, OUT_OF_RANGE,
                 "index is out of bounds for dimension with size 0");
        memcpy(result + p.at, p.shape.dims, sizeof *result * (size_t)p.shape.rank);
        for (int i = 0, k = 0, o = 0; i < t.rank; i++) {
            if (k < p.n && p.dims[k] == i)
                k++;
            else
                result[offsets[o++]] = t.dims[i];
        }
        lower_out(L, piece_zeros(L, t.dtype, rank, result));
        return TT_OK;
    }
    hlo_dims d = {.kind = HLO_DIMS_GATHER,
                  .a = {(int)n, offsets},
                  .b = {p.n, p.dims},
                  .e = {p.n, p.dims},
                  .index_vector_dim = p.shape.rank};
    lower_out(L, hlo_gather(L->g, x, index_plan_indices(L, &p, &t), &d, sizes, index_bounds(L)));
    return TT_OK;
}

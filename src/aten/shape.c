/* shape.c - ops that move elements without computing: cat stack repeat flip roll tril slice_scatter unfold_backward ... */
#include "aten/elem.h"
#include "aten/pieces.h"

/* ---- joining ---- */

static tt_status join_dtype(tt_lower *L, int n, tt_tensor *const *in, tt_dtype *out) {
    const tt_tensor **all = TT_NEW_N(L->arena, const tt_tensor *, n);
    for (int i = 0; i < n; i++)
        all[i] = in[i];
    *out = lower_result_type(L, n, all);
    return hlo_graph_take_error(L->g);
}

static bool legacy_empty(const tt_tensor *t) { return t->rank == 1 && t->dims[0] == 0; }

/* cat(Tensor[] tensors, int dim=0). One-dimensional empty tensors do not count, as ever in PyTorch. */
LOWER_FN(lower_shape_cat) {
    tt_tensor *const *in;
    int n = lower_tensors(L, 0, &in), kept = 0, dim = 0;
    TT_CHECK(n > 0, INVALID_ARGUMENT, "torch.cat(): expected a non-empty list of Tensors");
    tt_dtype dtype;
    TT_TRY(join_dtype(L, n, in, &dtype));
    hlo_ref *parts = TT_NEW_N(L->arena, hlo_ref, n);
    const tt_tensor *first = NULL;
    bool last = true;
    for (int i = 0; i < n; i++) {
        TT_CHECK(in[i]->rank > 0, INVALID_ARGUMENT, "zero-dimensional tensor (at position %d) cannot be concatenated", i);
        last = last && lower_suggests_channels_last(in[i]);
        if (legacy_empty(in[i]))
            continue;
        if (!first) {
            first = in[i];
            dim = lower_dim(L, lower_int(L, 1, 0), first->rank);
            TT_TRY(hlo_graph_take_error(L->g));
        }
        TT_CHECK(in[i]->rank == first->rank, INVALID_ARGUMENT, "Tensors must have same number of dimensions: got %d and %d",
                 first->rank, in[i]->rank);
        for (int d = 0; d < first->rank; d++)
            TT_CHECK(d == dim || in[i]->dims[d] == first->dims[d], INVALID_ARGUMENT,
                     "Sizes of tensors must match except in dimension %d. Expected size %lld but got size %lld for tensor "
                     "number %d in the list.",
                     dim, (long long)first->dims[d], (long long)in[i]->dims[d], i);
        parts[kept++] = hlo_convert(L->g, in[i]->value, dtype);
    }
    if (!kept) {
        hlo_type none = hlo_type_make(dtype, 1, (const int64_t[]){0});
        lower_out(L, hlo_splat(L->g, &none, 0));
    } else {
        lower_out_channels_last(L, kept == 1 ? parts[0] : hlo_concatenate(L->g, kept, parts, dim), last);
    }
    return hlo_graph_take_error(L->g);
}

/* PyTorch joins along `dim` itself, before the last one, and views the result: channels_last inputs stay in their order. */
static void out_stacked(tt_lower *L, hlo_ref value, int rank, int dim, bool channels_last) {
    static const int order4[] = {0, 2, 3, 1}, order5[] = {0, 2, 3, 4, 1};
    const int *joined = rank == 4 ? order4 : order5;
    int order[HLO_MAX_RANK], n = 0;
    if (!channels_last || dim == rank || (rank != 4 && rank != 5)) {
        lower_out(L, value);
        return;
    }
    for (int i = 0; i < rank; i++) {
        if (joined[i] == dim)
            order[n++] = dim;
        order[n++] = joined[i] < dim ? joined[i] : joined[i] + 1;
    }
    lower_out_ordered(L, value, order);
}

/* stack(Tensor[] tensors, int dim=0) */
LOWER_FN(lower_shape_stack) {
    tt_tensor *const *in;
    int n = lower_tensors(L, 0, &in);
    TT_CHECK(n > 0, INVALID_ARGUMENT, "stack expects a non-empty TensorList");
    tt_dtype dtype;
    TT_TRY(join_dtype(L, n, in, &dtype));
    int rank = in[0]->rank;
    TT_CHECK(rank < HLO_MAX_RANK, UNIMPLEMENTED, "stack: more than %d dims", HLO_MAX_RANK);
    int dim = lower_dim(L, lower_int(L, 1, 0), rank + 1);
    TT_TRY(hlo_graph_take_error(L->g));
    hlo_ref *parts = TT_NEW_N(L->arena, hlo_ref, n);
    bool last = true;
    int64_t dims[HLO_MAX_RANK];
    for (int d = 0; d <= rank; d++)
        dims[d] = d == dim ? 1 : in[0]->dims[d < dim ? d : d - 1];
    for (int i = 0; i < n; i++) {
        bool same = in[i]->rank == rank;
        for (int d = 0; same && d < rank; d++)
            same = in[i]->dims[d] == in[0]->dims[d];
        TT_CHECK(same, INVALID_ARGUMENT, "stack expects each tensor to be equal size");
        parts[i] = hlo_reshape(L->g, hlo_convert(L->g, in[i]->value, dtype), rank + 1, dims);
        last = last && lower_suggests_channels_last(in[i]);
    }
    out_stacked(L, n == 1 ? parts[0] : hlo_concatenate(L->g, n, parts, dim), rank, dim, last);
    return hlo_graph_take_error(L->g);
}

/* repeat(self, repeats): broadcast over a new dim before every repeated one, then merge the pairs */
LOWER_FN(lower_shape_repeat) {
    const tt_tensor *x = lower_tensor(L, 0);
    hlo_ints times = lower_ints(L, 1);
    TT_CHECK(times.n >= x->rank, INVALID_ARGUMENT,
             "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
    TT_CHECK(times.n <= HLO_MAX_RANK, UNIMPLEMENTED, "repeat: more than %d dims", HLO_MAX_RANK);
    int lead = times.n - x->rank, wide = 0;
    int64_t out[HLO_MAX_RANK], spread[2 * HLO_MAX_RANK], map[HLO_MAX_RANK];
    for (int d = 0; d < times.n; d++) {
        TT_CHECK(times.v[d] >= 0, INVALID_ARGUMENT, "Trying to create tensor with negative dimension %lld", (long long)times.v[d]);
        int64_t size = d < lead ? 1 : x->dims[d - lead];
        out[d] = size * times.v[d];
        if (times.v[d] != 1)
            spread[wide++] = times.v[d];
        if (d >= lead) {
            map[d - lead] = wide;
            spread[wide++] = size;
        } else if (times.v[d] == 1) {
            spread[wide++] = 1;
        }
    }
    TT_CHECK(wide <= HLO_MAX_RANK, UNIMPLEMENTED, "repeat: too many dims");
    hlo_ref r = hlo_broadcast_in_dim(L->g, x->value, wide, spread, map);
    lower_out(L, hlo_reshape(L->g, r, times.n, out));
    return hlo_graph_take_error(L->g);
}

/* ---- moving within ---- */

/* flip(self, dims) */
LOWER_FN(lower_shape_flip) {
    const tt_tensor *x = lower_tensor(L, 0);
    hlo_ints dims = lower_ints(L, 1);
    int64_t which[HLO_MAX_RANK];
    bool seen[HLO_MAX_RANK] = {false};
    int n = 0;
    for (int i = 0; i < dims.n; i++) {
        int d = lower_dim(L, dims.v[i], x->rank);
        TT_TRY(hlo_graph_take_error(L->g));
        TT_CHECK(!seen[d], INVALID_ARGUMENT, "dim %d appears multiple times in the list of dims", d);
        seen[d] = true;
        if (x->rank)
            which[n++] = d;
    }
    lower_out_like(L, n ? hlo_reverse(L->g, x->value, n, which) : x->value, x);
    return hlo_graph_take_error(L->g);
}

static hlo_ref rotate(tt_lower *L, hlo_ref x, int dim, int64_t shift) {
    hlo_type t = piece_type(L, x);
    int64_t n = t.dims[dim];
    if (n == 0)
        return x;
    shift = (shift % n + n) % n;
    if (!shift)
        return x;
    hlo_ref parts[2] = {hlo_slice_dim(L->g, x, dim, n - shift, n, 1), hlo_slice_dim(L->g, x, dim, 0, n - shift, 1)};
    return hlo_concatenate(L->g, 2, parts, dim);
}

/* roll(self, shifts, dims=[]): without dims, over the flattened tensor */
LOWER_FN(lower_shape_roll) {
    const tt_tensor *x = lower_tensor(L, 0);
    hlo_ints shifts = lower_ints(L, 1), dims = lower_ints(L, 2);
    TT_CHECK(shifts.n > 0, INVALID_ARGUMENT, "`shifts` required");
    TT_CHECK(dims.n == shifts.n || (dims.n == 0 && shifts.n == 1), INVALID_ARGUMENT,
             "shifts and dimensions must align. shifts: %d, dims:%d", shifts.n, dims.n);
    hlo_ref r = x->value;
    if (dims.n == 0) {
        int64_t n = piece_product(x->dims, 0, x->rank);
        r = rotate(L, hlo_reshape(L->g, r, 1, &n), 0, shifts.v[0]);
        r = hlo_reshape(L->g, r, x->rank, x->dims);
    }
    for (int i = 0; i < dims.n; i++) {
        TT_CHECK(x->rank, OUT_OF_RANGE, "Dimension specified as %lld but tensor has no dimensions", (long long)dims.v[i]);
        int d = lower_dim(L, dims.v[i], x->rank);
        TT_TRY(hlo_graph_take_error(L->g));
        r = rotate(L, r, d, shifts.v[i]);
    }
    lower_out_channels_last(L, r, dims.n && lower_suggests_channels_last(x));
    return hlo_graph_take_error(L->g);
}

/* channel_shuffle(self, groups): [N, g, C/g, ...] -> [N, C/g, g, ...] */
LOWER_FN(lower_shape_channel_shuffle) {
    const tt_tensor *x = lower_tensor(L, 0);
    int64_t groups = lower_int(L, 1, 1);
    TT_CHECK(x->rank > 2, INVALID_ARGUMENT, "channel_shuffle expects input with > 2 dims, but got input with %d dims", x->rank);
    TT_CHECK(groups > 0, INVALID_ARGUMENT, "Number of groups to divide channels in must be positive. Value of groups:%lld",
             (long long)groups);
    TT_CHECK(x->dims[1] % groups == 0, INVALID_ARGUMENT,
             "Number of channels must be divisible by groups. Got %lld channels and %lld groups.", (long long)x->dims[1],
             (long long)groups);
    TT_CHECK(x->rank < HLO_MAX_RANK, UNIMPLEMENTED, "channel_shuffle: too many dims");
    int64_t dims[HLO_MAX_RANK];
    dims[0] = x->dims[0];
    dims[1] = groups;
    dims[2] = x->dims[1] / groups;
    for (int d = 2; d < x->rank; d++)
        dims[d + 1] = x->dims[d];
    hlo_ref r = piece_swap(L, hlo_reshape(L->g, x->value, x->rank + 1, dims), 1, 2);
    lower_out_suggested(L, hlo_reshape(L->g, r, x->rank, x->dims), x);
    return hlo_graph_take_error(L->g);
}

/* ---- triangles ---- */

/* true where row + k >= column (lower) over the last two dims of t */
static hlo_ref below_diagonal(tt_lower *L, int64_t rows, int64_t columns, int64_t k) {
    hlo_type t = hlo_type_make(TT_I32, 2, (const int64_t[]){rows, columns});
    k = k > columns ? columns : k < -rows ? -rows : k;
    hlo_ref row = hlo_add(L->g, hlo_iota(L->g, &t, 0), hlo_splat_int(L->g, &t, k));
    return hlo_compare(L->g, "GE", row, hlo_iota(L->g, &t, 1));
}

/* tril(self, diagonal); triu (param 1) */
LOWER_FN(lower_shape_tri) {
    const tt_tensor *x = lower_tensor(L, 0);
    int64_t k = lower_int(L, 1, 0);
    bool upper = L->row->param;
    TT_CHECK(x->rank >= 2, INVALID_ARGUMENT, "%s: input tensor must have at least 2 dimensions", upper ? "triu" : "tril");
    hlo_type t = hlo_type_make(x->dtype, x->rank, x->dims), p = hlo_type_with(&t, TT_PRED);
    hlo_ref low = below_diagonal(L, x->dims[x->rank - 2], x->dims[x->rank - 1], upper ? k - 1 : k);
    low = hlo_broadcast_to(L->g, low, p.rank, p.dims);
    hlo_ref none = hlo_splat(L->g, &t, 0);
    lower_out(L, upper ? hlo_select(L->g, low, none, x->value) : hlo_select(L->g, low, x->value, none));
    return hlo_graph_take_error(L->g);
}

/* trace(self): the sum of the diagonal; integers to i64 */
LOWER_FN(lower_shape_trace) {
    const tt_tensor *x = lower_tensor(L, 0);
    TT_CHECK(x->rank == 2, INVALID_ARGUMENT, "trace: expected a matrix, but got tensor with dim %d", x->rank);
    tt_dtype out = tt_is_int(x->dtype) || x->dtype == TT_PRED ? TT_I64 : x->dtype;
    int64_t n = x->dims[0] < x->dims[1] ? x->dims[0] : x->dims[1];
    const int64_t elements = x->dims[0] * x->dims[1];
    if (!n) {
        lower_out(L, hlo_scalar(L->g, out, 0));
        return hlo_graph_take_error(L->g);
    }
    hlo_ref v = hlo_reshape(L->g, x->value, 1, &elements);
    const int64_t start = 0, step = x->dims[1] + 1, limit = (n - 1) * step + 1;
    v = hlo_convert(L->g, hlo_slice(L->g, v, &start, &limit, &step), lower_accumulate_dtype(out));
    v = hlo_reduce(L->g, HLO_ADD, v, HLO_NONE, 1, &start);
    lower_out(L, hlo_convert(L->g, v, out));
    return hlo_graph_take_error(L->g);
}

/* ---- scatters of views ---- */

static tt_status sizes_of(tt_lower *L, int arg, hlo_ints *out) {
    *out = lower_ints(L, arg);
    TT_CHECK(out->n <= HLO_MAX_RANK, UNIMPLEMENTED, "more than %d dims", HLO_MAX_RANK);
    return hlo_graph_take_error(L->g);
}

/* Where a slice lies: its first element, its length and its step; start and end as Python reads them. */
typedef struct span { int dim; int64_t start, length, step, size; } span;

static tt_status slice_span(tt_lower *L, int rank, const int64_t *dims, int dim_arg, span *out) {
    TT_CHECK(rank > 0, INVALID_ARGUMENT, "slice() cannot be applied to a 0-dim tensor.");
    out->dim = lower_dim(L, lower_int(L, dim_arg, 0), rank);
    TT_TRY(hlo_graph_take_error(L->g));
    int64_t n = dims[out->dim], start = lower_int(L, dim_arg + 1, 0), end = lower_int(L, dim_arg + 2, INT64_MAX);
    out->step = lower_int(L, dim_arg + 3, 1);
    TT_CHECK(out->step > 0, INVALID_ARGUMENT, "slice step must be positive");
    start = start < 0 ? start + n : start;
    end = end < 0 ? end + n : end;
    start = start < 0 ? 0 : start > n ? n : start;
    end = end < start ? start : end > n ? n : end;
    out->start = start;
    out->size = n;
    out->length = (end - start + out->step - 1) / out->step;
    return TT_OK;
}

/* The slice's values at their places, `fill` elsewhere. */
static hlo_ref spread(tt_lower *L, hlo_ref src, const span *s, hlo_ref fill) {
    int64_t low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {0}, inner[HLO_MAX_RANK] = {0};
    if (s->length == 0) {
        high[s->dim] = s->size;
        return hlo_pad(L->g, src, fill, low, high, inner);
    }
    low[s->dim] = s->start;
    inner[s->dim] = s->step - 1;
    high[s->dim] = s->size - s->start - ((s->length - 1) * s->step + 1);
    return hlo_pad(L->g, src, fill, low, high, inner);
}

/* slice_backward(grad, input_sizes, dim, start, end, step) */
LOWER_FN(lower_shape_slice_backward) {
    const tt_tensor *grad = lower_tensor(L, 0);
    hlo_ints sizes;
    span s;
    TT_TRY(sizes_of(L, 1, &sizes));
    TT_TRY(slice_span(L, sizes.n, sizes.v, 2, &s));
    lower_out(L, spread(L, grad->value, &s, hlo_scalar(L->g, grad->dtype, 0)));
    return hlo_graph_take_error(L->g);
}

static tt_status select_span(tt_lower *L, int rank, const int64_t *dims, int dim_arg, span *out) {
    TT_CHECK(rank > 0, OUT_OF_RANGE, "select() cannot be applied to a 0-dim tensor.");
    out->dim = lower_dim(L, lower_int(L, dim_arg, 0), rank);
    TT_TRY(hlo_graph_take_error(L->g));
    int64_t i = lower_int(L, dim_arg + 1, 0), n = dims[out->dim];
    TT_CHECK(i >= -n && i < n, OUT_OF_RANGE, "select(): index %lld out of range for tensor of size %lld at dimension %d",
             (long long)i, (long long)n, out->dim);
    *out = (span){out->dim, i < 0 ? i + n : i, 1, 1, n};
    return TT_OK;
}

static hlo_ref with_dim(tt_lower *L, hlo_ref x, int dim) {
    hlo_type t = piece_type(L, x);
    int64_t dims[HLO_MAX_RANK + 1];
    for (int d = 0; d <= t.rank; d++)
        dims[d] = d == dim ? 1 : t.dims[d < dim ? d : d - 1];
    return t.rank < HLO_MAX_RANK ? hlo_reshape(L->g, x, t.rank + 1, dims) : HLO_NONE;
}

/* select_backward(grad, input_sizes, dim, index) */
LOWER_FN(lower_shape_select_backward) {
    const tt_tensor *grad = lower_tensor(L, 0);
    hlo_ints sizes;
    span s;
    TT_TRY(sizes_of(L, 1, &sizes));
    TT_TRY(select_span(L, sizes.n, sizes.v, 2, &s));
    lower_out(L, spread(L, with_dim(L, grad->value, s.dim), &s, hlo_scalar(L->g, grad->dtype, 0)));
    return hlo_graph_take_error(L->g);
}

static hlo_ref put(tt_lower *L, const tt_tensor *self, hlo_ref src, const span *s) {
    hlo_type t = piece_type(L, src);
    src = hlo_convert(L->g, src, self->dtype);
    if (s->length == 0)
        return self->value;
    if (s->length == s->size)
        return src;
    if (s->step == 1) {
        hlo_ref at[HLO_MAX_RANK];
        for (int d = 0; d < t.rank; d++)
            at[d] = hlo_scalar_int(L->g, TT_I32, d == s->dim ? s->start : 0);
        return hlo_dynamic_update_slice(L->g, self->value, src, at);
    }
    hlo_type mask = hlo_type_with(&t, TT_PRED);
    hlo_ref in = spread(L, hlo_splat_int(L->g, &mask, 1), s, hlo_scalar_int(L->g, TT_PRED, 0));
    return hlo_select(L->g, in, spread(L, src, s, hlo_scalar(L->g, self->dtype, 0)), self->value);
}

/* slice_scatter(self, src, dim, start, end, step); select_scatter (param 1): (self, src, dim, index) */
LOWER_FN(lower_shape_scatter) {
    const tt_tensor *self = lower_tensor(L, 0), *src = lower_tensor(L, 1);
    bool select = L->row->param;
    span s;
    TT_TRY(select ? select_span(L, self->rank, self->dims, 2, &s) : slice_span(L, self->rank, self->dims, 2, &s));
    hlo_ref v = select ? with_dim(L, src->value, s.dim) : src->value;
    hlo_type t = piece_type(L, v);
    bool fits = t.rank == self->rank;
    for (int d = 0; fits && d < t.rank; d++)
        fits = t.dims[d] == (d == s.dim ? s.length : self->dims[d]);
    TT_CHECK(fits, INVALID_ARGUMENT, "expected src to have a size equal to the slice of self");
    lower_out_like(L, put(L, self, v, &s), self);
    return hlo_graph_take_error(L->g);
}

/* unfold_backward(grad_in, input_sizes, dim, size, step): windows added back where they came from. The update dims
 * that index are (dim: which window, last: place in it). */
LOWER_FN(lower_shape_unfold_backward) {
    const tt_tensor *grad = lower_tensor(L, 0);
    hlo_ints sizes;
    TT_TRY(sizes_of(L, 1, &sizes));
    int dim = lower_dim(L, lower_int(L, 2, 0), sizes.n);
    TT_TRY(hlo_graph_take_error(L->g));
    int64_t size = lower_int(L, 3, 1), step = lower_int(L, 4, 1);
    tt_dtype acc = lower_accumulate_dtype(grad->dtype);
    hlo_type t = hlo_type_make(acc, sizes.n, sizes.v);
    if (sizes.n == 0) {
        lower_out(L, hlo_reshape(L->g, grad->value, 0, NULL));
        return hlo_graph_take_error(L->g);
    }
    int64_t shape[3] = {grad->dims[dim], size, 1}, window[HLO_MAX_RANK];
    hlo_type it = hlo_type_make(TT_I64, 3, shape);
    hlo_ref at = hlo_add(L->g, hlo_mul(L->g, hlo_iota(L->g, &it, 0), hlo_splat_int(L->g, &it, step)), hlo_iota(L->g, &it, 1));
    int n = 0;
    for (int d = 0; d < sizes.n; d++)
        if (d != dim)
            window[n++] = d;
    int64_t where = dim;
    hlo_dims dims = {.kind = HLO_DIMS_SCATTER, .a = {n, window}, .b = {1, &where}, .e = {1, &where}, .index_vector_dim = 2};
    hlo_ref r = hlo_scatter(L->g, hlo_splat(L->g, &t, 0), at, hlo_convert(L->g, grad->value, acc), &dims, HLO_ADD, false, NULL);
    lower_out(L, hlo_convert(L->g, r, grad->dtype));
    return hlo_graph_take_error(L->g);
}

/* repeat_interleave.Tensor(repeats, *, output_size): position i belongs to the first entry whose running sum exceeds i.
 * Without output_size the result's size is data. */
LOWER_FN(lower_shape_repeat_interleave) {
    const tt_tensor *x = lower_tensor(L, 0);
    int64_t n = lower_int(L, 1, -1), m = x->rank ? x->dims[0] : 0;
    TT_CHECK(x->rank == 1, INVALID_ARGUMENT, "repeat_interleave only accept 1D vector as repeat");
    if (n < 0 || (x->dtype != TT_I64 && x->dtype != TT_I32) || (double)n * (double)m > 1e8)
        LOWER_UNSUPPORTED(L, "a size that depends on data");
    const int64_t grid[2] = {n, m}, low = m > 0 ? m - 1 : 0, high = 0, along = 1;
    hlo_window w = {.size = &m, .padding_low = &low, .padding_high = &high};
    hlo_ref sums = m > 1 ? hlo_reduce_window(L->g, HLO_ADD, x->value, HLO_NONE, &w) : x->value;
    hlo_type t = hlo_type_make(x->dtype, 2, grid);
    hlo_ref past = hlo_compare(L->g, "LE", hlo_broadcast_in_dim(L->g, sums, 2, grid, &along), hlo_iota(L->g, &t, 0));
    lower_out(L, hlo_reduce(L->g, HLO_ADD, hlo_convert(L->g, past, x->dtype), HLO_NONE, 1, &along));
    return hlo_graph_take_error(L->g);
}

/* index_put.c - writing by index: index_put, scatter and its reductions, index_add, index_copy, index_fill,
 * put, masked_scatter.
 *
 * All are scatters. Sums of f16 and bf16 accumulate in f32 and round once. Where the same place is written
 * twice without a reduction, PyTorch leaves open which value stays. */
#include "aten/index.h"

/* x with `updates` at `flat` positions (both of one shape), combined by `op` (HLO_INVALID: replaced). */
static hlo_ref scatter_flat(tt_lower *L, hlo_ref x, hlo_ref flat, hlo_ref updates, hlo_op op,
                            const char *bounds) {
    hlo_type t = piece_type(L, x), it = piece_type(L, flat);
    static const int64_t zero[1] = {0};
    int64_t all[1] = {hlo_type_elements(&t)}, n[1] = {hlo_type_elements(&it)}, column[2] = {n[0], 1};
    hlo_dims d = {.kind = HLO_DIMS_SCATTER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    hlo_ref y = hlo_scatter(L->g, hlo_reshape(L->g, x, 1, all), hlo_reshape(L->g, flat, 2, column),
                            hlo_reshape(L->g, updates, 1, n), &d, op, false, bounds);
    return hlo_reshape(L->g, y, t.rank, t.dims);
}

/* The same by coordinates, `index` along dim; under check_bounds with one coordinate a dim, so that the
 * engine can tell which is out. */
static hlo_ref scatter_elements(tt_lower *L, hlo_ref x, int dim, hlo_ref index, hlo_ref updates, hlo_op op,
                                const char *bounds) {
    hlo_graph *g = L->g;
    hlo_type t = piece_type(L, x), it = piece_type(L, index);
    if (!bounds)
        return scatter_flat(L, x, index_flatten(L, index, dim, &t), updates, op, NULL);
    hlo_ref parts[HLO_MAX_RANK];
    int64_t all[HLO_MAX_RANK], n[1] = {hlo_type_elements(&it)}, column[2] = {n[0], 1}, lists[2 * HLO_MAX_RANK];
    hlo_dims batching = {.kind = HLO_DIMS_SCATTER};
    index = hlo_convert(g, index, TT_I64);
    if (index_batching(&t, &it, dim, lists, &batching))
        return hlo_scatter(g, x, index, updates, &batching, op, false, bounds);
    it = piece_type(L, index);
    for (int i = 0; i < t.rank; i++) {
        all[i] = i;
        parts[i] = hlo_reshape(g, i == dim ? index : hlo_iota(g, &it, i), 2, column);
    }
    hlo_dims d = {.kind = HLO_DIMS_SCATTER, .b = {t.rank, all}, .e = {t.rank, all}, .index_vector_dim = 1};
    return hlo_scatter(g, x, hlo_concatenate(g, t.rank, parts, 1), hlo_reshape(g, updates, 1, n), &d, op,
                       false, bounds);
}

/* Slices along dim: updates has x's shape but for dim, which is as long as index [n]. */
static hlo_ref scatter_rows(tt_lower *L, hlo_ref x, int dim, hlo_ref index, hlo_ref updates, hlo_op op,
                            const char *bounds) {
    hlo_type t = piece_type(L, x), it = piece_type(L, index);
    int64_t window[HLO_MAX_RANK], where[1] = {dim}, column[2] = {hlo_type_elements(&it), 1};
    int n = 0;
    for (int i = 0; i < t.rank; i++)
        if (i != dim)
            window[n++] = i;
    hlo_dims d = {
        .kind = HLO_DIMS_SCATTER, .a = {n, window}, .b = {1, where}, .e = {1, where}, .index_vector_dim = 1};
    return hlo_scatter(L->g, x, hlo_reshape(L->g, index_narrow(L, index, t.dims[dim]), 2, column), updates,
                       &d, op, false, bounds);
}

hlo_ref index_sum_rows(tt_lower *L, hlo_ref rows, hlo_ref index, int64_t n, tt_dtype dtype) {
    hlo_graph *g = L->g;
    hlo_ref in[2] = {rows, hlo_convert(g, index, TT_I64)}, p[2], y;
    hlo_composite c = hlo_composite_begin(g, "tt.sum_rows", NULL, 2, in, p);
    hlo_type t = piece_type(L, p[0]);
    int64_t table[2] = {n, t.dims[1]};
    hlo_ref sums = hlo_convert(g, scatter_rows(L, piece_zeros(L, t.dtype, 2, table), 0, p[1], p[0], HLO_ADD, NULL), dtype);
    hlo_composite_end(g, &c, 1, &sums, &y);
    return y;
}

/* ---- index_put ---- */

/* index_put(self, indices, values, accumulate), _index_put_impl(.., unsafe) */
LOWER(lower_index_put) {
    hlo_graph *g = L->g;
    hlo_ref x = lower_value(L, 0), values = lower_value(L, 2);
    hlo_type t = piece_type(L, x), vt = piece_type(L, values);
    index_plan p;
    TT_TRY(index_plan_make(L, 1, &t, &p));
    bool accumulate = lower_bool(L, 3, false);
    TT_CHECK(vt.dtype == t.dtype || vt.rank == 0, INVALID_ARGUMENT,
             "Index put requires the source and destination dtypes match, got %s for the destination and %s "
             "for the source.",
             tt_dtype_name(t.dtype), tt_dtype_name(vt.dtype));
    int64_t window[HLO_MAX_RANK], dims[HLO_MAX_RANK];
    int n = 0, rank = t.rank - p.n + p.shape.rank;
    TT_CHECK(rank < HLO_MAX_RANK, UNIMPLEMENTED, "an index result of more than %d dimensions",
             HLO_MAX_RANK - 1);
    memcpy(dims + p.at, p.shape.dims, sizeof *dims * (size_t)p.shape.rank);
    for (int i = 0, k = 0; i < t.rank; i++) {
        if (k < p.n && p.dims[k] == i) {
            k++;
            continue;
        }
        window[n] = n < p.at ? n : n + p.shape.rank;
        dims[window[n++]] = t.dims[i];
    }
    hlo_type want = hlo_type_make(t.dtype, rank, dims), fit;
    /* Leading ones of values beyond the rank are dropped, as PyTorch does. */
    int extra = 0;
    while (vt.rank - extra > rank && vt.dims[extra] == 1)
        extra++;
    if (extra)
        values = hlo_reshape(g, values, vt.rank - extra, vt.dims + extra), vt = piece_type(L, values);
    const hlo_type *both[2] = {&vt, &want};
    tt_status s = lower_broadcast_shape(2, both, &fit);
    bool fits = !s && hlo_dims_equal(&fit, &want);
    tt_status_free(s);
    TT_CHECK(fits, INVALID_ARGUMENT,
             "shape mismatch: value tensor of %d dimensions cannot be broadcast to indexing result of %d "
             "dimensions",
             vt.rank, rank);
    if (hlo_type_elements(&want) == 0) {
        lower_out_like(L, x, lower_tensor(L, 0));
        return TT_OK;
    }
    tt_dtype wide = accumulate ? lower_accumulate_dtype(t.dtype) : t.dtype;
    hlo_dims d = {.kind = HLO_DIMS_SCATTER,
                  .a = {n, window},
                  .b = {p.n, p.dims},
                  .e = {p.n, p.dims},
                  .index_vector_dim = p.shape.rank};
    hlo_ref y = hlo_scatter(g, hlo_convert(g, x, wide), index_plan_indices(L, &p, &t),
                            lower_cast_broadcast(L, hlo_convert(g, values, t.dtype), wide, &want), &d,
                            accumulate ? (t.dtype == TT_PRED ? HLO_OR : HLO_ADD) : HLO_INVALID, false,
                            index_bounds(L));
    lower_out_like(L, hlo_convert(g, y, t.dtype), lower_tensor(L, 0));
    return TT_OK;
}

/* ---- scatter ---- */

/* self, dim, index, src of the scatter family, made rank >= 1; src is cut to index's shape. */
typedef struct scatter {
    hlo_ref x, index, src;
    hlo_type t, it, given;
    int dim;
} scatter;

static tt_status read_scatter(tt_lower *L, bool has_src, scatter *s) {
    hlo_graph *g = L->g;
    int64_t one[1] = {1};
    s->x = lower_value(L, 0);
    s->index = lower_value(L, 2);
    s->given = piece_type(L, s->x);
    s->dim = lower_dim(L, lower_int(L, 1, 0), s->given.rank);
    hlo_type it = piece_type(L, s->index);
    if (hlo_type_elements(&it))
        TT_TRY(index_check(L, it.dtype));
    if (s->given.rank == 0)
        s->x = hlo_reshape(g, s->x, 1, one);
    if (it.rank == 0)
        s->index = hlo_reshape(g, s->index, 1, one);
    s->t = piece_type(L, s->x);
    s->it = piece_type(L, s->index);
    bool empty = hlo_type_elements(&s->it) == 0;
    TT_CHECK(s->t.rank == s->it.rank || empty, INVALID_ARGUMENT,
             "Index tensor must have the same number of dimensions as self tensor");
    for (int i = 0; i < s->t.rank && !empty; i++)
        TT_CHECK(i == s->dim || s->it.dims[i] <= s->t.dims[i], INVALID_ARGUMENT,
                 "Expected index to be no larger than self apart from dimension %d", s->dim);
    if (!has_src)
        return TT_OK;
    s->src = lower_value(L, 3);
    hlo_type st = piece_type(L, s->src);
    TT_CHECK(st.dtype == s->t.dtype, INVALID_ARGUMENT,
             "scatter(): Expected self.dtype to be equal to src.dtype");
    if (st.rank == 0)
        s->src = hlo_reshape(g, s->src, 1, one), st = piece_type(L, s->src);
    if (empty)
        return TT_OK;
    TT_CHECK(st.rank == s->it.rank, INVALID_ARGUMENT,
             "Index tensor must have the same number of dimensions as src tensor");
    int64_t start[HLO_MAX_RANK] = {0};
    for (int i = 0; i < st.rank; i++)
        TT_CHECK(s->it.dims[i] <= st.dims[i], INVALID_ARGUMENT, "Expected index to be no larger than src");
    s->src = hlo_slice(g, s->src, start, s->it.dims, NULL);
    return TT_OK;
}

static void finish_scatter(tt_lower *L, const scatter *s, hlo_ref y) {
    lower_out(L, hlo_reshape(L->g, hlo_convert(L->g, y, s->given.dtype), s->given.rank, s->given.dims));
}

static hlo_ref reduce_into(tt_lower *L, const scatter *s, hlo_ref src, hlo_op op) {
    tt_dtype wide = op == HLO_INVALID ? s->t.dtype : lower_accumulate_dtype(s->t.dtype);
    if (hlo_type_elements(&s->it) == 0)
        return s->x;
    hlo_ref x = hlo_convert(L->g, s->x, wide), column = index_column(L, 2, s->index, s->dim, &s->t);
    src = hlo_convert(L->g, src, wide);
    return column != HLO_NONE ? scatter_rows(L, x, s->dim, column, src, op, index_bounds(L))
                              : scatter_elements(L, x, s->dim, s->index, src, op, index_bounds(L));
}

static tt_status reduce_op(tt_lower *L, int arg, hlo_op *out) {
    const char *name = lower_string(L, arg, "");
    *out = !strcmp(name, "add") || !strcmp(name, "sum") || !strcmp(name, "mean") ? HLO_ADD
           : !strcmp(name, "multiply") || !strcmp(name, "prod")                  ? HLO_MULTIPLY
           : !strcmp(name, "amax")                                               ? HLO_MAXIMUM
           : !strcmp(name, "amin")                                               ? HLO_MINIMUM
                                                                                 : HLO_INVALID;
    TT_CHECK(*out != HLO_INVALID, INVALID_ARGUMENT,
             "reduce argument must be either sum, prod, mean, amax or amin, got %s", name);
    return TT_OK;
}

/* scatter.src, scatter_add (param HLO_ADD) */
LOWER(lower_scatter) {
    scatter s = {0};
    TT_TRY(read_scatter(L, true, &s));
    finish_scatter(L, &s, reduce_into(L, &s, s.src, (hlo_op)L->row->param));
    return TT_OK;
}

/* scatter.reduce(self, dim, index, src, reduce) */
LOWER(lower_scatter_reduce_src) {
    scatter s = {0};
    hlo_op op;
    TT_TRY(reduce_op(L, 4, &op));
    TT_TRY(read_scatter(L, true, &s));
    finish_scatter(L, &s, reduce_into(L, &s, s.src, op));
    return TT_OK;
}

/* scatter.value(self, dim, index, value), scatter.value_reduce(.., reduce) (param 1) */
LOWER(lower_scatter_value) {
    scatter s = {0};
    hlo_op op = HLO_INVALID;
    if (L->row->param)
        TT_TRY(reduce_op(L, 4, &op));
    TT_TRY(read_scatter(L, false, &s));
    hlo_type t = hlo_type_with(&s.it, s.t.dtype);
    finish_scatter(L, &s, reduce_into(L, &s, piece_fill(L, lower_scalar(L, 3, s.t.dtype), &t), op));
    return TT_OK;
}

/* Reduces src into self at the indices. Without include_self the places that are written start from the
 * identity. */
static tt_status scatter_reduce(tt_lower *L, scatter *s, const char *name, hlo_op op, bool include_self) {
    hlo_graph *g = L->g;
    if (hlo_type_elements(&s->it) == 0) {
        finish_scatter(L, s, s->x);
        return TT_OK;
    }
    tt_dtype wide = lower_accumulate_dtype(s->t.dtype);
    hlo_type ut = hlo_type_with(&s->it, wide), wt = hlo_type_with(&s->t, wide);
    hlo_ref x = hlo_convert(g, s->x, wide);
    if (!include_self) {
        hlo_ref identity = op == HLO_ADD        ? hlo_splat(g, &ut, 0)
                           : op == HLO_MULTIPLY ? hlo_splat(g, &ut, 1)
                           : op == HLO_MAXIMUM  ? hlo_min_value(g, &ut)
                                                : hlo_max_value(g, &ut);
        x = scatter_elements(L, x, s->dim, s->index, identity, HLO_INVALID, NULL);
    }
    hlo_ref y = scatter_elements(L, x, s->dim, s->index, hlo_convert(g, s->src, wide), op, index_bounds(L));
    if (!strcmp(name, "mean")) {
        hlo_ref count = scatter_elements(L, hlo_splat(g, &wt, include_self ? 1 : 0), s->dim, s->index,
                                         hlo_splat(g, &ut, 1), HLO_ADD, NULL);
        count = hlo_binary(g, HLO_MAXIMUM, count, hlo_splat(g, &wt, 1));
        if (tt_is_int(wide)) { /* floor division */
            hlo_ref q = hlo_div(g, y, count), rest = hlo_binary(g, HLO_REMAINDER, y, count),
                    zero = hlo_splat_int(g, &wt, 0);
            y = tt_dtype_class(wide) == TT_CLASS_UINT
                    ? q
                    : hlo_select(g, hlo_compare(g, "LT", rest, zero), hlo_sub(g, q, hlo_splat_int(g, &wt, 1)),
                                 q);
        } else {
            y = hlo_div(g, y, count);
        }
    }
    finish_scatter(L, s, y);
    return TT_OK;
}

/* scatter_reduce.two(self, dim, index, src, reduce, include_self) */
LOWER(lower_scatter_reduce) {
    scatter s = {0};
    hlo_op op;
    TT_TRY(reduce_op(L, 4, &op));
    TT_TRY(read_scatter(L, true, &s));
    return scatter_reduce(L, &s, lower_string(L, 4, ""), op, lower_bool(L, 5, true));
}

/* ---- index_* along one dim ---- */

typedef struct rows {
    hlo_ref x, index, source;
    hlo_type t, given;
    int dim;
    int64_t n;
} rows;

static tt_status read_rows(tt_lower *L, bool has_source, rows *r) {
    hlo_graph *g = L->g;
    int64_t one[1] = {1};
    r->x = lower_value(L, 0);
    r->given = piece_type(L, r->x);
    r->dim = lower_dim(L, lower_int(L, 1, 0), r->given.rank);
    if (r->given.rank == 0)
        r->x = hlo_reshape(g, r->x, 1, one);
    r->t = piece_type(L, r->x);
    hlo_type it = piece_type(L, lower_value(L, 2));
    TT_TRY(index_check(L, it.dtype));
    TT_CHECK(it.rank <= 1, OUT_OF_RANGE,
             "%s(): Index is supposed to be a vector, but got dim: %d with type: %s", L->row->name, it.rank,
             tt_dtype_name(it.dtype));
    r->n = hlo_type_elements(&it);
    int64_t n[1] = {r->n};
    r->index = hlo_reshape(g, lower_value(L, 2), 1, n);
    if (!has_source)
        return TT_OK;
    r->source = lower_value(L, 3);
    hlo_type st = piece_type(L, r->source), want = r->t;
    TT_CHECK(st.dtype == r->t.dtype, INVALID_ARGUMENT,
             "%s(): self (%s) and source (%s) must have the same scalar type", L->row->name,
             tt_dtype_name(r->t.dtype), tt_dtype_name(st.dtype));
    want.dims[r->dim] = r->n;
    if (st.rank == 0)
        r->source = hlo_reshape(g, r->source, 1, one), st = piece_type(L, r->source);
    TT_CHECK(st.rank == want.rank && hlo_dims_equal(&st, &want), INVALID_ARGUMENT,
             "%s(): Number of indices (%lld) should be equal to source.size(dim), and the other sizes to "
             "those of self",
             L->row->name, (long long)r->n);
    return TT_OK;
}

static hlo_ref rows_result(tt_lower *L, const rows *r, hlo_ref y) {
    return hlo_reshape(L->g, hlo_convert(L->g, y, r->given.dtype), r->given.rank, r->given.dims);
}

static void finish_rows(tt_lower *L, const rows *r, hlo_ref y) {
    lower_out(L, rows_result(L, r, y));
}

/* index_add(self, dim, index, source, alpha) */
LOWER(lower_index_add) {
    rows r = {0};
    TT_TRY(read_rows(L, true, &r));
    tt_dtype wide = lower_accumulate_dtype(r.t.dtype);
    hlo_type st = piece_type(L, r.source), wt = hlo_type_with(&st, wide);
    hlo_ref source = hlo_convert(L->g, r.source, wide);
    bool one = lower_scalar_class(L, 4) != TT_CLASS_COMPLEX && lower_double(L, 4, 1) == 1;
    if (!one)
        source = hlo_mul(L->g, source, piece_fill(L, lower_scalar(L, 4, wide), &wt));
    finish_rows(L, &r,
                r.n ? scatter_rows(L, hlo_convert(L->g, r.x, wide), r.dim, r.index, source,
                                   r.t.dtype == TT_PRED ? HLO_OR : HLO_ADD, index_bounds(L))
                    : r.x);
    return TT_OK;
}

/* index_copy(self, dim, index, source) */
LOWER(lower_index_copy) {
    rows r = {0};
    TT_TRY(read_rows(L, true, &r));
    finish_rows(L, &r,
                r.n ? scatter_rows(L, r.x, r.dim, r.index, r.source, HLO_INVALID, index_bounds(L)) : r.x);
    return TT_OK;
}

/* index_fill.int_Scalar(self, dim, index, value), index_fill.int_Tensor (param 1) */
LOWER(lower_index_fill) {
    rows r = {0};
    TT_TRY(read_rows(L, false, &r));
    hlo_type want = r.t;
    want.dims[r.dim] = r.n;
    hlo_ref value;
    if (L->row->param) {
        hlo_type vt = piece_type(L, lower_value(L, 3));
        TT_CHECK(
            vt.rank == 0, INVALID_ARGUMENT,
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
            vt.rank);
        value = hlo_convert(L->g, lower_value(L, 3), r.t.dtype);
    } else {
        value = lower_scalar(L, 3, r.t.dtype);
    }
    hlo_ref index = index_wrap(L, r.index, r.t.dims[r.dim]);
    hlo_ref y = r.n ? scatter_rows(L, r.x, r.dim, index, piece_fill(L, value, &want), HLO_INVALID, index_bounds(L)) : r.x;
    lower_out_like(L, rows_result(L, &r, y), lower_tensor(L, 0));
    return TT_OK;
}

/* index_reduce(self, dim, index, source, reduce, include_self) */
LOWER(lower_index_reduce) {
    rows r = {0};
    hlo_op op;
    TT_TRY(reduce_op(L, 4, &op));
    TT_TRY(read_rows(L, true, &r));
    if (r.n && (op == HLO_MAXIMUM || op == HLO_MINIMUM) && lower_bool(L, 5, true)) { /* row by row, as index_add */
        finish_rows(L, &r, scatter_rows(L, r.x, r.dim, r.index, r.source, op, index_bounds(L)));
        return TT_OK;
    }
    hlo_type st = piece_type(L, r.source), it = hlo_type_with(&st, TT_I64);
    scatter s = {.x = r.x, .src = r.source, .t = r.t, .it = it, .given = r.given, .dim = r.dim};
    s.index = piece_along(L, hlo_convert(L->g, r.index, TT_I64), &it, r.dim);
    return scatter_reduce(L, &s, lower_string(L, 4, ""), op, lower_bool(L, 5, true));
}

/* put(self, index, source, accumulate): at flat positions */
LOWER(lower_put) {
    hlo_graph *g = L->g;
    hlo_ref x = lower_value(L, 0), index = lower_value(L, 1), source = lower_value(L, 2);
    hlo_type t = piece_type(L, x), it = piece_type(L, index), st = piece_type(L, source);
    TT_CHECK(it.dtype == TT_I64, INVALID_ARGUMENT, "put_(): Expected a long tensor for index, but got %s",
             tt_dtype_name(it.dtype));
    TT_CHECK(st.dtype == t.dtype, INVALID_ARGUMENT,
             "put_(): self and source expected to have the same dtype, but got self.dtype = %s and "
             "source.dtype = %s",
             tt_dtype_name(t.dtype), tt_dtype_name(st.dtype));
    TT_CHECK(hlo_type_elements(&it) == hlo_type_elements(&st), INVALID_ARGUMENT,
             "put_(): Expected source and index to have the same number of elements, but got source.numel() "
             "= %lld, index.numel() = %lld",
             (long long)hlo_type_elements(&st), (long long)hlo_type_elements(&it));
    if (hlo_type_elements(&it) == 0) {
        lower_out_like(L, x, lower_tensor(L, 0));
        return TT_OK;
    }
    TT_CHECK(hlo_type_elements(&t) > 0, OUT_OF_RANGE, "put_(): Tried to put elements into an empty tensor");
    bool accumulate = lower_bool(L, 3, false);
    tt_dtype wide = accumulate ? lower_accumulate_dtype(t.dtype) : t.dtype;
    hlo_ref y = scatter_flat(
        L, hlo_convert(g, x, wide), index_wrap(L, index, hlo_type_elements(&t)), hlo_convert(g, source, wide),
        accumulate ? (t.dtype == TT_PRED ? HLO_OR : HLO_ADD) : HLO_INVALID, index_bounds(L));
    lower_out_like(L, hlo_convert(g, y, t.dtype), lower_tensor(L, 0));
    return TT_OK;
}

/* masked_scatter(self, mask, source): the k-th true place of mask takes source's k-th element. */
LOWER(lower_masked_scatter) {
    hlo_graph *g = L->g;
    hlo_ref x = lower_value(L, 0), mask = lower_value(L, 1), source = lower_value(L, 2), order;
    hlo_type t = piece_type(L, x), mt = piece_type(L, mask), st = piece_type(L, source), shape;
    TT_CHECK(mt.dtype == TT_PRED, INVALID_ARGUMENT,
             "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
             tt_dtype_name(mt.dtype));
    TT_CHECK(st.dtype == t.dtype, INVALID_ARGUMENT,
             "masked_scatter: expected self and source to have same dtypes but got %s and %s",
             tt_dtype_name(t.dtype), tt_dtype_name(st.dtype));
    const hlo_type *both[2] = {&t, &mt};
    TT_TRY(lower_broadcast_shape(2, both, &shape));
    shape.dtype = t.dtype;
    if (hlo_type_elements(&shape) == 0 || hlo_type_elements(&st) == 0) {
        lower_out(L, hlo_broadcast_to(g, x, shape.rank, shape.dims));
        return TT_OK;
    }
    mask = hlo_broadcast_to(g, mask, shape.rank, shape.dims);
    int64_t n[1] = {hlo_type_elements(&shape)};
    tt_arg args[3] = {piece_argument(L, hlo_convert(g, hlo_reshape(g, mask, 1, n), TT_I32)),
                      {.tag = TT_ARG_INT},
                      {.tag = TT_ARG_INT, .u.i = 3}};
    TT_TRY(piece_call(L, "cumsum", 3, args, NULL, -1, 1, &order));
    hlo_type ot = piece_type(L, order);
    hlo_ref at = hlo_sub(g, order, hlo_splat_int(g, &ot, 1));
    at = hlo_binary(g, HLO_MAXIMUM, at, hlo_splat_int(g, &ot, 0));
    hlo_ref taken = hlo_reshape(g, index_take(L, source, at, NULL), shape.rank, shape.dims);
    lower_out(L, hlo_select(g, mask, taken, hlo_broadcast_to(g, x, shape.rank, shape.dims)));
    return TT_OK;
}

/* embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq): sums the rows
 * of grad by index; padding_idx gets none; scaled, a row counts 1 / (how often its index occurs). */
LOWER(lower_embedding_backward) {
    hlo_graph *g = L->g;
    hlo_ref grad = lower_value(L, 0), index = lower_value(L, 1);
    hlo_type t = piece_type(L, grad), it = piece_type(L, index);
    TT_TRY(index_check(L, it.dtype));
    int64_t n = hlo_type_elements(&it), weights = lower_int(L, 2, 0), padding = lower_int(L, 3, -1),
            width = t.rank ? t.dims[t.rank - 1] : 1;
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    int64_t flat[1] = {n}, matrix[2] = {n, width}, table[2] = {weights, width}, count[1] = {weights};
    if (n == 0 || width == 0 || weights == 0) {
        lower_out(L, piece_zeros(L, t.dtype, 2, table));
        return TT_OK;
    }
    index = hlo_reshape(g, index, 1, flat);
    hlo_ref rows_in = hlo_convert(g, hlo_reshape(g, grad, 2, matrix), wide);
    hlo_type rt = piece_type(L, rows_in), st = hlo_type_make(wide, 1, flat);
    if (lower_bool(L, 4, false)) {
        hlo_ref counts =
            scatter_rows(L, piece_zeros(L, wide, 1, count), 0, index, hlo_splat(g, &st, 1), HLO_ADD, NULL);
        rows_in = hlo_div(g, rows_in, piece_along(L, index_rows(L, counts, 0, index, NULL), &rt, 0));
    }
    if (padding >= 0) {
        hlo_type xt = piece_type(L, index);
        hlo_ref kept = hlo_compare(g, "NE", index, hlo_splat_int(g, &xt, padding));
        rows_in = hlo_select(g, piece_along(L, kept, &rt, 0), rows_in, hlo_splat(g, &rt, 0));
    }
    lower_out(L, index_sum_rows(L, rows_in, index, weights, t.dtype));
    return TT_OK;
}

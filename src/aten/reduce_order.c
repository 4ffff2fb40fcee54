/* reduce_order.c - order statistics by sorting: median nanmedian kthvalue mode; and histc. */
#include "aten/reduce.h"
#include <math.h>

/* The dim sorted (NaN last, ties in order) with the positions that the elements came from. */
typedef struct sorted { int dim; int64_t n; hlo_type t, index; hlo_ref value, from, at; } sorted;

static sorted sort_dim(tt_lower *L, hlo_ref x, int dim) {
    sorted s = {.dim = dim, .t = piece_type(L, x)};
    s.n = s.t.rank ? s.t.dims[dim] : 1;
    s.index = hlo_type_with(&s.t, TT_I32);
    s.at = hlo_iota(L->g, &s.index, dim);
    hlo_ref in[2] = {x, s.at}, out[2] = {HLO_NONE, HLO_NONE};
    hlo_sort(L->g, 2, in, dim, false, true, out);
    s.value = out[0];
    s.from = out[1];
    return s;
}

/* Element `pick` (kept dims, i32) of every row of v: all others are replaced by the identity of max. */
static hlo_ref pick_at(tt_lower *L, const sorted *s, hlo_ref v, hlo_ref pick) {
    int64_t dim = s->dim;
    hlo_type t = piece_type(L, v);
    hlo_ref here = hlo_compare(L->g, "EQ", s->at, hlo_broadcast_to(L->g, pick, s->index.rank, s->index.dims));
    return hlo_reduce(L->g, HLO_MAXIMUM, hlo_select(L->g, here, v, hlo_min_value(L->g, &t)), HLO_NONE, 1, &dim);
}

static hlo_ref slice_at(tt_lower *L, const sorted *s, hlo_ref v, int64_t i, const hlo_type *dropped) {
    return hlo_reshape(L->g, hlo_slice_dim(L->g, v, s->dim, i, i + 1, 1), dropped->rank, dropped->dims);
}

/* Where the median stands in every sorted row: (n - 1) / 2; with NaN the first NaN, or skipping them. */
static hlo_ref median_place(tt_lower *L, const sorted *s, bool skip) {
    hlo_graph *g = L->g;
    int64_t dim = s->dim;
    hlo_ref nan = hlo_convert(g, hlo_compare(g, "NE", s->value, s->value), TT_I32);
    hlo_ref nans = hlo_reduce_keep(g, HLO_ADD, nan, HLO_NONE, 1, &dim);
    if (nans == HLO_NONE)
        return nans;
    hlo_ref n = hlo_splat_like(g, nans, (double)s->n), zero = hlo_splat_like(g, nans, 0);
    if (skip) {
        hlo_ref last = hlo_sub(g, hlo_sub(g, n, nans), hlo_splat_like(g, nans, 1));
        return hlo_div(g, hlo_binary(g, HLO_MAXIMUM, last, zero), hlo_splat_like(g, nans, 2));
    }
    hlo_ref middle = hlo_splat_like(g, nans, (double)((s->n - 1) / 2));
    return hlo_select(g, hlo_compare(g, "GT", nans, zero), hlo_sub(g, n, nans), middle);
}

enum { SKIP_NAN = 1, FULL = 2 };

/* median nanmedian: (self) with FULL, or .dim (self, dim, keepdim) -> (values, indices) */
LOWER_FN(lower_order_median) {
    bool full = L->row->param & FULL;
    reduction r;
    TT_TRY(reduction_read(L, &r, full ? -1 : 1, full ? -1 : 2, false));
    if (r.count == 0 || tt_is_complex(r.x->dtype) || r.x->dtype == TT_PRED)
        LOWER_UNSUPPORTED(L, "empty, bool and complex tensors");
    hlo_ref x = r.x->value;
    if (!r.n || full)
        x = hlo_reshape(L->g, x, 1, &r.count);
    sorted s = sort_dim(L, x, full || !r.n ? 0 : (int)r.dims[0]);
    hlo_ref value, index;
    if (tt_is_float(r.x->dtype)) {
        hlo_ref place = median_place(L, &s, L->row->param & SKIP_NAN);
        value = reduction_shaped(&r, pick_at(L, &s, s.value, place));
        index = reduction_shaped(&r, pick_at(L, &s, s.from, place));
    } else {
        value = slice_at(L, &s, s.value, (s.n - 1) / 2, &r.shape);
        index = slice_at(L, &s, s.from, (s.n - 1) / 2, &r.shape);
    }
    lower_out(L, value);
    if (!full)
        lower_out(L, hlo_convert(L->g, index, TT_I64));
    return hlo_graph_take_error(L->g);
}

/* kthvalue(self, k, dim, keepdim) -> (values, indices) */
LOWER_FN(lower_order_kthvalue) {
    reduction r;
    int64_t k = lower_int(L, 1, 1);
    const tt_tensor *x = lower_tensor(L, 0);
    if (!lower_has(L, 2)) /* dim defaults to -1 and always arrives */
        LOWER_UNSUPPORTED(L, "no dim");
    TT_TRY(reduction_read(L, &r, 2, 3, false));
    TT_CHECK(k >= 1 && k <= (x->rank ? r.count : 1), INVALID_ARGUMENT,
             "kthvalue(): selected number k out of range for dimension %d", r.n ? (int)r.dims[0] : 0);
    if (tt_is_complex(x->dtype) || x->dtype == TT_PRED)
        LOWER_UNSUPPORTED(L, "bool and complex tensors");
    sorted s = sort_dim(L, x->rank ? x->value : hlo_reshape(L->g, x->value, 1, &r.count), r.n ? (int)r.dims[0] : 0);
    lower_out(L, slice_at(L, &s, s.value, k - 1, &r.shape));
    lower_out(L, hlo_convert(L->g, slice_at(L, &s, s.from, k - 1, &r.shape), TT_I64));
    return hlo_graph_take_error(L->g);
}

/* mode(self, dim, keepdim) -> (values, indices): the smallest of the most frequent values, its last position. In the
 * sorted row, length-so-far of the run of equals is position - start of the run; its first maximum ends the run. */
LOWER_FN(lower_order_mode) {
    reduction r;
    TT_TRY(reduction_read(L, &r, 1, 2, false));
    if (r.count == 0 || tt_is_complex(r.x->dtype) || r.n > 1)
        LOWER_UNSUPPORTED(L, "empty and complex tensors");
    hlo_graph *g = L->g;
    tt_dtype in = r.x->dtype == TT_PRED ? TT_U8 : r.x->dtype;
    if (!r.n) {
        lower_out(L, r.x->value);
        lower_out(L, hlo_scalar_int(g, TT_I64, 0));
        return hlo_graph_take_error(g);
    }
    int dim = (int)r.dims[0];
    int64_t d = dim, low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {0}, size[HLO_MAX_RANK];
    sorted s = sort_dim(L, hlo_convert(g, r.x->value, in), dim);
    low[dim] = 1;
    high[dim] = -1;
    hlo_ref before = hlo_pad(g, s.value, hlo_scalar(g, in, 0), low, high, NULL);
    hlo_ref start = hlo_select(g, hlo_compare(g, "NE", s.value, before), s.at, hlo_splat_int(g, &s.index, 0));
    for (int i = 0; i < s.t.rank; i++)
        size[i] = i == dim ? s.n : 1;
    low[dim] = s.n - 1;
    high[dim] = 0;
    hlo_window w = {.size = size, .padding_low = low, .padding_high = high};
    if (s.n > 1)
        start = hlo_reduce_window(g, HLO_MAXIMUM, start, HLO_NONE, &w);
    hlo_ref most, place;
    hlo_reduce_arg(g, HLO_MAXIMUM, hlo_sub(g, s.at, start), dim, TT_I32, &most, &place);
    hlo_type kept = s.index;
    kept.dims[d] = 1;
    place = hlo_reshape(g, place, kept.rank, kept.dims);
    lower_out(L, hlo_convert(g, reduction_shaped(&r, pick_at(L, &s, s.value, place)), r.x->dtype));
    lower_out(L, hlo_convert(g, reduction_shaped(&r, pick_at(L, &s, s.from, place)), TT_I64));
    return hlo_graph_take_error(g);
}

/* histc(self, bins, min, max): bin (x - min) * bins / (max - min), the last one closed; min == max: the data's range */
LOWER_FN(lower_order_histc) {
    const tt_tensor *x = lower_tensor(L, 0);
    int64_t bins = lower_int(L, 1, 100), n = piece_product(x->dims, 0, x->rank);
    double low = lower_double(L, 2, 0), high = lower_double(L, 3, 0);
    TT_CHECK(bins > 0, INVALID_ARGUMENT, "bins must be > 0");
    TT_CHECK(low <= high, INVALID_ARGUMENT, "max must be larger than min");
    if (tt_is_complex(x->dtype) || x->dtype == TT_PRED || bins > INT32_MAX || !isfinite(low) || !isfinite(high))
        LOWER_UNSUPPORTED(L, "these arguments");
    hlo_graph *g = L->g;
    tt_dtype in = tt_is_int(x->dtype) ? TT_I64 : lower_accumulate_dtype(x->dtype);
    hlo_type t = hlo_type_make(in, 1, &n), one = hlo_type_make(in, 0, NULL);
    hlo_ref v = hlo_reshape(g, hlo_convert(g, x->value, in), 1, &n);
    hlo_ref from = hlo_splat(g, &one, low), to = hlo_splat(g, &one, high);
    if (low == high && n > 0) {
        const int64_t all = 0;
        from = hlo_reduce(g, HLO_MINIMUM, v, HLO_NONE, 1, &all);
        to = hlo_reduce(g, HLO_MAXIMUM, v, HLO_NONE, 1, &all);
    }
    hlo_ref flat = hlo_compare(g, "EQ", from, to), unit = hlo_splat(g, &one, 1);
    hlo_ref lower = hlo_select(g, flat, hlo_sub(g, from, unit), from), upper = hlo_select(g, flat, hlo_add(g, to, unit), to);
    lower = hlo_broadcast_to(g, lower, 1, &n);
    upper = hlo_broadcast_to(g, upper, 1, &n);
    hlo_ref in_range = hlo_binary(g, HLO_AND, hlo_compare(g, "GE", v, lower), hlo_compare(g, "LE", v, upper));
    hlo_ref at = hlo_div(g, hlo_mul(g, hlo_sub(g, v, lower), hlo_splat(g, &t, (double)bins)), hlo_sub(g, upper, lower));
    hlo_type it = hlo_type_make(TT_I32, 1, &n);
    at = hlo_convert(g, hlo_select(g, in_range, at, hlo_splat(g, &t, 0)), TT_I32);
    at = hlo_binary(g, HLO_MINIMUM, at, hlo_splat_int(g, &it, bins - 1));
    const int64_t where = 0;
    hlo_dims dims = {.kind = HLO_DIMS_SCATTER, .b = {1, &where}, .e = {1, &where}, .index_vector_dim = 1};
    tt_dtype sum = lower_accumulate_dtype(x->dtype);
    hlo_type out = hlo_type_make(sum, 1, &bins);
    hlo_ref r = hlo_scatter(g, hlo_splat(g, &out, 0), hlo_reshape(g, at, 2, (const int64_t[]){n, 1}),
                            hlo_convert(g, in_range, sum), &dims, HLO_ADD, false, NULL);
    lower_out(L, hlo_convert(g, r, x->dtype));
    return hlo_graph_take_error(g);
}

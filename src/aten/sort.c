/* sort.c - sort, topk, searchsorted, bucketize. NaN counts as the greatest value. */
#include "aten/pieces.h"
#include <math.h>

/* x sorted along dim with the positions (i64) that the elements come from. */
static void sort_with_indices(tt_lower *L, hlo_ref x, int dim, bool descending, hlo_ref *out) {
    hlo_type t = piece_type(L, x), it = hlo_type_with(&t, t.dims[dim] < INT32_MAX ? TT_I32 : TT_I64);
    hlo_ref in[2] = {x, hlo_iota(L->g, &it, dim)};
    hlo_sort(L->g, 2, in, dim, descending, true, out);
    out[1] = hlo_convert(L->g, out[1], TT_I64);
}

static tt_status sortable(tt_dtype d) {
    TT_CHECK(!tt_is_complex(d), UNIMPLEMENTED, "sorting %s", tt_dtype_name(d));
    return TT_OK;
}

/* sort(self, dim, descending), sort.stable(self, *, stable, dim, descending) (param 1). Always stable. */
LOWER(lower_sort) {
    int at = L->row->param ? 2 : 1;
    hlo_ref x = lower_value(L, 0), out[2];
    hlo_type t = piece_type(L, x);
    TT_TRY(sortable(t.dtype));
    int dim = lower_dim(L, lower_int(L, at, -1), t.rank);
    if (t.rank == 0 || hlo_type_elements(&t) == 0) {
        lower_out(L, x);
        lower_out(L, piece_zeros(L, TT_I64, t.rank, t.dims));
        return TT_OK;
    }
    sort_with_indices(L, x, dim, lower_bool(L, at + 1, false), out);
    lower_out_like(L, out[0], lower_tensor(L, 0));
    lower_out_like(L, out[1], lower_tensor(L, 0));
    return TT_OK;
}

/* x such that the order of chlo.top_k is PyTorch's: NaN of any sign is greatest; for the smallest it is turned round. */
static hlo_ref in_top_order(tt_lower *L, hlo_ref x, bool largest) {
    hlo_graph *g = L->g;
    const bool is_float = tt_is_float(piece_type(L, x).dtype);
    if (is_float)
        x = hlo_select(g, hlo_compare(g, "NE", x, x), hlo_splat_like(g, x, NAN), x);
    return largest ? x : hlo_unary(g, is_float ? HLO_NEGATE : HLO_NOT, x);
}

/* topk(self, k, dim, largest, sorted) -> (values, indices); always sorted: chlo.top_k, which every plugin has a kernel for. */
LOWER(lower_topk) {
    hlo_graph *g = L->g;
    hlo_ref x = lower_value(L, 0), out[2];
    hlo_type t = piece_type(L, x);
    TT_TRY(sortable(t.dtype));
    int dim = lower_dim(L, lower_int(L, 2, -1), t.rank);
    int64_t k = lower_int(L, 1, 0), size = t.rank ? t.dims[dim] : 1;
    bool largest = lower_bool(L, 3, true);
    TT_CHECK(k >= 0 && k <= size, INVALID_ARGUMENT, "selected index k out of range");
    if (t.rank == 0 && k == 1) {
        lower_out(L, x);
        lower_out(L, hlo_scalar_int(g, TT_I64, 0));
        return TT_OK;
    }
    hlo_type want = t;
    if (t.rank)
        want.dims[dim] = k;
    if (t.rank == 0 || hlo_type_elements(&want) == 0) {
        int64_t zero[1] = {0};
        lower_out(L, piece_zeros(L, t.dtype, t.rank ? t.rank : 1, t.rank ? want.dims : zero));
        lower_out(L, piece_zeros(L, TT_I64, t.rank ? t.rank : 1, t.rank ? want.dims : zero));
        return TT_OK;
    }
    if (t.dtype != TT_PRED) {
        bool turned = dim != t.rank - 1;
        x = in_top_order(L, x, largest);
        hlo_top_k(g, turned ? piece_swap(L, x, dim, t.rank - 1) : x, k, &out[0], &out[1]);
        if (!largest)
            out[0] = hlo_unary(g, tt_is_float(t.dtype) ? HLO_NEGATE : HLO_NOT, out[0]);
        out[1] = hlo_convert(g, out[1], TT_I64);
        for (int i = 0; turned && i < 2; i++)
            out[i] = piece_swap(L, out[i], dim, t.rank - 1);
    } else {
        sort_with_indices(L, x, dim, largest, out);
        for (int i = 0; i < 2; i++)
            out[i] = hlo_slice_dim(g, out[i], dim, 0, k, 1);
    }
    lower_out(L, out[0]);
    lower_out(L, out[1]);
    return TT_OK;
}

/* ---- where a value belongs in a sorted sequence ---- */

/* How many of seq [rows, m] come before values [rows, n]: left: those below v, right: those not above it; all
 * of them for NaN. low is the number of elements known to come before; each step halves the rest. */
static hlo_ref by_halves(tt_lower *L, hlo_ref seq, hlo_ref v, bool right) {
    hlo_graph *g = L->g;
    hlo_type vt = piece_type(L, v);
    int64_t rows = vt.dims[0], m = piece_type(L, seq).dims[1], all[1] = {rows * m}, column[3] = {rows, vt.dims[1], 1};
    static const int64_t zero[1] = {0}, one[1] = {1};
    hlo_type ft = hlo_type_with(&vt, rows * m < INT32_MAX ? TT_I32 : TT_I64);
    hlo_ref base = hlo_mul(g, hlo_iota(g, &ft, 0), hlo_splat_int(g, &ft, m)), low = hlo_splat_int(g, &ft, 0),
            high = hlo_splat_int(g, &ft, m);
    hlo_dims d = {.kind = HLO_DIMS_GATHER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 2};
    for (int64_t step = m; step > 0; step /= 2) {
        hlo_ref middle = hlo_div(g, hlo_add(g, low, high), hlo_splat_int(g, &ft, 2));
        hlo_ref at = hlo_binary(g, HLO_MINIMUM, middle, hlo_splat_int(g, &ft, m - 1));
        hlo_ref x = hlo_gather(g, hlo_reshape(g, seq, 1, all),
                               hlo_reshape(g, hlo_add(g, base, at), 3, column), &d, one, NULL);
        hlo_ref open = hlo_compare(g, "LT", low, high),
                before = hlo_unary(g, HLO_NOT, hlo_compare(g, right ? "GT" : "GE", x, v));
        low = hlo_select(g, hlo_binary(g, HLO_AND, open, before),
                         hlo_add(g, middle, hlo_splat_int(g, &ft, 1)), low);
        high = hlo_select(g, hlo_binary(g, HLO_AND, open, hlo_unary(g, HLO_NOT, before)), middle, high);
    }
    return hlo_convert(g, low, TT_I32);
}

/* The same of seq [..., m], whose leading dims are those of the values or none. Few compare every pair, which fuses; more search by halves, as
 * the composite tt.search. */
static hlo_ref insertion_points(tt_lower *L, hlo_ref seq, hlo_ref values, bool right) {
    enum { FEW = 16 };
    hlo_graph *g = L->g;
    hlo_type st = piece_type(L, seq), vt = piece_type(L, values);
    int64_t m = st.dims[st.rank - 1], dims[HLO_MAX_RANK], seq_map[HLO_MAX_RANK], value_map[HLO_MAX_RANK];
    hlo_type it = hlo_type_with(&vt, TT_I32);
    if (m == 0)
        return hlo_splat_int(g, &it, 0);
    if (m <= FEW) {
        memcpy(dims, vt.dims, sizeof dims);
        dims[vt.rank] = m;
        hlo_type wide = hlo_type_make(vt.dtype, vt.rank + 1, dims);
        piece_identity(value_map, vt.rank);
        for (int i = 0; i < st.rank; i++)
            seq_map[i] = st.rank == 1 || i == st.rank - 1 ? vt.rank : i;
        int64_t last[1] = {vt.rank};
        hlo_ref later = hlo_compare(g, right ? "GT" : "GE", piece_broadcast(L, seq, &wide, st.rank, seq_map),
                                    piece_broadcast(L, values, &wide, vt.rank, value_map));
        return hlo_reduce(g, HLO_ADD, hlo_convert(g, hlo_unary(g, HLO_NOT, later), TT_I32), HLO_NONE, 1,
                          last);
    }
    int64_t rows = piece_product(st.dims, 0, st.rank - 1), sorted[2] = {rows, m}, flat[2] = {rows, hlo_type_elements(&vt) / rows};
    hlo_ref in[2] = {hlo_reshape(g, seq, 2, sorted), hlo_reshape(g, values, 2, flat)}, q[2], out;
    hlo_composite c = hlo_composite_begin(g, "tt.search", right ? "right = true" : NULL, 2, in, q);
    hlo_ref low = by_halves(L, q[0], q[1], right);
    hlo_composite_end(g, &c, 1, &low, &out);
    return hlo_reshape(g, out, vt.rank, vt.dims);
}

static tt_status search(tt_lower *L, hlo_ref seq, hlo_ref values, bool right, bool narrow) {
    hlo_graph *g = L->g;
    hlo_type st = piece_type(L, seq), vt = piece_type(L, values);
    TT_TRY(sortable(st.dtype));
    TT_CHECK(st.rank >= 1, INVALID_ARGUMENT,
             "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension");
    TT_CHECK(st.rank == 1 || st.rank == vt.rank, INVALID_ARGUMENT,
             "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
             "boundaries tensor and input value tensor must match");
    for (int i = 0; st.rank > 1 && i < st.rank - 1; i++)
        TT_CHECK(st.dims[i] == vt.dims[i], INVALID_ARGUMENT,
                 "torch.searchsorted(): the first N-1 dimensions of boundaries tensor and input value tensor "
                 "must match");
    if (hlo_type_elements(&vt) == 0) {
        lower_out(L, piece_zeros(L, narrow ? TT_I32 : TT_I64, vt.rank, vt.dims));
        return TT_OK;
    }
    tt_dtype common = lower_promote(st.dtype, vt.dtype);
    hlo_ref at = insertion_points(L, hlo_convert(g, seq, common), hlo_convert(g, values, common), right);
    lower_out(L, hlo_convert(g, at, narrow ? TT_I32 : TT_I64));
    return TT_OK;
}

/* bucketize.Tensor(self, boundaries, out_int32, right), bucketize.Scalar (param 1) */
LOWER(lower_bucketize) {
    hlo_ref seq = lower_value(L, 1);
    hlo_type st = piece_type(L, seq);
    TT_CHECK(st.rank == 1, INVALID_ARGUMENT,
             "bucketize(): boundaries tensor must be 1 dimension, but got dim(%d)", st.rank);
    hlo_ref values =
        L->row->param
            ? lower_scalar(L, 0,
                           lower_scalar_class(L, 0) == TT_CLASS_FLOAT && !tt_is_float(st.dtype) ? TT_F32
                                                                                                : st.dtype)
            : lower_value(L, 0);
    return search(L, seq, values, lower_bool(L, 3, false), lower_bool(L, 2, false));
}

/* searchsorted.Tensor(sorted_sequence, self, out_int32, right, side, sorter), searchsorted.Scalar (param 1)
 */
LOWER(lower_searchsorted) {
    hlo_ref seq = lower_value(L, 0);
    hlo_type st = piece_type(L, seq);
    const char *side = lower_string(L, 4, "");
    bool right = lower_bool(L, 3, false) || !strcmp(side, "right");
    TT_CHECK(!*side || !strcmp(side, "left") || !strcmp(side, "right"), INVALID_ARGUMENT,
             "torch.searchsorted(): side can only be 'left' or 'right' but got %s", side);
    TT_CHECK(strcmp(side, "left") || !lower_bool(L, 3, false), INVALID_ARGUMENT,
             "torch.searchsorted(): side and right can't be set to opposites, got side of left while right "
             "was True");
    if (lower_has(L, 5)) {
        tt_arg args[3] = {piece_argument(L, seq),
                          {.tag = TT_ARG_INT, .u.i = -1},
                          piece_argument(L, hlo_convert(L->g, lower_value(L, 5), TT_I64))};
        TT_TRY(piece_call(L, "gather", 3, args, NULL, -1, 1, &seq));
    }
    hlo_ref values =
        L->row->param
            ? lower_scalar(L, 1,
                           lower_scalar_class(L, 1) == TT_CLASS_FLOAT && !tt_is_float(st.dtype) ? TT_F32
                                                                                                : st.dtype)
            : lower_value(L, 1);
    return search(L, seq, values, right, lower_bool(L, 2, false));
}

/* resample.c - weighted sums along dims, as the composite tt.resample of two dims at a time.
 *
 * Tables of places and weights are operands of the composite. Its decomposition gathers tap by tap where taps are few, else it
 * contracts the dim with the matrix that the tables stand for. */
#include "aten/resample.h"

enum { FEW_TAPS = 4 };

axis axis_make(tt_lower *L, int64_t in, int64_t out, int64_t taps) {
    axis a = {in, out, (int)taps, TT_NEW_N(L->arena, int32_t, taps *out + 1), TT_NEW_N(L->arena, double, taps *out + 1)};
    for (int64_t i = 0; i < taps * out; i++)
        a.at[i] = -1;
    return a;
}

axis axis_turned(tt_lower *L, const axis *a) {
    int64_t most = 1, *count = TT_NEW_N(L->arena, int64_t, a->in + 1);
    for (int64_t i = 0; i < a->taps * a->out; i++)
        if (a->at[i] >= 0 && ++count[a->at[i]] > most)
            most = count[a->at[i]];
    axis t = axis_make(L, a->out, a->in, most);
    memset(count, 0, sizeof *count * (size_t)a->in);
    for (int64_t o = 0; o < a->out; o++)
        for (int64_t i = o; i < a->taps * a->out; i += a->out) {
            if (a->at[i] < 0)
                continue;
            const int64_t tap = count[a->at[i]]++ * a->in + a->at[i];
            t.at[tap] = (int32_t)o;
            t.weight[tap] = a->weight[i];
        }
    return t;
}

static bool is_identity(const axis *a) {
    bool same = a->in == a->out && a->taps == 1;
    for (int64_t i = 0; i < a->out && same; i++)
        same = a->at[i] == i && a->weight[i] == 1;
    return same;
}

static bool is_full(const axis *a) {
    for (int64_t i = 0; i < a->taps * a->out; i++)
        if (a->at[i] < 0)
            return false;
    return true;
}

static hlo_ref tap_of(tt_lower *L, hlo_ref table, int k, int64_t n) {
    return hlo_reshape(L->g, hlo_slice_dim(L->g, table, 0, k, k + 1, 1), 1, &n);
}

static hlo_ref sum_of_taps(tt_lower *L, hlo_ref x, int dim, const axis *a, hlo_ref at, hlo_ref weight) {
    hlo_graph *g = L->g;
    hlo_type t = piece_type(L, x);
    int64_t sizes[3], offsets[3], n = 0, where[1] = {dim}, column[2] = {a->out, 1};
    for (int i = 0; i < 3; i++) {
        sizes[i] = i == dim ? 1 : t.dims[i];
        if (i != dim)
            offsets[n++] = i;
    }
    hlo_dims d = {.kind = HLO_DIMS_GATHER, .a = {(int)n, offsets}, .b = {1, where}, .e = {1, where}, .index_vector_dim = 1};
    hlo_ref sum = HLO_NONE;
    for (int k = 0; k < a->taps; k++) {
        hlo_ref v = hlo_gather(g, x, hlo_reshape(g, tap_of(L, at, k, a->out), 2, column), &d, sizes, NULL);
        hlo_type vt = piece_type(L, v);
        v = hlo_mul(g, v, piece_along(L, hlo_convert(g, tap_of(L, weight, k, a->out), vt.dtype), &vt, dim));
        sum = sum ? hlo_add(g, sum, v) : v;
    }
    return sum;
}

/* Contracts the dim with the matrix [in, out]. */
static hlo_ref product(tt_lower *L, hlo_ref x, int dim, const axis *a, hlo_ref at, hlo_ref weight) {
    hlo_graph *g = L->g;
    hlo_type t = piece_type(L, x);
    int64_t dims[3] = {a->taps, a->in, a->out}, map[2] = {0, 2}, taps[1] = {0}, ca[1] = {dim}, cb[1] = {0}, permutation[3];
    hlo_type it = hlo_type_make(TT_I32, 3, dims), wt = hlo_type_make(t.dtype, 3, dims);
    hlo_ref here = hlo_compare(g, "EQ", hlo_iota(g, &it, 1), piece_broadcast(L, at, &it, 2, map));
    hlo_ref w = hlo_select(g, here, piece_broadcast(L, hlo_convert(g, weight, t.dtype), &wt, 2, map), hlo_splat(g, &wt, 0));
    hlo_dims d = {.kind = HLO_DIMS_DOT, .c = {1, ca}, .d = {1, cb}};
    hlo_ref y = hlo_dot_general(g, x, hlo_reduce(g, HLO_ADD, w, HLO_NONE, 1, taps), &d, TT_DTYPE_NONE, "HIGHEST");
    for (int i = 0; i < 3; i++)
        permutation[i] = i < dim ? i : i == dim ? 2 : i - 1;
    return hlo_transpose(g, y, permutation);
}

static hlo_ref along(tt_lower *L, hlo_ref x, int dim, const axis *a, hlo_ref at, hlo_ref weight) {
    if (is_identity(a))
        return x;
    return a->taps <= FEW_TAPS && is_full(a) ? sum_of_taps(L, x, dim, a, at, weight) : product(L, x, dim, a, at, weight);
}

static void tables(tt_lower *L, const axis *a, bool wide, hlo_ref *out) {
    int64_t dims[2] = {a->taps, a->out}, n = a->taps * a->out;
    hlo_type it = hlo_type_make(TT_I32, 2, dims), wt = hlo_type_make(wide ? TT_F64 : TT_F32, 2, dims);
    float *narrow = TT_NEW_N(L->arena, float, n + 1);
    for (int64_t i = 0; i < n; i++)
        narrow[i] = (float)a->weight[i];
    out[0] = hlo_constant(L->g, &it, a->at);
    out[1] = hlo_constant(L->g, &wt, wide ? (const void *)a->weight : narrow);
}

/* x [planes, rows, columns] */
static hlo_ref planes_resampled(tt_lower *L, hlo_ref x, const axis *rows, const axis *columns) {
    hlo_graph *g = L->g;
    const tt_dtype dtype = piece_type(L, x).dtype, wide = lower_accumulate_dtype(dtype);
    hlo_ref in[5] = {x}, q[5], out;
    tables(L, rows, dtype == TT_F64, in + 1);
    tables(L, columns, dtype == TT_F64, in + 3);
    hlo_composite c = hlo_composite_begin(g, "tt.resample", NULL, 5, in, q);
    hlo_ref y = along(L, hlo_convert(g, q[0], wide), 2, columns, q[3], q[4]); /* the last dim first, while rows are short */
    y = hlo_convert(g, along(L, y, 1, rows, q[1], q[2]), dtype);
    hlo_composite_end(g, &c, 1, &y, &out);
    return out;
}

hlo_ref resample(tt_lower *L, hlo_ref x, int n, const axis *axes) {
    hlo_type t = piece_type(L, x);
    const int first = t.rank - n;
    axis identity = axis_make(L, 1, 1, 1);
    identity.at[0] = 0;
    identity.weight[0] = 1;
    hlo_type out = t;
    for (int d = 0; d < n; d++)
        out.dims[first + d] = axes[d].out;
    if (!hlo_type_elements(&t) || !hlo_type_elements(&out))
        return hlo_splat(L->g, &out, 0);
    const axis *rows = n > 1 ? &axes[n - 2] : &identity, *columns = &axes[n - 1];
    int64_t dims[3] = {piece_product(t.dims, 0, t.rank) / (rows->in * columns->in), rows->in, columns->in};
    x = planes_resampled(L, hlo_reshape(L->g, x, 3, dims), rows, columns);
    if (n == 3) { /* the plane as one row */
        const int64_t plane = rows->out * columns->out;
        axis whole = axis_make(L, plane, plane, 1);
        for (int64_t i = 0; i < plane; i++) {
            whole.at[i] = (int32_t)i;
            whole.weight[i] = 1;
        }
        int64_t volumes[3] = {piece_product(t.dims, 0, first), axes[0].in, plane};
        x = planes_resampled(L, hlo_reshape(L->g, x, 3, volumes), axes, &whole);
    }
    return hlo_reshape(L->g, x, t.rank, out.dims);
}

/* linalg.c - triangular solves and distances between rows. Factorisations have no StableHLO op with PyTorch's
 * pivots and error codes: they run on the CPU. */
#include "aten/pieces.h"
#include <math.h>

/* x broadcast to batch dims `batch` (n of them) before its last two. */
static hlo_ref with_batch(tt_lower *L, hlo_ref x, const hlo_type *batch) {
    hlo_type t = piece_type(L, x);
    int64_t dims[HLO_MAX_RANK];
    memcpy(dims, batch->dims, sizeof *dims * (size_t)batch->rank);
    dims[batch->rank] = t.dims[t.rank - 2];
    dims[batch->rank + 1] = t.dims[t.rank - 1];
    return hlo_broadcast_to(L->g, x, batch->rank + 2, dims);
}

static tt_status batch_of(const hlo_type *a, const hlo_type *b, hlo_type *out) {
    hlo_type x = hlo_type_make(a->dtype, a->rank - 2, a->dims),
             y = hlo_type_make(b->dtype, b->rank - 2, b->dims);
    const hlo_type *both[2] = {&x, &y};
    return lower_broadcast_shape(2, both, out);
}

static tt_status solve(tt_lower *L, hlo_ref a, hlo_ref b, bool left, bool upper, bool unit,
                       const char *transpose, hlo_ref *out_a, hlo_ref *out_x) {
    hlo_type ta = piece_type(L, a), tb = piece_type(L, b), batch;
    TT_CHECK(ta.rank >= 2 && tb.rank >= 2, INVALID_ARGUMENT,
             "linalg.solve_triangular: The input tensor A must have at least 2 dimensions.");
    TT_CHECK(ta.dtype == tb.dtype && (tt_is_float(ta.dtype) || tt_is_complex(ta.dtype)) &&
                 ta.dtype != TT_BF16 && ta.dtype != TT_F16,
             UNIMPLEMENTED, "triangular solve of %s and %s", tt_dtype_name(ta.dtype),
             tt_dtype_name(tb.dtype));
    int64_t n = ta.dims[ta.rank - 1];
    TT_CHECK(
        ta.dims[ta.rank - 2] == n, INVALID_ARGUMENT,
        "linalg.solve_triangular: A must be batches of square matrices, but they are %lld by %lld matrices",
        (long long)ta.dims[ta.rank - 2], (long long)n);
    TT_CHECK(tb.dims[tb.rank - (left ? 2 : 1)] == n, INVALID_ARGUMENT,
             "linalg.solve_triangular: Incompatible shapes of A and B for the equation %s",
             left ? "AX = B" : "XA = B");
    TT_TRY(batch_of(&ta, &tb, &batch));
    *out_a = with_batch(L, a, &batch);
    b = with_batch(L, b, &batch);
    tb = piece_type(L, b);
    *out_x = hlo_type_elements(&tb) == 0
                 ? b
                 : hlo_triangular_solve(L->g, *out_a, b, left, !upper, unit, transpose);
    return TT_OK;
}

/* linalg_solve_triangular(A, B, upper, left, unitriangular) */
LOWER(lower_solve_triangular) {
    hlo_ref a, x;
    TT_TRY(solve(L, lower_value(L, 0), lower_value(L, 1), lower_bool(L, 3, true), lower_bool(L, 2, false),
                 lower_bool(L, 4, false), "NO_TRANSPOSE", &a, &x));
    lower_out(L, x);
    return TT_OK;
}

/* triangular_solve(B, A, upper, transpose, unitriangular) -> (solution, A) */
LOWER(lower_triangular_solve) {
    hlo_ref a, x;
    TT_TRY(solve(L, lower_value(L, 1), lower_value(L, 0), true, lower_bool(L, 2, true),
                 lower_bool(L, 4, false), lower_bool(L, 3, false) ? "TRANSPOSE" : "NO_TRANSPOSE", &a, &x));
    lower_out(L, x);
    lower_out(L, a);
    return TT_OK;
}

/* ---- distances ---- */

enum { MAX_PAIRS = 1 << 26 };

/* x1 [.., P, M] - x2 [.., R, M] over all pairs: [.., P, R, M] */
static tt_status differences(tt_lower *L, hlo_ref x1, hlo_ref x2, hlo_ref *out) {
    hlo_type a = piece_type(L, x1), b = piece_type(L, x2), batch;
    TT_CHECK(a.rank >= 2 && b.rank >= 2 && a.dims[a.rank - 1] == b.dims[b.rank - 1] && a.dtype == b.dtype &&
                 tt_is_float(a.dtype),
             UNIMPLEMENTED, "cdist of these tensors");
    TT_TRY(batch_of(&a, &b, &batch));
    int n = batch.rank;
    TT_CHECK(n + 3 <= HLO_MAX_RANK, UNIMPLEMENTED, "cdist of %d-dimensional tensors", a.rank);
    int64_t dims[HLO_MAX_RANK], first[HLO_MAX_RANK], second[HLO_MAX_RANK];
    memcpy(dims, batch.dims, sizeof *dims * (size_t)n);
    dims[n] = a.dims[a.rank - 2], dims[n + 1] = b.dims[b.rank - 2], dims[n + 2] = a.dims[a.rank - 1];
    for (int i = 0; i < n + 1; i++)
        first[i] = second[i] = i;
    first[n + 1] = n + 2, second[n] = n + 1, second[n + 1] = n + 2;
    hlo_type t = hlo_type_make(a.dtype, n + 3, dims);
    TT_CHECK(hlo_type_elements(&t) <= MAX_PAIRS, UNIMPLEMENTED, "cdist over %lld differences",
             (long long)hlo_type_elements(&t));
    *out = hlo_sub(L->g, piece_broadcast(L, with_batch(L, x1, &batch), &t, n + 2, first),
                   piece_broadcast(L, with_batch(L, x2, &batch), &t, n + 2, second));
    return TT_OK;
}

static hlo_ref power(tt_lower *L, hlo_ref x, double p) {
    return hlo_binary(L->g, HLO_POWER, x, hlo_splat_like(L->g, x, p));
}

/* _cdist_forward(x1, x2, p, compute_mode): the p-norms of all differences of rows */
LOWER(lower_cdist) {
    hlo_graph *g = L->g;
    hlo_ref d;
    double p = lower_double(L, 2, 2);
    TT_TRY(differences(L, lower_value(L, 0), lower_value(L, 1), &d));
    hlo_type t = piece_type(L, d);
    int64_t last[1] = {t.rank - 1};
    hlo_ref size = hlo_unary(g, HLO_ABS, d), y;
    if (t.dims[t.rank - 1] == 0) {
        lower_out(L, piece_zeros(L, t.dtype, t.rank - 1, t.dims));
        return TT_OK;
    }
    if (p == 0)
        y = hlo_reduce(g, HLO_ADD, hlo_convert(g, piece_compare(L, "NE", d, 0), t.dtype), HLO_NONE, 1, last);
    else if (p == 1)
        y = hlo_reduce(g, HLO_ADD, size, HLO_NONE, 1, last);
    else if (p == 2)
        y = hlo_unary(g, HLO_SQRT, hlo_reduce(g, HLO_ADD, hlo_mul(g, d, d), HLO_NONE, 1, last));
    else if (isinf(p))
        y = hlo_reduce(g, HLO_MAXIMUM, size, HLO_NONE, 1, last);
    else
        y = power(L, hlo_reduce(g, HLO_ADD, power(L, size, p), HLO_NONE, 1, last), 1 / p);
    lower_out(L, y);
    return TT_OK;
}

/* _cdist_backward(grad, x1, x2, p, cdist): the gradient of x1, sum over its pairs of grad times the
 * derivative of the norm; 0 where the distance is 0. */
LOWER(lower_cdist_backward) {
    hlo_graph *g = L->g;
    hlo_ref d, slope;
    double p = lower_double(L, 3, 2);
    TT_TRY(differences(L, lower_value(L, 1), lower_value(L, 2), &d));
    hlo_type t = piece_type(L, d);
    int64_t map[HLO_MAX_RANK], over[1] = {t.rank - 2};
    piece_identity(map, t.rank - 1);
    hlo_ref grad = piece_broadcast(L, hlo_convert(g, lower_value(L, 0), t.dtype), &t, t.rank - 1, map),
            dist = piece_broadcast(L, lower_value(L, 4), &t, t.rank - 1, map);
    hlo_ref sign = hlo_unary(g, HLO_SIGN, d), size = hlo_unary(g, HLO_ABS, d), zero = hlo_splat_like(g, d, 0);
    if (p == 0)
        slope = zero;
    else if (p == 1)
        slope = sign;
    else if (p == 2)
        slope = hlo_div(g, d, dist);
    else if (isinf(p))
        slope = hlo_select(g, hlo_compare(g, "EQ", size, dist), sign, zero);
    else
        slope = hlo_mul(g, sign, hlo_div(g, power(L, size, p - 1), power(L, dist, p - 1)));
    if (p != 1)
        slope = hlo_select(g, hlo_compare(g, "EQ", dist, zero), zero, slope);
    if (p > 0 && p < 2 && p != 1)
        slope = hlo_select(g, hlo_compare(g, "EQ", d, zero), zero, slope);
    hlo_ref y = hlo_reduce(g, HLO_ADD, hlo_mul(g, grad, slope), HLO_NONE, 1, over);
    /* x1's batch may have been broadcast: its gradient is the sum over those dims. */
    hlo_type have = piece_type(L, y), want = piece_type(L, lower_value(L, 1));
    int64_t dims[HLO_MAX_RANK];
    int n = 0;
    for (int i = 0, extra = have.rank - want.rank; i < have.rank; i++)
        if (i < extra || (want.dims[i - extra] == 1 && have.dims[i] != 1))
            dims[n++] = i;
    if (n)
        y = hlo_reduce(g, HLO_ADD, y, HLO_NONE, n, dims);
    lower_out(L, hlo_reshape(g, y, want.rank, want.dims));
    return TT_OK;
}

/* The positions i < j of all pairs of n rows, in order, as i32 [n (n - 1) / 2]. */
static void pairs(tt_lower *L, int64_t n, hlo_ref *out_first, hlo_ref *out_second) {
    int64_t count[1] = {n * (n - 1) / 2}, k = 0;
    int32_t *first = TT_NEW_N(L->arena, int32_t, count[0] + 1),
            *second = TT_NEW_N(L->arena, int32_t, count[0] + 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++, k++)
            first[k] = (int32_t)i, second[k] = (int32_t)j;
    hlo_type t = hlo_type_make(TT_I32, 1, count);
    *out_first = hlo_constant(L->g, &t, first);
    *out_second = hlo_constant(L->g, &t, second);
}

/* _pdist_forward(self, p): the distances of all pairs of rows, taken from the full table of distances, which
 * _cdist_forward states. */
LOWER(lower_pdist) {
    hlo_ref x = lower_value(L, 0), first, second, table, flat;
    hlo_type t = piece_type(L, x);
    TT_CHECK(t.rank == 2 && t.dims[0] <= 2048, UNIMPLEMENTED, "pdist of %lld rows",
             (long long)(t.rank == 2 ? t.dims[0] : 0));
    if (t.dims[0] < 2 || t.dims[1] == 0) {
        int64_t count[1] = {t.dims[0] * (t.dims[0] - 1) / 2};
        lower_out(L, piece_zeros(L, t.dtype, 1, count));
        return TT_OK;
    }
    tt_arg args[4] = {piece_argument(L, x),
                      piece_argument(L, x),
                      {.tag = TT_ARG_DOUBLE, .u.d = lower_double(L, 1, 2)},
                      {.tag = TT_ARG_NONE}};
    TT_TRY(piece_call(L, "_cdist_forward", 4, args, NULL, -1, 1, &table));
    pairs(L, t.dims[0], &first, &second);
    hlo_type it = piece_type(L, first);
    flat = hlo_convert(L->g, hlo_add(L->g, hlo_mul(L->g, first, hlo_splat_int(L->g, &it, t.dims[0])), second),
                       TT_I64);
    tt_arg take[2] = {piece_argument(L, table), piece_argument(L, flat)};
    TT_TRY(piece_call(L, "take", 2, take, NULL, -1, 1, &table));
    lower_out(L, table);
    return TT_OK;
}

/* A value per pair as a symmetric table [n, n] with zeros on the diagonal. */
static hlo_ref table_of_pairs(tt_lower *L, hlo_ref values, hlo_ref flat, int64_t n) {
    static const int64_t zero[1] = {0};
    int64_t all[1] = {n * n}, square[2] = {n, n}, column[2] = {n * (n - 1) / 2, 1};
    hlo_dims d = {.kind = HLO_DIMS_SCATTER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    hlo_ref t = hlo_scatter(L->g, piece_zeros(L, piece_type(L, values).dtype, 1, all), hlo_reshape(L->g, flat, 2, column), values,
                            &d, HLO_INVALID, true, NULL);
    t = hlo_reshape(L->g, t, 2, square);
    return hlo_add(L->g, t, piece_swap(L, t, 0, 1));
}

/* _pdist_backward(grad, self, p, pdist): that of _cdist_forward(self, self) by its first argument, both halves of the table alike. */
LOWER(lower_pdist_backward) {
    hlo_ref x = lower_value(L, 1), first, second, flat, dx;
    hlo_type t = piece_type(L, x);
    TT_CHECK(t.rank == 2 && t.dims[0] <= 2048, UNIMPLEMENTED, "pdist of %lld rows", (long long)(t.rank == 2 ? t.dims[0] : 0));
    if (t.dims[0] < 2 || t.dims[1] == 0) {
        lower_out(L, hlo_splat_like(L->g, x, 0));
        return TT_OK;
    }
    int64_t n = t.dims[0], count[1] = {n * (n - 1) / 2};
    pairs(L, n, &first, &second);
    hlo_type it = piece_type(L, first);
    flat = hlo_add(L->g, hlo_mul(L->g, first, hlo_splat_int(L->g, &it, n)), second);
    hlo_ref grad = table_of_pairs(L, hlo_reshape(L->g, lower_value(L, 0), 1, count), flat, n),
            dist = table_of_pairs(L, hlo_reshape(L->g, lower_value(L, 3), 1, count), flat, n);
    tt_arg args[5] = {piece_argument(L, grad), piece_argument(L, x), piece_argument(L, x),
                      {.tag = TT_ARG_DOUBLE, .u.d = lower_double(L, 2, 2)}, piece_argument(L, dist)};
    TT_TRY(piece_call(L, "_cdist_backward", 5, args, NULL, -1, 1, &dx));
    lower_out(L, dx);
    return TT_OK;
}

/* pool.c - max and average pooling of 1 to 3 spatial dims, adaptive or not, and their gradients.
 *
 * Inputs are seen as [B, spatial...]. Maximum pooling compares shifted slices one after the other, in
 * PyTorch's scan order, so the index of the first maximum (or of the last NaN) comes out exactly; its
 * gradient adds each shifted slice back where the index agrees: no scatter, a fixed order of additions.
 * Average pooling is a windowed sum over a constant count; its gradient goes dim by dim. */
#include "aten/resample.h"

enum { MAX_SPATIAL = 3, MAX_TAPS = 1024 };

typedef struct pool {
    int n; /* spatial dims */
    int64_t batch, in[MAX_SPATIAL], out[MAX_SPATIAL], kernel[MAX_SPATIAL], stride[MAX_SPATIAL],
        padding[MAX_SPATIAL], dilation[MAX_SPATIAL];
    hlo_type x;
    bool adaptive; /* window i: [first[i], last[i]] */
    int64_t *first[MAX_SPATIAL], *last[MAX_SPATIAL];
} pool;

static tt_status expand(tt_lower *L, int arg, int n, const int64_t *fallback, int64_t *out) {
    hlo_ints v = arg < 0 ? (hlo_ints){0, NULL} : lower_ints(L, arg);
    TT_CHECK(v.n == n || v.n == 1 || v.n == 0, INVALID_ARGUMENT,
             "pooling: expected a single integer or a list of %d", n);
    for (int i = 0; i < n; i++)
        out[i] = v.n == 0 ? fallback[i] : v.v[v.n == 1 ? 0 : i];
    return TT_OK;
}

static tt_status read_input(tt_lower *L, int x_arg, int n, pool *p) {
    memset(p, 0, sizeof *p);
    p->n = n;
    p->x = piece_type(L, lower_value(L, x_arg));
    TT_CHECK(p->x.rank == n + 1 || p->x.rank == n + 2, INVALID_ARGUMENT,
             "pooling: Expected %dD or %dD (batch mode) tensor, but got %dD", n + 1, n + 2, p->x.rank);
    for (int i = p->x.rank == n + 2; i < p->x.rank; i++)
        TT_CHECK(p->x.dims[i] > 0, INVALID_ARGUMENT,
                 "pooling: Expected input's non-batch dimensions to have positive length, but dimension %d "
                 "has size 0",
                 i);
    TT_CHECK(p->x.dtype != TT_PRED && !tt_is_complex(p->x.dtype), UNIMPLEMENTED, "pooling of %s",
             tt_dtype_name(p->x.dtype));
    p->batch = piece_product(p->x.dims, 0, p->x.rank - n);
    for (int i = 0; i < n; i++)
        p->in[i] = p->x.dims[p->x.rank - n + i];
    return TT_OK;
}

/* Arguments kernel, stride, padding in a row from `first`; dilation_arg and ceil_arg may be -1. */
static tt_status read_pool(tt_lower *L, int x_arg, int n, int first, int dilation_arg, int ceil_arg,
                           pool *p) {
    static const int64_t zeros[MAX_SPATIAL] = {0, 0, 0}, ones[MAX_SPATIAL] = {1, 1, 1};
    TT_TRY(read_input(L, x_arg, n, p));
    TT_TRY(expand(L, first, n, ones, p->kernel));
    TT_TRY(expand(L, first + 1, n, p->kernel, p->stride));
    TT_TRY(expand(L, first + 2, n, zeros, p->padding));
    TT_TRY(expand(L, dilation_arg, n, ones, p->dilation));
    bool ceil = ceil_arg >= 0 && lower_bool(L, ceil_arg, false);
    for (int i = 0; i < n; i++) {
        TT_CHECK(p->kernel[i] > 0 && p->stride[i] > 0 && p->dilation[i] > 0, INVALID_ARGUMENT,
                 "kernel size should be greater than zero, and stride and dilation too");
        TT_CHECK(p->padding[i] >= 0 && p->padding[i] <= ((p->kernel[i] - 1) * p->dilation[i] + 1) / 2,
                 INVALID_ARGUMENT,
                 "pad should be at most half of effective kernel size, but got pad=%lld, kernel_size=%lld "
                 "and dilation=%lld",
                 (long long)p->padding[i], (long long)p->kernel[i], (long long)p->dilation[i]);
        int64_t room = p->in[i] + 2 * p->padding[i] - p->dilation[i] * (p->kernel[i] - 1) - 1 +
                       (ceil ? p->stride[i] - 1 : 0);
        p->out[i] = (room < 0 ? -((-room + p->stride[i] - 1) / p->stride[i]) : room / p->stride[i]) + 1;
        if (ceil && (p->out[i] - 1) * p->stride[i] >= p->in[i] + p->padding[i])
            p->out[i]--;
        TT_CHECK(
            p->out[i] >= 1, INVALID_ARGUMENT,
            "Given input size per channel %lld, the calculated output size is %lld: Output size is too small",
            (long long)p->in[i], (long long)p->out[i]);
    }
    return TT_OK;
}

/* Windows [floor(i in / out), ceil((i + 1) in / out)). */
static tt_status read_adaptive(tt_lower *L, int x_arg, int n, hlo_ints size, pool *p) {
    TT_TRY(read_input(L, x_arg, n, p));
    TT_CHECK(size.n == n || size.n == 1, INVALID_ARGUMENT,
             "adaptive pooling: internal error: output_size.size() == %d", size.n);
    p->adaptive = true;
    for (int d = 0; d < n; d++) {
        p->out[d] = size.v[size.n == 1 ? 0 : d];
        TT_CHECK(p->out[d] >= 0 && p->in[d] > 0, INVALID_ARGUMENT,
                 "adaptive pooling: Expected input to have non-zero size for non-batch dimensions");
        p->first[d] = TT_NEW_N(L->arena, int64_t, p->out[d] + 1);
        p->last[d] = TT_NEW_N(L->arena, int64_t, p->out[d] + 1);
        p->kernel[d] = 1;
        p->stride[d] = p->dilation[d] = 1;
        for (int64_t i = 0; i < p->out[d]; i++) {
            p->first[d][i] = i * p->in[d] / p->out[d];
            int64_t end = ((i + 1) * p->in[d] + p->out[d] - 1) / p->out[d];
            p->last[d][i] = end - 1;
            if (end - p->first[d][i] > p->kernel[d])
                p->kernel[d] = end - p->first[d][i];
        }
    }
    return TT_OK;
}

static void with_batch(const pool *p, const int64_t *spatial, int64_t *dims) {
    dims[0] = p->batch;
    for (int i = 0; i < p->n; i++)
        dims[i + 1] = spatial[i];
}

static hlo_ref to_planes(tt_lower *L, const pool *p, hlo_ref x) {
    int64_t dims[MAX_SPATIAL + 1];
    with_batch(p, p->in, dims);
    return hlo_reshape(L->g, x, p->n + 1, dims);
}

static hlo_ref from_planes(tt_lower *L, const pool *p, hlo_ref y, const int64_t *spatial) {
    int64_t dims[MAX_SPATIAL + 2];
    int lead = p->x.rank - p->n;
    for (int i = 0; i < lead; i++)
        dims[i] = p->x.dims[i];
    for (int i = 0; i < p->n; i++)
        dims[lead + i] = spatial[i];
    return hlo_reshape(L->g, y, p->x.rank, dims);
}

static int64_t taps(const pool *p) {
    int64_t n = 1;
    for (int i = 0; i < p->n; i++)
        n *= p->kernel[i];
    return n;
}

static void tap_at(const pool *p, int64_t k, int64_t *out) {
    for (int i = p->n - 1; i >= 0; i--) {
        out[i] = k % p->kernel[i];
        k /= p->kernel[i];
    }
}

/* Where tap k of window o reads along dim d; may lie outside [0, in). */
static int64_t position(const pool *p, int d, int64_t o, int64_t k) {
    if (!p->adaptive)
        return o * p->stride[d] - p->padding[d] + k * p->dilation[d];
    int64_t at = p->first[d][o] + k;
    return at < p->last[d][o] ? at : p->last[d][o];
}

/* x padded so that every tap of every window exists; adaptive windows need none. */
static hlo_ref padded(tt_lower *L, const pool *p, hlo_ref x, hlo_ref value) {
    int64_t low[MAX_SPATIAL + 1] = {0}, high[MAX_SPATIAL + 1] = {0};
    for (int i = 0; i < p->n; i++) {
        low[i + 1] = p->padding[i];
        int64_t need = (p->out[i] - 1) * p->stride[i] + p->dilation[i] * (p->kernel[i] - 1) + 1 - p->in[i] -
                       p->padding[i];
        high[i + 1] = need > 0 ? need : 0;
    }
    return hlo_pad(L->g, x, value, low, high, NULL);
}

static hlo_ref pick(tt_lower *L, hlo_ref x, int dim, int n, const int64_t *at) {
    hlo_type t = piece_type(L, x);
    int64_t sizes[HLO_MAX_RANK], offsets[HLO_MAX_RANK], n_offsets = 0, where[1] = {dim};
    int32_t *index = TT_NEW_N(L->arena, int32_t, n);
    for (int i = 0; i < n; i++)
        index[i] = (int32_t)at[i];
    for (int i = 0; i < t.rank; i++) {
        sizes[i] = i == dim ? 1 : t.dims[i];
        if (i != dim)
            offsets[n_offsets++] = i;
    }
    int64_t count[2] = {n, 1};
    hlo_type it = hlo_type_make(TT_I32, 2, count);
    hlo_dims d = {.kind = HLO_DIMS_GATHER,
                  .a = {(int)n_offsets, offsets},
                  .b = {1, where},
                  .e = {1, where},
                  .index_vector_dim = 1};
    return hlo_gather(L->g, x, hlo_constant(L->g, &it, index), &d, sizes, NULL);
}

/* Tap k of all windows: [B, out...]. x: padded planes. */
static hlo_ref tap_values(tt_lower *L, const pool *p, hlo_ref x, const int64_t *k) {
    if (p->adaptive) {
        for (int d = 0; d < p->n; d++) {
            int64_t *at = TT_NEW_N(L->arena, int64_t, p->out[d] + 1);
            for (int64_t o = 0; o < p->out[d]; o++)
                at[o] = position(p, d, o, k[d]);
            x = pick(L, x, d + 1, (int)p->out[d], at);
        }
        return x;
    }
    int64_t start[MAX_SPATIAL + 1] = {0}, limit[MAX_SPATIAL + 1] = {p->batch}, stride[MAX_SPATIAL + 1] = {1};
    for (int i = 0; i < p->n; i++) {
        start[i + 1] = k[i] * p->dilation[i];
        limit[i + 1] = start[i + 1] + (p->out[i] - 1) * p->stride[i] + 1;
        stride[i + 1] = p->stride[i];
    }
    return hlo_slice(L->g, x, start, limit, stride);
}

/* An i32 value per output position of dim d, from a host array, over `like`. */
static hlo_ref per_output(tt_lower *L, const pool *p, int d, const int32_t *values, const hlo_type *like) {
    int64_t count[1] = {p->out[d]};
    hlo_type t = hlo_type_make(TT_I32, 1, count);
    return piece_along(L, hlo_constant(L->g, &t, values), like, d + 1);
}

/* The flat position in its plane of tap `k` (i32, per window). */
static hlo_ref tap_to_flat(tt_lower *L, const pool *p, hlo_ref k) {
    hlo_graph *g = L->g;
    hlo_type t = piece_type(L, k);
    hlo_ref flat = HLO_NONE, rest = k;
    int64_t step = 1;
    for (int d = p->n - 1; d >= 0; d--) {
        hlo_ref size = hlo_splat_int(g, &t, p->kernel[d]);
        hlo_ref at = d == 0 ? rest : hlo_binary(g, HLO_REMAINDER, rest, size);
        rest = d == 0 ? rest : hlo_div(g, rest, size);
        int32_t *from = TT_NEW_N(L->arena, int32_t, p->out[d] + 1),
                *to = TT_NEW_N(L->arena, int32_t, p->out[d] + 1);
        for (int64_t o = 0; o < p->out[d]; o++) {
            from[o] = (int32_t)position(p, d, o, 0);
            to[o] = p->adaptive ? (int32_t)p->last[d][o] : 0;
        }
        at = hlo_add(g, hlo_mul(g, at, hlo_splat_int(g, &t, p->dilation[d])), per_output(L, p, d, from, &t));
        if (p->adaptive)
            at = hlo_binary(g, HLO_MINIMUM, at, per_output(L, p, d, to, &t));
        at = hlo_mul(g, at, hlo_splat_int(g, &t, step));
        flat = flat ? hlo_add(g, flat, at) : at;
        step *= p->in[d];
    }
    return flat;
}

/* The flat position of the same tap in all windows, over t. */
static hlo_ref flat_of_tap(tt_lower *L, const pool *p, const int64_t *k, const hlo_type *t) {
    hlo_ref flat = HLO_NONE;
    int64_t step = 1;
    for (int d = p->n - 1; d >= 0; d--) {
        int32_t *at = TT_NEW_N(L->arena, int32_t, p->out[d] + 1);
        for (int64_t o = 0; o < p->out[d]; o++)
            at[o] = (int32_t)(position(p, d, o, k[d]) * step);
        hlo_ref v = per_output(L, p, d, at, t);
        flat = flat ? hlo_add(L->g, flat, v) : v;
        step *= p->in[d];
    }
    return flat;
}

/* The first tap of each window that lies inside the input. */
static hlo_ref first_tap(tt_lower *L, const pool *p, const hlo_type *t) {
    hlo_ref k = hlo_splat_int(L->g, t, 0);
    int64_t step = 1;
    for (int d = p->n - 1; d >= 0; d--) {
        int32_t *first = TT_NEW_N(L->arena, int32_t, p->out[d] + 1);
        bool any = false;
        for (int64_t o = 0; o < p->out[d]; o++) {
            int64_t i = 0;
            while (i + 1 < p->kernel[d] && position(p, d, o, i) < 0)
                i++;
            first[o] = (int32_t)(i * step);
            any |= i != 0;
        }
        if (any)
            k = hlo_add(L->g, k, per_output(L, p, d, first, t));
        step *= p->kernel[d];
    }
    return k;
}

/* Maxima and their flat positions (i64) of planes x, both [B, out...]. */
static void plane_maxima(tt_lower *L, const pool *p, hlo_ref x, hlo_ref *out) {
    hlo_graph *g = L->g;
    int64_t k[MAX_SPATIAL], dims[MAX_SPATIAL + 1], n_taps = taps(p);
    with_batch(p, p->out, dims);
    hlo_type t = hlo_type_make(p->x.dtype, p->n + 1, dims), it = hlo_type_make(TT_I32, p->n + 1, dims),
             scalar = hlo_type_make(p->x.dtype, 0, NULL);
    if (!p->adaptive)
        x = padded(L, p, x, hlo_min_value(g, &scalar));
    hlo_ref best = hlo_min_value(g, &t), index = first_tap(L, p, &it);
    for (int64_t i = 0; i < n_taps; i++) {
        tap_at(p, i, k);
        hlo_ref v = tap_values(L, p, x, k), take = hlo_compare(g, "GT", v, best);
        if (tt_is_float(t.dtype))
            take = hlo_binary(g, HLO_OR, take, hlo_compare(g, "NE", v, v));
        best = hlo_select(g, take, v, best);
        index = hlo_select(g, take, hlo_splat_int(g, &it, i), index);
    }
    out[0] = best;
    out[1] = hlo_convert(g, tap_to_flat(L, p, index), TT_I64);
}

static void maxima(tt_lower *L, const pool *p, hlo_ref x, hlo_ref *out);

/* Adaptive maxima of volumes: those of each plane, then the first of the planes, or the last NaN, as the scan order has it. */
static void volume_maxima(tt_lower *L, const pool *p, hlo_ref x, hlo_ref *out) {
    hlo_graph *g = L->g;
    pool q = *p;
    q.n = 2;
    q.batch = p->batch * p->in[0];
    for (int d = 0; d < 2; d++) {
        q.in[d] = p->in[d + 1], q.out[d] = p->out[d + 1], q.kernel[d] = p->kernel[d + 1];
        q.first[d] = p->first[d + 1], q.last[d] = p->last[d + 1];
    }
    const int64_t planes[3] = {q.batch, q.in[0], q.in[1]}, apart[3] = {p->batch, p->in[0], q.out[0] * q.out[1]};
    int64_t dims[MAX_SPATIAL + 1];
    hlo_ref each[2], index = HLO_NONE, best = HLO_NONE;
    maxima(L, &q, hlo_reshape(g, x, 3, planes), each);
    for (int k = 0; k < 2; k++)
        each[k] = hlo_reshape(g, each[k], 3, apart);
    for (int64_t k = 0; k < p->kernel[0]; k++) {
        int64_t *at = TT_NEW_N(L->arena, int64_t, p->out[0]);
        int32_t *before = TT_NEW_N(L->arena, int32_t, p->out[0]);
        for (int64_t o = 0; o < p->out[0]; o++) {
            at[o] = position(p, 0, o, k);
            before[o] = (int32_t)(at[o] * q.in[0] * q.in[1]);
        }
        hlo_ref v = pick(L, each[0], 1, (int)p->out[0], at), i = pick(L, each[1], 1, (int)p->out[0], at);
        hlo_type t = piece_type(L, i);
        t.dtype = TT_I32;
        i = hlo_add(g, i, hlo_convert(g, per_output(L, p, 0, before, &t), TT_I64));
        hlo_ref take = k ? hlo_compare(g, "GT", v, best) : HLO_NONE;
        if (k && tt_is_float(p->x.dtype))
            take = hlo_binary(g, HLO_OR, take, hlo_compare(g, "NE", v, v));
        best = k ? hlo_select(g, take, v, best) : v;
        index = k ? hlo_select(g, take, i, index) : i;
    }
    with_batch(p, p->out, dims);
    out[0] = hlo_reshape(g, best, 4, dims);
    out[1] = hlo_reshape(g, index, 4, dims);
}

/* Of planes x, as a composite where there is a kernel. */
static void maxima(tt_lower *L, const pool *p, hlo_ref x, hlo_ref *out) {
    hlo_ref q[1], in_composite[2];
    if (p->n == 3 && p->adaptive) {
        volume_maxima(L, p, x, out);
    } else if (p->n == 2 && tt_dtype_size(p->x.dtype) <= 4 && tt_is_float(p->x.dtype) && hlo_type_elements(&p->x)) {
        char *attributes = p->adaptive ? NULL : tt_arena_printf(
            L->arena, "k0 = %lld, k1 = %lld, s0 = %lld, s1 = %lld, p0 = %lld, p1 = %lld, d0 = %lld, d1 = %lld", (long long)p->kernel[0],
            (long long)p->kernel[1], (long long)p->stride[0], (long long)p->stride[1], (long long)p->padding[0], (long long)p->padding[1],
            (long long)p->dilation[0], (long long)p->dilation[1]);
        hlo_composite c = hlo_composite_begin(L->g, p->adaptive ? "tt.adaptive_max_pool" : "tt.max_pool", attributes, 1, &x, q);
        plane_maxima(L, p, q[0], in_composite);
        hlo_composite_end(L->g, &c, 2, in_composite, out);
    } else {
        plane_maxima(L, p, x, out);
    }
}

static tt_status max_pool(tt_lower *L, const pool *p) {
    int64_t n_taps = taps(p);
    TT_CHECK(n_taps <= MAX_TAPS, UNIMPLEMENTED, "max pooling over windows of %lld elements",
             (long long)n_taps);
    TT_CHECK(piece_product(p->in, 0, p->n) < INT32_MAX && n_taps < INT32_MAX, UNIMPLEMENTED,
             "max pooling of planes of 2^31 elements");
    hlo_ref out[2];
    maxima(L, p, to_planes(L, p, lower_value(L, 0)), out);
    lower_out_suggested(L, from_planes(L, p, out[0], p->out), lower_tensor(L, 0));
    lower_out_suggested(L, from_planes(L, p, out[1], p->out), lower_tensor(L, 0));
    return TT_OK;
}

/* max_pool{2,3}d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode); param: spatial dims
 */
LOWER(lower_max_pool) {
    pool p;
    TT_TRY(read_pool(L, 0, L->row->param, 1, 4, 5, &p));
    return max_pool(L, &p);
}

/* adaptive_max_pool{2,3}d(self, output_size) */
LOWER(lower_adaptive_max_pool) {
    pool p;
    TT_TRY(read_adaptive(L, 0, L->row->param, lower_ints(L, 1), &p));
    for (int d = 0; d < p.n; d++)
        TT_CHECK(p.out[d] > 0, UNIMPLEMENTED, "adaptive max pooling to nothing");
    return max_pool(L, &p);
}

/* Puts (or adds, by `op`) updates [B, out...] at flat positions index [B, out...] of planes [B, in...] of
 * zeros. */
static hlo_ref scatter_planes(tt_lower *L, const pool *p, hlo_ref index, hlo_ref updates, hlo_op op) {
    int64_t plane = piece_product(p->in, 0, p->n), count = p->batch * piece_product(p->out, 0, p->n),
            dims[MAX_SPATIAL + 1], all[1] = {p->batch * plane}, column[2] = {count, 1}, flat[1] = {count};
    static const int64_t zero[1] = {0};
    hlo_type t = piece_type(L, updates);
    with_batch(p, p->out, dims);
    hlo_type wide = hlo_type_make(TT_I64, p->n + 1, dims);
    hlo_ref at = hlo_add(L->g, hlo_convert(L->g, index, TT_I64),
                         hlo_mul(L->g, hlo_iota(L->g, &wide, 0), hlo_splat_int(L->g, &wide, plane)));
    hlo_dims d = {.kind = HLO_DIMS_SCATTER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    hlo_ref y = hlo_scatter(L->g, piece_zeros(L, t.dtype, 1, all), hlo_reshape(L->g, at, 2, column),
                            hlo_reshape(L->g, updates, 1, flat), &d, op, false, NULL);
    with_batch(p, p->in, dims);
    return hlo_reshape(L->g, y, p->n + 1, dims);
}

/* The gradient by shifted slices: at tap k, dy where the index says k, put back at its place. */
static hlo_ref gather_back(tt_lower *L, const pool *p, hlo_ref index, hlo_ref dy) {
    hlo_graph *g = L->g;
    hlo_type t = piece_type(L, dy), it = piece_type(L, index);
    int64_t k[MAX_SPATIAL], high_all[MAX_SPATIAL], dims[MAX_SPATIAL + 1];
    for (int i = 0; i < p->n; i++) {
        int64_t need =
            (p->out[i] - 1) * p->stride[i] + p->dilation[i] * (p->kernel[i] - 1) + 1 - p->padding[i];
        high_all[i] = need > p->in[i] ? need : p->in[i];
    }
    hlo_ref sum = HLO_NONE, zero = hlo_scalar(g, t.dtype, 0), none = hlo_splat(g, &t, 0);
    for (int64_t i = 0, n = taps(p); i < n; i++) {
        tap_at(p, i, k);
        hlo_ref mine = hlo_compare(g, "EQ", index, flat_of_tap(L, p, k, &it));
        int64_t low[MAX_SPATIAL + 1] = {0}, high[MAX_SPATIAL + 1] = {0}, interior[MAX_SPATIAL + 1] = {0};
        for (int d = 0; d < p->n; d++) {
            low[d + 1] = k[d] * p->dilation[d];
            interior[d + 1] = p->stride[d] - 1;
            high[d + 1] = high_all[d] + p->padding[d] - low[d + 1] - ((p->out[d] - 1) * p->stride[d] + 1);
        }
        hlo_ref part = hlo_pad(g, hlo_select(g, mine, dy, none), zero, low, high, interior);
        sum = sum ? hlo_add(g, sum, part) : part;
    }
    with_batch(p, p->in, dims);
    int64_t start[MAX_SPATIAL + 1] = {0}, limit[MAX_SPATIAL + 1] = {p->batch};
    for (int d = 0; d < p->n; d++) {
        start[d + 1] = p->padding[d];
        limit[d + 1] = p->padding[d] + p->in[d];
    }
    return hlo_slice(g, sum, start, limit, NULL);
}

/* dx [B, in...] from dy [B, out...] and its flat indices (i64), as the composite tt.max_pool_backward.
 * Inside, shifted slices where the windows are regular and small: a TPU scatters one element at a time. */
static hlo_ref max_backward(tt_lower *L, const pool *p, hlo_ref dy, hlo_ref index) {
    hlo_graph *g = L->g;
    hlo_ref in[2] = {dy, hlo_convert(g, index, TT_I64)}, q[2], dx, out;
    hlo_composite c = hlo_composite_begin(g, "tt.max_pool_backward", NULL, 2, in, q);
    bool regular = !p->adaptive && taps(p) <= 64;
    dx = regular ? gather_back(L, p, hlo_convert(g, q[1], TT_I32), q[0])
                 : scatter_planes(L, p, q[1], q[0], HLO_ADD);
    hlo_composite_end(g, &c, 1, &dx, &out);
    return out;
}

/* max_pool{2,3}d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode,
 * indices) */
LOWER(lower_max_pool_backward) {
    pool p;
    TT_TRY(read_pool(L, 1, L->row->param, 2, 5, 6, &p));
    int64_t dims[MAX_SPATIAL + 1];
    with_batch(&p, p.out, dims);
    tt_dtype wide = lower_accumulate_dtype(p.x.dtype);
    hlo_ref dy = hlo_reshape(L->g, hlo_convert(L->g, lower_value(L, 0), wide), p.n + 1, dims);
    hlo_ref dx = max_backward(L, &p, dy, hlo_reshape(L->g, lower_value(L, 7), p.n + 1, dims));
    lower_out_suggested(L, from_planes(L, &p, hlo_convert(L->g, dx, p.x.dtype), p.in), lower_tensor(L, 1));
    return TT_OK;
}

/* adaptive_max_pool{2,3}d_backward(grad_output, self, indices) */
LOWER(lower_adaptive_max_pool_backward) {
    pool p;
    hlo_type dt = piece_type(L, lower_value(L, 0));
    int n = L->row->param;
    TT_CHECK(dt.rank > n, INVALID_ARGUMENT, "adaptive_max_pool backward: grad_output has %d dimensions",
             dt.rank);
    TT_TRY(read_adaptive(L, 1, n, (hlo_ints){n, dt.dims + dt.rank - n}, &p));
    int64_t dims[MAX_SPATIAL + 1];
    with_batch(&p, p.out, dims);
    hlo_ref dy = hlo_reshape(L->g, hlo_convert(L->g, lower_value(L, 0), lower_accumulate_dtype(p.x.dtype)),
                             n + 1, dims);
    hlo_ref dx = max_backward(L, &p, dy, hlo_reshape(L->g, lower_value(L, 2), n + 1, dims));
    lower_out_suggested(L, from_planes(L, &p, hlo_convert(L->g, dx, p.x.dtype), p.in), lower_tensor(L, 1));
    return TT_OK;
}

/* ---- averages ---- */

/* Elements of window o along dim d that count. */
static double window_size(const pool *p, int d, int64_t o, bool include_pad) {
    int64_t start = o * p->stride[d] - p->padding[d], end = start + p->kernel[d];
    end = end < p->in[d] + p->padding[d] ? end : p->in[d] + p->padding[d];
    if (!include_pad) {
        start = start > 0 ? start : 0;
        end = end < p->in[d] ? end : p->in[d];
    }
    return (double)(end - start);
}

/* What each window's sum is divided by, over `like`; integers are divided as integers. */
static hlo_ref divisors(tt_lower *L, const pool *p, bool include_pad, int64_t override,
                        const hlo_type *like) {
    hlo_ref all = HLO_NONE;
    if (override)
        return hlo_splat(L->g, like, (double) override);
    for (int d = 0; d < p->n; d++) {
        double *size = TT_NEW_N(L->arena, double, p->out[d] + 1);
        float *narrow = TT_NEW_N(L->arena, float, p->out[d] + 1);
        for (int64_t o = 0; o < p->out[d]; o++) {
            size[o] = window_size(p, d, o, include_pad);
            narrow[o] = (float)size[o];
        }
        int64_t count[1] = {p->out[d]};
        hlo_type t = hlo_type_make(like->dtype, 1, count);
        if (like->dtype != TT_F64)
            t.dtype = TT_F32;
        hlo_ref v = hlo_convert(
            L->g, hlo_constant(L->g, &t, like->dtype == TT_F64 ? (void *)size : (void *)narrow), like->dtype);
        v = piece_along(L, v, like, d + 1);
        all = all ? hlo_mul(L->g, all, v) : v;
    }
    return all;
}

/* avg_pool{2,3}d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override); param:
 * spatial dims */
LOWER(lower_avg_pool) {
    pool p;
    hlo_graph *g = L->g;
    TT_TRY(read_pool(L, 0, L->row->param, 1, -1, 4, &p));
    TT_CHECK(!lower_has(L, 6) || lower_int(L, 6, 0) != 0, INVALID_ARGUMENT, "divisor must be not zero");
    tt_dtype wide = lower_accumulate_dtype(p.x.dtype);
    hlo_ref x = to_planes(L, &p, hlo_convert(g, lower_value(L, 0), wide));
    int64_t low[MAX_SPATIAL + 1] = {0}, high[MAX_SPATIAL + 1] = {0}, size[MAX_SPATIAL + 1] = {1},
                              stride[MAX_SPATIAL + 1] = {1};
    for (int i = 0; i < p.n; i++) {
        low[i + 1] = p.padding[i];
        high[i + 1] = (p.out[i] - 1) * p.stride[i] + p.kernel[i] - p.in[i] - p.padding[i];
        size[i + 1] = p.kernel[i];
        stride[i + 1] = p.stride[i];
    }
    x = hlo_pad(g, x, hlo_scalar(g, wide, 0), low, high, NULL);
    hlo_ref y = hlo_reduce_window(g, HLO_ADD, x, HLO_NONE, &(hlo_window){.size = size, .stride = stride});
    hlo_type t = piece_type(L, y);
    y = hlo_div(g, y, divisors(L, &p, lower_bool(L, 5, true), lower_int(L, 6, 0), &t));
    lower_out_suggested(L, from_planes(L, &p, hlo_convert(g, y, p.x.dtype), p.out), lower_tensor(L, 0));
    return TT_OK;
}

/* avg_pool{2,3}d_backward(grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
 * divisor_override): dim by dim, to each element goes its part of every window that it lies in. */
LOWER(lower_avg_pool_backward) {
    pool p;
    hlo_graph *g = L->g;
    TT_TRY(read_pool(L, 1, L->row->param, 2, -1, 5, &p));
    TT_CHECK(tt_is_float(p.x.dtype), UNIMPLEMENTED, "average pooling of %s", tt_dtype_name(p.x.dtype));
    TT_CHECK(!lower_has(L, 7) || lower_int(L, 7, 0) != 0, INVALID_ARGUMENT, "divisor must be not zero");
    const int64_t divisor = lower_int(L, 7, 0);
    const bool include_pad = lower_bool(L, 6, true);
    int64_t dims[MAX_SPATIAL + 1];
    axis axes[MAX_SPATIAL];
    with_batch(&p, p.out, dims);
    for (int d = 0; d < p.n; d++) {
        axes[d] = axis_make(L, p.in[d], p.out[d], p.kernel[d]);
        for (int64_t o = 0; o < p.out[d]; o++)
            for (int64_t k = 0; k < p.kernel[d]; k++) {
                const int64_t at = position(&p, d, o, k), tap = k * p.out[d] + o;
                axes[d].at[tap] = at >= 0 && at < p.in[d] ? (int32_t)at : -1;
                axes[d].weight[tap] = !divisor ? 1 / window_size(&p, d, o, include_pad) : d ? 1 : 1 / (double)divisor;
            }
        axes[d] = axis_turned(L, &axes[d]);
    }
    hlo_ref dx = resample(L, hlo_reshape(g, lower_value(L, 0), p.n + 1, dims), p.n, axes);
    lower_out_suggested(L, from_planes(L, &p, hlo_convert(g, dx, p.x.dtype), p.in), lower_tensor(L, 1));
    return TT_OK;
}

static tt_status adaptive_average(tt_lower *L, const pool *p, hlo_ref x, bool backward,
                                  const tt_tensor *like) {
    hlo_graph *g = L->g;
    TT_CHECK(tt_is_float(p->x.dtype), UNIMPLEMENTED, "average pooling of %s", tt_dtype_name(p->x.dtype));
    tt_dtype wide = lower_accumulate_dtype(p->x.dtype);
    const int64_t *from = backward ? p->out : p->in, *to = backward ? p->in : p->out;
    int64_t dims[MAX_SPATIAL + 1], whole[MAX_SPATIAL];
    with_batch(p, from, dims);
    x = hlo_reshape(g, x, p->n + 1, dims);
    bool global = true;
    for (int d = 0; d < p->n; d++) {
        global &= p->out[d] == 1;
        whole[d] = d + 1;
    }
    if (global) {
        double count = (double)piece_product(p->in, 0, p->n);
        with_batch(p, to, dims);
        x = hlo_convert(g, x, wide);
        if (!backward)
            x = hlo_reshape(g, hlo_reduce(g, HLO_ADD, x, HLO_NONE, p->n, whole), p->n + 1, dims);
        x = hlo_div(g, x, hlo_splat_like(g, x, count));
        x = hlo_broadcast_to(g, x, p->n + 1, dims);
    } else {
        axis axes[MAX_SPATIAL];
        for (int d = 0; d < p->n; d++) {
            axes[d] = axis_make(L, p->in[d], p->out[d], p->kernel[d]);
            for (int64_t o = 0; o < p->out[d]; o++)
                for (int64_t i = p->first[d][o]; i <= p->last[d][o]; i++) {
                    axes[d].at[(i - p->first[d][o]) * p->out[d] + o] = (int32_t)i;
                    axes[d].weight[(i - p->first[d][o]) * p->out[d] + o] = 1.0 / (double)(p->last[d][o] - p->first[d][o] + 1);
                }
            if (backward)
                axes[d] = axis_turned(L, &axes[d]);
        }
        x = resample(L, x, p->n, axes);
    }
    lower_out_suggested(L, from_planes(L, p, hlo_convert(g, x, p->x.dtype), to), like);
    return TT_OK;
}

/* _adaptive_avg_pool{2,3}d(self, output_size); param: spatial dims */
LOWER(lower_adaptive_avg_pool) {
    pool p;
    TT_TRY(read_adaptive(L, 0, L->row->param, lower_ints(L, 1), &p));
    return adaptive_average(L, &p, lower_value(L, 0), false, lower_tensor(L, 0));
}

/* _adaptive_avg_pool{2,3}d_backward(grad_output, self) */
LOWER(lower_adaptive_avg_pool_backward) {
    pool p;
    hlo_type dt = piece_type(L, lower_value(L, 0));
    int n = L->row->param;
    TT_CHECK(dt.rank > n, INVALID_ARGUMENT, "adaptive_avg_pool backward: grad_output has %d dimensions",
             dt.rank);
    TT_TRY(read_adaptive(L, 1, n, (hlo_ints){n, dt.dims + dt.rank - n}, &p));
    return adaptive_average(L, &p, lower_value(L, 0), true, lower_tensor(L, 1));
}

/* max_unpool2d(self, indices, output_size), max_unpool3d(.., stride, padding): puts each value where its
 * index says, in planes of zeros. */
LOWER(lower_max_unpool) {
    pool p;
    int n = L->row->param;
    hlo_ints size = lower_ints(L, 2);
    TT_TRY(read_input(L, 0, n, &p));
    hlo_type it = piece_type(L, lower_value(L, 1));
    TT_CHECK(it.dtype == TT_I64, INVALID_ARGUMENT, "elements in indices should be type int64 but got: %s",
             tt_dtype_name(it.dtype));
    TT_CHECK(hlo_dims_equal(&it, &p.x), INVALID_ARGUMENT,
             "Expected shape of indices to be same as that of the input tensor");
    TT_CHECK(size.n == n, INVALID_ARGUMENT,
             "There should be exactly %d elements in output_size, but got %d elements.", n, size.n);
    for (int d = 0; d < n; d++) { /* scatter_planes goes from [B, out...] to [B, in...] */
        p.out[d] = p.in[d];
        p.in[d] = size.v[d];
    }
    int64_t dims[MAX_SPATIAL + 1];
    with_batch(&p, p.out, dims);
    hlo_ref y = scatter_planes(L, &p, hlo_reshape(L->g, lower_value(L, 1), n + 1, dims),
                               hlo_reshape(L->g, lower_value(L, 0), n + 1, dims), HLO_INVALID);
    lower_out_suggested(L, from_planes(L, &p, y, p.in), lower_tensor(L, 0));
    return TT_OK;
}

/* norm.c - layer, group and batch normalisation, weight normalisation, and their gradients.
 *
 * Everything is computed in f32 (f64 for f64) with a two-pass variance and rounded once. Layer norm is the
 * composite tt.layer_norm over [rows, n]; the others are plain reductions, which an engine fuses. */
#include "aten/pieces.h"

static hlo_ref mean_keep(tt_lower *L, hlo_ref x, int n, const int64_t *dims) {
    hlo_type t = piece_type(L, x);
    double count = 1;
    for (int i = 0; i < n; i++)
        count *= (double)t.dims[dims[i]];
    hlo_ref sum = hlo_reduce_keep(L->g, HLO_ADD, x, HLO_NONE, n, dims);
    return hlo_div(L->g, sum, hlo_splat_like(L->g, sum, count));
}

static hlo_ref spread(tt_lower *L, hlo_ref x, const hlo_type *like) {
    return hlo_broadcast_to(L->g, x, like->rank, like->dims);
}

static hlo_ref inverse_root(tt_lower *L, hlo_ref variance, double eps) {
    return hlo_unary(L->g, HLO_RSQRT, hlo_add(L->g, variance, hlo_splat_like(L->g, variance, eps)));
}

/* Mean and variance over dims, kept as 1; x is wide. */
static void moments(tt_lower *L, hlo_ref x, int n, const int64_t *dims, hlo_ref *out_mean,
                    hlo_ref *out_variance) {
    hlo_type t = piece_type(L, x);
    *out_mean = mean_keep(L, x, n, dims);
    hlo_ref d = hlo_sub(L->g, x, spread(L, *out_mean, &t));
    *out_variance = mean_keep(L, hlo_mul(L->g, d, d), n, dims);
}

/* ---- layer norm ---- */

static void layer_norm(tt_lower *L, hlo_ref x, hlo_ref weight, hlo_ref bias, double eps, hlo_ref *out) {
    hlo_graph *g = L->g;
    hlo_ref in[3] = {x}, p[3], results[3];
    int n = 1;
    if (weight)
        in[n++] = weight;
    if (bias)
        in[n++] = bias;
    const char *attributes = tt_arena_printf(L->arena, "eps = %.17e : f64, has_bias = %s, has_weight = %s",
                                             eps, bias ? "true" : "false", weight ? "true" : "false");
    hlo_composite c = hlo_composite_begin(g, "tt.layer_norm", attributes, n, in, p);
    hlo_type t = piece_type(L, p[0]);
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    int64_t last[1] = {1}, rows[1] = {t.dims[0]};
    hlo_type wt = hlo_type_with(&t, wide);
    hlo_ref v = hlo_convert(g, p[0], wide), mean, variance;
    moments(L, v, 1, last, &mean, &variance);
    hlo_ref rstd = inverse_root(L, variance, eps);
    hlo_ref y = hlo_mul(g, hlo_sub(g, v, spread(L, mean, &t)), spread(L, rstd, &t));
    if (weight)
        y = hlo_mul(g, y, piece_along(L, hlo_convert(g, p[1], wide), &wt, 1));
    if (bias)
        y = hlo_add(g, y, piece_along(L, hlo_convert(g, p[n - 1], wide), &wt, 1));
    results[0] = hlo_convert(g, y, t.dtype);
    results[1] = hlo_reshape(g, mean, 1, rows);
    results[2] = hlo_reshape(g, rstd, 1, rows);
    hlo_composite_end(g, &c, 3, results, out);
}

/* Splits the shape at the first normalised dim. */
static tt_status split_rows(tt_lower *L, int shape_arg, const hlo_type *t, int *out_axis, int64_t *out_rows,
                            int64_t *out_n) {
    hlo_ints shape = lower_ints(L, shape_arg);
    bool fits = shape.n >= 1 && shape.n <= t->rank;
    for (int i = 0; fits && i < shape.n; i++)
        fits = t->dims[t->rank - shape.n + i] == shape.v[i];
    TT_CHECK(fits, INVALID_ARGUMENT,
             "Given normalized_shape of %d dimensions, expected input whose last dimensions are equal to it",
             shape.n);
    *out_axis = t->rank - shape.n;
    *out_rows = piece_product(t->dims, 0, *out_axis);
    *out_n = piece_product(t->dims, *out_axis, t->rank);
    return TT_OK;
}

static hlo_ref flat(tt_lower *L, int arg) {
    if (!lower_has(L, arg))
        return HLO_NONE;
    hlo_ref x = lower_value(L, arg);
    hlo_type t = piece_type(L, x);
    int64_t n[1] = {hlo_type_elements(&t)};
    return hlo_reshape(L->g, x, 1, n);
}

/* native_layer_norm(input, normalized_shape, weight, bias, eps) -> (out, mean, rstd); y = (x - mean) rstd
 * weight + bias. mean and rstd are f32 for f16 and bf16, as PyTorch says for every device but the CPU. */
LOWER(lower_layer_norm) {
    hlo_ref x = lower_value(L, 0);
    hlo_type t = piece_type(L, x);
    TT_CHECK(tt_is_float(t.dtype), UNIMPLEMENTED, "layer_norm of %s", tt_dtype_name(t.dtype));
    int axis;
    int64_t rows, n;
    TT_TRY(split_rows(L, 1, &t, &axis, &rows, &n));
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    hlo_type stat = hlo_type_make(wide, t.rank, t.dims);
    for (int i = axis; i < t.rank; i++)
        stat.dims[i] = 1;
    if (rows * n == 0) {
        lower_out(L, x);
        lower_out(L, hlo_splat(L->g, &stat, 0));
        lower_out(L, hlo_splat(L->g, &stat, n ? 0 : __builtin_nan("")));
        return TT_OK;
    }
    int64_t matrix[2] = {rows, n};
    hlo_ref out[3];
    layer_norm(L, hlo_reshape(L->g, x, 2, matrix), flat(L, 2), flat(L, 3), lower_double(L, 4, 1e-5), out);
    lower_out(L, hlo_reshape(L->g, out[0], t.rank, t.dims));
    lower_out(L, hlo_reshape(L->g, out[1], t.rank, stat.dims));
    lower_out(L, hlo_reshape(L->g, out[2], t.rank, stat.dims));
    return TT_OK;
}

/* dx = rstd (gw - xhat mean(gw xhat) - mean(gw)), dweight = sum g xhat, dbias = sum g; gw = g weight, sums
 * over rows. */
static void layer_norm_backward(tt_lower *L, const hlo_ref *in, bool has_weight, hlo_ref *out) {
    hlo_graph *g = L->g;
    hlo_ref p[5], results[3];
    hlo_composite c = hlo_composite_begin(g, "tt.layer_norm_backward",
                                          has_weight ? "has_weight = true" : "has_weight = false",
                                          has_weight ? 5 : 4, in, p);
    hlo_type t = piece_type(L, p[1]);
    tt_dtype wide = lower_accumulate_dtype(t.dtype), small = has_weight ? piece_type(L, p[4]).dtype : t.dtype;
    hlo_type wt = hlo_type_with(&t, wide);
    int64_t first[1] = {0}, last[1] = {1};
    hlo_ref dy = hlo_convert(g, p[0], wide), rstd = piece_along(L, p[3], &wt, 0);
    hlo_ref xhat = hlo_mul(g, hlo_sub(g, hlo_convert(g, p[1], wide), piece_along(L, p[2], &wt, 0)), rstd);
    hlo_ref gw = has_weight ? hlo_mul(g, dy, piece_along(L, hlo_convert(g, p[4], wide), &wt, 1)) : dy;
    hlo_ref slope = spread(L, mean_keep(L, hlo_mul(g, gw, xhat), 1, last), &t),
            shift = spread(L, mean_keep(L, gw, 1, last), &t);
    hlo_ref dx = hlo_mul(g, rstd, hlo_sub(g, hlo_sub(g, gw, hlo_mul(g, xhat, slope)), shift));
    results[0] = hlo_convert(g, dx, t.dtype);
    results[1] = hlo_convert(g, hlo_reduce(g, HLO_ADD, hlo_mul(g, dy, xhat), HLO_NONE, 1, first), small);
    results[2] = hlo_convert(g, hlo_reduce(g, HLO_ADD, dy, HLO_NONE, 1, first), small);
    hlo_composite_end(g, &c, 3, results, out);
}

/* native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask) */
LOWER(lower_layer_norm_backward) {
    hlo_ref x = lower_value(L, 1);
    hlo_type t = piece_type(L, x);
    TT_CHECK(tt_is_float(t.dtype), UNIMPLEMENTED, "layer_norm of %s", tt_dtype_name(t.dtype));
    int axis;
    int64_t rows, n;
    TT_TRY(split_rows(L, 2, &t, &axis, &rows, &n));
    bool has_weight = lower_has(L, 5), has_bias = lower_has(L, 6);
    hlo_ints shape = lower_ints(L, 2);
    tt_dtype wide = lower_accumulate_dtype(t.dtype),
             small = has_weight ? piece_type(L, lower_value(L, 5)).dtype : t.dtype;
    if (rows * n == 0) {
        piece_out_if(L, piece_mask(L, 7, 0), x);
        piece_out_if(L, piece_mask(L, 7, 1) && has_weight, piece_zeros(L, small, shape.n, shape.v));
        piece_out_if(L, piece_mask(L, 7, 2) && has_bias, piece_zeros(L, small, shape.n, shape.v));
        return TT_OK;
    }
    int64_t matrix[2] = {rows, n}, row[1] = {rows};
    hlo_ref in[5] = {
        hlo_reshape(L->g, hlo_convert(L->g, lower_value(L, 0), t.dtype), 2, matrix),
        hlo_reshape(L->g, x, 2, matrix),
        hlo_convert(L->g, hlo_reshape(L->g, lower_value(L, 3), 1, row), wide),
        hlo_convert(L->g, hlo_reshape(L->g, lower_value(L, 4), 1, row), wide),
        flat(L, 5),
    };
    hlo_ref out[3];
    layer_norm_backward(L, in, has_weight, out);
    piece_out_if(L, piece_mask(L, 7, 0), hlo_reshape(L->g, out[0], t.rank, t.dims));
    piece_out_if(L, piece_mask(L, 7, 1) && has_weight, hlo_reshape(L->g, out[1], shape.n, shape.v));
    piece_out_if(L, piece_mask(L, 7, 2), hlo_reshape(L->g, out[2], shape.n, shape.v));
    return TT_OK;
}

/* ---- group norm ---- */

typedef struct groups {
    int64_t n, c, hxw, group;
    hlo_type x, wide;
} groups; /* x: the input; wide: [N, G, C/G, HxW] in the accumulate type */

static tt_status read_groups(tt_lower *L, int x_arg, int first, groups *out) {
    hlo_type t = piece_type(L, lower_value(L, x_arg));
    TT_CHECK(tt_is_float(t.dtype), UNIMPLEMENTED, "group_norm of %s", tt_dtype_name(t.dtype));
    groups s = {lower_int(L, first, 1),
                lower_int(L, first + 1, 1),
                lower_int(L, first + 2, 1),
                lower_int(L, first + 3, 1),
                t,
                {0}};
    TT_CHECK(s.group > 0 && s.c % s.group == 0, INVALID_ARGUMENT,
             "Expected number of channels in input to be divisible by num_groups, but got %lld channels and "
             "num_groups=%lld",
             (long long)s.c, (long long)s.group);
    TT_CHECK(s.n * s.c * s.hxw == hlo_type_elements(&t), INVALID_ARGUMENT,
             "group_norm: the input has %lld elements, not N x C x HxW", (long long)hlo_type_elements(&t));
    int64_t dims[4] = {s.n, s.group, s.c / s.group, s.hxw};
    s.wide = hlo_type_make(lower_accumulate_dtype(t.dtype), 4, dims);
    *out = s;
    return TT_OK;
}

static hlo_ref grouped(tt_lower *L, hlo_ref x, const groups *s) {
    return hlo_convert(L->g, hlo_reshape(L->g, x, 4, s->wide.dims), s->wide.dtype);
}

/* weight or bias [C] over [N, G, C/G] or [N, G, C/G, HxW] */
static hlo_ref per_channel(tt_lower *L, hlo_ref v, const hlo_type *like) {
    int64_t map[2] = {1, 2};
    return piece_broadcast(L, hlo_convert(L->g, hlo_reshape(L->g, v, 2, like->dims + 1), like->dtype), like, 2, map);
}

/* native_group_norm(input, weight, bias, N, C, HxW, group, eps) -> (out, mean, rstd): the moments are over
 * C/group x HxW. */
LOWER(lower_group_norm) {
    groups s;
    TT_TRY(read_groups(L, 0, 3, &s));
    hlo_ref x = grouped(L, lower_value(L, 0), &s);
    tt_dtype stat = s.x.dtype;
    if (lower_has(L, 1) && piece_type(L, lower_value(L, 1)).dtype == TT_F32 && stat != TT_F64)
        stat = TT_F32;
    int64_t inner[2] = {2, 3}, pair[2] = {s.n, s.group};
    hlo_ref mean, variance;
    moments(L, x, 2, inner, &mean, &variance);
    hlo_ref rstd = inverse_root(L, variance, lower_double(L, 7, 1e-5));
    hlo_ref y = hlo_mul(L->g, hlo_sub(L->g, x, spread(L, mean, &s.wide)), spread(L, rstd, &s.wide));
    if (lower_has(L, 1))
        y = hlo_mul(L->g, y, per_channel(L, lower_value(L, 1), &s.wide));
    if (lower_has(L, 2))
        y = hlo_add(L->g, y, per_channel(L, lower_value(L, 2), &s.wide));
    lower_out_suggested(L, hlo_reshape(L->g, hlo_convert(L->g, y, s.x.dtype), s.x.rank, s.x.dims), lower_tensor(L, 0));
    lower_out(L, hlo_convert(L->g, hlo_reshape(L->g, mean, 2, pair), stat));
    lower_out(L, hlo_convert(L->g, hlo_reshape(L->g, rstd, 2, pair), stat));
    return TT_OK;
}

/* native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask): what is
 * summed over the plane of a channel, dy and dy xhat, gives all the other sums. */
LOWER(lower_group_norm_backward) {
    groups s;
    TT_TRY(read_groups(L, 1, 5, &s));
    hlo_graph *g = L->g;
    int64_t map[2] = {0, 1}, plane[1] = {3}, channel[1] = {2}, batch[1] = {0}, channels[1] = {s.c};
    const double count = (double)(s.c / s.group * s.hxw);
    hlo_ref dy = grouped(L, lower_value(L, 0), &s), x = grouped(L, lower_value(L, 1), &s);
    hlo_ref mean = piece_broadcast(L, hlo_convert(g, lower_value(L, 2), s.wide.dtype), &s.wide, 2, map);
    hlo_ref rstd = piece_broadcast(L, hlo_convert(g, lower_value(L, 3), s.wide.dtype), &s.wide, 2, map);
    hlo_ref xhat = hlo_mul(g, hlo_sub(g, x, mean), rstd), gw = dy;
    hlo_ref sums[2] = {hlo_reduce(g, HLO_ADD, hlo_mul(g, dy, xhat), HLO_NONE, 1, plane), hlo_reduce(g, HLO_ADD, dy, HLO_NONE, 1, plane)};
    tt_dtype small = lower_has(L, 4) ? piece_type(L, lower_value(L, 4)).dtype : s.x.dtype;
    hlo_type summed = piece_type(L, sums[0]); /* [N, G, C/G] */
    if (piece_mask(L, 9, 0)) {
        hlo_ref means[2];
        if (lower_has(L, 4))
            gw = hlo_mul(g, dy, per_channel(L, lower_value(L, 4), &s.wide));
        for (int i = 0; i < 2; i++) {
            hlo_ref v = lower_has(L, 4) ? hlo_mul(g, sums[i], per_channel(L, lower_value(L, 4), &summed)) : sums[i];
            v = hlo_reduce(g, HLO_ADD, v, HLO_NONE, 1, channel);
            means[i] = piece_broadcast(L, hlo_div(g, v, hlo_splat_like(g, v, count)), &s.wide, 2, map);
        }
        hlo_ref dx = hlo_mul(g, rstd, hlo_sub(g, hlo_sub(g, gw, hlo_mul(g, xhat, means[0])), means[1]));
        lower_out(L, hlo_reshape(g, hlo_convert(g, dx, s.x.dtype), s.x.rank, s.x.dims));
    } else {
        lower_out_none(L);
    }
    for (int i = 0; i < 2; i++) {
        hlo_ref v = hlo_reshape(g, hlo_reduce(g, HLO_ADD, sums[i], HLO_NONE, 1, batch), 1, channels);
        piece_out_if(L, piece_mask(L, 9, 1 + i), hlo_convert(g, v, small));
    }
    return TT_OK;
}

/* ---- weight norm ---- */

static int all_but(int rank, int dim, int64_t *dims) {
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (i != dim)
            dims[n++] = i;
    return n;
}

/* _weight_norm_interface(v, g, dim) -> (w, norms); w = v g / |v|, norms over all dims but one. */
LOWER(lower_weight_norm) {
    hlo_graph *g = L->g;
    hlo_ref v = lower_value(L, 0), scale = lower_value(L, 1);
    hlo_type t = piece_type(L, v);
    TT_CHECK(tt_is_float(t.dtype), UNIMPLEMENTED, "weight_norm of %s", tt_dtype_name(t.dtype));
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    int64_t dims[HLO_MAX_RANK];
    int n = all_but(t.rank, lower_dim(L, lower_int(L, 2, 0), t.rank), dims);
    hlo_ref x = hlo_convert(g, v, wide);
    hlo_ref norm = hlo_unary(g, HLO_SQRT, hlo_reduce_keep(g, HLO_ADD, hlo_mul(g, x, x), HLO_NONE, n, dims));
    hlo_type kept = piece_type(L, norm);
    scale = hlo_convert(g, hlo_reshape(g, scale, kept.rank, kept.dims), wide);
    hlo_ref w = hlo_mul(g, x, spread(L, hlo_div(g, scale, norm), &t));
    lower_out(L, hlo_convert(g, w, t.dtype));
    lower_out(L, norm);
    return TT_OK;
}

/* _weight_norm_interface_backward(grad_w, saved_v, saved_g, saved_norms, dim) -> (grad_v, grad_g) */
LOWER(lower_weight_norm_backward) {
    hlo_graph *g = L->g;
    hlo_type t = piece_type(L, lower_value(L, 1)), tg = piece_type(L, lower_value(L, 2)),
             tn = piece_type(L, lower_value(L, 3));
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    int64_t dims[HLO_MAX_RANK];
    int n = all_but(t.rank, lower_dim(L, lower_int(L, 4, 0), t.rank), dims);
    hlo_ref dw = hlo_convert(g, lower_value(L, 0), wide), v = hlo_convert(g, lower_value(L, 1), wide);
    hlo_ref norm = hlo_convert(g, lower_value(L, 3), wide),
            scale = hlo_convert(g, hlo_reshape(g, lower_value(L, 2), tn.rank, tn.dims), wide);
    hlo_ref along = hlo_div(g, hlo_reduce_keep(g, HLO_ADD, hlo_mul(g, dw, v), HLO_NONE, n, dims), norm);
    hlo_ref pull = hlo_div(g, along, norm);
    hlo_ref dv = hlo_mul(g, spread(L, hlo_div(g, scale, norm), &t),
                         hlo_sub(g, dw, hlo_mul(g, v, spread(L, pull, &t))));
    lower_out(L, hlo_convert(g, dv, t.dtype));
    lower_out(L, hlo_reshape(g, hlo_convert(g, along, tg.dtype), tg.rank, tg.dims));
    return TT_OK;
}

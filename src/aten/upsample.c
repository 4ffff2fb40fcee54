/* upsample.c - nearest, linear (1 to 3 dims) and bicubic interpolation and their gradients.
 *
 * Interpolation is separable: along each dim, output i is a sum of taps w[i][t] x[at[i][t]] with constants
 * computed here as PyTorch's CPU kernels compute them (in float). Backward: the same, turned round. */
#include "aten/resample.h"
#include <math.h>

enum { NEAREST, NEAREST_EXACT, LINEAR, CUBIC };

static double scale_of(int64_t in, int64_t out, bool align, double given, int mode) {
    if (mode >= LINEAR && align)
        return out > 1 ? (double)(in - 1) / (double)(out - 1) : 0;
    return given > 0 ? 1.0 / given : (double)in / (double)out;
}

static double cubic_near(double x, double a) {
    return ((a + 2) * x - (a + 3)) * x * x + 1;
}

static double cubic_far(double x, double a) {
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static int64_t clamp(int64_t v, int64_t last) {
    return v < 0 ? 0 : v > last ? last : v;
}

/* wide: positions in double (f64 inputs); otherwise in float, as PyTorch has them. */
static axis make_axis(tt_lower *L, int64_t in, int64_t out, int mode, bool align, double given, bool wide) {
    axis t = axis_make(L, in, out, mode == CUBIC ? 4 : mode == LINEAR ? 2 : 1);
    double scale = scale_of(in, out, align, given, mode);
    float narrow_scale = mode >= LINEAR && align ? (out > 1 ? (float)(in - 1) / (float)(out - 1) : 0)
                         : given > 0             ? (float)(1.0 / given)
                                                 : (float)in / (float)out;
    if (mode == NEAREST || mode == NEAREST_EXACT || !wide)
        scale = (double)narrow_scale;
    for (int64_t i = 0; i < out; i++) {
        if (mode <= NEAREST_EXACT) {
            float at =
                mode == NEAREST ? floorf((float)i * narrow_scale) : floorf(((float)i + 0.5f) * narrow_scale);
            t.at[i] = (int32_t)(at < (float)(in - 1) ? (int64_t)at : in - 1);
            t.weight[i] = 1;
            continue;
        }
        double real = align ? scale * (double)i : scale * ((double)i + 0.5) - 0.5;
        if (!wide)
            real =
                align ? (double)(narrow_scale * (float)i) : (double)(narrow_scale * ((float)i + 0.5f) - 0.5f);
        if (mode == LINEAR && real < 0)
            real = 0;
        int64_t base = (int64_t)floor(real);
        if (mode == LINEAR) {
            base = base < in - 1 ? base : in - 1;
            double lambda = real - (double)base;
            lambda = lambda < 0 ? 0 : lambda > 1 ? 1 : lambda;
            t.at[i] = (int32_t)base;
            t.at[out + i] = (int32_t)(base < in - 1 ? base + 1 : base);
            t.weight[i] = wide ? 1 - lambda : (double)(1.0f - (float)lambda);
            t.weight[out + i] = wide ? lambda : (double)(float)lambda;
            continue;
        }
        double f = real - (double)base, weights[4] = {cubic_far(f + 1, -0.75), cubic_near(f, -0.75),
                                                      cubic_near(1 - f, -0.75), cubic_far(2 - f, -0.75)};
        for (int k = 0; k < 4; k++) {
            t.at[k * out + i] = (int32_t)clamp(base - 1 + k, in - 1);
            t.weight[k * out + i] = weights[k];
        }
    }
    return t;
}

static hlo_ref pick(tt_lower *L, hlo_ref x, int dim, int64_t n, const int32_t *at) {
    hlo_type t = piece_type(L, x);
    int64_t sizes[HLO_MAX_RANK], offsets[HLO_MAX_RANK], where[1] = {dim}, count[2] = {n, 1};
    int n_offsets = 0;
    for (int i = 0; i < t.rank; i++) {
        sizes[i] = i == dim ? 1 : t.dims[i];
        if (i != dim)
            offsets[n_offsets++] = i;
    }
    hlo_type it = hlo_type_make(TT_I32, 2, count);
    hlo_dims d = {.kind = HLO_DIMS_GATHER,
                  .a = {n_offsets, offsets},
                  .b = {1, where},
                  .e = {1, where},
                  .index_vector_dim = 1};
    return hlo_gather(L->g, x, hlo_constant(L->g, &it, at), &d, sizes, NULL);
}

/* Every element `factor` times along dim: what nearest does at whole factors. */
static hlo_ref repeat(tt_lower *L, hlo_ref x, int dim, int64_t factor) {
    hlo_type t = piece_type(L, x);
    int64_t dims[HLO_MAX_RANK], map[HLO_MAX_RANK];
    for (int i = 0; i < t.rank; i++) {
        dims[i <= dim ? i : i + 1] = t.dims[i];
        map[i] = i <= dim ? i : i + 1;
    }
    dims[dim + 1] = factor;
    x = hlo_broadcast_in_dim(L->g, x, t.rank + 1, dims, map);
    t.dims[dim] *= factor;
    return hlo_reshape(L->g, x, t.rank, t.dims);
}

/* The factor when output i is input i / factor throughout, else 0. */
static int64_t whole_factor(const axis *a) {
    if (a->taps != 1 || a->out % a->in)
        return 0;
    for (int64_t i = 0; i < a->out; i++)
        if (a->at[i] != i / (a->out / a->in))
            return 0;
    return a->out / a->in;
}

/* The row's param: spatial dims + 8 * mode. Aligned modes have align_corners after the sizes; scales follow,
 * one a dim, maybe None. */
static tt_status upsample(tt_lower *L, bool backward) {
    int n = L->row->param & 7, mode = L->row->param >> 3, at = backward ? 3 : 2;
    hlo_ints size = lower_ints(L, 1), input = backward ? lower_ints(L, 2) : (hlo_ints){0, NULL};
    hlo_ref x = lower_value(L, 0);
    hlo_type t = piece_type(L, x);
    TT_CHECK(t.rank == n + 2 && size.n == n && (!backward || input.n == n + 2), INVALID_ARGUMENT,
             "It is expected output_size equals to %d, but got size %d", n, size.n);
    TT_CHECK(tt_is_float(t.dtype) || (t.dtype == TT_U8 && mode <= NEAREST_EXACT && !backward), UNIMPLEMENTED,
             "interpolation of %s", tt_dtype_name(t.dtype));
    bool align = mode >= LINEAR && lower_bool(L, at, false), whole = !backward, moves = t.dtype == TT_U8;
    int scales = mode >= LINEAR ? at + 1 : at;
    axis axes[3];
    for (int d = 0; d < n; d++) {
        int64_t in = backward ? input.v[d + 2] : t.dims[d + 2], out = size.v[d];
        TT_CHECK(in > 0 && out > 0, INVALID_ARGUMENT,
                 "Input and output sizes should be greater than 0, but got input (%lld) output (%lld)",
                 (long long)in, (long long)out);
        TT_CHECK(in < INT32_MAX && out < INT32_MAX && (!backward || in * out < 1 << 26), UNIMPLEMENTED,
                 "interpolation from %lld to %lld", (long long)in, (long long)out);
        TT_CHECK(!backward || t.dims[d + 2] == out, INVALID_ARGUMENT,
                 "Expected grad_output to have the same shape as output");
        double given = lower_has(L, scales + d) ? lower_double(L, scales + d, 0) : 0;
        bool same = in == out && mode == LINEAR && (align || given == 0 || given == 1);
        axes[d] = make_axis(L, in, out, same ? NEAREST : mode, align, same ? 0 : given, t.dtype == TT_F64);
        whole = whole && whole_factor(&axes[d]);
        if (backward)
            axes[d] = axis_turned(L, &axes[d]);
    }
    for (int d = n - 1; d >= 0 && (whole || moves); d--) /* the last dim first, while rows are short */
        x = whole ? repeat(L, x, d + 2, whole_factor(&axes[d])) : pick(L, x, d + 2, axes[d].out, axes[d].at);
    lower_out_suggested(L, whole || moves ? x : resample(L, x, n, axes), lower_tensor(L, 0));
    return TT_OK;
}

LOWER(lower_upsample) {
    return upsample(L, false);
}

LOWER(lower_upsample_backward) {
    return upsample(L, true);
}

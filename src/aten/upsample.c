/* upsample.c - nearest, linear (1 to 3 dims) and bicubic interpolation and their gradients.
 *
 * Interpolation is separable: along each dim, output i is a sum of taps w[i][t] x[at[i][t]] with constants
 * computed here as PyTorch's CPU kernels compute them (in float). Forward: one gather a tap. Backward: the
 * same weights as a constant matrix [in, out]. */
#include "aten/pieces.h"
#include <math.h>

enum { MAX_SPATIAL = 3, MAX_TAPS = 4 };
enum { NEAREST, NEAREST_EXACT, LINEAR, CUBIC };

typedef struct taps {
    int n;
    int32_t *at[MAX_TAPS];
    double *weight[MAX_TAPS];
} taps;

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
static taps make_taps(tt_lower *L, int64_t in, int64_t out, int mode, bool align, double given, bool wide) {
    taps t = {.n = mode == CUBIC ? 4 : mode == LINEAR ? 2 : 1};
    for (int k = 0; k < t.n; k++) {
        t.at[k] = TT_NEW_N(L->arena, int32_t, out + 1);
        t.weight[k] = TT_NEW_N(L->arena, double, out + 1);
    }
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
            t.at[0][i] = (int32_t)(at < (float)(in - 1) ? (int64_t)at : in - 1);
            t.weight[0][i] = 1;
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
            t.at[0][i] = (int32_t)base;
            t.at[1][i] = (int32_t)(base < in - 1 ? base + 1 : base);
            t.weight[0][i] = wide ? 1 - lambda : (double)(1.0f - (float)lambda);
            t.weight[1][i] = wide ? lambda : (double)(float)lambda;
            continue;
        }
        double f = real - (double)base, weights[4] = {cubic_far(f + 1, -0.75), cubic_near(f, -0.75),
                                                      cubic_near(1 - f, -0.75), cubic_far(2 - f, -0.75)};
        for (int k = 0; k < 4; k++) {
            t.at[k][i] = (int32_t)clamp(base - 1 + k, in - 1);
            t.weight[k][i] = weights[k];
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

static hlo_ref constant(tt_lower *L, int rank, const int64_t *dims, const double *values, tt_dtype dtype) {
    hlo_type t = hlo_type_make(dtype, rank, dims);
    if (dtype == TT_F64)
        return hlo_constant(L->g, &t, values);
    int64_t n = hlo_type_elements(&t);
    float *narrow = TT_NEW_N(L->arena, float, n + 1);
    for (int64_t i = 0; i < n; i++)
        narrow[i] = (float)values[i];
    return hlo_constant(L->g, &t, narrow);
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
static int64_t whole_factor(const taps *t, int64_t in, int64_t out) {
    if (t->n != 1 || out % in)
        return 0;
    for (int64_t i = 0; i < out; i++)
        if (t->at[0][i] != i / (out / in))
            return 0;
    return out / in;
}

static hlo_ref interpolate(tt_lower *L, hlo_ref x, int dim, const taps *t, int64_t out) {
    hlo_graph *g = L->g;
    if (t->n == 1)
        return pick(L, x, dim, out, t->at[0]);
    hlo_ref sum = HLO_NONE;
    for (int k = 0; k < t->n; k++) {
        hlo_ref v = pick(L, x, dim, out, t->at[k]);
        hlo_type vt = piece_type(L, v);
        v = hlo_mul(g, v, piece_along(L, constant(L, 1, &out, t->weight[k], vt.dtype), &vt, dim));
        sum = sum ? hlo_add(g, sum, v) : v;
    }
    return sum;
}

/* dx along dim: contracts dy's dim with the weights as a matrix [in, out]. */
static hlo_ref spread_back(tt_lower *L, hlo_ref dy, int dim, const taps *t, int64_t in, int64_t out) {
    hlo_type ty = piece_type(L, dy);
    double *m = TT_NEW_N(L->arena, double, in *out + 1);
    for (int k = 0; k < t->n; k++)
        for (int64_t i = 0; i < out; i++)
            m[t->at[k][i] * out + i] += t->weight[k][i];
    int64_t shape[2] = {in, out}, ca[1] = {dim}, cb[1] = {1}, permutation[HLO_MAX_RANK];
    hlo_dims d = {.kind = HLO_DIMS_DOT, .c = {1, ca}, .d = {1, cb}};
    hlo_ref y = hlo_dot_general(L->g, dy, constant(L, 2, shape, m, ty.dtype), &d, TT_DTYPE_NONE, "HIGHEST");
    for (int i = 0; i < ty.rank; i++)
        permutation[i] = i < dim ? i : i == dim ? ty.rank - 1 : i - 1;
    return hlo_transpose(L->g, y, permutation);
}

/* The row's param: spatial dims + 8 * mode. Aligned modes have align_corners after the sizes; scales follow,
 * one a dim, maybe None. */
static tt_status resample(tt_lower *L, bool backward) {
    int n = L->row->param & 7, mode = L->row->param >> 3, at = backward ? 3 : 2;
    hlo_ints size = lower_ints(L, 1), input = backward ? lower_ints(L, 2) : (hlo_ints){0, NULL};
    hlo_ref x = lower_value(L, 0);
    hlo_type t = piece_type(L, x);
    TT_CHECK(t.rank == n + 2 && size.n == n && (!backward || input.n == n + 2), INVALID_ARGUMENT,
             "It is expected output_size equals to %d, but got size %d", n, size.n);
    TT_CHECK(tt_is_float(t.dtype) || (t.dtype == TT_U8 && mode <= NEAREST_EXACT && !backward), UNIMPLEMENTED,
             "interpolation of %s", tt_dtype_name(t.dtype));
    bool align = mode >= LINEAR && lower_bool(L, at, false);
    int scales = mode >= LINEAR ? at + 1 : at;
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    bool moves = mode <= NEAREST_EXACT && !backward; /* values only move: no need to widen */
    if (!moves)
        x = hlo_convert(L->g, x, wide);
    for (int d = n - 1; d >= 0; d--) { /* the last dim first, while rows are short */
        int64_t in = backward ? input.v[d + 2] : t.dims[d + 2], out = size.v[d];
        TT_CHECK(in > 0 && out > 0, INVALID_ARGUMENT,
                 "Input and output sizes should be greater than 0, but got input (%lld) output (%lld)",
                 (long long)in, (long long)out);
        TT_CHECK(in < INT32_MAX && out < INT32_MAX && (!backward || in * out < 1 << 26), UNIMPLEMENTED,
                 "interpolation from %lld to %lld", (long long)in, (long long)out);
        TT_CHECK(!backward || t.dims[d + 2] == out, INVALID_ARGUMENT,
                 "Expected grad_output to have the same shape as output");
        double given = lower_has(L, scales + d) ? lower_double(L, scales + d, 0) : 0;
        if (in == out && mode == LINEAR && (align || given == 0 || given == 1))
            continue;
        taps w = make_taps(L, in, out, mode, align, given, t.dtype == TT_F64);
        int64_t factor = backward ? 0 : whole_factor(&w, in, out);
        x = factor     ? repeat(L, x, d + 2, factor)
            : backward ? spread_back(L, x, d + 2, &w, in, out)
                       : interpolate(L, x, d + 2, &w, out);
    }
    lower_out_like(L, hlo_convert(L->g, x, t.dtype), lower_tensor(L, 0));
    return TT_OK;
}

LOWER(lower_upsample) {
    return resample(L, false);
}

LOWER(lower_upsample_backward) {
    return resample(L, true);
}

/* upsample_aa.c - antialiased interpolation (bilinear, bicubic, Lanczos) and its gradient: along each dim a
 * product with a constant matrix of filter weights, computed here as PyTorch computes them. */
#include "aten/pieces.h"
#include <math.h>

enum { TRIANGLE, CUBIC, LANCZOS };
static const double PI = 3.14159265358979323846;

static double filter(int kind, double x) {
    x = fabs(x);
    if (kind == TRIANGLE)
        return x < 1 ? 1 - x : 0;
    if (kind == CUBIC) {
        const double a = -0.5;
        return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
    }
    if (x >= 3)
        return 0;
    return x == 0 ? 1 : sin(PI * x) / (PI * x) * (sin(PI * x / 3) / (PI * x / 3));
}

/* [out, in], or its transpose. */
static hlo_ref weights(tt_lower *L, int64_t in, int64_t out, int kind, bool align, double given,
                       bool transposed, tt_dtype dtype) {
    double scale = align       ? (out > 1 ? (double)(in - 1) / (double)(out - 1) : 0)
                   : given > 0 ? 1 / given
                               : (double)in / (double)out;
    double reach = kind == TRIANGLE ? 1
                   : kind == CUBIC  ? 2
                                    : 3,
           support = scale >= 1 ? reach * scale : reach, inverse = scale >= 1 ? 1 / scale : 1;
    int64_t dims[2] = {transposed ? in : out, transposed ? out : in};
    double *m = TT_NEW_N(L->arena, double, in *out + 1);
    float *narrow = TT_NEW_N(L->arena, float, in *out + 1);
    for (int64_t o = 0; o < out; o++) {
        double center = scale * ((double)o + 0.5), total = 0;
        int64_t from = (int64_t)(center - support + 0.5), to = (int64_t)(center + support + 0.5);
        from = from > 0 ? from : 0;
        to = to < in ? to : in;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t i = from; i < to; i++) {
                double w = filter(kind, ((double)(i - from) + (double)from - center + 0.5) * inverse);
                if (pass == 0)
                    total += w;
                else
                    m[transposed ? i * out + o : o * in + i] = total != 0 ? w / total : w;
            }
    }
    for (int64_t i = 0; i < in * out; i++)
        narrow[i] = (float)m[i];
    hlo_type t = hlo_type_make(dtype, 2, dims);
    return hlo_constant(L->g, &t, dtype == TT_F64 ? (void *)m : (void *)narrow);
}

static hlo_ref along(tt_lower *L, hlo_ref x, int dim, hlo_ref m) {
    int64_t ca[1] = {dim}, cb[1] = {1}, permutation[HLO_MAX_RANK];
    hlo_type t = piece_type(L, x);
    hlo_dims d = {.kind = HLO_DIMS_DOT, .c = {1, ca}, .d = {1, cb}};
    hlo_ref y = hlo_dot_general(L->g, x, m, &d, TT_DTYPE_NONE, "HIGHEST");
    for (int i = 0; i < t.rank; i++)
        permutation[i] = i < dim ? i : i == dim ? t.rank - 1 : i - 1;
    return hlo_transpose(L->g, y, permutation);
}

static tt_status resample(tt_lower *L, bool backward) {
    int at = backward ? 3 : 2;
    hlo_ints size = lower_ints(L, 1), input = backward ? lower_ints(L, 2) : (hlo_ints){0, NULL};
    hlo_type t = piece_type(L, lower_value(L, 0));
    TT_CHECK(t.rank == 4 && size.n == 2 && (!backward || input.n == 4), INVALID_ARGUMENT,
             "It is expected output_size equals to 2, but got size %d", size.n);
    TT_CHECK(tt_is_float(t.dtype), UNIMPLEMENTED, "antialiased interpolation of %s", tt_dtype_name(t.dtype));
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    hlo_ref x = hlo_convert(L->g, lower_value(L, 0), wide);
    bool align = lower_bool(L, at, false);
    for (int k = 1; k >= 0; k--) {
        int64_t in = backward ? input.v[k + 2] : t.dims[k + 2], out = size.v[k];
        TT_CHECK(in > 0 && out > 0, INVALID_ARGUMENT,
                 "Input and output sizes should be greater than 0, but got input (%lld) output (%lld)",
                 (long long)in, (long long)out);
        TT_CHECK(in * out < 1 << 24, UNIMPLEMENTED, "antialiased interpolation from %lld to %lld",
                 (long long)in, (long long)out);
        double given = lower_has(L, at + 1 + k) ? lower_double(L, at + 1 + k, 0) : 0;
        if (in != out || backward || given != 0)
            x = along(L, x, k + 2, weights(L, in, out, L->row->param, align, given, backward, wide));
    }
    lower_out_like(L, hlo_convert(L->g, x, t.dtype), lower_tensor(L, 0));
    return TT_OK;
}

/* _upsample_{bilinear,bicubic,lanczos}2d_aa(self, output_size, align_corners, scales_h, scales_w); param: the
 * filter */
LOWER(lower_upsample_aa) {
    return resample(L, false);
}

/* .._backward(grad_output, output_size, input_size, align_corners, scales_h, scales_w) */
LOWER(lower_upsample_aa_backward) {
    return resample(L, true);
}

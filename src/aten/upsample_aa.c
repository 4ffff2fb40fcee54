/* upsample_aa.c - antialiased interpolation (bilinear, bicubic, Lanczos) and its gradient: along each dim a
 * sum with filter weights, computed here as PyTorch computes them. */
#include "aten/resample.h"
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

static axis make_axis(tt_lower *L, int64_t in, int64_t out, int kind, bool align, double given) {
    double scale = align       ? (out > 1 ? (double)(in - 1) / (double)(out - 1) : 0)
                   : given > 0 ? 1 / given
                               : (double)in / (double)out;
    double reach = kind == TRIANGLE ? 1
                   : kind == CUBIC  ? 2
                                    : 3,
           support = scale >= 1 ? reach * scale : reach, inverse = scale >= 1 ? 1 / scale : 1;
    int64_t taps = (int64_t)(2 * support) + 2;
    axis a = axis_make(L, in, out, taps < in ? taps : in);
    for (int64_t o = 0; o < out; o++) {
        double center = scale * ((double)o + 0.5), total = 0;
        int64_t from = (int64_t)(center - support + 0.5), to = (int64_t)(center + support + 0.5);
        from = from > 0 ? from : 0;
        to = to < in ? to : in;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t i = from; i < to; i++) {
                double w = filter(kind, ((double)(i - from) + (double)from - center + 0.5) * inverse);
                if (pass == 0) {
                    total += w;
                    continue;
                }
                a.at[(i - from) * out + o] = (int32_t)i;
                a.weight[(i - from) * out + o] = total != 0 ? w / total : w;
            }
    }
    return a;
}

static tt_status upsample_aa(tt_lower *L, bool backward) {
    int at = backward ? 3 : 2;
    hlo_ints size = lower_ints(L, 1), input = backward ? lower_ints(L, 2) : (hlo_ints){0, NULL};
    hlo_type t = piece_type(L, lower_value(L, 0));
    TT_CHECK(t.rank == 4 && size.n == 2 && (!backward || input.n == 4), INVALID_ARGUMENT,
             "It is expected output_size equals to 2, but got size %d", size.n);
    TT_CHECK(tt_is_float(t.dtype), UNIMPLEMENTED, "antialiased interpolation of %s", tt_dtype_name(t.dtype));
    bool align = lower_bool(L, at, false);
    axis axes[2];
    for (int k = 0; k < 2; k++) {
        int64_t in = backward ? input.v[k + 2] : t.dims[k + 2], out = size.v[k];
        TT_CHECK(in > 0 && out > 0, INVALID_ARGUMENT,
                 "Input and output sizes should be greater than 0, but got input (%lld) output (%lld)",
                 (long long)in, (long long)out);
        TT_CHECK(in * out < 1 << 24, UNIMPLEMENTED, "antialiased interpolation from %lld to %lld",
                 (long long)in, (long long)out);
        double given = lower_has(L, at + 1 + k) ? lower_double(L, at + 1 + k, 0) : 0;
        axes[k] = make_axis(L, in, out, L->row->param, align, given);
        if (backward)
            axes[k] = axis_turned(L, &axes[k]);
    }
    lower_out_suggested(L, resample(L, lower_value(L, 0), 2, axes), lower_tensor(L, 0));
    return TT_OK;
}

/* _upsample_{bilinear,bicubic,lanczos}2d_aa(self, output_size, align_corners, scales_h, scales_w); param: the
 * filter */
LOWER(lower_upsample_aa) {
    return upsample_aa(L, false);
}

/* .._backward(grad_output, output_size, input_size, align_corners, scales_h, scales_w) */
LOWER(lower_upsample_aa_backward) {
    return upsample_aa(L, true);
}

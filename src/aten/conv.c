/* conv.c - convolutions of 1 to 3 spatial dims, transposed or not, grouped, dilated, and their gradients,
 * each as one stablehlo.convolution.
 *
 * With stride s, dilation d, padding p, kernel k, input size I, output size O, per spatial dim:
 *   plain:       y = conv(x, w), window stride s, padding p, rhs_dilation d.
 *   transposed:  y = conv(x, reversed w) with lhs_dilation s, padding low d(k-1) - p, high so that the size
 * comes out. dx of plain: the transposed form on dy; dx of transposed: the plain form on dy. dw:          x
 * as lhs with channels as its batch and N as its feature, dy as kernel over N: stride d, rhs_dilation s,
 * padding p; groups become batch_group_count. Of a transposed one: the same with x and dy exchanged. Grouped
 * transposed kernels [g Ci, Co, k] are regrouped to [Ci, g Co, k], as feature_group_count wants. */
#include "aten/pieces.h"

enum { MAX_SPATIAL = 3 };

typedef struct conv {
    int n; /* spatial dims */
    int64_t stride[MAX_SPATIAL], padding[MAX_SPATIAL], dilation[MAX_SPATIAL], output_padding[MAX_SPATIAL];
    bool transposed;
    int64_t groups;
    hlo_type x, w;
    bool last; /* channels lie innermost in memory: of x, w and the results, as in PyTorch */
} conv;

/* ---- channels_last ----
 * Convolutions of such tensors are built of values as they lie, [N, spatial, C]; transposes from and to PyTorch's order fold away. */

/* Where PyTorch's dimension is in what lies in memory. */
static int64_t lie_at(const conv *c, int dim) {
    return !c->last || dim == 0 ? dim : dim == 1 ? c->n + 1 : dim - 1;
}

static hlo_ref as_it_lies(tt_lower *L, const conv *c, hlo_ref x) {
    int64_t permutation[HLO_MAX_RANK];
    for (int d = 0; d < c->n + 2; d++)
        permutation[lie_at(c, d)] = d;
    return hlo_transpose(L->g, x, permutation);
}

static hlo_ref as_named(tt_lower *L, const conv *c, hlo_ref x) {
    int64_t permutation[HLO_MAX_RANK];
    for (int d = 0; d < c->n + 2; d++)
        permutation[d] = lie_at(c, d);
    return hlo_transpose(L->g, x, permutation);
}

static tt_status expand(tt_lower *L, int arg, int n, int64_t fallback, const char *what, int64_t *out) {
    hlo_ints v = lower_ints(L, arg);
    TT_CHECK(
        v.n == n || v.n == 1 || v.n == 0, INVALID_ARGUMENT,
        "expected %s to be a single integer value or a list of %d values to match the convolution dimensions",
        what, n);
    for (int i = 0; i < n; i++)
        out[i] = v.n == 0 ? fallback : v.v[v.n == 1 ? 0 : i];
    return TT_OK;
}

/* first: the stride argument; then padding, dilation, transposed, output_padding, groups. */
static tt_status read_conv(tt_lower *L, int x_arg, int w_arg, int first, conv *c) {
    memset(c, 0, sizeof *c);
    c->x = piece_type(L, lower_value(L, x_arg));
    c->w = piece_type(L, lower_value(L, w_arg));
    c->n = c->x.rank - 2;
    TT_CHECK(c->n >= 1 && c->n <= MAX_SPATIAL && c->w.rank == c->x.rank, UNIMPLEMENTED,
             "convolution of a %d-dimensional input and a %d-dimensional weight", c->x.rank, c->w.rank);
    TT_CHECK(c->x.dtype == c->w.dtype, INVALID_ARGUMENT,
             "Input type (%s) and weight type (%s) should be the same", tt_dtype_name(c->x.dtype),
             tt_dtype_name(c->w.dtype));
    TT_CHECK(tt_is_float(c->x.dtype) || tt_is_int(c->x.dtype), UNIMPLEMENTED, "convolution of %s",
             tt_dtype_name(c->x.dtype));
    TT_TRY(expand(L, first, c->n, 1, "stride", c->stride));
    TT_TRY(expand(L, first + 1, c->n, 0, "padding", c->padding));
    TT_TRY(expand(L, first + 2, c->n, 1, "dilation", c->dilation));
    c->transposed = lower_bool(L, first + 3, false);
    TT_TRY(expand(L, first + 4, c->n, 0, "output_padding", c->output_padding));
    c->groups = lower_int(L, first + 5, 1);
    const bool wide = c->x.dtype == TT_F64 && c->n == 3; /* PyTorch has no such kernel */
    c->last = !wide && (lower_suggests_channels_last(lower_tensor(L, x_arg)) || lower_suggests_channels_last(lower_tensor(L, w_arg)));
    for (int i = 0; i < c->n; i++)
        TT_CHECK(c->stride[i] > 0 && c->dilation[i] > 0 && c->padding[i] >= 0, INVALID_ARGUMENT,
                 "convolution: stride and dilation must be positive, padding not negative");
    TT_CHECK(c->groups > 0 && c->w.dims[0] % c->groups == 0, INVALID_ARGUMENT,
             "expected weight to be divisible by groups=%lld", (long long)c->groups);
    int64_t want = c->transposed ? c->w.dims[0] : c->w.dims[1] * c->groups;
    TT_CHECK(c->x.dims[1] == want, INVALID_ARGUMENT,
             "Given groups=%lld, expected input to have %lld channels, but got %lld channels instead",
             (long long)c->groups, (long long)want, (long long)c->x.dims[1]);
    return TT_OK;
}

static int64_t plain_size(const conv *c, int i, int64_t in) {
    return (in + 2 * c->padding[i] - c->dilation[i] * (c->w.dims[i + 2] - 1) - 1) / c->stride[i] + 1;
}

static int64_t transposed_size(const conv *c, int i, int64_t in) {
    return (in - 1) * c->stride[i] - 2 * c->padding[i] + c->dilation[i] * (c->w.dims[i + 2] - 1) +
           c->output_padding[i] + 1;
}

/* Dimension numbers: the places of (batch, feature) in the lhs, (in, out feature) in the kernel, (batch,
 * feature) in the result. */
static hlo_dims numbers(tt_lower *L, const conv *c, int xb, int xf, int wi, int wo, int yb, int yf) {
    int64_t *d = TT_NEW_N(L->arena, int64_t, 3 * (MAX_SPATIAL + 2));
    int64_t *x = d, *w = d + MAX_SPATIAL + 2, *y = w + MAX_SPATIAL + 2;
    x[0] = lie_at(c, xb), x[1] = lie_at(c, xf), w[0] = lie_at(c, wi), w[1] = lie_at(c, wo), y[0] = lie_at(c, yb), y[1] = lie_at(c, yf);
    for (int i = 2; i < c->n + 2; i++)
        x[i] = w[i] = y[i] = lie_at(c, i);
    return (hlo_dims){.kind = HLO_DIMS_CONV, .a = {c->n + 2, x}, .b = {c->n + 2, w}, .c = {c->n + 2, y}};
}

/* The kernel as it lies. */
static hlo_ref build(tt_lower *L, const conv *c, hlo_ref x, hlo_ref kernel, const hlo_conv *v, tt_dtype out) {
    return as_named(L, c, hlo_convolution(L->g, as_it_lies(L, c, x), kernel, v, out, piece_precision(L, c->x.dtype)));
}

/* y = conv(x, w [O, I/g, k]), of the given size: the high padding follows from it, since a transposed
 * convolution's output padding may reach beyond what windows of its gradient cover. */
static hlo_ref plain(tt_lower *L, const conv *c, hlo_ref x, hlo_ref w, const int64_t *size, tt_dtype out) {
    hlo_type t = piece_type(L, x);
    int64_t high[MAX_SPATIAL];
    for (int i = 0; i < c->n; i++)
        high[i] = (size[i] - 1) * c->stride[i] + c->dilation[i] * (c->w.dims[i + 2] - 1) + 1 - t.dims[i + 2] -
                  c->padding[i];
    hlo_conv v = {
        .dims = numbers(L, c, 0, 1, 1, 0, 0, 1),
        .stride = c->stride,
        .padding_low = c->padding,
        .padding_high = high,
        .rhs_dilation = c->dilation,
        .feature_groups = c->groups,
        .batch_groups = 1,
    };
    return build(L, c, x, as_it_lies(L, c, w), &v, out);
}

/* w [g A, B, k] -> reversed [A, g B, k], as it lies */
static hlo_ref regroup(tt_lower *L, const conv *c, hlo_ref w) {
    const int64_t a = c->w.dims[0] / c->groups, b = c->w.dims[1], features = lie_at(c, 1);
    int64_t spatial[MAX_SPATIAL], split[MAX_SPATIAL + 3], permutation[MAX_SPATIAL + 3], joined[MAX_SPATIAL + 2];
    for (int i = 0; i < c->n; i++)
        spatial[i] = lie_at(c, i + 2);
    w = hlo_reverse(L->g, as_it_lies(L, c, w), c->n, spatial);
    if (c->groups == 1)
        return w;
    split[0] = c->groups, split[1] = a, split[1 + features] = b;
    joined[0] = a, joined[features] = c->groups * b;
    for (int i = 0; i < c->n; i++)
        split[1 + spatial[i]] = joined[spatial[i]] = c->w.dims[i + 2];
    int at = 0;
    for (int d = 0; d < c->n + 2; d++) { /* groups go before the features that they have */
        if (d == features)
            permutation[at++] = 0;
        permutation[at++] = d + 1;
    }
    w = hlo_transpose(L->g, hlo_reshape(L->g, w, c->n + 3, split), permutation);
    return hlo_reshape(L->g, w, c->n + 2, joined);
}

/* The adjoint of plain: from x [N, g A, in] and w [g A, B, k] to [N, g B, size]. */
static hlo_ref adjoint(tt_lower *L, const conv *c, hlo_ref x, hlo_ref w, const int64_t *size, tt_dtype out) {
    hlo_type t = piece_type(L, x);
    int64_t low[MAX_SPATIAL], high[MAX_SPATIAL];
    for (int i = 0; i < c->n; i++) {
        int64_t span = c->dilation[i] * (c->w.dims[i + 2] - 1);
        low[i] = span - c->padding[i];
        high[i] = size[i] - ((t.dims[i + 2] - 1) * c->stride[i] + 1) - low[i] + span;
    }
    hlo_conv v = {
        .dims = numbers(L, c, 0, 1, 0, 1, 0, 1),
        .padding_low = low,
        .padding_high = high,
        .lhs_dilation = c->stride,
        .rhs_dilation = c->dilation,
        .feature_groups = c->groups,
        .batch_groups = 1,
    };
    return build(L, c, x, regroup(L, c, w), &v, out);
}

/* The kernel's gradient of plain: from its input x [N, g B, in] and dy [N, g A, out] to [g A, B, k]. */
static hlo_ref kernel_gradient(tt_lower *L, const conv *c, hlo_ref x, hlo_ref dy) {
    hlo_type tx = piece_type(L, x), ty = piece_type(L, dy);
    int64_t high[MAX_SPATIAL];
    for (int i = 0; i < c->n; i++)
        high[i] = (c->w.dims[i + 2] - 1) * c->dilation[i] + c->stride[i] * (ty.dims[i + 2] - 1) + 1 -
                  tx.dims[i + 2] - c->padding[i];
    hlo_conv v = {
        .dims = numbers(L, c, 1, 0, 0, 1, 1, 0),
        .stride = c->dilation,
        .padding_low = c->padding,
        .padding_high = high,
        .rhs_dilation = c->stride,
        .feature_groups = 1,
        .batch_groups = c->groups,
    };
    return build(L, c, x, as_it_lies(L, c, dy), &v, TT_DTYPE_NONE);
}

/* convolution_overrideable(input, weight, bias, stride, padding, dilation, transposed, output_padding,
 * groups) */
LOWER(lower_convolution) {
    conv c;
    TT_TRY(read_conv(L, 0, 1, 3, &c));
    int64_t dims[MAX_SPATIAL + 2] = {c.x.dims[0], c.transposed ? c.w.dims[1] * c.groups : c.w.dims[0]};
    for (int i = 0; i < c.n; i++) {
        dims[i + 2] =
            c.transposed ? transposed_size(&c, i, c.x.dims[i + 2]) : plain_size(&c, i, c.x.dims[i + 2]);
        TT_CHECK(dims[i + 2] > 0, INVALID_ARGUMENT,
                 "Calculated output size per channel is too small: Kernel size can't be greater than actual "
                 "input size");
    }
    tt_dtype wide = lower_accumulate_dtype(c.x.dtype);
    bool has_bias = lower_has(L, 2);
    hlo_ref x = lower_value(L, 0), w = lower_value(L, 1), y;
    if (hlo_type_elements(&c.x) == 0 || hlo_type_elements(&c.w) == 0)
        y = piece_zeros(L, has_bias ? wide : c.x.dtype, c.n + 2, dims);
    else
        y = c.transposed ? adjoint(L, &c, x, w, dims + 2, has_bias ? wide : TT_DTYPE_NONE)
                         : plain(L, &c, x, w, dims + 2, has_bias ? wide : TT_DTYPE_NONE);
    if (has_bias) {
        hlo_type t = piece_type(L, y);
        y = hlo_convert(L->g,
                        hlo_add(L->g, y, piece_along(L, hlo_convert(L->g, lower_value(L, 2), wide), &t, 1)),
                        c.x.dtype);
    }
    lower_out_channels_last(L, y, c.last);
    return TT_OK;
}

/* convolution_backward_overrideable(grad_output, input, weight, stride, padding, dilation, transposed,
 * output_padding, groups, output_mask)
 * -> (grad_input, grad_weight, grad_bias) */
LOWER(lower_convolution_backward) {
    conv c;
    TT_TRY(read_conv(L, 1, 2, 3, &c));
    hlo_ref dy = lower_value(L, 0), x = lower_value(L, 1), w = lower_value(L, 2);
    hlo_type t = piece_type(L, dy);
    bool empty = hlo_type_elements(&c.x) == 0 || hlo_type_elements(&c.w) == 0 || hlo_type_elements(&t) == 0;
    if (piece_mask(L, 9, 0)) {
        hlo_ref dx = empty          ? piece_zeros(L, c.x.dtype, c.x.rank, c.x.dims)
                     : c.transposed ? plain(L, &c, dy, w, c.x.dims + 2, TT_DTYPE_NONE)
                                    : adjoint(L, &c, dy, w, c.x.dims + 2, TT_DTYPE_NONE);
        lower_out_channels_last(L, dx, c.last);
    } else {
        lower_out_none(L);
    }
    if (piece_mask(L, 9, 1)) {
        hlo_ref dw = empty          ? piece_zeros(L, c.w.dtype, c.w.rank, c.w.dims)
                     : c.transposed ? kernel_gradient(L, &c, dy, x)
                                    : kernel_gradient(L, &c, x, dy);
        lower_out_channels_last(L, dw, c.last);
    } else {
        lower_out_none(L);
    }
    int64_t dims[MAX_SPATIAL + 2];
    int n = 0;
    for (int i = 0; i < t.rank; i++)
        if (i != 1)
            dims[n++] = i;
    hlo_ref db =
        hlo_reduce(L->g, HLO_ADD, hlo_convert(L->g, dy, lower_accumulate_dtype(t.dtype)), HLO_NONE, n, dims);
    piece_out_if(L, piece_mask(L, 9, 2), hlo_convert(L->g, db, t.dtype));
    return TT_OK;
}

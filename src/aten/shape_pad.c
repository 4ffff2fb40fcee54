/* shape_pad.c - padding by constants, reflection and replication with gradients; im2col and col2im. */
#include "aten/elem.h"
#include "aten/pieces.h"

/* constant_pad_nd(self, pad, value=0): pairs from the last dim on; negative counts cut, as in stablehlo.pad */
LOWER_FN(lower_shape_constant_pad) {
    const tt_tensor *x = lower_tensor(L, 0);
    hlo_ints pad = lower_ints(L, 1);
    TT_CHECK(pad.n % 2 == 0, INVALID_ARGUMENT, "Length of pad must be even but instead it equals %d", pad.n);
    TT_CHECK(pad.n / 2 <= x->rank, INVALID_ARGUMENT,
             "Length of pad should be no more than twice the number of dimensions of the input. Pad length is %d while the "
             "input has %d dimensions.",
             pad.n, x->rank);
    int64_t low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {0};
    bool cuts = true;
    for (int i = 0; i < pad.n / 2; i++) {
        int d = x->rank - 1 - i;
        cuts = cuts && pad.v[2 * i] <= 0 && pad.v[2 * i + 1] <= 0;
        low[d] = pad.v[2 * i];
        high[d] = pad.v[2 * i + 1];
        TT_CHECK(x->dims[d] + low[d] + high[d] >= 0, INVALID_ARGUMENT,
                 "The input size %lld, plus negative padding %lld and %lld, resulted in a negative output size, which is "
                 "invalid. Check dimension %d of your input.",
                 (long long)x->dims[d], (long long)low[d], (long long)high[d], d);
    }
    TT_TRY(lower_scalar_fits(L, 2, x->dtype));
    hlo_ref value = lower_has(L, 2) ? lower_scalar(L, 2, x->dtype) : hlo_scalar(L->g, x->dtype, 0);
    hlo_ref r = hlo_pad(L->g, x->value, value, low, high, NULL);
    if (cuts)
        lower_out_like(L, r, x);
    else
        lower_out_suggested(L, r, x);
    return hlo_graph_take_error(L->g);
}

static tt_status pad_check(const tt_tensor *x, hlo_ints pad, bool reflect) {
    int n = pad.n / 2;
    TT_CHECK(pad.n % 2 == 0 && (x->rank == n + 1 || x->rank == n + 2), INVALID_ARGUMENT,
             "Expected %dD or %dD (batch mode) tensor for padding of %d numbers, but got %dD", n + 1, n + 2, pad.n, x->rank);
    for (int i = 0; i < n; i++) {
        int d = x->rank - 1 - i;
        int64_t low = pad.v[2 * i], high = pad.v[2 * i + 1], size = x->dims[d];
        TT_CHECK(size + low + high > 0, INVALID_ARGUMENT, "padding (%lld, %lld) leaves nothing of dimension %d", (long long)low,
                 (long long)high, d);
        TT_CHECK(!reflect || (low < size && high < size), INVALID_ARGUMENT,
                 "Padding size should be less than the corresponding input dimension, but got: padding (%lld, %lld) at "
                 "dimension %d of input",
                 (long long)low, (long long)high, d);
        TT_CHECK(size > 0, INVALID_ARGUMENT, "Expected non-zero size of dimension %d", d);
    }
    return TT_OK;
}

/* An edge n times, to stand in a concatenation: how many values it is. Few stand there one by one, which chains of moves see through. */
enum { FEW = 4 };

static int repeat(tt_lower *L, hlo_ref edge, int dim, int64_t n, hlo_ref *out) {
    hlo_type t = piece_type(L, edge);
    int64_t map[HLO_MAX_RANK];
    for (int64_t i = 0; i < n && n <= FEW; i++)
        out[i] = edge;
    if (n <= FEW)
        return (int)n;
    piece_identity(map, t.rank);
    t.dims[dim] = n;
    *out = hlo_broadcast_in_dim(L->g, edge, t.rank, t.dims, map);
    return 1;
}

static hlo_ref mirrored(tt_lower *L, hlo_ref x, int dim) {
    int64_t d = dim;
    return hlo_reverse(L->g, x, 1, &d);
}

static hlo_ref pad_dim(tt_lower *L, hlo_ref x, int dim, int64_t low, int64_t high, bool reflect) {
    int64_t n = piece_type(L, x).dims[dim];
    hlo_ref parts[2 * FEW + 1];
    int k = 0;
    if (low > 0 && reflect)
        parts[k++] = mirrored(L, hlo_slice_dim(L->g, x, dim, 1, 1 + low, 1), dim);
    else if (low > 0)
        k += repeat(L, hlo_slice_dim(L->g, x, dim, 0, 1, 1), dim, low, parts);
    parts[k++] = x;
    if (high > 0 && reflect)
        parts[k++] = mirrored(L, hlo_slice_dim(L->g, x, dim, n - 1 - high, n - 1, 1), dim);
    else if (high > 0)
        k += repeat(L, hlo_slice_dim(L->g, x, dim, n - 1, n, 1), dim, high, parts + k);
    return hlo_concatenate(L->g, k, parts, dim);
}

/* Negative counts cut what the positive ones have made (param of hlo_pad), and their gradient is zero. */
static hlo_ref crop(tt_lower *L, hlo_ref x, hlo_ints pad, int sign) {
    hlo_type t = piece_type(L, x);
    int64_t low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {0};
    for (int i = 0; i < pad.n / 2; i++) {
        low[t.rank - 1 - i] = pad.v[2 * i] < 0 ? sign * pad.v[2 * i] : 0;
        high[t.rank - 1 - i] = pad.v[2 * i + 1] < 0 ? sign * pad.v[2 * i + 1] : 0;
    }
    return hlo_pad(L->g, x, hlo_scalar(L->g, t.dtype, 0), low, high, NULL);
}

static int64_t positive(int64_t n) { return n > 0 ? n : 0; }

/* reflection_padNd, replication_padNd (param 1) (self, padding) */
LOWER_FN(lower_shape_pad) {
    const tt_tensor *x = lower_tensor(L, 0);
    hlo_ints pad = lower_ints(L, 1);
    bool reflect = !L->row->param;
    TT_TRY(pad_check(x, pad, reflect));
    hlo_ref r = x->value;
    for (int i = 0; i < pad.n / 2; i++)
        r = pad_dim(L, r, x->rank - 1 - i, positive(pad.v[2 * i]), positive(pad.v[2 * i + 1]), reflect);
    lower_out_suggested(L, crop(L, r, pad, 1), x);
    return hlo_graph_take_error(L->g);
}

/* What lies in the padding goes back to where it came from. */
static hlo_ref unpad_dim(tt_lower *L, hlo_ref g, int dim, int64_t low, int64_t high, bool reflect) {
    hlo_type t = piece_type(L, g);
    int64_t n = t.dims[dim] - low - high, d = dim;
    hlo_ref r = hlo_slice_dim(L->g, g, dim, low, low + n, 1), zero = hlo_scalar(L->g, t.dtype, 0);
    for (int side = 0; side < 2; side++) {
        int64_t count = side ? high : low;
        if (!count)
            continue;
        hlo_ref part = side ? hlo_slice_dim(L->g, g, dim, low + n, low + n + high, 1) : hlo_slice_dim(L->g, g, dim, 0, low, 1);
        part = reflect ? mirrored(L, part, dim) : hlo_reduce_keep(L->g, HLO_ADD, part, HLO_NONE, 1, &d);
        int64_t length = reflect ? count : 1, at = reflect ? (side ? n - 1 - high : 1) : (side ? n - 1 : 0);
        int64_t before[HLO_MAX_RANK] = {0}, after[HLO_MAX_RANK] = {0};
        before[dim] = at;
        after[dim] = n - at - length;
        r = hlo_add(L->g, r, hlo_pad(L->g, part, zero, before, after, NULL));
    }
    return r;
}

/* reflection_padNd_backward, replication_padNd_backward (param 1) (grad, self, padding) */
LOWER_FN(lower_shape_pad_backward) {
    const tt_tensor *grad = lower_tensor(L, 0), *x = lower_tensor(L, 1);
    hlo_ints pad = lower_ints(L, 2);
    bool reflect = !L->row->param;
    TT_TRY(pad_check(x, pad, reflect));
    hlo_ref r = hlo_convert(L->g, grad->value, lower_accumulate_dtype(grad->dtype));
    for (int d = 0; d < x->rank; d++) {
        int i = x->rank - 1 - d;
        int64_t want = x->dims[d] + (i < pad.n / 2 ? pad.v[2 * i] + pad.v[2 * i + 1] : 0);
        TT_CHECK(grad->rank == x->rank && grad->dims[d] == want, INVALID_ARGUMENT,
                 "grad_output unexpected size at dimension %d. Expected: %lld", d, (long long)want);
    }
    r = crop(L, r, pad, -1);
    for (int i = 0; i < pad.n / 2; i++)
        r = unpad_dim(L, r, x->rank - 1 - i, positive(pad.v[2 * i]), positive(pad.v[2 * i + 1]), reflect);
    lower_out_suggested(L, hlo_convert(L->g, r, grad->dtype), x);
    return hlo_graph_take_error(L->g);
}

/* ---- im2col and col2im: one strided slice per kernel position ---- */

typedef struct patches { int64_t kernel[2], dilation[2], padding[2], stride[2], size[2], out[2]; } patches;

static void pair(tt_lower *L, int arg, int64_t *out) {
    hlo_ints v = lower_ints(L, arg);
    out[0] = v.n > 0 ? v.v[0] : 1;
    out[1] = v.n > 1 ? v.v[1] : out[0];
}

static tt_status patches_read(tt_lower *L, int arg, const int64_t *size, patches *p) {
    pair(L, arg, p->kernel);
    pair(L, arg + 1, p->dilation);
    pair(L, arg + 2, p->padding);
    pair(L, arg + 3, p->stride);
    for (int i = 0; i < 2; i++) {
        p->size[i] = size[i];
        TT_CHECK(p->kernel[i] > 0 && p->dilation[i] > 0 && p->stride[i] > 0 && p->padding[i] >= 0, INVALID_ARGUMENT,
                 "kernel, dilation and stride should be greater than zero");
        int64_t span = p->dilation[i] * (p->kernel[i] - 1) + 1, room = size[i] + 2 * p->padding[i] - span;
        TT_CHECK(room >= 0, INVALID_ARGUMENT,
                 "calculated shape of the array of sliding blocks is too small (non-positive) in dimension %d", i);
        p->out[i] = room / p->stride[i] + 1;
    }
    if (p->kernel[0] * p->kernel[1] > 4096)
        LOWER_UNSUPPORTED(L, "kernels of more than 4096 elements");
    return TT_OK;
}

/* im2col(self, kernel_size, dilation, padding, stride): [N, C, H, W] -> [N, C * kh * kw, oh * ow] */
LOWER_FN(lower_shape_im2col) {
    const tt_tensor *x = lower_tensor(L, 0);
    bool batch = x->rank == 4;
    TT_CHECK(x->rank == 3 || batch, INVALID_ARGUMENT,
             "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input");
    const int64_t *d = batch ? x->dims : x->dims - 1; /* d[1] channels, d[2], d[3] sizes */
    int64_t n = batch ? x->dims[0] : 1, channels = d[1];
    patches p;
    TT_TRY(patches_read(L, 1, d + 2, &p));
    hlo_ref v = hlo_reshape(L->g, x->value, 4, (const int64_t[]){n, channels, p.size[0], p.size[1]});
    const int64_t edge[4] = {0, 0, p.padding[0], p.padding[1]};
    v = hlo_pad(L->g, v, hlo_scalar(L->g, x->dtype, 0), edge, edge, NULL);
    int64_t k = p.kernel[0] * p.kernel[1];
    hlo_ref *parts = TT_NEW_N(L->arena, hlo_ref, k);
    for (int64_t i = 0; i < k; i++) {
        int64_t y = i / p.kernel[1] * p.dilation[0], z = i % p.kernel[1] * p.dilation[1];
        const int64_t start[4] = {0, 0, y, z}, stride[4] = {1, 1, p.stride[0], p.stride[1]};
        const int64_t limit[4] = {n, channels, y + (p.out[0] - 1) * p.stride[0] + 1, z + (p.out[1] - 1) * p.stride[1] + 1};
        hlo_ref s = hlo_slice(L->g, v, start, limit, stride);
        parts[i] = hlo_reshape(L->g, s, 4, (const int64_t[]){n, channels, 1, p.out[0] * p.out[1]});
    }
    v = hlo_concatenate(L->g, (int)k, parts, 2);
    const int64_t out[3] = {n, channels * k, p.out[0] * p.out[1]};
    lower_out(L, hlo_reshape(L->g, v, batch ? 3 : 2, batch ? out : out + 1));
    return hlo_graph_take_error(L->g);
}

/* col2im(self, output_size, kernel_size, dilation, padding, stride): the sum that undoes im2col */
LOWER_FN(lower_shape_col2im) {
    const tt_tensor *x = lower_tensor(L, 0);
    bool batch = x->rank == 3;
    TT_CHECK(x->rank == 2 || batch, INVALID_ARGUMENT,
             "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input");
    int64_t size[2], n = batch ? x->dims[0] : 1, rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    pair(L, 1, size);
    patches p;
    TT_TRY(patches_read(L, 2, size, &p));
    int64_t k = p.kernel[0] * p.kernel[1], channels = rows / k;
    TT_CHECK(rows % k == 0, INVALID_ARGUMENT,
             "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got %lld and %lld",
             (long long)rows, (long long)k);
    TT_CHECK(columns == p.out[0] * p.out[1], INVALID_ARGUMENT,
             "Given output_size and kernel, expected size of input's dimension 2 to match the calculated number of sliding "
             "blocks %lld, but got %lld",
             (long long)(p.out[0] * p.out[1]), (long long)columns);
    tt_dtype acc = lower_accumulate_dtype(x->dtype);
    hlo_ref v = hlo_reshape(L->g, hlo_convert(L->g, x->value, acc), 5, (const int64_t[]){n, channels, k, p.out[0], p.out[1]});
    hlo_ref sum = HLO_NONE, zero = hlo_scalar(L->g, acc, 0);
    for (int64_t i = 0; i < k; i++) {
        hlo_ref s = hlo_slice_dim(L->g, v, 2, i, i + 1, 1);
        s = hlo_reshape(L->g, s, 4, (const int64_t[]){n, channels, p.out[0], p.out[1]});
        int64_t low[4] = {0}, high[4] = {0}, inner[4] = {0};
        for (int a = 0; a < 2; a++) {
            low[2 + a] = (a ? i % p.kernel[1] : i / p.kernel[1]) * p.dilation[a];
            inner[2 + a] = p.stride[a] - 1;
            high[2 + a] = p.size[a] + 2 * p.padding[a] - low[2 + a] - ((p.out[a] - 1) * p.stride[a] + 1);
        }
        s = hlo_pad(L->g, s, zero, low, high, inner);
        sum = sum == HLO_NONE ? s : hlo_add(L->g, sum, s);
    }
    const int64_t start[4] = {0, 0, p.padding[0], p.padding[1]};
    const int64_t limit[4] = {n, channels, p.padding[0] + p.size[0], p.padding[1] + p.size[1]};
    sum = hlo_convert(L->g, hlo_slice(L->g, sum, start, limit, NULL), x->dtype);
    const int64_t out[4] = {n, channels, p.size[0], p.size[1]};
    lower_out(L, hlo_reshape(L->g, sum, batch ? 4 : 3, batch ? out : out + 1));
    return hlo_graph_take_error(L->g);
}

/* ref_dot.c - reference kernels of dot_general, dot and convolution.
 *
 * Operands are laid out plainly and widened: floats accumulate in double and round once to the result type, integers wrap in
 * 64 bits, complex numbers accumulate in double parts. precision_config and algorithm ask for less than that. */
#include "engine/ref.h"

typedef struct conv_plan {
    int rank;                        /* spatial */
    int64_t batch, in_features, out_features, kernel_in, groups, batch_groups;
    int64_t in[HLO_MAX_RANK], window[HLO_MAX_RANK], out[HLO_MAX_RANK];
    int64_t stride[HLO_MAX_RANK], low[HLO_MAX_RANK], lhs_dilation[HLO_MAX_RANK], rhs_dilation[HLO_MAX_RANK], reversed[HLO_MAX_RANK];
} conv_plan;

static int64_t positions(int rank, const int64_t *dims) {
    int64_t n = 1;
    for (int d = 0; d < rank; d++)
        n *= dims[d];
    return n;
}

/* The input position under window position k of output position `at`; -1: padding or a hole. */
static int64_t conv_place(const conv_plan *p, const int64_t *at, const int64_t *k) {
    int64_t place = 0;
    for (int d = 0; d < p->rank; d++) {
        int64_t w = p->reversed[d] ? p->window[d] - 1 - k[d] : k[d];
        int64_t i = at[d] * p->stride[d] + w * p->rhs_dilation[d] - p->low[d];
        if (i < 0 || i % p->lhs_dilation[d] || i / p->lhs_dilation[d] >= p->in[d])
            return -1;
        place = place * p->in[d] + i / p->lhs_dilation[d];
    }
    return place;
}

#define T double
#define ADD_MUL(acc, x, y) ((acc) += (x) * (y))
#define NAME(x) real_##x
#include "ref_dot.inc"
#undef T
#undef ADD_MUL
#undef NAME
#define T uint64_t
#define ADD_MUL(acc, x, y) ((acc) += (x) * (y))
#define NAME(x) int_##x
#include "ref_dot.inc"
#undef T
#undef ADD_MUL
#undef NAME
#define T double _Complex
#define ADD_MUL(acc, x, y) \
    ((acc) += __builtin_complex(__real__(x) * __real__(y) - __imag__(x) * __imag__(y), __real__(x) * __imag__(y) + __imag__(x) * __real__(y)))
#define NAME(x) complex_##x
#include "ref_dot.inc"

/* The type a product is computed in: C128, F64 or U64 (S64 bits). PRED multiplies by and, adds by or: a sum of 0/1 in 64 bits. */
static tt_dtype wide_of(tt_dtype t) {
    return tt_is_complex(t) ? TT_C128 : tt_is_float(t) ? TT_F64 : TT_I64;
}

/* x with its dims in the order of `axes`, dense, in the wide type. */
static tt_status widen(const eng_tensor *x, int n, const int *axes, tt_dtype wide, char **out) {
    int64_t strides[HLO_MAX_RANK], from[HLO_MAX_RANK], to[HLO_MAX_RANK], count = ref_count(x);
    hlo_type moved = x->type;
    TT_CHECK(n == x->type.rank, INVALID_ARGUMENT, "a product's dimension numbers do not name every dimension");
    ref_strides(&x->type, strides);
    for (int d = 0; d < n; d++) {
        moved.dims[d] = x->type.dims[axes[d]];
        from[d] = strides[axes[d]];
    }
    ref_strides(&moved, to);
    REF_AUTO(char) dense = NULL;
    TT_TRY(ref_alloc(count, ref_size(x), &dense));
    TT_TRY(ref_alloc(count, tt_dtype_size(wide), out));
    ref_copy(n, moved.dims, ref_size(x), dense, to, x->data, from);
    ref_convert(wide, *out, x->type.dtype, dense, count);
    return TT_OK;
}

static void narrow(const void *wide_data, tt_dtype wide, tt_dtype to, void *dst, int64_t n) {
    if (wide == TT_F64 && tt_is_float(to))
        ref_from_f64(to, dst, wide_data, n);
    else
        ref_convert(to, dst, wide, wide_data, n);
}

static void gemm(tt_dtype wide, int64_t m, int64_t n, int64_t k, const void *a, const void *b, void *c) {
    if (wide == TT_F64)
        real_gemm(m, n, k, a, b, c);
    else if (wide == TT_C128)
        complex_gemm(m, n, k, a, b, c);
    else
        int_gemm(m, n, k, a, b, c);
}

static tt_status batch_gemm(const eng_tensor *x, const int *x_axes, const eng_tensor *y, const int *y_axes, int64_t batch, int64_t m, int64_t n,
                            int64_t k, eng_tensor *out) {
    tt_dtype wide = wide_of(out->type.dtype);
    if (wide != TT_C128 && (tt_is_complex(x->type.dtype) || tt_is_complex(y->type.dtype)))
        wide = TT_C128;
    else if (wide == TT_I64 && (tt_is_float(x->type.dtype) || tt_is_float(y->type.dtype)))
        wide = TT_F64;
    int64_t size = tt_dtype_size(wide);
    REF_AUTO(char) a = NULL;
    REF_AUTO(char) b = NULL;
    REF_AUTO(char) c = NULL;
    TT_CHECK(batch * m * n == ref_count(out), INVALID_ARGUMENT, "a product's result has another shape than its operands give");
    TT_TRY(widen(x, x->type.rank, x_axes, wide, &a));
    TT_TRY(widen(y, y->type.rank, y_axes, wide, &b));
    TT_TRY(ref_alloc(m * n, size, &c));
    for (int64_t i = 0; i < batch; i++) {
        gemm(wide, m, n, k, a + i * m * k * size, b + i * k * n * size, c);
        narrow(c, wide, out->type.dtype, (char *)out->data + i * m * n * ref_size(out), m * n);
    }
    return TT_OK;
}

/* ---- dot ---- */
static tt_status put_axes(hlo_ints list, const eng_tensor *x, bool *taken, int *axes, int *n, int64_t *out_size) {
    for (int i = 0; i < list.n; i++) {
        int64_t d = list.v[i];
        TT_CHECK(d >= 0 && d < x->type.rank && !taken[d], INVALID_ARGUMENT, "dot_general: bad dimension %lld", (long long)d);
        taken[d] = true;
        axes[(*n)++] = (int)d;
        *out_size *= x->type.dims[d];
    }
    return TT_OK;
}

static void put_rest(const eng_tensor *x, const bool *taken, int *axes, int *n, int64_t *out_size) {
    for (int d = 0; d < x->type.rank; d++)
        if (!taken[d]) {
            axes[(*n)++] = d;
            *out_size *= x->type.dims[d];
        }
}

REF_KERNEL(dot_general) {
    (void)run, (void)g;
    const hlo_attr *a = hlo_attr_find(node, HLO_A_DOT_DIMENSION_NUMBERS);
    TT_CHECK(a && a->dims, INVALID_ARGUMENT, "dot_general without dimension numbers");
    const hlo_dims *d = a->dims;
    bool x_taken[HLO_MAX_RANK] = {false}, y_taken[HLO_MAX_RANK] = {false};
    int x_axes[HLO_MAX_RANK], y_axes[HLO_MAX_RANK], nx = 0, ny = 0, free_at;
    int64_t batch = 1, y_batch = 1, m = 1, n = 1, k = 1, y_k = 1;
    TT_TRY(put_axes(d->a, in, x_taken, x_axes, &nx, &batch));
    free_at = nx;
    TT_TRY(put_axes(d->c, in, x_taken, x_axes, &nx, &k));
    nx = free_at; /* batch, free, contracted: the contracted ones are put again behind */
    put_rest(in, x_taken, x_axes, &nx, &m);
    for (int i = 0; i < d->c.n; i++)
        x_axes[nx++] = (int)d->c.v[i];
    TT_TRY(put_axes(d->b, in + 1, y_taken, y_axes, &ny, &y_batch));
    TT_TRY(put_axes(d->d, in + 1, y_taken, y_axes, &ny, &y_k));
    put_rest(in + 1, y_taken, y_axes, &ny, &n);
    TT_CHECK(batch == y_batch && k == y_k, INVALID_ARGUMENT, "dot_general: contracting %lld with %lld elements", (long long)k, (long long)y_k);
    return batch_gemm(in, x_axes, in + 1, y_axes, batch, m, n, k, out);
}

REF_KERNEL(dot) {
    (void)run, (void)g, (void)node;
    static const int axes[] = {0, 1};
    int xr = in->type.rank, yr = in[1].type.rank;
    TT_CHECK(xr >= 1 && xr <= 2 && yr >= 1 && yr <= 2 && in->type.dims[xr - 1] == in[1].type.dims[0], INVALID_ARGUMENT, "malformed dot");
    return batch_gemm(in, axes, in + 1, axes, 1, xr == 2 ? in->type.dims[0] : 1, yr == 2 ? in[1].type.dims[1] : 1, in[1].type.dims[0], out);
}

/* ---- convolution ---- */
static tt_status conv_read(const hlo_node *node, const hlo_dims *d, const eng_tensor *in, const eng_tensor *out, conv_plan *p) {
    int rank = in->type.rank - 2;
    int64_t padding[2 * HLO_MAX_RANK];
    TT_CHECK(rank >= 0 && d->a.n == rank + 2 && d->b.n == rank + 2 && d->c.n == rank + 2 && in[1].type.rank == rank + 2 &&
                 out->type.rank == rank + 2, INVALID_ARGUMENT, "convolution: malformed dimension numbers");
    *p = (conv_plan){.rank = rank, .groups = hlo_attr_int(node, HLO_A_FEATURE_GROUP_COUNT, 1),
                     .batch_groups = hlo_attr_int(node, HLO_A_BATCH_GROUP_COUNT, 1)};
    for (int i = 0; i < rank + 2; i++)
        TT_CHECK(d->a.v[i] >= 0 && d->a.v[i] < rank + 2 && d->b.v[i] >= 0 && d->b.v[i] < rank + 2 && d->c.v[i] >= 0 && d->c.v[i] < rank + 2,
                 INVALID_ARGUMENT, "convolution: malformed dimension numbers");
    p->batch = in->type.dims[d->a.v[0]];
    p->in_features = in->type.dims[d->a.v[1]];
    p->kernel_in = in[1].type.dims[d->b.v[0]];
    p->out_features = in[1].type.dims[d->b.v[1]];
    for (int i = 0; i < rank; i++) {
        p->in[i] = in->type.dims[d->a.v[i + 2]];
        p->window[i] = in[1].type.dims[d->b.v[i + 2]];
        p->out[i] = out->type.dims[d->c.v[i + 2]];
    }
    TT_TRY(ref_ints(node, HLO_A_WINDOW_STRIDES, rank, 1, p->stride));
    TT_TRY(ref_ints(node, HLO_A_LHS_DILATION, rank, 1, p->lhs_dilation));
    TT_TRY(ref_ints(node, HLO_A_RHS_DILATION, rank, 1, p->rhs_dilation));
    TT_TRY(ref_ints(node, HLO_A_WINDOW_REVERSAL, rank, 0, p->reversed));
    TT_TRY(ref_ints(node, HLO_A_PADDING, 2 * rank, 0, padding));
    for (int i = 0; i < rank; i++) {
        p->low[i] = padding[2 * i];
        TT_CHECK(p->stride[i] > 0 && p->lhs_dilation[i] > 0 && p->rhs_dilation[i] > 0, INVALID_ARGUMENT, "convolution: window of dimension %d", i);
    }
    TT_CHECK(p->groups > 0 && p->batch_groups > 0 && (p->groups == 1 || p->batch_groups == 1) && p->kernel_in * p->groups == p->in_features &&
                 p->batch % p->batch_groups == 0 && p->out_features % (p->groups * p->batch_groups) == 0 &&
                 out->type.dims[d->c.v[0]] == p->batch / p->batch_groups && out->type.dims[d->c.v[1]] == p->out_features,
             INVALID_ARGUMENT, "convolution: features or groups do not fit");
    return TT_OK;
}

static tt_status conv_run(const hlo_dims *d, const conv_plan *p, const eng_tensor *in, eng_tensor *out) {
    tt_dtype wide = wide_of(out->type.dtype);
    int x_axes[HLO_MAX_RANK], w_axes[HLO_MAX_RANK], rank = p->rank;
    int64_t dense[HLO_MAX_RANK], to[HLO_MAX_RANK], strides[HLO_MAX_RANK], n = ref_count(out);
    REF_AUTO(char) x = NULL;
    REF_AUTO(char) w = NULL;
    REF_AUTO(char) y = NULL;
    REF_AUTO(char) narrowed = NULL;
    x_axes[0] = (int)d->a.v[0], x_axes[rank + 1] = (int)d->a.v[1];
    w_axes[rank] = (int)d->b.v[0], w_axes[rank + 1] = (int)d->b.v[1];
    for (int i = 0; i < rank; i++)
        x_axes[i + 1] = (int)d->a.v[i + 2], w_axes[i] = (int)d->b.v[i + 2];
    TT_TRY(widen(in, rank + 2, x_axes, wide, &x));
    TT_TRY(widen(in + 1, rank + 2, w_axes, wide, &w));
    TT_TRY(ref_alloc(n, tt_dtype_size(wide), &y));
    TT_TRY(ref_alloc(n, ref_size(out), &narrowed));
    if (wide == TT_F64)
        real_conv(p, (const double *)(const void *)x, (const double *)(const void *)w, (double *)(void *)y);
    else if (wide == TT_C128)
        complex_conv(p, (const double _Complex *)(const void *)x, (const double _Complex *)(const void *)w, (double _Complex *)(void *)y);
    else
        int_conv(p, (const uint64_t *)(const void *)x, (const uint64_t *)(const void *)w, (uint64_t *)(void *)y);
    narrow(y, wide, out->type.dtype, narrowed, n);
    hlo_type moved = out->type; /* batch, spatial, features: as y lies */
    ref_strides(&out->type, strides);
    for (int i = 0; i < rank + 2; i++) {
        int64_t axis = i == 0 ? d->c.v[0] : i == rank + 1 ? d->c.v[1] : d->c.v[i + 1];
        moved.dims[i] = out->type.dims[axis];
        to[i] = strides[axis];
    }
    ref_strides(&moved, dense);
    ref_copy(rank + 2, moved.dims, ref_size(out), out->data, to, narrowed, dense);
    return TT_OK;
}

static tt_status convolve(const hlo_node *node, const eng_tensor *in, const int64_t *low, eng_tensor *out) {
    const hlo_attr *a = hlo_attr_find(node, HLO_A_DIMENSION_NUMBERS);
    conv_plan p;
    TT_CHECK(a && a->dims, INVALID_ARGUMENT, "convolution without dimension numbers");
    TT_TRY(conv_read(node, a->dims, in, out, &p));
    for (int i = 0; low && i < p.rank; i++)
        p.low[i] = low[i];
    return ref_count(out) ? conv_run(a->dims, &p, in, out) : TT_OK;
}

REF_KERNEL(convolution) {
    (void)run, (void)g;
    return convolve(node, in, NULL, out);
}

REF_KERNEL(dynamic_conv) {
    (void)run, (void)g;
    int64_t low[HLO_MAX_RANK];
    TT_CHECK(ref_count(in + 2) == 2 * (in->type.rank - 2), INVALID_ARGUMENT, "dynamic_conv: padding of another rank");
    for (int i = 0; i < in->type.rank - 2; i++)
        low[i] = ref_index(in + 2, 2 * i);
    return convolve(node, in, low, out);
}

/* ref_shape.c - reference kernels that move elements: constants, broadcasts, slices, pads, transposes.
 *
 * Nearly all are one ref_copy with the right strides. Attributes were checked by hlo_verify; lengths are checked again here
 * because a wrong one would be a wild read. */
#include "engine/ref.h"
#include <stdlib.h>

tt_status ref_alloc(int64_t n, int64_t size, void *out_pointer) {
    int64_t bytes;
    if (n < 0 || !tt_mul_i64(n, size, &bytes))
        TT_FAIL(RESOURCE_EXHAUSTED, "a temporary of %lld elements does not fit", (long long)n);
    void *p = aligned_alloc(64, ((size_t)bytes + 64) & ~(size_t)63);
    if (!p)
        TT_FAIL(RESOURCE_EXHAUSTED, "out of host memory for a temporary of %lld bytes", (long long)bytes);
    memcpy(out_pointer, &p, sizeof p);
    return TT_OK;
}

void ref_free(void *pointer_to_pointer) {
    void *p;
    memcpy(&p, pointer_to_pointer, sizeof p);
    free(p);
}

tt_status ref_ints(const hlo_node *node, hlo_attr_name name, int n, int64_t fallback, int64_t *out) {
    hlo_ints a = hlo_attr_ints(node, name);
    for (int i = 0; i < n && a.n == 0; i++)
        out[i] = fallback;
    if (a.n == 0)
        return TT_OK;
    TT_CHECK(a.n == n, INVALID_ARGUMENT, "%s has %d numbers in %s, expected %d", hlo_op_text((hlo_op)node->op), a.n,
             hlo_attr_name_text(name), n);
    memcpy(out, a.v, sizeof *out * (size_t)n);
    return TT_OK;
}

int64_t ref_index(const eng_tensor *t, int64_t i) {
    int64_t v = tt_element_get_int(t->type.dtype, (const char *)t->data + i * ref_size(t));
    return t->type.dtype == TT_U64 && v < 0 ? INT64_MAX : v;
}

tt_status ref_bounds_fail(const hlo_graph *g, const hlo_node *node, int64_t index, int64_t bound, int dim) {
    (void)g;
    const char *text = hlo_attr_text(node, HLO_A_TT_BOUNDS, "");
    bool plain = *text == '!'; /* not an index error to whoever called the op */
    text += plain;
    return tt_status_make(plain ? TT_INVALID_ARGUMENT : TT_OUT_OF_RANGE, __FILE__, __LINE__,
                          "%s%s%s: index %lld is out of bounds for dimension %d with size %lld", hlo_op_text((hlo_op)node->op),
                          *text ? " of " : "", text, (long long)index, dim, (long long)bound);
}

/* ---- primitives ---- */
void ref_strides(const hlo_type *t, int64_t *out) {
    int64_t stride = tt_dtype_size(t->dtype);
    for (int d = t->rank; d-- > 0; stride *= t->dims[d])
        out[d] = stride;
}

bool ref_next(int rank, const int64_t *dims, int64_t *index) {
    for (int d = rank; d-- > 0;) {
        if (++index[d] < dims[d])
            return true;
        index[d] = 0;
    }
    return false;
}

#define RUN(bytes)                                                                             \
    for (int64_t i = 0; i < n; i++)                                                            \
        memcpy(dst + i * dst_stride, src + i * src_stride, bytes);                             \
    return

static void copy_run(int64_t n, int size, char *dst, int64_t dst_stride, const char *src, int64_t src_stride) {
    if (dst_stride == size && src_stride == size) {
        memcpy(dst, src, (size_t)(n * size));
        return;
    }
    switch (size) {
    case 1: RUN(1);
    case 2: RUN(2);
    case 4: RUN(4);
    case 8: RUN(8);
    case 16: RUN(16);
    }
}

void ref_copy(int rank, const int64_t *dims, int size, void *dst, const int64_t *dst_strides, const void *src, const int64_t *src_strides) {
    int64_t index[HLO_MAX_RANK] = {0};
    char *d = dst;
    const char *s = src;
    if (size == 0)
        return;
    for (int i = 0; i < rank; i++)
        if (dims[i] <= 0)
            return;
    if (rank == 0) {
        memcpy(d, s, (size_t)size);
        return;
    }
    for (int last = rank - 1;;) {
        copy_run(dims[last], size, d, dst_strides[last], s, src_strides[last]);
        int i = last - 1;
        for (; i >= 0; i--) {
            d += dst_strides[i], s += src_strides[i];
            if (++index[i] < dims[i])
                break;
            d -= dst_strides[i] * dims[i], s -= src_strides[i] * dims[i];
            index[i] = 0;
        }
        if (i < 0)
            return;
    }
}

void ref_fill(int size, void *dst, const void *element, int64_t n) {
    if (size)
        copy_run(n, size, dst, size, element, 0);
}

void ref_select(int size, void *dst, const uint8_t *pred, const void *a, const void *b, int64_t n) {
#define PICK(bytes)                                                                                               \
    for (int64_t i = 0; i < n; i++)                                                                               \
        memmove((char *)dst + i * (bytes), (pred[i] ? (const char *)a : (const char *)b) + i * (bytes), bytes);   \
    return
    switch (size) {
    case 1: PICK(1);
    case 2: PICK(2);
    case 4: PICK(4);
    case 8: PICK(8);
    case 16: PICK(16);
    }
}

/* ---- kernels ---- */
REF_KERNEL(constant) {
    (void)run, (void)g, (void)in;
    const hlo_attr *a = hlo_attr_find(node, HLO_A_VALUE);
    TT_CHECK(a && a->data, INVALID_ARGUMENT, "a constant without a value");
    if (a->splat)
        ref_fill(ref_size(out), out->data, a->data, ref_count(out));
    else
        ref_memcpy(out->data, a->data, ref_count(out) * ref_size(out));
    return TT_OK;
}

REF_KERNEL(iota) {
    (void)run, (void)g, (void)in;
    int64_t dim = hlo_attr_int(node, HLO_A_IOTA_DIMENSION, 0), inner = 1, outer = 1;
    const hlo_type *t = &out->type;
    TT_CHECK(dim >= 0 && dim < t->rank, INVALID_ARGUMENT, "iota over dimension %lld of rank %d", (long long)dim, t->rank);
    int64_t length = t->dims[dim], size = ref_size(out);
    for (int d = 0; d < t->rank; d++)
        *(d < dim ? &outer : &inner) *= d == dim ? 1 : t->dims[d];
    REF_AUTO(int64_t) numbers = NULL;
    REF_AUTO(char) row = NULL;
    TT_TRY(ref_alloc(length, 8, &numbers));
    TT_TRY(ref_alloc(length, size, &row));
    for (int64_t i = 0; i < length; i++)
        numbers[i] = i;
    ref_convert(t->dtype, row, TT_I64, numbers, length);
    char *p = out->data;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < length; i++, p += inner * size)
            ref_fill((int)size, p, row + i * size, inner);
    return TT_OK;
}

REF_KERNEL(bitcast_convert) {
    (void)run, (void)g, (void)node;
    TT_CHECK(ref_count(in) * ref_bits(in->type.dtype) == ref_count(out) * ref_bits(out->type.dtype), INVALID_ARGUMENT,
             "stablehlo.bitcast_convert from %s to %s changes the number of bits", tt_dtype_name(in->type.dtype),
             tt_dtype_name(out->type.dtype));
    ref_bitcast(out->type.dtype, out->data, in->type.dtype, in->data, ref_count(in));
    return TT_OK;
}

REF_KERNEL(broadcast) {
    (void)run, (void)g;
    int64_t from[HLO_MAX_RANK] = {0}, to[HLO_MAX_RANK];
    int more = out->type.rank - in->type.rank;
    TT_CHECK(more >= 0, INVALID_ARGUMENT, "%s lowers the rank", hlo_op_text((hlo_op)node->op));
    ref_strides(&in->type, from + more);
    ref_strides(&out->type, to);
    ref_copy(out->type.rank, out->type.dims, ref_size(out), out->data, to, in->data, from);
    return TT_OK;
}

REF_KERNEL(broadcast_in_dim) {
    (void)run, (void)g;
    int64_t strides[HLO_MAX_RANK], from[HLO_MAX_RANK] = {0}, to[HLO_MAX_RANK], mapping[HLO_MAX_RANK];
    TT_TRY(ref_ints(node, HLO_A_BROADCAST_DIMENSIONS, in->type.rank, 0, mapping));
    ref_strides(&in->type, strides);
    ref_strides(&out->type, to);
    for (int d = 0; d < in->type.rank; d++) {
        int64_t m = mapping[d];
        TT_CHECK(m >= 0 && m < out->type.rank && (in->type.dims[d] == 1 || in->type.dims[d] == out->type.dims[m]), INVALID_ARGUMENT,
                 "%s: operand dimension %d does not fit result dimension %lld", hlo_op_text((hlo_op)node->op), d, (long long)m);
        from[m] = in->type.dims[d] == 1 ? 0 : strides[d];
    }
    ref_copy(out->type.rank, out->type.dims, ref_size(out), out->data, to, in->data, from);
    return TT_OK;
}

REF_KERNEL(concatenate) {
    (void)run, (void)g;
    int64_t dim = hlo_attr_int(node, HLO_A_DIMENSION, 0), to[HLO_MAX_RANK], from[HLO_MAX_RANK];
    TT_CHECK(dim >= 0 && dim < out->type.rank, INVALID_ARGUMENT, "concatenate over dimension %lld", (long long)dim);
    ref_strides(&out->type, to);
    char *p = out->data;
    for (uint32_t i = 0; i < node->n_operands; i++) {
        ref_strides(&in[i].type, from);
        ref_copy(out->type.rank, in[i].type.dims, ref_size(out), p, to, in[i].data, from);
        p += in[i].type.dims[dim] * to[dim];
    }
    return TT_OK;
}

REF_KERNEL(get_dimension_size) {
    (void)run, (void)g;
    int64_t dim = hlo_attr_int(node, HLO_A_DIMENSION, 0);
    TT_CHECK(dim >= 0 && dim < in->type.rank, INVALID_ARGUMENT, "get_dimension_size of dimension %lld", (long long)dim);
    tt_element_set_int(out->type.dtype, out->data, in->type.dims[dim]);
    return TT_OK;
}

static tt_status pad(const eng_tensor *x, const eng_tensor *value, const int64_t *low, const int64_t *interior, eng_tensor *out) {
    int64_t to[HLO_MAX_RANK], from[HLO_MAX_RANK], dims[HLO_MAX_RANK];
    int rank = x->type.rank;
    ref_fill(ref_size(out), out->data, value->data, ref_count(out));
    ref_strides(&x->type, from);
    ref_strides(&out->type, to);
    char *d = out->data;
    const char *s = x->data;
    for (int i = 0; i < rank; i++) {
        /* element k lands at low + k * step; only 0 <= that < size is kept */
        int64_t step = interior[i] + 1, first = low[i] < 0 ? (-low[i] + step - 1) / step : 0;
        TT_CHECK(step > 0, INVALID_ARGUMENT, "negative interior padding");
        int64_t room = out->type.dims[i] - low[i], end = room <= 0 ? 0 : (room + step - 1) / step;
        dims[i] = (end < x->type.dims[i] ? end : x->type.dims[i]) - first;
        if (dims[i] <= 0)
            return TT_OK;
        s += first * from[i];
        d += (low[i] + first * step) * to[i];
        to[i] *= step;
    }
    ref_copy(rank, dims, ref_size(out), d, to, s, from);
    return TT_OK;
}

REF_KERNEL(pad) {
    (void)run, (void)g;
    int64_t low[HLO_MAX_RANK], interior[HLO_MAX_RANK];
    TT_TRY(ref_ints(node, HLO_A_EDGE_PADDING_LOW, in->type.rank, 0, low));
    TT_TRY(ref_ints(node, HLO_A_INTERIOR_PADDING, in->type.rank, 0, interior));
    return pad(in, in + 1, low, interior, out);
}

REF_KERNEL(dynamic_pad) {
    (void)run, (void)g, (void)node;
    int64_t low[HLO_MAX_RANK], interior[HLO_MAX_RANK];
    for (int d = 0; d < in->type.rank; d++) {
        low[d] = ref_index(in + 2, d);
        interior[d] = ref_index(in + 4, d);
        int64_t n = in->type.dims[d], size = low[d] + n + ref_index(in + 3, d) + (n > 0 ? (n - 1) * interior[d] : 0);
        TT_CHECK(size == out->type.dims[d], INVALID_ARGUMENT, "dynamic_pad gives %lld in dimension %d, its type says %lld",
                 (long long)size, d, (long long)out->type.dims[d]);
    }
    return pad(in, in + 1, low, interior, out);
}

REF_KERNEL(reshape) {
    (void)run, (void)g, (void)node;
    TT_CHECK(ref_count(in) == ref_count(out), INVALID_ARGUMENT, "reshape changes the number of elements");
    ref_memcpy(out->data, in->data, ref_count(out) * ref_size(out));
    return TT_OK;
}

REF_KERNEL(reverse) {
    (void)run, (void)g;
    int64_t to[HLO_MAX_RANK], from[HLO_MAX_RANK];
    hlo_ints dims = hlo_attr_ints(node, HLO_A_DIMENSIONS);
    ref_strides(&in->type, from);
    ref_strides(&out->type, to);
    const char *s = in->data;
    if (ref_count(in) == 0)
        return TT_OK;
    for (int i = 0; i < dims.n; i++) {
        int64_t d = dims.v[i];
        TT_CHECK(d >= 0 && d < in->type.rank && from[d] >= 0, INVALID_ARGUMENT, "reverse of dimension %lld", (long long)d);
        s += (in->type.dims[d] - 1) * from[d];
        from[d] = -from[d];
    }
    ref_copy(out->type.rank, out->type.dims, ref_size(out), out->data, to, s, from);
    return TT_OK;
}

static tt_status slice(const eng_tensor *x, const int64_t *start, const int64_t *stride, eng_tensor *out) {
    int64_t to[HLO_MAX_RANK], from[HLO_MAX_RANK];
    ref_strides(&x->type, from);
    ref_strides(&out->type, to);
    const char *s = x->data;
    for (int d = 0; d < x->type.rank; d++) {
        int64_t n = out->type.dims[d];
        TT_CHECK(start[d] >= 0 && stride[d] > 0 && (n == 0 || start[d] + (n - 1) * stride[d] < x->type.dims[d]), INVALID_ARGUMENT,
                 "slice leaves dimension %d of size %lld", d, (long long)x->type.dims[d]);
        s += n ? start[d] * from[d] : 0;
        from[d] *= stride[d];
    }
    ref_copy(out->type.rank, out->type.dims, ref_size(out), out->data, to, s, from);
    return TT_OK;
}

REF_KERNEL(slice) {
    (void)run, (void)g;
    int64_t start[HLO_MAX_RANK], stride[HLO_MAX_RANK];
    TT_TRY(ref_ints(node, HLO_A_START_INDICES, in->type.rank, 0, start));
    TT_TRY(ref_ints(node, HLO_A_STRIDES, in->type.rank, 1, stride));
    return slice(in, start, stride, out);
}

REF_KERNEL(real_dynamic_slice) {
    (void)run, (void)g, (void)node;
    int64_t start[HLO_MAX_RANK], stride[HLO_MAX_RANK];
    for (int d = 0; d < in->type.rank; d++)
        start[d] = ref_index(in + 1, d), stride[d] = ref_index(in + 3, d);
    return slice(in, start, stride, out);
}

REF_KERNEL(transpose) {
    (void)run, (void)g;
    int64_t to[HLO_MAX_RANK], strides[HLO_MAX_RANK], from[HLO_MAX_RANK], permutation[HLO_MAX_RANK];
    TT_TRY(ref_ints(node, HLO_A_PERMUTATION, in->type.rank, 0, permutation));
    ref_strides(&in->type, strides);
    ref_strides(&out->type, to);
    for (int d = 0; d < in->type.rank; d++) {
        int64_t p = permutation[d];
        TT_CHECK(p >= 0 && p < in->type.rank && in->type.dims[p] == out->type.dims[d], INVALID_ARGUMENT, "bad permutation");
        from[d] = strides[p];
    }
    ref_copy(out->type.rank, out->type.dims, ref_size(out), out->data, to, in->data, from);
    return TT_OK;
}

/* Clamped start indices of a window in x; with tt.bounds an index that would be clamped is an error. */
static tt_status starts(const hlo_graph *g, const hlo_node *node, const eng_tensor *x, const int64_t *sizes, const eng_tensor *indices,
                        uint32_t n, int64_t *out_start) {
    bool checked = hlo_attr_find(node, HLO_A_TT_BOUNDS) != NULL;
    TT_CHECK((int)n == x->type.rank, INVALID_ARGUMENT, "%s has %u start indices", hlo_op_text((hlo_op)node->op), n);
    for (int d = 0; d < x->type.rank; d++) {
        int64_t i = ref_index(indices + d, 0), last = x->type.dims[d] - sizes[d];
        TT_CHECK(last >= 0, INVALID_ARGUMENT, "%s: the window is larger than the operand", hlo_op_text((hlo_op)node->op));
        if (checked && (i < 0 || i > last))
            return ref_bounds_fail(g, node, i, last + 1, d);
        out_start[d] = i < 0 ? 0 : i > last ? last : i;
    }
    return TT_OK;
}

REF_KERNEL(dynamic_slice) {
    (void)run;
    int64_t start[HLO_MAX_RANK], stride[HLO_MAX_RANK];
    for (int d = 0; d < in->type.rank; d++)
        stride[d] = 1;
    TT_TRY(starts(g, node, in, out->type.dims, in + 1, node->n_operands - 1, start));
    return slice(in, start, stride, out);
}

REF_KERNEL(dynamic_update_slice) {
    (void)run;
    int64_t start[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK];
    TT_TRY(starts(g, node, in, in[1].type.dims, in + 2, node->n_operands - 2, start));
    ref_memcpy(out->data, in->data, ref_count(out) * ref_size(out));
    ref_strides(&out->type, to);
    ref_strides(&in[1].type, from);
    char *d = out->data;
    for (int i = 0; i < out->type.rank; i++)
        d += start[i] * to[i];
    ref_copy(out->type.rank, in[1].type.dims, ref_size(out), d, to, in[1].data, from);
    return TT_OK;
}

/* args.c - what every lowering shares: reading arguments, PyTorch's promotion and broadcasting rules, handing
 * results back with the strides PyTorch would give them.
 *
 * Second step of the path: run/ calls a lowering, the lowering calls these. Knows PyTorch's rules, not PyTorch. */
#include "aten/lower.h"
#include <string.h>

static tt_dtype default_float = TT_F32;

tt_dtype lower_default_float(void) { return default_float; }
void lower_set_default_float(tt_dtype d) {
    if (tt_is_float(d))
        default_float = d;
}

tt_dtype lower_accumulate_dtype(tt_dtype d) { return d == TT_BF16 || d == TT_F16 ? TT_F32 : d; }

/* ---- arguments ---- */

/* The first error of a lowering stays; the caller goes on with a harmless value. */
static void fail(tt_lower *L, tt_status error) {
    if (L->g->error)
        tt_status_free(error);
    else
        L->g->error = error;
}

static const tt_arg *arg_at(tt_lower *L, int arg) {
    static const tt_arg none = {.tag = TT_ARG_NONE};
    return arg >= 0 && arg < L->n_args ? &L->args[arg] : &none;
}

static void wrong_tag(tt_lower *L, int arg, const char *wanted) {
    fail(L, TT_ERROR(INTERNAL, "%s: argument %d is not %s (tag %d)", L->row ? L->row->name : "lowering", arg, wanted,
                     (int)arg_at(L, arg)->tag));
}

static void mark_baked(tt_lower *L, int arg) {
    if (arg >= 0 && arg < 64)
        L->baked |= UINT64_C(1) << arg;
}

bool lower_has(tt_lower *L, int arg) {
    const tt_arg *a = arg_at(L, arg);
    return a->tag == TT_ARG_TENSOR ? a->u.tensor != NULL : a->tag != TT_ARG_NONE;
}

const tt_tensor *lower_tensor(tt_lower *L, int arg) {
    static const tt_tensor nothing = {.dtype = TT_F32};
    const tt_arg *a = arg_at(L, arg);
    if (a->tag == TT_ARG_TENSOR && a->u.tensor)
        return a->u.tensor;
    wrong_tag(L, arg, "a tensor");
    return &nothing;
}

hlo_ref lower_value(tt_lower *L, int arg) { return lower_tensor(L, arg)->value; }

int lower_tensors(tt_lower *L, int arg, tt_tensor *const **out) {
    const tt_arg *a = arg_at(L, arg);
    *out = NULL;
    if (a->tag == TT_ARG_NONE)
        return 0;
    if (a->tag != TT_ARG_TENSORS) {
        wrong_tag(L, arg, "a list of tensors");
        return 0;
    }
    *out = a->u.tensors;
    return a->n;
}

int64_t lower_int(tt_lower *L, int arg, int64_t fallback) {
    const tt_arg *a = arg_at(L, arg);
    mark_baked(L, arg);
    switch (a->tag) {
    case TT_ARG_NONE: return fallback;
    case TT_ARG_INT: return a->u.i;
    case TT_ARG_BOOL: return a->u.i != 0;
    case TT_ARG_DOUBLE: return a->u.d >= -9.2e18 && a->u.d <= 9.2e18 ? (int64_t)a->u.d : fallback;
    default: wrong_tag(L, arg, "an integer"); return fallback;
    }
}

double lower_double(tt_lower *L, int arg, double fallback) {
    const tt_arg *a = arg_at(L, arg);
    mark_baked(L, arg);
    switch (a->tag) {
    case TT_ARG_NONE: return fallback;
    case TT_ARG_INT: return (double)a->u.i;
    case TT_ARG_BOOL: return a->u.i != 0;
    case TT_ARG_DOUBLE: return a->u.d;
    default: wrong_tag(L, arg, "a number"); return fallback;
    }
}

bool lower_bool(tt_lower *L, int arg, bool fallback) { return lower_int(L, arg, fallback) != 0; }

hlo_ints lower_ints(tt_lower *L, int arg) {
    const tt_arg *a = arg_at(L, arg);
    mark_baked(L, arg);
    if (a->tag == TT_ARG_NONE)
        return (hlo_ints){0, NULL};
    if (a->tag == TT_ARG_INT)
        return (hlo_ints){1, &a->u.i};
    if (a->tag == TT_ARG_INTS)
        return (hlo_ints){a->n, a->u.ints};
    wrong_tag(L, arg, "a list of integers");
    return (hlo_ints){0, NULL};
}

const char *lower_string(tt_lower *L, int arg, const char *fallback) {
    const tt_arg *a = arg_at(L, arg);
    mark_baked(L, arg);
    if (a->tag == TT_ARG_NONE)
        return fallback;
    if (a->tag == TT_ARG_STRING)
        return a->u.s;
    wrong_tag(L, arg, "a string");
    return fallback;
}

tt_dtype lower_dtype(tt_lower *L, int arg, tt_dtype fallback) {
    const tt_arg *a = arg_at(L, arg);
    if (a->tag == TT_ARG_NONE)
        return fallback;
    tt_dtype d = tt_dtype_from_torch((int)lower_int(L, arg, -1));
    if (d == TT_DTYPE_NONE)
        fail(L, TT_ERROR(UNIMPLEMENTED, "%s: no such element type on this device", L->row ? L->row->name : "op"));
    return d == TT_DTYPE_NONE ? fallback : d;
}

tt_class lower_scalar_class(tt_lower *L, int arg) {
    switch (arg_at(L, arg)->tag) {
    case TT_ARG_BOOL: return TT_CLASS_PRED;
    case TT_ARG_INT: return TT_CLASS_SINT;
    case TT_ARG_COMPLEX: return TT_CLASS_COMPLEX;
    default: return TT_CLASS_FLOAT;
    }
}

/* c10::overflows of a number into a type; negative numbers may wrap into unsigned types. */
static bool overflows(const tt_arg *a, tt_dtype d) {
    if (a->tag == TT_ARG_COMPLEX)
        return !tt_is_complex(d) && a->u.c[1] != 0;
    double v = a->tag == TT_ARG_DOUBLE ? a->u.d : (double)a->u.i, most = 0, least = 0;
    switch (d) {
    case TT_I8: most = INT8_MAX; break;
    case TT_U8: most = UINT8_MAX; break;
    case TT_I16: most = INT16_MAX; break;
    case TT_I32: most = INT32_MAX; break;
    case TT_I64: return a->tag == TT_ARG_DOUBLE && !(v >= -0x1p63 && v < 0x1p63);
    case TT_F16: most = 65504; break;
    case TT_BF16: most = 3.3895313892515355e38; break;
    case TT_F32: case TT_C64: most = 3.4028234663852886e38; break;
    default: return false;
    }
    if (tt_is_float(d) || tt_is_complex(d)) /* infinities and NaN fit */
        return v - v == 0 && (v > most || v < -most);
    least = d == TT_U8 ? (a->tag == TT_ARG_DOUBLE ? 0 : -most) : -most - 1;
    return !(v >= least && v <= most);
}

static const char *cpp_name(tt_dtype d) {
    switch (d) {
    case TT_I8: return "int8_t";
    case TT_U8: return "uint8_t";
    case TT_I16: return "int16_t";
    case TT_I32: return "int";
    case TT_I64: return "int64_t";
    case TT_F16: return "c10::Half";
    case TT_BF16: return "c10::BFloat16";
    case TT_F64: return "double";
    case TT_C64: return "c10::complex<float>";
    default: return "float";
    }
}

tt_status lower_scalar_fits(tt_lower *L, int arg, tt_dtype dtype) {
    const tt_arg *a = arg_at(L, arg);
    if (a->tag != TT_ARG_INT && a->tag != TT_ARG_DOUBLE && a->tag != TT_ARG_COMPLEX)
        return TT_OK;
    if (dtype != TT_F32 && dtype != TT_F64 && !tt_is_complex(dtype))
        mark_baked(L, arg);
    TT_CHECK(!overflows(a, dtype), INVALID_ARGUMENT, "value cannot be converted to type %s without overflow", cpp_name(dtype));
    return TT_OK;
}

static hlo_ref complex_constant(tt_lower *L, tt_dtype dtype, double re, double im) {
    hlo_type t = hlo_type_make(dtype, 0, NULL);
    if (dtype == TT_C64) {
        float parts[2] = {(float)re, (float)im};
        return hlo_constant(L->g, &t, parts);
    }
    double parts[2] = {re, im};
    return hlo_constant(L->g, &t, parts);
}

hlo_ref lower_scalar(tt_lower *L, int arg, tt_dtype dtype) {
    const tt_arg *a = arg_at(L, arg);
    hlo_ref slot = L->slots && arg >= 0 && arg < L->n_args ? L->slots[arg] : HLO_NONE;
    if (arg >= 0 && arg < 64)
        L->slotted |= UINT64_C(1) << arg;
    if (slot != HLO_NONE)
        return hlo_convert(L->g, slot, dtype);
    switch (a->tag) {
    case TT_ARG_INT:
    case TT_ARG_BOOL: {
        int64_t v = a->tag == TT_ARG_BOOL ? a->u.i != 0 : a->u.i;
        if (dtype == TT_PRED)
            v = v != 0;
        return tt_is_int(dtype) || dtype == TT_PRED ? hlo_scalar_int(L->g, dtype, v) : hlo_scalar(L->g, dtype, (double)v);
    }
    case TT_ARG_DOUBLE:
        if (dtype == TT_PRED)
            return hlo_scalar_int(L->g, dtype, a->u.d != 0);
        if (tt_is_int(dtype)) {
            double d = a->u.d;
            return hlo_scalar_int(L->g, dtype, d != d ? 0 : d >= 9.2e18 ? INT64_MAX : d <= -9.2e18 ? INT64_MIN : (int64_t)d);
        }
        return hlo_scalar(L->g, dtype, a->u.d);
    case TT_ARG_COMPLEX:
        if (tt_is_complex(dtype))
            return complex_constant(L, dtype, a->u.c[0], a->u.c[1]);
        return hlo_scalar(L->g, dtype, a->u.c[0]);
    case TT_ARG_TENSOR:
        if (a->u.tensor && a->u.tensor->rank == 0)
            return hlo_convert(L->g, a->u.tensor->value, dtype);
        break;
    default: break;
    }
    wrong_tag(L, arg, "a number");
    return hlo_scalar(L->g, dtype, 0);
}

hlo_ref lower_scalar_like(tt_lower *L, int arg, hlo_ref like) {
    if (like == HLO_NONE)
        return HLO_NONE;
    const hlo_type *t = hlo_type_of(L->g, like);
    return hlo_broadcast_to(L->g, lower_scalar(L, arg, t->dtype), t->rank, t->dims);
}

/* ---- PyTorch's rules ---- */

int lower_dim(tt_lower *L, int64_t dim, int rank) {
    int64_t n = rank > 0 ? rank : 1;
    if (dim < -n || dim >= n) {
        fail(L, TT_ERROR(OUT_OF_RANGE, "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
                         (long long)-n, (long long)(n - 1), (long long)dim));
        return 0;
    }
    return (int)(dim < 0 ? dim + n : dim);
}

static bool bare_unsigned(tt_dtype d) { return d == TT_U16 || d == TT_U32 || d == TT_U64; }

static tt_dtype complex_of(tt_dtype d) {
    switch (d) {
    case TT_F32: case TT_BF16: return TT_C64;
    case TT_F64: return TT_C128;
    case TT_C64: case TT_C128: return d;
    default: return TT_DTYPE_NONE; /* F16 gives a half complex, which we do not have */
    }
}

static tt_dtype promote_ints(tt_dtype a, tt_dtype b) {
    if (a == TT_PRED)
        return b;
    if (b == TT_PRED)
        return a;
    int sa = tt_dtype_size(a), sb = tt_dtype_size(b);
    if (tt_dtype_class(a) == tt_dtype_class(b))
        return sa >= sb ? a : b;
    /* u8 with a signed type: the signed one when wider, else i16 */
    tt_dtype s = a == TT_U8 ? b : a;
    return s == TT_I8 ? TT_I16 : s;
}

tt_dtype lower_promote(tt_dtype a, tt_dtype b) {
    if (a == b || b == TT_DTYPE_NONE)
        return a;
    if (a == TT_DTYPE_NONE)
        return b;
    bool fa = tt_is_float(a), fb = tt_is_float(b), ca = tt_is_complex(a), cb = tt_is_complex(b);
    if ((fa && tt_dtype_size(a) == 1) || (fb && tt_dtype_size(b) == 1))
        return TT_DTYPE_NONE; /* PyTorch refuses float8 promotion */
    if (ca || cb) {
        tt_dtype c = ca ? a : b, o = ca ? b : a;
        return c == TT_C128 || o == TT_F64 || o == TT_C128 ? TT_C128 : TT_C64;
    }
    if (fa && fb) {
        if (a == TT_F64 || b == TT_F64)
            return TT_F64;
        return TT_F32; /* f32 with anything, and f16 with bf16 */
    }
    if (fa)
        return a;
    if (fb)
        return b;
    if (bare_unsigned(a) || bare_unsigned(b))
        return a == TT_PRED ? b : b == TT_PRED ? a : TT_DTYPE_NONE; /* refused by PyTorch too */
    return promote_ints(a, b);
}

static tt_dtype combine(tt_dtype higher, tt_dtype lower) {
    if (higher == TT_DTYPE_NONE)
        return lower;
    if (lower == TT_DTYPE_NONE || tt_is_complex(higher))
        return higher;
    if (tt_is_float(higher))
        return tt_is_complex(lower) ? complex_of(higher) : higher;
    if (higher == TT_PRED || tt_is_float(lower) || tt_is_complex(lower))
        return lower_promote(higher, lower);
    return higher;
}

tt_dtype lower_result_type(tt_lower *L, int n, const tt_tensor *const *tensors) {
    tt_dtype dim = TT_DTYPE_NONE, zero = TT_DTYPE_NONE, wrapped = TT_DTYPE_NONE;
    bool refused = false;
    for (int i = 0; i < n; i++) {
        const tt_tensor *t = tensors[i];
        if (!t)
            continue;
        tt_dtype d = t->dtype;
        if (t->wrapped && tt_is_complex(d))
            d = complex_of(default_float);
        else if (t->wrapped && tt_is_float(d))
            d = default_float;
        tt_dtype *slot = t->rank > 0 ? &dim : t->wrapped ? &wrapped : &zero;
        *slot = lower_promote(*slot, d);
        refused |= *slot == TT_DTYPE_NONE;
    }
    tt_dtype r = combine(dim, combine(zero, wrapped));
    if ((refused || r == TT_DTYPE_NONE) && n) {
        fail(L, TT_ERROR(UNIMPLEMENTED, "%s: these element types do not promote on this device",
                         L->row ? L->row->name : "op"));
        return TT_F32;
    }
    return r;
}

tt_status lower_broadcast_shape(int n, const hlo_type *const *types, hlo_type *out) {
    hlo_type r = {.dtype = n ? types[0]->dtype : TT_F32};
    for (int i = 0; i < n; i++) {
        const hlo_type *t = types[i];
        int rank = t->rank > r.rank ? t->rank : r.rank;
        int64_t dims[HLO_MAX_RANK];
        for (int d = rank - 1; d >= 0; d--) {
            int da = d - (rank - r.rank), db = d - (rank - t->rank);
            int64_t a = da >= 0 ? r.dims[da] : 1, b = db >= 0 ? t->dims[db] : 1;
            TT_CHECK(a == b || a == 1 || b == 1, INVALID_ARGUMENT,
                     "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d",
                     (long long)a, (long long)b, d);
            dims[d] = a == 1 ? b : a;
        }
        r.rank = rank;
        memcpy(r.dims, dims, sizeof(int64_t) * (size_t)rank);
    }
    *out = r;
    return TT_OK;
}

hlo_ref lower_cast_broadcast(tt_lower *L, hlo_ref x, tt_dtype dtype, const hlo_type *shape) {
    if (x == HLO_NONE)
        return HLO_NONE;
    const hlo_type *t = hlo_type_of(L->g, x);
    hlo_type to = hlo_type_with(shape, dtype);
    double v;
    /* A Python number arrives as a wide constant: make it in the type it is used in. */
    if (t->rank == 0 && t->dtype != dtype && !tt_is_complex(t->dtype) && hlo_constant_splat(L->g, x, &v) &&
        v > -9007199254740992.0 && v < 9007199254740992.0) {
        if (dtype == TT_PRED)
            return hlo_splat_int(L->g, &to, v != 0);
        if (tt_is_int(dtype))
            return hlo_splat_int(L->g, &to, (int64_t)v);
        return hlo_splat(L->g, &to, v);
    }
    return hlo_broadcast_to(L->g, hlo_convert(L->g, x, dtype), to.rank, to.dims);
}

/* ---- results ---- */

static tt_out *out_next(tt_lower *L) {
    if (L->n_outs == L->cap_outs) {
        int cap = L->cap_outs ? 2 * L->cap_outs : 4;
        tt_out *outs = TT_NEW_N(L->arena, tt_out, cap);
        if (L->n_outs)
            memcpy(outs, L->outs, sizeof(tt_out) * (size_t)L->n_outs);
        L->outs = outs;
        L->cap_outs = cap;
    }
    tt_out *o = &L->outs[L->n_outs++];
    memset(o, 0, sizeof *o);
    return o;
}

void lower_out_ordered(tt_lower *L, hlo_ref value, const int *order) {
    tt_out *o = out_next(L);
    o->tag = TT_OUT_TENSOR;
    o->value = value;
    int rank = value == HLO_NONE ? 0 : hlo_type_of(L->g, value)->rank;
    for (int i = 0; i < rank; i++)
        o->order[i] = order ? order[i] : i;
}

void lower_out(tt_lower *L, hlo_ref value) { lower_out_ordered(L, value, NULL); }
void lower_out_zeros(tt_lower *L, const hlo_type *type) {
    lower_out(L, hlo_splat(L->g, type, 0));
    L->outs[L->n_outs - 1].zeros = true;
}
void lower_out_none(tt_lower *L) { out_next(L)->tag = TT_OUT_NONE; }

void lower_out_int(tt_lower *L, int64_t v) {
    tt_out *o = out_next(L);
    o->tag = TT_OUT_INT;
    o->integer = v;
}

void lower_out_list(tt_lower *L, int64_t n) {
    tt_out *o = out_next(L);
    o->tag = TT_OUT_TENSORS_BEGIN;
    o->integer = n;
}

static bool same_shape(const tt_tensor *t, const hlo_type *shape) {
    if (t->rank != shape->rank)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] != shape->dims[i])
            return false;
    return true;
}

/* Are the strides those of a dense tensor whose slowest dim is order[0]? Dims of size 1 do not count, and a tensor without elements is
 * dense in any order. */
static bool dense_in(const tt_tensor *t, const int *order) {
    int64_t expected = 1;
    bool dense = true;
    for (int i = t->rank - 1; i >= 0; i--) {
        int d = order[i];
        if (t->dims[d] == 0)
            return true;
        dense = dense && (t->dims[d] == 1 || t->strides[d] == expected);
        expected *= t->dims[d];
    }
    return dense;
}

/* Dims by falling stride, ties by index: the order in which a non-overlapping dense tensor is dense. */
static void order_by_stride(const tt_tensor *t, int *order) {
    for (int i = 0; i < t->rank; i++) {
        int j = i;
        while (j > 0 && t->strides[order[j - 1]] < t->strides[i]) {
            order[j] = order[j - 1];
            j--;
        }
        order[j] = i;
    }
}

/* TensorIterator's fast setup: all operands of one shape and all contiguous, all channels_last, or all of the
 * same dense strides, which the result then takes as they are. */
static bool order_fast(int n, const tt_tensor *const *in, const hlo_type *shape, int *order, const int64_t **out_strides) {
    static const int channels_last[4] = {0, 2, 3, 1};
    bool contiguous = true, last = shape->rank == 4, equal = true;
    int identity[HLO_MAX_RANK];
    for (int i = 0; i < shape->rank; i++)
        identity[i] = i;
    const tt_tensor *first = NULL;
    for (int i = 0; i < n; i++) {
        if (!in[i])
            continue;
        if (!same_shape(in[i], shape))
            return false;
        contiguous = contiguous && dense_in(in[i], identity);
        last = last && dense_in(in[i], channels_last);
        if (!first)
            first = in[i];
        for (int d = 0; d < shape->rank; d++)
            equal = equal && in[i]->strides[d] == first->strides[d];
    }
    if (!first)
        return false;
    if (contiguous) {
        memcpy(order, identity, sizeof(int) * (size_t)shape->rank);
        return true;
    }
    if (last) {
        memcpy(order, channels_last, sizeof channels_last);
        return true;
    }
    if (!equal)
        return false;
    order_by_stride(first, order);
    if (!dense_in(first, order))
        return false;
    *out_strides = first->strides;
    return true;
}

typedef struct operand_strides { int n; int64_t (*s)[HLO_MAX_RANK]; const int64_t *shape; } operand_strides;

/* 1 when dim0 should lie outside dim1, -1 when inside, 0 when no operand tells. */
static int should_swap(const operand_strides *o, int dim0, int dim1) {
    for (int i = 0; i < o->n; i++) {
        int64_t s0 = o->s[i][dim0], s1 = o->s[i][dim1];
        if (s0 == 0 || s1 == 0)
            continue;
        if (s0 != s1)
            return s0 < s1 ? -1 : 1;
        if (o->shape[dim0] > o->shape[dim1])
            return 1;
    }
    return 0;
}

/* TensorIterator::reorder_dimensions: an insertion sort from the innermost dim that lets undecided pairs pass. */
static void order_general(tt_lower *L, int n, const tt_tensor *const *in, const hlo_type *shape, int *order) {
    int rank = shape->rank, perm[HLO_MAX_RANK];
    operand_strides o = {0, tt_arena_alloc(L->arena, sizeof(int64_t[HLO_MAX_RANK]) * (size_t)(n ? n : 1)), shape->dims};
    for (int i = 0; i < n; i++) {
        if (!in[i])
            continue;
        for (int d = 0; d < in[i]->rank && in[i]->rank <= rank; d++) {
            int at = rank - in[i]->rank + d;
            o.s[o.n][at] = in[i]->dims[d] == 1 && shape->dims[at] != 1 ? 0 : in[i]->strides[d];
        }
        o.n++;
    }
    for (int i = 0; i < rank; i++)
        perm[i] = rank - 1 - i;
    for (int i = 1; i < rank; i++) {
        int at = i;
        for (int j = i - 1; j >= 0; j--) {
            int c = should_swap(&o, perm[j], perm[at]);
            if (c > 0) {
                int swap = perm[j];
                perm[j] = perm[at];
                perm[at] = swap;
                at = j;
            } else if (c < 0) {
                break;
            }
        }
    }
    for (int i = 0; i < rank; i++)
        order[i] = perm[rank - 1 - i];
}

void lower_out_pointwise(tt_lower *L, hlo_ref value, int n, const tt_tensor *const *inputs) {
    int order[HLO_MAX_RANK] = {0};
    const int64_t *strides = NULL;
    if (value != HLO_NONE) {
        const hlo_type *shape = hlo_type_of(L->g, value);
        if (!order_fast(n, inputs, shape, order, &strides))
            order_general(L, n, inputs, shape, order);
    }
    lower_out_ordered(L, value, order);
    L->outs[L->n_outs - 1].strides = strides;
}

/* empty_like keeps the strides of a tensor that is dense in some order; one without elements always is. */
void lower_out_like(tt_lower *L, hlo_ref value, const tt_tensor *input) {
    lower_out_pointwise(L, value, 1, &input);
    if (value == HLO_NONE || !same_shape(input, hlo_type_of(L->g, value)))
        return;
    int order[HLO_MAX_RANK];
    order_by_stride(input, order);
    if (dense_in(input, order))
        L->outs[L->n_outs - 1].strides = input->strides;
}

/* at::is_channels_last_strides: would suggest_memory_format say channels_last (rank 4) or channels_last_3d (rank 5)? */
bool lower_suggests_channels_last(const tt_tensor *t) {
    static const int order4[] = {1, 3, 2, 0}, order5[] = {1, 4, 3, 2, 0};
    if ((t->rank != 4 && t->rank != 5) || t->strides[1] == 0)
        return false;
    int64_t least = 0;
    for (int i = 0; i < t->rank; i++) {
        int d = t->rank == 4 ? order4[i] : order5[i];
        if (t->dims[d] == 0 || t->strides[d] < least || (d == 0 && least == t->strides[1]))
            return false;
        least = t->strides[d];
        if (t->dims[d] > 1)
            least *= t->dims[d];
    }
    return true;
}

void lower_out_channels_last(tt_lower *L, hlo_ref value, bool channels_last) {
    static const int order4[] = {0, 2, 3, 1}, order5[] = {0, 2, 3, 4, 1};
    int rank = value == HLO_NONE ? 0 : hlo_type_of(L->g, value)->rank;
    if (channels_last && (rank == 4 || rank == 5))
        lower_out_ordered(L, value, rank == 4 ? order4 : order5);
    else
        lower_out(L, value);
}

void lower_out_suggested(tt_lower *L, hlo_ref value, const tt_tensor *input) {
    lower_out_channels_last(L, value, lower_suggests_channels_last(input));
}

/* pointwise_logic.c - comparisons, logic, bits, choices: eq logical_and bitwise_or where clamp masked_fill fill ... */
#include "aten/elem.h"
#include "aten/pieces.h"
#include <math.h>
#include <string.h>

enum { EQ, NE, LT, LE, GT, GE };
static const char *const directions[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};

/* eq ne lt le gt ge, .Tensor and .Scalar: param is the direction */
LOWER_FN(lower_pw_compare) {
    elem e;
    int d = L->row->param;
    TT_TRY(elem_begin2(L, &e, d == EQ || d == NE ? 0 : ELEM_REAL));
    e.out = TT_PRED;
    return elem_end(&e, hlo_compare(e.g, directions[d], e.v[0], e.v[1]));
}

/* logical_and logical_or logical_xor: param is the op */
LOWER_FN(lower_pw_logical) {
    elem e;
    TT_TRY(elem_begin2(L, &e, 0));
    e.out = TT_PRED;
    return elem_end(&e, hlo_binary(e.g, (hlo_op)L->row->param, hlo_convert(e.g, e.v[0], TT_PRED),
                                   hlo_convert(e.g, e.v[1], TT_PRED)));
}

LOWER_FN(lower_pw_logical_not) {
    elem e;
    TT_TRY(elem_begin1(L, &e, 0));
    e.out = TT_PRED;
    return elem_end(&e, hlo_unary(e.g, HLO_NOT, hlo_convert(e.g, e.v[0], TT_PRED)));
}

/* bitwise_and bitwise_or bitwise_xor: param is the op */
LOWER_FN(lower_pw_bitwise) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_INTEGER));
    return elem_end(&e, hlo_binary(e.g, (hlo_op)L->row->param, e.v[0], e.v[1]));
}

LOWER_FN(lower_pw_bitwise_not) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_INTEGER));
    return elem_end(&e, hlo_unary(e.g, HLO_NOT, e.v[0]));
}

/* Shifts. StableHLO and PyTorch agree on too large counts (0, or the sign), and both read a negative count as too
 * large. param 1: right, arithmetic for signed types. */
LOWER_FN(lower_pw_shift) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_INTEGER | ELEM_NO_PRED));
    hlo_op right = tt_dtype_class(e.common) == TT_CLASS_UINT ? HLO_SHIFT_RIGHT_LOGICAL : HLO_SHIFT_RIGHT_ARITH;
    return elem_end(&e, hlo_binary(e.g, L->row->param ? right : HLO_SHIFT_LEFT, e.v[0], e.v[1]));
}

/* maximum minimum: NaN wins */
LOWER_FN(lower_pw_extreme) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_REAL));
    return elem_end(&e, hlo_binary(e.g, (hlo_op)L->row->param, e.v[0], e.v[1]));
}

/* fmax fmin: NaN loses */
LOWER_FN(lower_pw_extreme_number) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_REAL));
    hlo_ref r = hlo_binary(e.g, (hlo_op)L->row->param, e.v[0], e.v[1]);
    if (!tt_is_float(e.common))
        return elem_end(&e, r);
    r = hlo_select(e.g, elem_nan(&e, e.v[1]), e.v[0], r);
    return elem_end(&e, hlo_select(e.g, elem_nan(&e, e.v[0]), e.v[1], r));
}

/* clamp(self, min?, max?), clamp_min (param 1), clamp_max (param 2): min(max(self, min), max), NaN stays */
LOWER_FN(lower_pw_clamp) {
    elem e;
    int what = L->row->param, n = 1, args[3] = {0}, low = 0, high = 0;
    if (what != 2 && lower_has(L, 1)) {
        low = n;
        args[n++] = 1;
    }
    int max_arg = what == 2 ? 1 : 2;
    if (what != 1 && lower_has(L, max_arg)) {
        high = n;
        args[n++] = max_arg;
    }
    TT_CHECK(n > 1, INVALID_ARGUMENT, "torch.clamp: At least one of 'min' or 'max' must not be None");
    bool tensors = L->args[1].tag == TT_ARG_TENSOR && what; /* clamp_min.Tensor is maximum, bool included */
    TT_TRY(elem_begin(L, &e, n, args, ELEM_REAL | (tensors ? 0 : ELEM_NO_PRED)));
    for (int i = 1; i < n; i++)
        TT_TRY(lower_scalar_fits(L, args[i], e.common));
    hlo_ref r = e.v[0];
    if (low)
        r = hlo_binary(e.g, HLO_MAXIMUM, r, e.v[low]);
    if (high)
        r = hlo_binary(e.g, HLO_MINIMUM, r, e.v[high]);
    return elem_end(&e, r);
}

static hlo_ref value_in(tt_lower *L, int arg, tt_dtype dtype, const hlo_type *shape) {
    return lower_cast_broadcast(L, lower_value(L, arg), dtype, shape);
}

static tt_status joint_shape(tt_lower *L, int n, hlo_type *out) {
    hlo_type types[3];
    const hlo_type *shapes[3];
    for (int i = 0; i < n; i++) {
        const tt_tensor *t = lower_tensor(L, i);
        types[i] = hlo_type_make(t->dtype, t->rank, t->dims);
        shapes[i] = &types[i];
    }
    return lower_broadcast_shape(n, shapes, out);
}

/* where.self(condition, self, other) */
LOWER_FN(lower_pw_where) {
    const tt_tensor *in[3] = {lower_tensor(L, 0), lower_tensor(L, 1), lower_tensor(L, 2)};
    TT_CHECK(in[0]->dtype == TT_PRED || in[0]->dtype == TT_U8, INVALID_ARGUMENT,
             "where expected condition to be a boolean tensor, but got a tensor with dtype %s", tt_dtype_name(in[0]->dtype));
    tt_dtype dtype = lower_result_type(L, 2, in + 1);
    hlo_type shape;
    TT_TRY(joint_shape(L, 3, &shape));
    hlo_ref r = hlo_select(L->g, value_in(L, 0, TT_PRED, &shape), value_in(L, 1, dtype, &shape),
                           value_in(L, 2, dtype, &shape));
    lower_out_pointwise(L, r, 3, in);
    return hlo_graph_take_error(L->g);
}

/* masked_fill.Scalar, masked_fill.Tensor(self, mask, value): the type of self */
LOWER_FN(lower_pw_masked_fill) {
    const tt_tensor *self = lower_tensor(L, 0), *mask = lower_tensor(L, 1);
    TT_CHECK(mask->dtype == TT_PRED, INVALID_ARGUMENT, "masked_fill only supports boolean masks, but got mask with dtype %s",
             tt_dtype_name(mask->dtype));
    hlo_type shape;
    TT_TRY(joint_shape(L, 2, &shape));
    hlo_ref value;
    if (L->args[2].tag == TT_ARG_TENSOR) {
        const tt_tensor *v = lower_tensor(L, 2);
        TT_CHECK(v->rank == 0, INVALID_ARGUMENT,
                 "masked_fill only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).", v->rank);
        if (tt_is_complex(v->dtype) && !tt_is_complex(self->dtype))
            LOWER_UNSUPPORTED(L, "complex value for a real tensor");
        value = value_in(L, 2, self->dtype, &shape);
    } else {
        TT_TRY(lower_scalar_fits(L, 2, self->dtype));
        value = hlo_broadcast_to(L->g, lower_scalar(L, 2, self->dtype), shape.rank, shape.dims);
    }
    hlo_ref r = hlo_select(L->g, value_in(L, 1, TT_PRED, &shape), value, value_in(L, 0, self->dtype, &shape));
    lower_out(L, r);
    return hlo_graph_take_error(L->g);
}

/* fill.Scalar, fill.Tensor(self, value) */
LOWER_FN(lower_pw_fill) {
    const tt_tensor *self = lower_tensor(L, 0);
    hlo_type t = hlo_type_make(self->dtype, self->rank, self->dims);
    hlo_ref value;
    if (L->args[1].tag == TT_ARG_TENSOR) {
        const tt_tensor *v = lower_tensor(L, 1);
        TT_CHECK(v->rank == 0, INVALID_ARGUMENT, "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.",
                 v->rank);
        value = value_in(L, 1, self->dtype, &t);
    } else {
        TT_TRY(lower_scalar_fits(L, 1, self->dtype));
        value = hlo_broadcast_to(L->g, lower_scalar(L, 1, self->dtype), t.rank, t.dims);
    }
    lower_out_like(L, value, self);
    return hlo_graph_take_error(L->g);
}

LOWER_FN(lower_pw_zero) {
    const tt_tensor *self = lower_tensor(L, 0);
    hlo_type t = hlo_type_make(self->dtype, self->rank, self->dims);
    lower_out_like(L, hlo_splat(L->g, &t, 0), self);
    return hlo_graph_take_error(L->g);
}

/* Which of a[n] are among b[m]: each against every test where those are few, else against the one it would stand at among them, sorted. */
static tt_status is_among(tt_lower *L, hlo_ref a, hlo_ref b, int64_t n, int64_t m, hlo_ref *out) {
    enum { FEW = 16 };
    hlo_graph *g = L->g;
    const int64_t grid[2] = {n, m}, along_n = 0, along_m = 1;
    if (m && m <= FEW) {
        for (int64_t k = 0; k < m; k++) {
            const int64_t end = k + 1;
            hlo_ref test = hlo_broadcast_in_dim(g, hlo_slice(g, b, &k, &end, NULL), 1, &n, &along_n), same = hlo_compare(g, "EQ", a, test);
            *out = k ? hlo_binary(g, HLO_OR, *out, same) : same;
        }
        return hlo_graph_take_error(g);
    }
    if ((double)n * (double)m <= 1 << 16 || !m || !n) {
        hlo_ref same = hlo_compare(g, "EQ", hlo_broadcast_in_dim(g, a, 2, grid, &along_n), hlo_broadcast_in_dim(g, b, 2, grid, &along_m));
        *out = hlo_reduce(g, HLO_OR, same, HLO_NONE, 1, &along_m);
        return hlo_graph_take_error(g);
    }
    hlo_ref sorted[2], at, most = HLO_NONE;
    const hlo_type t = *hlo_type_of(g, b);
    if (tt_is_float(t.dtype)) { /* a NaN is no test: it stands for the least of the others, if there are any */
        hlo_ref is_nan = hlo_compare(g, "NE", b, b), most_of = hlo_select(g, is_nan, hlo_splat(g, &t, -INFINITY), b);
        hlo_ref least_of = hlo_select(g, is_nan, hlo_splat(g, &t, INFINITY), b), least;
        most = hlo_broadcast_to(g, hlo_reduce(g, HLO_MAXIMUM, most_of, HLO_NONE, 1, &along_n), 1, &n);
        least = hlo_broadcast_to(g, hlo_reduce(g, HLO_MINIMUM, least_of, HLO_NONE, 1, &along_n), 1, &m);
        b = hlo_select(g, is_nan, least, b);
    }
    const hlo_type index = hlo_type_make(TT_I64, 1, &n);
    const tt_arg order[3] = {piece_argument(L, b), {.tag = TT_ARG_INT, .u.i = 0}, {.tag = TT_ARG_BOOL}};
    TT_TRY(piece_call(L, "sort", 3, order, NULL, -1, 2, sorted));
    const tt_arg search[6] = {piece_argument(L, sorted[0]), piece_argument(L, a)};
    TT_TRY(piece_call(L, "searchsorted.Tensor", 6, search, NULL, -1, 1, &at));
    at = hlo_binary(g, HLO_MINIMUM, at, hlo_splat_int(g, &index, m - 1));
    const tt_arg pick[3] = {piece_argument(L, sorted[0]), {.tag = TT_ARG_INT, .u.i = 0}, piece_argument(L, at)};
    TT_TRY(piece_call(L, "gather", 3, pick, NULL, -1, 1, &at));
    *out = hlo_compare(g, "EQ", a, at);
    if (most)
        *out = hlo_binary(g, HLO_AND, *out, hlo_compare(g, "LE", a, most));
    return hlo_graph_take_error(g);
}

/* isin(elements, test_elements, *, assume_unique, invert) */
LOWER_FN(lower_pw_isin) {
    elem e;
    const tt_tensor *elements = L->args[0].tag == TT_ARG_TENSOR ? lower_tensor(L, 0) : NULL;
    const tt_tensor *tests = L->args[1].tag == TT_ARG_TENSOR ? lower_tensor(L, 1) : NULL;
    bool invert = lower_bool(L, 3, false);
    int64_t n = 1, m = 1;
    for (int d = 0; elements && d < elements->rank; d++)
        n *= elements->dims[d];
    for (int d = 0; tests && d < tests->rank; d++)
        m *= tests->dims[d];
    const tt_tensor *all[2] = {elements ? elements : tests, tests ? tests : elements};
    tt_dtype dtype = lower_result_type(L, 2, all);
    TT_TRY(hlo_graph_take_error(L->g));
    if (!elements || !tests) { /* the Scalar counts as a Python number */
        TT_TRY(elem_begin2(L, &e, 0));
        dtype = e.common;
    }
    hlo_graph *g = L->g;
    hlo_ref r = HLO_NONE, a = elements ? hlo_reshape(g, hlo_convert(g, elements->value, dtype), 1, &n)
                         : hlo_reshape(g, lower_scalar(L, 0, dtype), 1, &n);
    hlo_ref b = tests ? hlo_reshape(g, hlo_convert(g, tests->value, dtype), 1, &m)
                      : hlo_reshape(g, lower_scalar(L, 1, dtype), 1, &m);
    TT_TRY(is_among(L, a, b, n, m, &r));
    r = invert ? hlo_unary(g, HLO_NOT, r) : r;
    lower_out(L, elements ? hlo_reshape(g, r, elements->rank, elements->dims) : hlo_reshape(g, r, 0, NULL));
    return hlo_graph_take_error(g);
}

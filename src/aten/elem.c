/* elem.c - see elem.h. */
#include "aten/elem.h"
#include <string.h>

static tt_dtype scalar_dtype(tt_class c) {
    switch (c) {
    case TT_CLASS_PRED: return TT_PRED;
    case TT_CLASS_COMPLEX: return TT_C128;
    case TT_CLASS_FLOAT: return TT_F64;
    default: return TT_I64;
    }
}

static tt_status check_class(tt_lower *L, tt_dtype d, unsigned flags) {
    if ((flags & ELEM_REAL) && tt_is_complex(d))
        LOWER_UNSUPPORTED(L, "not for complex numbers");
    if ((flags & ELEM_NO_PRED) && d == TT_PRED)
        LOWER_UNSUPPORTED(L, "not for bool");
    if ((flags & ELEM_FLOATING) && (tt_is_int(d) || d == TT_PRED))
        LOWER_UNSUPPORTED(L, "for floating point only");
    if ((flags & ELEM_INTEGER) && !tt_is_int(d) && d != TT_PRED)
        LOWER_UNSUPPORTED(L, "for integers only");
    return TT_OK;
}

tt_status elem_begin(tt_lower *L, elem *e, int n, const int *args, unsigned flags) {
    memset(e, 0, sizeof *e);
    e->L = L;
    e->g = L->g;
    e->n = n;
    tt_tensor number[ELEM_MAX];
    const tt_tensor *all[ELEM_MAX];
    hlo_type types[ELEM_MAX];
    const hlo_type *shapes[ELEM_MAX];
    for (int i = 0; i < n; i++) {
        if (args[i] < L->n_args && L->args[args[i]].tag == TT_ARG_TENSOR) {
            all[i] = e->in[i] = lower_tensor(L, args[i]);
        } else {
            memset(&number[i], 0, sizeof number[i]);
            number[i].dtype = scalar_dtype(lower_scalar_class(L, args[i]));
            number[i].wrapped = true;
            all[i] = &number[i];
        }
        TT_CHECK(all[i]->rank <= HLO_MAX_RANK, UNIMPLEMENTED, "tensors of more than %d dims", HLO_MAX_RANK);
        types[i] = hlo_type_make(all[i]->dtype, all[i]->rank, all[i]->dims);
        shapes[i] = &types[i];
    }
    e->common = lower_result_type(L, n, all);
    TT_TRY(hlo_graph_take_error(L->g));
    TT_TRY(check_class(L, e->common, flags));
    if ((flags & ELEM_FLOAT) && (tt_is_int(e->common) || e->common == TT_PRED))
        e->common = lower_default_float();
    TT_TRY(lower_broadcast_shape(n, shapes, &e->type));
    bool half = lower_accumulate_dtype(e->common) != e->common, mixed = false;
    for (int i = 0; i < n; i++)
        mixed |= all[i]->dtype != e->common;
    bool up = half && ((flags & ELEM_UPCAST) || ((flags & ELEM_MIXED) && mixed));
    e->type.dtype = up ? TT_F32 : e->common;
    e->out = e->common;
    for (int i = 0; i < n; i++) {
        e->v[i] = e->in[i] ? lower_cast_broadcast(L, e->in[i]->value, e->type.dtype, &e->type)
                           : elem_scalar(e, args[i]);
    }
    return TT_OK;
}

void elem_out(elem *e, hlo_ref result, tt_dtype dtype) {
    lower_out_pointwise(e->L, hlo_convert(e->g, result, dtype), e->n, e->in);
}

tt_status elem_end(elem *e, hlo_ref result) {
    elem_out(e, result, e->out);
    return hlo_graph_take_error(e->g);
}

hlo_ref elem_trunc(const elem *e, hlo_ref x) {
    if (!tt_is_float(e->type.dtype))
        return x;
    return hlo_select(e->g, elem_compare(e, "LT", x, 0), hlo_unary(e->g, HLO_CEIL, x), hlo_unary(e->g, HLO_FLOOR, x));
}

hlo_ref elem_negative(const elem *e, hlo_ref x) {
    if (!tt_is_float(e->type.dtype))
        return elem_compare(e, "LT", x, 0);
    int size = tt_dtype_size(e->type.dtype);
    tt_dtype as = size == 8 ? TT_I64 : size == 4 ? TT_I32 : size == 2 ? TT_I16 : TT_I8;
    hlo_ref bits = hlo_bitcast(e->g, x, as);
    return bits == HLO_NONE ? HLO_NONE : hlo_compare(e->g, "LT", bits, hlo_splat_like(e->g, bits, 0));
}

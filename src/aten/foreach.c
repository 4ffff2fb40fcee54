/* foreach.c - _foreach_*: the same op on every tensor of a list, in one program. Each element calls the row
 * of the single op, so promotion, rounding and edge cases are stated once. */
#include "aten/pieces.h"

/* operand: the argument whose kind (number or tensor) picks the row; alpha: the row wants a third argument, 1
 * by default. */
static const struct {
    const char *stem, *scalar_row, *tensor_row;
    int operand;
    bool alpha;
} table[] = {
    {"add", "add.Scalar", "add.Tensor", 1, true},
    {"sub", "sub.Scalar", "sub.Tensor", 1, true},
    {"mul", "mul.Scalar", "mul.Tensor", 1, false},
    {"div", "div.Scalar", "div.Tensor", 1, false},
    {"clamp_max", "clamp_max", "clamp_max.Tensor", 1, false},
    {"clamp_min", "clamp_min", "clamp_min.Tensor", 1, false},
    {"minimum", "clamp_max", "clamp_max.Tensor", 1, false},
    {"maximum", "clamp_min", "clamp_min.Tensor", 1, false},
    {"pow", "pow.Tensor_Scalar", "pow.Tensor_Tensor", 1, false},
    {"lerp", "lerp.Scalar", "lerp.Tensor", 2, false},
    {"addcmul", "addcmul", "addcmul", 3, false},
    {"addcdiv", "addcdiv", "addcdiv", 3, false},
};

static const char *row_name(tt_lower *L, bool *out_alpha) {
    const char *name = L->row->name + strlen("_foreach_");
    size_t n = strcspn(name, ".");
    *out_alpha = false;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strlen(table[i].stem) != n || strncmp(table[i].stem, name, n))
            continue;
        tt_arg_tag tag = table[i].operand < L->n_args ? L->args[table[i].operand].tag : TT_ARG_NONE;
        bool tensor = tag == TT_ARG_TENSORS || tag == TT_ARG_TENSOR;
        *out_alpha = table[i].alpha;
        if (L->args[0].tag != TT_ARG_TENSORS)
            return "pow.Scalar"; /* _foreach_pow.ScalarAndTensor */
        return tensor ? table[i].tensor_row : table[i].scalar_row;
    }
    return tt_arena_printf(L->arena, "%.*s", (int)n, name);
}

/* Element i of every list argument; the rest as they are. */
static tt_status element_args(tt_lower *L, int i, tt_arg *out) {
    for (int k = 0; k < L->n_args; k++) {
        const tt_arg *a = &L->args[k];
        out[k] = *a;
        if (a->tag == TT_ARG_TENSORS) {
            TT_CHECK(i < a->n, INVALID_ARGUMENT,
                     "Tensor lists must have the same number of tensors, got %d and %d", i + 1, a->n);
            TT_CHECK(a->u.tensors[i], INVALID_ARGUMENT, "%s: tensor %d is undefined", L->row->name, i);
            out[k] = (tt_arg){.tag = TT_ARG_TENSOR, .u.tensor = a->u.tensors[i]};
        } else if (a->tag == TT_ARG_SCALARS) {
            TT_CHECK(i < a->n, INVALID_ARGUMENT,
                     "Tensor list must have same number of elements as scalar list.");
            out[k] = a->u.scalars[i];
        } else if (a->tag == TT_ARG_DOUBLES || a->tag == TT_ARG_INTS || a->tag == TT_ARG_BOOLS) {
            /* a Scalar[] whose elements are of one kind */
            TT_CHECK(i < a->n, INVALID_ARGUMENT,
                     "Tensor list must have same number of elements as scalar list.");
            out[k] = (tt_arg){.tag = a->tag == TT_ARG_DOUBLES ? TT_ARG_DOUBLE
                                     : a->tag == TT_ARG_INTS  ? TT_ARG_INT
                                                              : TT_ARG_BOOL};
            if (a->tag == TT_ARG_DOUBLES)
                out[k].u.d = a->u.doubles[i];
            else
                out[k].u.i = a->tag == TT_ARG_INTS ? a->u.ints[i] : a->u.bools[i];
        }
    }
    return TT_OK;
}

static int list_length(tt_lower *L, tt_tensor *const **out) {
    return lower_tensors(L, L->args[0].tag == TT_ARG_TENSORS ? 0 : 1, out);
}

/* param 0: element by element; 1: norm.Scalar(self, ord, dtype); 2: copy(self, src); 3: zero */
LOWER(lower_foreach) {
    tt_tensor *const *list;
    int n = list_length(L, &list), from[8];
    bool alpha;
    const char *name = row_name(L, &alpha);
    TT_CHECK(L->n_args <= 6, INTERNAL, "%s has %d arguments", L->row->name, L->n_args);
    for (int k = 1; k < L->n_args; k++)
        TT_CHECK(L->args[k].tag != TT_ARG_TENSORS || L->args[k].n == n, INVALID_ARGUMENT,
                 "Tensor lists must have the same number of tensors, got %d and %d", n, L->args[k].n);
    for (int k = 1; k < L->n_args; k++)
        TT_CHECK((L->args[k].tag != TT_ARG_SCALARS && L->args[k].tag != TT_ARG_DOUBLES &&
                  L->args[k].tag != TT_ARG_INTS) ||
                     L->args[k].n == n,
                 INVALID_ARGUMENT,
                 "Tensor list must have same number of elements as scalar list. Got %d and %d", n,
                 L->args[k].n);
    lower_out_list(L, n);
    for (int i = 0; i < n; i++) {
        tt_arg args[8] = {{0}};
        int n_args = L->n_args;
        hlo_ref v = HLO_NONE;
        for (int k = 0; k < 8; k++)
            from[k] = k;
        TT_TRY(element_args(L, i, args));
        const tt_tensor *like = list[i];
        switch (L->row->param) {
        case 1:
            args[4] =
                n_args > 2 ? args[2] : (tt_arg){0}; /* linalg_vector_norm(self, ord, dim, keepdim, dtype) */
            args[2] = (tt_arg){.tag = TT_ARG_NONE};
            args[3] = (tt_arg){.tag = TT_ARG_BOOL};
            from[2] = from[3] = -1;
            from[4] = 2;
            TT_TRY(piece_call(L, "linalg_vector_norm", 5, args, from, i, 1, &v));
            lower_out(L, v);
            continue;
        case 2: {
            hlo_type t = hlo_type_make(like->dtype, like->rank, like->dims);
            v = lower_cast_broadcast(L, args[1].u.tensor->value, t.dtype, &t);
            break;
        }
        case 3:
            v = piece_zeros(L, like->dtype, like->rank, like->dims);
            break;
        default:
            if (alpha && n_args < 3)
                args[n_args++] = (tt_arg){.tag = TT_ARG_INT, .u.i = 1}, from[2] = -1;
            TT_TRY(piece_call(L, name, n_args, args, from, i, 1, &v));
        }
        if (v && hlo_type_of(L->g, v)->rank == like->rank)
            lower_out_like(L, v, like);
        else
            lower_out(L, v);
    }
    return TT_OK;
}

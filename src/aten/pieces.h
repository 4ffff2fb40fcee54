/* pieces.h - small pieces that lowerings of several families share: types, broadcasts along given dims,
 * scalars. Everything tolerates HLO_NONE (the builders' sticky error), so lowerings are written without
 * checks. */
#ifndef TT_PIECES_H
#define TT_PIECES_H
#include "aten/lower.h"
#include <string.h>

/* The type of x by value; rank 0 f32 after an error. */
static inline hlo_type piece_type(tt_lower *L, hlo_ref x) {
    const hlo_type *t = x == HLO_NONE ? NULL : hlo_type_of(L->g, x);
    return t ? *t : hlo_type_make(TT_F32, 0, NULL);
}

static inline hlo_ref piece_convert(tt_lower *L, hlo_ref x, tt_dtype dtype) {
    return hlo_convert(L->g, x, dtype);
}

/* v's dims go to dims[] of `like`; the element type stays v's. */
static inline hlo_ref piece_broadcast(tt_lower *L, hlo_ref v, const hlo_type *like, int n,
                                      const int64_t *dims) {
    (void)n;
    return hlo_broadcast_in_dim(L->g, v, like->rank, like->dims, dims);
}

/* A rank-1 value along one dim of `like`. */
static inline hlo_ref piece_along(tt_lower *L, hlo_ref v, const hlo_type *like, int dim) {
    int64_t map[1] = {dim};
    return hlo_broadcast_in_dim(L->g, v, like->rank, like->dims, map);
}

/* A rank-0 value everywhere. */
static inline hlo_ref piece_fill(tt_lower *L, hlo_ref scalar, const hlo_type *like) {
    return hlo_broadcast_in_dim(L->g, scalar, like->rank, like->dims, NULL);
}

static inline hlo_ref piece_number(tt_lower *L, const hlo_type *like, double value) {
    return hlo_splat(L->g, like, value);
}

static inline hlo_ref piece_zeros(tt_lower *L, tt_dtype dtype, int rank, const int64_t *dims) {
    hlo_type t = hlo_type_make(dtype, rank, dims);
    return hlo_splat(L->g, &t, 0);
}

static inline int64_t piece_product(const int64_t *dims, int from, int to) {
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= dims[i];
    return n;
}

static inline void piece_identity(int64_t *permutation, int rank) {
    for (int i = 0; i < rank; i++)
        permutation[i] = i;
}

/* x with dims a and b exchanged. */
static inline hlo_ref piece_swap(tt_lower *L, hlo_ref x, int a, int b) {
    int64_t permutation[HLO_MAX_RANK];
    piece_identity(permutation, piece_type(L, x).rank);
    permutation[a] = b;
    permutation[b] = a;
    return hlo_transpose(L->g, x, permutation);
}

/* A comparison with a number, and a clamp from below by a number. */
static inline hlo_ref piece_compare(tt_lower *L, const char *direction, hlo_ref x, double value) {
    return hlo_compare(L->g, direction, x, hlo_splat_like(L->g, x, value));
}

static inline const char *piece_precision(tt_lower *L, tt_dtype operand) {
    return operand == TT_BF16 || operand == TT_F16 ? "DEFAULT" : L->precision ? L->precision : "DEFAULT";
}

/* at::Reduction: 0 none, 1 mean, 2 sum. */
enum { PIECE_NONE = 0, PIECE_MEAN = 1, PIECE_SUM = 2 };

/* Sum over all dims, or its mean; accumulates in lower_accumulate_dtype and gives `dtype`. */
static inline hlo_ref piece_reduce_all(tt_lower *L, hlo_ref x, int64_t reduction, tt_dtype dtype) {
    hlo_type t = piece_type(L, x);
    if (reduction == PIECE_NONE)
        return hlo_convert(L->g, x, dtype);
    int64_t dims[HLO_MAX_RANK];
    piece_identity(dims, t.rank);
    hlo_ref sum = hlo_reduce(L->g, HLO_ADD, hlo_convert(L->g, x, lower_accumulate_dtype(t.dtype)), HLO_NONE,
                             t.rank, dims);
    if (reduction == PIECE_MEAN)
        sum = hlo_div(L->g, sum, hlo_splat_like(L->g, sum, (double)hlo_type_elements(&t)));
    return hlo_convert(L->g, sum, dtype);
}

/* Element k of a bool list (output_mask); absent lists are all true. */
static inline bool piece_mask(const tt_lower *L, int arg, int k) {
    if (arg >= L->n_args || L->args[arg].tag != TT_ARG_BOOLS)
        return true;
    return k < L->args[arg].n && L->args[arg].u.bools[k];
}

/* A result, or none when the caller did not ask for it. */
static inline void piece_out_if(tt_lower *L, bool wanted, hlo_ref value) {
    if (wanted)
        lower_out(L, value);
    else
        lower_out_none(L);
}

/* Calls another row's lowering on these arguments, as if the op had been called; out_values[n_out] are its
 * first results. from[i] (NULL: none): the argument of L that args[i] is, so that scalars keep their slots;
 * element >= 0: that element of L's list argument. */
TT_MUST_CHECK tt_status piece_call(tt_lower *L, const char *row, int n_args, const tt_arg *args,
                                   const int *from, int element, int n_out, hlo_ref *out_values);
/* A tensor argument for piece_call. */
static inline tt_arg piece_argument(tt_lower *L, hlo_ref value) {
    hlo_type t = piece_type(L, value);
    tt_tensor *x = TT_NEW(L->arena, tt_tensor);
    int64_t *dims = TT_NEW_N(L->arena, int64_t, 2 * t.rank + 1), step = 1;
    for (int i = t.rank - 1; i >= 0; i--) {
        dims[i] = t.dims[i];
        dims[t.rank + i] = step;
        step *= t.dims[i];
    }
    *x =
        (tt_tensor){.dims = dims, .strides = dims + t.rank, .rank = t.rank, .dtype = t.dtype, .value = value};
    return (tt_arg){.tag = TT_ARG_TENSOR, .u.tensor = x};
}

#define LOWER(name)                                                                                          \
    tt_status name(tt_lower *L);                                                                             \
    tt_status name(tt_lower *L)
#endif

/* elem.h - the frame of an elementwise lowering: promote, broadcast, compute, round, hand back.
 *
 * elem_begin reads the operands (tensors, or Scalars, which count as Python numbers), finds PyTorch's result type
 * and brings all of them to one type and shape; elem_end rounds to the result type and picks the strides. */
#ifndef TT_ELEM_H
#define TT_ELEM_H
#include "aten/lower.h"

enum { ELEM_MAX = 4 };
enum {
    ELEM_FLOAT = 1,     /* integers and bool become the default float type */
    ELEM_UPCAST = 2,    /* f16 and bf16 are computed in f32 and rounded once, as on PyTorch CPU */
    ELEM_MIXED = 4,     /* the same, but only when some operand is not of the result type (x + 0.1 keeps 0.1 exact) */
    ELEM_REAL = 8,      /* no complex */
    ELEM_NO_PRED = 16,  /* no bool */
    ELEM_FLOATING = 32, /* no integers, no bool */
    ELEM_INTEGER = 64,  /* integers and bool only */
};

typedef struct elem {
    tt_lower *L;
    hlo_graph *g;
    int n;
    hlo_ref v[ELEM_MAX];
    const tt_tensor *in[ELEM_MAX]; /* NULL for Scalars */
    tt_dtype common;               /* after ELEM_FLOAT */
    tt_dtype out;                  /* the result's; may be changed before elem_end */
    hlo_type type;                 /* shape, and the dtype computed in */
} elem;

/* args[]: argument indices. Unsupported types give UNIMPLEMENTED, so the CPU says what it thinks of them. */
TT_MUST_CHECK tt_status elem_begin(tt_lower *L, elem *e, int n, const int *args, unsigned flags);
TT_MUST_CHECK tt_status elem_end(elem *e, hlo_ref result);
void elem_out(elem *e, hlo_ref result, tt_dtype dtype); /* one of several results */

TT_MUST_CHECK static inline tt_status elem_begin1(tt_lower *L, elem *e, unsigned flags) {
    return elem_begin(L, e, 1, (const int[]){0}, flags);
}
TT_MUST_CHECK static inline tt_status elem_begin2(tt_lower *L, elem *e, unsigned flags) {
    return elem_begin(L, e, 2, (const int[]){0, 1}, flags);
}

static inline hlo_ref elem_number(const elem *e, double value) { return hlo_splat(e->g, &e->type, value); }
/* A Scalar argument as a value of the type computed in. */
static inline hlo_ref elem_scalar(elem *e, int arg) {
    return hlo_broadcast_to(e->g, lower_scalar(e->L, arg, e->type.dtype), e->type.rank, e->type.dims);
}
static inline hlo_ref elem_compare(const elem *e, const char *direction, hlo_ref x, double value) {
    return hlo_compare(e->g, direction, x, elem_number(e, value));
}
static inline hlo_ref elem_nan(const elem *e, hlo_ref x) { return hlo_compare(e->g, "NE", x, x); }
/* exp(x) > 1 at small x and such are never needed: 1 / (1 + exp(-x)). */
static inline hlo_ref elem_logistic(const elem *e, hlo_ref x) { return hlo_unary(e->g, HLO_LOGISTIC, x); }
/* a / b, or its remainder: of integers by zero it fails as PyTorch does, where the plugin can tell. */
static inline hlo_ref elem_divide(const elem *e, hlo_op op, hlo_ref a, hlo_ref b) {
    bool checked = e->L->check_bounds && tt_is_int(e->type.dtype);
    return checked ? hlo_binary_checked(e->g, op, a, b, "ZeroDivisionError") : hlo_binary(e->g, op, a, b);
}
hlo_ref elem_trunc(const elem *e, hlo_ref x);         /* floats; integers as they are */
hlo_ref elem_negative(const elem *e, hlo_ref x);      /* the sign bit, as bool; -0 and -NaN count */

#define LOWER_FN(name) tt_status name(tt_lower *L); tt_status name(tt_lower *L)
#define LOWER_UNSUPPORTED(L, what) TT_FAIL(UNIMPLEMENTED, "%s: %s", (L)->row ? (L)->row->name : "op", what)
#endif

/* index.h - what index.c, index_put.c and embedding.c share. */
#ifndef TT_INDEX_H
#define TT_INDEX_H
#include "aten/pieces.h"

hlo_ref index_wrap(tt_lower *L, hlo_ref index, int64_t size); /* i < 0 ? i + size : i */
/* i32 when every index below `limit` fits: half the traffic. Under check_bounds i64 stays. */
hlo_ref index_narrow(tt_lower *L, hlo_ref index, int64_t limit);
const char *index_bounds(const tt_lower *L); /* tt.bounds text, NULL when bounds are not checked */
TT_MUST_CHECK tt_status index_check(const tt_lower *L, tt_dtype); /* int32 or int64 */
/* Slices of x at `index` along dim; index's dims take dim's place. */
hlo_ref index_rows(tt_lower *L, hlo_ref x, int dim, hlo_ref index, const char *bounds);
/* The flat position in an array of type t of element (i0, ..., index, ..., in): index's own coordinates but
 * for dim. */
hlo_ref index_flatten(tt_lower *L, hlo_ref index, int dim, const hlo_type *t);
hlo_ref index_take(tt_lower *L, hlo_ref x, hlo_ref flat, const char *bounds); /* elements of x, flattened */
hlo_ref index_take_checked(tt_lower *L, hlo_ref x, hlo_ref index, int dim, const char *bounds);
/* A table of n rows: zeros, to whose rows index[k] are added rows[k] of [k, d], in their type and order. The composite tt.sum_rows. */
hlo_ref index_sum_rows(tt_lower *L, hlo_ref rows, hlo_ref index, int64_t n, tt_dtype dtype);
/* HLO_NONE, or the column along dim of argument `arg`, an index that is expanded from it over all else of an array of type t. */
hlo_ref index_column(tt_lower *L, int arg, hlo_ref index, int dim, const hlo_type *t);
bool index_batching(const hlo_type *x, const hlo_type *index, int dim, int64_t *lists, hlo_dims *d);

/* The tensors of x[i, :, j] and how they lie. */
typedef struct index_plan {
    int n;                      /* tensors given */
    int64_t dims[HLO_MAX_RANK]; /* the dims of x that they index, rising */
    hlo_ref value[HLO_MAX_RANK];
    hlo_type shape; /* of their broadcast */
    bool adjacent;
    int at; /* where their shape stands in the result */
} index_plan;
TT_MUST_CHECK tt_status index_plan_make(tt_lower *L, int arg, const hlo_type *x, index_plan *out);
hlo_ref index_plan_indices(tt_lower *L, const index_plan *, const hlo_type *x); /* [shape..., n] */
#endif

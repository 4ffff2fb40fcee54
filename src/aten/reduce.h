/* reduce.h - which dims a reduction takes, and how its result is shaped; shared by aten/reduce*.c. */
#ifndef TT_REDUCE_H
#define TT_REDUCE_H
#include "aten/elem.h"
#include "aten/pieces.h"

typedef struct reduction {
    tt_lower *L;
    const tt_tensor *x;
    int n;
    int64_t dims[HLO_MAX_RANK];
    bool keep;
    int64_t count;      /* elements that go into one result */
    hlo_type shape;     /* of the result, with keep applied; dtype of x */
} reduction;

/* dim_arg < 0, None or (unless empty_is_none) an empty list: all dims. keep_arg < 0: false. */
TT_MUST_CHECK tt_status reduction_read(tt_lower *L, reduction *r, int dim_arg, int keep_arg, bool empty_is_none);
hlo_ref reduction_apply(const reduction *r, hlo_op op, hlo_ref x);       /* dims dropped */
hlo_ref reduction_keep(const reduction *r, hlo_op op, hlo_ref x);        /* dims stay as 1 */
hlo_ref reduction_spread(const reduction *r, hlo_ref kept, hlo_ref like);/* a kept result back over x's shape */
hlo_ref reduction_shaped(const reduction *r, hlo_ref dropped);           /* applies keepdim */
#endif

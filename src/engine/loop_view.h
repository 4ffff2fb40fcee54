/* loop_view.h - reading a value through the shape ops that made it, without running them. */
#ifndef ENG_LOOP_VIEW_H
#define ENG_LOOP_VIEW_H
#include "engine/engine.h"

/* An array read over a shape: element (i0, i1, ...) of `dims` is base[offset + sum i_d * strides[d]] of the dense value `base`. */
typedef struct loop_view {
    hlo_ref base;                       /* a value that must exist in memory, or a CONSTANT or IOTA */
    int rank;
    int64_t dims[HLO_MAX_RANK], strides[HLO_MAX_RANK], offset;
    int iota_dim;                       /* base is IOTA: strides and offset are those of the value, along this dim of base */
} loop_view;

/* Where a loop stands: values of outer blocks are not looked through, since a region sees only what its own operands name. NULL: anywhere. */
typedef struct loop_scope {
    const hlo_block *block;
    const int *positions;               /* [ref]: index in the block, for refs that are in it; anything for others */
} loop_scope;

/* The view of value r over its own shape, or over `shape` if r is a scalar spread over it. Looks through broadcast_in_dim, transpose,
 * slice, reverse and reshape as far as that pays. */
void loop_view_resolve(const hlo_graph *g, const loop_scope *scope, hlo_ref r, const hlo_type *shape, loop_view *out_view);
/* Shape ops and constants that loop_view_resolve may look through. */
bool loop_view_is(const hlo_graph *g, hlo_ref r);
/* A reshape of a value that loops compute belongs to that loop (fuse.c); others must not look through it. */
bool loop_reshape_is_member(const hlo_graph *g, hlo_ref r);
#endif

/* view.h - a strided tensor over a dense value, as StableHLO.
 *
 * run/op.c reads tensor arguments through tt_view_read and writes targets through tt_view_write; only this file knows strides. */
#ifndef TT_VIEW_H
#define TT_VIEW_H
#include "hlo/build.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_strided { tt_dtype dtype; int rank; const int64_t *dims, *strides; int64_t offset; } tt_strided; /* elements of dtype */

/* True when the view is the whole dense value of type `base`: same dims, row-major, offset 0, same dtype. */
bool tt_view_is_whole(const tt_strided *view, const hlo_type *base);
/* True when the view covers every element of a storage of `bytes` bytes exactly once, and in row-major order up to a permutation of
 * dims; out_order (may be NULL) receives the memory order. A write through such a view replaces the value. */
bool tt_view_covers(const tt_strided *view, int64_t bytes, int *out_order);
/* base: a value of any dense shape. Returns a value of view's dims and dtype. */
hlo_ref tt_view_read(hlo_graph *g, hlo_ref base, const tt_strided *view);
/* Returns base with the viewed elements replaced by value (dims and dtype of the view); the type stays base's. */
hlo_ref tt_view_write(hlo_graph *g, hlo_ref base, const tt_strided *view, hlo_ref value);

/* A view that is a block of base (step 1 in each of its dims) and whose place is likely to change from call to call, as the row x[i] of a
 * loop: out_dims[] receives the dims of base along which it may move and out_starts[] where it starts there. Returns how many; 0: none. A
 * block that tiles base in a few pieces, as one of the chunks of x.chunk(3), stays put. */
int tt_view_moves(const tt_strided *view, const hlo_type *base, int *out_dims, int64_t *out_starts);
/* The same for a view that moves: starts[d] is a rank-0 integer where dim d of base moves, HLO_NONE elsewhere. */
hlo_ref tt_view_read_at(hlo_graph *g, hlo_ref base, const tt_strided *view, const hlo_ref *starts);
hlo_ref tt_view_write_at(hlo_graph *g, hlo_ref base, const tt_strided *view, hlo_ref value, const hlo_ref *starts);

#ifdef __cplusplus
}
#endif
#endif

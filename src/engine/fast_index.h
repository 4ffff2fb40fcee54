/* fast_index.h - where gather and scatter put their windows: from index vectors to byte offsets in the operand. */
#ifndef ENG_FAST_INDEX_H
#define ENG_FAST_INDEX_H
#include "engine/fast.h"

typedef struct index_plan {
    const hlo_graph *g;
    const hlo_node *node;
    const hlo_dims *dims;
    const eng_tensor *indices;
    const int64_t *x_dims;
    bool checked, clamp;                   /* tt.bounds; gather clamps, scatter drops */
    int rank, n_batch, n_window;
    int64_t batch_dims[HLO_MAX_RANK], n;   /* n: their product, the number of windows */
    int batch_at[HLO_MAX_RANK];            /* of batch dim i: its dim in the result or the updates */
    int window_of[HLO_MAX_RANK];           /* of window dim i: its dim in the operand; in the result or updates it is dims->a.v[i] */
    int64_t size[HLO_MAX_RANK];            /* window size per operand dim */
    int64_t strides[HLO_MAX_RANK];         /* of the operand, bytes */
    int64_t vector, vector_step, batch_steps[HLO_MAX_RANK]; /* in the indices, elements */
    bool rows;                             /* index vectors lie one after the other */
} index_plan;

enum { INDEX_DROPPED = -1, INDEX_PARTLY_OUT = -2 };

/* False: malformed, or not known here. `other` is the result of a gather, the updates of a scatter. */
bool index_plan_init(index_plan *p, const hlo_graph *g, const hlo_node *node, const hlo_dims *dims, const eng_tensor *x,
                     const eng_tensor *indices, const eng_tensor *other, const int64_t *sizes);
/* Byte offsets of windows [from, from + n), or INDEX_... for scatter. Returns the first window that tt.bounds forbids, or -1. */
int64_t index_plan_offsets(const index_plan *p, int64_t from, int64_t n, int64_t *out);
/* The error of that window. */
tt_status index_plan_fail(const index_plan *p, int64_t window);
#endif

/* loop_view.c - composes shape ops into one strided read.
 *
 * A view keeps, for each dim it is read over, which dim of the current base it walks and by what step. A reshape that splits or merges
 * dims ends that; what is left are strides in memory, which survive further reshapes only. */
#include "engine/loop_view.h"
#include "engine/loop.h"
#include <string.h>

enum { BIG_TRANSPOSE = 1 << 14 }; /* elements from which a blocked transpose beats strided reads */

typedef struct walk {
    int rank;
    int to[HLO_MAX_RANK];          /* base dim, -1: none */
    int64_t step[HLO_MAX_RANK];
    int64_t start[HLO_MAX_RANK];   /* per base dim */
} walk;

static int64_t inner_stride(const hlo_type *t, int dim) {
    int64_t s = 1;
    for (int i = t->rank - 1; i > dim; i--)
        s *= t->dims[i];
    return s;
}

static bool transpose_pays(const hlo_graph *g, const hlo_node *node) {
    const hlo_type *t = node->type;
    if (hlo_type_elements(t) < BIG_TRANSPOSE)
        return true;
    hlo_ints perm = hlo_attr_ints(node, HLO_A_PERMUTATION);
    const hlo_type *from = hlo_type_of(g, node->operands[0]);
    int last = t->rank - 1, from_last = from->rank - 1;
    while (last >= 0 && t->dims[last] == 1)
        last--;
    while (from_last >= 0 && from->dims[from_last] == 1)
        from_last--;
    return last < 0 || (perm.n == t->rank && perm.v[last] == from_last);
}

bool loop_view_is(const hlo_graph *g, hlo_ref r) {
    const hlo_node *node = hlo_node_at(g, r);
    switch (node->op) {
    case HLO_CONSTANT:
    case HLO_IOTA:
    case HLO_BROADCAST_IN_DIM:
    case HLO_SLICE:
    case HLO_REVERSE: return true;
    case HLO_TRANSPOSE: return transpose_pays(g, node);
    case HLO_RESHAPE: return !loop_reshape_is_member(g, r);
    default: return false;
    }
}

bool loop_reshape_is_member(const hlo_graph *g, hlo_ref r) {
    while (hlo_node_at(g, r)->op == HLO_RESHAPE)
        r = hlo_node_at(g, r)->operands[0];
    return loop_find_node(g, hlo_node_at(g, r)) != NULL;
}

/* The non-1 dims agree in order: the reshape only adds or drops dims of size 1. */
static bool same_but_ones(const hlo_type *a, const hlo_type *b, int *out_b_of_a) {
    int j = 0;
    for (int i = 0; i < a->rank; i++) {
        out_b_of_a[i] = -1;
        if (a->dims[i] == 1)
            continue;
        while (j < b->rank && b->dims[j] == 1)
            j++;
        if (j == b->rank || b->dims[j] != a->dims[i])
            return false;
        out_b_of_a[i] = j++;
    }
    while (j < b->rank && b->dims[j] == 1)
        j++;
    return j == b->rank;
}

/* Renames base dims: dim k of the old base is dim of[k] of the new one (-1: not walked any more). */
static void walk_rename(walk *w, int old_rank, const int *of) {
    int64_t start[HLO_MAX_RANK] = {0};
    for (int k = 0; k < old_rank; k++)
        if (of[k] >= 0)
            start[of[k]] = w->start[k];
    memcpy(w->start, start, sizeof start);
    for (int d = 0; d < w->rank; d++)
        w->to[d] = w->to[d] < 0 ? -1 : of[w->to[d]];
}

/* Moves the walk from the result of `node` to its operand. False: cannot. */
static bool walk_through(const hlo_graph *g, const hlo_node *node, walk *w) {
    const hlo_type *t = node->type, *from = hlo_type_of(g, node->operands[0]);
    int of[HLO_MAX_RANK];
    for (int i = 0; i < HLO_MAX_RANK; i++)
        of[i] = -1;
    switch (node->op) {
    case HLO_BROADCAST_IN_DIM: {
        hlo_ints map = hlo_attr_ints(node, HLO_A_BROADCAST_DIMENSIONS);
        if (map.n != from->rank)
            return false;
        for (int i = 0; i < map.n; i++)
            if (from->dims[i] != 1)
                of[map.v[i]] = i;
        walk_rename(w, t->rank, of);
        return true;
    }
    case HLO_TRANSPOSE: {
        hlo_ints perm = hlo_attr_ints(node, HLO_A_PERMUTATION);
        if (perm.n != t->rank || !transpose_pays(g, node))
            return false;
        for (int i = 0; i < perm.n; i++)
            of[i] = (int)perm.v[i];
        walk_rename(w, t->rank, of);
        return true;
    }
    case HLO_RESHAPE:
        if (!same_but_ones(t, from, of))
            return false;
        walk_rename(w, t->rank, of);
        return true;
    case HLO_SLICE: {
        hlo_ints start = hlo_attr_ints(node, HLO_A_START_INDICES), stride = hlo_attr_ints(node, HLO_A_STRIDES);
        if (start.n != t->rank)
            return false;
        for (int d = 0; d < w->rank; d++)
            if (w->to[d] >= 0 && stride.n)
                w->step[d] *= stride.v[w->to[d]];
        for (int k = 0; k < t->rank; k++)
            w->start[k] = w->start[k] * (stride.n ? stride.v[k] : 1) + start.v[k];
        return true;
    }
    case HLO_REVERSE: {
        hlo_ints dims = hlo_attr_ints(node, HLO_A_DIMENSIONS);
        for (int i = 0; i < dims.n; i++) {
            int k = (int)dims.v[i];
            w->start[k] = t->dims[k] - 1 - w->start[k];
            for (int d = 0; d < w->rank; d++)
                if (w->to[d] == k)
                    w->step[d] = -w->step[d];
        }
        return true;
    }
    default: return false;
    }
}

static bool in_scope(const loop_scope *scope, hlo_ref r) {
    if (!scope)
        return true;
    int at = scope->positions[r];
    return at >= 0 && at < scope->block->n_nodes && scope->block->nodes[at] == r;
}

void loop_view_resolve(const hlo_graph *g, const loop_scope *scope, hlo_ref r, const hlo_type *shape, loop_view *v) {
    const hlo_type *t = hlo_type_of(g, r);
    walk w = {.rank = shape->rank};
    bool spread = t->rank == 0 && shape->rank > 0;
    for (int d = 0; d < w.rank; d++) {
        w.to[d] = spread || shape->dims[d] == 1 ? -1 : d;
        w.step[d] = 1;
    }
    while (loop_view_is(g, r) && hlo_node_at(g, r)->n_operands && in_scope(scope, r) && walk_through(g, hlo_node_at(g, r), &w))
        r = hlo_node_at(g, r)->operands[0];
    t = hlo_type_of(g, r);
    v->rank = shape->rank;
    v->offset = 0;
    v->iota_dim = -1;
    memcpy(v->dims, shape->dims, sizeof v->dims);
    if (hlo_node_at(g, r)->op == HLO_IOTA) {
        int dim = (int)hlo_attr_int(hlo_node_at(g, r), HLO_A_IOTA_DIMENSION, 0);
        for (int d = 0; d < w.rank; d++)
            v->strides[d] = w.to[d] == dim ? w.step[d] : 0;
        v->offset = w.start[dim];
        v->iota_dim = dim;
        v->base = r;
        return;
    }
    for (int k = 0; k < t->rank; k++)
        v->offset += w.start[k] * inner_stride(t, k);
    for (int d = 0; d < w.rank; d++)
        v->strides[d] = w.to[d] < 0 ? 0 : w.step[d] * inner_stride(t, w.to[d]);
    while (hlo_node_at(g, r)->op == HLO_RESHAPE && loop_view_is(g, r) && in_scope(scope, r) && hlo_node_at(g, hlo_node_at(g, r)->operands[0])->op != HLO_IOTA)
        r = hlo_node_at(g, r)->operands[0];
    v->base = r;
}

/* program_move.c - chains of nodes that only move elements, as one step: strided copies straight from the values they start at.
 *
 * A slice, reverse, transpose, broadcast, reshape or concatenation that only others of them read is not computed where it stands: whoever
 * ends the chain reads through it, as does an update of what it writes. Views compose from their start outwards as strides; what does not compose (a reshape of a
 * transpose) is brought to memory. */
#include "engine/fast.h"
#include "engine/program_plan.h"
#include <string.h>

enum { MOST_DEPTH = 64, MOST_PIECES = 64 };

static bool moves(const hlo_node *n) {
    switch (n->op) {
    case HLO_SLICE:
    case HLO_REVERSE:
    case HLO_TRANSPOSE:
    case HLO_BROADCAST_IN_DIM:
    case HLO_RESHAPE:
    case HLO_CONCATENATE: return n->n_results == 1 && n->type && hlo_type_elements(n->type);
    default: return false;
    }
}

/* Which nodes others read through: all their readers move elements as well; of a transpose one, since a second reading would cost. */
void eng_moves_find(eng_planner *p, const hlo_block *b, const int *group, const bool *is_result, bool *out_lazy) {
    enum { NEEDED = 1 << 20 };
    int *uses = TT_NEW_N(p->temporary, int, b->n_nodes + 1), *depth = TT_NEW_N(p->temporary, int, b->n_nodes + 1);
    int *pieces = TT_NEW_N(p->temporary, int, b->n_nodes + 1);
    for (int i = 0; i < b->n_nodes; i++) {
        const hlo_node *n = hlo_node_at(p->g, b->nodes[i]);
        const bool mover = group[i] == -1 && moves(n);
        uses[i] += is_result[i] ? NEEDED : 0;
        for (uint32_t k = 0; k < n->n_operands; k++) {
            const int at = eng_position(p, b, n->operands[k]);
            const bool through = mover || (n->op == HLO_DYNAMIC_UPDATE_SLICE && k == 1);
            if (at >= 0 && uses[at] < NEEDED)
                uses[at] += through ? 1 : NEEDED;
        }
        if (!n->n_regions)
            continue;
        int n_captures;
        hlo_ref *captures;
        eng_captures_find(p, n, &n_captures, &captures);
        for (int k = 0; k < n_captures; k++)
            if (eng_position(p, b, captures[k]) >= 0)
                uses[eng_position(p, b, captures[k])] = NEEDED;
    }
    for (int i = 0; i < b->n_nodes; i++) {
        const hlo_node *n = hlo_node_at(p->g, b->nodes[i]);
        const int most = n->op == HLO_TRANSPOSE ? 1 : NEEDED - 1;
        depth[i] = pieces[i] = 1;
        if (group[i] != -1 || !moves(n))
            continue;
        pieces[i] = n->op == HLO_CONCATENATE ? 0 : 1;
        for (uint32_t k = 0; k < n->n_operands; k++) {
            const int at = eng_position(p, b, n->operands[k]);
            depth[i] = at >= 0 && out_lazy[at] && depth[at] >= depth[i] ? depth[at] + 1 : depth[i];
            const int below = at >= 0 && out_lazy[at] ? pieces[at] : 1;
            pieces[i] = n->op == HLO_CONCATENATE ? pieces[i] + below : below;
        }
        out_lazy[i] = uses[i] > 0 && uses[i] <= most && depth[i] < MOST_DEPTH && pieces[i] <= MOST_PIECES;
    }
}

/* ---- views ---- */

/* Element (i...) of a value's dims is base[offset + sum i_d * strides[d]], in elements. */
typedef struct view {
    hlo_ref base;
    int64_t offset, strides[HLO_MAX_RANK];
} view;

static void dense_strides(const hlo_type *t, int64_t *out) {
    int64_t s = 1;
    for (int d = t->rank - 1; d >= 0; d--, s *= t->dims[d + 1])
        out[d] = s;
}

/* The strides of the same elements over other dims; false if there are none. */
static bool reshape_strides(const hlo_type *from, const int64_t *strides, const hlo_type *to, int64_t *out) {
    int at = to->rank - 1;
    for (int d = from->rank - 1; d >= 0;) {
        int64_t n = from->dims[d], unit = strides[d], made = 1;
        if (n == 1) {
            d--;
            continue;
        }
        for (d--; d >= 0 && (from->dims[d] == 1 || strides[d] == unit * n); d--) /* dims that are walked as one */
            n *= from->dims[d];
        for (; at >= 0 && made < n; at--) {
            out[at] = unit * made;
            made *= to->dims[at];
        }
        if (made != n)
            return false;
    }
    for (; at >= 0; at--)
        out[at] = 0; /* dims of one element */
    return true;
}

static bool is_lazy(const eng_planner *p, const hlo_block *b, const bool *lazy, hlo_ref r) {
    return eng_position(p, b, r) >= 0 && lazy[eng_position(p, b, r)];
}

/* Composes node n's view of its operand, v, into one of its result. */
static bool view_apply(const hlo_graph *g, const hlo_node *n, view *v) {
    const hlo_type *t = n->type, *from = hlo_type_of(g, n->operands[0]);
    int64_t old[HLO_MAX_RANK];
    memcpy(old, v->strides, sizeof old);
    const hlo_ints starts = hlo_attr_ints(n, HLO_A_START_INDICES), steps = hlo_attr_ints(n, HLO_A_STRIDES);
    const hlo_ints map = hlo_attr_ints(n, n->op == HLO_TRANSPOSE ? HLO_A_PERMUTATION : n->op == HLO_REVERSE ? HLO_A_DIMENSIONS : HLO_A_BROADCAST_DIMENSIONS);
    switch (n->op) {
    case HLO_SLICE:
        for (int d = 0; d < t->rank; d++) {
            v->offset += starts.v[d] * old[d];
            v->strides[d] = old[d] * (steps.n ? steps.v[d] : 1);
        }
        return starts.n == t->rank;
    case HLO_REVERSE:
        for (int i = 0; i < map.n; i++) {
            v->offset += (t->dims[map.v[i]] - 1) * old[map.v[i]];
            v->strides[map.v[i]] = -old[map.v[i]];
        }
        return true;
    case HLO_TRANSPOSE:
        for (int d = 0; d < t->rank; d++)
            v->strides[d] = old[map.v[d]];
        return map.n == t->rank;
    case HLO_BROADCAST_IN_DIM:
        memset(v->strides, 0, sizeof v->strides);
        for (int i = 0; i < map.n; i++)
            v->strides[map.v[i]] = from->dims[i] == 1 ? 0 : old[i];
        return map.n == from->rank;
    case HLO_RESHAPE: return reshape_strides(from, old, t, v->strides);
    default: return false;
    }
}

static void view_of(const eng_planner *p, const hlo_block *b, const bool *lazy, hlo_ref r, bool root, view *v) {
    const hlo_node *n = hlo_node_at(p->g, r);
    if (eng_is_spread(p, n)) {
        *v = (view){.base = r};
        return;
    }
    if ((root || is_lazy(p, b, lazy, r)) && n->op != HLO_CONCATENATE) {
        view_of(p, b, lazy, n->operands[0], false, v);
        if (view_apply(p->g, n, v))
            return;
    }
    *v = (view){.base = r};
    dense_strides(n->type, v->strides);
}

/* ---- pieces ---- */

typedef struct builder {
    const eng_planner *p;
    const hlo_block *b;
    const bool *lazy;
    hlo_ref inputs[MOST_PIECES];
    int n_inputs, n_pieces, rank;
    fast_piece pieces[MOST_PIECES];
} builder;

static int add_input(builder *m, hlo_ref r) {
    for (int i = 0; i < m->n_inputs; i++)
        if (m->inputs[i] == r)
            return i;
    m->inputs[m->n_inputs] = r;
    return m->n_inputs++;
}

/* What is wanted of a value, and where it goes in the result: strides and offset in elements. */
typedef struct part { int64_t start[HLO_MAX_RANK], size[HLO_MAX_RANK], to[HLO_MAX_RANK], to_offset; } part;

static bool add_pieces(builder *m, hlo_ref r, bool root, const part *w);

static bool is_through(const builder *m, hlo_ref r, bool root) {
    return root || is_lazy(m->p, m->b, m->lazy, r);
}

/* Is there a concatenation, not in memory, under slices by ones and reverses? */
static bool is_over_concatenation(const builder *m, hlo_ref r, bool root) {
    for (;; root = false) {
        const hlo_node *n = hlo_node_at(m->p->g, r);
        if (!is_through(m, r, root) || n->op == HLO_CONCATENATE)
            return is_through(m, r, root);
        const hlo_ints steps = hlo_attr_ints(n, HLO_A_STRIDES);
        if (n->op != HLO_REVERSE && n->op != HLO_SLICE)
            return false;
        for (int d = 0; n->op == HLO_SLICE && d < steps.n; d++)
            if (steps.v[d] != 1)
                return false;
        r = n->operands[0];
    }
}

/* Each operand's share of the part. */
static bool add_concatenated(builder *m, const hlo_node *n, const part *w) {
    const int dim = (int)hlo_attr_int(n, HLO_A_DIMENSION, 0);
    int64_t at = 0;
    for (uint32_t k = 0; k < n->n_operands; k++) {
        const int64_t length = hlo_type_of(m->p->g, n->operands[k])->dims[dim];
        const int64_t first = loop_max(at, w->start[dim]), end = loop_min(at + length, w->start[dim] + w->size[dim]);
        part share = *w;
        share.start[dim] = first - at;
        share.size[dim] = end - first;
        share.to_offset += (first - w->start[dim]) * w->to[dim];
        if (first < end && !add_pieces(m, n->operands[k], false, &share))
            return false;
        at += length;
    }
    return true;
}

/* The same part, as one of the operand of a slice by ones or of a reverse. */
static part part_of_operand(const hlo_node *n, const part *w) {
    const hlo_ints ints = hlo_attr_ints(n, n->op == HLO_SLICE ? HLO_A_START_INDICES : HLO_A_DIMENSIONS);
    part below = *w;
    for (int i = 0; i < ints.n; i++) {
        const int d = n->op == HLO_SLICE ? i : (int)ints.v[i];
        if (n->op == HLO_SLICE) {
            below.start[d] += ints.v[i];
            continue;
        }
        below.start[d] = n->type->dims[d] - w->start[d] - w->size[d];
        below.to_offset += (w->size[d] - 1) * w->to[d];
        below.to[d] = -w->to[d];
    }
    return below;
}

static bool add_view(builder *m, hlo_ref r, bool root, const part *w) {
    const hlo_type *t = hlo_type_of(m->p->g, r);
    const int64_t size = tt_dtype_size(t->dtype);
    view v;
    view_of(m->p, m->b, m->lazy, r, root, &v);
    if (m->n_pieces == MOST_PIECES || (root && v.base == r))
        return false;
    fast_piece *q = &m->pieces[m->n_pieces++];
    *q = (fast_piece){.input = add_input(m, v.base), .rank = t->rank, .from_offset = v.offset * size, .to_offset = w->to_offset * size};
    memcpy(q->dims, w->size, sizeof q->dims);
    for (int d = 0; d < q->rank; d++) {
        q->from_offset += w->start[d] * v.strides[d] * size;
        q->from[d] = v.strides[d] * size;
        q->to[d] = w->to[d] * size;
    }
    return true;
}

/* Pieces for a part of value r. */
static bool add_pieces(builder *m, hlo_ref r, bool root, const part *w) {
    const hlo_graph *g = m->p->g;
    const hlo_node *n = hlo_node_at(g, r);
    if (!is_through(m, r, root))
        return add_view(m, r, root, w);
    if (n->op == HLO_CONCATENATE)
        return add_concatenated(m, n, w);
    if ((n->op == HLO_SLICE || n->op == HLO_REVERSE) && is_over_concatenation(m, r, root)) {
        const part below = part_of_operand(n, w);
        return add_pieces(m, n->operands[0], false, &below);
    }
    part below = {.to_offset = w->to_offset};
    const hlo_type *from = n->op == HLO_RESHAPE ? hlo_type_of(g, n->operands[0]) : NULL;
    bool whole = from && hlo_node_at(g, n->operands[0])->op == HLO_CONCATENATE && is_lazy(m->p, m->b, m->lazy, n->operands[0]);
    for (int d = 0; d < n->type->rank; d++)
        whole = whole && w->size[d] == n->type->dims[d];
    if (whole && reshape_strides(n->type, w->to, from, below.to)) {
        memcpy(below.size, from->dims, sizeof below.size);
        return add_pieces(m, n->operands[0], false, &below);
    }
    return add_view(m, r, root, w);
}

static int64_t piece_elements(const fast_piece *q) {
    int64_t n = 1;
    for (int d = 0; d < q->rank; d++)
        n *= q->dims[d];
    return n;
}

/* The large ones first: they bring what the edges are made of, and where these go, to the caches in long runs. */
static void sort_pieces(builder *m) {
    for (int i = 1; i < m->n_pieces; i++) {
        const fast_piece q = m->pieces[i];
        int at = i;
        for (; at > 0 && piece_elements(&m->pieces[at - 1]) < piece_elements(&q); at--)
            m->pieces[at] = m->pieces[at - 1];
        m->pieces[at] = q;
    }
}

const fast_move *eng_move_make(eng_planner *p, const hlo_block *b, const bool *lazy, hlo_ref r, int *out_n_inputs, const hlo_ref **out_inputs) {
    const hlo_node *n = hlo_node_at(p->g, r);
    bool chained = false;
    for (uint32_t k = 0; k < n->n_operands; k++)
        chained |= is_lazy(p, b, lazy, n->operands[k]) || eng_is_spread(p, hlo_node_at(p->g, n->operands[k]));
    if (!moves(n) || !chained)
        return NULL;
    builder *m = TT_NEW(p->temporary, builder);
    part all = {.to_offset = 0};
    m->p = p, m->b = b, m->lazy = lazy;
    dense_strides(n->type, all.to);
    memcpy(all.size, n->type->dims, sizeof all.size);
    if (!add_pieces(m, r, true, &all))
        return NULL;
    sort_pieces(m);
    fast_move *move = TT_NEW(p->arena, fast_move);
    *move = (fast_move){.size = tt_dtype_size(n->type->dtype), .n_pieces = m->n_pieces, .pieces = tt_arena_copy(p->arena, m->pieces, sizeof *m->pieces * (size_t)m->n_pieces)};
    fast_move_plan(move, n->type);
    *out_n_inputs = m->n_inputs;
    *out_inputs = m->inputs;
    return move;
}

fast_piece *eng_move_view(eng_planner *p, const hlo_block *b, const bool *lazy, hlo_ref r, hlo_ref *out_base) {
    const hlo_type *t = hlo_type_of(p->g, r);
    const int64_t size = tt_dtype_size(t->dtype);
    view v;
    view_of(p, b, lazy, r, false, &v);
    fast_piece *q = TT_NEW(p->arena, fast_piece);
    *q = (fast_piece){.rank = t->rank, .from_offset = v.offset * size};
    for (int d = 0; d < t->rank; d++) {
        q->dims[d] = t->dims[d];
        q->from[d] = v.strides[d] * size;
    }
    *out_base = v.base;
    return q;
}

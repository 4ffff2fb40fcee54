/* widen.c - excess precision: bf16 and f16 values that one op of a program hands to another stay f32 on the way.
 *
 * Asked for by run/ when it assembles a program of several ops and the user allows it. Only values between ops lose their rounding: within
 * an op a lowering may rely on it. */
#include "hlo/internal.h"
#include <stdlib.h>
#include <string.h>

typedef struct widener {
    hlo_graph *g;
    uint32_t cap;
    char *may;        /* by ref: its rounding may be left out */
    hlo_ref *instead; /* by ref: what its users are to use, 0: itself */
} widener;

static void grow(widener *w) {
    if (w->cap >= w->g->n_nodes)
        return;
    uint32_t cap = 2 * w->g->n_nodes;
    w->may = tt_realloc(w->may, cap);
    w->instead = tt_realloc(w->instead, cap * sizeof *w->instead);
    memset(w->may + w->cap, 0, cap - w->cap);
    memset(w->instead + w->cap, 0, (cap - w->cap) * sizeof *w->instead);
    w->cap = cap;
}

static bool is_half(tt_dtype d) {
    return d == TT_BF16 || d == TT_F16;
}

/* What r was in f32 before it was rounded, HLO_NONE when it may not be used. */
static hlo_ref before_rounding(const widener *w, hlo_ref r) {
    const hlo_node *n = hlo_node_at(w->g, r);
    return w->may[r] && n->op == HLO_CONVERT && hlo_type_of(w->g, n->operands[0])->dtype == TT_F32 ? n->operands[0] : HLO_NONE;
}

/* An elementwise op of half floats that is handed such a value: then it is computed in f32. */
static bool is_widened(const widener *w, const hlo_node *n) {
    if (!(hlo_op_flags((hlo_op)n->op) & HLO_F_ELEM) || n->n_results != 1 || !is_half(n->type->dtype) || n->op == HLO_CONVERT ||
        n->op == HLO_REDUCE_PRECISION || n->op == HLO_CHLO_NEXT_AFTER)
        return false;
    bool found = false;
    for (uint32_t k = 0; k < n->n_operands; k++) {
        const hlo_type *t = hlo_type_of(w->g, n->operands[k]);
        if (t->dtype != n->type->dtype && t->dtype != TT_PRED)
            return false;
        found = found || (is_half(t->dtype) && before_rounding(w, n->operands[k]));
    }
    return found;
}

static hlo_ref convert(widener *w, hlo_ref x, tt_dtype dtype) {
    hlo_type t = hlo_type_with(hlo_type_of(w->g, x), dtype);
    const hlo_type *kept = hlo_type_keep(w->g, &t);
    hlo_ref r = hlo_append(w->g, HLO_CONVERT, 1, &x, 0, NULL, 0, NULL, 1, &kept);
    grow(w);
    return r;
}

/* Computes node r in f32 and rounds its result. */
static void widen_node(widener *w, hlo_block *b, hlo_ref r) {
    hlo_ref *operands = (hlo_ref *)(uintptr_t)hlo_node_at(w->g, r)->operands; /* nodes own their operand lists */
    uint32_t n = hlo_node_at(w->g, r)->n_operands;
    for (uint32_t k = 0; k < n; k++) {
        if (!is_half(hlo_type_of(w->g, operands[k])->dtype))
            continue;
        hlo_ref wide = before_rounding(w, operands[k]);
        operands[k] = wide ? wide : convert(w, operands[k], TT_F32);
    }
    tt_dtype narrow = hlo_type_of(w->g, r)->dtype;
    hlo_type t = hlo_type_with(hlo_type_of(w->g, r), TT_F32);
    hlo_node_at(w->g, r)->type = hlo_type_keep(w->g, &t);
    hlo_block_push(w->g, b, r);
    hlo_ref rounded = convert(w, r, narrow);
    w->may[rounded] = w->may[r];
    w->instead[r] = rounded;
}

static void replace(const widener *w, uint32_t n, const hlo_ref *refs) {
    hlo_ref *mine = (hlo_ref *)(uintptr_t)refs;
    for (uint32_t i = 0; i < n; i++)
        if (w->instead[mine[i]])
            mine[i] = w->instead[mine[i]];
}

static void widen_block(widener *w, hlo_block *b) {
    hlo_graph *g = w->g;
    int n_nodes = b->n_nodes;
    const hlo_ref *nodes = b->nodes;
    b->n_nodes = b->cap_nodes = 0;
    b->nodes = NULL;
    for (int i = 0; i < n_nodes; i++) {
        const hlo_node n = *hlo_node_at(g, nodes[i]);
        replace(w, n.n_operands, n.operands);
        g->block = b;
        if (is_widened(w, &n)) {
            widen_node(w, b, nodes[i]);
            continue;
        }
        if (n.op == HLO_CONVERT && n.type->dtype == TT_F32)
            w->instead[nodes[i]] = before_rounding(w, n.operands[0]);
        hlo_block_push(g, b, nodes[i]);
        for (int r = 0; r < n.n_regions; r++)
            widen_block(w, n.regions[r]);
    }
    replace(w, (uint32_t)b->n_results, b->results);
}

void hlo_skip_roundings(hlo_graph *g, int n, const hlo_ref *values) {
    widener w = {.g = g};
    hlo_block *saved = g->block;
    grow(&w);
    for (int i = 0; i < n; i++)
        w.may[values[i]] = values[i] != HLO_NONE;
    widen_block(&w, g->funcs[0]->body);
    g->block = saved;
    free(w.may);
    free(w.instead);
}

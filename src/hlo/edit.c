/* edit.c - whole-graph edits before a program is compiled: calls and composites inlined, unused nodes
 * dropped. */
#include "hlo/splice.h"
#include <stdlib.h>
#include <string.h>

/* Inlining may multiply a program (functions that call each other twice, n deep); this many nodes are no
 * honest program. */
enum { MAX_NODES = 1 << 22, MAX_CALLS_DEEP = 200 };

typedef struct inliner {
    hlo_graph *g;
    bool (*keep)(const char *composite_name);
    char *state; /* by function: 0 to do, 1 in progress, 2 done */
    char *used;  /* by function: something still names it */
    int n_funcs, depth;
    hlo_ref *copied;  /* scratch map of the copier: callee's ref -> copy. Written before read in each copy. */
    hlo_ref *instead; /* ref of a replaced call's result -> value, 0: itself */
    uint32_t cap;
} inliner;

static void grow(inliner *in) {
    if (in->cap >= in->g->n_nodes)
        return;
    uint32_t cap = in->g->n_nodes * 2;
    in->copied = tt_realloc(in->copied, cap * sizeof(hlo_ref));
    in->instead = tt_realloc(in->instead, cap * sizeof(hlo_ref));
    memset(in->copied + in->cap, 0, (cap - in->cap) * sizeof(hlo_ref));
    memset(in->instead + in->cap, 0, (cap - in->cap) * sizeof(hlo_ref));
    in->cap = cap;
}

static int func_index(const hlo_graph *g, const char *name) {
    for (int i = 0; i < g->n_funcs; i++)
        if (!strcmp(g->funcs[i]->name, name))
            return i;
    return -1;
}

static void replace_refs(inliner *in, uint32_t n, const hlo_ref *refs) {
    hlo_ref *mine = (hlo_ref *)refs; /* nodes own their operand lists */
    for (uint32_t i = 0; i < n; i++)
        if (in->instead[mine[i]])
            mine[i] = in->instead[mine[i]];
}

static tt_status inline_func(inliner *in, int index);

static tt_status inline_call(inliner *in, hlo_ref call, int callee) {
    hlo_graph *g = in->g;
    const hlo_node n = *hlo_node_at(g, call);
    const hlo_block *body = g->funcs[callee]->body;
    if (body->n_params != (int)n.n_operands || body->n_results != n.n_results)
        TT_FAIL(INVALID_ARGUMENT, "call of '%s' does not fit it", g->funcs[callee]->name);
    if ((uint64_t)g->n_nodes + (uint64_t)body->n_nodes > MAX_NODES)
        TT_FAIL(RESOURCE_EXHAUSTED, "program has over %d nodes after inlining", MAX_NODES);
    for (int i = 0; i < body->n_params; i++)
        in->copied[body->params[i]] = n.operands[i];
    hlo_copier c = {.g = g, .source = g, .map = in->copied, .depth = in->depth};
    hlo_copy_block(&c, body);
    TT_TRY(hlo_graph_take_error(g));
    grow(in);
    hlo_ref first = n.n_results > 1 ? call + 1 : call;
    for (int i = 0; i < n.n_results; i++)
        in->instead[first + (hlo_ref)i] = in->copied[body->results[i]];
    return TT_OK;
}

/* Which function a node is to be replaced by; -1 when it stays. */
static tt_status callee_of(inliner *in, const hlo_node *n, int *out_index) {
    *out_index = -1;
    const char *name = n->op == HLO_CALL        ? hlo_attr_text(n, HLO_A_CALLEE, "")
                       : n->op == HLO_COMPOSITE ? hlo_attr_text(n, HLO_A_DECOMPOSITION, "")
                                                : NULL;
    if (!name)
        return TT_OK;
    int index = func_index(in->g, name);
    if (index < 0)
        TT_FAIL(INVALID_ARGUMENT, "function '%s' does not exist", name);
    TT_TRY(inline_func(in, index));
    if (n->op == HLO_COMPOSITE && in->keep && in->keep(hlo_attr_text(n, HLO_A_COMPOSITE_NAME, "")))
        in->used[index] = 1;
    else
        *out_index = index;
    return TT_OK;
}

static tt_status inline_block(inliner *in, hlo_block *b) {
    hlo_graph *g = in->g;
    int n_nodes = b->n_nodes;
    const hlo_ref *nodes = b->nodes;
    b->n_nodes = b->cap_nodes = 0;
    b->nodes = NULL;
    for (int i = 0; i < n_nodes; i++) {
        const hlo_node n = *hlo_node_at(g, nodes[i]);
        int callee;
        replace_refs(in, n.n_operands, n.operands);
        TT_TRY(callee_of(in, &n, &callee));
        g->block = b;
        if (callee >= 0) {
            TT_TRY(inline_call(in, nodes[i], callee));
            continue;
        }
        hlo_block_push(g, b, nodes[i]);
        for (int r = 0; r < n.n_regions; r++)
            TT_TRY(inline_block(in, n.regions[r]));
    }
    replace_refs(in, (uint32_t)b->n_results, b->results);
    return TT_OK;
}

static tt_status inline_func(inliner *in, int index) {
    if (in->state[index] == 2)
        return TT_OK;
    const char *name = in->g->funcs[index]->name;
    if (in->state[index] == 1)
        TT_FAIL(INVALID_ARGUMENT, "function '%s' calls itself", name);
    if (in->depth >= MAX_CALLS_DEEP)
        TT_FAIL(INVALID_ARGUMENT, "calls are nested deeper than %d", MAX_CALLS_DEEP);
    in->state[index] = 1;
    in->depth++;
    TT_TRY(inline_block(in, in->g->funcs[index]->body));
    in->depth--;
    in->state[index] = 2;
    return TT_OK;
}

/* Attributes kept as text may name functions (custom calls' called_computations): those stay. */
static void mark_named_in_text(inliner *in, const hlo_block *b) {
    for (int i = 0; i < b->n_nodes; i++) {
        const hlo_node *n = hlo_node_at(in->g, b->nodes[i]);
        for (int k = 0; k < n->n_attrs; k++) {
            if (n->attrs[k].kind != HLO_K_RAW || !n->attrs[k].text || !strchr(n->attrs[k].text, '@'))
                continue;
            for (int f = 0; f < in->n_funcs; f++)
                in->used[f] |= strstr(n->attrs[k].text, in->g->funcs[f]->name) != NULL;
        }
        for (int r = 0; r < n->n_regions; r++)
            mark_named_in_text(in, n->regions[r]);
    }
}

static void drop_unused(inliner *in) {
    hlo_graph *g = in->g;
    int kept = 0;
    for (int f = 0; f < in->n_funcs; f++)
        mark_named_in_text(in, g->funcs[f]->body);
    for (int f = 0; f < in->n_funcs; f++)
        if (f == 0 || g->funcs[f]->is_public || in->used[f])
            g->funcs[kept++] = g->funcs[f];
    /* the slots freed stay: the list only grows at powers of two, and n_funcs may only shrink to one that
     * keeps room */
    hlo_func **funcs = TT_NEW_N(g->arena, hlo_func *, kept * 2 + 1);
    memcpy(funcs, g->funcs, sizeof *funcs * (size_t)kept);
    g->funcs = funcs;
    g->n_funcs = g->cap_funcs = kept;
}

tt_status hlo_inline(hlo_graph *g, bool (*keep)(const char *composite_name)) {
    TT_TRY(hlo_graph_take_error(g));
    inliner in = {.g = g, .keep = keep, .n_funcs = g->n_funcs};
    in.state = tt_calloc((size_t)g->n_funcs, 1);
    in.used = tt_calloc((size_t)g->n_funcs, 1);
    grow(&in);
    hlo_block *saved_block = g->block;
    hlo_func *saved_func = g->func;
    g->func = NULL;
    tt_status error = TT_OK;
    for (int f = 0; f < g->n_funcs && !error; f++)
        if (f == 0 || g->funcs[f]->is_public)
            error = inline_func(&in, f);
    g->block = saved_block;
    g->func = saved_func;
    if (!error)
        drop_unused(&in);
    free(in.state);
    free(in.used);
    free(in.copied);
    free(in.instead);
    return error;
}

/* ---- dead nodes ---- */

static bool has_effect(const hlo_graph *g, const hlo_node *n) {
    if (n->op == HLO_CUSTOM_CALL && !hlo_attr_int(n, HLO_A_HAS_SIDE_EFFECT, 0))
        return false;
    if (hlo_op_flags((hlo_op)n->op) & HLO_F_EFFECT || n->op == HLO_CALL)
        return true;
    for (int r = 0; r < n->n_regions; r++)
        for (int i = 0; i < n->regions[r]->n_nodes; i++)
            if (has_effect(g, hlo_node_at(g, n->regions[r]->nodes[i])))
                return true;
    return false;
}

static void mark(const hlo_graph *g, char *live, hlo_ref r) {
    live[g->nodes[r].op == HLO_RESULT ? g->nodes[r].operands[0] : r] = 1;
}

/* Backwards: when a node is reached, all its users have been. */
static void sweep(hlo_graph *g, hlo_block *b, char *live) {
    for (int i = 0; i < b->n_results; i++)
        mark(g, live, b->results[i]);
    for (int i = b->n_nodes - 1; i >= 0; i--) {
        const hlo_node *n = hlo_node_at(g, b->nodes[i]);
        if (!live[b->nodes[i]] && !has_effect(g, n))
            continue;
        live[b->nodes[i]] = 1;
        for (uint32_t k = 0; k < n->n_operands; k++)
            mark(g, live, n->operands[k]);
        for (int r = 0; r < n->n_regions; r++)
            sweep(g, n->regions[r], live);
    }
    int kept = 0;
    for (int i = 0; i < b->n_nodes; i++)
        if (live[b->nodes[i]])
            b->nodes[kept++] = b->nodes[i];
    b->n_nodes = kept;
}

void hlo_dce(hlo_graph *g) {
    if (!g->n_funcs)
        return;
    char *live = tt_calloc(g->n_nodes, 1);
    sweep(g, g->funcs[0]->body, live);
    free(live);
}

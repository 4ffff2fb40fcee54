/* splice.c - copying a function's body into another graph (run/'s windows), and dropping what nobody needs.
 *
 * Private functions that composites and calls name are copied once per (graph, source function). */
#include "hlo/internal.h"
#include <string.h>

/* Functions already copied into a graph: a list in its arena. */
struct hlo_copied { const hlo_graph *source; const hlo_func *func; const char *name; struct hlo_copied *next; };

typedef struct copier {
    hlo_graph *g;
    const hlo_graph *source;
    hlo_ref *map;                       /* source ref -> ref in g */
    int depth;
} copier;

static void copy_block(copier *c, const hlo_block *from);

static const char *copy_func(hlo_graph *g, const hlo_graph *source, const char *name, int depth) {
    const hlo_func *f = hlo_func_find(source, name);
    if (!f || depth > HLO_MAX_DEPTH) { HLO_FAIL(g, INTERNAL, "no function %s to copy", name); return name; }
    for (struct hlo_copied *k = g->copied; k; k = k->next)
        if (k->source == source && k->func == f) return k->name;
    const char *unique = tt_arena_printf(g->arena, "%s", name);
    for (int i = 1; hlo_func_find(g, unique); i++) unique = tt_arena_printf(g->arena, "%s.%d", name, i);
    hlo_func *saved_func = g->func; hlo_block *saved_block = g->block;
    hlo_func_begin(g, unique, false);
    copier c = {g, source, TT_NEW_N(g->arena, hlo_ref, source->n_nodes), depth + 1};
    for (int i = 0; i < f->body->n_params; i++) c.map[f->body->params[i]] = hlo_append_param(g, g->block, hlo_type_keep(g, hlo_type_of(source, f->body->params[i])));
    hlo_block *body = g->block;
    copy_block(&c, f->body);
    hlo_ref *results = TT_NEW_N(g->arena, hlo_ref, f->body->n_results + 1);
    for (int i = 0; i < f->body->n_results; i++) results[i] = c.map[f->body->results[i]];
    hlo_block_set_results(g, body, f->body->n_results, results);
    g->func = saved_func; g->block = saved_block;
    struct hlo_copied *k = TT_NEW(g->arena, struct hlo_copied);
    *k = (struct hlo_copied){source, f, unique, g->copied};
    g->copied = k;
    return unique;
}

/* Attribute data is shared, not copied: the source outlives the graph. Only function names change. */
static hlo_attr copy_attr(copier *c, const hlo_attr *from) {
    hlo_attr a = *from;
    if (a.name == HLO_A_DECOMPOSITION || a.name == HLO_A_CALLEE) a.text = copy_func(c->g, c->source, from->text, c->depth);
    return a;
}

static void copy_node(copier *c, hlo_ref ref) {
    const hlo_node *n = hlo_node_at(c->source, ref);
    hlo_graph *g = c->g;
    hlo_ref *operands = TT_NEW_N(g->arena, hlo_ref, n->n_operands + 1);
    for (uint32_t i = 0; i < n->n_operands; i++) operands[i] = c->map[n->operands[i]];
    hlo_attr *attrs = TT_NEW_N(g->arena, hlo_attr, n->n_attrs + 1);
    for (int i = 0; i < n->n_attrs; i++) attrs[i] = copy_attr(c, &n->attrs[i]);
    hlo_block **regions = TT_NEW_N(g->arena, hlo_block *, n->n_regions + 1);
    for (int r = 0; r < n->n_regions; r++) {
        hlo_block *saved, *region = hlo_block_begin(g, &saved);
        const hlo_block *from = n->regions[r];
        for (int i = 0; i < from->n_params; i++) c->map[from->params[i]] = hlo_append_param(g, region, hlo_type_keep(g, hlo_type_of(c->source, from->params[i])));
        copy_block(c, from);
        hlo_ref *results = TT_NEW_N(g->arena, hlo_ref, from->n_results + 1);
        for (int i = 0; i < from->n_results; i++) results[i] = c->map[from->results[i]];
        hlo_block_set_results(g, region, from->n_results, results);
        hlo_block_end(g, saved);
        regions[r] = region;
    }
    const hlo_type **types = TT_NEW_N(g->arena, const hlo_type *, n->n_results + 1);
    for (int i = 0; i < n->n_results; i++) types[i] = hlo_type_keep(g, hlo_type_of(c->source, n->n_results > 1 ? ref + 1 + (hlo_ref)i : ref));
    hlo_ref made = hlo_append(g, (hlo_op)n->op, (int)n->n_operands, operands, n->n_attrs, attrs, n->n_regions, regions, n->n_results, types);
    if (n->n_results > 1) for (int i = 0; i < n->n_results; i++) c->map[ref + 1 + (hlo_ref)i] = made + (hlo_ref)i;
    else c->map[ref] = made;
    hlo_ref head = n->n_results > 1 ? made - 1 : made;
    g->nodes[head].loc = n->loc;
}

static void copy_block(copier *c, const hlo_block *from) {
    for (int i = 0; i < from->n_nodes && !c->g->error; i++) copy_node(c, from->nodes[i]);
}

void hlo_graph_splice(hlo_graph *g, const hlo_graph *source, const hlo_ref *args, hlo_ref *out_results) {
    const hlo_block *body = source->funcs[0]->body;
    memset(out_results, 0, sizeof *out_results * (size_t)body->n_results);
    if (g->error) return;
    copier c = {g, source, TT_NEW_N(g->arena, hlo_ref, source->n_nodes), 0};
    for (int i = 0; i < body->n_params; i++) {
        if (!args[i] || !hlo_type_equal(hlo_type_of(g, args[i]), hlo_type_of(source, body->params[i]))) {
            HLO_FAIL(g, INTERNAL, "a fragment's argument %d is not a %s", i, hlo_type_print(g->arena, hlo_type_of(source, body->params[i])));
            return;
        }
        c.map[body->params[i]] = args[i];
    }
    copy_block(&c, body);
    for (int i = 0; i < body->n_results; i++) out_results[i] = c.map[body->results[i]];
}

/* ---- dead code ---- */
static void mark(const hlo_graph *g, const hlo_block *b, bool *live);

static void mark_node(const hlo_graph *g, hlo_ref r, bool *live) {
    const hlo_node *n = hlo_node_at(g, r);
    live[r] = true;
    for (uint32_t i = 0; i < n->n_operands; i++) {
        hlo_ref x = n->operands[i];
        live[x] = true;
        if (g->nodes[x].op == HLO_RESULT) live[g->nodes[x].operands[0]] = true;
    }
    for (int k = 0; k < n->n_regions; k++) mark(g, n->regions[k], live);
}

static void mark(const hlo_graph *g, const hlo_block *b, bool *live) {
    for (int i = 0; i < b->n_results; i++) {
        live[b->results[i]] = true;
        if (g->nodes[b->results[i]].op == HLO_RESULT) live[g->nodes[b->results[i]].operands[0]] = true;
    }
    for (int i = b->n_nodes - 1; i >= 0; i--)
        if (live[b->nodes[i]] || (hlo_op_flags((hlo_op)g->nodes[b->nodes[i]].op) & HLO_F_EFFECT)) mark_node(g, b->nodes[i], live);
}

void hlo_dce(hlo_graph *g) {
    bool *live = TT_NEW_N(g->arena, bool, g->n_nodes + 1);
    hlo_block *b = g->funcs[0]->body;
    mark(g, b, live);
    int kept = 0;
    for (int i = 0; i < b->n_nodes; i++)
        if (live[b->nodes[i]]) b->nodes[kept++] = b->nodes[i];
    b->n_nodes = kept;
}

/* splice.c - copies of blocks: a fragment into a window (hlo_graph_splice), a callee into its caller
 * (edit.c).
 *
 * Everything is copied deeply, since the source may go before the copy does. Functions that composites and
 * calls name come along once per content: what counts is their body's hash, not where the source lies in
 * memory. */
#include "hlo/splice.h"
#include <stdlib.h>
#include <string.h>

struct hlo_copied {
    tt_hash content;
    const char *name;
    struct hlo_copied *next;
};

static const char *copy_func(hlo_copier *c, const char *name);

static void *keep(hlo_graph *g, const void *data, size_t bytes) {
    return data ? tt_arena_copy(g->arena, data, bytes) : NULL;
}

static hlo_ints keep_ints(hlo_graph *g, hlo_ints v) {
    return (hlo_ints){v.n, keep(g, v.v, sizeof *v.v * (size_t)v.n)};
}

static hlo_attr copy_attr(hlo_copier *c, const hlo_attr *from) {
    hlo_graph *g = c->g;
    hlo_attr a = *from;
    if (c->source == g)
        return a; /* one arena: nothing to copy, and callees are where they were */
    if (a.kind == HLO_K_SYMBOL)
        a.text = copy_func(c, from->text);
    else if (a.text)
        a.text = keep(g, a.text, strlen(a.text) + 1);
    if (a.ints && a.kind != HLO_K_INT && a.kind != HLO_K_BOOL)
        a.ints = keep(g, a.ints, sizeof *a.ints * (size_t)a.n);
    if (a.data)
        a.data = keep(g, a.data, (size_t)(a.splat ? tt_dtype_size(a.type->dtype) : hlo_type_bytes(a.type)));
    if (a.type)
        a.type = hlo_type_keep(g, a.type);
    if (a.dims) {
        hlo_dims d = *a.dims;
        d.a = keep_ints(g, d.a);
        d.b = keep_ints(g, d.b);
        d.c = keep_ints(g, d.c);
        d.d = keep_ints(g, d.d);
        d.e = keep_ints(g, d.e);
        a.dims = keep(g, &d, sizeof d);
    }
    return a;
}

static const hlo_type *copy_type(hlo_copier *c, const hlo_type *from) {
    return c->source == c->g || !from ? from : hlo_type_keep(c->g, from);
}

/* Most ops keep the type of their first operand: then the copy shares the copied operand's. */
static const hlo_type *copy_result_type(hlo_copier *c, const hlo_node *n, const hlo_type *from) {
    if (n->n_operands && hlo_type_of(c->source, n->operands[0]) == from && from) {
        const hlo_type *copied = hlo_type_of(c->g, c->map[n->operands[0]]);
        if (copied && hlo_type_equal(copied, from))
            return copied;
    }
    return copy_type(c, from);
}

static hlo_block *copy_region(hlo_copier *c, const hlo_block *from) {
    hlo_graph *g = c->g;
    hlo_block *saved, *region = hlo_block_begin(g, &saved);
    for (int i = 0; i < from->n_params; i++) {
        hlo_ref copied = hlo_append_param(g, region, copy_type(c, hlo_type_of(c->source, from->params[i])));
        c->map[from->params[i]] = copied;
    }
    hlo_copy_block(c, from);
    hlo_ref *results = TT_NEW_N(g->arena, hlo_ref, from->n_results);
    for (int i = 0; i < from->n_results; i++)
        results[i] = c->map[from->results[i]];
    hlo_block_set_results(g, region, from->n_results, results);
    hlo_block_end(g, saved);
    return region;
}

static void copy_node(hlo_copier *c, hlo_ref ref) {
    hlo_graph *g = c->g;
    const hlo_node n = *hlo_node_at(c->source, ref); /* a copy: in one graph, appending moves the nodes */
    hlo_ref *operands = TT_NEW_N(g->arena, hlo_ref, n.n_operands);
    for (uint32_t i = 0; i < n.n_operands; i++)
        operands[i] = c->map[n.operands[i]];
    hlo_attr *attrs = TT_NEW_N(g->arena, hlo_attr, n.n_attrs);
    for (int i = 0; i < n.n_attrs; i++)
        attrs[i] = copy_attr(c, &n.attrs[i]);
    hlo_block **regions = TT_NEW_N(g->arena, hlo_block *, n.n_regions);
    for (int r = 0; r < n.n_regions; r++)
        regions[r] = copy_region(c, n.regions[r]);
    const hlo_type *one, **types = n.n_results > 1 ? TT_NEW_N(g->arena, const hlo_type *, n.n_results) : &one;
    for (int i = 0; i < n.n_results; i++)
        types[i] =
            copy_result_type(c, &n, n.n_results > 1 ? hlo_type_of(c->source, ref + 1 + (hlo_ref)i) : n.type);
    uint32_t saved_loc = g->loc;
    g->loc = n.loc;
    hlo_ref made = hlo_append(g, (hlo_op)n.op, (int)n.n_operands, operands, n.n_attrs, attrs, n.n_regions,
                              regions, n.n_results, types);
    g->loc = saved_loc;
    if (n.n_results < 2)
        c->map[ref] = made;
    for (int i = 0; i < n.n_results && n.n_results > 1; i++)
        c->map[ref + 1 + (hlo_ref)i] = made + (hlo_ref)i;
}

void hlo_copy_block(hlo_copier *c, const hlo_block *from) {
    if (++c->depth > 4 * HLO_MAX_DEPTH)
        HLO_FAIL(c->g, INVALID_ARGUMENT, "regions and calls are nested deeper than %d", 4 * HLO_MAX_DEPTH);
    for (int i = 0; i < from->n_nodes && !c->g->error; i++)
        copy_node(c, from->nodes[i]);
    c->depth--;
}

static tt_hash func_content(const hlo_graph *source, const hlo_func *f) {
    tt_hash h = hlo_func_hash(source, f);
    return tt_hash_bytes(f->name, strlen(f->name), h);
}

static const char *copy_func(hlo_copier *c, const char *name) {
    hlo_graph *g = c->g;
    const hlo_func *f = hlo_func_find(c->source, name);
    if (!f || c->depth > 4 * HLO_MAX_DEPTH) {
        HLO_FAIL(g, INTERNAL, "function '%s' to copy does not exist or calls itself", name);
        return keep(g, name, strlen(name) + 1);
    }
    tt_hash content = func_content(c->source, f);
    for (struct hlo_copied *k = g->copied; k; k = k->next)
        if (tt_hash_equal(k->content, content))
            return k->name;
    const char *unique = tt_arena_printf(g->arena, "%s", name);
    for (int i = 1; hlo_func_find(g, unique); i++)
        unique = tt_arena_printf(g->arena, "%s.%d", name, i);
    hlo_func *saved_func = g->func;
    hlo_block *saved_block = g->block;
    hlo_func_begin(g, unique, false);
    hlo_copier inner = {.g = g, .source = c->source, .depth = c->depth + 1};
    inner.map = TT_NEW_N(g->arena, hlo_ref, c->source->n_nodes);
    g->func->body = copy_region(&inner, f->body);
    hlo_func_set_params(g, g->func);
    g->func = saved_func;
    g->block = saved_block;
    struct hlo_copied *k = TT_NEW(g->arena, struct hlo_copied);
    *k = (struct hlo_copied){content, unique, g->copied};
    g->copied = k;
    return unique;
}

void hlo_graph_splice(hlo_graph *g, const hlo_graph *source, const hlo_ref *args, hlo_ref *out_results) {
    const hlo_block *body = source->funcs[0]->body;
    hlo_copier c = {.g = g, .source = source, .map = tt_calloc(source->n_nodes, sizeof(hlo_ref))};
    /* args are read before results are written: they may be one array */
    for (int i = 0; i < body->n_params && !g->error; i++) {
        const hlo_type *want = hlo_type_of(source, body->params[i]);
        if (!args[i] || args[i] >= g->n_nodes || !hlo_type_equal(hlo_type_of(g, args[i]), want))
            HLO_FAIL(g, INTERNAL, "argument %d of a fragment is not %s", i, hlo_type_print(g->arena, want));
        c.map[body->params[i]] = args[i];
    }
    if (!g->error)
        hlo_copy_block(&c, body);
    for (int i = 0; i < body->n_results; i++)
        out_results[i] = g->error ? HLO_NONE : c.map[body->results[i]];
    free(c.map);
}

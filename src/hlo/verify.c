/* verify.c - a whole graph checked (order, scopes, types, regions, callees) and hashed.
 *
 * The engine verifies whatever it parsed before it runs a step, so kernels may rely on the shape rules. */
#include "hlo/internal.h"
#include <stdlib.h>
#include <string.h>

typedef struct verifier {
    const hlo_graph *g;
    char *visible; /* by hlo_ref: defined before here, in this block or around it */
    int depth;
} verifier;

static bool is_visible(const verifier *v, hlo_ref r) {
    return r && r < v->g->n_nodes && v->visible[r];
}

static void set_visible(verifier *v, hlo_ref r, const hlo_node *n, char value) {
    if (n->n_results < 2) {
        v->visible[r] = n->n_results == 1 ? value : 0;
        return;
    }
    for (hlo_ref i = 1; i <= n->n_results; i++)
        v->visible[r + i] = value;
}

static tt_status check_block(verifier *v, const hlo_block *b);

static tt_status check_types(verifier *v, hlo_ref r, const hlo_node *n) {
    const hlo_graph *g = v->g;
    hlo_type one, *types = &one, *given = &one;
    if (n->n_results > 1) {
        types = TT_NEW_N(g->arena, hlo_type, n->n_results);
        given = TT_NEW_N(g->arena, hlo_type, n->n_results);
    }
    hlo_type given_one;
    if (n->n_results == 1) {
        given = &given_one;
        given_one = *n->type;
    }
    for (hlo_ref i = 0; i < n->n_results && n->n_results > 1; i++)
        given[i] = *hlo_type_of(g, r + 1 + i);
    for (int i = 0; i < n->n_results; i++)
        if (!hlo_type_valid(&given[i]))
            TT_FAIL(INVALID_ARGUMENT, "%s: result type %s is out of range", hlo_op_text((hlo_op)n->op),
                    hlo_type_print(g->arena, &given[i]));
    return hlo_infer(g, n, n->n_results ? given : NULL, types);
}

static tt_status check_node(verifier *v, hlo_ref r) {
    const hlo_graph *g = v->g;
    if (!r || r >= g->n_nodes)
        TT_FAIL(INTERNAL, "a block lists node %u of %u", r, g->n_nodes);
    const hlo_node *n = hlo_node_at(g, r);
    for (uint32_t i = 0; i < n->n_operands; i++)
        if (!is_visible(v, n->operands[i]))
            TT_FAIL(INVALID_ARGUMENT, "%s: operand %u is not defined before it", hlo_op_text((hlo_op)n->op),
                    i);
    if (n->n_regions && !(hlo_op_flags((hlo_op)n->op) & HLO_F_REGION))
        TT_FAIL(INVALID_ARGUMENT, "%s has regions, takes none", hlo_op_text((hlo_op)n->op));
    for (int i = 0; i < n->n_regions; i++)
        TT_TRY(check_block(v, n->regions[i]));
    tt_arena_mark mark = tt_arena_mark_get(g->arena);
    tt_status error = check_types(v, r, n);
    tt_arena_rewind(g->arena, mark);
    if (error)
        return error;
    set_visible(v, r, n, 1);
    return TT_OK;
}

static tt_status check_block(verifier *v, const hlo_block *b) {
    const hlo_graph *g = v->g;
    if (v->depth > 8 * HLO_MAX_DEPTH)
        TT_FAIL(INVALID_ARGUMENT, "regions are nested deeper than %d", 8 * HLO_MAX_DEPTH);
    v->depth++;
    for (int i = 0; i < b->n_params; i++) {
        if (!hlo_type_valid(hlo_type_of(g, b->params[i])))
            TT_FAIL(INVALID_ARGUMENT, "parameter %d has a type out of range", i);
        v->visible[b->params[i]] = 1;
    }
    for (int i = 0; i < b->n_nodes; i++)
        TT_TRY(check_node(v, b->nodes[i]));
    for (int i = 0; i < b->n_results; i++)
        if (!is_visible(v, b->results[i]))
            TT_FAIL(INVALID_ARGUMENT, "returned value %d is not defined in its block", i);
    /* what a block defines ends with it */
    for (int i = 0; i < b->n_params; i++)
        v->visible[b->params[i]] = 0;
    for (int i = 0; i < b->n_nodes; i++)
        set_visible(v, b->nodes[i], hlo_node_at(g, b->nodes[i]), 0);
    v->depth--;
    return TT_OK;
}

static tt_status check_aliases(const hlo_graph *g, const hlo_func *f) {
    const hlo_block *b = f->body;
    for (int i = 0; f->alias && i < b->n_params; i++) {
        int to = f->alias[i];
        if (to < 0)
            continue;
        if (to >= b->n_results ||
            !hlo_type_equal(hlo_type_of(g, b->params[i]), hlo_type_of(g, b->results[to])))
            TT_FAIL(INVALID_ARGUMENT, "parameter %d cannot become result %d: no such result, or another type",
                    i, to);
        for (int k = 0; k < i; k++)
            if (f->alias[k] == to)
                TT_FAIL(INVALID_ARGUMENT, "parameters %d and %d both become result %d", k, i, to);
    }
    return TT_OK;
}

tt_status hlo_verify(const hlo_graph *g) {
    if (!g->n_funcs)
        TT_FAIL(INVALID_ARGUMENT, "the module has no function");
    for (int i = 0; i < g->n_funcs; i++)
        if (hlo_func_find(g, g->funcs[i]->name) != g->funcs[i])
            TT_FAIL(INVALID_ARGUMENT, "function '%s' is defined twice", g->funcs[i]->name);
    verifier v = {.g = g, .visible = tt_calloc(g->n_nodes, 1)};
    tt_status error = TT_OK;
    for (int i = 0; i < g->n_funcs && !error; i++) {
        v.depth = 0;
        error = check_block(&v, g->funcs[i]->body);
        if (!error)
            error = check_aliases(g, g->funcs[i]);
        if (error)
            error = tt_status_in(error, "function '%s'", g->funcs[i]->name);
    }
    free(v.visible);
    return error;
}

/* ---- hash ---- */

typedef struct func_memo {
    char state; /* 0 not hashed, 1 being hashed, 2 done */
    tt_hash h;
} func_memo;

typedef struct hasher {
    const hlo_graph *g;
    func_memo *memo; /* by function; shared by all hashers of a walk */
    uint32_t *ids;   /* by hlo_ref: its number in the order of its function's walk; shared likewise */
    uint32_t next;
    int depth; /* calls deep: past a bound a callee counts by its name only */
    tt_hash h;
} hasher;

static void hash_text(hasher *s, const char *text) {
    s->h = tt_hash_bytes(text, strlen(text), s->h);
}

static void hash_type(hasher *s, const hlo_type *t) {
    tt_hash_word(&s->h, (uint64_t)t->dtype << 32 | (uint64_t)t->rank);
    for (int i = 0; i < t->rank; i++)
        tt_hash_word(&s->h, (uint64_t)t->dims[i]);
}

static void hash_ints(hasher *s, hlo_ints v) {
    tt_hash_word(&s->h, (uint64_t)v.n);
    for (int i = 0; i < v.n; i++)
        tt_hash_word(&s->h, (uint64_t)v.v[i]);
}

static void hash_block(hasher *s, const hlo_block *b);

static tt_hash hash_func(const hlo_graph *g, func_memo *memo, uint32_t *ids, const hlo_func *f, int depth);

/* A callee counts by what it computes, not by its name. */
static void hash_callee(hasher *s, const char *name) {
    int index = 0;
    while (index < s->g->n_funcs && strcmp(s->g->funcs[index]->name, name))
        index++;
    if (index == s->g->n_funcs || s->memo[index].state == 1 || s->depth > 1000) {
        hash_text(s, name);
        return;
    }
    func_memo *m = &s->memo[index];
    if (m->state == 0) {
        m->state = 1;
        m->h = hash_func(s->g, s->memo, s->ids, s->g->funcs[index], s->depth + 1);
        m->state = 2;
    }
    tt_hash_word(&s->h, m->h.a);
    tt_hash_word(&s->h, m->h.b);
}

static void hash_attr(hasher *s, const hlo_attr *a) {
    tt_hash_word(&s->h, (uint64_t)a->name << 32 | (uint64_t)a->kind << 8 | (uint64_t)a->splat);
    switch (a->kind) {
    case HLO_K_INT:
    case HLO_K_BOOL:
        tt_hash_word(&s->h, (uint64_t)a->one);
        return;
    case HLO_K_INTS:
    case HLO_K_INTS2D:
        tt_hash_word(&s->h, (uint64_t)a->rows);
        hash_ints(s, (hlo_ints){a->n, a->ints});
        return;
    case HLO_K_FLOAT: {
        uint64_t bits;
        memcpy(&bits, &a->number, sizeof bits);
        tt_hash_word(&s->h, bits);
        return;
    }
    case HLO_K_SYMBOL:
        hash_callee(s, a->text);
        return;
    case HLO_K_DENSE:
        hash_type(s, a->type);
        s->h = tt_hash_bytes(
            a->data, (size_t)(a->splat ? tt_dtype_size(a->type->dtype) : hlo_type_bytes(a->type)), s->h);
        return;
    case HLO_K_DIMS:
        tt_hash_word(&s->h, (uint64_t)a->dims->kind << 32 ^ (uint64_t)a->dims->index_vector_dim);
        hash_ints(s, a->dims->a);
        hash_ints(s, a->dims->b);
        hash_ints(s, a->dims->c);
        hash_ints(s, a->dims->d);
        hash_ints(s, a->dims->e);
        return;
    case HLO_K_ENUM:
    case HLO_K_ENUMS:
    case HLO_K_STRING:
    case HLO_K_RAW:
        hash_text(s, a->text);
        return;
    }
}

static void hash_node(hasher *s, hlo_ref r) {
    const hlo_node *n = hlo_node_at(s->g, r);
    tt_hash_word(&s->h, (uint64_t)n->op << 48 | (uint64_t)n->n_results << 32 | n->n_operands);
    tt_hash_word(&s->h, (uint64_t)n->n_attrs << 32 | n->n_regions);
    for (uint32_t i = 0; i < n->n_operands; i++)
        tt_hash_word(&s->h, s->ids[n->operands[i]]);
    for (int i = 0; i < n->n_attrs; i++)
        hash_attr(s, &n->attrs[i]);
    for (int i = 0; i < n->n_regions; i++)
        hash_block(s, n->regions[i]);
    hlo_ref first = n->n_results > 1 ? r + 1 : r;
    for (hlo_ref i = 0; i < n->n_results; i++) {
        hash_type(s, hlo_type_of(s->g, first + i));
        s->ids[first + i] = s->next++;
    }
}

static void hash_block(hasher *s, const hlo_block *b) {
    tt_hash_word(&s->h, (uint64_t)b->n_params << 32 | (uint64_t)b->n_nodes);
    for (int i = 0; i < b->n_params; i++) {
        hash_type(s, hlo_type_of(s->g, b->params[i]));
        s->ids[b->params[i]] = s->next++;
    }
    for (int i = 0; i < b->n_nodes; i++)
        hash_node(s, b->nodes[i]);
    tt_hash_word(&s->h, (uint64_t)b->n_results);
    for (int i = 0; i < b->n_results; i++)
        tt_hash_word(&s->h, s->ids[b->results[i]]);
}

static tt_hash hash_func(const hlo_graph *g, func_memo *memo, uint32_t *ids, const hlo_func *f, int depth) {
    hasher s = {.g = g, .memo = memo, .ids = ids, .next = 1, .depth = depth};
    hash_block(&s, f->body);
    for (int i = 0; f->alias && i < f->body->n_params; i++)
        tt_hash_word(&s.h, (uint64_t)(f->alias[i] + 1) << 1 | (f->alias[i] < 0 && f->donated[i]));
    return s.h;
}

tt_hash hlo_func_hash(const hlo_graph *g, const hlo_func *f) {
    func_memo *memo = tt_calloc((size_t)g->n_funcs, sizeof *memo);
    uint32_t *ids = tt_calloc(g->n_nodes, sizeof *ids);
    tt_hash h = hash_func(g, memo, ids, f, 0);
    free(memo);
    free(ids);
    return h;
}

tt_hash hlo_graph_hash(const hlo_graph *g) {
    tt_hash h = {(uint64_t)g->n_replicas, (uint64_t)g->n_partitions};
    func_memo *memo = tt_calloc((size_t)g->n_funcs, sizeof *memo);
    uint32_t *ids = tt_calloc(g->n_nodes, sizeof *ids);
    for (int i = 0; i < g->n_funcs; i++) {
        if (i && !g->funcs[i]->is_public)
            continue; /* private functions count where they are called */
        tt_hash f = hash_func(g, memo, ids, g->funcs[i], 0);
        tt_hash_word(&h, f.a);
        tt_hash_word(&h, f.b);
    }
    free(memo);
    free(ids);
    return h;
}

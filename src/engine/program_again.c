/* program_again.c - values that loops compute again instead of reading them.
 *
 * A normalised value, or a bf16 one as f32, is computed in one loop and used in the next. Where it is a few cheap ops on one array, and
 * on what is spread over that, every loop that uses it computes it from that array: nothing more is read, and it is not written. The
 * nodes then are members of several loops. Runs after fuse.c, before it is known what needs memory. */
#include "engine/loop.h"
#include "engine/loop_view.h"
#include "engine/program_place.h"
#include <string.h>

enum { MOST_NODES = 8, MOST_SPREAD = 3, MOST_EXTRA = 24 };

typedef struct finder {
    eng_planner *p;
    const hlo_block *block;
    const int *group;
    bool *kept;          /* [position]: in memory */
    /* the value at hand */
    int mine, n_nodes, n_spread;
    hlo_ref nodes[MOST_NODES], array;
} finder;

static bool is_computed(const hlo_graph *g, hlo_ref r) {
    const hlo_node *n = hlo_node_at(g, r);
    return n->op == HLO_RESHAPE ? loop_reshape_is_member(g, r) : loop_find_node(g, n) != NULL;
}

static bool is_cheap(int op) {
    switch (op) {
    case HLO_ADD: case HLO_SUBTRACT: case HLO_MULTIPLY: case HLO_NEGATE: case HLO_ABS: case HLO_MAXIMUM: case HLO_MINIMUM: case HLO_CONVERT:
    case HLO_COMPARE: case HLO_SELECT: case HLO_RESHAPE: return true;
    default: return false;
    }
}

/* What the value reads: one array at most, and what is spread over it. */
static bool reads(finder *f, hlo_ref r, const hlo_type *shape) {
    const hlo_graph *g = f->p->g;
    loop_view v;
    loop_view_resolve(g, &(loop_scope){f->block, f->p->positions}, r, shape, &v);
    const hlo_node *base = hlo_node_at(g, v.base);
    if (base->op == HLO_CONSTANT)
        return true;
    if (hlo_type_elements(base->type) < hlo_type_elements(shape))
        return ++f->n_spread <= MOST_SPREAD;
    const bool dense = v.base == r || (hlo_node_at(g, r)->op == HLO_RESHAPE && hlo_node_at(g, r)->operands[0] == v.base);
    if (!dense || base->op == HLO_IOTA || (f->array && f->array != v.base))
        return false;
    f->array = v.base;
    return true;
}

static bool collect(finder *f, hlo_ref r) {
    const hlo_graph *g = f->p->g;
    const hlo_node *n = hlo_node_at(g, r);
    for (int i = 0; i < f->n_nodes; i++)
        if (f->nodes[i] == r)
            return true;
    if (!is_cheap(n->op))
        return false;
    for (uint32_t k = 0; k < n->n_operands; k++) {
        const int at = eng_position(f->p, f->block, n->operands[k]);
        const bool inside = at >= 0 && f->group[at] == f->mine && !f->kept[at] && is_computed(g, n->operands[k]);
        if (!(inside ? collect(f, n->operands[k]) : reads(f, n->operands[k], n->type)))
            return false;
    }
    if (f->n_nodes == MOST_NODES)
        return false;
    f->nodes[f->n_nodes++] = r;
    return true;
}

/* Who uses what: `kept` where a value is used by other than a loop that computes with it, else the loops in `users`. */
typedef struct use { int group, next; } use;

static void keep(finder *f, hlo_ref r) {
    const int at = eng_position(f->p, f->block, r);
    if (at >= 0)
        f->kept[at] = true;
}

static void find_users(finder *f, int *first, use *uses) {
    const hlo_graph *g = f->p->g;
    int n_uses = 0;
    for (int i = 0; i < f->block->n_nodes; i++) {
        const hlo_node *n = hlo_node_at(g, f->block->nodes[i]);
        const bool computes = f->group[i] >= 0 && is_computed(g, f->block->nodes[i]);
        for (uint32_t k = 0; k < n->n_operands; k++) {
            const int at = eng_position(f->p, f->block, n->operands[k]);
            if (at < 0 || f->group[at] < 0 || f->group[at] == f->group[i])
                continue;
            if (computes && n->op != HLO_RESHAPE) {
                uses[n_uses] = (use){f->group[i], first[at]};
                first[at] = n_uses++;
            } else {
                f->kept[at] = true;
            }
        }
        if (n->n_regions) {
            int n_captures;
            hlo_ref *captures;
            eng_captures_find(f->p, n, &n_captures, &captures);
            for (int k = 0; k < n_captures; k++)
                keep(f, captures[k]);
        }
    }
    for (int i = 0; i < f->block->n_results; i++)
        keep(f, f->block->results[i]);
}

static bool is_extra(const eng_again *a, int at, int group) {
    for (int k = a->first[at]; k >= 0; k = a->extras[k].next)
        if (a->extras[k].group == group)
            return true;
    return false;
}

static void add_extras(finder *f, eng_again *a, int *n_extra, int group) {
    for (int i = 0; i < f->n_nodes; i++) {
        const int at = eng_position(f->p, f->block, f->nodes[i]);
        if (is_extra(a, at, group))
            continue;
        if (a->n_extras == a->cap_extras) {
            a->cap_extras = a->cap_extras ? 2 * a->cap_extras : 64;
            eng_extra *list = TT_NEW_N(f->p->temporary, eng_extra, a->cap_extras);
            if (a->n_extras)
                memcpy(list, a->extras, sizeof *list * (size_t)a->n_extras);
            a->extras = list;
        }
        a->extras[a->n_extras] = (eng_extra){group, a->first[at]};
        a->first[at] = a->n_extras++;
        n_extra[group]++;
    }
}

void eng_again_find(eng_planner *p, const hlo_block *block, const int *group, int n_groups, eng_again *out) {
    const int n = block->n_nodes;
    int n_operands = 0;
    for (int i = 0; i < n; i++)
        n_operands += (int)hlo_node_at(p->g, block->nodes[i])->n_operands;
    finder f = {.p = p, .block = block, .group = group, .kept = TT_NEW_N(p->temporary, bool, n + 1)};
    int *first = TT_NEW_N(p->temporary, int, n + 1), *n_extra = TT_NEW_N(p->temporary, int, n_groups + 1);
    use *uses = TT_NEW_N(p->temporary, use, n_operands + 1);
    *out = (eng_again){.first = TT_NEW_N(p->temporary, int, n + 1), .again = TT_NEW_N(p->temporary, bool, n + 1)};
    for (int i = 0; i < n; i++)
        first[i] = out->first[i] = -1;
    find_users(&f, first, uses);
    for (int i = 0; i < n; i++) {
        const hlo_node *node = hlo_node_at(p->g, block->nodes[i]);
        if (group[i] < 0 || first[i] < 0 || f.kept[i] || !is_computed(p->g, block->nodes[i])) {
            f.kept[i] |= first[i] >= 0;
            continue;
        }
        f.mine = group[i];
        f.array = HLO_NONE;
        f.n_nodes = f.n_spread = 0;
        bool good = collect(&f, block->nodes[i]) &&
                    (!f.array || tt_dtype_size(hlo_type_of(p->g, f.array)->dtype) <= tt_dtype_size(node->type->dtype));
        for (int k = first[i]; k >= 0 && good; k = uses[k].next)
            good = n_extra[uses[k].group] + f.n_nodes <= MOST_EXTRA;
        out->again[i] = good;
        f.kept[i] = !good;
        for (int k = first[i]; k >= 0 && good; k = uses[k].next)
            add_extras(&f, out, n_extra, uses[k].group);
    }
}

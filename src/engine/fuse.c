/* fuse.c - finds the groups of nodes that run as one loop.
 *
 * A group is open while nothing outside it has used a member; a node joins the open groups of its operands (several become one) when
 * it is elementwise and as large. Once an outside node uses a member the group is closed, so a loop placed at its last member
 * comes before every outside user and after everything it reads. One pass, constant work per operand.
 * Constants and shape ops on values from outside are not computed: loops look through them (loop_view.h). Where after grouping nobody
 * needs such a node in memory it is given to the group that reads it, or marked as read through by several: either way it is not run. */
#include "engine/loop.h"
#include "engine/loop_view.h"
#include <string.h>

enum { MOST_MEMBERS = 512 };

typedef struct group { int parent, members; int64_t n; bool closed; } group;

typedef struct fuser {
    const hlo_graph *g;
    const hlo_block *block;
    int *position;      /* by ref: index in the block, -1 elsewhere */
    int *of;            /* by position: group, -1 none */
    group *groups;
    int n_groups;
} fuser;

static int top(fuser *f, int i) {
    while (f->groups[i].parent != i) {
        f->groups[i].parent = f->groups[f->groups[i].parent].parent;
        i = f->groups[i].parent;
    }
    return i;
}

static int group_of(fuser *f, hlo_ref r) {
    int p = f->position[r];
    return p >= 0 && f->of[p] >= 0 ? top(f, f->of[p]) : -1;
}

static void close_group(fuser *f, hlo_ref r) {
    int i = group_of(f, r);
    if (i >= 0)
        f->groups[i].closed = true;
}

/* Everything a region reads from outside is used at the node that carries the region. */
static void close_captured(fuser *f, const hlo_block *block) {
    for (int i = 0; i < block->n_nodes; i++) {
        const hlo_node *node = hlo_node_at(f->g, block->nodes[i]);
        for (uint32_t k = 0; k < node->n_operands; k++)
            close_group(f, node->operands[k]);
        for (int k = 0; k < node->n_regions; k++)
            close_captured(f, node->regions[k]);
    }
    for (int i = 0; i < block->n_results; i++)
        close_group(f, block->results[i]);
}

static void join(fuser *f, int at, const hlo_node *node) {
    int64_t n = hlo_type_elements(node->type);
    int mine = -1;
    for (uint32_t k = 0; k < node->n_operands; k++) {
        int other = group_of(f, node->operands[k]);
        if (other < 0 || other == mine)
            continue;
        group *o = &f->groups[other];
        if (o->closed || o->n != n || o->members >= MOST_MEMBERS || (mine >= 0 && o->members + f->groups[mine].members >= MOST_MEMBERS)) {
            o->closed = true;
            continue;
        }
        if (mine >= 0) {
            f->groups[mine].members += o->members;
            o->parent = mine;
        } else {
            mine = other;
        }
    }
    if (mine < 0) {
        mine = f->n_groups++;
        f->groups[mine] = (group){.parent = mine, .n = n};
    }
    f->groups[mine].members++;
    f->of[at] = mine;
}

static bool reshapes_member(fuser *f, const hlo_node *node) {
    int i = node->op == HLO_RESHAPE ? group_of(f, node->operands[0]) : -1;
    return i >= 0 && !f->groups[i].closed && f->groups[i].members < MOST_MEMBERS;
}

static void need(bool *needed, fuser *f, hlo_ref r) {
    if (f->position[r] >= 0)
        needed[f->position[r]] = true;
}

static void need_captured(bool *needed, fuser *f, const hlo_block *block) {
    for (int i = 0; i < block->n_nodes; i++) {
        const hlo_node *node = hlo_node_at(f->g, block->nodes[i]);
        for (uint32_t k = 0; k < node->n_operands; k++)
            need(needed, f, node->operands[k]);
        for (int k = 0; k < node->n_regions; k++)
            need_captured(needed, f, node->regions[k]);
    }
    for (int i = 0; i < block->n_results; i++)
        need(needed, f, block->results[i]);
}

/* Gives nodes that loops only look through to the loop that does. Last to first, so that chains go whole. A node that several
 * loops look through belongs to none: a loop's members may not be read from outside unless it computes them. */
static void absorb(fuser *f, tt_arena *arena, const bool *is_result) {
    enum { UNUSED = -1, SHARED = -2 };
    const hlo_block *block = f->block;
    bool *needed = TT_NEW_N(arena, bool, block->n_nodes + 1);
    int *reader = TT_NEW_N(arena, int, block->n_nodes + 1);
    for (int i = 0; i < block->n_nodes; i++) {
        reader[i] = UNUSED;
        needed[i] |= is_result && is_result[i];
    }
    for (int i = block->n_nodes - 1; i >= 0; i--) {
        hlo_ref r = block->nodes[i];
        const hlo_node *node = hlo_node_at(f->g, r);
        bool member = f->of[i] >= 0, view = !member && loop_view_is(f->g, r) && hlo_type_elements(node->type);
        if (view && !needed[i] && reader[i] != UNUSED)
            f->of[i] = reader[i] >= 0 ? reader[i] : ENG_LOOKED_THROUGH;
        int mine = member ? top(f, f->of[i]) : f->of[i];
        for (uint32_t k = 0; k < node->n_operands; k++) {
            hlo_ref o = node->operands[k];
            int p = f->position[o];
            if (p < 0)
                continue;
            if (mine == ENG_LOOKED_THROUGH)
                reader[p] = SHARED;
            else if (mine < 0)
                needed[p] = true;
            else
                reader[p] = reader[p] == UNUSED || reader[p] == mine ? mine : SHARED;
            if (member) {
                loop_view v;
                loop_view_resolve(f->g, &(loop_scope){f->block, f->position}, o, node->type, &v);
                if (v.base != o && hlo_node_at(f->g, v.base)->op != HLO_CONSTANT && hlo_node_at(f->g, v.base)->op != HLO_IOTA)
                    need(needed, f, v.base);
                else if (v.base == o && !(hlo_node_at(f->g, o)->op == HLO_CONSTANT || hlo_node_at(f->g, o)->op == HLO_IOTA))
                    need(needed, f, o);
            }
        }
        for (int k = 0; k < node->n_regions; k++)
            need_captured(needed, f, node->regions[k]);
    }
}

void eng_fuse(tt_arena *arena, const hlo_graph *g, const hlo_block *block, const bool *is_result, int *out_group, int *out_n_groups) {
    fuser f = {.g = g, .block = block, .of = out_group};
    f.position = TT_NEW_N(arena, int, g->n_nodes + 1);
    memset(f.position, -1, sizeof *f.position * (g->n_nodes + 1));
    f.groups = TT_NEW_N(arena, group, block->n_nodes + 1);
    for (int i = 0; i < block->n_nodes; i++) {
        f.position[block->nodes[i]] = i;
        out_group[i] = -1;
    }
    for (int i = 0; i < block->n_nodes; i++) {
        const hlo_node *node = hlo_node_at(g, block->nodes[i]);
        if (node->type && hlo_type_elements(node->type) && (loop_find_node(g, node) || reshapes_member(&f, node))) {
            join(&f, i, node);
            continue;
        }
        for (uint32_t k = 0; k < node->n_operands; k++)
            close_group(&f, node->operands[k]);
        for (int k = 0; k < node->n_regions; k++)
            close_captured(&f, node->regions[k]);
    }
    absorb(&f, arena, is_result);
    int n = 0;
    for (int i = 0; i < f.n_groups; i++) /* members counts no more: it becomes the final number */
        f.groups[i].members = -1;
    for (int i = 0; i < block->n_nodes; i++) {
        if (out_group[i] < 0)
            continue;
        int t = top(&f, out_group[i]);
        if (f.groups[t].members < 0)
            f.groups[t].members = n++;
        out_group[i] = f.groups[t].members;
    }
    *out_n_groups = n;
}

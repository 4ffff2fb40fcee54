/* program_fold.c - light canonicalisation of a block before it is fused and planned.
 *
 * Dead nodes go, and tiny values that depend on constants only are computed once, by the reference kernels, and become
 * constants themselves: fused loops then see immediates. Large ones stay as they are. */
#include "engine/program_plan.h"
#include <string.h>

enum { FOLD_MAX_BYTES = 256 };

static bool foldable(const hlo_graph *g, const hlo_node *n) {
    if (n->n_results != 1 || n->n_regions || !n->n_operands || hlo_type_bytes(n->type) > FOLD_MAX_BYTES)
        return false;
    switch (n->op) {
    case HLO_RESHAPE: case HLO_BROADCAST_IN_DIM: case HLO_SLICE: case HLO_CONCATENATE: case HLO_TRANSPOSE: break;
    default:
        if (!(hlo_op_flags((hlo_op)n->op) & HLO_F_ELEM))
            return false;
    }
    for (uint32_t k = 0; k < n->n_operands; k++) {
        const hlo_node *x = hlo_node_at(g, n->operands[k]);
        if (x->op != HLO_CONSTANT || hlo_type_bytes(x->type) > FOLD_MAX_BYTES)
            return false;
    }
    return true;
}

static void constant_read(const hlo_node *n, void *out) {
    const hlo_attr *value = hlo_attr_find(n, HLO_A_VALUE);
    int64_t bytes = hlo_type_bytes(n->type);
    int size = tt_dtype_size(n->type->dtype);
    for (int64_t at = 0; at < bytes; at += value->splat ? size : bytes)
        memcpy((char *)out + at, value->data, (size_t)(value->splat ? size : bytes));
}

static void fold(hlo_graph *g, hlo_node *n, tt_arena *scratch) {
    tt_arena_mark mark = tt_arena_mark_get(scratch);
    eng_tensor *in = TT_NEW_N(scratch, eng_tensor, n->n_operands);
    for (uint32_t k = 0; k < n->n_operands; k++) {
        const hlo_node *x = hlo_node_at(g, n->operands[k]);
        in[k] = (eng_tensor){*x->type, tt_arena_alloc(scratch, FOLD_MAX_BYTES)};
        constant_read(x, in[k].data);
    }
    eng_tensor out = {*n->type, tt_arena_alloc(g->arena, FOLD_MAX_BYTES)};
    eng_run run = {.arena = scratch, .n_devices = 1, .reference = true};
    tt_status status = eng_ref_kernels[n->op](&run, g, n, in, &out);
    if (!status) {
        hlo_attr *attr = TT_NEW(g->arena, hlo_attr);
        *attr = (hlo_attr){.name = HLO_A_VALUE, .kind = HLO_K_DENSE, .type = n->type, .data = out.data, .splat = hlo_type_elements(n->type) == 1};
        n->op = HLO_CONSTANT;
        n->n_operands = 0;
        n->n_attrs = 1;
        n->attrs = attr;
    }
    tt_status_free(status); /* what cannot be folded fails, if at all, when it runs */
    tt_arena_rewind(scratch, mark);
}

void eng_fold_constants(hlo_graph *g, hlo_block *block) {
    tt_arena *scratch = tt_arena_create();
    for (int i = 0; i < block->n_nodes; i++) {
        hlo_node *n = hlo_node_at(g, block->nodes[i]);
        for (int r = 0; r < n->n_regions; r++)
            if (n->op == HLO_WHILE || n->op == HLO_IF || n->op == HLO_CASE)
                eng_fold_constants(g, n->regions[r]);
        if (n->op < HLO_N_OPS && eng_ref_kernels[n->op] && foldable(g, n))
            fold(g, n, scratch);
    }
    tt_arena_destroy(scratch);
}

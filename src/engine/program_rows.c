/* program_rows.c - an update of a table whose gradient is zero but for few rows: only those rows are computed.
 *
 * p + g * c, where g is of tt.sum_rows and the memory of p may be overwritten. Where g is zero, p + -0 is p, so the rows that the
 * indices name are gathered, computed as they were, and put back in place. Runs on the entry block before it is fused and planned; changes
 * no bit of any result. */
#include "engine/program_plan.h"
#include "hlo/build.h"
#include <math.h>
#include <string.h>

enum { SPARSE = 4 }; /* of that many rows of the table, at most one is named */

typedef struct row_update {
    hlo_graph *g;
    hlo_ref table, grad; /* of the sum: the table as a parameter, the gradient as tt.sum_rows gives it */
    hlo_ref table_rows, grad_rows;
    int64_t dims[2]; /* of the rows named */
} row_update;

static hlo_ref unconverted(const hlo_graph *g, hlo_ref r) {
    const hlo_node *n = hlo_node_at(g, r);
    return n->op == HLO_CONVERT ? n->operands[0] : r;
}

/* Is r the gradient, times constants? Where the gradient is 0, it is a zero of the sign *out_negative. */
static bool find_gradient(const hlo_graph *g, hlo_ref r, bool *out_negative, hlo_ref *out_grad) {
    *out_negative = false;
    for (int depth = 0; depth < 8; depth++) {
        const hlo_node *n = hlo_node_at(g, r);
        double c;
        if (n->op == HLO_COMPOSITE) {
            *out_grad = r;
            return n->n_results == 1 && !strcmp(hlo_attr_text(n, HLO_A_COMPOSITE_NAME, ""), "tt.sum_rows");
        }
        if (n->op == HLO_MULTIPLY && hlo_constant_splat(g, n->operands[1], &c) && isfinite(c)) {
            *out_negative ^= signbit(c) != 0;
        } else if (n->op != HLO_CONVERT || !tt_is_float(n->type->dtype) || !tt_is_float(hlo_type_of(g, n->operands[0])->dtype)) {
            return false;
        }
        r = n->operands[0];
    }
    return false;
}

/* Is r an update of a table? Its sum may be in a wider type than the table, which then keeps its bits on the way. */
static bool find_update(row_update *u, hlo_ref r) {
    const hlo_graph *g = u->g;
    const hlo_node *sum = hlo_node_at(g, unconverted(g, r));
    const hlo_type *t = hlo_type_of(g, r);
    bool negative;
    if (t->rank != 2 || !tt_is_float(t->dtype) || (sum->op != HLO_ADD && sum->op != HLO_SUBTRACT))
        return false;
    u->table = unconverted(g, sum->operands[0]);
    if (hlo_node_at(g, u->table)->op != HLO_PARAM || !hlo_type_equal(hlo_type_of(g, u->table), t) ||
        (sum->type->dtype != t->dtype && tt_dtype_size(sum->type->dtype) <= tt_dtype_size(t->dtype)))
        return false;
    if (!find_gradient(g, sum->operands[1], &negative, &u->grad) || negative != (sum->op == HLO_ADD))
        return false;
    const hlo_type *rows = hlo_type_of(g, hlo_node_at(g, u->grad)->operands[0]);
    memcpy(u->dims, rows->dims, sizeof u->dims);
    return u->dims[0] > 0 && u->dims[0] <= t->dims[0] / SPARSE;
}

static hlo_ref gather_rows(const row_update *u, hlo_ref x, hlo_ref at) {
    static const int64_t zero[1] = {0}, one[1] = {1};
    const int64_t sizes[2] = {1, u->dims[1]};
    const hlo_dims d = {.kind = HLO_DIMS_GATHER, .a = {1, one}, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    return hlo_gather(u->g, x, at, &d, sizes, NULL);
}

/* The value r, of the rows named only. */
static hlo_ref of_rows(const row_update *u, hlo_ref r) {
    if (r == u->table)
        return u->table_rows;
    if (r == u->grad)
        return u->grad_rows;
    const hlo_node n = *hlo_node_at(u->g, r); /* nodes move as more are made */
    hlo_type type = hlo_type_make(n.type->dtype, 2, u->dims);
    double c;
    if (hlo_constant_splat(u->g, r, &c))
        return hlo_splat(u->g, &type, c);
    hlo_ref x = of_rows(u, n.operands[0]);
    if (n.op == HLO_CONVERT)
        return hlo_convert(u->g, x, type.dtype);
    hlo_ref operands[2] = {x, of_rows(u, n.operands[1])};
    return hlo_make(u->g, (hlo_op)n.op, 2, operands, 0, NULL, 0, NULL, 1, NULL);
}

static hlo_ref narrowed(row_update *u, hlo_ref r) {
    static const int64_t zero[1] = {0}, one[1] = {1};
    const int64_t column[2] = {u->dims[0], 1};
    const hlo_dims d = {.kind = HLO_DIMS_SCATTER, .a = {1, one}, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    hlo_ref at = hlo_reshape(u->g, hlo_node_at(u->g, u->grad)->operands[1], 2, column);
    u->table_rows = gather_rows(u, u->table, at);
    u->grad_rows = gather_rows(u, u->grad, at);
    return hlo_scatter(u->g, u->table, at, of_rows(u, r), &d, HLO_INVALID, false, NULL);
}

static bool is_used(const hlo_graph *g, const hlo_block *block, hlo_ref r) {
    for (int i = 0; i < block->n_nodes; i++) {
        const hlo_node *n = hlo_node_at(g, block->nodes[i]);
        for (uint32_t k = 0; k < n->n_operands; k++)
            if (n->operands[k] == r)
                return true;
        for (int k = 0; k < n->n_regions; k++)
            if (is_used(g, n->regions[k], r))
                return true;
    }
    return false;
}

static bool is_donated(const hlo_block *block, const bool *donated, hlo_ref r) {
    for (int i = 0; i < block->n_params; i++)
        if (block->params[i] == r)
            return donated[i];
    return false;
}

tt_status eng_narrow_updates(hlo_graph *g, hlo_block *block, const bool *donated) {
    hlo_block *saved = g->block;
    g->block = block;
    for (int i = 0; i < block->n_results; i++) {
        row_update u = {.g = g};
        const hlo_ref r = block->results[i];
        if (find_update(&u, r) && is_donated(block, donated, u.table) && !is_used(g, block, r))
            block->results[i] = narrowed(&u, r);
    }
    g->block = saved;
    return hlo_graph_take_error(g);
}

/* program_rows.c - an update of a table whose gradient is zero but for few rows: only those rows are computed.
 *
 * tt.sum_rows tells which rows it wrote. Where a loop adds multiples of its result to a table in the table's own memory, in this program
 * or, since values keep their rows, in a later one, the other rows stay as they are. Rows travel in slots of a run. */
#include "engine/composite.h"
#include "engine/program_place.h"
#include "hlo/build.h"
#include <string.h>

enum { SPARSE = 4 }; /* of that many rows of the table, at most one is named */

static hlo_ref unconverted(const hlo_graph *g, hlo_ref r) {
    const hlo_node *n = hlo_node_at(g, r);
    return n->op == HLO_CONVERT ? n->operands[0] : r;
}

static bool is_number(const hlo_graph *g, hlo_ref r) {
    const hlo_node *n = hlo_node_at(g, r);
    double c;
    return hlo_constant_splat(g, r, &c) || (n->op == HLO_BROADCAST_IN_DIM && hlo_type_elements(hlo_type_of(g, n->operands[0])) == 1);
}

/* What r is a multiple of: a product with numbers, through conversions of floats, is zero where that is. */
static hlo_ref multiple_of(const hlo_graph *g, hlo_ref r) {
    for (int depth = 0; depth < 8; depth++) {
        const hlo_node *n = hlo_node_at(g, r);
        if (n->op == HLO_MULTIPLY && is_number(g, n->operands[1]))
            r = n->operands[0];
        else if (n->op == HLO_MULTIPLY && is_number(g, n->operands[0]))
            r = n->operands[1];
        else if (n->op == HLO_CONVERT && tt_is_float(n->type->dtype) && tt_is_float(hlo_type_of(g, n->operands[0])->dtype))
            r = n->operands[0];
        else
            break;
    }
    return r;
}

bool eng_rows_find_update(const hlo_graph *g, hlo_ref r, hlo_ref *out_table, hlo_ref *out_gradient) {
    const hlo_node *sum = hlo_node_at(g, unconverted(g, r));
    const hlo_type *t = hlo_type_of(g, r);
    if (t->rank != 2 || !tt_is_float(t->dtype) || (sum->op != HLO_ADD && sum->op != HLO_SUBTRACT))
        return false;
    *out_table = unconverted(g, sum->operands[0]);
    *out_gradient = multiple_of(g, sum->operands[1]);
    /* the sum may be in a wider type than the table, which then keeps its bits on the way */
    return hlo_type_equal(hlo_type_of(g, *out_table), t) && hlo_dims_equal(hlo_type_of(g, *out_gradient), t) &&
           (sum->type->dtype == t->dtype || tt_dtype_size(sum->type->dtype) > tt_dtype_size(t->dtype));
}

static int new_slot(eng_plan *plan, tt_arena *arena, int param, int result) {
    if (plan->n_rows % 16 == 0) {
        eng_rows_slot *old = plan->rows;
        plan->rows = TT_NEW_N(arena, eng_rows_slot, plan->n_rows + 16);
        if (old)
            memcpy(plan->rows, old, sizeof *old * (size_t)plan->n_rows);
    }
    plan->rows[plan->n_rows] = (eng_rows_slot){param, result};
    return plan->n_rows++;
}

void eng_rows_assign(eng_builder *b) {
    eng_plan *plan = b->plan;
    const int n_outer = BASE_PARAMS + plan->n_params;
    int *slot = TT_NEW_N(b->p->temporary, int, b->n_roots); /* [root]: of its rows, plus 1 */
    for (int i = 0; i < b->n_drafts; i++) {
        const eng_draft *d = &b->drafts[i];
        eng_step *s = &plan->steps[i];
        if (s->kind == STEP_COMPOSITE && s->composite == eng_sum_rows) {
            const int root = eng_root_find(b, d->values[s->n_in].root);
            if (b->roots[root].latest != i) /* something is written over it later */
                continue;
            s->rows = slot[root] = 1 + new_slot(plan, b->p->arena, -1, s->places[s->n_in].base >= n_outer ? s->places[s->n_in].base - n_outer : -1);
        } else if (s->kind == STEP_LOOP && d->updates_rows) {
            const eng_place *table = &s->places[s->old], *out = &s->places[s->n_in];
            const int root = eng_root_find(b, d->values[s->zero].root);
            if (table->base != out->base || table->offset != out->offset || root < 0 || d->values[s->zero].offset)
                continue;
            if (b->roots[root].kind == ROOT_PARAM && b->roots[root].latest < 0 && !slot[root])
                slot[root] = 1 + new_slot(plan, b->p->arena, b->roots[root].param, -1);
            s->rows = slot[root];
        }
    }
}

bool eng_rows_run_update(const eng_step *s, const eng_rows *rows, void *const *pointers) {
    const hlo_type *t = s->types[s->zero];
    const int64_t pitch = t->dims[1] * tt_dtype_size(t->dtype);
    return rows && rows->pitch == pitch && rows->n <= t->dims[0] / SPARSE &&
           eng_loop_run_rows(s->loop, pointers, pointers + s->n_in, s->old, s->zero, t->dims[1], rows->n, rows->at);
}

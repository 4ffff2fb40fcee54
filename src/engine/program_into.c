/* program_into.c - a loop whose result is written over part of an array writes it there.
 *
 * x[:, a:b] += y is a loop over the part and an update of x with its result. Where the part lies in x as rows that are equally far apart, and
 * the loop reads of x nothing but the element that it computes, no memory stands between: the loop's step writes rows of x, which it takes
 * over or copies first. Works on the last draft of program_plan.c. */
#include "engine/program_place.h"
#include <string.h>

/* Where the part begins, in elements of the whole; false: not known before the program runs. */
static bool find_start(const hlo_graph *g, const hlo_node *n, int64_t *out) {
    const hlo_type *whole = hlo_type_of(g, n->operands[0]), *part = hlo_type_of(g, n->operands[1]);
    const hlo_ints known = hlo_attr_ints(n, HLO_A_START_INDICES);
    *out = 0;
    for (int d = 0; d < whole->rank; d++) {
        int64_t at;
        if (known.n) {
            at = known.v[d];
        } else {
            const hlo_node *c = hlo_node_at(g, n->operands[2 + d]);
            const hlo_attr *value = c->op == HLO_CONSTANT && c->type->dtype != TT_U64 ? hlo_attr_find(c, HLO_A_VALUE) : NULL;
            if (!value || !value->data)
                return false;
            at = tt_element_get_int(c->type->dtype, value->data);
        }
        const int64_t most = whole->dims[d] - part->dims[d];
        at = at < 0 ? 0 : at > most ? most : at;
        *out = *out * whole->dims[d] + at;
    }
    return true;
}

/* How the part lies in the whole: rows of so many elements, so many apart; false: otherwise. */
static bool find_rows(const hlo_type *whole, const hlo_type *part, int64_t *out_row, int64_t *out_apart) {
    int64_t row = 1, apart = 0, rows = 1, stride = 1;
    for (int d = whole->rank - 1; d >= 0; stride *= whole->dims[d--]) {
        if (part->dims[d] == 1)
            continue;
        if (row == stride) {
            row *= part->dims[d];
        } else if (!apart || stride == rows * apart) {
            apart = apart ? apart : stride;
            rows *= part->dims[d];
        } else {
            return false;
        }
    }
    *out_row = row;
    *out_apart = apart ? apart : row;
    return true;
}

bool eng_into_take(eng_builder *b, hlo_ref update) {
    eng_planner *p = b->p;
    const hlo_node *n = hlo_node_at(p->g, update);
    const hlo_type *whole = hlo_type_of(p->g, n->operands[0]), *part = hlo_type_of(p->g, n->operands[1]);
    eng_draft *d = b->n_drafts && !p->reference ? &b->drafts[b->n_drafts - 1] : NULL;
    const eng_value_place to = eng_value_find(p, n->operands[0]), from = eng_value_find(p, n->operands[1]);
    const int n_in = d ? d->step.n_in : 0, size = tt_dtype_size(whole->dtype);
    int64_t offset;
    eng_into into = {.bytes = hlo_type_bytes(whole)};
    if (!d || d->step.kind != STEP_LOOP || d->step.n_out != 1 || d->step.into || d->updates_rows || hlo_attr_find(n, HLO_A_STRIDES) ||
        p->escapes[n->operands[1]] != 1 || eng_place_is_alias(p->g, hlo_node_at(p->g, n->operands[1]), &offset) || from.root != d->values[n_in].root || to.root < 0 || to.offset ||
        b->roots[to.root].bytes != into.bytes || eng_loop_elements(d->step.loop) != hlo_type_elements(part) || !find_start(p->g, n, &into.start) ||
        !find_rows(whole, part, &into.row, &into.apart) || !eng_loop_takes_rows(d->step.loop, into.row, into.apart))
        return false;
    for (int k = 0; k < n_in; k++)
        if (d->values[k].root == to.root &&
            (d->values[k].offset % size || !eng_loop_reads_rows(d->step.loop, k, into.start - d->values[k].offset / size, into.row, into.apart)))
            return false;
    eng_value_place *values = TT_NEW_N(p->temporary, eng_value_place, n_in + 2);
    const hlo_type **types = TT_NEW_N(p->arena, const hlo_type *, n_in + 2);
    memcpy(values, d->values, sizeof *values * (size_t)n_in);
    memcpy(types, d->step.types, sizeof *types * (size_t)n_in);
    values[n_in] = to;
    types[n_in] = types[n_in + 1] = whole;
    b->roots[from.root].base = BASE_NOTHING;
    const int root = eng_root_new(b, ROOT_TEMP, into.bytes, b->n_drafts - 1);
    p->values[update] = values[n_in + 1] = (eng_value_place){root, 0};
    into.start *= size;
    into.apart *= size;
    d->values = values;
    d->over = NULL;
    d->step.types = types;
    d->step.node = n;
    d->step.n_in = n_in + 1;
    d->step.into = tt_arena_copy(p->arena, &into, sizeof into);
    if (n_in + 2 > b->plan->max_pointers)
        b->plan->max_pointers = n_in + 2;
    return true;
}

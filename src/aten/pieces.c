/* pieces.c - one lowering calling another: lists of ops (foreach) and ops made of ops use the rows that exist
 * instead of restating them. */
#include "aten/pieces.h"

tt_status piece_call(tt_lower *L, const char *name, int n_args, const tt_arg *args, const int *from,
                     int element, int n_out, hlo_ref *out_values) {
    const tt_row *row = tt_row_find(name, NULL);
    TT_CHECK(row, UNIMPLEMENTED, "%s needs %s", L->row->name, name);
    tt_lower inner = {
        .g = L->g,
        .arena = L->arena,
        .row = row,
        .args = args,
        .n_args = n_args,
        .precision = L->precision,
        .check_bounds = L->check_bounds,
        .rng = L->rng,
    };
    inner.slots = TT_NEW_N(L->arena, hlo_ref, n_args + 1);
    inner.list_slots = TT_NEW_N(L->arena, hlo_ref *, n_args + 1);
    for (int i = 0; from && i < n_args; i++) {
        int k = from[i];
        if (k < 0 || k >= L->n_args)
            continue;
        bool listed = element >= 0 && (L->args[k].tag == TT_ARG_SCALARS || L->args[k].tag == TT_ARG_DOUBLES);
        if (listed)
            inner.slots[i] = L->list_slots && L->list_slots[k] ? L->list_slots[k][element] : HLO_NONE;
        else
            inner.slots[i] = L->slots ? L->slots[k] : HLO_NONE;
    }
    TT_TRY(row->lower(&inner));
    for (int i = 0; from && i < n_args; i++) {
        if (from[i] < 0 || from[i] >= 64 || i >= 64)
            continue;
        L->baked |= (inner.baked >> i & 1) << from[i];
        L->slotted |= (inner.slotted >> i & 1) << from[i];
    }
    TT_CHECK(inner.n_outs >= n_out || L->g->error, INTERNAL, "%s gave %d results", name, inner.n_outs);
    for (int i = 0; i < n_out; i++)
        out_values[i] = i < inner.n_outs ? inner.outs[i].value : HLO_NONE;
    return TT_OK;
}

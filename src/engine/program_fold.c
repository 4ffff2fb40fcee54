/* program_fold.c - light canonicalisation of a block before it is fused and planned.
 *
 * Tiny values that depend on constants only are computed once, by the kernels that would compute them in a run, and become constants
 * themselves: fused loops then see immediates. Transposes of transposes become one, and a product reads a
 * transposed operand where it lies. No rewrite changes a bit of any result. */
#include "engine/composite.h"
#include "engine/fast.h"
#include "engine/loop.h"
#include "engine/program_plan.h"
#include "hlo/build.h"
#include <string.h>

enum { FOLD_MAX_BYTES = 256 };

static bool foldable(const hlo_graph *g, const hlo_node *n) {
    if (n->n_results != 1 || n->n_regions || !n->n_operands || hlo_type_bytes(n->type) > FOLD_MAX_BYTES)
        return false;
    switch (n->op) {
    case HLO_RESHAPE:
    case HLO_BROADCAST_IN_DIM:
    case HLO_SLICE:
    case HLO_CONCATENATE:
    case HLO_TRANSPOSE:
        break;
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

/* Functions of numbers are approximated: the loops' kernel says how. What no integer can hold is converted as the specification says, not as
 * the processor does. */
static bool fold_elements(const hlo_graph *g, const hlo_node *n, const eng_tensor *in, eng_tensor *out) {
    enum { MOST = 3 };
    const int64_t elements = hlo_type_elements(n->type);
    loop_kernel kernel = loop_find_node(g, n);
    const void *data[MOST] = {NULL};
    if (!kernel || n->n_operands > MOST || n->op == HLO_CONVERT)
        return false;
    for (uint32_t k = 0; k < n->n_operands; k++) {
        if (hlo_type_elements(&in[k].type) != elements) /* one element for all */
            return false;
        data[k] = in[k].data;
    }
    kernel(out->data, data[0], data[1], data[2], elements);
    return true;
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
    tt_status status = fold_elements(g, n, in, &out) ? TT_OK : eng_ref_kernels[n->op](&run, g, n, in, &out);
    if (!status) {
        hlo_attr *attr = TT_NEW(g->arena, hlo_attr);
        *attr = (hlo_attr){.name = HLO_A_VALUE,
                           .kind = HLO_K_DENSE,
                           .type = n->type,
                           .data = out.data,
                           .splat = hlo_type_elements(n->type) == 1};
        n->op = HLO_CONSTANT;
        n->n_operands = 0;
        n->n_attrs = 1;
        n->attrs = attr;
    }
    tt_status_free(status); /* what cannot be folded fails, if at all, when it runs */
    tt_arena_rewind(scratch, mark);
}

/* ---- transposes ---- */
static void set_permutation(hlo_graph *g, hlo_node *n, int rank, const int64_t *permutation) {
    hlo_attr *attr = TT_NEW(g->arena, hlo_attr);
    *attr = (hlo_attr){.name = HLO_A_PERMUTATION, .kind = HLO_K_INTS, .n = rank};
    attr->ints = tt_arena_copy(g->arena, permutation, sizeof(int64_t) * (size_t)rank);
    n->attrs = attr;
    n->n_attrs = 1;
}

static void set_operand(hlo_graph *g, hlo_node *n, int k, hlo_ref r) {
    hlo_ref *operands = tt_arena_copy(g->arena, n->operands, sizeof(hlo_ref) * n->n_operands);
    operands[k] = r;
    n->operands = operands;
}

static void join_transposes(hlo_graph *g, hlo_node *n) {
    const hlo_node *x = hlo_node_at(g, n->operands[0]);
    if (x->op != HLO_TRANSPOSE)
        return;
    hlo_ints outer = hlo_attr_ints(n, HLO_A_PERMUTATION), inner = hlo_attr_ints(x, HLO_A_PERMUTATION);
    int64_t joined[HLO_MAX_RANK];
    for (int i = 0; i < outer.n; i++)
        joined[i] = inner.v[outer.v[i]];
    set_permutation(g, n, outer.n, joined);
    set_operand(g, n, 0, x->operands[0]);
}

/* Dims of one side of a product, seen through the transpose of its operand; false when the result's dims
 * would change order. */
static bool through(const hlo_node *transpose, hlo_ints batch, hlo_ints contract, int64_t *out_batch,
                    int64_t *out_contract) {
    hlo_ints p = hlo_attr_ints(transpose, HLO_A_PERMUTATION);
    bool bound[HLO_MAX_RANK] = {0};
    for (int i = 0; i < batch.n; i++) {
        bound[batch.v[i]] = true;
        out_batch[i] = p.v[batch.v[i]];
    }
    for (int i = 0; i < contract.n; i++) {
        bound[contract.v[i]] = true;
        out_contract[i] = p.v[contract.v[i]];
    }
    int64_t last = -1;
    for (int i = 0; i < p.n; i++) {
        if (bound[i])
            continue;
        if (p.v[i] < last)
            return false;
        last = p.v[i];
    }
    return true;
}

/* Products of few rows or columns choose their summation by how the operands lie, so these are left alone. */
static bool order_is_fixed(const hlo_graph *g, const hlo_node *n, const hlo_dims *d) {
    enum { FEW = 28 };
    const hlo_type *a = hlo_type_of(g, n->operands[0]), *b = hlo_type_of(g, n->operands[1]);
    int64_t shared = 1, k = 1;
    for (int i = 0; i < d->a.n; i++)
        shared *= a->dims[d->a.v[i]];
    for (int i = 0; i < d->c.n; i++)
        k *= a->dims[d->c.v[i]];
    return shared > 0 && k > 0 && hlo_type_elements(a) / (shared * k) > FEW &&
           hlo_type_elements(b) / (shared * k) > FEW;
}

static void look_through_transposes(hlo_graph *g, hlo_node *n) {
    for (int side = 0; side < 2; side++) {
        const hlo_attr *attr = hlo_attr_find(n, HLO_A_DOT_DIMENSION_NUMBERS);
        const hlo_node *x = hlo_node_at(g, n->operands[side]);
        if (!attr || !attr->dims || x->op != HLO_TRANSPOSE || !order_is_fixed(g, n, attr->dims))
            continue;
        hlo_dims *dims = tt_arena_copy(g->arena, attr->dims, sizeof *dims);
        hlo_ints *batch = side ? &dims->b : &dims->a, *contract = side ? &dims->d : &dims->c;
        int64_t *lists = TT_NEW_N(g->arena, int64_t, 2 * HLO_MAX_RANK);
        if (!through(x, *batch, *contract, lists, lists + HLO_MAX_RANK))
            continue;
        batch->v = lists;
        contract->v = lists + HLO_MAX_RANK;
        hlo_attr *attrs = tt_arena_copy(g->arena, n->attrs, sizeof(hlo_attr) * n->n_attrs);
        attrs[attr - n->attrs].dims = dims;
        n->attrs = attrs;
        set_operand(g, n, side, x->operands[0]);
    }
}

/* A convolution reads a reversed kernel where it lies: the kernel's place decides how it is packed, never the order of the sum.
 * Left alone with groups, of which some have a way of their own for kernels in order. */
static void look_through_reverse(hlo_graph *g, hlo_node *n) {
    const hlo_node *x = hlo_node_at(g, n->operands[1]);
    const hlo_attr *attr = hlo_attr_find(n, HLO_A_DIMENSION_NUMBERS), *reversal = hlo_attr_find(n, HLO_A_WINDOW_REVERSAL);
    if (x->op != HLO_REVERSE || !attr || !attr->dims || !reversal || reversal->kind != HLO_K_INTS ||
        hlo_attr_int(n, HLO_A_FEATURE_GROUP_COUNT, 1) != 1 || hlo_attr_int(n, HLO_A_BATCH_GROUP_COUNT, 1) != 1)
        return;
    const hlo_ints reversed = hlo_attr_ints(x, HLO_A_DIMENSIONS), kernel = attr->dims->b;
    if (reversal->n != kernel.n - 2)
        return;
    int64_t flags[HLO_MAX_RANK];
    memcpy(flags, reversal->ints, sizeof *flags * (size_t)reversal->n);
    for (int i = 0; i < reversed.n; i++) {
        int d = 2;
        while (d < kernel.n && kernel.v[d] != reversed.v[i])
            d++;
        if (d == kernel.n)
            return;
        flags[d - 2] = !flags[d - 2];
    }
    hlo_attr *attrs = tt_arena_copy(g->arena, n->attrs, sizeof(hlo_attr) * n->n_attrs);
    attrs[reversal - n->attrs].ints = tt_arena_copy(g->arena, flags, sizeof *flags * (size_t)reversal->n);
    n->attrs = attrs;
    set_operand(g, n, 1, x->operands[0]);
}

/* A sum reads values of 16 bits that were widened, or the roots of squares, where they lie: it adds up the same numbers. */
static void look_through_widening(hlo_graph *g, hlo_node *n) {
    if (n->n_operands != 2 || n->n_regions != 1 || n->n_results != 1 || n->type->dtype != TT_F32 || fast_region_op(g, n->regions[0]) != HLO_ADD)
        return;
    const hlo_node *x = hlo_node_at(g, n->operands[0]);
    hlo_ref from = n->operands[0];
    const bool squares = x->op == HLO_MULTIPLY && x->operands[0] == x->operands[1] && x->type->dtype == TT_F32;
    if (squares) {
        from = x->operands[0];
        x = hlo_node_at(g, from);
    }
    if (x->op == HLO_CONVERT && x->type->dtype == TT_F32) {
        const tt_dtype narrow = hlo_type_of(g, x->operands[0])->dtype;
        from = narrow == TT_BF16 || narrow == TT_F16 ? x->operands[0] : from;
    }
    if (from == n->operands[0] || hlo_node_at(g, from)->op == HLO_CONSTANT)
        return;
    set_operand(g, n, 0, from);
    if (!squares)
        return;
    hlo_attr *attrs = TT_NEW_N(g->arena, hlo_attr, n->n_attrs + 1);
    memcpy(attrs, n->attrs, sizeof *attrs * n->n_attrs);
    attrs[n->n_attrs++] = hlo_attr_make_bool(HLO_A_TT_SQUARES, true);
    n->attrs = attrs;
}

/* ---- losses ---- */
/* uses[value]: how often the block and what it contains use it. */
static void count_uses(const hlo_graph *g, const hlo_block *block, int *uses) {
    for (int i = 0; i < block->n_results; i++)
        uses[block->results[i]]++;
    for (int i = 0; i < block->n_nodes; i++) {
        const hlo_node *user = hlo_node_at(g, block->nodes[i]);
        for (uint32_t k = 0; k < user->n_operands; k++)
            uses[user->operands[k]]++;
        for (int k = 0; k < user->n_regions; k++)
            count_uses(g, user->regions[k], uses);
    }
}

static bool is_composite(const hlo_node *n, const char *name) {
    return n->op == HLO_COMPOSITE && !strcmp(hlo_attr_text(n, HLO_A_COMPOSITE_NAME, ""), name);
}

/* The logarithm of a softmax of which a loss reads an element a row need not be written. */
static void look_through_softmax(hlo_graph *g, const int *uses, hlo_node *n) {
    const hlo_node *x = hlo_node_at(g, n->operands[0]);
    const char *how = hlo_attr_text(x, HLO_A_COMPOSITE_ATTRIBUTES, NULL);
    if (!is_composite(x, "tt.softmax") || !eng_composite_attr_bool(how, "log", false) || eng_composite_attr_double(how, "dim", 1) != 1 ||
        uses[n->operands[0]] != 1)
        return;
    hlo_attr *attrs = tt_arena_copy(g->arena, n->attrs, sizeof(hlo_attr) * n->n_attrs);
    attrs[hlo_attr_find(n, HLO_A_COMPOSITE_NAME) - n->attrs].text = "tt.cross_entropy";
    n->attrs = attrs;
    set_operand(g, n, 0, x->operands[0]);
}

/* ---- updates ---- */

static bool is_splat(const hlo_graph *g, hlo_ref r, int64_t value) {
    const hlo_node *n = hlo_node_at(g, r);
    const hlo_attr *a = n->op == HLO_CONSTANT && n->type->dtype == TT_PRED ? hlo_attr_find(n, HLO_A_VALUE) : NULL;
    return a && a->data && a->splat && tt_element_get_int(TT_PRED, a->data) == value;
}

/* Values written at every so many places of x, which StableHLO says as a choice by a padded mask, are an update with steps. */
static void write_in_steps(hlo_graph *g, hlo_node *n) {
    const hlo_node *mask = hlo_node_at(g, n->operands[0]), *part = hlo_node_at(g, n->operands[1]);
    if (mask->op != HLO_PAD || part->op != HLO_PAD || !is_splat(g, mask->operands[0], 1) || !is_splat(g, mask->operands[1], 0))
        return;
    const hlo_type *from = hlo_type_of(g, part->operands[0]);
    hlo_ints low = hlo_attr_ints(part, HLO_A_EDGE_PADDING_LOW), inside = hlo_attr_ints(part, HLO_A_INTERIOR_PADDING);
    const hlo_ints mask_low = hlo_attr_ints(mask, HLO_A_EDGE_PADDING_LOW), mask_inside = hlo_attr_ints(mask, HLO_A_INTERIOR_PADDING);
    const int rank = n->type->rank;
    if (low.n != rank || inside.n != rank || mask_low.n != rank || mask_inside.n != rank || !hlo_type_elements(from))
        return;
    int64_t *steps = TT_NEW_N(g->arena, int64_t, rank + 1);
    for (int d = 0; d < rank; d++) {
        steps[d] = inside.v[d] + 1;
        if (low.v[d] != mask_low.v[d] || inside.v[d] != mask_inside.v[d] || low.v[d] < 0 ||
            hlo_type_of(g, mask->operands[0])->dims[d] != from->dims[d] || low.v[d] + (from->dims[d] - 1) * steps[d] >= n->type->dims[d])
            return;
    }
    hlo_attr *attrs = TT_NEW_N(g->arena, hlo_attr, 2);
    attrs[0] = (hlo_attr){.name = HLO_A_START_INDICES, .kind = HLO_K_INTS, .n = rank, .ints = tt_arena_copy(g->arena, low.v, sizeof(int64_t) * (size_t)rank)};
    attrs[1] = (hlo_attr){.name = HLO_A_STRIDES, .kind = HLO_K_INTS, .n = rank, .ints = steps};
    hlo_ref *operands = TT_NEW_N(g->arena, hlo_ref, 2);
    operands[0] = n->operands[2];
    operands[1] = part->operands[0];
    n->op = HLO_DYNAMIC_UPDATE_SLICE;
    n->operands = operands;
    n->n_operands = 2;
    n->attrs = attrs;
    n->n_attrs = 2;
}

/* ---- pairs ----
 * A complex number lies as its two parts do: what takes numbers apart into pairs, or puts pairs together, is another name for the bytes. */
static void name_bytes(hlo_graph *g, hlo_node *n, hlo_ref of) {
    n->op = HLO_BITCAST_CONVERT;
    n->operands = tt_arena_copy(g->arena, &of, sizeof of);
    n->n_operands = 1;
    n->n_attrs = 0;
}

static void look_through_parts(hlo_graph *g, hlo_node *n) {
    static const hlo_op parts[2] = {HLO_REAL, HLO_IMAG};
    const int last = n->type->rank - 1;
    hlo_ref from = HLO_NONE;
    if (n->n_operands != 2 || hlo_attr_int(n, HLO_A_DIMENSION, 0) != last)
        return;
    for (int k = 0; k < 2; k++) {
        const hlo_node *column = hlo_node_at(g, n->operands[k]);
        const hlo_node *part = column->op == HLO_RESHAPE ? hlo_node_at(g, column->operands[0]) : column;
        if (part->op != parts[k] || column->type->dims[last] != 1 || !tt_is_complex(hlo_type_of(g, part->operands[0])->dtype) ||
            (k && part->operands[0] != from))
            return;
        from = part->operands[0];
    }
    name_bytes(g, n, from);
}

static void look_through_pairs(hlo_graph *g, hlo_node *n) {
    hlo_ref from = HLO_NONE;
    for (int k = 0; k < 2; k++) {
        const hlo_node *x = hlo_node_at(g, n->operands[k]), *s = x->op == HLO_RESHAPE ? hlo_node_at(g, x->operands[0]) : x;
        const hlo_ints starts = hlo_attr_ints(s, HLO_A_START_INDICES);
        const hlo_type *pairs = s->op == HLO_SLICE ? hlo_type_of(g, s->operands[0]) : NULL;
        const int last = pairs ? pairs->rank - 1 : -1;
        if (last < 0 || pairs->dims[last] != 2 || s->type->dims[last] != 1 || starts.v[last] != k || (k && s->operands[0] != from))
            return;
        for (int d = 0; d < last; d++)
            if (s->type->dims[d] != pairs->dims[d])
                return;
        from = s->operands[0];
    }
    name_bytes(g, n, from);
}

void eng_canonicalise(hlo_graph *g, hlo_block *block) {
    tt_arena *scratch = tt_arena_create();
    int *uses = NULL; /* before the first loss that asks: no rewrite gives a value that has one use another */
    for (int i = 0; i < block->n_nodes; i++) {
        hlo_node *n = hlo_node_at(g, block->nodes[i]);
        for (int r = 0; r < n->n_regions; r++)
            if (n->op == HLO_WHILE || n->op == HLO_IF || n->op == HLO_CASE)
                eng_canonicalise(g, n->regions[r]);
        if (n->op == HLO_TRANSPOSE)
            join_transposes(g, n);
        if (n->op == HLO_REDUCE)
            look_through_widening(g, n);
        if (n->op == HLO_SELECT)
            write_in_steps(g, n);
        if (n->op == HLO_CONCATENATE)
            look_through_parts(g, n);
        if (n->op == HLO_COMPLEX)
            look_through_pairs(g, n);
        if (n->op == HLO_DOT_GENERAL)
            look_through_transposes(g, n);
        if (is_composite(n, "tt.nll_loss")) {
            if (!uses) {
                uses = TT_NEW_N(scratch, int, g->n_nodes);
                count_uses(g, block, uses);
            }
            look_through_softmax(g, uses, n);
        }
        if (n->op == HLO_CONVOLUTION)
            look_through_reverse(g, n);
        if (n->op < HLO_N_OPS && eng_ref_kernels[n->op] && foldable(g, n))
            fold(g, n, scratch);
    }
    tt_arena_destroy(scratch);
}

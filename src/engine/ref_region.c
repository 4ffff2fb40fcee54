/* ref_region.c - elementwise nodes, and regions of scalars run over vectors.
 *
 * A reduction's or a sort's region is written for one pair of scalars. Most regions hold elementwise ops only; those run here
 * for many elements at once, op by op over short arrays. The rest goes to eng_ref_block, one element at a time. */
#include "engine/ref.h"

enum { CHUNK = 1024, MAX_OPERANDS = 3 };

/* ---- elementwise nodes ---- */
static void complex_make(tt_dtype part, void *out, const void *re, const void *im, int64_t n) {
    if (part == TT_F32)
        for (int64_t i = 0; i < n; i++)
            ((float *)out)[2 * i] = ((const float *)re)[i], ((float *)out)[2 * i + 1] = ((const float *)im)[i];
    else
        for (int64_t i = 0; i < n; i++)
            ((double *)out)[2 * i] = ((const double *)re)[i], ((double *)out)[2 * i + 1] = ((const double *)im)[i];
}

tt_status ref_elementwise(const hlo_graph *g, const hlo_node *node, int64_t n, const void *const *in, void *out) {
    hlo_op op = (hlo_op)node->op;
    tt_dtype t = hlo_type_of(g, node->operands[0])->dtype, to = node->type->dtype;
    bool known = true;
    switch ((int)op) {
    case HLO_COMPARE:
        known = ref_compare(hlo_attr_text(node, HLO_A_COMPARISON_DIRECTION, ""),
                            !strcmp(hlo_attr_text(node, HLO_A_COMPARE_TYPE, ""), "TOTALORDER"), t, out, in[0], in[1], n);
        break;
    case HLO_SELECT:
        ref_select(tt_dtype_size(to), out, in[0], in[1], in[2], n);
        break;
    case HLO_CLAMP: /* low, x, high */
        known = ref_binary(HLO_MAXIMUM, to, out, in[1], in[0], n) && ref_binary(HLO_MINIMUM, to, out, out, in[2], n);
        break;
    case HLO_COMPLEX:
        complex_make(t, out, in[0], in[1], n);
        break;
    case HLO_CONVERT:
        ref_convert(to, out, t, in[0], n);
        break;
    case HLO_REDUCE_PRECISION:
        known = ref_reduce_precision(t, hlo_attr_int(node, HLO_A_EXPONENT_BITS, 0), hlo_attr_int(node, HLO_A_MANTISSA_BITS, 0), out,
                                     in[0], n);
        break;
    case HLO_UNIFORM_QUANTIZE: case HLO_UNIFORM_DEQUANTIZE:
        known = false;
        break;
    default:
        known = node->n_operands == 1 ? ref_unary(op, t, out, in[0], n) : ref_binary(op, t, out, in[0], in[1], n);
    }
    if (!known)
        REF_UNSUPPORTED(g, node, t);
    return TT_OK;
}

/* A division marked with tt.bounds fails where the divisor is zero; the mark is the message. */
static tt_status check_divisor(const hlo_node *node, tt_dtype t, const void *divisor, int64_t n) {
    if (!node->n_attrs || (node->op != HLO_DIVIDE && node->op != HLO_REMAINDER) || !hlo_attr_find(node, HLO_A_TT_BOUNDS))
        return TT_OK;
    int size = tt_dtype_size(t);
    for (int64_t i = 0; i < n; i++)
        TT_CHECK(tt_element_get_int(t, (const char *)divisor + i * size), INVALID_ARGUMENT, "%s", hlo_attr_text(node, HLO_A_TT_BOUNDS, ""));
    return TT_OK;
}

REF_KERNEL(elementwise) {
    (void)run;
    const void *arrays[MAX_OPERANDS];
    int64_t n = ref_count(out);
    int spread = 0;
    REF_AUTO(char) first = NULL;
    REF_AUTO(char) second = NULL;
    for (uint32_t i = 0; i < node->n_operands && i < MAX_OPERANDS; i++) {
        arrays[i] = in[i].data;
        if (ref_count(in + i) == n)
            continue;
        TT_CHECK(ref_count(in + i) == 1 && spread < 2, INVALID_ARGUMENT, "%s: operand %u has another shape",
                 hlo_op_text((hlo_op)node->op), i);
        char **copy = spread++ ? &second : &first; /* select's predicate, clamp's bounds */
        TT_TRY(ref_alloc(n, ref_size(in + i), copy));
        ref_fill(ref_size(in + i), *copy, in[i].data, n);
        arrays[i] = *copy;
    }
    TT_TRY(check_divisor(node, out->type.dtype, arrays[node->n_operands == 2], n));
    return ref_elementwise(g, node, n, arrays, out->data);
}

/* ---- regions ---- */
typedef struct step {
    const hlo_node *node;
    int slot, operands[MAX_OPERANDS];
} step;

struct ref_region {
    eng_run *run;
    const hlo_graph *g;
    const hlo_block *block;
    hlo_op op;             /* single binary op: no steps */
    tt_dtype op_dtype;
    bool vector;
    int n_steps, n_slots, n_local; /* slots: parameters, then nodes (n_local together), then outer values */
    step *steps;
    hlo_ref *refs;         /* per slot */
    void **arrays;         /* per slot: CHUNK elements; NULL for parameters */
    const void **values;   /* per slot, during a run */
};

static const hlo_node *only_node(const hlo_graph *g, const hlo_block *b) {
    if (b->n_params != 2 || b->n_nodes != 1 || b->n_results != 1 || b->results[0] != b->nodes[0])
        return NULL;
    const hlo_node *node = hlo_node_at(g, b->nodes[0]);
    return node->n_operands == 2 && node->op != HLO_COMPARE && (hlo_op_flags((hlo_op)node->op) & HLO_F_ELEM) ? node : NULL;
}

hlo_op ref_region_op(const hlo_graph *g, const hlo_block *b) {
    const hlo_node *node = only_node(g, b);
    if (!node || node->op == HLO_COMPLEX)
        return HLO_INVALID;
    bool in_order = node->operands[0] == b->params[0] && node->operands[1] == b->params[1];
    bool swapped = node->operands[0] == b->params[1] && node->operands[1] == b->params[0];
    return in_order || (swapped && (hlo_op_flags((hlo_op)node->op) & HLO_F_COMM)) ? (hlo_op)node->op : HLO_INVALID;
}

bool ref_region_takes_update(const hlo_graph *g, const hlo_block *b) {
    (void)g;
    return b->n_params == 2 && b->n_nodes == 0 && b->n_results == 1 && b->results[0] == b->params[1];
}

static int slot_of(const ref_region *r, hlo_ref ref) {
    for (int i = 0; i < r->n_slots; i++)
        if (r->refs[i] == ref)
            return i;
    return -1;
}

static bool is_vector(const hlo_graph *g, const hlo_block *b) {
    for (int i = 0; i < b->n_params; i++)
        if (hlo_type_of(g, b->params[i])->rank != 0)
            return false;
    for (int i = 0; i < b->n_nodes; i++) {
        const hlo_node *node = hlo_node_at(g, b->nodes[i]);
        bool fine = node->op == HLO_CONSTANT || (hlo_op_flags((hlo_op)node->op) & HLO_F_ELEM);
        if (!fine || node->n_results != 1 || node->type->rank != 0 || node->n_operands > MAX_OPERANDS)
            return false;
    }
    return true;
}

static const void *constant_data(const hlo_node *node) {
    const hlo_attr *a = node->op == HLO_CONSTANT ? hlo_attr_find(node, HLO_A_VALUE) : NULL;
    return a ? a->data : NULL;
}

/* A value from outside the region: the same for every element. Constants need no surroundings: programs keep none of them alive. */
static tt_status add_outer(ref_region *r, hlo_ref ref, int *out_slot) {
    const hlo_type *type = hlo_type_of(r->g, ref);
    const void *data = constant_data(hlo_node_at(r->g, ref));
    const eng_tensor *t = !data && r->run->env ? r->run->env(r->run->env_context, ref) : NULL;
    data = t ? t->data : data;
    TT_CHECK(data && type->rank == 0, INTERNAL, "a region uses a value that its surroundings do not give");
    int slot = r->n_slots++, size = tt_dtype_size(type->dtype);
    r->refs[slot] = ref;
    TT_TRY(ref_alloc(CHUNK, size, &r->arrays[slot]));
    ref_fill(size, r->arrays[slot], data, CHUNK);
    *out_slot = slot;
    return TT_OK;
}

static tt_status add_node(ref_region *r, hlo_ref ref) {
    const hlo_node *node = hlo_node_at(r->g, ref);
    step s = {.node = node};
    for (uint32_t i = 0; i < node->n_operands; i++) {
        s.operands[i] = slot_of(r, node->operands[i]);
        if (s.operands[i] < 0)
            TT_TRY(add_outer(r, node->operands[i], &s.operands[i]));
    }
    s.slot = r->n_slots++;
    r->refs[s.slot] = ref;
    int size = tt_dtype_size(node->type->dtype);
    TT_TRY(ref_alloc(CHUNK, size, &r->arrays[s.slot]));
    if (node->op != HLO_CONSTANT) {
        r->steps[r->n_steps++] = s;
        return TT_OK;
    }
    TT_CHECK(constant_data(node), INVALID_ARGUMENT, "a constant without a value");
    ref_fill(size, r->arrays[s.slot], constant_data(node), CHUNK);
    return TT_OK;
}

static tt_status prepare(ref_region *r) {
    const hlo_block *b = r->block;
    int slots = b->n_params + b->n_nodes * (1 + MAX_OPERANDS) + b->n_results;
    TT_TRY(ref_alloc(slots, sizeof *r->refs, &r->refs));
    TT_TRY(ref_alloc(slots, sizeof *r->arrays, &r->arrays));
    TT_TRY(ref_alloc(slots, sizeof *r->values, &r->values));
    TT_TRY(ref_alloc(b->n_nodes, sizeof *r->steps, &r->steps));
    memset(r->arrays, 0, sizeof *r->arrays * (size_t)slots);
    for (int i = 0; i < b->n_params; i++)
        r->refs[r->n_slots++] = b->params[i];
    for (int i = 0; i < b->n_nodes; i++)
        TT_TRY(add_node(r, b->nodes[i]));
    for (int i = 0, slot; i < b->n_results; i++)
        if (slot_of(r, b->results[i]) < 0)
            TT_TRY(add_outer(r, b->results[i], &slot));
    return TT_OK;
}

tt_status ref_region_create(eng_run *run, const hlo_graph *g, const hlo_block *block, ref_region **out) {
    ref_region *r = tt_calloc(1, sizeof *r);
    *r = (ref_region){.run = run, .g = g, .block = block, .op = ref_region_op(g, block)};
    r->vector = is_vector(g, block);
    if (r->op != HLO_INVALID) {
        r->op_dtype = hlo_type_of(g, block->params[0])->dtype;
        r->vector = r->vector && hlo_type_of(g, block->params[1])->dtype == r->op_dtype;
    }
    tt_status error = r->vector ? prepare(r) : TT_OK;
    if (error) {
        ref_region_destroy(r);
        return error;
    }
    *out = r;
    return TT_OK;
}

void ref_region_destroy(ref_region *r) {
    if (!r)
        return;
    for (int i = 0; i < r->n_slots; i++)
        ref_free(&r->arrays[i]);
    ref_free(&r->refs);
    ref_free(&r->arrays);
    ref_free(&r->values);
    ref_free(&r->steps);
    ref_free(&r);
}

static tt_status run_vector(ref_region *r, int64_t from, int64_t n, const void *const *in, void *const *out) {
    const hlo_block *b = r->block;
    for (int i = 0; i < r->n_slots; i++)
        r->values[i] = i < b->n_params ? (const char *)in[i] + from * tt_dtype_size(hlo_type_of(r->g, b->params[i])->dtype)
                                       : r->arrays[i];
    for (int i = 0; i < r->n_steps; i++) {
        const step *s = &r->steps[i];
        const void *operands[MAX_OPERANDS] = {NULL};
        for (uint32_t k = 0; k < s->node->n_operands; k++)
            operands[k] = r->values[s->operands[k]];
        TT_TRY(ref_elementwise(r->g, s->node, n, operands, r->arrays[s->slot]));
    }
    for (int i = 0; i < b->n_results; i++) {
        int size = tt_dtype_size(hlo_type_of(r->g, b->results[i])->dtype);
        ref_memcpy((char *)out[i] + from * size, r->values[slot_of(r, b->results[i])], n * size);
    }
    return TT_OK;
}

static tt_status run_each(ref_region *r, int64_t n, const void *const *in, void *const *out) {
    const hlo_block *b = r->block;
    for (int64_t k = 0; k < n; k++) {
        tt_arena_mark mark = tt_arena_mark_get(r->run->arena);
        eng_tensor *params = TT_NEW_N(r->run->arena, eng_tensor, b->n_params);
        eng_tensor *results = TT_NEW_N(r->run->arena, eng_tensor, b->n_results);
        for (int i = 0; i < b->n_params; i++) {
            params[i].type = *hlo_type_of(r->g, b->params[i]);
            params[i].data = (char *)(uintptr_t)in[i] + k * tt_dtype_size(params[i].type.dtype);
        }
        tt_status error = eng_ref_block(r->run, r->g, b, params, r->run->env, r->run->env_context, results);
        for (int i = 0; i < b->n_results && !error; i++)
            ref_memcpy((char *)out[i] + k * ref_size(results + i), results[i].data, ref_size(results + i));
        tt_arena_rewind(r->run->arena, mark);
        TT_TRY(error);
    }
    return TT_OK;
}

tt_status ref_region_run(ref_region *r, int64_t n, const void *const *in, void *const *out) {
    if (!r->vector)
        return run_each(r, n, in, out);
    if (r->op != HLO_INVALID && ref_binary(r->op, r->op_dtype, out[0], in[0], in[1], n))
        return TT_OK;
    for (int64_t from = 0; from < n; from += CHUNK)
        TT_TRY(run_vector(r, from, n - from < CHUNK ? n - from : CHUNK, in, out));
    return TT_OK;
}

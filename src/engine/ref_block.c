/* ref_block.c - runs blocks of nodes on reference kernels, and the kernels that run blocks: control flow and calls.
 *
 * Above all other reference kernels. program.c runs a program's main block itself; this serves regions, functions and tests.
 * Results of a block live in run->arena. Collectives here know one device only. */
#include "engine/ref.h"

enum { MAX_DEPTH = 200 }; /* of blocks in blocks: bounds the C stack */

typedef struct frame {
    hlo_ref low, high;
    const eng_tensor **values; /* by ref - low */
    eng_env outer;
    void *outer_context;
} frame;

static const eng_tensor *frame_find(void *context, hlo_ref ref) {
    const frame *f = context;
    if (ref >= f->low && ref <= f->high && f->values[ref - f->low])
        return f->values[ref - f->low];
    return f->outer ? f->outer(f->outer_context, ref) : NULL;
}

/* A value used in the block; constants of the surroundings are made again where nobody holds them. */
static tt_status find_value(eng_run *run, const hlo_graph *g, frame *f, hlo_ref ref, eng_tensor *out) {
    const eng_tensor *t = frame_find(f, ref);
    const hlo_node *node = hlo_node_at(g, ref);
    if (t) {
        *out = *t;
        return TT_OK;
    }
    TT_CHECK(node->op == HLO_CONSTANT, INTERNAL, "a region uses a value that its surroundings do not give");
    out->type = *node->type;
    out->data = tt_arena_alloc(run->arena, (size_t)hlo_type_bytes(node->type));
    return ref_k_constant(run, g, node, NULL, out);
}

static void stretch(frame *f, hlo_ref ref, uint32_t more) {
    f->low = ref < f->low ? ref : f->low;
    f->high = ref + more > f->high ? ref + more : f->high;
}

static frame frame_make(tt_arena *arena, const hlo_graph *g, const hlo_block *b, eng_env outer, void *outer_context) {
    frame f = {.low = UINT32_MAX, .high = 0, .outer = outer, .outer_context = outer_context};
    for (int i = 0; i < b->n_params; i++)
        stretch(&f, b->params[i], 0);
    for (int i = 0; i < b->n_nodes; i++)
        stretch(&f, b->nodes[i], hlo_node_at(g, b->nodes[i])->n_results > 1 ? hlo_node_at(g, b->nodes[i])->n_results : 0);
    f.values = TT_NEW_N(arena, const eng_tensor *, f.low <= f.high ? f.high - f.low + 1 : 1);
    return f;
}

/* A node with several results is followed by its RESULT nodes; a node with one is its own value. */
static hlo_ref result_ref(const hlo_node *node, hlo_ref ref, uint32_t i) {
    return node->n_results > 1 ? ref + 1 + i : ref;
}

static tt_status run_node(eng_run *run, const hlo_graph *g, frame *f, hlo_ref ref) {
    const hlo_node *node = hlo_node_at(g, ref);
    const char *text = hlo_op_text((hlo_op)node->op);
    eng_tensor *in = TT_NEW_N(run->arena, eng_tensor, node->n_operands);
    eng_tensor *out = TT_NEW_N(run->arena, eng_tensor, node->n_results);
    for (uint32_t i = 0; i < node->n_operands; i++)
        TT_TRY(find_value(run, g, f, node->operands[i], &in[i]));
    for (uint32_t i = 0; i < node->n_results; i++) {
        hlo_ref r = result_ref(node, ref, i);
        out[i].type = *hlo_type_of(g, r);
        out[i].data = tt_arena_alloc(run->arena, (size_t)hlo_type_bytes(&out[i].type));
        f->values[r - f->low] = &out[i];
    }
    eng_kernel kernel = node->op < HLO_N_OPS ? eng_ref_kernels[node->op] : NULL;
    TT_CHECK(kernel, UNIMPLEMENTED, "%s is not supported by the engine", text);
    return kernel(run, g, node, in, out);
}

static tt_status run_block(const eng_run *outer, const hlo_graph *g, const hlo_block *b, const eng_tensor *params, eng_env env, void *context,
                           eng_tensor *out_results) {
    frame f = frame_make(outer->arena, g, b, env, context);
    eng_run inner = *outer, *run = &inner;
    inner.env = frame_find;
    inner.env_context = &f;
    for (int i = 0; i < b->n_params; i++)
        f.values[b->params[i] - f.low] = &params[i];
    for (int i = 0; i < b->n_nodes; i++)
        TT_TRY(run_node(run, g, &f, b->nodes[i]));
    for (int i = 0; i < b->n_results; i++) {
        TT_TRY(find_value(run, g, &f, b->results[i], &out_results[i]));
        bool own = false;
        for (int k = 0; k < b->n_nodes && !own; k++) {
            const hlo_node *node = hlo_node_at(g, b->nodes[k]);
            own = b->results[i] >= b->nodes[k] && b->results[i] <= b->nodes[k] + (node->n_results > 1 ? node->n_results : 0);
        }
        if (!own) /* a parameter or an outer value: the caller may overwrite it before it reads the result */
            out_results[i].data = tt_arena_copy(run->arena, out_results[i].data, (size_t)hlo_type_bytes(&out_results[i].type));
    }
    return TT_OK;
}

tt_status eng_ref_block(eng_run *run, const hlo_graph *g, const hlo_block *block, const eng_tensor *params, eng_env env, void *context,
                        eng_tensor *out_results) {
    static _Thread_local int depth;
    TT_CHECK(depth < MAX_DEPTH, RESOURCE_EXHAUSTED, "regions or calls are nested more than %d deep", MAX_DEPTH);
    depth++;
    tt_status error = run_block(run, g, block, params, env, context, out_results);
    depth--;
    return error;
}

/* ---- control flow ---- */
static tt_status take_results(const hlo_node *node, int n, const eng_tensor *results, eng_tensor *out) {
    for (int i = 0; i < n; i++) {
        TT_CHECK(hlo_type_equal(&results[i].type, &out[i].type), INVALID_ARGUMENT, "%s: result %d of a region has another type",
                 hlo_op_text((hlo_op)node->op), i);
        ref_memcpy(out[i].data, results[i].data, hlo_type_bytes(&out[i].type));
    }
    return TT_OK;
}

static tt_status run_into(eng_run *run, const hlo_graph *g, const hlo_node *node, const hlo_block *b, const eng_tensor *params, eng_env env,
                          void *context, int n_out, eng_tensor *out) {
    TT_CHECK(b->n_results == n_out, INVALID_ARGUMENT, "%s: a region returns %d values, expected %d", hlo_op_text((hlo_op)node->op),
             b->n_results, n_out);
    tt_arena_mark mark = tt_arena_mark_get(run->arena);
    eng_tensor *results = TT_NEW_N(run->arena, eng_tensor, n_out);
    tt_status error = eng_ref_block(run, g, b, params, env, context, results);
    if (!error)
        error = take_results(node, n_out, results, out);
    tt_arena_rewind(run->arena, mark);
    return error;
}

REF_KERNEL(while) {
    TT_CHECK(node->n_regions == 2 && node->n_operands == node->n_results, INVALID_ARGUMENT, "malformed while");
    uint8_t go = 0;
    eng_tensor pred = {.type = {.dtype = TT_PRED}, .data = &go};
    int n = (int)node->n_operands;
    for (int i = 0; i < n; i++)
        ref_memcpy(out[i].data, in[i].data, hlo_type_bytes(&out[i].type));
    for (;;) {
        TT_TRY(run_into(run, g, node, node->regions[0], out, run->env, run->env_context, 1, &pred));
        if (!go)
            return TT_OK;
        TT_TRY(run_into(run, g, node, node->regions[1], out, run->env, run->env_context, n, out));
    }
}

/* One slice of x, whose dimension `dim` is scanned, to or from a dense array. */
static void move_slice(const eng_tensor *x, int64_t dim, int64_t at, char *dense, bool store) {
    int64_t outer = 1, inner = ref_size(x), n = x->type.dims[dim];
    for (int d = 0; d < x->type.rank; d++)
        if (d != dim)
            *(d < dim ? &outer : &inner) *= x->type.dims[d];
    for (int64_t o = 0; o < outer; o++) {
        char *there = (char *)x->data + (o * n + at) * inner, *here = dense + o * inner;
        ref_memcpy(store ? there : here, store ? here : there, inner);
    }
}

/* A dense array of b's parameter i, or of its result i. */
static eng_tensor slice_make(eng_run *run, const hlo_graph *g, hlo_ref ref) {
    eng_tensor t = {.type = *hlo_type_of(g, ref)};
    t.data = tt_arena_alloc(run->arena, (size_t)hlo_type_bytes(&t.type));
    return t;
}

REF_KERNEL(scan) {
    hlo_ints sizes = hlo_attr_ints(node, HLO_A_OPERAND_SEGMENTS);
    int64_t dim = hlo_attr_int(node, HLO_A_DIMENSION, -1);
    TT_CHECK(sizes.n == 2 && node->n_regions == 1 && dim >= 0 && dim < in->type.rank, INVALID_ARGUMENT, "malformed scan");
    const hlo_block *b = node->regions[0];
    int n_in = (int)sizes.v[0], n_carry = (int)sizes.v[1], n_out = node->n_results - n_carry;
    int64_t length = in->type.dims[dim];
    eng_tensor *params = TT_NEW_N(run->arena, eng_tensor, n_in + n_carry), *results = TT_NEW_N(run->arena, eng_tensor, n_out + n_carry);
    for (int i = 0; i < n_in; i++)
        params[i] = slice_make(run, g, b->params[i]);
    for (int i = 0; i < n_carry; i++) { /* the carries are the last results all along */
        params[n_in + i] = results[n_out + i] = out[n_out + i];
        ref_memcpy(out[n_out + i].data, in[n_in + i].data, hlo_type_bytes(&out[n_out + i].type));
    }
    for (int i = 0; i < n_out; i++)
        results[i] = slice_make(run, g, b->results[i]);
    for (int64_t step = 0; step < length; step++) {
        int64_t at = hlo_attr_int(node, HLO_A_IS_REVERSE, 0) ? length - 1 - step : step;
        for (int i = 0; i < n_in; i++)
            move_slice(&in[i], dim, at, params[i].data, false);
        TT_TRY(run_into(run, g, node, b, params, run->env, run->env_context, n_out + n_carry, results));
        for (int i = 0; i < n_out; i++)
            move_slice(&out[i], dim, at, results[i].data, true);
    }
    return TT_OK;
}

REF_KERNEL(case) {
    TT_CHECK(node->n_regions > 0, INVALID_ARGUMENT, "case without branches");
    int64_t i = ref_index(in, 0);
    if (i < 0 || i >= node->n_regions)
        i = node->n_regions - 1;
    return run_into(run, g, node, node->regions[i], NULL, run->env, run->env_context, node->n_results, out);
}

REF_KERNEL(if) {
    TT_CHECK(node->n_regions == 2, INVALID_ARGUMENT, "if without two branches");
    return run_into(run, g, node, node->regions[ref_index(in, 0) ? 0 : 1], NULL, run->env, run->env_context, node->n_results, out);
}

static tt_status call(eng_run *run, const hlo_graph *g, const hlo_node *node, const char *name, const eng_tensor *in, eng_tensor *out) {
    hlo_func *f = hlo_func_find(g, name);
    TT_CHECK(f && f->body, NOT_FOUND, "%s of @%s, which the module does not have", hlo_op_text((hlo_op)node->op), name);
    TT_CHECK(f->body->n_params == (int)node->n_operands, INVALID_ARGUMENT, "@%s is called with %u arguments", name, node->n_operands);
    return run_into(run, g, node, f->body, in, NULL, NULL, node->n_results, out);
}

REF_KERNEL(call) {
    return call(run, g, node, hlo_attr_text(node, HLO_A_CALLEE, ""), in, out);
}

REF_KERNEL(composite) {
    return call(run, g, node, hlo_attr_text(node, HLO_A_DECOMPOSITION, ""), in, out);
}

/* ---- identities, and collectives of one device ---- */
REF_KERNEL(identity) {
    TT_CHECK(node->n_operands >= node->n_results, INVALID_ARGUMENT, "%s has too few operands", hlo_op_text((hlo_op)node->op));
    bool alone = run->n_devices <= 1 || node->op == HLO_OPTIMIZATION_BARRIER || node->op == HLO_CUSTOM_CALL;
    TT_CHECK(alone, UNIMPLEMENTED, "%s between devices inside a region", hlo_op_text((hlo_op)node->op));
    (void)g;
    for (uint32_t i = 0; i < node->n_results; i++) {
        TT_CHECK(hlo_type_equal(&in[i].type, &out[i].type), INVALID_ARGUMENT, "%s over one device changes the shape",
                 hlo_op_text((hlo_op)node->op));
        ref_memcpy(out[i].data, in[i].data, hlo_type_bytes(&out[i].type));
    }
    return TT_OK;
}

REF_KERNEL(nothing) {
    (void)run, (void)g, (void)node, (void)in, (void)out;
    return TT_OK;
}

REF_KERNEL(collective_permute) {
    const hlo_attr *pairs = hlo_attr_find(node, HLO_A_SOURCE_TARGET_PAIRS);
    for (int i = 0; pairs && i + 1 < pairs->n; i += 2)
        if (pairs->ints[i] == 0 && pairs->ints[i + 1] == 0)
            return ref_k_identity(run, g, node, in, out);
    memset(out->data, 0, (size_t)hlo_type_bytes(&out->type));
    return TT_OK;
}

REF_KERNEL(partition_id) {
    (void)g, (void)in;
    tt_element_set_int(out->type.dtype, out->data, node->op == HLO_PARTITION_ID ? run->device : 0);
    return TT_OK;
}

REF_KERNEL(custom_call) {
    static const char *const same[] = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "LayoutConstraint",
                                       "annotate_device_placement", "xla.sdy.FuncResultSharding", "MoveToHost", "MoveToDevice"};
    const char *target = hlo_attr_text(node, HLO_A_CALL_TARGET_NAME, "");
    if (!strncmp(target, "check.", 6))
        return ref_k_check(run, g, node, in, out);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (!strcmp(target, same[i]))
            return ref_k_identity(run, g, node, in, out);
    TT_FAIL(UNIMPLEMENTED, "custom_call @%s: the engine has no such target", target);
}

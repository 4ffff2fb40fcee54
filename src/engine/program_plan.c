/* program_plan.c - from a block to steps: which kernel computes which node, and which nodes need none.
 *
 * Walks a block once. Reshapes and contiguous slices become other names for their operand's bytes, constants
 * go to the program's pool, groups of elementwise nodes become loops, while and if plan their regions as
 * plans of their own. Where values lie is decided afterwards, in program_place.c. */
#include "engine/fast.h"
#include "engine/program_place.h"
#include <string.h>

enum { IOTA_CONSTANT_BYTES = 1 << 20 };

static hlo_ref result_ref(const hlo_graph *g, hlo_ref node, int k) {
    return hlo_node_at(g, node)->n_results > 1 ? node + 1 + (hlo_ref)k : node;
}

/* The node that computes a value. */
static hlo_ref node_of(const hlo_graph *g, hlo_ref r) {
    return hlo_node_at(g, r)->op == HLO_RESULT ? hlo_node_at(g, r)->operands[0] : r;
}

bool eng_is_spread(const eng_planner *p, const hlo_node *n) {
    enum { SMALL = 1 << 12 };
    const hlo_attr *value = n->op == HLO_CONSTANT && !p->reference && hlo_type_bytes(n->type) >= SMALL ? hlo_attr_find(n, HLO_A_VALUE) : NULL;
    return value && value->data && value->splat;
}

static bool is_constant(const eng_planner *p, const hlo_node *n) {
    return (n->op == HLO_CONSTANT && !eng_is_spread(p, n)) || (n->op == HLO_IOTA && hlo_type_bytes(n->type) <= IOTA_CONSTANT_BYTES);
}

/* ---- uses across regions ---- */
static void walk_defined(eng_planner *p, const hlo_block *b) {
    for (int i = 0; i < b->n_params; i++)
        p->stamps[b->params[i]] = p->stamp;
    for (int i = 0; i < b->n_nodes; i++) {
        const hlo_node *n = hlo_node_at(p->g, b->nodes[i]);
        for (int k = 0; k <= (n->n_results > 1 ? n->n_results : 0); k++)
            p->stamps[b->nodes[i] + (hlo_ref)k] = p->stamp;
        for (int r = 0; r < n->n_regions; r++)
            walk_defined(p, n->regions[r]);
    }
}

typedef struct ref_list {
    int n, capacity;
    hlo_ref *refs;
} ref_list;

static void list_outer(eng_planner *p, ref_list *list, hlo_ref r) {
    if (p->stamps[r] == p->stamp || is_constant(p, hlo_node_at(p->g, r)))
        return;
    p->stamps[r] = p->stamp; /* once */
    if (list->n == list->capacity) {
        int capacity = list->capacity ? list->capacity * 2 : 8;
        hlo_ref *refs = TT_NEW_N(p->temporary, hlo_ref, capacity);
        if (list->n)
            memcpy(refs, list->refs, sizeof *refs * (size_t)list->n);
        list->refs = refs;
        list->capacity = capacity;
    }
    list->refs[list->n++] = r;
}

static void walk_uses(eng_planner *p, ref_list *list, const hlo_block *b) {
    for (int i = 0; i < b->n_nodes; i++) {
        const hlo_node *n = hlo_node_at(p->g, b->nodes[i]);
        for (uint32_t k = 0; k < n->n_operands; k++)
            list_outer(p, list, n->operands[k]);
        for (int r = 0; r < n->n_regions; r++)
            walk_uses(p, list, n->regions[r]);
    }
    for (int i = 0; i < b->n_results; i++)
        list_outer(p, list, b->results[i]);
}

void eng_captures_find(eng_planner *p, const hlo_node *node, int *out_n, hlo_ref **out_refs) {
    ref_list list = {0};
    p->stamp++;
    for (int r = 0; r < node->n_regions; r++)
        walk_defined(p, node->regions[r]);
    for (int r = 0; r < node->n_regions; r++)
        walk_uses(p, &list, node->regions[r]);
    *out_n = list.n;
    *out_refs = list.refs;
}

/* ---- dead nodes ---- */
static void drop_dead(eng_planner *p, hlo_block *b) {
    /* stamps of live nodes; walks of captures take stamps of their own, so live ones are kept as flags */
    bool *live = TT_NEW_N(p->temporary, bool, b->n_nodes);
    int *position = p->positions;
    for (int i = 0; i < b->n_nodes; i++)
        position[b->nodes[i]] = i;
#define USE(ref)                                                                                             \
    do {                                                                                                     \
        hlo_ref d_ = node_of(p->g, ref);                                                                     \
        int at_ = position[d_];                                                                              \
        if (hlo_node_at(p->g, d_)->op != HLO_PARAM && at_ < b->n_nodes && b->nodes[at_] == d_)               \
            live[at_] = true;                                                                                \
    } while (0)
    for (int i = 0; i < b->n_results; i++)
        USE(b->results[i]);
    for (int i = b->n_nodes - 1; i >= 0; i--) {
        const hlo_node *n = hlo_node_at(p->g, b->nodes[i]);
        if (hlo_op_flags((hlo_op)n->op) & HLO_F_EFFECT || !n->n_results)
            live[i] = true;
        if (!live[i])
            continue;
        for (uint32_t k = 0; k < n->n_operands; k++)
            USE(n->operands[k]);
        if (n->n_regions) {
            int n_captures;
            hlo_ref *captures;
            eng_captures_find(p, n, &n_captures, &captures);
            for (int k = 0; k < n_captures; k++)
                USE(captures[k]);
        }
    }
#undef USE
    int kept = 0;
    for (int i = 0; i < b->n_nodes; i++)
        if (live[i])
            b->nodes[kept++] = b->nodes[i];
    b->n_nodes = kept;
}

/* ---- values ---- */
static eng_value_place constant_place(eng_planner *p, hlo_ref r) {
    if (p->constant_offsets[r] < 0) {
        const hlo_node *n = hlo_node_at(p->g, r);
        const int64_t bytes = eng_is_spread(p, n) ? tt_dtype_size(n->type->dtype) : hlo_type_bytes(n->type);
        p->constant_offsets[r] = p->constant_bytes;
        p->constant_bytes += (bytes + 63) & ~(int64_t)63;
        if (p->n_constants == p->cap_constants) {
            int capacity = p->cap_constants ? p->cap_constants * 2 : 32;
            hlo_ref *list = TT_NEW_N(p->arena, hlo_ref, capacity);
            if (p->n_constants)
                memcpy(list, p->constants, sizeof *list * (size_t)p->n_constants);
            p->constants = list;
            p->cap_constants = capacity;
        }
        p->constants[p->n_constants++] = r;
    }
    return (eng_value_place){ROOT_CONSTANTS, p->constant_offsets[r]};
}

eng_value_place eng_value_find(eng_planner *p, hlo_ref r) {
    if (is_constant(p, hlo_node_at(p->g, r)))
        return constant_place(p, r);
    return p->values[r];
}

static bool same_bits(const hlo_node *n, const hlo_type *from) {
    const hlo_type *to = n->type;
    static const tt_dtype odd[] = {TT_PRED, TT_I4, TT_U4, TT_I2, TT_U2};
    for (int i = 0; i < 5; i++)
        if (to->dtype == odd[i] || from->dtype == odd[i])
            return to->dtype == from->dtype;
    return true;
}

/* Do the operand's elements stay in order? (mapping increasing, all other result dims 1) */
static bool broadcast_keeps_order(const hlo_node *n, const hlo_type *from) {
    hlo_ints map = hlo_attr_ints(n, HLO_A_BROADCAST_DIMENSIONS);
    if (hlo_type_elements(from) != hlo_type_elements(n->type))
        return false;
    int64_t last = -1;
    for (int i = 0; i < map.n; i++) {
        if (from->dims[i] == 1)
            continue;
        if (map.v[i] <= last)
            return false;
        last = map.v[i];
    }
    return true;
}

static bool transpose_keeps_order(const hlo_node *n, const hlo_type *from) {
    hlo_ints map = hlo_attr_ints(n, HLO_A_PERMUTATION);
    int64_t last = -1;
    for (int i = 0; i < map.n; i++) {
        if (from->dims[map.v[i]] == 1)
            continue;
        if (map.v[i] < last)
            return false;
        last = map.v[i];
    }
    return true;
}

static bool slice_is_contiguous(const hlo_node *n, const hlo_type *from, int64_t *out_offset) {
    hlo_ints start = hlo_attr_ints(n, HLO_A_START_INDICES), stride = hlo_attr_ints(n, HLO_A_STRIDES);
    bool whole = true; /* all dims right of this one are taken whole */
    int64_t offset = 0, unit = tt_dtype_size(from->dtype);
    for (int i = from->rank - 1; i >= 0; i--) {
        if (i < stride.n && stride.v[i] != 1 && n->type->dims[i] > 1)
            return false;
        if (!whole && n->type->dims[i] != 1)
            return false;
        if (n->type->dims[i] != from->dims[i])
            whole = false;
        offset += start.v[i] * unit;
        unit *= from->dims[i];
    }
    *out_offset = offset;
    return true;
}

bool eng_place_is_alias(const hlo_graph *g, const hlo_node *n, int64_t *out_offset) {
    *out_offset = 0;
    if (!n->n_operands || n->n_results != 1)
        return false;
    const hlo_type *from = hlo_type_of(g, n->operands[0]);
    if (!from || !hlo_type_elements(n->type))
        return false;
    switch (n->op) {
    case HLO_RESHAPE:
    case HLO_DYNAMIC_RESHAPE:
        return true;
    case HLO_CONVERT:
        return n->type->dtype == from->dtype;
    case HLO_BITCAST_CONVERT:
        return hlo_type_bytes(n->type) == hlo_type_bytes(from) && same_bits(n, from);
    case HLO_BROADCAST_IN_DIM:
        return broadcast_keeps_order(n, from);
    case HLO_TRANSPOSE:
        return transpose_keeps_order(n, from);
    case HLO_SLICE:
        return slice_is_contiguous(n, from, out_offset);
    default:
        return false;
    }
}

/* ---- steps ---- */
static double flops_of(const hlo_graph *g, const hlo_node *n) {
    double out = (double)hlo_type_elements(n->n_results ? n->type : hlo_type_of(g, n->operands[0]));
    if (n->op == HLO_DOT_GENERAL || n->op == HLO_DOT) {
        const hlo_type *a = hlo_type_of(g, n->operands[0]);
        double k = 1;
        const hlo_attr *dims = hlo_attr_find(n, HLO_A_DOT_DIMENSION_NUMBERS);
        if (dims && dims->dims)
            for (int i = 0; i < dims->dims->c.n; i++)
                k *= (double)a->dims[dims->dims->c.v[i]];
        else
            k = (double)a->dims[a->rank - 1];
        return 2 * out * k;
    }
    if (n->op == HLO_CONVOLUTION) {
        const hlo_type *w = hlo_type_of(g, n->operands[1]);
        const hlo_attr *dims = hlo_attr_find(n, HLO_A_DIMENSION_NUMBERS);
        double k = (double)hlo_type_elements(w);
        if (dims && dims->dims && dims->dims->b.n > 1 && w->dims[dims->dims->b.v[1]] > 0)
            k /= (double)w->dims[dims->dims->b.v[1]];
        return 2 * out * k;
    }
    return out;
}

static void count_cost(eng_builder *b, const hlo_node *n, double work, int64_t bytes) {
    b->plan->flops += work;
    b->plan->bytes += (double)bytes;
    double rate =
        n && (n->op == HLO_DOT_GENERAL || n->op == HLO_CONVOLUTION) ? 0.02 : 0.2; /* ns an operation */
    double memory = (double)bytes / 12, compute = work * rate;
    b->plan->ns += 50 + (memory > compute ? memory : compute);
}

static eng_draft *draft_new(eng_builder *b, eng_step_kind kind, const hlo_node *node, int n_in, int n_out) {
    if (b->n_drafts == b->cap_drafts) {
        int capacity = b->cap_drafts ? b->cap_drafts * 2 : 64;
        eng_draft *list = TT_NEW_N(b->p->temporary, eng_draft, capacity);
        if (b->n_drafts)
            memcpy(list, b->drafts, sizeof *list * (size_t)b->n_drafts);
        b->drafts = list;
        b->cap_drafts = capacity;
    }
    eng_draft *d = &b->drafts[b->n_drafts++];
    d->step = (eng_step){.kind = kind, .node = node, .n_in = n_in, .n_out = n_out, .band = -1};
    d->values = TT_NEW_N(b->p->temporary, eng_value_place, n_in + n_out);
    d->step.types = TT_NEW_N(b->p->arena, const hlo_type *, n_in + n_out);
    return d;
}

static tt_status set_input(eng_builder *b, eng_draft *d, int k, hlo_ref r) {
    d->values[k] = eng_value_find(b->p, r);
    d->step.types[k] = hlo_type_of(b->p->g, r);
    if (d->values[k].root == ROOT_NONE)
        TT_FAIL(INTERNAL, "a value is used before it is computed (%s)",
                hlo_op_text((hlo_op)hlo_node_at(b->p->g, r)->op));
    return TT_OK;
}

static void set_output(eng_builder *b, eng_draft *d, int k, hlo_ref r) {
    const hlo_type *t = hlo_type_of(b->p->g, r);
    int root = eng_root_new(b, ROOT_TEMP, hlo_type_bytes(t), b->n_drafts - 1);
    d->values[d->step.n_in + k] = (eng_value_place){root, 0};
    d->step.types[d->step.n_in + k] = t;
    b->p->values[r] = (eng_value_place){root, 0};
}

static tt_status add_node(eng_builder *b, hlo_ref ref);

/* A value that loops were meant to look through, but a step needs in memory: computed now. */
static tt_status ensure(eng_builder *b, hlo_ref r) {
    hlo_ref d = node_of(b->p->g, r);
    if (eng_value_find(b->p, r).root != ROOT_NONE || hlo_node_at(b->p->g, d)->op == HLO_PARAM)
        return TT_OK;
    return eng_position(b->p, b->block, d) >= 0 ? add_node(b, d) : TT_OK;
}

static tt_status ensure_all(eng_builder *b, const hlo_node *n) {
    hlo_ref *captures;
    int n_captures = 0;
    for (uint32_t k = 0; k < n->n_operands; k++)
        TT_TRY(ensure(b, n->operands[k]));
    if (n->n_regions)
        eng_captures_find(b->p, n, &n_captures, &captures);
    for (int k = 0; k < n_captures; k++)
        TT_TRY(ensure(b, captures[k]));
    return TT_OK;
}

static int64_t types_bytes(const eng_draft *d) {
    int64_t bytes = 0;
    for (int k = 0; k < d->step.n_in + d->step.n_out; k++)
        bytes += d->step.types[k] ? hlo_type_bytes(d->step.types[k]) : 0;
    return bytes;
}

static tt_status choose_kernel(eng_builder *b, eng_step *s, const hlo_node *n) {
    eng_kernel collective = eng_collective_kernel(n->op);
    if (collective) {
        s->kernel = collective;
        if (n->op != HLO_PARTITION_ID && n->op != HLO_REPLICA_ID)
            b->p->collective = true;
        return TT_OK;
    }
    s->fallback = eng_ref_kernels[n->op];
    s->kernel = b->p->reference ? NULL : eng_fast_kernels[n->op];
    if (!s->kernel) {
        s->kernel = s->fallback;
        s->fallback = NULL;
    }
    if (!s->kernel)
        TT_FAIL(UNIMPLEMENTED, "%s is not supported by the engine", hlo_op_text((hlo_op)n->op));
    return TT_OK;
}

static tt_status set_captures(eng_builder *b, eng_draft *d, const hlo_node *n) {
    hlo_ref *captures;
    eng_captures_find(b->p, n, &d->step.n_captures, &captures);
    int count = d->step.n_captures;
    hlo_ref *kept = TT_NEW_N(b->p->arena, hlo_ref, count);
    d->captures = TT_NEW_N(b->p->temporary, eng_value_place, count);
    d->step.capture_types = TT_NEW_N(b->p->arena, const hlo_type *, count);
    for (int k = 0; k < count; k++) {
        kept[k] = captures[k];
        d->captures[k] = eng_value_find(b->p, captures[k]);
        d->step.capture_types[k] = hlo_type_of(b->p->g, captures[k]);
        if (d->captures[k].root == ROOT_NONE)
            TT_FAIL(INTERNAL, "a region uses a value before it is computed");
    }
    d->step.captures = kept;
    return TT_OK;
}

/* A constant of one value that is needed in memory is written there, each time. */
static void add_fill(eng_builder *b, hlo_ref constant) {
    const hlo_node *n = hlo_node_at(b->p->g, constant);
    eng_draft *d = draft_new(b, STEP_FILL, n, 0, 1);
    set_output(b, d, 0, constant);
    count_cost(b, NULL, 0, hlo_type_bytes(n->type));
}

/* What a step of copies reads: of a constant of one value one element. */
static tt_status set_source(eng_builder *b, eng_draft *d, int k, hlo_ref r) {
    if (!eng_is_spread(b->p, hlo_node_at(b->p->g, r)))
        return set_input(b, d, k, r);
    d->values[k] = constant_place(b->p, r);
    d->step.types[k] = hlo_type_of(b->p->g, r);
    return TT_OK;
}

static tt_status ensure_source(eng_builder *b, hlo_ref r) {
    return eng_is_spread(b->p, hlo_node_at(b->p->g, r)) ? TT_OK : ensure(b, r);
}

/* x with a part written over: the part is read where it lies, unless that is in x. */
static tt_status add_update(eng_builder *b, hlo_ref ref) {
    eng_planner *p = b->p;
    const hlo_node *n = hlo_node_at(p->g, ref);
    hlo_ref from;
    TT_TRY(ensure(b, n->operands[0]));
    if (eng_into_take(b, ref))
        return TT_OK;
    fast_piece *piece = eng_move_view(p, b->block, b->lazy, n->operands[1], &from);
    for (uint32_t k = 0; k < n->n_operands; k++)
        if (k != 1)
            TT_TRY(ensure(b, n->operands[k]));
    TT_TRY(ensure_source(b, from));
    if (from != n->operands[1] && eng_value_find(p, from).root == eng_value_find(p, n->operands[0]).root) {
        TT_TRY(ensure(b, n->operands[1]));
        piece = NULL;
        from = n->operands[1];
    }
    eng_draft *d = draft_new(b, STEP_UPDATE, n, (int)n->n_operands, 1);
    for (uint32_t k = 0; k < n->n_operands; k++)
        if (k != 1)
            TT_TRY(set_input(b, d, (int)k, n->operands[k]));
    TT_TRY(piece ? set_source(b, d, 1, from) : set_input(b, d, 1, from));
    d->step.types[1] = hlo_type_of(p->g, n->operands[1]);
    d->step.update = piece;
    set_output(b, d, 0, ref);
    count_cost(b, NULL, 0, 2 * hlo_type_bytes(d->step.types[1]));
    return TT_OK;
}

static tt_status add_kernel(eng_builder *b, hlo_ref ref) {
    hlo_graph *g = b->p->g;
    const hlo_node *n = hlo_node_at(g, ref);
    eng_step_kind kind = n->op == HLO_COMPOSITE ? STEP_COMPOSITE : STEP_KERNEL;
    TT_TRY(ensure_all(b, n));
    eng_draft *d = draft_new(b, kind, n, (int)n->n_operands, n->n_results);
    for (uint32_t k = 0; k < n->n_operands; k++)
        TT_TRY(set_input(b, d, (int)k, n->operands[k]));
    if (kind == STEP_KERNEL)
        TT_TRY(choose_kernel(b, &d->step, n));
    if (kind == STEP_COMPOSITE)
        TT_CHECK(d->step.composite = eng_composite_find(n, &d->step.attributes), UNIMPLEMENTED, "no kernel for composite %s",
                 hlo_attr_text(n, HLO_A_COMPOSITE_NAME, "without a name"));
    if (n->n_regions)
        TT_TRY(set_captures(b, d, n));
    for (int k = 0; k < n->n_results; k++)
        set_output(b, d, k, result_ref(g, ref, k));
    count_cost(b, n, n->n_operands || n->n_results ? flops_of(g, n) : 0, types_bytes(d));
    return TT_OK;
}

/* A chain of moves that ends here. False: it is none. */
static tt_status add_move(eng_builder *b, hlo_ref ref, bool *out_done) {
    eng_planner *p = b->p;
    int n_in;
    const hlo_ref *inputs;
    const fast_move *move = eng_move_make(p, b->block, b->lazy, ref, &n_in, &inputs);
    *out_done = move != NULL;
    if (!move)
        return TT_OK;
    for (int k = 0; k < n_in; k++)
        TT_TRY(ensure_source(b, inputs[k]));
    eng_draft *d = draft_new(b, STEP_MOVE, hlo_node_at(p->g, ref), n_in, 1);
    d->step.move = move;
    for (int k = 0; k < n_in; k++)
        TT_TRY(set_source(b, d, k, inputs[k]));
    set_output(b, d, 0, ref);
    count_cost(b, NULL, 0, 2 * hlo_type_bytes(hlo_type_of(p->g, ref)));
    if (n_in > b->plan->max_pointers)
        b->plan->max_pointers = n_in;
    return TT_OK;
}

/* ---- loops ---- */
/* Which inputs may an output overwrite? */
static void find_in_place(eng_builder *b, eng_draft *d, int n_in, int n_out) {
    if ((int64_t)n_out * n_in > 4096)
        return; /* planning stays linear */
    d->over = TT_NEW_N(b->p->temporary, bool, n_in *n_out);
    for (int o = 0; o < n_out; o++)
        for (int i = 0; i < n_in; i++)
            d->over[o * n_in + i] = eng_loop_in_place(d->step.loop, o, i);
}

static bool is_empty(const hlo_graph *g, hlo_ref r) {
    const hlo_type *t = hlo_type_of(g, r);
    return t && !hlo_type_elements(t);
}

/* The value that r, a member of the loop of these nodes, is in memory: reshapes inside a loop rename it. Members are stamped. */
static hlo_ref loop_value(const eng_planner *p, hlo_ref r) {
    for (const hlo_node *n; (n = hlo_node_at(p->g, r))->op == HLO_RESHAPE && p->stamps[n->operands[0]] == p->stamp;)
        r = n->operands[0];
    return r;
}

typedef struct loop_name {
    hlo_ref ref, value;
} loop_name;

/* The values of a loop that others use, each once, and the members that are other names of them: as many as nodes at most. */
static void find_outputs(eng_planner *p, int n, const hlo_ref *nodes, hlo_ref *outputs, int *out_n, loop_name *names,
                         int *out_n_names) {
    *out_n = *out_n_names = 0;
    p->stamp++;
    for (int i = 0; i < n; i++)
        p->stamps[nodes[i]] = p->stamp;
    for (int i = 0; i < n; i++) {
        if (!p->escapes[nodes[i]])
            continue;
        hlo_ref value = loop_value(p, nodes[i]);
        if (value == nodes[i])
            continue;
        names[(*out_n_names)++] = (loop_name){nodes[i], value};
        p->escapes[value] = 2;
    }
    for (int i = 0; i < n; i++)
        if (p->escapes[nodes[i]] && loop_value(p, nodes[i]) == nodes[i])
            outputs[(*out_n)++] = nodes[i];
}

/* Steps that do the same with other arrays share a loop: an optimizer's hundred small ones stay in the caches. What `loop` took since `before`
 * is given back then. */
static const eng_loop *share_loop(eng_planner *p, eng_loop *loop, tt_arena_mark before, int n_in, const hlo_ref **inputs) {
    const tt_hash hash = eng_loop_hash(loop);
    const eng_loop *old = tt_map_find(p->loops, hash);
    if (!old || !eng_loop_equal(old, loop)) {
        tt_map_put(p->loops, hash, loop);
        return loop;
    }
    *inputs = tt_arena_copy(p->temporary, *inputs, sizeof **inputs * (size_t)n_in);
    tt_arena_rewind(p->arena, before);
    return old;
}

/* False: no loop for these nodes. Loops have elements to go over: what touches an empty array runs singly. */
static tt_status add_loop(eng_builder *b, int n, const hlo_ref *nodes, bool *out_done) {
    eng_planner *p = b->p;
    hlo_ref *outputs = TT_NEW_N(p->temporary, hlo_ref, n);
    loop_name *names = TT_NEW_N(p->temporary, loop_name, n);
    int n_out, n_names, n_in = 0;
    const hlo_ref *inputs = NULL;
    *out_done = false;
    for (int i = 0; i < n; i++) {
        const hlo_node *m = hlo_node_at(p->g, nodes[i]);
        bool empty = is_empty(p->g, nodes[i]) || m->n_results != 1; /* loops compute single results */
        for (uint32_t k = 0; k < m->n_operands; k++)
            empty |= is_empty(p->g, m->operands[k]);
        if (empty)
            return TT_OK;
    }
    find_outputs(p, n, nodes, outputs, &n_out, names, &n_names);
    const tt_arena_mark before = tt_arena_mark_get(p->arena);
    eng_loop *made = n_out ? eng_loop_create_in(p->arena, p->g, b->block, p->positions, p->excess_precision, n, nodes, n_out, outputs, &n_in, &inputs) : NULL;
    *out_done = made != NULL;
    if (!made)
        return TT_OK;
    const eng_loop *loop = share_loop(p, made, before, n_in, &inputs);
    for (int k = 0; k < n_in; k++)
        TT_TRY(ensure(b, inputs[k]));
    eng_draft *d = draft_new(b, STEP_LOOP, hlo_node_at(p->g, nodes[n - 1]), n_in, n_out);
    d->step.loop = loop;
    for (int k = 0; k < n_in; k++)
        TT_TRY(set_input(b, d, k, inputs[k]));
    for (int k = 0; k < n_out; k++)
        set_output(b, d, k, outputs[k]);
    for (int k = 0; k < n_names; k++)
        p->values[names[k].ref] = p->values[names[k].value];
    find_in_place(b, d, n_in, n_out);
    hlo_ref table, gradient;
    if (n_out == 1 && eng_loop_has_rows(loop) && eng_rows_find_update(p->g, outputs[0], &table, &gradient)) {
        for (int k = 0; k < n_in; k++) {
            d->step.old = inputs[k] == table ? k : d->step.old;
            d->step.zero = inputs[k] == gradient ? k : d->step.zero;
        }
        d->updates_rows = inputs[d->step.old] == table && inputs[d->step.zero] == gradient && table != gradient;
    }
    double work = 0;
    for (int i = 0; i < n; i++)
        work += (double)hlo_type_elements(hlo_node_at(p->g, nodes[i])->type);
    count_cost(b, NULL, work, types_bytes(d));
    if (n_in + n_out > b->plan->max_pointers)
        b->plan->max_pointers = n_in + n_out;
    return TT_OK;
}

/* ---- control ---- */
static tt_status plan_regions(eng_builder *b, eng_draft *d, const hlo_node *n) {
    eng_planner *p = b->p;
    d->step.n_blocks = n->n_regions;
    d->step.blocks = TT_NEW_N(p->arena, eng_plan *, n->n_regions);
    d->slab_roots = TT_NEW_N(p->temporary, int, n->n_regions);
    int count = d->step.n_captures;
    eng_value_place *saved = TT_NEW_N(p->temporary, eng_value_place, count);
    for (int k = 0; k < count; k++)
        saved[k] = p->values[d->step.captures[k]];
    int at = b->n_drafts - 1;
    for (int r = 0; r < n->n_regions; r++) {
        bool body = n->op == HLO_WHILE && r == 1;
        bool *in_place = TT_NEW_N(p->temporary, bool, n->regions[r]->n_params);
        for (int k = 0; k < n->regions[r]->n_params; k++)
            in_place[k] = body;
        TT_TRY(eng_plan_block(p, n->regions[r], count, d->step.captures, in_place, NULL, body,
                              &d->step.blocks[r]));
        for (int k = 0; k < count; k++)
            p->values[d->step.captures[k]] = saved[k];
        const eng_plan *sub = d->step.blocks[r];
        double times = n->op == HLO_WHILE ? 16 : 1; /* trips are not known */
        b->plan->ns += sub->ns * times;
        b->plan->flops += sub->flops * times;
        b->plan->bytes += sub->bytes * times;
        d->slab_roots[r] = eng_root_new(b, ROOT_TEMP, sub->slab_bytes, at);
    }
    return TT_OK;
}

static tt_status check_signature(const hlo_graph *g, const hlo_node *n) {
    for (int r = 0; r < n->n_regions; r++) {
        const hlo_block *block = n->regions[r];
        int want_params = n->op == HLO_WHILE ? (int)n->n_operands : 0;
        int want_results = n->op == HLO_WHILE && r == 0 ? 1 : n->n_results;
        if (block->n_params != want_params || block->n_results != want_results)
            TT_FAIL(INVALID_ARGUMENT, "%s: region %d has %d parameters and %d results, expected %d and %d",
                    hlo_op_text((hlo_op)n->op), r, block->n_params, block->n_results, want_params,
                    want_results);
        for (int k = 0; k < want_results && !(n->op == HLO_WHILE && r == 0); k++) {
            const hlo_type *want = n->op == HLO_WHILE ? hlo_type_of(g, n->operands[k]) : NULL;
            if (want && !hlo_type_equal(want, hlo_type_of(g, block->results[k])))
                TT_FAIL(INVALID_ARGUMENT,
                        "stablehlo.while: result %d of the body has another type than its operand", k);
        }
    }
    return TT_OK;
}

static tt_status add_control(eng_builder *b, hlo_ref ref) {
    eng_planner *p = b->p;
    const hlo_node *n = hlo_node_at(p->g, ref);
    TT_TRY(check_signature(p->g, n));
    bool loop = n->op == HLO_WHILE;
    TT_TRY(ensure_all(b, n));
    eng_draft *d = draft_new(b, loop ? STEP_WHILE : STEP_BRANCH, n, (int)n->n_operands, n->n_results);
    for (uint32_t k = 0; k < n->n_operands; k++)
        TT_TRY(set_input(b, d, (int)k, n->operands[k]));
    TT_TRY(set_captures(b, d, n));
    TT_TRY(plan_regions(b, d, n));
    for (int k = 0; k < n->n_results; k++)
        set_output(b, d, k, result_ref(p->g, ref, k));
    if (loop) {
        const eng_plan *body = d->step.blocks[1];
        d->other_roots = TT_NEW_N(p->temporary, int, n->n_results);
        for (int k = 0; k < n->n_results; k++) {
            bool in_place = body->results[k].base == BASE_PARAMS + k && !body->results[k].offset;
            d->other_roots[k] =
                in_place ? -1
                         : eng_root_new(b, ROOT_TEMP, hlo_type_bytes(hlo_type_of(p->g, n->operands[k])),
                                        b->n_drafts - 1);
        }
    }
    return TT_OK;
}

/* ---- the walk ---- */
enum { OUTSIDE = -2 }; /* a reader that is in no group: a region, or who takes the results */

/* r is read by a node of that group: it needs memory unless it is of the same group, or computed again there. */
static void read_by(eng_planner *p, const hlo_block *b, const int *group, const eng_again *again, hlo_ref r, int reader) {
    const int at = eng_position(p, b, node_of(p->g, r));
    const bool computed_again = at >= 0 && again->again && again->again[at] && reader >= 0;
    if (at >= 0 && !computed_again && (group[at] < 0 || group[at] != reader) && p->escapes[r] < 2)
        p->escapes[r]++;
}

static void mark_escapes(eng_planner *p, const hlo_block *b, const int *group, const eng_again *again) {
    for (int i = 0; i < b->n_nodes; i++) {
        const hlo_node *n = hlo_node_at(p->g, b->nodes[i]);
        for (uint32_t k = 0; k < n->n_operands; k++)
            read_by(p, b, group, again, n->operands[k], group[i]);
        if (n->n_regions) {
            int n_captures;
            hlo_ref *captures;
            eng_captures_find(p, n, &n_captures, &captures);
            for (int k = 0; k < n_captures; k++)
                read_by(p, b, group, again, captures[k], OUTSIDE);
        }
    }
    for (int i = 0; i < b->n_results; i++)
        read_by(p, b, group, again, b->results[i], OUTSIDE);
}

static tt_status add_node(eng_builder *b, hlo_ref ref) {
    eng_planner *p = b->p;
    const hlo_node *n = hlo_node_at(p->g, ref);
    int64_t offset;
    if (is_constant(p, n))
        return TT_OK;
    if (eng_is_spread(p, n)) {
        add_fill(b, ref);
        return TT_OK;
    }
    if (n->n_results == 1 && is_empty(p->g, ref) && !(hlo_op_flags((hlo_op)n->op) & HLO_F_EFFECT)) {
        p->values[ref] = (eng_value_place){ROOT_CONSTANTS, 0}; /* nothing to compute, nothing to keep */
        return TT_OK;
    }
    if (n->op == HLO_OPTIMIZATION_BARRIER) {
        for (int k = 0; k < n->n_results; k++) {
            TT_TRY(ensure(b, n->operands[k]));
            p->values[result_ref(p->g, ref, k)] = eng_value_find(p, n->operands[k]);
        }
        return TT_OK;
    }
    if (eng_place_is_alias(p->g, n, &offset)) {
        TT_TRY(ensure(b, n->operands[0]));
        eng_value_place v = eng_value_find(p, n->operands[0]);
        if (v.root == ROOT_NONE)
            TT_FAIL(INTERNAL, "a value is used before it is computed");
        v.offset += offset;
        p->values[ref] = v;
        return TT_OK;
    }
    if (n->op == HLO_WHILE || n->op == HLO_IF || n->op == HLO_CASE)
        return add_control(b, ref);
    if (n->op == HLO_TUPLE || n->op == HLO_GET_TUPLE_ELEMENT)
        TT_FAIL(UNIMPLEMENTED, "%s is not supported by the engine: return the values themselves",
                hlo_op_text((hlo_op)n->op));
    if (!p->reference && loop_find_node(p->g, n)) {
        bool done;
        TT_TRY(add_loop(b, 1, &ref, &done));
        if (done)
            return TT_OK;
    }
    if (b->lazy) {
        bool done;
        TT_TRY(add_move(b, ref, &done));
        if (done)
            return TT_OK;
    }
    if (n->op == HLO_DYNAMIC_UPDATE_SLICE && b->lazy)
        return add_update(b, ref);
    return add_kernel(b, ref);
}

static tt_status add_nodes(eng_builder *b, hlo_block *block) {
    eng_planner *p = b->p;
    int n = block->n_nodes, n_groups = 0;
    int *group = TT_NEW_N(p->temporary, int, n);
    for (int i = 0; i < n; i++) {
        group[i] = -1;
        p->positions[block->nodes[i]] = i;
    }
    if (!p->reference && n) {
        bool *is_result = TT_NEW_N(p->temporary, bool, n);
        for (int i = 0; i < block->n_results; i++) {
            const int at = eng_position(p, block, node_of(p->g, block->results[i]));
            if (at >= 0)
                is_result[at] = true;
        }
        eng_fuse(p->temporary, p->g, block, is_result, group, &n_groups);
        b->lazy = TT_NEW_N(p->temporary, bool, n);
        eng_moves_find(p, block, group, is_result, b->lazy);
    }
    eng_again again = {0};
    if (n_groups)
        eng_again_find(p, block, group, n_groups, &again);
    mark_escapes(p, block, group, &again);
    int *size = TT_NEW_N(p->temporary, int, n_groups), *last = TT_NEW_N(p->temporary, int, n_groups);
    int *start = TT_NEW_N(p->temporary, int, n_groups + 1);
    for (int i = 0; i < n; i++)
        if (group[i] >= 0) {
            size[group[i]]++;
            last[group[i]] = i;
        }
    for (int k = 0; k < again.n_extras; k++)
        size[again.extras[k].group]++;
    for (int k = 0; k < n_groups; k++)
        start[k + 1] = start[k] + size[k];
    bool *used = TT_NEW_N(p->temporary, bool, n_groups + 1); /* not if all that it computes others compute again */
    for (int i = 0; i < n; i++)
        if (group[i] >= 0 && p->escapes[block->nodes[i]])
            used[group[i]] = true;
    hlo_ref *members = TT_NEW_N(p->temporary, hlo_ref, start[n_groups]);
    for (int i = 0, *fill = TT_NEW_N(p->temporary, int, n_groups); i < n; i++) {
        if (group[i] >= 0)
            members[start[group[i]] + fill[group[i]]++] = block->nodes[i];
        for (int k = again.first ? again.first[i] : -1; k >= 0; k = again.extras[k].next)
            members[start[again.extras[k].group] + fill[again.extras[k].group]++] = block->nodes[i];
    }
    for (int i = 0; i < n; i++) {
        int k = group[i];
        if (k == ENG_LOOKED_THROUGH || (k < 0 && b->lazy && b->lazy[i]) || (k >= 0 && (last[k] != i || !used[k])))
            continue;
        if (k < 0 && eng_is_spread(p, hlo_node_at(p->g, block->nodes[i]))) /* where it is needed */
            continue;
        bool done = false;
        if (k >= 0)
            TT_TRY(add_loop(b, size[k], members + start[k], &done));
        for (int m = 0; k >= 0 && !done && m < size[k]; m++) { /* they run singly: each value needs a place */
            const hlo_node *member = hlo_node_at(p->g, members[start[k] + m]);
            for (int r = 0; r < member->n_results; r++)
                p->escapes[result_ref(p->g, members[start[k] + m], r)] = 2;
        }
        for (int m = 0; !done && m < (k >= 0 ? size[k] : 1); m++)
            if (k < 0 || eng_value_find(p, members[start[k] + m]).root == ROOT_NONE)
                TT_TRY(add_node(b, k >= 0 ? members[start[k] + m] : block->nodes[i]));
    }
    return TT_OK;
}

tt_status eng_plan_block(eng_planner *p, hlo_block *block, int n_captures, const hlo_ref *captures,
                         const bool *in_place, const int *alias, bool results_in_own_params, eng_plan **out) {
    eng_builder builder = {.p = p,
                           .block = block,
                           .alias = alias,
                           .results_in_own_params = results_in_own_params},
                *b = &builder;
    *out = b->plan = TT_NEW(p->arena, eng_plan);
    b->plan->n_own_params = block->n_params;
    b->plan->n_params = block->n_params + n_captures;
    b->plan->n_results = block->n_results;
    b->plan->n_bases = BASE_PARAMS + b->plan->n_params + block->n_results;
    b->plan->written = TT_NEW_N(p->arena, bool, b->plan->n_params);
    for (int i = 0; i < b->plan->n_params; i++) {
        hlo_ref r = i < block->n_params ? block->params[i] : captures[i - block->n_params];
        int root = eng_root_new(b, ROOT_PARAM, hlo_type_bytes(hlo_type_of(p->g, r)), -1);
        b->roots[root].param = i;
        b->roots[root].base = BASE_PARAMS + i;
        b->roots[root].writable = i < block->n_params && in_place && in_place[i];
        p->values[r] = (eng_value_place){root, 0};
    }
    drop_dead(p, block);
    TT_TRY(add_nodes(b, block));
    for (int i = 0; i < block->n_results; i++)
        TT_TRY(ensure(b, block->results[i]));
    b->results = TT_NEW_N(p->temporary, eng_value_place, block->n_results);
    b->result_bytes = TT_NEW_N(p->temporary, int64_t, block->n_results);
    for (int i = 0; i < block->n_results; i++) {
        b->results[i] = eng_value_find(p, block->results[i]);
        b->result_bytes[i] = hlo_type_bytes(hlo_type_of(p->g, block->results[i]));
        if (b->results[i].root == ROOT_NONE)
            TT_FAIL(INTERNAL, "result %d is not computed", i);
    }
    eng_bands_find(b);
    return eng_places_assign(b);
}

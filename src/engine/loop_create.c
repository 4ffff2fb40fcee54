/* loop_create.c - compiles a group of nodes into a loop: which arrays it reads and how, the tile instructions, where tiles live.
 *
 * Runs once per program. Constants and shape ops in the group, or before it, become ways to read; only elementwise ops become
 * instructions. */
#include "engine/loop_jit.h"
#include "engine/loop_plan.h"
#include "engine/loop_view.h"
#include <string.h>

enum { ROW = 48, SHORT_ROW = 8 }; /* elements of a row that is walked as one; of one whose code goes from row to row */
enum { LARGE = 32 << 20 };  /* bytes that a core's share of the last cache does not hold: what is written is gone before it is read again */
enum { OUTPUT = 1 << 24 }; /* slot codes while building: sources from 0, outputs from OUTPUT, temporary t is -2 - t, -1 none yet */

/* wide: it is held as f32, not as its 16 bits (excess precision); alias: it is its operand, whose rounding or widening is left out.
 * output: the one that it is rounded to as soon as it is computed, -1: none. */
typedef struct value { hlo_ref ref; int slot, last_use, output; tt_dtype output_dtype; bool needed, read, wide, alias; } value;

typedef struct builder {
    tt_arena *arena;
    const hlo_graph *g;
    const loop_scope *scope;
    eng_loop *l;
    value *table;            /* open addressing by ref */
    uint32_t mask;
    int n_values, n_sources, cap_sources, n_temps, n_free;
    int *temp_use, *free_temps; /* by temporary: the value holding it */
    hlo_ref *inputs;
    int max_size;
    bool failed;
} builder;

static value *find(builder *b, hlo_ref r, bool add) {
    for (uint32_t i = r * 2654435761u & b->mask;; i = (i + 1) & b->mask) {
        if (b->table[i].ref == r)
            return &b->table[i];
        if (b->table[i].ref)
            continue;
        if (!add)
            return NULL;
        b->table[i] = (value){.ref = r, .slot = -1, .last_use = -1, .output = -1};
        return &b->table[i];
    }
}

static bool is_computed(const hlo_graph *g, hlo_ref r) {
    const hlo_node *node = hlo_node_at(g, r);
    return node->op == HLO_RESHAPE ? loop_reshape_is_member(g, r) : loop_find_node(g, node) != NULL;
}

/* ---- sources ---- */

static bool is_dense(const loop_view *v) {
    int64_t s = 1;
    for (int d = v->rank - 1; d >= 0; d--) {
        if (v->dims[d] != 1 && v->strides[d] != s)
            return false;
        s *= v->dims[d];
    }
    return v->offset == 0;
}

static bool is_fixed(const loop_view *v) {
    for (int d = 0; d < v->rank; d++)
        if (v->dims[d] != 1 && v->strides[d])
            return false;
    return true;
}

/* A value of one element of any type from an integer, for an iota that does not move. */
static void *element_of(tt_arena *arena, tt_dtype dtype, int64_t x) {
    void *p = tt_arena_alloc(arena, 16);
    if (tt_is_int(dtype) || dtype == TT_PRED)
        tt_element_set_int(dtype, p, x);
    else
        tt_element_set(dtype, p, (double)x);
    return p;
}

static int add_input(builder *b, hlo_ref r) {
    for (int i = 0; i < b->l->n_inputs; i++)
        if (b->inputs[i] == r)
            return i;
    b->inputs[b->l->n_inputs] = r;
    return b->l->n_inputs++;
}

static bool same_source(const loop_source *a, const loop_source *b) {
    if (a->kind == LOOP_SCALAR && b->kind == LOOP_SCALAR && a->dtype == b->dtype && a->input < 0 && b->input < 0)
        return !memcmp((const char *)a->constant + a->offset * a->size, (const char *)b->constant + b->offset * b->size, (size_t)a->size);
    return a->kind == b->kind && a->dtype == b->dtype && a->input == b->input && a->constant == b->constant && a->offset == b->offset &&
           a->rank == b->rank && (!a->rank || (!memcmp(a->strides, b->strides, sizeof(int64_t) * (size_t)a->rank) &&
                                               !memcmp(a->dims, b->dims, sizeof(int64_t) * (size_t)a->rank)));
}

/* The view's dims, those that are walked as one merged. */
static void keep_steps(builder *b, loop_source *s, const loop_view *v) {
    int64_t dims[HLO_MAX_RANK + 1] = {0}, strides[HLO_MAX_RANK + 1] = {0};
    int n = 0;
    for (int d = 0; d < v->rank; d++) {
        if (v->dims[d] == 1)
            continue;
        if (n && strides[n - 1] == v->strides[d] * v->dims[d]) {
            dims[n - 1] *= v->dims[d];
            strides[n - 1] = v->strides[d];
        } else {
            dims[n] = v->dims[d];
            strides[n++] = v->strides[d];
        }
    }
    s->rank = n;
    s->dims = tt_arena_copy(b->arena, dims, sizeof *dims * (size_t)(n + 1));
    s->strides = tt_arena_copy(b->arena, strides, sizeof *strides * (size_t)(n + 1));
}

/* The source that reads r over `shape`: its slot. */
static int add_source(builder *b, hlo_ref r, const hlo_type *shape) {
    loop_view v;
    loop_view_resolve(b->g, b->scope, r, shape, &v);
    const hlo_node *base = hlo_node_at(b->g, v.base);
    loop_source s = {.kind = LOOP_MAP, .dtype = base->type->dtype, .input = -1, .offset = v.offset};
    s.size = tt_dtype_size(s.dtype);
    if (base->op == HLO_IOTA) {
        s.kind = LOOP_IOTA;
        if (is_fixed(&v)) {
            s.kind = LOOP_SCALAR;
            s.constant = element_of(b->arena, s.dtype, v.offset);
            s.offset = 0;
        }
    } else if (base->op == HLO_CONSTANT) {
        const hlo_attr *a = hlo_attr_find(base, HLO_A_VALUE);
        if (!a || !a->data) {
            b->failed = true;
            return 0;
        }
        s.constant = a->data;
        if (a->splat) {
            s.kind = LOOP_SCALAR;
            s.offset = 0;
        }
    } else {
        s.input = add_input(b, v.base);
    }
    if (s.kind == LOOP_MAP)
        s.kind = is_fixed(&v) ? LOOP_SCALAR : is_dense(&v) ? LOOP_DIRECT : LOOP_MAP;
    if (s.kind == LOOP_MAP || s.kind == LOOP_IOTA)
        keep_steps(b, &s, &v);
    for (int i = 0; i < b->n_sources; i++)
        if (same_source(&b->l->sources[i], &s))
            return i;
    b->l->sources[b->n_sources] = s;
    return b->n_sources++;
}

/* ---- common dims ---- */

static int64_t suffix(const loop_source *s, int d) {
    int64_t p = 1;
    for (int i = s->rank - 1; i > d; i--)
        p *= s->dims[i];
    return p;
}

/* Cuts N at every size where some source's step changes; bounds[] ascending from 1, ending at N. Returns how many. */
static int collect_bounds(const eng_loop *l, int64_t *bounds, int most) {
    int n = 0;
    bounds[n++] = 1;
    bounds[n++] = l->n;
    for (int i = 0; i < l->n_sources; i++) {
        const loop_source *s = &l->sources[i];
        for (int d = 0; d + 1 < s->rank; d++) {
            int64_t p = suffix(s, d);
            int at = 0;
            while (at < n && bounds[at] < p)
                at++;
            if (bounds[at] == p)
                continue;
            if (n == most)
                return 0;
            memmove(bounds + at + 1, bounds + at, sizeof *bounds * (size_t)(n - at));
            bounds[at] = p;
            n++;
        }
    }
    return n;
}

/* The stride of s over the piece of N whose elements are `at` apart: that of the dim it lies in, times its place there. */
static bool stride_at(const loop_source *s, int64_t at, int64_t *out) {
    for (int d = s->rank - 1; d >= 0; d--) {
        int64_t p = suffix(s, d);
        if (at < p || at >= p * s->dims[d])
            continue;
        *out = s->strides[d] * (at / p);
        return at % p == 0;
    }
    *out = 0;
    return true;
}

static bool plan_dims(builder *b) {
    eng_loop *l = b->l;
    enum { MOST = 64 };
    int64_t bounds[MOST];
    int n = l->n > 1 ? collect_bounds(l, bounds, MOST) : 1;
    if (!n)
        return false;
    l->n_dims = n - 1;
    l->dims = TT_NEW_N(b->arena, int64_t, n);
    for (int i = 0; i < l->n_dims; i++) {
        if (bounds[i + 1] % bounds[i])
            return false;
        l->dims[l->n_dims - 1 - i] = bounds[i + 1] / bounds[i];
    }
    for (int k = 0; k < l->n_sources; k++) {
        loop_source *s = &l->sources[k];
        if (s->kind != LOOP_MAP && s->kind != LOOP_IOTA)
            continue;
        l->has_maps = true;
        int64_t *strides = TT_NEW_N(b->arena, int64_t, n);
        for (int i = 0; i < l->n_dims; i++)
            if (!stride_at(s, bounds[i], &strides[l->n_dims - 1 - i]))
                return false;
        s->strides = strides;
    }
    return true;
}

/* A broadcast over leading dims whose rows are short would be brought to the tiles in many small pieces. What repeats is copied once, as
 * often as makes rows long. Code takes one element for a whole row as it comes, so such rows need not be long. */
static void repeat_short_rows(builder *b) {
    enum { SHORT = 128, MOST = 8192, ENOUGH = 2048 };
    eng_loop *l = b->l;
    for (int i = 0; i < b->n_sources; i++) {
        loop_source *s = &l->sources[i];
        if ((s->kind != LOOP_MAP && s->kind != LOOP_IOTA) || s->rank < 2 || s->strides[0] || s->dims[s->rank - 1] > SHORT)
            continue;
        if (s->dims[s->rank - 1] >= ROW && !s->strides[s->rank - 1] && s->size <= 4)
            continue;
        int64_t outer = s->dims[0], inner = l->n / outer, times = 1;
        if (inner > MOST || inner * 4 > l->n)
            continue;
        for (int64_t k = 2; k <= outer && k * inner <= loop_min(ENOUGH, l->n / 4); k++)
            times = outer % k ? times : k;
        int64_t *dims = TT_NEW_N(b->arena, int64_t, 2), *strides = TT_NEW_N(b->arena, int64_t, s->rank + 3);
        int64_t *period_dims = TT_NEW_N(b->arena, int64_t, s->rank + 1);
        dims[0] = outer / times, dims[1] = inner * times;
        strides[1] = 1; /* and 0 outside */
        memcpy(period_dims, s->dims, sizeof *dims * (size_t)s->rank);
        period_dims[0] = times;
        memcpy(strides + 2, s->strides, sizeof *dims * (size_t)s->rank);
        s->period = inner * times;
        s->period_offset = s->offset;
        s->period_rank = s->rank;
        s->period_dims = period_dims;
        s->period_strides = strides + 2;
        s->period_counts = s->kind == LOOP_IOTA;
        s->kind = LOOP_MAP;
        s->rank = 2;
        s->dims = dims;
        s->strides = strides;
        s->offset = 0;
    }
}

/* ---- instructions ---- */

static int take_temp(builder *b) {
    return b->n_free ? b->free_temps[--b->n_free] : b->n_temps++;
}

/* Reshapes inside the group rename a value. */
static hlo_ref root(builder *b, hlo_ref r) {
    for (value *v; (v = find(b, r, false)) && (v->alias || hlo_node_at(b->g, r)->op == HLO_RESHAPE);)
        r = hlo_node_at(b->g, r)->operands[0];
    return r;
}

/* ---- excess precision ----
 * Where it is allowed, 16-bit floats that ops of the loop hand to each other stay f32. Memory sees the same types: what is stored is rounded. */

static bool is_half(tt_dtype d) {
    return d == TT_BF16 || d == TT_F16;
}

static tt_dtype dtype_of(const builder *b, hlo_ref r) {
    return hlo_type_of(b->g, r)->dtype;
}

/* What the tile of r's root holds. */
static tt_dtype held(builder *b, hlo_ref r) {
    hlo_ref origin = root(b, r);
    value *v = find(b, origin, false);
    return v && v->wide ? TT_F32 : dtype_of(b, origin);
}

static bool is_lifted(builder *b, const hlo_node *node) {
    for (uint32_t k = 0; k < node->n_operands; k++)
        if (is_half(dtype_of(b, node->operands[k])) && held(b, node->operands[k]) == TT_F32)
            return true;
    return false;
}

static loop_kernel kernel_of(builder *b, const hlo_node *node, bool lifted, bool wide, loop_instr *out) {
    tt_dtype in = dtype_of(b, node->operands[node->op == HLO_SELECT || node->op == HLO_CLAMP ? 1 : 0]);
    out->op = node->op;
    out->in = (uint8_t)((lifted || wide) && is_half(in) ? TT_F32 : in);
    out->out = (uint8_t)(wide ? TT_F32 : node->type->dtype);
    out->direction = (uint8_t)(node->op == HLO_COMPARE ? loop_direction_parse(hlo_attr_text(node, HLO_A_COMPARISON_DIRECTION, "")) : 0);
    return loop_find(out->op, (tt_dtype)out->in, (tt_dtype)out->out, out->direction);
}

/* Which values of the group are held wide, first to last: what another op reads, and what is computed from such. */
static void mark_wide(builder *b, int n, const hlo_ref *nodes) {
    for (int i = 0; i < n; i++)
        for (uint32_t k = 0; find(b, nodes[i], false) && k < hlo_node_at(b->g, nodes[i])->n_operands; k++) {
            value *v = find(b, hlo_node_at(b->g, nodes[i])->operands[k], false);
            if (v)
                v->read = true;
        }
    for (int i = 0; i < n; i++) {
        value *v = find(b, nodes[i], false);
        const hlo_node *node = hlo_node_at(b->g, nodes[i]);
        if (!v || node->op == HLO_RESHAPE)
            continue;
        bool lifted = is_lifted(b, node), narrow = is_half(node->type->dtype);
        tt_dtype from = dtype_of(b, node->operands[0]);
        if (node->op == HLO_CONVERT && (lifted ? node->type->dtype == TT_F32 : from == TT_F32 && narrow && v->read))
            v->alias = true;
        else
            v->wide = narrow && (lifted || v->read) && !(node->op == HLO_CONVERT && is_half(from));
        loop_instr q;
        if (v->alias || kernel_of(b, node, lifted, v->wide, &q))
            continue;
        for (int k = 0; k <= i; k++) /* an op that has no kernel for f32: all as it is without */
            if ((v = find(b, nodes[k], false)))
                v->wide = v->alias = false;
        return;
    }
}

static int operand_slot(builder *b, hlo_ref r, const hlo_type *shape, value **out_value) {
    hlo_ref origin = root(b, r);
    value *v = find(b, origin, false);
    *out_value = v && v->needed ? v : NULL;
    return *out_value ? v->slot : add_source(b, origin, origin == r ? shape : hlo_type_of(b->g, origin));
}

static void release(builder *b, value *v, int at) {
    if (v && v->last_use == at && v->slot <= -2) {
        b->free_temps[b->n_free++] = -2 - v->slot;
        v->last_use = -1;
    }
}

static void add_convert(builder *b, int d, int a, tt_dtype from, tt_dtype to) {
    b->l->instrs[b->l->n_instrs++] = (loop_instr){.kernel = loop_find(HLO_CONVERT, from, to, 0), .d = d, .a = a, .b = d, .c = d, .op = HLO_CONVERT,
                                                  .in = (uint8_t)from, .out = (uint8_t)to};
}

static void add_instr(builder *b, hlo_ref r, int at) {
    const hlo_node *node = hlo_node_at(b->g, r);
    value *v = find(b, r, false), *from[3] = {0};
    bool lifted = is_lifted(b, node);
    loop_instr q;
    loop_kernel kernel = kernel_of(b, node, lifted, v->wide, &q);
    int slots[3] = {0}, widened[3], n_widened = 0;
    int n = (int)node->n_operands, size = tt_dtype_size((tt_dtype)q.out);
    for (int k = 0; k < n && k < 3; k++) {
        tt_dtype holds = held(b, node->operands[k]);
        slots[k] = operand_slot(b, node->operands[k], node->type, &from[k]);
        if (!is_half(holds) || !(lifted || v->wide))
            continue;
        widened[n_widened] = take_temp(b);
        add_convert(b, -2 - widened[n_widened], slots[k], holds, TT_F32);
        slots[k] = -2 - widened[n_widened++];
        b->max_size = b->max_size < 4 ? 4 : b->max_size;
    }
    for (int k = 0; k < n && k < 3; k++) /* an operand that dies here gives its tile, if elements are as wide */
        if (from[k] && tt_dtype_size(held(b, from[k]->ref)) == size)
            release(b, from[k], at);
    if (v->slot == -1)
        v->slot = -2 - take_temp(b);
    for (int k = 0; k < n && k < 3; k++)
        release(b, from[k], at);
    while (n_widened)
        b->free_temps[b->n_free++] = widened[--n_widened];
    q.kernel = kernel;
    q.d = v->slot, q.a = slots[0], q.b = n > 1 ? slots[1] : v->slot, q.c = n > 2 ? slots[2] : v->slot;
    b->l->instrs[b->l->n_instrs++] = q;
    if (v->output >= 0)
        add_convert(b, OUTPUT + v->output, v->slot, (tt_dtype)q.out, v->output_dtype);
    if (v->last_use < 0 && v->slot <= -2) /* nobody reads it: the tile is free again */
        b->free_temps[b->n_free++] = -2 - v->slot;
    b->max_size = size > b->max_size ? size : b->max_size;
}

#define COPY(bytes)                                                                                      \
    static void copy_##bytes(void *d, const void *a, const void *b, const void *c, int64_t n) {          \
        (void)b, (void)c;                                                                                \
        memmove(d, a, (size_t)n * bytes);                                                                \
    }
COPY(1)
COPY(2)
COPY(4)
COPY(8)
COPY(16)

static void add_copy(builder *b, int d, int a, int size) {
    b->l->instrs[b->l->n_instrs++] = (loop_instr){.kernel = size == 1   ? copy_1
                                                            : size == 2 ? copy_2
                                                            : size == 4 ? copy_4
                                                            : size == 8 ? copy_8
                                                                        : copy_16,
                                                  .d = d, .a = a, .b = d, .c = d, .op = HLO_INVALID};
}

/* Marks what the outputs need, last to first, and where each value is read last. */
static void mark_needed(builder *b, int n, const hlo_ref *nodes, int n_outputs, const hlo_ref *outputs) {
    for (int i = 0; i < n_outputs; i++) {
        value *v = find(b, root(b, outputs[i]), false);
        if (v)
            v->needed = true;
    }
    for (int i = n - 1; i >= 0; i--) {
        value *v = find(b, nodes[i], false);
        const hlo_node *node = hlo_node_at(b->g, nodes[i]);
        if (!v || !v->needed || v->alias || node->op == HLO_RESHAPE)
            continue;
        for (uint32_t k = 0; k < node->n_operands; k++) {
            value *o = find(b, root(b, node->operands[k]), false);
            if (!o)
                continue;
            o->needed = true;
            o->last_use = i > o->last_use ? i : o->last_use;
        }
    }
}

static int count_operands(const hlo_graph *g, int n, const hlo_ref *nodes) {
    int64_t most = 0;
    for (int i = 0; i < n; i++)
        most += hlo_node_at(g, nodes[i])->n_operands + 1;
    return (int)most;
}

static int final_slot(const eng_loop *l, int slot) {
    return slot <= -2 ? l->n_sources + l->n_outputs + (-2 - slot) : slot >= OUTPUT ? l->n_sources + slot - OUTPUT : slot;
}

static void plan_scratch(eng_loop *l, int max_size, int buffers) {
    l->temp_bytes = ((size_t)l->tile * (size_t)max_size + 63) / 64 * 64 + 320; /* not a multiple of 4096: sets of the L1 */
    l->scratch_bytes = sizeof(void *) * (size_t)(l->n_slots + l->n_sources + 8) / 64 * 64 + 64 + sizeof(int64_t) * (size_t)(2 * l->n_sources + l->n_dims + 8) + 64 +
                       l->temp_bytes * (size_t)buffers + 64;
    for (int i = 0; i < l->n_sources; i++)
        l->scratch_bytes += ((size_t)(l->sources[i].period * l->sources[i].size) + 127) & ~(size_t)63;
}

/* Where tiles begin and end, and how much of the work is one task: by shape alone. Returns how many tiles it keeps. */
static int plan_tiles(eng_loop *l, int *io_max_size, int64_t bytes_per_element) {
    int max_size = *io_max_size;
    int buffers = l->n_temps;
    for (int i = 0; i < l->n_sources; i++)
        if (l->sources[i].kind != LOOP_DIRECT) {
            buffers++;
            max_size = l->sources[i].size > max_size ? l->sources[i].size : max_size;
        }
    int64_t fit = (24 << 10) / ((int64_t)max_size * (buffers ? buffers : 1));
    int64_t tile = bytes_per_element * l->n > (3 << 19) ? 1024 / max_size : 1024;
    tile = loop_max(64, loop_min(tile, fit)) & ~(int64_t)63;
    tile = loop_min(tile, (l->n + 63) & ~(int64_t)63);
    int64_t inner = l->n_dims ? l->dims[l->n_dims - 1] : 1;
    l->tile = tile;
    if (l->has_maps && (inner >= ROW || (inner >= SHORT_ROW && jit_takes_rows(l)))) {
        l->row = inner;
        l->chunks = (inner + tile - 1) / tile;
        l->tile = ((inner + l->chunks - 1) / l->chunks + 63) & ~(int64_t)63;
        l->chunks = (inner + l->tile - 1) / l->tile;
        l->n_tiles = l->n / inner * l->chunks;
    } else {
        l->n_tiles = (l->n + tile - 1) / tile;
    }
    int64_t per_tile = loop_weight(l) * loop_min(l->tile, l->row ? l->row : l->tile);
    l->tiles_per_task = loop_max(1, (1 << 18) / loop_max(per_tile, 1));
    for (int i = 0; i < l->n_sources; i++) /* every task copies what repeats */
        l->tiles_per_task = loop_max(l->tiles_per_task, 2 * l->n_sources * l->sources[i].period / l->tile);
    l->n_tasks = (l->n_tiles + l->tiles_per_task - 1) / l->tiles_per_task;
    if (l->n_tasks > 64) {
        l->tiles_per_task = (l->n_tiles + 63) / 64;
        l->n_tasks = (l->n_tiles + l->tiles_per_task - 1) / l->tiles_per_task;
    }
    plan_scratch(l, max_size, buffers);
    l->plain = l->n_instrs == 1 && buffers == 0;
    *io_max_size = max_size;
    return buffers;
}

/* Code that reads rows where they lie, or one vector of what a row has everywhere, keeps nothing in tiles: whole rows are one piece. */
static void join_chunks(eng_loop *l, int max_size, int buffers) {
    enum { MOST = 2048 };
    if (!l->code || l->chunks < 2)
        return;
    for (int i = 0; i < l->n_sources; i++) {
        const loop_source *s = &l->sources[i];
        if (s->kind >= LOOP_MAP && !s->uniform && (s->kind == LOOP_IOTA || s->strides[l->n_dims - 1] != 1))
            return;
    }
    const int64_t old = l->chunks;
    l->chunks = (l->row + MOST - 1) / MOST;
    l->tile = ((l->row + l->chunks - 1) / l->chunks + 63) & ~(int64_t)63;
    l->chunks = (l->row + l->tile - 1) / l->tile;
    l->n_tiles = l->n_tiles / old * l->chunks;
    l->tiles_per_task = loop_max(1, l->tiles_per_task * l->chunks / old);
    l->n_tasks = (l->n_tiles + l->tiles_per_task - 1) / l->tiles_per_task;
    plan_scratch(l, max_size, buffers);
}

static void number_slots(builder *b) {
    eng_loop *l = b->l;
    l->n_sources = b->n_sources;
    l->n_temps = b->n_temps;
    l->n_slots = l->n_sources + l->n_outputs + l->n_temps;
    for (int i = 0; i < l->n_instrs; i++) {
        loop_instr *q = &l->instrs[i];
        q->d = final_slot(l, q->d);
        q->a = final_slot(l, q->a);
        q->b = final_slot(l, q->b);
        q->c = final_slot(l, q->c);
    }
}

static void list_arrays(tt_arena *arena, eng_loop *l) {
    l->maps = TT_NEW_N(arena, int, l->n_sources + 1);
    l->moving = TT_NEW_N(arena, int, l->n_sources + l->n_outputs);
    for (int i = 0; i < l->n_sources; i++)
        if (l->sources[i].kind >= LOOP_MAP)
            l->maps[l->n_maps++] = i;
        else if (l->sources[i].kind == LOOP_DIRECT)
            l->moving[l->n_moving++] = i;
    for (int i = 0; i < l->n_outputs; i++)
        l->moving[l->n_moving++] = l->n_sources + i;
}

/* With repeated rows if that goes together with how the others are read. */
static bool plan_reads(builder *b) {
    loop_source *as_they_are = tt_arena_copy(b->arena, b->l->sources, sizeof(loop_source) * (size_t)(b->n_sources + 1));
    repeat_short_rows(b);
    if (plan_dims(b))
        return true;
    memcpy(b->l->sources, as_they_are, sizeof(loop_source) * (size_t)b->n_sources);
    return plan_dims(b);
}

/* A computed output's tile is the output itself, unless it is held in another type. */
static void place_outputs(builder *b, int n_outputs, const hlo_ref *outputs) {
    for (int i = n_outputs - 1; i >= 0; i--) {
        value *v = find(b, root(b, outputs[i]), false);
        if (!v || !v->needed)
            continue;
        if (held(b, outputs[i]) == dtype_of(b, outputs[i])) {
            v->slot = OUTPUT + i;
        } else {
            v->output = i;
            v->output_dtype = dtype_of(b, outputs[i]);
        }
    }
}

/* Outputs that are not computed there: sources, and values that are several outputs. */
static void fill_outputs(builder *b, int n_outputs, const hlo_ref *outputs) {
    for (int i = 0; i < n_outputs; i++) {
        value *v;
        int slot = operand_slot(b, outputs[i], hlo_type_of(b->g, outputs[i]), &v);
        tt_dtype holds = held(b, outputs[i]), dtype = dtype_of(b, outputs[i]);
        if (slot == OUTPUT + i || (v && v->output == i))
            continue;
        if (v && v->output >= 0 && v->output_dtype == dtype)
            add_copy(b, OUTPUT + i, OUTPUT + v->output, b->l->output_size[i]);
        else if (holds == dtype && slot > -2)
            add_copy(b, OUTPUT + i, slot, b->l->output_size[i]);
        else if (holds != dtype && slot > -2)
            add_convert(b, OUTPUT + i, slot, holds, dtype);
        else
            b->failed = true; /* the tile may hold something else by now */
    }
}

static eng_loop *create(tt_arena *arena, const hlo_graph *g, const loop_scope *scope, bool excess_precision, int n_nodes, const hlo_ref *nodes, int n_outputs,
                        const hlo_ref *outputs, int *out_n_inputs, const hlo_ref **out_inputs) {
    if (n_outputs < 1)
        return NULL;
    builder b = {.arena = arena, .g = g, .scope = scope, .l = TT_NEW(arena, eng_loop), .max_size = 1};
    eng_loop *l = b.l;
    uint32_t cap = 8;
    int most = count_operands(g, n_nodes, nodes) + n_outputs;
    while (cap < 2 * (uint32_t)n_nodes + 2)
        cap *= 2;
    b.table = TT_NEW_N(arena, value, cap);
    b.mask = cap - 1;
    b.free_temps = TT_NEW_N(arena, int, n_nodes + 1);
    b.inputs = TT_NEW_N(arena, hlo_ref, most);
    l->sources = TT_NEW_N(arena, loop_source, most);
    l->instrs = TT_NEW_N(arena, loop_instr, (excess_precision ? 4 : 1) * n_nodes + 2 * n_outputs);
    l->n_outputs = n_outputs;
    l->output_size = TT_NEW_N(arena, int, n_outputs);
    l->n = hlo_type_elements(hlo_type_of(g, outputs[0]));
    int64_t bytes = 0;
    for (int i = 0; i < n_nodes; i++)
        if (is_computed(g, nodes[i]))
            find(&b, nodes[i], true);
    if (excess_precision)
        mark_wide(&b, n_nodes, nodes);
    mark_needed(&b, n_nodes, nodes, n_outputs, outputs);
    for (int i = 0; i < n_outputs; i++) {
        l->output_size[i] = tt_dtype_size(dtype_of(&b, outputs[i]));
        bytes += l->output_size[i];
        if (hlo_type_elements(hlo_type_of(g, outputs[i])) != l->n)
            return NULL;
    }
    place_outputs(&b, n_outputs, outputs);
    for (int i = 0; i < n_nodes; i++) {
        value *v = find(&b, nodes[i], false);
        const hlo_node *node = hlo_node_at(g, nodes[i]);
        if (!v || !v->needed || v->alias || node->op == HLO_RESHAPE)
            continue;
        if (hlo_type_elements(node->type) != l->n)
            return NULL;
        add_instr(&b, nodes[i], i);
    }
    fill_outputs(&b, n_outputs, outputs);
    number_slots(&b);
    for (int i = 0; i < l->n_sources; i++)
        if (l->sources[i].kind == LOOP_DIRECT)
            bytes += l->sources[i].size;
    if (b.failed || !plan_reads(&b))
        return NULL;
    const int buffers = plan_tiles(l, &b.max_size, bytes);
    jit_compile(l, bytes * l->n >= LARGE);
    join_chunks(l, b.max_size, buffers);
    list_arrays(arena, l);
    *out_n_inputs = l->n_inputs;
    *out_inputs = b.inputs;
    return l;
}

/* ---- equal loops ---- */

static bool same_numbers(const int64_t *a, const int64_t *b, int n) {
    return n <= 0 || a == b || (a && b && !memcmp(a, b, sizeof *a * (size_t)n));
}

static bool equal_source(const loop_source *a, const loop_source *b, int n_dims) {
    if (a->kind != b->kind || a->dtype != b->dtype || a->input != b->input || a->offset != b->offset || a->uniform != b->uniform ||
        a->period != b->period || a->period_offset != b->period_offset || a->period_rank != b->period_rank || a->period_counts != b->period_counts)
        return false;
    const bool constant = a->constant == b->constant || (a->kind == LOOP_SCALAR && a->constant && b->constant &&
                                                         !memcmp((const char *)a->constant + a->offset * a->size,
                                                                 (const char *)b->constant + b->offset * b->size, (size_t)a->size));
    return constant && (a->kind < LOOP_MAP || same_numbers(a->strides, b->strides, n_dims)) &&
           (!a->period || (same_numbers(a->period_dims, b->period_dims, a->period_rank) &&
                           same_numbers(a->period_strides, b->period_strides, a->period_rank)));
}

/* Of most of what eng_loop_equal compares. */
tt_hash eng_loop_hash(const eng_loop *l) {
    tt_hash h = {(uint64_t)l->n, (uint64_t)l->n_outputs};
    for (int i = 0; i < l->n_sources; i++) {
        const loop_source *s = &l->sources[i];
        tt_hash_word(&h, (uint64_t)s->kind << 48 ^ (uint64_t)s->dtype << 32 ^ (uint64_t)s->input);
        tt_hash_word(&h, (uint64_t)s->offset);
        if (s->kind >= LOOP_MAP && s->strides)
            h = tt_hash_bytes(s->strides, sizeof *s->strides * (size_t)l->n_dims, h);
        if (s->kind == LOOP_SCALAR && s->constant)
            h = tt_hash_bytes((const char *)s->constant + s->offset * s->size, (size_t)s->size, h);
    }
    for (int i = 0; i < l->n_instrs; i++) {
        const loop_instr *p = &l->instrs[i];
        tt_hash_word(&h, (uint64_t)p->op << 32 ^ (uint64_t)p->d);
        tt_hash_word(&h, (uint64_t)p->a << 42 ^ (uint64_t)p->b << 21 ^ (uint64_t)p->c);
    }
    return h;
}

bool eng_loop_equal(const eng_loop *a, const eng_loop *b) {
    if (a->n != b->n || a->n_dims != b->n_dims || a->n_sources != b->n_sources || a->n_outputs != b->n_outputs || a->n_temps != b->n_temps ||
        a->n_instrs != b->n_instrs || a->n_inputs != b->n_inputs || !same_numbers(a->dims, b->dims, a->n_dims))
        return false;
    for (int i = 0; i < a->n_sources; i++)
        if (!equal_source(&a->sources[i], &b->sources[i], a->n_dims))
            return false;
    for (int i = 0; i < a->n_instrs; i++) {
        const loop_instr *p = &a->instrs[i], *q = &b->instrs[i];
        if (p->kernel != q->kernel || p->d != q->d || p->a != q->a || p->b != q->b || p->c != q->c || p->op != q->op || p->in != q->in ||
            p->out != q->out || p->direction != q->direction)
            return false;
    }
    return !memcmp(a->output_size, b->output_size, sizeof(int) * (size_t)a->n_outputs);
}

eng_loop *eng_loop_create(tt_arena *arena, const hlo_graph *g, bool excess_precision, int n_nodes, const hlo_ref *nodes, int n_outputs,
                          const hlo_ref *outputs, int *out_n_inputs, const hlo_ref **out_inputs) {
    return create(arena, g, NULL, excess_precision, n_nodes, nodes, n_outputs, outputs, out_n_inputs, out_inputs);
}

eng_loop *eng_loop_create_in(tt_arena *arena, const hlo_graph *g, const hlo_block *block, const int *positions, bool excess_precision,
                             int n_nodes, const hlo_ref *nodes, int n_outputs, const hlo_ref *outputs, int *out_n_inputs,
                             const hlo_ref **out_inputs) {
    loop_scope scope = {block, positions};
    return create(arena, g, &scope, excess_precision, n_nodes, nodes, n_outputs, outputs, out_n_inputs, out_inputs);
}

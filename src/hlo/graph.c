/* graph.c - the IR's storage: nodes, blocks, functions, types, attributes, and the names of ops from
 * tables/hlo.def.
 *
 * Nothing here knows what an op means; shape rules are in infer*.c, whole-graph edits in edit.c. */
#include "hlo/graph.h"
#include "base/checked.h"
#include "hlo/internal.h"
#include <stdio.h>
#include <string.h>

typedef struct op_row {
    const char *text;
    int n_operands;
    unsigned flags;
} op_row;

static const op_row op_rows[HLO_N_OPS] = {
    [HLO_INVALID] = {"invalid", 0, 0},
#define HLO(name, text, n_operands, shape, flags) [HLO_##name] = {text, n_operands, flags},
#include "tables/hlo.def"
#undef HLO
};

typedef struct attr_row {
    const char *text;
    hlo_attr_kind kind;
} attr_row;

static const attr_row attr_rows[HLO_N_ATTRS] = {
    [HLO_ATTR_INVALID] = {"", HLO_K_RAW},
#define HLO_ATTR(name, text, kind) [HLO_A_##name] = {text, HLO_K_##kind},
#include "tables/hlo.def"
#undef HLO_ATTR
};

/* ---- names ---- */

const char *hlo_op_text(hlo_op op) {
    return op_rows[(unsigned)op < HLO_N_OPS ? op : HLO_INVALID].text;
}

unsigned hlo_op_flags(hlo_op op) {
    return op_rows[(unsigned)op < HLO_N_OPS ? op : HLO_INVALID].flags;
}

int hlo_op_operands(hlo_op op) {
    return op_rows[(unsigned)op < HLO_N_OPS ? op : HLO_INVALID].n_operands;
}

const char *hlo_attr_name_text(hlo_attr_name name) {
    return attr_rows[(unsigned)name < HLO_N_ATTRS ? name : HLO_ATTR_INVALID].text;
}

hlo_attr_kind hlo_attr_name_kind(hlo_attr_name name) {
    return attr_rows[(unsigned)name < HLO_N_ATTRS ? name : HLO_ATTR_INVALID].kind;
}

static uint32_t name_hash(const char *text, int length) {
    uint32_t h = 2166136261u;
    for (int i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h ^ h >> 15;
}

/* Both name tables as one open-addressing index, filled when the library is loaded. */
enum { NAME_SLOTS = 1024 };
static uint16_t op_index[NAME_SLOTS], attr_index[NAME_SLOTS];
_Static_assert(HLO_N_OPS < NAME_SLOTS / 2 && HLO_N_ATTRS < NAME_SLOTS / 2, "name index too full");

static void index_add(uint16_t *index, const char *text, int value) {
    uint32_t i = name_hash(text, (int)strlen(text)) % NAME_SLOTS;
    while (index[i])
        i = (i + 1) % NAME_SLOTS;
    index[i] = (uint16_t)value;
}

__attribute__((constructor)) static void fill_index(void) {
    for (int i = 1; i < HLO_N_OPS; i++)
        if (!(op_rows[i].flags & HLO_F_PSEUDO))
            index_add(op_index, op_rows[i].text, i);
    for (int i = 1; i < HLO_N_ATTRS; i++)
        if (*attr_rows[i].text)
            index_add(attr_index, attr_rows[i].text, i);
}

static bool same_text(const char *have, const char *text, int length) {
    return !strncmp(have, text, (size_t)length) && !have[length];
}

hlo_op hlo_op_find(const char *text, int length) {
    for (uint32_t i = name_hash(text, length) % NAME_SLOTS; op_index[i]; i = (i + 1) % NAME_SLOTS)
        if (same_text(op_rows[op_index[i]].text, text, length))
            return (hlo_op)op_index[i];
    return HLO_INVALID;
}

hlo_attr_name hlo_attr_name_find(const char *text, int length) {
    for (uint32_t i = name_hash(text, length) % NAME_SLOTS; attr_index[i]; i = (i + 1) % NAME_SLOTS)
        if (same_text(attr_rows[attr_index[i]].text, text, length))
            return (hlo_attr_name)attr_index[i];
    return HLO_ATTR_INVALID;
}

bool hlo_graph_may_fail(const hlo_graph *g) {
    for (uint32_t i = 1; i < g->n_nodes; i++)
        if (g->nodes[i].n_attrs && hlo_attr_find(&g->nodes[i], HLO_A_TT_BOUNDS))
            return true;
    return false;
}

/* ---- types ---- */

bool hlo_type_valid(const hlo_type *t) {
    if (t->rank < 0 || t->rank > HLO_MAX_RANK || t->dtype <= TT_DTYPE_NONE || t->dtype >= TT_N_DTYPES)
        return false;
    /* zeros do not excuse the other dims: strides are computed from them */
    int64_t bytes = 16;
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] < 0 || !tt_mul_i64(bytes, t->dims[i] ? t->dims[i] : 1, &bytes) ||
            bytes > INT64_MAX / 2)
            return false;
    return true;
}

int64_t hlo_type_elements(const hlo_type *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

int64_t hlo_type_bytes(const hlo_type *t) {
    return hlo_type_elements(t) * tt_dtype_size(t->dtype);
}

bool hlo_dims_equal(const hlo_type *a, const hlo_type *b) {
    return a->rank == b->rank && !memcmp(a->dims, b->dims, sizeof(int64_t) * (size_t)a->rank);
}

bool hlo_type_equal(const hlo_type *a, const hlo_type *b) {
    return a == b || (a->dtype == b->dtype && hlo_dims_equal(a, b));
}

hlo_type hlo_type_make(tt_dtype dtype, int rank, const int64_t *dims) {
    hlo_type t = {.dtype = dtype, .rank = rank};
    if (rank > 0 && rank <= HLO_MAX_RANK)
        memcpy(t.dims, dims, sizeof(int64_t) * (size_t)rank);
    return t;
}

hlo_type hlo_type_with(const hlo_type *t, tt_dtype dtype) {
    hlo_type r = *t;
    r.dtype = dtype;
    return r;
}

char *hlo_type_print(tt_arena *arena, const hlo_type *t) {
    char text[32 * (HLO_MAX_RANK + 2)];
    if (t->dtype == TT_TOKEN)
        return tt_arena_printf(arena, "%s", tt_dtype_name(t->dtype));
    int n = snprintf(text, sizeof text, "tensor<");
    for (int i = 0; i < t->rank && i < HLO_MAX_RANK; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%lldx", (long long)t->dims[i]);
    snprintf(text + n, sizeof text - (size_t)n, "%s>", tt_dtype_name(t->dtype));
    return tt_arena_copy(arena, text, strlen(text) + 1);
}

const hlo_type *hlo_type_keep(hlo_graph *g, const hlo_type *type) {
    return tt_arena_copy(g->arena, type, sizeof *type);
}

/* ---- attributes ---- */

const hlo_attr *hlo_attr_find(const hlo_node *n, hlo_attr_name name) {
    for (int i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].name == name)
            return &n->attrs[i];
    return NULL;
}

int64_t hlo_attr_int(const hlo_node *n, hlo_attr_name name, int64_t fallback) {
    const hlo_attr *a = hlo_attr_find(n, name);
    return a && (a->kind == HLO_K_INT || a->kind == HLO_K_BOOL) ? a->one : fallback;
}

const char *hlo_attr_text(const hlo_node *n, hlo_attr_name name, const char *fallback) {
    const hlo_attr *a = hlo_attr_find(n, name);
    return a && a->text ? a->text : fallback;
}

hlo_ints hlo_attr_ints(const hlo_node *n, hlo_attr_name name) {
    const hlo_attr *a = hlo_attr_find(n, name);
    if (!a || (a->kind != HLO_K_INTS && a->kind != HLO_K_INTS2D))
        return (hlo_ints){0, NULL};
    return (hlo_ints){a->n, a->ints};
}

hlo_attr hlo_attr_make_int(hlo_attr_name name, int64_t value) {
    return (hlo_attr){.name = name, .kind = HLO_K_INT, .n = 1, .one = value};
}

hlo_attr hlo_attr_make_bool(hlo_attr_name name, bool value) {
    return (hlo_attr){.name = name, .kind = HLO_K_BOOL, .n = 1, .one = value};
}

hlo_attr hlo_attr_make_float(hlo_attr_name name, double value) {
    return (hlo_attr){.name = name, .kind = HLO_K_FLOAT, .number = (double)(float)value};
}

hlo_attr hlo_attr_make_ints(hlo_graph *g, hlo_attr_name name, int n, const int64_t *v) {
    return (hlo_attr){
        .name = name, .kind = HLO_K_INTS, .n = n, .ints = tt_arena_copy(g->arena, v, sizeof *v * (size_t)n)};
}

hlo_attr hlo_attr_make_ints2d(hlo_graph *g, hlo_attr_name name, int rows, int columns, const int64_t *v) {
    hlo_attr a = hlo_attr_make_ints(g, name, rows * columns, v);
    a.kind = HLO_K_INTS2D;
    a.rows = rows;
    return a;
}

hlo_attr hlo_attr_make_text(hlo_graph *g, hlo_attr_name name, const char *text) {
    hlo_attr a = {.name = name, .kind = hlo_attr_name_kind(name)};
    a.text = tt_arena_copy(g->arena, text, strlen(text) + 1);
    return a;
}

static hlo_ints ints_keep(hlo_graph *g, hlo_ints v) {
    return (hlo_ints){v.n, tt_arena_copy(g->arena, v.v, sizeof *v.v * (size_t)v.n)};
}

hlo_attr hlo_attr_make_dims(hlo_graph *g, hlo_attr_name name, const hlo_dims *dims) {
    hlo_dims *copy = tt_arena_copy(g->arena, dims, sizeof *dims);
    copy->a = ints_keep(g, dims->a);
    copy->b = ints_keep(g, dims->b);
    copy->c = ints_keep(g, dims->c);
    copy->d = ints_keep(g, dims->d);
    copy->e = ints_keep(g, dims->e);
    return (hlo_attr){.name = name, .kind = HLO_K_DIMS, .dims = copy};
}

/* All elements the same bytes? Compares the data with itself, one element later. */
static bool is_splat(const void *data, int64_t elements, int size) {
    if (elements < 1)
        return false;
    return elements == 1 || !memcmp(data, (const char *)data + size, (size_t)((elements - 1) * size));
}

hlo_attr hlo_attr_make_dense(hlo_graph *g, const hlo_type *type, const void *data, bool splat) {
    int size = tt_dtype_size(type->dtype);
    int64_t elements = hlo_type_elements(type);
    if (elements == 0)
        splat = false;
    else if (!splat)
        splat = is_splat(data, elements, size);
    hlo_attr a = {.name = HLO_A_VALUE, .kind = HLO_K_DENSE, .splat = splat, .type = hlo_type_keep(g, type)};
    a.data = tt_arena_copy(g->arena, data, (size_t)((splat ? 1 : elements) * size));
    return a;
}

/* ---- nodes, blocks, functions ---- */

hlo_graph *hlo_graph_create(tt_arena *arena, const char *name) {
    hlo_graph *g = TT_NEW(arena, hlo_graph);
    g->arena = arena;
    g->name = tt_arena_copy(arena, name, strlen(name) + 1);
    g->n_nodes = 1;
    g->n_replicas = g->n_partitions = 1;
    return g;
}

tt_status hlo_graph_take_error(hlo_graph *g) {
    tt_status e = g->error;
    g->error = NULL;
    return e;
}

hlo_ref hlo_fail(hlo_graph *g, tt_status error) {
    if (g->error)
        tt_status_free(error);
    else
        g->error = error;
    return HLO_NONE;
}

/* Arrays without a capacity field double whenever their length is a power of two. */
static void *push_space(tt_arena *arena, void *old, int n, size_t size) {
    if (n & (n - 1))
        return old;
    void *bigger = tt_arena_alloc(arena, (size_t)(n ? 2 * n : 1) * size);
    if (n)
        memcpy(bigger, old, (size_t)n * size);
    return bigger;
}

static hlo_ref node_push(hlo_graph *g, hlo_node node) {
    if (g->n_nodes >= g->cap_nodes) {
        uint32_t cap = g->cap_nodes ? g->cap_nodes * 2 : 32;
        hlo_node *nodes = TT_NEW_N(g->arena, hlo_node, cap);
        if (g->nodes)
            memcpy(nodes, g->nodes, sizeof(hlo_node) * g->n_nodes);
        g->nodes = nodes;
        g->cap_nodes = cap;
    }
    g->nodes[g->n_nodes] = node;
    return g->n_nodes++;
}

hlo_block *hlo_block_create(hlo_graph *g) {
    return TT_NEW(g->arena, hlo_block);
}

void hlo_block_push(hlo_graph *g, hlo_block *b, hlo_ref node) {
    if (b->n_nodes >= b->cap_nodes) {
        int cap = b->cap_nodes ? b->cap_nodes * 2 : 8;
        hlo_ref *nodes = TT_NEW_N(g->arena, hlo_ref, cap);
        if (b->n_nodes)
            memcpy(nodes, b->nodes, sizeof(hlo_ref) * (size_t)b->n_nodes);
        b->nodes = nodes;
        b->cap_nodes = cap;
    }
    b->nodes[b->n_nodes++] = node;
}

void hlo_block_set_results(hlo_graph *g, hlo_block *b, int n, const hlo_ref *values) {
    b->n_results = n;
    b->results = tt_arena_copy(g->arena, values, sizeof(hlo_ref) * (size_t)n);
}

static const hlo_attr *index_attr(hlo_graph *g, hlo_attr_name name, int64_t value) {
    hlo_attr *a = TT_NEW(g->arena, hlo_attr);
    *a = hlo_attr_make_int(name, value);
    a->ints = &a->one;
    return a;
}

hlo_ref hlo_append_param(hlo_graph *g, hlo_block *b, const hlo_type *type) {
    hlo_node node = {.op = HLO_PARAM, .n_results = 1, .n_attrs = 1, .type = type};
    node.attrs = index_attr(g, HLO_A_PARAM_INDEX, b->n_params);
    hlo_ref r = node_push(g, node);
    b->params = push_space(g->arena, b->params, b->n_params, sizeof(hlo_ref));
    b->params[b->n_params] = r;
    if (g->func && g->func->body == b) {
        hlo_func *f = g->func;
        f->alias = push_space(g->arena, f->alias, b->n_params, sizeof(int));
        f->donated = push_space(g->arena, f->donated, b->n_params, sizeof(bool));
        f->alias[b->n_params] = -1;
        f->donated[b->n_params] = false;
    }
    b->n_params++;
    return r;
}

static hlo_attr *attrs_keep(hlo_graph *g, int n, const hlo_attr *attrs) {
    hlo_attr *copy = tt_arena_copy(g->arena, attrs, sizeof *attrs * (size_t)n);
    for (int i = 0; i < n; i++)
        if (copy[i].kind == HLO_K_INT || copy[i].kind == HLO_K_BOOL)
            copy[i].ints = &copy[i].one;
    return copy;
}

hlo_ref hlo_append(hlo_graph *g, hlo_op op, int n_operands, const hlo_ref *operands, int n_attrs,
                   const hlo_attr *attrs, int n_regions, hlo_block **regions, int n_results,
                   const hlo_type *const *types) {
    hlo_node node = {.op = (uint16_t)op, .n_results = (uint16_t)n_results, .loc = g->loc};
    if (n_operands) {
        node.n_operands = (uint32_t)n_operands;
        node.operands = tt_arena_copy(g->arena, operands, sizeof *operands * (size_t)n_operands);
    }
    if (n_attrs) {
        node.n_attrs = (uint16_t)n_attrs;
        node.attrs = attrs_keep(g, n_attrs, attrs);
    }
    if (n_regions) {
        node.n_regions = (uint16_t)n_regions;
        node.regions = tt_arena_copy(g->arena, regions, sizeof *regions * (size_t)n_regions);
    }
    if (n_results)
        node.type = types[0];
    hlo_ref r = node_push(g, node);
    hlo_block_push(g, g->block, r);
    if (n_results < 2)
        return r;
    const hlo_ref *owner = tt_arena_copy(g->arena, &r, sizeof r);
    for (int i = 0; i < n_results; i++) {
        hlo_node result = {.op = HLO_RESULT, .n_results = 1, .n_attrs = 1, .n_operands = 1, .loc = g->loc};
        result.operands = owner;
        result.type = types[i];
        result.attrs = index_attr(g, HLO_A_RESULT_INDEX, i);
        node_push(g, result);
    }
    return r + 1;
}

hlo_func *hlo_func_create(hlo_graph *g, const char *name, bool is_public) {
    hlo_func *f = TT_NEW(g->arena, hlo_func);
    f->name = tt_arena_copy(g->arena, name, strlen(name) + 1);
    f->is_public = is_public;
    f->body = hlo_block_create(g);
    g->funcs = push_space(g->arena, g->funcs, g->n_funcs, sizeof(hlo_func *));
    g->funcs[g->n_funcs++] = f;
    g->cap_funcs = g->n_funcs;
    return f;
}

void hlo_func_set_params(hlo_graph *g, hlo_func *f) {
    size_t n = (size_t)f->body->n_params;
    f->alias = TT_NEW_N(g->arena, int, 2 * n + 1);
    f->donated = TT_NEW_N(g->arena, bool, 2 * n + 1);
    for (size_t i = 0; i < n; i++)
        f->alias[i] = -1;
}

hlo_func *hlo_func_find(const hlo_graph *g, const char *name) {
    for (int i = 0; i < g->n_funcs; i++)
        if (!strcmp(g->funcs[i]->name, name))
            return g->funcs[i];
    return NULL;
}

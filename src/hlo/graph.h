/* graph.h - the only IR: a StableHLO module in an arena.
 *
 * aten/ builds graphs through build.h, text.h prints and parses them, run/ splices and keys them, the
 * engine executes them. Every value is a node and is named by a 32-bit hlo_ref, an index into
 * graph->nodes (0 is "no value"). An op with several results is one node followed, directly, by
 * n_results HLO_RESULT nodes, which are its values. Blocks (function bodies and regions) list their
 * nodes in order; a region's nodes live in the same index space, so a region may use outer values.
 * Thread-compatible. Everything lives as long as the graph's arena. */
#ifndef HLO_GRAPH_H
#define HLO_GRAPH_H
#include "base/arena.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HLO_MAX_RANK = 16 };

typedef uint32_t hlo_ref;
#define HLO_NONE ((hlo_ref)0)

typedef struct hlo_type {
    tt_dtype dtype;
    int rank;
    int64_t dims[HLO_MAX_RANK];
} hlo_type;

typedef enum hlo_op {
    HLO_INVALID = 0,
#define HLO(name, text, n_operands, shape, flags) HLO_##name,
#include "tables/hlo.def"
#undef HLO
    HLO_N_OPS
} hlo_op;

/* Traits of an op: the flags column of hlo.def. */
enum {
    HLO_F_ELEM = 1,     /* result element i depends on operands' elements i only */
    HLO_F_COMM = 2,     /* commutative */
    HLO_F_EFFECT = 4,   /* never removed, never merged */
    HLO_F_REGION = 8,   /* carries regions */
    HLO_F_MULTI = 16,   /* may have several results */
    HLO_F_PSEUDO = 32,  /* PARAM, RESULT: never printed as an op */
};

/* Attribute names: one enum for all ops; tables/hlo.def's second half gives name and kind. */
typedef enum hlo_attr_name {
    HLO_ATTR_INVALID = 0,
#define HLO_ATTR(name, text, kind) HLO_A_##name,
#include "tables/hlo.def"
#undef HLO_ATTR
    HLO_N_ATTRS
} hlo_attr_name;

typedef enum hlo_attr_kind {
    HLO_K_INT,       /* n = 1, ints[0] */
    HLO_K_INTS,      /* n ints (array<i64: ...>) */
    HLO_K_INTS2D,    /* n ints, rows x (n / rows) (padding, replica_groups: dense<...>) */
    HLO_K_BOOL,      /* n = 1, ints[0] */
    HLO_K_FLOAT,     /* number */
    HLO_K_ENUM,      /* text, spelled as StableHLO does: LT, DEFAULT, THREE_FRY, FLOAT ... */
    HLO_K_ENUMS,     /* ints index nothing; text holds "DEFAULT,HIGHEST": precision_config */
    HLO_K_STRING,    /* text */
    HLO_K_SYMBOL,    /* text: a function name, without @ */
    HLO_K_DENSE,     /* type + data: constant values, row-major; splat: data holds one element */
    HLO_K_DIMS,      /* a structured dimension-numbers attribute, see hlo_dims below */
    HLO_K_RAW,       /* text kept as written (composite_attributes, unknown attributes) */
} hlo_attr_kind;

/* Dimension numbers of dot_general, gather, scatter and convolution, one struct. Lists are arena copies. */
typedef struct hlo_ints { int n; const int64_t *v; } hlo_ints;
typedef struct hlo_dims {
    enum { HLO_DIMS_DOT, HLO_DIMS_GATHER, HLO_DIMS_SCATTER, HLO_DIMS_CONV } kind;
    /* dot: lhs_batch rhs_batch lhs_contract rhs_contract
     * gather: offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims start_index_map
     * scatter: update_window_dims inserted_window_dims input_batching_dims scatter_indices_batching_dims scatter_dims_to_operand_dims
     * conv: input {batch, feature, spatial...}, kernel {in feature, out feature, spatial...}, output {batch, feature, spatial...} */
    hlo_ints a, b, c, d, e;
    int64_t index_vector_dim; /* gather, scatter */
} hlo_dims;

typedef struct hlo_attr {
    hlo_attr_name name;
    hlo_attr_kind kind;
    int n, rows;
    bool splat;
    const int64_t *ints;      /* in a node also for INT and BOOL (points to `one`) */
    int64_t one;              /* INT and BOOL: the value */
    double number;
    const char *text;         /* also the name of an unknown (RAW) attribute: "name = value" */
    const hlo_type *type;     /* DENSE */
    const void *data;         /* DENSE: host element bytes as in base/dtype.h */
    const hlo_dims *dims;
} hlo_attr;

typedef struct hlo_block {
    int n_params; hlo_ref *params;     /* HLO_PARAM nodes, not listed in nodes */
    int n_nodes, cap_nodes; hlo_ref *nodes; /* in order; HLO_RESULT nodes are not listed */
    int n_results; hlo_ref *results;   /* operands of the return */
} hlo_block;

typedef struct hlo_node {
    uint16_t op;              /* hlo_op */
    uint16_t n_results;       /* 0, 1, or more (then HLO_RESULT nodes follow) */
    uint16_t n_attrs, n_regions;
    uint32_t n_operands;
    uint32_t loc;             /* aten row + 1 that made the node, 0 unknown */
    const hlo_ref *operands;
    const hlo_type *type;     /* of the (first) result; NULL when n_results == 0 */
    const hlo_attr *attrs;
    hlo_block **regions;
} hlo_node;
/* HLO_PARAM: n_operands 0, `loc` unused, index in its block = attr PARAM_INDEX.
 * HLO_RESULT: operands[0] = the multi-result node, attr RESULT_INDEX. */

typedef struct hlo_func {
    const char *name;
    bool is_public;
    hlo_block *body;
    int *alias;               /* per parameter: index of the result it may be donated to (tf.aliasing_output), -1 none */
    bool *donated;            /* per parameter: jax.buffer_donor */
} hlo_func;

typedef struct hlo_graph {
    tt_arena *arena;          /* borrowed */
    const char *name;         /* module name */
    uint32_t n_nodes, cap_nodes; hlo_node *nodes; /* nodes[0] is unused */
    int n_funcs, cap_funcs; hlo_func **funcs;     /* funcs[0] is the entry */
    int64_t n_replicas, n_partitions;
    uint32_t loc;             /* given to nodes as they are built */
    hlo_block *block;         /* builder: where nodes are appended */
    hlo_func *func;           /* builder: the function being built */
    struct hlo_copied *copied; /* splice.c: functions brought from other graphs */
    tt_status error;          /* builder: first error, sticky; owned */
} hlo_graph;

hlo_graph *hlo_graph_create(tt_arena *arena, const char *name);
/* Takes the sticky error (NULL if none); the graph is unusable after an error. */
TT_MUST_CHECK tt_status hlo_graph_take_error(hlo_graph *);

static inline hlo_node *hlo_node_at(const hlo_graph *g, hlo_ref r) { return &g->nodes[r]; }
static inline const hlo_type *hlo_type_of(const hlo_graph *g, hlo_ref r) { return g->nodes[r].type; }
const hlo_attr *hlo_attr_find(const hlo_node *, hlo_attr_name);          /* NULL if absent */
int64_t hlo_attr_int(const hlo_node *, hlo_attr_name, int64_t fallback);
const char *hlo_attr_text(const hlo_node *, hlo_attr_name, const char *fallback);
hlo_ints hlo_attr_ints(const hlo_node *, hlo_attr_name);                 /* n = 0 if absent */

hlo_func *hlo_func_find(const hlo_graph *, const char *name);            /* NULL if absent; linear */
bool hlo_graph_may_fail(const hlo_graph *);                              /* has a node with tt.bounds, used or not */

const char *hlo_op_text(hlo_op);        /* "stablehlo.add", "chlo.erf" */
int hlo_op_operands(hlo_op);            /* -1: any number */
unsigned hlo_op_flags(hlo_op);
hlo_op hlo_op_find(const char *text, int length);
const char *hlo_attr_name_text(hlo_attr_name);
hlo_attr_kind hlo_attr_name_kind(hlo_attr_name);
hlo_attr_name hlo_attr_name_find(const char *text, int length);          /* HLO_ATTR_INVALID if unknown */

bool hlo_type_valid(const hlo_type *);  /* rank and dims in range, size in bytes fits 62 bits */
int64_t hlo_type_elements(const hlo_type *);
int64_t hlo_type_bytes(const hlo_type *);
bool hlo_type_equal(const hlo_type *, const hlo_type *);
bool hlo_dims_equal(const hlo_type *, const hlo_type *);   /* same shape, any dtype */
hlo_type hlo_type_make(tt_dtype, int rank, const int64_t *dims);
hlo_type hlo_type_with(const hlo_type *, tt_dtype);        /* same shape, other dtype */
char *hlo_type_print(tt_arena *, const hlo_type *);        /* "tensor<2x3xf32>" */

/* Copies block `from` of graph `source` (its entry function's body) to the end of g's current block, its
 * parameters replaced by args[], its results written to out_results[]. Types must match. The source must outlive g: attribute data is shared.
 * Private functions that composites name are copied too, once per (source, function). */
void hlo_graph_splice(hlo_graph *g, const hlo_graph *source, const hlo_ref *args, hlo_ref *out_results);
/* Replaces every call (and composites that `keep` refuses; keep == NULL: all) by the callee's body. */
tt_status hlo_inline(hlo_graph *g, bool (*keep)(const char *composite_name));
/* Drops nodes of the entry function that no result and no effect needs. */
void hlo_dce(hlo_graph *g);
/* Whole-graph check: operand order, types, attributes, regions; names the op and the spec's constraint. */
TT_MUST_CHECK tt_status hlo_verify(const hlo_graph *g);
tt_hash hlo_graph_hash(const hlo_graph *g);   /* structural; names and locations do not count */

#ifdef __cplusplus
}
#endif
#endif

/* internal.h - what the files of hlo/ share: appending nodes without checks, sticky errors, the shape rules.
 */
#ifndef HLO_INTERNAL_H
#define HLO_INTERNAL_H
#include "hlo/build.h"
#include "hlo/graph.h"

enum { HLO_MAX_DEPTH = 64 }; /* regions inside regions; calls inside calls */

/* Records the first error (consumed); returns HLO_NONE so that a builder can end with it. */
hlo_ref hlo_fail(hlo_graph *g, tt_status error);
#define HLO_FAIL(g, CODE, ...) hlo_fail((g), TT_ERROR(CODE, __VA_ARGS__))

/* Appends to g->block: operands, attrs and regions are copied, types shared. The parser's way in: nothing is
 * checked. */
hlo_ref hlo_append(hlo_graph *g, hlo_op op, int n_operands, const hlo_ref *operands, int n_attrs,
                   const hlo_attr *attrs, int n_regions, hlo_block **regions, int n_results,
                   const hlo_type *const *types);
hlo_ref hlo_append_param(hlo_graph *g, hlo_block *block, const hlo_type *type);
void hlo_block_push(hlo_graph *g, hlo_block *block, hlo_ref node);
void hlo_block_set_results(hlo_graph *g, hlo_block *block, int n, const hlo_ref *values);
hlo_block *hlo_block_create(hlo_graph *g);
/* alias and donated for a body that was made without hlo_param. */
void hlo_func_set_params(hlo_graph *g, hlo_func *f);
tt_hash hlo_func_hash(const hlo_graph *g, const hlo_func *f);
hlo_func *hlo_func_create(hlo_graph *g, const char *name, bool is_public);
const hlo_type *hlo_type_keep(hlo_graph *g, const hlo_type *type);

/* The result types of a node that need not be in a graph yet (n->n_results of them), all of the op's
 * constraints checked. given: the types somebody wrote, or NULL; ops of rule GIVEN need them. */
TT_MUST_CHECK tt_status hlo_infer(const hlo_graph *g, const hlo_node *n, const hlo_type *given,
                                  hlo_type *out_types);

/* The type of a builder's operand, or NULL with the error recorded. */
const hlo_type *hlo_need(hlo_graph *g, const char *builder, hlo_ref x);
/* A region (old, new) -> old op new over scalars; HLO_INVALID: new. */
hlo_block *hlo_combiner(hlo_graph *g, hlo_op op, tt_dtype dtype);

/* infer.c's rules live in three files; these are its helpers. */
typedef tt_status hlo_rule(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out_types);
#define HLO_OPERAND(i)      hlo_type_of(g, n->operands[i])
#define HLO_OPERAND_TEXT(i) hlo_type_print(g->arena, HLO_OPERAND(i))
#define HLO_BAD(format, ...)                                                                                 \
    TT_FAIL(INVALID_ARGUMENT, "%s: " format, hlo_op_text((hlo_op)n->op) __VA_OPT__(, ) __VA_ARGS__)
#define HLO_NEED(cond, ...)                                                                                  \
    do {                                                                                                     \
        if (!(cond))                                                                                         \
            HLO_BAD(__VA_ARGS__);                                                                            \
    } while (0)
hlo_rule hlo_rule_BROADCAST, hlo_rule_CONCATENATE, hlo_rule_DYNAMIC_SLICE, hlo_rule_GATHER, hlo_rule_PAD,
    hlo_rule_SLICE, hlo_rule_TRANSPOSE, hlo_rule_REDUCE, hlo_rule_REDUCE_WINDOW, hlo_rule_SCATTER,
    hlo_rule_SORT, hlo_rule_DOT_GENERAL, hlo_rule_CONVOLUTION, hlo_rule_FFT, hlo_rule_TOP_K;
hlo_rule hlo_check_given, hlo_check_shape_op, hlo_check_window_op, hlo_check_control;
/* dims: n distinct numbers in [0, rank) */
bool hlo_dims_distinct(hlo_ints dims, int rank);
bool hlo_ints_contain(hlo_ints dims, int64_t dim);
/* How many windows fit; false on overflow or nonsense. */
bool hlo_window_count(int64_t size, int64_t low, int64_t high, int64_t base_dilation, int64_t window,
                      int64_t dilation, int64_t stride, int64_t *out_count);
/* Region r takes these parameters and returns these types. */
tt_status hlo_check_region(const hlo_graph *g, const hlo_node *n, int region, int n_params,
                           const hlo_type *params, int n_results, const hlo_type *results);
#endif

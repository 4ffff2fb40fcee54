/* build.h - builders: each infers its result's type, checks the spec's constraints, folds the trivial
 * (identity reshape, convert, transpose, broadcast; slices of everything), appends a node to g->block.
 *
 * Errors are sticky (g->error): a builder given HLO_NONE, or one that fails, returns HLO_NONE, so a lowering is
 * written without checks and hlo_graph_take_error is asked once at its end. Pointers passed in are
 * copied. Elementwise builders want equal shapes; broadcasting is explicit (hlo_broadcast_to). */
#ifndef HLO_BUILD_H
#define HLO_BUILD_H
#include "hlo/graph.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions and blocks ---- */
void hlo_func_begin(hlo_graph *g, const char *name, bool is_public);     /* body becomes the current block */
hlo_ref hlo_param(hlo_graph *g, const hlo_type *type);                   /* of the current block */
void hlo_return(hlo_graph *g, int n, const hlo_ref *values);             /* ends the current function or block */
hlo_block *hlo_block_begin(hlo_graph *g, hlo_block **out_saved);         /* a region: nodes go there until ... */
void hlo_block_end(hlo_graph *g, hlo_block *saved);                      /* ... this; hlo_return first */
/* A composite: its decomposition is built between begin and end as a private function, over fresh
 * parameters for inputs[]; begin writes them to out_params. Results are the composite's values.
 * Engines that know `name` run one kernel; all others inline the decomposition. attributes: MLIR dict body
 * ("causal = true, scale = 1.25e-01 : f64") or NULL. */
typedef struct hlo_composite { hlo_block *saved_block; hlo_func *saved_func; int n; hlo_ref *inputs; const char *name, *attributes; hlo_func *func; } hlo_composite;
hlo_composite hlo_composite_begin(hlo_graph *g, const char *name, const char *attributes, int n, const hlo_ref *inputs, hlo_ref *out_params);
void hlo_composite_end(hlo_graph *g, hlo_composite *, int n_results, const hlo_ref *results, hlo_ref *out_values);

/* ---- the general form, used by the parser and by all builders ---- */
/* result_types may be NULL when the op's shape rule can tell. Returns the first result's ref (for
 * n_results > 1: result i is returned_ref + i), or for n_results == 0 the node itself. */
hlo_ref hlo_make(hlo_graph *g, hlo_op op, int n_operands, const hlo_ref *operands, int n_attrs, const hlo_attr *attrs,
                 int n_regions, hlo_block **regions, int n_results, const hlo_type *result_types);
hlo_attr hlo_attr_make_int(hlo_attr_name, int64_t);
hlo_attr hlo_attr_make_bool(hlo_attr_name, bool);
hlo_attr hlo_attr_make_float(hlo_attr_name, double); /* f32 is all that StableHLO keeps of it */
hlo_attr hlo_attr_make_ints(hlo_graph *, hlo_attr_name, int n, const int64_t *);
hlo_attr hlo_attr_make_ints2d(hlo_graph *, hlo_attr_name, int rows, int columns, const int64_t *);
hlo_attr hlo_attr_make_text(hlo_graph *, hlo_attr_name, const char *); /* ENUM ENUMS STRING SYMBOL RAW by the name's kind */
hlo_attr hlo_attr_make_dims(hlo_graph *, hlo_attr_name, const hlo_dims *);
hlo_attr hlo_attr_make_dense(hlo_graph *, const hlo_type *, const void *data, bool splat);

/* ---- constants ---- */
hlo_ref hlo_constant(hlo_graph *g, const hlo_type *type, const void *data);          /* dense row-major host elements */
hlo_ref hlo_splat(hlo_graph *g, const hlo_type *type, double value);
hlo_ref hlo_splat_int(hlo_graph *g, const hlo_type *type, int64_t value);            /* exact for 64 bits */
hlo_ref hlo_scalar(hlo_graph *g, tt_dtype, double value);                            /* rank 0 */
hlo_ref hlo_scalar_int(hlo_graph *g, tt_dtype, int64_t value);
hlo_ref hlo_splat_like(hlo_graph *g, hlo_ref like, double value);                    /* the type of like */
hlo_ref hlo_min_value(hlo_graph *g, const hlo_type *type);  /* lowest: -inf, INT_MIN, false: the identity of max */
hlo_ref hlo_max_value(hlo_graph *g, const hlo_type *type);
hlo_ref hlo_iota(hlo_graph *g, const hlo_type *type, int dim);
bool hlo_constant_splat(const hlo_graph *g, hlo_ref r, double *out_value);           /* r is a splat constant */

/* ---- elementwise ---- */
hlo_ref hlo_unary(hlo_graph *g, hlo_op op, hlo_ref x);
hlo_ref hlo_binary(hlo_graph *g, hlo_op op, hlo_ref a, hlo_ref b);
/* Integer division or remainder that fails with `message` where b is zero, on an engine that knows tt.bounds. */
hlo_ref hlo_binary_checked(hlo_graph *g, hlo_op op, hlo_ref a, hlo_ref b, const char *message);
hlo_ref hlo_compare(hlo_graph *g, const char *direction /* EQ NE LT LE GT GE */, hlo_ref a, hlo_ref b);
hlo_ref hlo_select(hlo_graph *g, hlo_ref pred, hlo_ref on_true, hlo_ref on_false);
hlo_ref hlo_clamp(hlo_graph *g, hlo_ref low, hlo_ref x, hlo_ref high);
/* C and PyTorch semantics: float -> int truncates, anything -> pred is x != 0, complex -> real takes the real part. */
hlo_ref hlo_convert(hlo_graph *g, hlo_ref x, tt_dtype dtype);
hlo_ref hlo_bitcast(hlo_graph *g, hlo_ref x, tt_dtype dtype);   /* same width, or the last dim appears/disappears (spec) */
hlo_ref hlo_complex(hlo_graph *g, hlo_ref re, hlo_ref im);
static inline hlo_ref hlo_add(hlo_graph *g, hlo_ref a, hlo_ref b) { return hlo_binary(g, HLO_ADD, a, b); }
static inline hlo_ref hlo_sub(hlo_graph *g, hlo_ref a, hlo_ref b) { return hlo_binary(g, HLO_SUBTRACT, a, b); }
static inline hlo_ref hlo_mul(hlo_graph *g, hlo_ref a, hlo_ref b) { return hlo_binary(g, HLO_MULTIPLY, a, b); }
static inline hlo_ref hlo_div(hlo_graph *g, hlo_ref a, hlo_ref b) { return hlo_binary(g, HLO_DIVIDE, a, b); }

/* ---- shapes ---- */
hlo_ref hlo_reshape(hlo_graph *g, hlo_ref x, int rank, const int64_t *dims);
hlo_ref hlo_transpose(hlo_graph *g, hlo_ref x, const int64_t *permutation);          /* result dim i = operand dim permutation[i] */
/* mapping[i]: the result dim of operand dim i */
hlo_ref hlo_broadcast_in_dim(hlo_graph *g, hlo_ref x, int rank, const int64_t *dims, const int64_t *mapping);
hlo_ref hlo_broadcast_to(hlo_graph *g, hlo_ref x, int rank, const int64_t *dims);    /* NumPy rule, trailing dims aligned */
hlo_ref hlo_slice(hlo_graph *g, hlo_ref x, const int64_t *start, const int64_t *limit, const int64_t *stride /* NULL: 1 */);
hlo_ref hlo_slice_dim(hlo_graph *g, hlo_ref x, int dim, int64_t start, int64_t limit, int64_t stride);
hlo_ref hlo_pad(hlo_graph *g, hlo_ref x, hlo_ref value, const int64_t *low, const int64_t *high, const int64_t *interior /* NULL: 0 */);
hlo_ref hlo_concatenate(hlo_graph *g, int n, const hlo_ref *xs, int dim);
hlo_ref hlo_reverse(hlo_graph *g, hlo_ref x, int n, const int64_t *dims);
hlo_ref hlo_dynamic_slice(hlo_graph *g, hlo_ref x, const hlo_ref *starts, const int64_t *sizes);
hlo_ref hlo_dynamic_update_slice(hlo_graph *g, hlo_ref x, hlo_ref update, const hlo_ref *starts);
hlo_ref hlo_gather(hlo_graph *g, hlo_ref x, hlo_ref indices, const hlo_dims *, const int64_t *slice_sizes, const char *bounds /* tt.bounds or NULL */);
/* combiner: HLO_ADD, HLO_MULTIPLY, HLO_MINIMUM, HLO_MAXIMUM, or HLO_INVALID for "take the update" */
hlo_ref hlo_scatter(hlo_graph *g, hlo_ref x, hlo_ref indices, hlo_ref updates, const hlo_dims *, hlo_op combiner, bool unique, const char *bounds);

/* ---- reductions, products, windows ---- */
/* op: ADD MULTIPLY MINIMUM MAXIMUM AND OR XOR; init: its identity for x's dtype is made when HLO_NONE. Dims are dropped. */
hlo_ref hlo_reduce(hlo_graph *g, hlo_op op, hlo_ref x, hlo_ref init, int n_dims, const int64_t *dims);
hlo_ref hlo_reduce_keep(hlo_graph *g, hlo_op op, hlo_ref x, hlo_ref init, int n_dims, const int64_t *dims); /* dims kept as 1 */
/* Arg-reduction over one dim: out_value the extreme (MAXIMUM or MINIMUM), out_index (index_dtype) of its first
 * occurrence; NaN wins, as in PyTorch. The dim is dropped. */
void hlo_reduce_arg(hlo_graph *g, hlo_op op, hlo_ref x, int dim, tt_dtype index_dtype, hlo_ref *out_value, hlo_ref *out_index);
typedef struct hlo_window { const int64_t *size, *stride, *base_dilation, *dilation; const int64_t *padding_low, *padding_high; } hlo_window; /* NULLs: 1 / 0 */
hlo_ref hlo_reduce_window(hlo_graph *g, hlo_op op, hlo_ref x, hlo_ref init, const hlo_window *);
/* select GE or LE picks the window's element; the source is added there. */
hlo_ref hlo_select_and_scatter(hlo_graph *g, hlo_ref x, hlo_ref source, hlo_ref init, const char *select, const hlo_window *);
/* Sorts all xs along dim by xs[0] (ties by input order when stable); NaN is greatest, as in PyTorch. out_values[n]. */
void hlo_sort(hlo_graph *g, int n, const hlo_ref *xs, int dim, bool descending, bool stable, hlo_ref *out_values);
/* precision: "DEFAULT", "HIGH", "HIGHEST". out_dtype TT_DTYPE_NONE: the operands'. */
hlo_ref hlo_dot_general(hlo_graph *g, hlo_ref a, hlo_ref b, const hlo_dims *, tt_dtype out_dtype, const char *precision);
/* [b, m, k] x [b, k, n] with n_batch leading batch dims, or n_batch = 0: [m, k] x [k, n]. */
hlo_ref hlo_matmul(hlo_graph *g, hlo_ref a, hlo_ref b, int n_batch, tt_dtype out_dtype, const char *precision);
typedef struct hlo_conv {
    hlo_dims dims; /* HLO_DIMS_CONV */
    const int64_t *stride, *padding_low, *padding_high, *lhs_dilation, *rhs_dilation; /* per spatial dim; NULL: 1 / 0 */
    const int64_t *window_reversal; /* 0/1; NULL: 0 */
    int64_t feature_groups, batch_groups;
} hlo_conv;
hlo_ref hlo_convolution(hlo_graph *g, hlo_ref x, hlo_ref w, const hlo_conv *, tt_dtype out_dtype, const char *precision);
void hlo_top_k(hlo_graph *g, hlo_ref x, int64_t k, hlo_ref *out_values, hlo_ref *out_indices); /* last dim, descending, i32 indices */
hlo_ref hlo_cholesky(hlo_graph *g, hlo_ref x, bool lower);
hlo_ref hlo_triangular_solve(hlo_graph *g, hlo_ref a, hlo_ref b, bool left, bool lower, bool unit, const char *transpose /* NO_TRANSPOSE TRANSPOSE ADJOINT */);
hlo_ref hlo_fft(hlo_graph *g, hlo_ref x, const char *type /* FFT IFFT RFFT IRFFT */, int n, const int64_t *lengths);
/* state ui64[2] or ui64[3]; out_state, out_bits (unsigned dtype) */
void hlo_rng_bits(hlo_graph *g, hlo_ref state, const char *algorithm, const hlo_type *bits, hlo_ref *out_state, hlo_ref *out_bits);

/* ---- control: regions by callback ---- */
typedef void (*hlo_region_fn)(hlo_graph *g, void *context, const hlo_ref *params, hlo_ref *out_results);
/* cond writes one pred; body writes n values. */
void hlo_while(hlo_graph *g, int n, const hlo_ref *init, hlo_region_fn cond, hlo_region_fn body, void *context, hlo_ref *out_values);
void hlo_custom_call(hlo_graph *g, const char *target, const char *backend_config, bool side_effect, int n, const hlo_ref *operands,
                     int n_results, const hlo_type *types, hlo_ref *out_values);

#ifdef __cplusplus
}
#endif
#endif

/* ref.h - what the reference kernels share: typed loops over arrays, strided copies, regions over vectors.
 *
 * Below eng_ref_kernels, inside the engine. Everything here works on dense arrays of n elements and knows
 * nothing of programs, plans or threads. */
#ifndef ENG_REF_H
#define ENG_REF_H
#include "base/checked.h"
#include "engine/engine.h"
#include <string.h>

typedef struct ref_pair { double re, im; } ref_pair;

/* ---- typed loops (ref_elem.c, ref_complex.c, ref_convert.c) ----
 * dst may equal a source. false: no such op for that dtype. */
bool ref_unary(hlo_op op, tt_dtype t, void *dst, const void *src, int64_t n);
bool ref_binary(hlo_op op, tt_dtype t, void *dst, const void *a, const void *b, int64_t n);
bool ref_compare(const char *direction, bool total_order, tt_dtype t, uint8_t *dst, const void *a, const void *b, int64_t n);
bool ref_complex_unary(hlo_op op, tt_dtype t, void *dst, const void *src, int64_t n);
bool ref_complex_binary(hlo_op op, tt_dtype t, void *dst, const void *a, const void *b, int64_t n);
void ref_select(int size, void *dst, const uint8_t *pred, const void *a, const void *b, int64_t n);
void ref_convert(tt_dtype to, void *dst, tt_dtype from, const void *src, int64_t n);
bool ref_reduce_precision(tt_dtype t, int64_t exponent_bits, int64_t mantissa_bits, void *dst, const void *src, int64_t n);
void ref_bitcast(tt_dtype to, void *dst, tt_dtype from, const void *src, int64_t n_from);
int ref_bits(tt_dtype t);            /* logical width: 4 for i4 */
void ref_to_f32(tt_dtype t, float *dst, const void *src, int64_t n);     /* narrow floats and f32 */
void ref_from_f32(tt_dtype t, void *dst, const float *src, int64_t n);
/* An elementwise node over n elements, operand arrays of n elements each (select's and clamp's scalars repeated). */
tt_status ref_elementwise(const hlo_graph *g, const hlo_node *node, int64_t n, const void *const *in, void *out);
void ref_fill(int size, void *dst, const void *element, int64_t n);      /* n copies of one element */

/* ---- special functions in double (ref_math.c) ---- */
double ref_erf_inv(double), ref_digamma(double), ref_lgamma(double), ref_polygamma(double n, double x), ref_zeta(double s, double q);
double ref_bessel_i1e(double);

/* ---- layout (ref_shape.c); strides in bytes ---- */
void ref_strides(const hlo_type *t, int64_t *out_strides);               /* of a dense row-major array, in bytes */
void ref_copy(int rank, const int64_t *dims, int size, void *dst, const int64_t *dst_strides, const void *src, const int64_t *src_strides);
/* Moves on to the next row-major index; false after the last one (then all zeros again). */
bool ref_next(int rank, const int64_t *dims, int64_t *index);

/* ---- regions over vectors (ref_region.c) ----
 * A region whose parameters are scalars, run for n elements at once. Made per kernel call, destroyed after it. */
typedef struct ref_region ref_region;
tt_status ref_region_create(eng_run *run, const hlo_graph *g, const hlo_block *block, ref_region **out);
void ref_region_destroy(ref_region *);
/* in: one array of n elements a parameter; out: one array a result, not aliasing in. */
tt_status ref_region_run(ref_region *, int64_t n, const void *const *in, void *const *out);
/* The op of a region that is one binary op of its two parameters in order (either order when it commutes), else HLO_INVALID. */
hlo_op ref_region_op(const hlo_graph *g, const hlo_block *block);
bool ref_region_takes_update(const hlo_graph *g, const hlo_block *block);   /* (old, new) -> new */

/* ---- indices ---- */
int64_t ref_index(const eng_tensor *t, int64_t i);                       /* element i of an integer tensor; u64 saturates */
tt_status ref_bounds_fail(const hlo_graph *g, const hlo_node *node, int64_t index, int64_t bound, int dim);
/* Wide accumulation: float types through double, the result rounded once. */
void ref_to_f64(tt_dtype t, double *dst, const void *src, int64_t n);
void ref_from_f64(tt_dtype t, void *dst, const double *src, int64_t n);

/* Scratch of a kernel call, freed when the variable goes out of scope: `REF_AUTO(double) x = NULL; TT_TRY(ref_alloc(n, sizeof *x, &x));` */
TT_MUST_CHECK tt_status ref_alloc(int64_t n, int64_t size, void *out_pointer);
void ref_free(void *pointer_to_pointer);
#define REF_AUTO(type) __attribute__((cleanup(ref_free))) type *

/* A per-dimension attribute: n numbers into out (fallback where absent); fails when it has another length. */
TT_MUST_CHECK tt_status ref_ints(const hlo_node *node, hlo_attr_name name, int n, int64_t fallback, int64_t *out);
static inline int64_t ref_count(const eng_tensor *t) { return hlo_type_elements(&t->type); }
static inline int ref_size(const eng_tensor *t) { return tt_dtype_size(t->type.dtype); }
static inline void ref_memcpy(void *dst, const void *src, int64_t bytes) {
    if (bytes > 0)
        memcpy(dst, src, (size_t)bytes);
}

#define REF_UNSUPPORTED(g, node, dtype) \
    TT_FAIL(UNIMPLEMENTED, "%s has no kernel for %s", hlo_op_text((hlo_op)(node)->op), tt_dtype_name(dtype))

/* ---- kernels, by file ---- */
#define REF_KERNEL(name) \
    tt_status ref_k_##name(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out)
REF_KERNEL(elementwise);
REF_KERNEL(constant); REF_KERNEL(iota); REF_KERNEL(bitcast_convert); REF_KERNEL(broadcast); REF_KERNEL(broadcast_in_dim);
REF_KERNEL(concatenate); REF_KERNEL(get_dimension_size); REF_KERNEL(pad); REF_KERNEL(reshape); REF_KERNEL(reverse); REF_KERNEL(slice);
REF_KERNEL(transpose); REF_KERNEL(dynamic_pad); REF_KERNEL(real_dynamic_slice);
REF_KERNEL(dynamic_slice); REF_KERNEL(dynamic_update_slice); REF_KERNEL(gather); REF_KERNEL(scatter);
REF_KERNEL(reduce); REF_KERNEL(reduce_window); REF_KERNEL(select_and_scatter); REF_KERNEL(map);
REF_KERNEL(sort); REF_KERNEL(top_k);
REF_KERNEL(dot_general); REF_KERNEL(dot); REF_KERNEL(convolution); REF_KERNEL(dynamic_conv);
REF_KERNEL(cholesky); REF_KERNEL(triangular_solve); REF_KERNEL(fft);
REF_KERNEL(batch_norm_training); REF_KERNEL(batch_norm_inference); REF_KERNEL(batch_norm_grad);
REF_KERNEL(rng); REF_KERNEL(rng_bit_generator);
REF_KERNEL(scan); REF_KERNEL(while); REF_KERNEL(case); REF_KERNEL(if); REF_KERNEL(call); REF_KERNEL(composite); REF_KERNEL(custom_call);
REF_KERNEL(identity); REF_KERNEL(nothing); REF_KERNEL(partition_id); REF_KERNEL(collective_permute);
REF_KERNEL(check);
tt_status ref_check(const char *name, const eng_tensor *actual, const eng_tensor *expected, int64_t ulps);
#endif

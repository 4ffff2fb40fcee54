/* fast.h - what the fast kernels of single nodes share: collapsed shapes, regions as text, work shared out by shape. */
#ifndef ENG_FAST_H
#define ENG_FAST_H
#include "engine/engine.h"
#include "engine/loop.h"

#define FAST_KERNEL(name) \
    tt_status eng_fast_##name(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out)
FAST_KERNEL(reduce);
FAST_KERNEL(reduce_arg);
FAST_KERNEL(transpose);
FAST_KERNEL(broadcast_in_dim);
FAST_KERNEL(slice);
FAST_KERNEL(pad);
FAST_KERNEL(concatenate);
FAST_KERNEL(reverse);
FAST_KERNEL(reshape);
FAST_KERNEL(dynamic_slice);
FAST_KERNEL(dynamic_update_slice);
FAST_KERNEL(iota);
FAST_KERNEL(gather);
FAST_KERNEL(scatter);
FAST_KERNEL(sort);
FAST_KERNEL(top_k);
FAST_KERNEL(rng_bit_generator);
FAST_KERNEL(reduce_window);
FAST_KERNEL(select_and_scatter);
FAST_KERNEL(fft);
FAST_KERNEL(triangular_solve);
FAST_KERNEL(divide);            /* and remainder */
FAST_KERNEL(dot_general);      /* fast_dot.c */
FAST_KERNEL(dot);
FAST_KERNEL(convolution);      /* fast_conv.c */

/* Compiled for several instruction sets, chosen when the library is loaded: for plain loops that the compiler vectorises. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FAST_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default"), optimize("O3")))
#else
#define FAST_CLONES
#endif

/* What the value r of a region is, in terms of the block's parameters: "select(or(GT(p0,p2),...),p0,p2)". False: too long or not
 * made of plain ops on parameters. Type conversions and constants make it false. */
bool fast_region_text(const hlo_graph *g, const hlo_block *block, hlo_ref r, char *out, int size);
/* The op of a region of two parameters that is one commutative op on them; HLO_INVALID if it is not. */
hlo_op fast_region_op(const hlo_graph *g, const hlo_block *block);
/* A region (old, new) -> new. */
bool fast_region_takes_new(const hlo_graph *g, const hlo_block *block);

/* Copies of strided arrays: element (i...) of dims from src + sum i*src_strides to dst + sum i*dst_strides, strides in bytes. Shares
 * out big ones. fast_fill spreads one element, fast_fill_shared on all cores. */
void fast_copy(int rank, const int64_t *dims, int size, void *dst, const int64_t *dst_strides, const void *src, const int64_t *src_strides);
void fast_fill(void *dst, const void *element, int size, int64_t n);
void fast_fill_shared(void *dst, const void *element, int size, int64_t n);
void fast_strides(const hlo_type *t, int64_t *out_strides); /* bytes, dense row-major */
/* A result made of pieces, each a strided copy from one of some arrays: strides and offsets in bytes. The result's first `outer` dims are
 * dims of every piece, as long; pieces take turns along them, so that each part of the result is written while it is near. */
typedef struct fast_piece {
    int input, rank;
    int64_t from_offset, to_offset, dims[HLO_MAX_RANK], from[HLO_MAX_RANK], to[HLO_MAX_RANK];
} fast_piece;
typedef struct fast_move { int size, n_pieces, outer; int64_t items, cut; const fast_piece *pieces; } fast_move;
void fast_move_plan(fast_move *, const hlo_type *result); /* once size and pieces are there */
void fast_move_run(const fast_move *, void *const *inputs, void *out);
/* The identity element of op for dtype, as bytes. */
void fast_identity(hlo_op op, tt_dtype dtype, void *out);
/* Runs fn over [0, n) cut into ranges of `grain` items (at least); ranges depend on n and grain only. */
typedef void (*fast_range_fn)(void *context, int64_t from, int64_t to);
void fast_ranges(int64_t n, int64_t grain, fast_range_fn fn, void *context);
#endif

/* engine.h - inside the embedded engine: what plugin, program, reference and fast kernels share.
 *
 * The engine is a PJRT plugin (own .so, exports only GetPjrtApi). plugin*.c are the PJRT objects; program.c turns a parsed graph into steps
 * over a planned memory; ref*.c hold one plain kernel per StableHLO op; fast_*.c hold kernels that must equal them. */
#ifndef ENG_ENGINE_H
#define ENG_ENGINE_H
#include "base/hash.h"
#include "hlo/graph.h"
#ifdef __cplusplus
extern "C" {
#endif

/* A dense row-major array in host memory, elements as in base/dtype.h. */
typedef struct eng_tensor { hlo_type type; void *data; } eng_tensor;

/* ---- thread pool (pool.c) ----
 * parallel: calls fn(context, task, worker) for every task in [0, n_tasks), tasks taken dynamically; returns when all are done. Nested calls
 * and calls with one task run inline. worker < eng_pool_size(). Results never depend on the number of threads: kernels split work by
 * shape, not by thread count. */
typedef void (*eng_task_fn)(void *context, int64_t task, int worker);
int eng_pool_size(void);
void eng_parallel(int64_t n_tasks, eng_task_fn fn, void *context);
uint32_t eng_parallel_count(void); /* calls of this thread's so far that others could take tasks of */
/* Looks at *word for `ns` at most; true if it differs from value. */
bool eng_spin_while_equal(_Atomic uint32_t *word, uint32_t value, int64_t ns);

/* ---- one run of a program ---- */
/* A loop that waits for a result (program_run.c). A kernel may hand it all of its result, part by part, or nothing: `rows` rows of `count`
 * elements that belong at `at`, `stride` elements apart, and are at `part`, `part_stride` apart. The loop runs on them at once, in the calling
 * thread. */
typedef struct eng_follow eng_follow;
void eng_follow_part(eng_follow *, const void *at, int64_t stride, const void *part, int64_t part_stride, int64_t rows, int64_t count);
bool eng_follow_passing(const eng_follow *); /* what is handed over need not be where it belongs */
/* Maps a value of an enclosing block to its tensor; NULL: not there. */
typedef const eng_tensor *(*eng_env)(void *context, hlo_ref ref);
typedef struct eng_run {
    tt_arena *arena;             /* execute lifetime */
    int device, n_devices;       /* partition id */
    void *collective;            /* rendezvous of the participants; NULL: single device */
    bool reference;              /* use ref kernels only */
    struct eng_rows **rows;      /* [slot of the program], replaced as rows are written; NULL: not kept */
    /* Where kernels of nodes with regions find the outer values their regions use; whoever runs a block sets it (eng_ref_block does). */
    eng_env env; void *env_context;
    eng_follow *follow;          /* of the result of the kernel at hand; NULL: nobody waits */
} eng_run;

/* Scratch memory of the calling thread, at least `bytes`, 64-byte aligned, kept between calls; slot 0..4. NULL: out of memory. */
void *eng_scratch(int slot, size_t bytes);
void *eng_scratch_need(int slot, size_t bytes); /* a few MB at most: like metadata, the lack of them ends the program */
void eng_scratch_set(int set); /* which slots are meant: 0, or 1 while something else runs in the middle of a task */

/* ---- reference kernels (ref*.c): plain, spec order, obviously right ----
 * `in` has n_operands tensors, `out` n_results, their data allocated by the caller (out never aliases in). */
typedef tt_status (*eng_kernel)(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out);
extern const eng_kernel eng_ref_kernels[HLO_N_OPS];   /* NULL: not supported, program.c says so by name */
/* Evaluates a block (region, function body) with reference kernels: params in, results out (data allocated from run->arena). env maps outer
 * values for regions that use them: env(context, ref) gives the tensor. */
tt_status eng_ref_block(eng_run *run, const hlo_graph *g, const hlo_block *block, const eng_tensor *params, eng_env env, void *context, eng_tensor *out_results);

/* ---- fast kernels ---- */
/* C[m,n] = A[m,k] B[k,n], batched. a_transposed: A stored [k,m]; b_transposed: B stored [n,k]. Strides in elements between batches (0: shared).
 * dtype F32 F64 BF16 F16 (accumulates in f32, f64 for F64) and I8->I32; c_dtype: dtype or F32. Row strides lda, ldb, ldc in elements.
 * follow: NULL, or who waits for C. */
typedef struct eng_gemm_args {
    tt_dtype dtype, c_dtype;
    int64_t batch, m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c;
    bool a_transposed, b_transposed;
    const void *a, *b; void *c;
    eng_follow *follow;
} eng_gemm_args;
bool eng_gemm(const eng_gemm_args *);                 /* false: not a case it knows; nothing was written */
/* stablehlo.convolution, any layout, dtype F32 BF16 F16 F64; false: not known. */
bool eng_conv(const hlo_graph *g, const hlo_node *node, const eng_tensor *x, const eng_tensor *w, eng_tensor *out);

/* Composites that have a kernel ("tt.softmax", "tt.sdpa", ...). eng_composite_known decides what hlo_inline keeps, by name, attributes and types. */
bool eng_composite_known(const hlo_graph *g, const hlo_node *composite);
bool eng_composite_may_skip(const hlo_node *composite, int result); /* its data may be NULL if nobody reads it */
/* The kernel, NULL: there is none. attributes: the body of the MLIR dictionary, "{eps = 1.000000e-05 : f64, log = true}", or NULL. */
typedef tt_status (*eng_composite_fn)(const char *attributes, const eng_tensor *in, eng_tensor *out);
eng_composite_fn eng_composite_find(const hlo_node *composite, const char **out_attributes);

/* Fast kernels for single nodes (reduce, transpose, gather, scatter, sort, concatenate, pad, slice, iota, rng, dot_general, convolution, reduce_window ...):
 * a table with the signature of the reference kernels. A kernel may return eng_not_mine (a static error) to be replaced by the reference. */
extern const eng_kernel eng_fast_kernels[HLO_N_OPS];
extern tt_error *const eng_not_mine;
/* A reduce whose results are of leading dims can be computed in slices of them: in how many at most (0: it cannot), and slices [from, to)
 * of `slices`, a divisor of that. The tensors are whole; the bits are those of the whole. */
int64_t eng_reduce_slices(const hlo_graph *g, const hlo_node *node);
tt_status eng_reduce_range(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, const eng_tensor *out, int64_t slices,
                           int64_t from, int64_t to);

/* ---- fused loops (fuse.c finds groups, loop*.c runs them) ----
 * A loop computes a connected group of elementwise nodes (with broadcasts, constants, iota, converts, transposed or sliced reads, and a trailing or
 * inner row reduction) in one pass over tiles. Values round to their dtype at every op (unless excess precision is allowed), so a loop equals the reference kernels bit for bit
 * except where a transcendental function's own kernel differs, and there both use the same vector function. */
typedef struct eng_loop eng_loop;
/* Groups for one block: group[i] for block->nodes[i]: -1 alone, else a group number; members of one group are computed by one loop placed
 * at the last member. ENG_LOOKED_THROUGH: a constant or shape op that several loops read through and nobody needs in memory: no step.
 * is_result: by the same index. A loop's inputs (out_inputs), not its nodes' operands, are what must be alive when it runs. */
enum { ENG_LOOKED_THROUGH = -2 };
void eng_fuse(tt_arena *arena, const hlo_graph *g, const hlo_block *block, const bool *is_result, int *out_group, int *out_n_groups);
/* Compiles a group. inputs: values from outside (in the order run expects), outputs: members used outside. NULL: cannot (then members run singly).
 * excess_precision: 16-bit floats that members hand to each other are not rounded. */
eng_loop *eng_loop_create(tt_arena *arena, const hlo_graph *g, bool excess_precision, int n_nodes, const hlo_ref *nodes, int n_outputs,
                          const hlo_ref *outputs, int *out_n_inputs, const hlo_ref **out_inputs);
/* The same in a block that may be a region: values of outer blocks are read as they are, not looked through. positions[ref]: index in the block. */
eng_loop *eng_loop_create_in(tt_arena *arena, const hlo_graph *g, const hlo_block *block, const int *positions, bool excess_precision,
                             int n_nodes, const hlo_ref *nodes, int n_outputs, const hlo_ref *outputs, int *out_n_inputs, const hlo_ref **out_inputs);
/* Do they compute the same, of arrays given in the same order? */
bool eng_loop_equal(const eng_loop *, const eng_loop *);
tt_hash eng_loop_hash(const eng_loop *);
void eng_loop_run(const eng_loop *, void *const *inputs, void *const *outputs);
/* Elements [from, to) of its outputs, by the calling thread. The arrays are whole. */
void eng_loop_run_range(const eng_loop *, void *const *inputs, void *const *outputs, int64_t from, int64_t to);
/* `rows` times `count` elements, `apart` from one to the next; to inputs[own] `step` bytes are added after each. */
void eng_loop_run_block(const eng_loop *, void **inputs, void *const *outputs, int64_t from, int64_t count, int64_t rows, int64_t apart, int own,
                        int64_t step);
int64_t eng_loop_elements(const eng_loop *);
/* Cut in `slices` as the loop is, does each slice of the loop read of this input, of so many bytes, only the same slice? */
bool eng_loop_reads_slices(const eng_loop *, int input, int64_t bytes, int64_t slices);
/* May output o's array be input i's? Every read of the input then is of the element being written, and comes first. */
bool eng_loop_in_place(const eng_loop *, int output, int input);
/* Its only output's rows, of `row` elements: each begins `apart` bytes after the one before it. */
void eng_loop_run_into(const eng_loop *, void *const *inputs, char *output, int64_t row, int64_t apart);
/* May it write so? (apart in elements) */
bool eng_loop_takes_rows(const eng_loop *, int64_t row, int64_t apart);
/* Does it read of the input only the element that it then writes, if element `start` of the input is where it writes? */
bool eng_loop_reads_rows(const eng_loop *, int input, int64_t start, int64_t row, int64_t apart);

/* Rows alone: is element i of every array element i of the loop, or one element for all, and is there one output? */
bool eng_loop_has_rows(const eng_loop *);
/* Of such a loop only the rows at[0 .. n), each named once, of `row` elements. The output is the sum of input `old`, in whose memory it lies,
 * and products of input `zero`, which is 0 elsewhere. False: nothing was done, for other rows would not stay as they are. */
bool eng_loop_run_rows(const eng_loop *, void *const *inputs, void *const *outputs, int old, int zero, int64_t row, int64_t n, const int32_t *at);

/* Vector math shared by loops, reductions and composites: arrays of n floats (dst may equal src). max error in ulp in loop_math.c. */
void eng_vexp(float *dst, const float *src, int64_t n);
void eng_vtanh(float *dst, const float *src, int64_t n);
void eng_verf(float *dst, const float *src, int64_t n);
void eng_vlog(float *dst, const float *src, int64_t n);

#ifdef __cplusplus
}
#endif
#endif

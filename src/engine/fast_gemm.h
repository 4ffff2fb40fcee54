/* fast_gemm.h - what dot_general, convolution and attention use of the matrix product beside eng_gemm. */
#ifndef ENG_FAST_GEMM_H
#define ENG_FAST_GEMM_H
#include "engine/engine.h"
#include "engine/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As eng_gemm, with the start of A and of B for each batch (in elements) in place of the batch strides. */
bool eng_gemm_batched(const eng_gemm_args *, const int64_t *starts_a, const int64_t *starts_b);

/* The same of elements of a flavor; C's type is the flavor's element or sum. */
void eng_gemm_of(const eng_flavor *, const eng_gemm_args *, const int64_t *starts_a, const int64_t *starts_b);
/* i8 x i8 -> i32; false: no memory */
bool eng_gemm_int8(const eng_gemm_args *, const int64_t *starts_a, const int64_t *starts_b);

/* Scratch slots: tasks use the first three, whoever starts tasks keeps shared data in the others. A product may
 * be called from a task (it then runs inline), but not while that task holds slots 0 to 2. */
enum { ENG_SLOT_A, ENG_SLOT_B, ENG_SLOT_C, ENG_SLOT_SHARED, ENG_SLOT_TURNED };

static inline int64_t eng_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t eng_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static inline int64_t eng_blocks(int64_t n, int64_t block) {
    return (n + block - 1) / block;
}
static inline int64_t eng_round_up(int64_t n, int64_t to) {
    return eng_blocks(n, to) * to;
}

/* Words of a panel row block over kc steps. */
static inline int64_t eng_words(const eng_flavor *f, int64_t kc) {
    return (kc + f->per_word - 1) / f->per_word;
}
/* Bytes of rows packed for dots. */
static inline int64_t eng_dots_bytes(const eng_flavor *f, int64_t rows, int64_t k) {
    return rows * eng_round_up(eng_words(f, k), 16) * 4;
}
/* Steps of k packed at a time: even parts of at most about half of L2 (per panel of nr), a multiple of 2. */
int64_t eng_k_block(const eng_flavor *f, int64_t k);
/* Rows per tile so that m splits evenly into tiles of at most f->mr rows. */
static inline int64_t eng_even_rows(const eng_flavor *f, int64_t m) {
    return m > 0 ? eng_blocks(m, eng_blocks(m, f->mr)) : 1;
}

#ifdef __cplusplus
}
#endif
#endif

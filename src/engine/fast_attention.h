/* fast_attention.h - what attention's two directions share. */
#ifndef ENG_FAST_ATTENTION_H
#define ENG_FAST_ATTENTION_H
#include "engine/composite.h"

typedef struct attention {
    const eng_kernels *kernels;
    const eng_flavor *f; /* of q's type */
    tt_dtype dtype, mask_type;
    int64_t bytes;                        /* of an element of q */
    int64_t b, h, hk, group, l, s, e, ev; /* group: query heads per key head */
    const char *q, *k, *v, *mask;         /* mask: NULL for none */
    int64_t mask_b, mask_h, mask_l;       /* strides in elements, 0 where broadcast */
    float scale;
    bool causal;
} attention;

/* q: the tensors q, k, v in a row. */
attention attention_of(const char *attributes, const eng_tensor *q, const eng_tensor *mask);
/* The mask's row i from column j on; NULL without a mask. */
const void *attention_mask(const attention *, int64_t b, int64_t h, int64_t i, int64_t j);

/* Matrices as tiles read them: A by rows and steps of k in bytes; B rows of words, ld words apart, panels of nr columns in bytes. */
typedef struct attention_left { const void *at; int64_t row, step; } attention_left;
typedef struct attention_right { const void *at; int64_t ld, panel; } attention_right;
/* c[rows, n] (+)= a b: a tile's rows, all of whose columns are written where `whole`; times the rows' factors, if there are. */
void attention_multiply(const eng_flavor *f, int64_t words, attention_left a, int64_t rows, attention_right b, int64_t n, bool whole,
                        float *c, int64_t ldc, bool accumulate, const float *factors);
#endif

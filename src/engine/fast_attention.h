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
#endif

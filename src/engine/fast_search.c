/* fast_search.c - where values belong in sorted rows, by halves: a block of values takes each step together, so that no branch is guessed.
 * Part of composite.c; knows no graph. The halves are those of the decomposition, which tells where rows are not sorted or hold NaN. */
#include "engine/composite.h"
#include "engine/fast.h"
#include <string.h>

#pragma GCC optimize("O3,no-trapping-math")

typedef struct search {
    int64_t m, n, blocks; /* of a row of the sorted, of the values, blocks of those */
    tt_dtype dtype;
    bool right;
    const char *sorted, *values;
    int32_t *out;
} search;

enum { BLOCK = 64 };

#define SEARCH(name, T, ABOVE)                                                                                    \
    static FAST_CLONES void name(const T *sorted, int64_t m, const T *values, int64_t n, int32_t *out) {          \
        const int32_t last = (int32_t)m - 1;                                                                      \
        int32_t low[BLOCK] = {0}, high[BLOCK];                                                                    \
        for (int k = 0; k < BLOCK; k++)                                                                           \
            high[k] = (int32_t)m;                                                                                 \
        for (int64_t step = m; step > 0; step /= 2)                                                               \
            for (int64_t k = 0; k < n; k++) {                                                                     \
                const int32_t l = low[k], h = high[k], middle = (int32_t)(((uint32_t)l + (uint32_t)h) / 2);       \
                const T x = sorted[middle < last ? middle : last];                                                \
                const int32_t above = -(int32_t)(x ABOVE values[k]), open = (l - h) >> 31; /* masks */            \
                low[k] = l ^ ((l ^ (middle + 1)) & open & ~above);                                                \
                high[k] = h ^ ((h ^ middle) & open & above);                                                      \
            }                                                                                                     \
        memcpy(out, low, sizeof *out * (size_t)n);                                                                \
    }
#define BOTH(type, T) SEARCH(left_##type, T, >=) SEARCH(right_##type, T, >)
BOTH(F32, float)
BOTH(F64, double)
BOTH(I32, int32_t)
BOTH(I64, int64_t)

static void blocks_range(void *context, int64_t from, int64_t to) {
    const search *s = context;
    const int64_t size = tt_dtype_size(s->dtype);
    for (int64_t i = from; i < to; i++) {
        const int64_t row = i / s->blocks, first = i % s->blocks * BLOCK, n = eng_min(BLOCK, s->n - first);
        const void *sorted = s->sorted + row * s->m * size, *values = s->values + (row * s->n + first) * size;
        int32_t *out = s->out + row * s->n + first;
        switch ((int)s->dtype) {
#define CASE(type) case TT_##type: (s->right ? right_##type : left_##type)(sorted, s->m, values, n, out); break;
            CASE(F32) CASE(F64) CASE(I32) CASE(I64)
#undef CASE
        }
    }
}

tt_status eng_search(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    search s = {.m = in[0].type.dims[1], .n = in[1].type.dims[1], .dtype = in[0].type.dtype, .sorted = in[0].data, .values = in[1].data, .out = out->data};
    s.right = eng_composite_attr_bool(attributes, "right", false);
    s.blocks = eng_blocks(s.n, BLOCK);
    fast_ranges(in[0].type.dims[0] * s.blocks, 64, blocks_range, &s);
    return TT_OK;
}

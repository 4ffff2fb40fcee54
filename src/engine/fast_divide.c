/* fast_divide.c - integer quotients and remainders that are to fail where the divisor is zero, which loops cannot: the divisors are looked
 * through first, and the loops' kernel does the rest. The reference kernel says what is wrong. */
#include "engine/fast.h"
#include <string.h>

typedef struct quotient { loop_kernel kernel; int size; const char *a, *b; char *out; } quotient;

static void quotient_range(void *context, int64_t from, int64_t to) {
    const quotient *q = context;
    q->kernel(q->out + from * q->size, q->a + from * q->size, q->b + from * q->size, NULL, to - from);
}

#define ANY_ZERO(bytes, T)                                                    \
    case bytes: {                                                             \
        const T *x = data;                                                    \
        int zero = 0;                                                         \
        for (int64_t i = 0; i < n; i++)                                       \
            zero |= x[i] == 0;                                                \
        return zero;                                                          \
    }

static FAST_CLONES int any_zero(const void *data, int size, int64_t n) {
    switch (size) {
        ANY_ZERO(1, uint8_t)
        ANY_ZERO(2, uint16_t)
        ANY_ZERO(4, uint32_t)
        ANY_ZERO(8, uint64_t)
    }
    return 1;
}

tt_status eng_fast_divide(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    const tt_dtype dtype = out->type.dtype;
    const int size = tt_dtype_size(dtype);
    const int64_t n = hlo_type_elements(&out->type);
    (void)run, (void)g;
    quotient q = {loop_find(node->op, dtype, dtype, 0), size, in[0].data, in[1].data, out->data};
    if (!tt_is_int(dtype) || !q.kernel || any_zero(in[1].data, size, n))
        return eng_not_mine;
    fast_ranges(n, 1 << 14, quotient_range, &q);
    return TT_OK;
}

/* fast_pool.c - the gradient of max pooling: every element of the gradient goes to the place its window
 * chose. Part of composite.c; knows no graph. Planes are independent, so the order of additions is fixed. */
#include "engine/composite.h"
#include <string.h>

typedef struct pool_backward {
    int64_t planes, in, out, per_task; /* elements of a plane before and after pooling */
    const float *grad;
    const int64_t *index;
    float *dx;
} pool_backward;

static void pool_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pool_backward *p = context;
    const int64_t first = task * p->per_task, last = eng_min(p->planes, first + p->per_task);
    memset(p->dx + first * p->in, 0, (size_t)((last - first) * p->in) * sizeof(float));
    for (int64_t plane = first; plane < last; plane++) {
        const float *grad = p->grad + plane * p->out;
        const int64_t *index = p->index + plane * p->out;
        float *dx = p->dx + plane * p->in;
        for (int64_t i = 0; i < p->out; i++)
            if ((uint64_t)index[i] < (uint64_t)p->in) /* a bad index writes nowhere, as a scatter does */
                dx[index[i]] += grad[i];
    }
}

tt_status eng_max_pool_backward(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    (void)attributes;
    const int64_t planes = in[0].type.dims[0];
    if (hlo_type_elements(&out[0].type) == 0)
        return TT_OK;
    pool_backward p = {planes,
                       hlo_type_elements(&out[0].type) / planes,
                       hlo_type_elements(&in[0].type) / planes,
                       0,
                       in[0].data,
                       in[1].data,
                       out[0].data};
    p.per_task = eng_max(1, eng_min(planes, 65536 / eng_max(p.in, 1)));
    eng_parallel(eng_blocks(planes, p.per_task), pool_task, &p);
    return TT_OK;
}

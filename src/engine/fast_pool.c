/* fast_pool.c - max pooling of planes, and its gradient: every element of the gradient goes to the place its
 * window chose. Part of composite.c; knows no graph. Planes are independent, so the order of additions is fixed. */
#include "engine/composite.h"
#include "engine/fast.h"
#include <math.h>
#include <string.h>

/* ---- forward ---- */
enum { ROW = 512 }; /* outputs of a row taken together */

typedef struct max_pool {
    int64_t planes, in[2], out[2], k[2], s[2], p[2], d[2], per_task;
    const float *x;
    float *y;
    int64_t *index;
} max_pool;

/* Outputs [lo, hi) of n whose tap at `from` (relative to the window of output 0) lies in [0, size). */
static void inside(int64_t from, int64_t step, int64_t size, int64_t n, int64_t *lo, int64_t *hi) {
    *lo = from < 0 ? eng_min(n, (-from + step - 1) / step) : 0;
    *hi = from >= size ? 0 : eng_min(n, (size - 1 - from) / step + 1);
}

/* The first of k taps from `at` on, `step` apart, that is not before the plane; the last if all are. */
static int64_t first_inside(int64_t at, int64_t step, int64_t k) {
    return at < 0 ? at + eng_min(k - 1, (-at + step - 1) / step) * step : at;
}

/* best and at are of n neighbouring outputs; x of the first, `step` apart. */
FAST_CLONES static void take_larger(const float *x, int64_t step, int32_t from, int64_t n, float *best, int32_t *at) {
#define TAKE(step_)                                                                                                                \
    for (int64_t i = 0; i < n; i++) {                                                                                              \
        const float v = x[i * (step_)];                                                                                            \
        const int take = (v > best[i]) | (v != v);                                                                                 \
        at[i] = take ? from + (int32_t)(i * (step_)) : at[i];                                                                      \
        best[i] = take ? v : best[i];                                                                                              \
    }
    if (step == 1)
        TAKE(1)
    else if (step == 2)
        TAKE(2)
    else
        TAKE(step)
#undef TAKE
}

static void max_pool_row(const max_pool *p, const float *x, int64_t row, int64_t first, int64_t n, float *y, int64_t *index) {
    float best[ROW];
    int32_t at[ROW];
    const int64_t top = row * p->s[0] - p->p[0], left = first * p->s[1] - p->p[1];
    const int64_t top_inside = first_inside(top, p->d[0], p->k[0]);
    for (int64_t i = 0; i < n; i++) { /* where nothing is larger than -inf the first tap inside is the place */
        best[i] = -INFINITY;
        at[i] = (int32_t)(top_inside * p->in[1] + first_inside(left + i * p->s[1], p->d[1], p->k[1]));
    }
    for (int64_t k0 = 0; k0 < p->k[0]; k0++) {
        const int64_t h = top + k0 * p->d[0];
        if (h < 0 || h >= p->in[0])
            continue;
        for (int64_t k1 = 0; k1 < p->k[1]; k1++) {
            const int64_t w = left + k1 * p->d[1];
            int64_t lo, hi;
            inside(w, p->s[1], p->in[1], n, &lo, &hi);
            const int64_t from = h * p->in[1] + w + lo * p->s[1];
            if (lo < hi)
                take_larger(x + from, p->s[1], (int32_t)from, hi - lo, best + lo, at + lo);
        }
    }
    memcpy(y, best, (size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++)
        index[i] = at[i];
}

static void max_pool_task(void *context, int64_t task, int worker) {
    (void)worker;
    const max_pool *p = context;
    const int64_t last = eng_min(p->planes, (task + 1) * p->per_task), out = p->out[0] * p->out[1];
    for (int64_t plane = task * p->per_task; plane < last; plane++)
        for (int64_t row = 0; row < p->out[0]; row++)
            for (int64_t first = 0; first < p->out[1]; first += ROW) {
                const int64_t at = plane * out + row * p->out[1] + first;
                max_pool_row(p, p->x + plane * p->in[0] * p->in[1], row, first, eng_min(ROW, p->out[1] - first), p->y + at, p->index + at);
            }
}

tt_status eng_max_pool(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    static const char *const names[] = {"k0", "k1", "s0", "s1", "p0", "p1", "d0", "d1"};
    max_pool p = {.planes = in[0].type.dims[0], .x = in[0].data, .y = out[0].data, .index = out[1].data};
    int64_t *const fields[] = {p.k, p.k + 1, p.s, p.s + 1, p.p, p.p + 1, p.d, p.d + 1};
    for (int i = 0; i < 8; i++)
        *fields[i] = (int64_t)eng_composite_attr_double(attributes, names[i], 1);
    for (int i = 0; i < 2; i++) {
        p.in[i] = in[0].type.dims[1 + i];
        p.out[i] = out[0].type.dims[1 + i];
    }
    if (hlo_type_elements(&out[0].type) == 0)
        return TT_OK;
    p.per_task = eng_max(1, eng_min(p.planes, 65536 / eng_max(p.out[0] * p.out[1] * p.k[0] * p.k[1], 1)));
    eng_parallel(eng_blocks(p.planes, p.per_task), max_pool_task, &p);
    return TT_OK;
}

/* ---- gradient ---- */

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

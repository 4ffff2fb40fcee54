/* fast_norm.c - softmax and normalisation over the last dimension: cuts rows into tasks for kernel_row.h.
 * Part of composite.c; knows no graph. */
#include "engine/composite.h"
#include <math.h>
#include <string.h>

/* Rows a task: about 16K elements, so that a task is worth its start; depends on the shape only. */
static int64_t rows_per_task(int64_t rows, int64_t n) {
    return eng_max(1, eng_min(rows, 16384 / eng_max(n, 1)));
}

enum { L2_BYTES = 1 << 20 };

static int64_t last_dim(const hlo_type *t) {
    return t->rank > 0 ? t->dims[t->rank - 1] : 1;
}

/* ---- softmax ---- */
typedef struct softmax {
    const eng_kernels *kernels;
    tt_dtype type;
    int64_t rows, n, per_task;
    bool log;
    const char *x, *y;
    char *out;
} softmax;

static void softmax_task(void *context, int64_t task, int worker) {
    (void)worker;
    const softmax *s = context;
    const int64_t first = task * s->per_task, rows = eng_min(s->rows - first, s->per_task);
    const int64_t at = first * s->n * tt_dtype_size(s->type);
    if (s->y) {
        s->kernels->softmax_backward(s->type, rows, s->n, s->log, s->x + at, s->y + at, s->out + at);
        return;
    }
    float *work = s->type == TT_F32 ? NULL : eng_scratch_need(ENG_SLOT_A, (size_t)(s->n * 4));
    s->kernels->softmax(s->type, rows, s->n, s->log, s->x + at, s->out + at, work);
}

static tt_status run_softmax(const eng_tensor *x, const void *y, bool log, eng_tensor *out) {
    const int64_t n = last_dim(&x->type), elements = hlo_type_elements(&x->type);
    if (elements == 0)
        return TT_OK;
    softmax s = {eng_kernels_get(), x->type.dtype, elements / n, n, 0, log, x->data, y, out->data};
    s.per_task = rows_per_task(s.rows, n);
    eng_parallel(eng_blocks(s.rows, s.per_task), softmax_task, &s);
    return TT_OK;
}

tt_status eng_softmax(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    return run_softmax(&in[0], NULL, eng_composite_attr_bool(attributes, "log", false), &out[0]);
}

tt_status eng_softmax_backward(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    return run_softmax(&in[0], in[1].data, eng_composite_attr_bool(attributes, "log", false), &out[0]);
}

/* ---- normalisation ---- */
typedef struct norm {
    const eng_kernels *kernels;
    eng_norm args;
    int64_t rows, per_task;
    float *sums; /* backward: per task dweight[n] dbias[n] */
} norm;

static void norm_task(void *context, int64_t task, int worker) {
    (void)worker;
    const norm *s = context;
    const int64_t first = task * s->per_task, rows = eng_min(s->rows - first, s->per_task), n = s->args.n;
    if (!s->sums) {
        s->kernels->norm(&s->args, first, rows);
        return;
    }
    float *sums = s->sums + task * 2 * n;
    memset(sums, 0, (size_t)(2 * n * 4));
    s->kernels->norm_backward(&s->args, first, rows, sums, sums + n);
}

static norm norm_of(const eng_tensor *x, eng_tensor *y) {
    norm s = {.kernels = eng_kernels_get()};
    s.args = (eng_norm){.type = x->type.dtype, .n = last_dim(&x->type), .x = x->data, .y = y->data};
    s.rows = s.args.n > 0 ? hlo_type_elements(&x->type) / s.args.n : 0;
    s.per_task = rows_per_task(s.rows, s.args.n);
    s.args.far = hlo_type_bytes(&x->type) > L2_BYTES && s.args.n <= 16384;
    return s;
}

static void fill(float *p, int64_t n, float value) {
    for (int64_t i = 0; i < n; i++)
        p[i] = value;
}

static tt_status run_norm(norm *s, int64_t rows) {
    if (s->args.n == 0) { /* the moments of nothing */
        if (s->args.mean)
            fill(s->args.mean, rows, NAN);
        fill(s->args.rstd, rows, NAN);
        return TT_OK;
    }
    eng_parallel(eng_blocks(s->rows, s->per_task), norm_task, s);
    return TT_OK;
}

tt_status eng_layer_norm(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    norm s = norm_of(&in[0], &out[0]);
    int next = 1;
    if (eng_composite_attr_bool(attributes, "has_weight", false))
        s.args.weight = in[next++].data;
    if (eng_composite_attr_bool(attributes, "has_bias", false))
        s.args.bias = in[next].data;
    s.args.eps = eng_composite_attr_double(attributes, "eps", 1e-5);
    s.args.mean = out[1].data;
    s.args.rstd = out[2].data;
    return run_norm(&s, hlo_type_elements(&out[1].type));
}

tt_status eng_rms_norm(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    norm s = norm_of(&in[0], &out[0]);
    if (eng_composite_attr_bool(attributes, "has_weight", false))
        s.args.weight = in[1].data;
    s.args.eps = eng_composite_attr_double(attributes, "eps", 1e-5);
    s.args.rstd = out[1].data;
    return run_norm(&s, hlo_type_elements(&out[1].type));
}

tt_status eng_layer_norm_backward(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    norm s = norm_of(&in[1], &out[0]);
    const int64_t n = s.args.n;
    s.args.grad = in[0].data;
    s.args.mean = in[2].data;
    s.args.rstd = in[3].data;
    if (eng_composite_attr_bool(attributes, "has_weight", false))
        s.args.weight = in[4].data;
    /* at most 32 parts: their sums are joined in order */
    s.per_task = eng_max(s.per_task, eng_blocks(s.rows, 32));
    const int64_t tasks = eng_blocks(s.rows, s.per_task);
    s.sums = eng_scratch(ENG_SLOT_SHARED, (size_t)((tasks > 0 ? tasks : 1) * 2 * n * 4 + 64));
    TT_CHECK(s.sums, RESOURCE_EXHAUSTED, "layer_norm_backward: no memory for %lld bytes of scratch",
             (long long)(tasks * 2 * n * 4));
    if (tasks == 0)
        memset(s.sums, 0, (size_t)(2 * n * 4));
    eng_parallel(tasks, norm_task, &s);
    for (int64_t t = 1; t < tasks; t++)
        s.kernels->add(s.sums, s.sums + t * 2 * n, 2 * n);
    s.kernels->narrow(s.args.type, out[1].data, s.sums, n);
    s.kernels->narrow(s.args.type, out[2].data, s.sums + n, n);
    return TT_OK;
}

/* fast_norm.c - softmax and normalisation over the last dimension: cuts rows into tasks for kernel_row.h.
 * Part of composite.c; knows no graph. */
#include "engine/composite.h"
#include "engine/fast.h"
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

/* ---- softmax down the columns: a block of neighbours at a time, as f32 ---- */
enum { COLUMN_BLOCK = 512, BLOCK_VALUES = 16384 }; /* most columns, values of a block */

/* x: what is normalised, or the gradient; with `results` the gradient of x is made */
typedef struct column_softmax {
    const eng_kernels *kernels;
    tt_dtype type;
    int64_t n, inner, width, blocks;
    bool log;
    const char *x, *results;
    char *y;
} column_softmax;

FAST_CLONES static void raise_top(float *restrict top, const float *restrict x, int64_t w) {
    for (int64_t c = 0; c < w; c++)
        top[c] = (x[c] > top[c]) | (x[c] != x[c]) ? x[c] : top[c];
}

FAST_CLONES static void take_off(float *restrict x, const float *restrict what, int64_t w) {
    for (int64_t c = 0; c < w; c++)
        x[c] -= what[c];
}

FAST_CLONES static void scale_by(float *restrict x, const float *restrict factor, int64_t w) {
    for (int64_t c = 0; c < w; c++)
        x[c] *= factor[c];
}

FAST_CLONES static void add_products(float *restrict sum, const float *restrict x, const float *restrict y, int64_t w) {
    for (int64_t c = 0; c < w; c++)
        sum[c] += x[c] * y[c];
}

/* y (x - sum), or x - exp(y) sum, where the exponential is taken already */
FAST_CLONES static void grad_row(float *restrict x, const float *restrict y, const float *restrict sum, bool log, int64_t w) {
    for (int64_t c = 0; c < w; c++)
        x[c] = log ? x[c] - y[c] * sum[c] : y[c] * (x[c] - sum[c]);
}

FAST_CLONES static void invert(float *x, int64_t w) {
    for (int64_t c = 0; c < w; c++)
        x[c] = 1 / x[c];
}

/* Rows of w columns of `laid`, one after the other: the values, in the end the results. */
static void column_block(const column_softmax *s, float *laid, float *work, int64_t w) {
    float top[COLUMN_BLOCK], sum[COLUMN_BLOCK] = {0};
    memcpy(top, laid, sizeof *top * (size_t)w);
    for (int64_t r = 1; r < s->n; r++)
        raise_top(top, laid + r * w, w);
    for (int64_t r = 0; r < s->n; r++)
        take_off(laid + r * w, top, w);
    float *powers = s->log ? work : laid;
    eng_vexp(powers, laid, s->n * w);
    for (int64_t r = 0; r < s->n; r++)
        s->kernels->add(sum, powers + r * w, w);
    if (s->log)
        eng_vlog(sum, sum, w);
    else
        invert(sum, w);
    for (int64_t r = 0; r < s->n; r++)
        if (s->log)
            take_off(laid + r * w, sum, w);
        else
            scale_by(laid + r * w, sum, w);
}

/* The gradient of such a block: x holds what comes in, and in the end what goes out. */
static void column_grad_block(const column_softmax *s, float *x, float *y, int64_t w) {
    float sum[COLUMN_BLOCK] = {0};
    for (int64_t r = 0; r < s->n; r++)
        if (s->log)
            s->kernels->add(sum, x + r * w, w);
        else
            add_products(sum, x + r * w, y + r * w, w);
    if (s->log)
        eng_vexp(y, y, s->n * w);
    for (int64_t r = 0; r < s->n; r++)
        grad_row(x + r * w, y + r * w, sum, s->log, w);
}

static void column_softmax_range(void *context, int64_t from, int64_t to) {
    const column_softmax *s = context;
    const int64_t size = tt_dtype_size(s->type), block = s->n * s->width;
    float *laid = eng_scratch_need(ENG_SLOT_A, (size_t)(block * 8)), *work = laid + block;
    for (int64_t i = from; i < to; i++) {
        const int64_t first = i % s->blocks * s->width, w = eng_min(s->width, s->inner - first);
        const int64_t at = (i / s->blocks * s->n * s->inner + first) * size;
        for (int64_t r = 0; r < s->n; r++)
            s->kernels->widen(s->type, laid + r * w, s->x + at + r * s->inner * size, w);
        for (int64_t r = 0; s->results && r < s->n; r++)
            s->kernels->widen(s->type, work + r * w, s->results + at + r * s->inner * size, w);
        if (s->results)
            column_grad_block(s, laid, work, w);
        else
            column_block(s, laid, work, w);
        s->kernels->narrow_rows(s->type, s->y + at, s->inner, laid, w, s->n, w);
    }
}

static tt_status run_column_softmax(const eng_tensor *x, const void *results, int dim, bool log, eng_tensor *out) {
    column_softmax s = {.kernels = eng_kernels_get(), .type = x->type.dtype, .n = x->type.dims[dim], .inner = 1, .log = log, .x = x->data, .results = results, .y = out->data};
    for (int d = dim + 1; d < x->type.rank; d++)
        s.inner *= x->type.dims[d];
    const int64_t elements = hlo_type_elements(&x->type);
    if (!elements)
        return TT_OK;
    s.width = eng_max(64, eng_min(COLUMN_BLOCK, BLOCK_VALUES / s.n / 64 * 64));
    s.blocks = eng_blocks(s.inner, s.width);
    fast_ranges(elements / (s.n * s.inner) * s.blocks, eng_max(1, 16384 / (s.n * s.width)), column_softmax_range, &s);
    return TT_OK;
}

static tt_status softmax_either(const char *attributes, const eng_tensor *x, const void *results, eng_tensor *out) {
    const int dim = (int)eng_composite_attr_double(attributes, "dim", x->type.rank - 1);
    const bool log = eng_composite_attr_bool(attributes, "log", false);
    return dim < x->type.rank - 1 ? run_column_softmax(x, results, dim, log, out) : run_softmax(x, results, log, out);
}

tt_status eng_softmax(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    return softmax_either(attributes, in, NULL, out);
}

tt_status eng_softmax_backward(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    return softmax_either(attributes, in, in[1].data, out);
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

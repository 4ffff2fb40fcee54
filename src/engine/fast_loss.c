/* fast_loss.c - the loss of rows by their targets: of log-probabilities, or of what their softmax is taken of, where that goes nowhere else.
 * Part of composite.c; knows no graph. The sum is one, in double, in order. */
#include "engine/composite.h"

static int64_t class_of(int64_t target, int64_t classes) {
    return eng_max(0, eng_min(target, classes - 1)); /* a gather clamps */
}

static int64_t ignored_of(const char *attributes) {
    return (int64_t)eng_composite_attr_double(attributes, "ignored", -100);
}

/* chosen: each row's element, NULL: to be read from in[0] */
static tt_status sum_rows(const char *attributes, const eng_tensor *in, const float *chosen, eng_tensor *out) {
    const tt_dtype dtype = in[0].type.dtype;
    const int64_t n = in[0].type.dims[0], classes = in[0].type.dims[1], size = tt_dtype_size(dtype), *target = in[1].data;
    const int64_t ignored = ignored_of(attributes);
    const bool checked = eng_composite_attr_bool(attributes, "checked", false);
    double sum = 0;
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        if (target[i] == ignored)
            continue;
        TT_CHECK(!checked || (uint64_t)target[i] < (uint64_t)classes, OUT_OF_RANGE,
                 "stablehlo.gather of nll_loss: index %lld is out of bounds for dimension 0 with size %lld", (long long)target[i], (long long)classes);
        sum -= chosen ? (double)chosen[i] : tt_element_get(dtype, (const char *)in[0].data + (i * classes + class_of(target[i], classes)) * size);
        total++;
    }
    const float loss = (float)sum;
    tt_element_set(dtype, out[0].data, eng_composite_attr_bool(attributes, "mean", false) ? loss / (float)total : loss);
    tt_element_set(dtype, out[1].data, (float)total);
    return TT_OK;
}

tt_status eng_nll_loss(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    return sum_rows(attributes, in, NULL, out);
}

/* ---- with the softmax ---- */
typedef struct entropy {
    const eng_kernels *kernels;
    tt_dtype dtype;
    int64_t rows, classes, per_task, ignored;
    const char *x;
    const int64_t *target;
    float *chosen;
} entropy;

static void entropy_task(void *context, int64_t task, int worker) {
    (void)worker;
    const entropy *s = context;
    const int64_t size = tt_dtype_size(s->dtype), end = eng_min(s->rows, (task + 1) * s->per_task);
    float *work = s->dtype == TT_F32 ? NULL : eng_scratch_need(ENG_SLOT_A, (size_t)(s->classes * 4));
    for (int64_t i = task * s->per_task; i < end; i++) {
        if (s->target[i] != s->ignored)
            s->chosen[i] = s->kernels->log_softmax_at(s->dtype, s->classes, s->x + i * s->classes * size, class_of(s->target[i], s->classes), work);
    }
}

tt_status eng_cross_entropy(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    const hlo_type *t = &in[0].type;
    entropy s = {eng_kernels_get(), t->dtype, t->dims[0], t->dims[1], eng_max(1, 16384 / t->dims[1]), ignored_of(attributes), in[0].data, in[1].data, NULL};
    s.chosen = eng_scratch(ENG_SLOT_SHARED, (size_t)s.rows * sizeof *s.chosen);
    TT_CHECK(s.chosen, RESOURCE_EXHAUSTED, "cross entropy: no memory for %lld rows", (long long)s.rows);
    eng_parallel(eng_blocks(s.rows, s.per_task), entropy_task, &s);
    return sum_rows(attributes, in, s.chosen, out);
}

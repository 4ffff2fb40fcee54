/* program_run.c - running a plan: addresses into the steps, steps into kernels.
 *
 * The hot path of every small program: no allocation, one pass over the steps. A kernel that declines
 * (eng_not_mine) is replaced by the reference kernel on the spot. */
#include "base/log.h"
#include "engine/composite.h"
#include "engine/fast.h"
#include "engine/program_plan.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { COPY_CHUNK = 256 << 10, COPY_PARALLEL_FROM = 1 << 20 };

typedef struct copy_job {
    char *dst;
    const char *src;
    int64_t bytes;
} copy_job;

static void copy_task(void *context, int64_t task, int worker) {
    (void)worker;
    const copy_job *j = context;
    int64_t at = task * COPY_CHUNK, n = j->bytes - at < COPY_CHUNK ? j->bytes - at : COPY_CHUNK;
    memcpy(j->dst + at, j->src + at, (size_t)n);
}

void eng_copy_bytes(void *dst, const void *src, int64_t bytes) {
    if (dst == src || bytes <= 0)
        return;
    if (bytes < COPY_PARALLEL_FROM) {
        memcpy(dst, src, (size_t)bytes);
        return;
    }
    copy_job j = {dst, src, bytes};
    eng_parallel((bytes + COPY_CHUNK - 1) / COPY_CHUNK, copy_task, &j);
}

static inline void *address(const eng_frame *f, eng_place p) {
    return (char *)f->bases[p.base] + p.offset;
}

static tt_status run_plan(eng_run *run, const hlo_graph *g, eng_frame *f);

/* ---- dynamic_update_slice ----
 * Within the engine one may have its starts as an attribute, and steps: elements that it writes are so far apart. */
static void run_update(const eng_step *s, const eng_tensor *in, const eng_tensor *out) {
    const hlo_type *whole = &in[0].type, *part = &in[1].type;
    const int rank = whole->rank;
    const hlo_ints starts = hlo_attr_ints(s->node, HLO_A_START_INDICES), steps = hlo_attr_ints(s->node, HLO_A_STRIDES);
    int64_t to[HLO_MAX_RANK], from[HLO_MAX_RANK];
    char *dst = out->data;
    const char *src = in[1].data;
    eng_copy_bytes(dst, in[0].data, hlo_type_bytes(whole)); /* nothing when it works in place */
    if (!hlo_type_elements(part))
        return;
    fast_strides(whole, to);
    fast_strides(part, from);
    for (int i = 0; i < rank; i++) {
        const int64_t step = steps.n ? steps.v[i] : 1, most = whole->dims[i] - (part->dims[i] - 1) * step - 1;
        int64_t at = starts.n ? starts.v[i] : tt_element_get_int(in[2 + i].type.dtype, in[2 + i].data);
        if (!starts.n && in[2 + i].type.dtype == TT_U64 && at < 0)
            at = most;
        dst += (at < 0 ? 0 : at > most ? most : at) * to[i];
        to[i] *= step;
    }
    if (s->update)
        src += s->update->from_offset;
    fast_copy(rank, part->dims, tt_dtype_size(part->dtype), dst, to, src, s->update ? s->update->from : from);
}

/* ---- kernels ---- */
typedef struct captures {
    const eng_step *step;
    const eng_frame *frame;
} captures;

static const eng_tensor *find_capture(void *context, hlo_ref ref) {
    const captures *c = context;
    for (int k = 0; k < c->step->n_captures; k++)
        if (c->step->captures[k] == ref)
            return &c->frame->tensors[c->step->first_capture + k];
    return NULL;
}

static tt_status call_kernel(eng_run *run, const hlo_graph *g, const eng_step *s, const eng_tensor *in,
                             eng_tensor *out) {
    if (s->rows && run->rows)
        return eng_sum_rows_noted(in, out, &run->rows[s->rows - 1]);
    if (s->kind == STEP_COMPOSITE)
        return s->composite(s->attributes, in, out);
    tt_status status = s->kernel(run, g, s->node, in, out);
    if (status && status == eng_not_mine) {
        if (!s->fallback)
            TT_FAIL(UNIMPLEMENTED, "%s with these types is not supported by the engine",
                    hlo_op_text((hlo_op)s->node->op));
        status = s->fallback(run, g, s->node, in, out);
    }
    return status;
}

static tt_status run_kernel(eng_run *run, const hlo_graph *g, eng_frame *f, const eng_step *s) {
    eng_tensor *t = f->tensors + s->first_tensor;
    for (int k = 0; k < s->n_in + s->n_out; k++)
        t[k].data = address(f, s->places[k]);
    if (s->kind == STEP_UPDATE) {
        run_update(s, t, t + s->n_in);
        return TT_OK;
    }
    captures c = {s, f};
    for (int k = 0; k < s->n_captures; k++)
        f->tensors[s->first_capture + k].data = address(f, s->capture_places[k]);
    run->env = s->n_captures ? find_capture : NULL;
    run->env_context = &c;
    tt_arena_mark before = tt_arena_mark_get(run->arena);
    tt_status status = call_kernel(run, g, s, t, t + s->n_in);
    tt_arena_mark after = tt_arena_mark_get(run->arena);
    if (after.block != before.block || after.used != before.used)
        tt_arena_rewind(run->arena, before);
    return status;
}

static void run_loop(const eng_run *run, eng_frame *f, const eng_step *s) {
    void **p = f->pointers;
    for (int k = 0; k < s->n_in + s->n_out; k++)
        p[k] = address(f, s->places[k]);
    if (s->into) {
        eng_copy_bytes(p[s->n_in], p[s->n_in - 1], s->into->bytes); /* nothing when it works in place */
        eng_loop_run_into(s->loop, p, (char *)p[s->n_in] + s->into->start, s->into->row, s->into->apart);
        return;
    }
    if (!s->rows || !run->rows || !eng_rows_run_update(s, run->rows[s->rows - 1], p))
        eng_loop_run(s->loop, p, p + s->n_in);
}

/* ---- bands ---- */
enum { BAND_SCRATCH = 2 }; /* loops and reductions use the slots before it */

typedef struct band_run {
    const eng_band *band;
    const eng_run *run;
    const hlo_graph *g;
    const eng_frame *frame;
    _Atomic bool declined;
} band_run;

/* Where the arrays of a step are; what has memory for the slices from `from` on begins where its first slice would be. */
static void point(const eng_frame *f, const eng_step *s, char *scratch, int64_t from, void **p) {
    for (int k = 0; k < s->n_in + s->n_out; k++)
        p[k] = s->slice_bytes[k] ? scratch + s->places[k].offset - from * s->slice_bytes[k] : address(f, s->places[k]);
}

static bool slices_step(const band_run *b, eng_run *run, const eng_step *s, void **p, int64_t from, int64_t to) {
    const int64_t slices = b->band->slices;
    if (s->kind == STEP_LOOP) {
        const int64_t each = eng_loop_elements(s->loop) / slices;
        eng_loop_run_range(s->loop, p, p + s->n_in, from * each, to * each);
        return true;
    }
    const eng_tensor in[2] = {{*s->types[0], p[0]}, {*s->types[1], p[1]}}, out = {*s->types[2], p[2]};
    return eng_reduce_range(run, b->g, s->node, in, &out, slices, from, to) == TT_OK;
}

static void band_task(void *context, int64_t task, int worker) {
    (void)worker;
    band_run *b = context;
    const eng_frame *f = b->frame;
    const eng_band *band = b->band;
    const int64_t from = task * band->at_once, to = from + band->at_once < band->slices ? from + band->at_once : band->slices;
    const size_t pointers = (size_t)(f->plan->max_pointers + 8) * sizeof(void *);
    char *scratch = eng_scratch_need(BAND_SCRATCH, (size_t)band->scratch_bytes + pointers);
    eng_run run = *b->run;
    run.arena = tt_arena_create();
    for (const eng_step *s = &f->plan->steps[band->first], *end = s + band->n; s < end; s++) {
        void **p = (void **)(void *)(scratch + band->scratch_bytes);
        if (!s->slice_bytes)
            continue;
        point(f, s, scratch, from, p);
        if (!slices_step(b, &run, s, p, from, to))
            b->declined = true;
    }
    tt_arena_destroy(run.arena);
}

static tt_status run_step(eng_run *run, const hlo_graph *g, eng_frame *f, const eng_step *s);

/* A loop that runs on parts of a product while they are computed. */
struct eng_follow {
    const eng_band *band;
    const eng_step *loop;
    void *const *arrays;
    int product;           /* which of them */
    int64_t bytes;         /* of its elements */
    _Atomic int64_t left;  /* of them, those that are not there yet */
};

static _Atomic int64_t follow_count;

int64_t eng_follow_count(void) {
    return follow_count;
}

bool eng_follow_passing(const eng_follow *f) {
    return f->band->passing;
}

void eng_follow_part(eng_follow *f, const void *at, int64_t stride, const void *part, int64_t part_stride, int64_t rows, int64_t count) {
    const int64_t n_in = f->loop->n_in, first = ((const char *)at - (const char *)f->arrays[f->product]) / f->bytes;
    atomic_fetch_sub(&f->left, rows * count);
    atomic_fetch_add_explicit(&follow_count, 1, memory_order_relaxed);
    eng_scratch_set(1);
    void **inputs = eng_scratch_need(BAND_SCRATCH, (size_t)n_in * sizeof *inputs);
    memcpy(inputs, f->arrays, (size_t)n_in * sizeof *inputs);
    inputs[f->product] = (char *)part - first * f->bytes;
    if (stride == count && part_stride == count) {
        count *= rows;
        rows = 1;
    }
    eng_loop_run_block(f->loop->loop, inputs, f->arrays + n_in, first, count, rows, stride, f->product, (part_stride - stride) * f->bytes);
    eng_scratch_set(0);
}

static tt_status run_followed(eng_run *run, const hlo_graph *g, eng_frame *f, const eng_band *band, const eng_step *head, const eng_step *loop) {
    const int64_t all = hlo_type_elements(head->types[head->n_in]);
    eng_follow follow = {.band = band, .loop = loop, .arrays = f->pointers, .bytes = tt_dtype_size(head->types[head->n_in]->dtype), .left = all};
    for (int k = 0; k < loop->n_in + loop->n_out; k++)
        f->pointers[k] = address(f, loop->places[k]);
    while (f->pointers[follow.product] != address(f, head->places[head->n_in]))
        follow.product++;
    run->follow = &follow;
    tt_status status = run_step(run, g, f, head);
    run->follow = NULL;
    if (!status && follow.left == all)
        return run_step(run, g, f, loop);
    TT_CHECK(status || !follow.left, INTERNAL, "a product says of %lld of its %lld elements that they are there", (long long)(all - follow.left), (long long)all);
    return status;
}

/* Addresses that nobody touches: one range for all runs, kept. A larger one takes its place; who is at the smaller goes on. */
static tt_status reserve(int64_t bytes, void **out) {
    enum { LEAST = 64 << 20 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static void *range;
    static int64_t reserved;
    pthread_mutex_lock(&lock);
    if (reserved < bytes) {
        int64_t size = LEAST;
        while (size < bytes)
            size *= 2;
        void *p = mmap(NULL, (size_t)size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) {
            range = p;
            reserved = size;
        }
    }
    *out = reserved < bytes ? NULL : range;
    pthread_mutex_unlock(&lock);
    TT_CHECK(*out, RESOURCE_EXHAUSTED, "no %lld bytes of addresses for a product", (long long)bytes);
    return TT_OK;
}

static tt_status run_head(eng_run *run, const hlo_graph *g, eng_frame *f, const eng_band *band) {
    const eng_step *head = &f->plan->steps[band->first], *loop = head + band->n - 1;
    for (const eng_step *s = head + 1; s < loop; s++)
        TT_TRY(run_step(run, g, f, s));
    if (!band->passing)
        return run_followed(run, g, f, band, head, loop);
    TT_TRY(reserve(hlo_type_bytes(head->types[head->n_in]), &f->bases[BASE_NOTHING]));
    tt_status status = run_followed(run, g, f, band, head, loop);
    f->bases[BASE_NOTHING] = NULL;
    return status;
}

static tt_status run_band(eng_run *run, const hlo_graph *g, eng_frame *f, const eng_band *band) {
    if (band->head)
        return run_head(run, g, f, band);
    for (int i = band->first; i < band->first + band->n; i++)
        if (!f->plan->steps[i].slice_bytes)
            TT_TRY(run_step(run, g, f, &f->plan->steps[i]));
    band_run b = {.band = band, .run = run, .g = g, .frame = f};
    eng_parallel((band->slices + band->at_once - 1) / band->at_once, band_task, &b);
    TT_CHECK(!b.declined, INTERNAL, "a reduction that goes over slices declines one");
    return TT_OK;
}

/* ---- control ---- */
static eng_frame *enter(eng_frame *f, const eng_step *s, int block) {
    eng_frame *child = f->children[s->first_child + block];
    child->bases[BASE_SLAB] = address(f, s->slabs[block]);
    void **captured = child->bases + BASE_PARAMS + child->plan->n_own_params;
    for (int k = 0; k < s->n_captures; k++)
        captured[k] = address(f, s->capture_places[k]);
    return child;
}

static tt_status run_branch(eng_run *run, const hlo_graph *g, eng_frame *f, const eng_step *s) {
    const hlo_type *t = s->types[0];
    int64_t index = tt_element_get_int(t->dtype, address(f, s->places[0]));
    if (t->dtype == TT_PRED)
        index = index ? 0 : 1;
    else if (index < 0 || index >= s->n_blocks)
        index = s->n_blocks - 1;
    if (index >= s->n_blocks)
        TT_FAIL(INVALID_ARGUMENT, "%s has no branch %d", hlo_op_text((hlo_op)s->node->op), (int)index);
    eng_frame *child = enter(f, s, (int)index);
    void **results = child->bases + BASE_PARAMS + child->plan->n_params;
    for (int k = 0; k < s->n_out; k++)
        results[k] = address(f, s->places[s->n_in + k]);
    return run_plan(run, g, child);
}

static tt_status run_while(eng_run *run, const hlo_graph *g, eng_frame *f, const eng_step *s) {
    int n = s->n_out;
    void **current = f->pointers, **other = current + n;
    _Alignas(64) char condition[64];
    for (int k = 0; k < n; k++) {
        current[k] = address(f, s->places[s->n_in + k]);
        other[k] = s->other[k].base < 0 ? NULL : address(f, s->other[k]);
        if (!s->carried_in_place[k])
            eng_copy_bytes(current[k], address(f, s->places[k]), hlo_type_bytes(s->types[k]));
    }
    eng_frame *test = enter(f, s, 0), *body = enter(f, s, 1);
    for (;;) {
        memcpy(test->bases + BASE_PARAMS, current, sizeof(void *) * (size_t)n);
        test->bases[BASE_PARAMS + test->plan->n_params] = condition;
        TT_TRY(run_plan(run, g, test));
        if (!condition[0])
            break;
        void **results = body->bases + BASE_PARAMS + body->plan->n_params;
        memcpy(body->bases + BASE_PARAMS, current, sizeof(void *) * (size_t)n);
        memcpy(results, other, sizeof(void *) * (size_t)n);
        TT_TRY(run_plan(run, g, body));
        for (int k = 0; k < n; k++)
            if (other[k]) {
                void *new_value = other[k];
                other[k] = current[k];
                current[k] = new_value;
            }
    }
    for (int k = 0; k < n; k++)
        eng_copy_bytes(address(f, s->places[s->n_in + k]), current[k], hlo_type_bytes(s->types[k]));
    return TT_OK;
}

/* ---- plans ---- */
static tt_status run_step(eng_run *run, const hlo_graph *g, eng_frame *f, const eng_step *s) {
    switch (s->kind) {
    case STEP_LOOP:
        run_loop(run, f, s);
        return TT_OK;
    case STEP_KERNEL:
    case STEP_COMPOSITE:
    case STEP_UPDATE:
        return run_kernel(run, g, f, s);
    case STEP_COPY:
        eng_copy_bytes(address(f, s->places[1]), address(f, s->places[0]), s->bytes);
        return TT_OK;
    case STEP_MOVE:
        for (int k = 0; k < s->n_in; k++)
            f->pointers[k] = address(f, s->places[k]);
        fast_move_run(s->move, f->pointers, address(f, s->places[s->n_in]));
        return TT_OK;
    case STEP_FILL:
        fast_fill_shared(address(f, s->places[0]), hlo_attr_find(s->node, HLO_A_VALUE)->data, tt_dtype_size(s->types[0]->dtype),
                         hlo_type_elements(s->types[0]));
        return TT_OK;
    case STEP_WHILE:
        return run_while(run, g, f, s);
    case STEP_BRANCH:
        return run_branch(run, g, f, s);
    }
    return TT_OK;
}

/* "f32[4,32,64]" */
static void type_text(const hlo_type *t, char *out, size_t size) {
    size_t at = (size_t)snprintf(out, size, "%s[", tt_dtype_name(t->dtype));
    for (int i = 0; i < t->rank && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%lld", i ? "," : "", (long long)t->dims[i]);
    if (at < size)
        snprintf(out + at, size - at, "]");
}

static void log_step(const eng_step *s, int index, double us, double cpu_us) {
    static const char *const kinds[] = {"kernel", "loop", "composite", "copy", "update", "move", "fill", "while", "branch"};
    const char *name = s->node ? hlo_op_text((hlo_op)s->node->op) : "";
    if (s->node && s->node->op == HLO_COMPOSITE)
        name = hlo_attr_text(s->node, HLO_A_COMPOSITE_NAME, name);
    char type[160] = "-";
    if (s->node && s->node->type)
        type_text(s->node->type, type, sizeof type);
    else
        snprintf(type, sizeof type, "%lld", (long long)s->bytes);
    tt_log_write(5, "step=%d kind=%s op=%s type=%s in=%d out=%d us=%.2f cpu_us=%.2f", index, s->band < 0 ? kinds[s->kind] : "band", name, type,
                 s->n_in, s->n_out, us, cpu_us);
}

static double now_us(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static tt_status run_plan(eng_run *run, const hlo_graph *g, eng_frame *f) {
    const eng_plan *plan = f->plan;
    bool trace = tt_log_level >= 5;
    for (int i = 0; i < plan->n_steps; i++) {
        const eng_step *s = &plan->steps[i];
        double start = trace ? now_us(CLOCK_MONOTONIC) : 0, cpu = trace ? now_us(CLOCK_THREAD_CPUTIME_ID) : 0;
        tt_status status = s->band < 0 ? run_step(run, g, f, s) : run_band(run, g, f, &plan->bands[s->band]);
        if (s->band >= 0) /* its last step */
            s = &plan->steps[i = plan->bands[s->band].first + plan->bands[s->band].n - 1];
        if (trace)
            log_step(s, i, now_us(CLOCK_MONOTONIC) - start, now_us(CLOCK_THREAD_CPUTIME_ID) - cpu);
        if (status)
            return status;
    }
    return TT_OK;
}

tt_status eng_program_run(const eng_program *program, eng_frame *f, eng_run *run, void *const *params,
                          void *const *results, void *slab) {
    f->bases[BASE_SLAB] = slab;
    if (program->n_params)
        memcpy(f->bases + BASE_PARAMS, params, sizeof(void *) * (size_t)program->n_params);
    if (program->n_results)
        memcpy(f->bases + BASE_PARAMS + program->n_params, results,
               sizeof(void *) * (size_t)program->n_results);
    return run_plan(run, program->graph, f);
}

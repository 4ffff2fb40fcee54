/* plugin_execute.c - running executables: arguments, donation, inline or queued, one device or many.
 *
 * A run takes references on its argument values (a donated one: the handle's own), gets result values, and
 * happens in the order of the device's queue. Memory of results is taken when the run happens, so a host that
 * runs ahead does not hold it. Whether a donated value can be overwritten is decided then too: earlier runs
 * have let go of it. */
#include "base/env.h"
#include "engine/plugin.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INLINE_NS = 50000, INLINE_ALONE_NS = 200000, HAND_OVER_NS = 5000, MANY = 16, STAY = 64, MEASURED_RUNS = 8, MEASURE_EVERY = 64, STACK_VALUES = 48 };

/* One device's run. */
typedef struct eng_job {
    eng_task task;
    tt_pjrt_loaded *loaded;
    eng_device *device;
    eng_participant participant; /* launch NULL: alone */
    eng_event *done;             /* queued runs */
    eng_value **args, **outs; /* outs[i] NULL: a result in a parameter's memory, whose value it takes over */
    bool *donated; /* [arg]: the value is the run's own */
} eng_job;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool null_run(void) {
    static _Atomic int cached = -1;
    int v = atomic_load_explicit(&cached, memory_order_relaxed);
    if (v < 0) {
        v = tt_env_int(TT_ENV_NULL_RUN) != 0;
        atomic_store(&cached, v);
    }
    return v;
}

/* ---- memory of a run ---- */
typedef struct eng_memory_plan {
    void **params, **results; /* addresses */
    bool *copied;             /* [param]: params[i] is a copy that the run owns */
    void *slab;
    eng_rows **rows;          /* [slot] */
} eng_memory_plan;

/* A parameter that the plan writes: its own memory when the run owns it alone, else a copy. */
static tt_status own_param(const eng_job *j, int i, eng_memory_plan *m) {
    eng_value *v = j->args[i];
    if (j->donated[i] && !v->read_only && atomic_load_explicit(&v->refs, memory_order_acquire) == 1)
        return TT_OK;
    void *copy;
    TT_TRY(eng_memory_alloc(j->device->memory, v->bytes, &copy));
    eng_copy_bytes(copy, v->data, v->bytes);
    m->params[i] = copy;
    m->copied[i] = true;
    return TT_OK;
}

/* What is known of parameters, and results that begin as zeros. */
static tt_status take_rows(const eng_job *j, eng_memory_plan *m) {
    const eng_program *p = j->loaded->executable->program;
    m->rows = p->n_rows ? TT_NEW_N(j->device->arena, eng_rows *, p->n_rows) : NULL;
    for (int k = 0; k < p->n_rows; k++) {
        const int param = p->rows[k].param, result = p->rows[k].result;
        if (param >= 0 && !atomic_load(&j->args[param]->exposed))
            m->rows[k] = j->args[param]->rows;
        if (result >= 0)
            TT_TRY(eng_memory_alloc_rows(j->device->memory, j->outs[result]->bytes, &m->results[result], &m->rows[k]));
    }
    return TT_OK;
}

static tt_status take_memory(const eng_job *j, eng_memory_plan *m) {
    const eng_program *p = j->loaded->executable->program;
    tt_arena *arena = j->device->arena;
    tt_arena_reset(arena);
    m->params = TT_NEW_N(arena, void *, p->n_params);
    m->results = TT_NEW_N(arena, void *, p->n_results);
    m->copied = TT_NEW_N(arena, bool, p->n_params);
    for (int i = 0; i < p->n_params; i++)
        m->params[i] = j->args[i]->data;
    for (int i = 0; i < p->n_params; i++)
        if (p->written[i])
            TT_TRY(own_param(j, i, m));
    TT_TRY(take_rows(j, m));
    for (int i = 0; i < p->n_results; i++) {
        int param = p->result_in_param[i];
        if (param < 0 && !m->results[i])
            TT_TRY(eng_memory_alloc(j->device->memory, j->outs[i]->bytes, &m->results[i]));
        else if (param >= 0)
            m->results[i] = m->params[param];
    }
    if (p->slab_bytes)
        TT_TRY(eng_memory_alloc(j->device->memory, p->slab_bytes, &m->slab));
    return TT_OK;
}

/* The value of a result that lies in a parameter's memory. */
static eng_value *inherit(const eng_job *j, int i, int param, bool copied) {
    eng_value *v = j->args[param];
    if (copied)
        return eng_value_create(j->device, hlo_type_bytes(j->loaded->executable->program->result_types[i]), NULL);
    j->args[param] = NULL;
    free(v->rows);
    v->rows = NULL;
    return v;
}

/* Hands results to their values, or frees everything; then what is left of copies and the slab. */
static void settle_memory(const eng_job *j, eng_memory_plan *m, bool ok) {
    const eng_program *p = j->loaded->executable->program;
    eng_memory *memory = j->device->memory;
    for (int i = 0; i < p->n_results; i++) {
        int param = p->result_in_param[i];
        const bool takes_over = ok && !j->outs[i];
        if (takes_over)
            j->outs[i] = inherit(j, i, param, m->copied[param]);
        if (ok)
            j->outs[i]->data = m->results[i];
        else if (param < 0 && m->results[i])
            eng_memory_free(memory, m->results[i], j->outs[i]->bytes);
        if (!ok || param < 0)
            continue;
        if (m->copied[param])
            m->copied[param] = false; /* it is the result's now */
        else if (!takes_over)
            j->args[param]->data = NULL;
    }
    for (int i = 0; i < p->n_params; i++)
        if (m->copied[i])
            eng_memory_free(memory, m->params[i], j->args[i]->bytes);
    if (m->slab)
        eng_memory_free(memory, m->slab, p->slab_bytes);
    for (int k = 0; m->rows && k < p->n_rows; k++) {
        if (ok && p->rows[k].result >= 0)
            j->outs[p->rows[k].result]->rows = m->rows[k];
        else if (p->rows[k].param < 0)
            free(m->rows[k]);
    }
}

/* Runs now, on this thread, which the queue has let in. *out_started: inputs may have been overwritten. */
static tt_status run_job(eng_job *j, bool *out_started) {
    tt_pjrt_loaded *l = j->loaded;
    const eng_program *p = l->executable->program;
    eng_memory_plan m = {0};
    *out_started = false;
    tt_status status = take_memory(j, &m);
    if (!status) {
        eng_frame **frame = &l->frames[j->device->id];
        if (!*frame)
            *frame = eng_frame_create(p);
        eng_run run = {.arena = j->device->arena,
                       .device = j->participant.index,
                       .n_devices = l->n_devices,
                       .collective = &j->participant,
                       .reference = p->reference,
                       .rows = m.rows};
        *out_started = true;
        uint32_t n = atomic_fetch_add_explicit(&l->n_runs, 1, memory_order_relaxed);
        bool measure = n < MEASURED_RUNS || n % MEASURE_EVERY == 0;
        int64_t start = measure ? now_ns() : 0;
        const uint32_t shared = eng_parallel_count();
        if (!null_run())
            status = eng_program_run(p, *frame, &run, m.params, m.results, m.slab);
        if (measure) {
            int64_t ns = now_ns() - start, old = atomic_load_explicit(&l->measured_ns, memory_order_relaxed);
            if (old && ns > old) /* a run that lost its CPU says little */
                ns = old + ((ns < 4 * old ? ns : 4 * old) - old) / 8;
            atomic_store_explicit(&l->measured_ns, ns > 0 ? ns : 1, memory_order_relaxed);
            atomic_store_explicit(&l->alone, eng_parallel_count() == shared, memory_order_relaxed);
        }
    }
    if (m.params)
        settle_memory(j, &m, !status);
    return p->graph->name && *p->graph->name ? tt_status_in(status, "%s", p->graph->name) : status;
}

static void release_args(eng_job *j) {
    for (int i = 0; i < j->loaded->executable->program->n_params; i++)
        eng_value_release(j->args[i]);
}

/* ---- queued runs ---- */
static tt_status wait_args(const eng_job *j) {
    int n = j->loaded->executable->program->n_params;
    for (int i = 0; i < n; i++)
        if (j->args[i]->ready)
            TT_TRY(eng_event_wait(j->args[i]->ready));
    return TT_OK;
}

static void run_queued(eng_task *task) {
    eng_job *j = (eng_job *)task;
    bool started;
    int n_outs = j->loaded->executable->program->n_results;
    tt_status status = wait_args(j);
    if (!status)
        status = run_job(j, &started);
    if (status && j->participant.launch)
        eng_launch_fail(j->participant.launch, status);
    release_args(j);
    for (int i = 0; i < n_outs; i++) /* before the event: who awaits it finds memory counted right */
        eng_value_release(j->outs[i]);
    eng_event_set(j->done, status);
    if (j->participant.launch)
        eng_launch_release(j->participant.launch);
    eng_event_release(j->done);
    eng_loaded_release(j->loaded);
    free(j);
}

static eng_job *job_create(const eng_job *from, int n_args, int n_outs) {
    eng_job *j = tt_malloc(sizeof *j + sizeof(void *) * (size_t)(n_args + n_outs) + (size_t)n_args);
    *j = *from;
    j->args = (eng_value **)(j + 1);
    j->outs = j->args + n_args;
    j->donated = (bool *)(j->outs + n_outs);
    if (n_args) {
        memcpy(j->args, from->args, sizeof(void *) * (size_t)n_args);
        memcpy(j->donated, from->donated, (size_t)n_args);
    }
    return j;
}

/* A handle of the caller's that an output may have stays in out_buffers, the rest becomes NULL. Its argument has been taken. */
static void keep_handles(const eng_job *j, tt_pjrt_buffer *const *buffers, bool keeps, tt_pjrt_buffer **out_buffers) {
    const eng_program *p = j->loaded->executable->program;
    for (int i = 0; i < p->n_results; i++) {
        const int param = p->result_in_param[i];
        if (!keeps || param < 0 || !out_buffers[i] || out_buffers[i] != buffers[param] || !j->donated[param] ||
            atomic_load_explicit(&buffers[param]->external, memory_order_relaxed) ||
            !hlo_type_equal(&buffers[param]->type, p->result_types[i]))
            out_buffers[i] = NULL;
    }
}

static void hand_out(tt_pjrt_buffer **out, eng_value *take, const hlo_type *type) {
    if (*out)
        eng_buffer_put_back(*out, take);
    else
        *out = eng_buffer_create(take, type);
}

static void enqueue(const eng_job *from, tt_pjrt_buffer **out_buffers, eng_event **out_done) {
    const eng_program *p = from->loaded->executable->program;
    eng_job *j = job_create(from, p->n_params, p->n_results);
    j->task = (eng_task){.run = run_queued};
    j->done = eng_event_create();
    atomic_fetch_add(&j->loaded->refs, 1);
    for (int i = 0; i < p->n_results; i++) {
        j->outs[i] =
            eng_value_create(j->device, hlo_type_bytes(p->result_types[i]), eng_event_retain(j->done));
        hand_out(&out_buffers[i], eng_value_retain(j->outs[i]), p->result_types[i]);
    }
    if (out_done)
        *out_done = eng_event_retain(j->done);
    eng_queue_push(&j->device->queue, &j->task, j->device->id);
}

/* ---- inline runs ---- */
/* Longer where there is no other processor that could run the queue meanwhile. */
static int64_t longest_inline(void) {
    static _Atomic int64_t cached;
    int64_t ns = atomic_load_explicit(&cached, memory_order_relaxed);
    if (!ns) {
        cpu_set_t set;
        ns = !sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) == 1 ? INLINE_ALONE_NS : INLINE_NS;
        atomic_store_explicit(&cached, ns, memory_order_relaxed);
    }
    return ns;
}

static bool small(const tt_pjrt_loaded *l) {
    int64_t measured = atomic_load_explicit(&l->measured_ns, memory_order_relaxed);
    return (measured ? measured : l->executable->program->estimate_ns) < longest_inline();
}

/* A small run that would leave the other processors idle is better queued, as long as the host goes on meanwhile. A host that waits after
 * less than MANY of those loses by the hand-over: its next STAY runs are its own. */
static bool hands_over(eng_queue *q, const tt_pjrt_loaded *l) {
    if (!atomic_load_explicit(&l->alone, memory_order_relaxed) || atomic_load_explicit(&l->measured_ns, memory_order_relaxed) < HAND_OVER_NS || eng_pool_size() == 1)
        return false;
    const uint32_t waits = eng_event_waits(), stay = atomic_load_explicit(&q->stay, memory_order_relaxed);
    if (waits != atomic_exchange_explicit(&q->waits, waits, memory_order_relaxed)) {
        const bool paid = atomic_exchange_explicit(&q->handed_over, 0, memory_order_relaxed) >= MANY;
        atomic_store_explicit(&q->stay, paid ? 0 : STAY, memory_order_relaxed);
        return paid;
    }
    if (stay)
        atomic_store_explicit(&q->stay, stay - 1, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&q->handed_over, 1, memory_order_relaxed);
    return !stay;
}

static bool args_ready(const eng_job *j, int n) {
    for (int i = 0; i < n; i++)
        if (j->args[i]->ready &&
            (!eng_event_is_ready(j->args[i]->ready) || eng_event_error(j->args[i]->ready)))
            return false;
    return true;
}

/* Results of a run that failed: the error comes when they are read. */
static void poison(eng_job *j, tt_status take, eng_event **out_done) {
    eng_event *failed = eng_event_create();
    for (int i = 0; i < j->loaded->executable->program->n_results; i++)
        j->outs[i]->ready = eng_event_retain(failed);
    eng_event_set(failed, take);
    if (out_done)
        *out_done = failed;
    else
        eng_event_release(failed);
}

/* The queue has let this thread in. On failure nothing has happened: the arguments are still the caller's to
 * put back. */
static tt_status run_inline(eng_job *j, tt_pjrt_buffer **out_buffers, eng_event **out_done) {
    const eng_program *p = j->loaded->executable->program;
    eng_value *few[STACK_VALUES];
    j->outs = p->n_results <= STACK_VALUES ? few : tt_malloc(sizeof(void *) * (size_t)p->n_results);
    for (int i = 0; i < p->n_results; i++)
        j->outs[i] = p->result_in_param[i] < 0 ? eng_value_create(j->device, hlo_type_bytes(p->result_types[i]), NULL) : NULL;
    bool started;
    tt_status status = run_job(j, &started);
    eng_queue_leave(&j->device->queue);
    bool failed = status && !started;
    for (int i = 0; i < p->n_results && !failed; i++)
        if (!j->outs[i])
            j->outs[i] = eng_value_create(j->device, hlo_type_bytes(p->result_types[i]), NULL);
    if (failed) {
        for (int i = 0; i < p->n_results; i++)
            eng_value_release(j->outs[i]);
    } else {
        release_args(j);
        if (out_done)
            *out_done = eng_event_done();
        if (status)
            poison(j, status, out_done);
        for (int i = 0; i < p->n_results; i++)
            hand_out(&out_buffers[i], j->outs[i], p->result_types[i]);
    }
    if (j->outs != few)
        free(j->outs);
    return failed ? status : TT_OK;
}

/* ---- arguments ---- */
static tt_status check_arg(const tt_pjrt_buffer *b, const hlo_type *want, const eng_device *device, int i) {
    TT_CHECK(b, INVALID_ARGUMENT, "argument %d is NULL", i);
    TT_CHECK(b->device == device, INVALID_ARGUMENT,
             "argument %d is on device %d, the program runs on device %d", i, b->device->id, device->id);
    if (hlo_type_equal(&b->type, want))
        return TT_OK;
    tt_arena *arena = tt_arena_create();
    tt_status status = TT_ERROR(INVALID_ARGUMENT, "argument %d is %s, the program takes %s", i,
                                hlo_type_print(arena, &b->type), hlo_type_print(arena, want));
    tt_arena_destroy(arena);
    return status;
}

static void put_back(eng_job *j, tt_pjrt_buffer *const *buffers, int n) {
    for (int i = 0; i < n; i++) {
        if (j->donated[i])
            eng_buffer_put_back(buffers[i], j->args[i]);
        else
            eng_value_release(j->args[i]);
    }
}

static tt_status take_args(eng_job *j, tt_pjrt_buffer *const *buffers, const tt_pjrt_execute_options *o) {
    const eng_program *p = j->loaded->executable->program;
    memcpy(j->donated, p->donated, (size_t)p->n_params);
    for (size_t i = 0; o && i < o->n_non_donatable; i++)
        if (o->non_donatable[i] >= 0 && o->non_donatable[i] < p->n_params)
            j->donated[o->non_donatable[i]] = false;
    for (int i = 0; i < p->n_params; i++) {
        tt_status status = check_arg(buffers[i], p->param_types[i], j->device, i);
        if (!status) {
            j->args[i] = j->donated[i] ? eng_buffer_take_value(buffers[i]) : eng_buffer_value(buffers[i]);
            if (!j->args[i])
                status = TT_ERROR(INVALID_ARGUMENT, "argument %d has been deleted or donated", i);
        }
        if (status) {
            put_back(j, buffers, i);
            return status;
        }
    }
    return TT_OK;
}

/* ---- launching ---- */
static tt_status launch_one(eng_job *j, tt_pjrt_buffer *const *buffers, const tt_pjrt_execute_options *o,
                            bool keeps_handles, tt_pjrt_buffer **outs, eng_event **done) {
    const eng_program *p = j->loaded->executable->program;
    eng_value *few[STACK_VALUES];
    bool few_donated[STACK_VALUES];
    bool many = p->n_params > STACK_VALUES;
    j->args = many ? tt_malloc((sizeof(void *) + 1) * (size_t)p->n_params) : few;
    j->donated = many ? (bool *)(j->args + p->n_params) : few_donated;
    tt_status status = take_args(j, buffers, o);
    if (!status) {
        keep_handles(j, buffers, keeps_handles, outs);
        if (!j->participant.launch && small(j->loaded) && args_ready(j, p->n_params) && !hands_over(&j->device->queue, j->loaded) &&
            eng_queue_enter(&j->device->queue))
            status = run_inline(j, outs, done);
        else if (!(status =
                       eng_memory_check(j->device->memory, p->output_bytes + p->slab_bytes - p->alias_bytes)))
            enqueue(j, outs, done);
        if (status)
            put_back(j, buffers, p->n_params);
    }
    if (many)
        free(j->args);
    return status;
}

static tt_status check_execute(const tt_pjrt_execute *a) {
    const tt_pjrt_loaded *l = a->executable;
    TT_CHECK(!atomic_load_explicit(&((tt_pjrt_loaded *)l)->deleted, memory_order_relaxed), INVALID_ARGUMENT,
             "the executable has been deleted");
    TT_CHECK((int)a->n_args == l->executable->program->n_params, INVALID_ARGUMENT,
             "%zu arguments given, the program takes %d", a->n_args, l->executable->program->n_params);
    if (a->execute_device) {
        TT_CHECK(a->n_devices == 1 && l->n_devices == 1, INVALID_ARGUMENT,
                 "execute_device wants a program for one device, not for %d", l->n_devices);
        TT_CHECK(eng_device_of(a->execute_device)->client == l->client, INVALID_ARGUMENT,
                 "execute_device belongs to another client");
    } else {
        TT_CHECK((int)a->n_devices == l->n_devices, INVALID_ARGUMENT,
                 "argument lists for %zu devices, the program runs on %d", a->n_devices, l->n_devices);
    }
    TT_CHECK(!a->options || (!a->options->n_send_ops && !a->options->n_recv_ops), UNIMPLEMENTED,
             "send and recv callbacks are not supported by the engine");
    return TT_OK;
}

/* What was launched before an error: its results are dropped. */
static void drop_launched(const tt_pjrt_execute *a, size_t n_devices) {
    for (size_t d = 0; d < n_devices; d++) {
        for (int i = 0; i < a->executable->executable->program->n_results; i++) {
            tt_pjrt_object o = {.struct_size = sizeof o, .object = a->outputs[d][i]};
            eng_Buffer_Destroy(&o);
            a->outputs[d][i] = NULL;
        }
        if (a->complete_events) {
            eng_event_release((eng_event *)a->complete_events[d]);
            a->complete_events[d] = NULL;
        }
    }
}

static bool has_extension(const tt_pjrt_extension *e, int type) {
    while (e && e->type != type)
        e = e->next;
    return e;
}

static tt_status execute(tt_pjrt_execute *a) {
    TT_TRY(check_execute(a));
    tt_pjrt_loaded *l = a->executable;
    const tt_pjrt_executable *e = l->executable;
    bool together = e->program->collective && a->n_devices > 1;
    const bool keeps = a->n_devices == 1 && has_extension(a->extension_start, TT_PJRT_EXTENSION_KEEPS_HANDLES);
    eng_launch *launch = together ? eng_launch_create((int)e->n_replicas, (int)e->n_partitions) : NULL;
    if (a->n_devices > 1)
        pthread_mutex_lock(&l->client->launch_lock);
    tt_status status = TT_OK;
    for (size_t d = 0; d < a->n_devices && !status; d++) {
        eng_job j = {.loaded = l,
                     .device = eng_device_of(a->execute_device ? a->execute_device : l->devices[d])};
        j.participant =
            (eng_participant){launch, (int)d, (int)d / (int)e->n_partitions, (int)d % (int)e->n_partitions};
        eng_event *done = NULL;
        status = launch_one(&j, a->arguments[d], a->options, keeps, a->outputs[d],
                            a->complete_events || !l->client->asynchronous ? &done : NULL);
        if (!status && !l->client->asynchronous && !launch)
            tt_status_free(eng_event_wait(done));
        if (!status && a->complete_events)
            a->complete_events[d] = (tt_pjrt_event *)done;
        else
            eng_event_release(done);
        if (!status)
            continue;
        if (launch) { /* those already queued must not wait for this one */
            eng_launch_fail(launch, status);
            for (size_t rest = d; rest < a->n_devices; rest++)
                eng_launch_release(launch);
        }
        drop_launched(a, d);
    }
    if (a->n_devices > 1)
        pthread_mutex_unlock(&l->client->launch_lock);
    return status;
}

tt_pjrt_error *eng_LoadedExecutable_Execute(void *args) {
    ENG_ARGS(execute, a, execute_device);
    return eng_pjrt_error(execute(a));
}

/* ---- execute contexts: accepted, empty ---- */
tt_pjrt_error *eng_ExecuteContext_Create(void *args) {
    ENG_ARGS(get_context, a, context);
    a->context = tt_calloc(1, 8);
    return NULL;
}

tt_pjrt_error *eng_ExecuteContext_Destroy(void *args) {
    ENG_ARGS(object, a, object);
    free(a->object);
    return NULL;
}

/* runtime.c - the plugin and its devices, modes, waiting, statistics. */
#include "base/env.h"
#include "base/log.h"
#include "base/map.h"
#include "run/internal.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tt_client *tt_run_client;
tt_stats tt_run_stats;
bool tt_run_is_engine;
int tt_capture_depth;

static char library_dir[4096], plugin_path[4096];
static tt_status init_error;
static bool forked;

void tt_window_forget_programs(void);
void tt_exec_forget(void);

/* ---- start ---- */
void tt_runtime_set_library_dir(const char *dir) { snprintf(library_dir, sizeof library_dir, "%s", dir); }
const char *tt_runtime_library_dir(void) { return *library_dir ? library_dir : "."; }
void tt_runtime_set_plugin(const char *path) { snprintf(plugin_path, sizeof plugin_path, "%s", path); }

static bool wants_engine(void) {
    const char *set = *plugin_path ? plugin_path : tt_env_text(TT_ENV_PLUGIN);
    if (!strcmp(set, "engine")) return true;
    return !*set && !*tt_env_text(TT_ENV_TPU_LIBRARY_PATH);
}

const char *tt_runtime_plugin(void) {
    if (wants_engine()) return "engine";
    if (*plugin_path) return plugin_path;
    return *tt_env_text(TT_ENV_PLUGIN) ? tt_env_text(TT_ENV_PLUGIN) : tt_env_text(TT_ENV_TPU_LIBRARY_PATH);
}

static tt_status start(void) {
    char engine[4200];
    const char *path = tt_runtime_plugin();
    if (wants_engine()) { snprintf(engine, sizeof engine, "%s/pjrt_cpu.so", library_dir); path = engine; }
    int64_t chips = tt_env_int(TT_ENV_VIRTUAL_CHIPS);
    TT_CHECK(chips >= 1 && chips <= TT_MAX_DEVICES, INVALID_ARGUMENT, "TORCH_TPU_VIRTUAL_CHIPS is %lld; it must be 1 to %d", (long long)chips, TT_MAX_DEVICES);
    TT_TRY(tt_client_create(path, (int)chips, &tt_run_client));
    int n = tt_client_device_count(tt_run_client);
    TT_CHECK(n >= 1, UNAVAILABLE, "the PJRT plugin %s offers no device", path);
    tt_run_is_engine = !strcmp(tt_client_platform(tt_run_client), "tt_engine");
    TT_LOG(1, "runtime plugin=%s platform=%s version=\"%s\" devices=%d", path, tt_client_platform(tt_run_client), tt_client_version(tt_run_client), n);
    return TT_OK;
}

static void child_after_fork(void) {
    pthread_mutex_init(&tt_run_lock, NULL);
    if (tt_run_client) forked = true;
}

void tt_runtime_after_fork(void) { child_after_fork(); }

tt_status tt_runtime_init_locked(void) {
    if (__builtin_expect(forked, 0))
        TT_FAIL(FAILED_PRECONDITION, "Cannot re-initialize TPU in forked subprocess. To use TPU with multiprocessing, you must use the 'spawn' start method");
    if (__builtin_expect(tt_run_client != NULL, 1)) return TT_OK;
    if (init_error) TT_FAIL(UNAVAILABLE, "%s", tt_status_text(init_error));
    init_error = start();
    if (init_error) { tt_run_client = NULL; TT_FAIL(UNAVAILABLE, "%s", tt_status_text(init_error)); }
    pthread_atfork(NULL, NULL, child_after_fork);
    return TT_OK;
}

tt_status tt_runtime_init(void) {
    tt_lock();
    tt_status status = tt_runtime_init_locked();
    tt_unlock();
    return status;
}

int tt_runtime_device_count(void) {
    if (!tt_run_client && wants_engine()) {
        int64_t chips = tt_env_int(TT_ENV_VIRTUAL_CHIPS);
        return chips < 1 ? 0 : chips > TT_MAX_DEVICES ? TT_MAX_DEVICES : (int)chips;
    }
    if (!tt_run_client) tt_status_free(tt_runtime_init());
    int n = tt_run_client ? tt_client_device_count(tt_run_client) : 0;
    return n > TT_MAX_DEVICES ? TT_MAX_DEVICES : n;
}

const char *tt_runtime_device_kind(int device) {
    tt_status status = tt_runtime_init();
    if (status) { tt_status_free(status); return "none"; }
    return tt_client_device_kind(tt_run_client, device);
}

/* ---- modes ---- */
static int mode = -1;
static const char *precision = "HIGHEST";

tt_mode tt_mode_locked(void) {
    if (__builtin_expect(mode < 0, 0))
        mode = tt_env_int(TT_ENV_LAUNCH_BLOCKING) ? TT_MODE_DEBUG : tt_env_int(TT_ENV_DEFER_AND_FUSE) ? TT_MODE_FUSED : TT_MODE_STRICT;
    return tt_capture_depth ? TT_MODE_FUSED : (tt_mode)mode;
}

tt_mode tt_mode_get(void) {
    tt_lock();
    tt_mode m = tt_mode_locked();
    tt_unlock();
    return m;
}

tt_status tt_mode_set(tt_mode m) {
    TT_TRY(tt_flush(-1, "the eager mode changes"));
    tt_lock();
    mode = m;
    tt_unlock();
    return TT_OK;
}

void tt_precision_set(const char *p) { precision = !strcmp(p, "HIGH") ? "HIGH" : !strcmp(p, "DEFAULT") ? "DEFAULT" : "HIGHEST"; }
const char *tt_precision_get(void) { return precision; }

static bool excess_precision;
bool tt_excess_precision_get(void) { return excess_precision; }
tt_status tt_excess_precision_set(bool allowed) {
    if (allowed != excess_precision)
        TT_TRY(tt_flush(-1, "the precision that programs may keep changes"));
    tt_lock();
    excess_precision = allowed;
    tt_unlock();
    return TT_OK;
}

tt_status tt_capture_begin(int device, const char *name, bool excess) {
    (void)name;
    TT_TRY(tt_flush(device, "a capture begins"));
    tt_lock();
    tt_status status = tt_runtime_init_locked();
    if (!status) { tt_window_of(device)->capture++; tt_window_of(device)->excess_precision = excess; tt_capture_depth++; }
    tt_unlock();
    return status;
}

tt_status tt_capture_end(bool run) {
    tt_lock();
    tt_status status = TT_OK;
    if (tt_capture_depth) {
        tt_capture_depth--;
        for (int d = 0; d < TT_MAX_DEVICES; d++) {
            tt_window *w = tt_window_of(d);
            if (!w->capture) continue;
            w->capture--;
            if (run && !w->capture && !status) status = tt_window_flush(w, "a captured graph ends");
            w->excess_precision = w->excess_precision && w->capture;
        }
    }
    tt_unlock();
    return status;
}

/* ---- waiting ----
 * The engine runs a device's programs in order: a tiny program is a marker behind everything enqueued before it. Other plugins may run
 * independent programs in any order; there the ready events of all recent programs are kept and waited for. Of programs that may fail while
 * they run they are kept on the engine too, and their errors until somebody reads or waits: an error that no read meets is raised by waiting. */
struct tt_marker { tt_event *event; bool reached; pthread_mutex_t lock; int device; };

typedef struct started { tt_event *event; tt_status error; } started; /* event NULL: it has failed */
static struct { started *list; int n, cap, sweep_at; } outstanding[TT_MAX_DEVICES];

/* True when the program is done and good; what is left of a failed one is its error. */
static bool ended_well(started *s, bool wait) {
    if (!s->event || (!wait && !tt_event_ready(s->event))) return false;
    s->error = tt_event_wait(s->event);
    tt_event_destroy(s->event);
    s->event = NULL;
    return !s->error;
}

/* Drops programs that ended well, and errors like the one that was read. Never waits: the lock is held, which what is waited for may need. */
static void sweep(int device, const tt_error *read) {
    started *list = outstanding[device].list;
    int n = outstanding[device].n, kept = 0;
    for (int i = 0; i < n; i++) {
        if (ended_well(&list[i], false)) continue;
        if (read && list[i].error && !strcmp(tt_status_message(list[i].error), tt_status_message(read))) tt_status_free(list[i].error);
        else list[kept++] = list[i];
    }
    outstanding[device].n = kept;
    outstanding[device].sweep_at = 2 * kept + 64;
}

void tt_run_note(const tt_program *p, int device, tt_buffer *output) {
    if (tt_run_is_engine && !p->may_fail) return;
    if (outstanding[device].n >= outstanding[device].sweep_at) sweep(device, NULL);
    started s = {0};
    tt_status status = tt_buffer_ready_event(output, &s.event);
    if (status) { tt_status_free(status); return; }
    if (outstanding[device].n == outstanding[device].cap) {
        outstanding[device].cap = 2 * outstanding[device].cap + 64;
        outstanding[device].list = tt_realloc(outstanding[device].list, sizeof s * (size_t)outstanding[device].cap);
    }
    outstanding[device].list[outstanding[device].n++] = s;
}

void tt_error_was_read_locked(const tt_error *error) {
    for (int d = 0; error && d < TT_MAX_DEVICES; d++) sweep(d, error);
}

/* Waits for all of a device's outstanding programs. Takes the lock itself. */
static tt_status drain(int device) {
    tt_lock();
    int n = outstanding[device].n;
    started *list = outstanding[device].list;
    outstanding[device].n = outstanding[device].cap = outstanding[device].sweep_at = 0;
    outstanding[device].list = NULL;
    tt_unlock();
    tt_status first = TT_OK;
    for (int i = 0; i < n; i++) {
        if (ended_well(&list[i], true)) continue;
        if (first) tt_status_free(list[i].error); else first = list[i].error;
    }
    free(list);
    return first;
}

static bool drained(int device) {
    tt_lock();
    bool all = true;
    for (int i = 0; i < outstanding[device].n && all; i++) all = !outstanding[device].list[i].event || tt_event_ready(outstanding[device].list[i].event);
    tt_unlock();
    return all;
}

static const char marker_text[] =
    "module @marker {\n  func.func public @main(%arg0: tensor<i32>) -> tensor<i32> {\n"
    "    %0 = \"stablehlo.add\"(%arg0, %arg0) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n"
    "    \"func.return\"(%0) : (tensor<i32>) -> ()\n  }\n}\n";
static tt_executable *marker_program[TT_MAX_DEVICES];
static tt_buffer *marker_argument[TT_MAX_DEVICES];

static tt_status marker_event(int device, tt_event **out) {
    TT_TRY(tt_runtime_init_locked());
    TT_CHECK(device >= 0 && device < tt_client_device_count(tt_run_client), INVALID_ARGUMENT, "no tpu device %d", device);
    static const int32_t zero;
    if (!marker_argument[device]) TT_TRY(tt_buffer_from_host(tt_run_client, device, TT_I32, 0, NULL, &zero, false, &marker_argument[device]));
    if (!marker_program[device])
        TT_TRY(tt_client_compile(tt_run_client, device, marker_text, sizeof marker_text - 1, NULL, &marker_program[device]));
    tt_buffer *output;
    TT_TRY(tt_executable_run(marker_program[device], 1, &marker_argument[device], NULL, NULL, &output));
    tt_status status = tt_buffer_ready_event(output, out);
    tt_buffer_release(output);
    return status;
}

tt_status tt_marker_record(int device, tt_marker **out) {
    TT_TRY(tt_flush(device, "an event is recorded"));
    tt_event *event;
    tt_lock();
    tt_status status = marker_event(device, &event);
    tt_unlock();
    TT_TRY(status);
    *out = tt_calloc(1, sizeof **out);
    (*out)->event = event;
    (*out)->device = device;
    pthread_mutex_init(&(*out)->lock, NULL);
    status = tt_event_stamp(event);
    if (status) {
        tt_marker_destroy(*out);
        *out = NULL;
    }
    return status;
}

int tt_marker_done(tt_marker *m) {
    pthread_mutex_lock(&m->lock);
    m->reached = m->reached || (tt_event_ready(m->event) && drained(m->device));
    int done = m->reached;
    pthread_mutex_unlock(&m->lock);
    return done;
}

tt_status tt_marker_wait(tt_marker *m, uint64_t *out_nanoseconds) {
    pthread_mutex_lock(&m->lock);
    tt_status status = m->reached ? TT_OK : tt_event_wait(m->event);
    if (!m->reached && !status) status = drain(m->device);
    m->reached = true;
    pthread_mutex_unlock(&m->lock);
    if (status || !out_nanoseconds) return status;
    /* The plugin may tell waiters before it calls back. */
    while (!(*out_nanoseconds = tt_event_stamped(m->event))) sched_yield();
    return status;
}

void tt_marker_destroy(tt_marker *m) {
    if (!m) return;
    tt_event_destroy(m->event);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

tt_status tt_sync(int device) {
    TT_TRY(tt_flush(device, "synchronize"));
    if (!tt_run_client) return TT_OK;
    int n = tt_client_device_count(tt_run_client);
    for (int d = device < 0 ? 0 : device; d < n && (device < 0 || d == device); d++) {
        tt_event *event;
        tt_lock();
        tt_status status = marker_event(d, &event);
        tt_unlock();
        TT_TRY(status);
        status = tt_event_wait(event);
        tt_event_destroy(event);
        TT_TRY(status);
        TT_TRY(drain(d));
    }
    return TT_OK;
}

/* ---- statistics ---- */
void tt_stats_get(tt_stats *out) {
    tt_lock();
    *out = tt_run_stats;
    tt_unlock();
}

void tt_memory_get(int device, tt_memory *out) {
    tt_buffer_stats s;
    tt_buffer_stats_get(device, &s);
    *out = (tt_memory){s.live_bytes, s.peak_bytes, s.live_buffers, 0, s.allocations, s.frees, s.total_allocated};
    tt_device_memory device_memory = {0};
    if (tt_run_client && device < tt_client_device_count(tt_run_client)) tt_status_free(tt_client_memory(tt_run_client, device, &device_memory));
    out->limit_bytes = device_memory.limit_bytes;
}

void tt_memory_reset_peak(int device) { tt_buffer_stats_reset_peak(device); }

enum { COMPILES_KEPT = 256 };
static char *compiles[COMPILES_KEPT];
static uint64_t n_compiles_noted;

void tt_compile_note(const char *name, const char *reason, int n_ops, double milliseconds, const char *source) {
    char **slot = &compiles[n_compiles_noted++ % COMPILES_KEPT];
    tt_str s = {0};
    tt_str_printf(&s, "compile=\"%s\" ops=%d ms=%.3f from=%s reason=\"%s\"", name, n_ops, milliseconds, source, reason);
    free(*slot);
    *slot = tt_str_take(&s);
    TT_LOG(1, "%s", *slot);
}

char *tt_compile_log(void) {
    tt_str s = {0};
    tt_lock();
    for (uint64_t i = 0; i < COMPILES_KEPT && i < n_compiles_noted; i++) tt_str_printf(&s, "%s\n", compiles[(n_compiles_noted - 1 - i) % COMPILES_KEPT]);
    tt_unlock();
    tt_str_puts(&s, "");
    return tt_str_take(&s);
}

void tt_cache_clear(void) {
    tt_status_free(tt_flush(-1, "the cache is cleared"));
    tt_lock();
    tt_window_forget_programs();
    tt_exec_forget();
    tt_unlock();
}

static tt_program_sink sink;
static void *sink_context;
void tt_program_set_sink(tt_program_sink s, void *context) { sink = s; sink_context = context; }
void tt_program_sink_call(const char *name, const char *text, size_t length) { if (sink) sink(sink_context, name, text, length); }

/* exec.c - from a graph to an executable (memory, disk, plugin), and strict mode's one-op programs. */
#include "base/log.h"
#include "base/map.h"
#include "hlo/text.h"
#include "run/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static tt_map *executables; /* text key -> tt_executable, shared by programs with equal text */

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The key of cache.h: program text, plugin, its version, the device it is compiled for, compile options; the 3 counts our own changes of those. */
static tt_hash text_key(int device, const tt_str *text, bool excess_precision) {
    tt_hash h = tt_hash_bytes(text->data, text->length, (tt_hash){(uint64_t)device, excess_precision ? 1 << 16 | 3 : 3});
    const char *platform = tt_client_platform(tt_run_client), *version = tt_client_version(tt_run_client);
    h = tt_hash_bytes(platform, strlen(platform), h);
    return tt_hash_bytes(version, strlen(version), h);
}

static tt_status compile_text(int device, const char *name, const tt_str *text, bool excess_precision, tt_executable **out) {
    tt_status status = tt_client_compile(tt_run_client, device, text->data, text->length, excess_precision ? "xla_allow_excess_precision=true" : NULL, out);
    if (status) {
        char *replay = tt_record_failure(name, text->data, text->length, tt_status_text(status));
        if (replay) status = tt_status_in(status, "compiling %s; replay: %s", name, replay);
        free(replay);
    }
    return status;
}

static bool load_from_disk(int device, tt_hash key, tt_executable **out) {
    void *data; size_t length;
    if (!tt_disk_get(key, &data, &length)) return false;
    tt_status status = tt_client_load(tt_run_client, device, data, length, out);
    free(data);
    tt_run_stats.disk_hits += !status;
    bool loaded = !status;
    tt_status_free(status);
    return loaded;
}

static void save_to_disk(tt_hash key, tt_executable *e) {
    void *data; size_t length;
    tt_status status = tt_executable_serialize(e, &data, &length);
    if (!status) { tt_disk_put(key, data, length); free(data); }
    tt_status_free(status);
}

/* From the disk tier, or compiled; by one process of the machine, while the others wait for its entry. */
static tt_status find_or_compile(int device, const char *name, const tt_str *text, bool excess_precision, tt_hash key, const char **out_source,
                                 tt_executable **out) {
    *out_source = "disk";
    bool disk = !tt_run_is_engine; /* the engine compiles faster than a file is read */
    if (disk && load_from_disk(device, key, out)) return TT_OK;
    int lock = disk ? tt_disk_lock(key) : -1;
    tt_status status = TT_OK;
    if (lock < 0 || !load_from_disk(device, key, out)) {
        *out_source = "plugin";
        status = compile_text(device, name, text, excess_precision, out);
        if (disk && !status) save_to_disk(key, *out);
    }
    tt_disk_unlock(key, lock);
    return status;
}

enum { PROGRAM_OVERHEAD = 4 << 10 }; /* handles, descriptions, map entries */

static void program_has(tt_program *p, tt_executable *e, size_t text_bytes) {
    tt_executable_retain(e);
    p->executable = e;
    p->bytes = tt_executable_bytes(e) + (int64_t)text_bytes + PROGRAM_OVERHEAD;
    tt_held_add(p->bytes);
}

void tt_program_deinit(tt_program *p) {
    if (p->executable) tt_executable_release(p->executable);
    p->executable = NULL;
    tt_held_add(-p->bytes);
    p->bytes = 0;
}

tt_status tt_program_compile(int device, const char *name, const char *reason, int n_ops, const hlo_graph *g, bool excess_precision, tt_program *out) {
    tt_str text = {0};
    double start = now_ms();
    hlo_print(g, &text);
    tt_hash key = text_key(device, &text, excess_precision);
    if (!executables) executables = tt_map_create();
    tt_executable *e = tt_map_find(executables, key);
    if (e) { program_has(out, e, text.length); tt_str_deinit(&text); return TT_OK; }
    TT_LOG(4, "program name=%s\n%s", name, text.data);
    tt_program_sink_call(name, text.data, text.length);
    const char *source;
    tt_status status = find_or_compile(device, name, &text, excess_precision, key, &source, &e);
    double ms = now_ms() - start;
    if (!status) {
        tt_map_put(executables, key, e);
        program_has(out, e, text.length);
        tt_run_stats.compiles++;
        tt_run_stats.compile_nanoseconds += (int64_t)(ms * 1e6);
        tt_compile_note(name, reason, n_ops, ms, source);
    }
    tt_str_deinit(&text);
    return status;
}

void tt_exec_forget(void) {
    size_t cursor = 0; tt_hash key; void *value;
    while (executables && tt_map_next(executables, &cursor, &key, &value)) tt_executable_release(value);
    if (executables) tt_map_destroy(executables);
    executables = NULL;
}

void tt_executables_forget_unused(void) {
    tt_map *kept = tt_map_create();
    size_t cursor = 0; tt_hash key; void *value;
    while (executables && tt_map_next(executables, &cursor, &key, &value))
        if (tt_executable_is_shared(value)) tt_map_put(kept, key, value); else tt_executable_release(value);
    if (executables) tt_map_destroy(executables);
    executables = kept;
}

static const char *size_text(int64_t bytes, char out[32]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes; int u = 0;
    for (; v >= 1024 && u < 4; u++) v /= 1024;
    snprintf(out, 32, u ? "%.2f %s" : "%.0f %s", v, units[u]);
    return out;
}

tt_status tt_explain(tt_status status, const char *name, int device) {
    if (tt_status_code(status) != TT_RESOURCE_EXHAUSTED) return status;
    tt_memory m; char held[32];
    tt_memory_get(device, &m);
    return tt_status_in(status, "%s; tpu:%d holds %s in %lld buffers", name, device, size_text(m.live_bytes, held), (long long)m.live_buffers);
}

/* ---- strict mode ---- */
static void strict_destroy(tt_program *p) {
    if (!p) return;
    tt_program_deinit(p);
    free(p->donate); free(p->heir_of); free(p);
}

void tt_strict_forget(tt_sig *sig) {
    for (int i = 0; i < 4; i++) strict_destroy(sig->strict[i]);
}

/* donate: sig->n_inputs of them. */
static tt_program *strict_find(const tt_sig *sig, int device, const bool *donate) {
    for (int i = 0; i < sig->n_strict; i++)
        if (sig->strict_device[i] == device && !memcmp(sig->strict[i]->donate, donate, (size_t)sig->n_inputs)) return sig->strict[i];
    return NULL;
}

static tt_status strict_program(tt_sig *sig, int device, const bool *donate, tt_program **out) {
    tt_arena *arena = tt_arena_create();
    hlo_graph *g = hlo_graph_create(arena, *sig->row->name ? sig->row->name : sig->row->inplace);
    int n_params = sig->fragment->funcs[0]->body->n_params;
    hlo_ref *args = TT_NEW_N(arena, hlo_ref, n_params + 1), *results = TT_NEW_N(arena, hlo_ref, sig->n_outputs + 1);
    hlo_func_begin(g, "main", true);
    for (int i = 0; i < n_params; i++) args[i] = hlo_param(g, hlo_type_of(sig->fragment, sig->fragment->funcs[0]->body->params[i]));
    hlo_graph_splice(g, sig->fragment, args, results);
    hlo_return(g, sig->n_outputs, results);
    if (!g->error) hlo_dce(g);
    for (int k = 0; k < sig->n_outputs; k++) {
        int donor = sig->output_donor[k];
        if (donor >= 0 && donate[donor]) g->funcs[0]->alias[donor] = k;
    }
    tt_program *p = tt_calloc(1, sizeof *p);
    p->name = sig->title; p->n_args = n_params; p->n_outputs = sig->n_outputs; p->may_fail = hlo_graph_may_fail(g);
    p->donate = tt_calloc((size_t)n_params + 1, sizeof *p->donate);
    memcpy(p->donate, donate, (size_t)sig->n_inputs);
    p->heir_of = tt_malloc(sizeof *p->heir_of * (size_t)sig->n_outputs);
    for (int k = 0; k < sig->n_outputs; k++) {
        int donor = sig->output_donor[k];
        p->heir_of[k] = donor >= 0 && donate[donor] && g->funcs[0]->alias[donor] == k ? donor : -1;
    }
    tt_status status = hlo_graph_take_error(g);
    if (!status) status = tt_program_compile(device, sig->title, "first call of this op with these types", 1, g, false, p);
    tt_arena_destroy(arena);
    if (status) { strict_destroy(p); return status; }
    int slot = sig->n_strict < 4 ? sig->n_strict++ : 3;
    strict_destroy(sig->strict[slot]);
    sig->strict[slot] = p; sig->strict_device[slot] = device;
    *out = p;
    return TT_OK;
}

static tt_status scalar_args(const tt_sig *sig, int device, const double *f64, const int64_t *i64, const uint64_t *rng, tt_buffer **args, int *n) {
    for (int i = 0; i < sig->n_slots; i++) {
        bool is_int = sig->slots[i].is_int;
        TT_TRY(tt_buffer_from_host(tt_run_client, device, is_int ? TT_I64 : TT_F64, 0, NULL, is_int ? (const void *)&i64[i] : &f64[i], false, &args[*n]));
        ++*n;
    }
    if (sig->rng) {
        TT_TRY(tt_buffer_from_host(tt_run_client, device, TT_U64, 1, (int64_t[]){2}, rng, false, &args[*n]));
        ++*n;
    }
    return TT_OK;
}

tt_status tt_strict_run(tt_sig *sig, int device, tt_value *const *inputs, const bool *donate, const double *f64, const int64_t *i64, const uint64_t *rng,
                        tt_value **out_values) {
    if (!sig->n_outputs) return TT_OK;
    tt_program *p = strict_find(sig, device, donate);
    if (p) tt_run_stats.cache_hits++;
    else TT_TRY(strict_program(sig, device, donate, &p));
    enum { ON_STACK = 64 };
    tt_buffer *few_args[ON_STACK], *few_outputs[ON_STACK];
    tt_buffer **args = p->n_args <= ON_STACK ? few_args : tt_malloc(sizeof *args * (size_t)p->n_args);
    tt_buffer **outputs = p->n_outputs <= ON_STACK ? few_outputs : tt_malloc(sizeof *outputs * (size_t)p->n_outputs);
    int n = sig->n_inputs;
    for (int i = 0; i < n; i++) args[i] = inputs[i]->buffer;
    tt_status status = scalar_args(sig, device, f64, i64, rng, args, &n);
    if (!status) status = tt_executable_run(p->executable, p->n_args, args, p->donate, p->heir_of, outputs);
    for (int i = sig->n_inputs; i < n; i++) tt_buffer_release(args[i]);
    if (!status) tt_run_note(p, device, outputs[0]);
    for (int k = 0; !status && k < p->n_outputs; k++)
        out_values[k] = p->heir_of[k] >= 0 ? tt_value_renew(inputs[p->heir_of[k]], outputs[k]) : tt_value_of_buffer(device, sig->output_types[k], outputs[k]);
    tt_run_stats.programs_run += !status;
    if (args != few_args) free(args);
    if (outputs != few_outputs) free(outputs);
    return tt_explain(status, sig->title, device);
}

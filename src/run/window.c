/* window.c - fused mode: ops recorded in a window, run as one program when somebody needs a value.
 *
 * A window ends at a read-back, at a limit, or by content: where the last few signatures hash to a mark. A repeating step then
 * always ends its windows at the same ops, so its programs are found again whatever came before (the rule rsync uses to find
 * block borders). The key of a window is computed while it is recorded; StableHLO is only built on a miss. */
#include "base/log.h"
#include "base/map.h"
#include "run/internal.h"
#include <stdlib.h>
#include <string.h>

enum { WINDOW_MIN = 256, WINDOW_MAX = 4096, WINDOW_END_MASK = 511, TRIES = 3 };

static tt_window windows[TT_MAX_DEVICES];
static tt_map *programs; /* window key -> tt_program */

tt_window *tt_window_of(int device) {
    tt_window *w = &windows[device];
    if (!w->epoch) { w->device = device; w->epoch = (uint32_t)device + 1; w->hash = (tt_hash){(uint64_t)device, 0}; }
    return w;
}

#define PUSH(w, array, n, cap, item) do { \
        if ((w)->n == (w)->cap) (w)->array = tt_realloc((w)->array, sizeof *(w)->array * (size_t)((w)->cap = (w)->cap ? 2 * (w)->cap : 64)); \
        (w)->array[(w)->n++] = (item); \
    } while (0)

static uint32_t input_code(tt_window *w, tt_value *v) {
    if (v->pending) return v->index << 1;
    if (v->epoch != w->epoch) {
        v->epoch = w->epoch; v->external = (uint32_t)w->n_externals;
        tt_value_retain(v);
        PUSH(w, externals, n_externals, cap_externals, v);
        tt_hash_word(&w->hash, (uint64_t)(uintptr_t)v->type);
    }
    return v->external << 1 | 1;
}

static bool ends_here(tt_window *w, const tt_sig *sig) {
    w->rolling = (w->rolling << 5) + sig->key.a; /* forgets ops older than 13 */
    if (w->capture || w->n_ops < WINDOW_MIN) return false;
    return w->n_ops >= WINDOW_MAX || (w->rolling * 0x9E3779B97F4A7C15ull >> 40 & WINDOW_END_MASK) == 0;
}

void tt_window_record(tt_window *w, tt_sig *sig, tt_value *const *inputs, const double *f64, const int64_t *i64, const uint64_t *rng, tt_value **out_values) {
    tt_window_op op = {sig, (uint32_t)w->n_inputs, (uint32_t)w->n_values, (uint32_t)w->n_f64, (uint32_t)w->n_i64, (uint32_t)w->n_rng / 2};
    tt_hash_word(&w->hash, sig->key.a);
    tt_hash_word(&w->hash, sig->key.b);
    for (int i = 0; i < sig->n_inputs; i++) {
        uint32_t code = input_code(w, inputs[i]);
        tt_hash_word(&w->hash, code);
        PUSH(w, inputs, n_inputs, cap_inputs, code);
    }
    for (int i = 0; i < sig->n_slots; i++) {
        if (sig->slots[i].is_int) PUSH(w, i64, n_i64, cap_i64, i64[i]);
        else PUSH(w, f64, n_f64, cap_f64, f64[i]);
    }
    if (sig->rng) { PUSH(w, rng, n_rng, cap_rng, rng[0]); PUSH(w, rng, n_rng, cap_rng, rng[1]); }
    for (int i = 0; i < sig->n_outputs; i++) {
        tt_value *v = tt_value_create(w->device, sig->output_types[i]);
        v->pending = true; v->index = (uint32_t)w->n_values;
        v->refs = 2;
        PUSH(w, values, n_values, cap_values, v);
        out_values[i] = v;
    }
    PUSH(w, ops, n_ops, cap_ops, op);
    if (ends_here(w, sig)) tt_status_free(tt_window_flush(w, "end of a repeating window")); /* its error stays with its values */
}

/* ---- building the program of a window ---- */
static void mark_needed(const tt_window *w, bool *value_needed, bool *op_needed, bool *external_needed) {
    for (int k = 0; k < w->n_values; k++) value_needed[k] = w->values[k]->refs > 1;
    for (int o = w->n_ops - 1; o >= 0; o--) {
        const tt_window_op *op = &w->ops[o];
        for (int k = 0; k < op->sig->n_outputs; k++) op_needed[o] |= value_needed[op->first_value + (uint32_t)k];
        for (int i = 0; op_needed[o] && i < op->sig->n_inputs; i++) {
            uint32_t code = w->inputs[op->first_input + (uint32_t)i];
            if (code & 1) external_needed[code >> 1] = true; else value_needed[code >> 1] = true;
        }
    }
}

typedef struct assembly {
    hlo_graph *g;
    hlo_ref *values, *externals;
    hlo_ref f64, i64, rng; /* packed parameters */
} assembly;

static hlo_ref pack_param(hlo_graph *g, tt_program *p, tt_dtype dtype, int rows, int columns, uint32_t code) {
    if (!rows) return HLO_NONE;
    hlo_type type = hlo_type_make(dtype, columns ? 2 : 1, (int64_t[]){rows, columns});
    p->arg_external[p->n_args++] = code;
    return hlo_param(g, &type);
}

static hlo_ref unpack(hlo_graph *g, hlo_ref pack, uint32_t row, int columns) {
    hlo_ref x = hlo_slice_dim(g, pack, 0, row, row + 1, 1);
    return columns ? hlo_reshape(g, x, 1, (int64_t[]){columns}) : hlo_reshape(g, x, 0, NULL);
}

static void splice_op(const tt_window *w, const tt_window_op *op, assembly *a, tt_arena *arena) {
    const tt_sig *sig = op->sig;
    hlo_ref *args = TT_NEW_N(arena, hlo_ref, sig->n_inputs + sig->n_slots + 1); int n = 0;
    for (int i = 0; i < sig->n_inputs; i++) {
        uint32_t code = w->inputs[op->first_input + (uint32_t)i];
        args[n++] = code & 1 ? a->externals[code >> 1] : a->values[code >> 1];
    }
    uint32_t f64 = op->first_f64, i64 = op->first_i64;
    for (int i = 0; i < sig->n_slots; i++) args[n++] = sig->slots[i].is_int ? unpack(a->g, a->i64, i64++, 0) : unpack(a->g, a->f64, f64++, 0);
    if (sig->rng) args[n++] = unpack(a->g, a->rng, op->rng, 2);
    hlo_graph_splice(a->g, sig->fragment, args, &a->values[op->first_value]);
}

/* Donated externals take over outputs of their type. */
static void assign_aliases(const tt_window *w, tt_program *p, const bool *donate, hlo_func *f, tt_arena *arena) {
    bool *taken = TT_NEW_N(arena, bool, p->n_outputs + 1);
    int next = 0;
    for (int i = 0; i < p->n_args; i++) {
        if (!donate[i]) continue;
        const hlo_type *type = w->externals[p->arg_external[i]]->type;
        while (next < p->n_outputs && taken[next]) next++;
        for (int k = next; k < p->n_outputs; k++) {
            if (taken[k] || w->values[p->output_value[k]]->type != type) continue;
            taken[k] = true;
            f->alias[i] = k;
            p->donate[i] = true;
            p->heir_of[k] = i;
            break;
        }
    }
}

static tt_status assemble(tt_window *w, tt_arena *arena, tt_program *p, hlo_graph **out) {
    bool *value_needed = TT_NEW_N(arena, bool, w->n_values + 1), *op_needed = TT_NEW_N(arena, bool, w->n_ops + 1);
    bool *external_needed = TT_NEW_N(arena, bool, w->n_externals + 1);
    mark_needed(w, value_needed, op_needed, external_needed);
    hlo_graph *g = hlo_graph_create(arena, p->name);
    assembly a = {.g = g, .values = TT_NEW_N(arena, hlo_ref, w->n_values + 1), .externals = TT_NEW_N(arena, hlo_ref, w->n_externals + 1)};
    p->arg_external = tt_calloc((size_t)w->n_externals + 3, sizeof *p->arg_external);
    p->donate = tt_calloc((size_t)w->n_externals + 3, sizeof *p->donate);
    p->output_value = tt_calloc((size_t)w->n_values + 1, sizeof *p->output_value);
    p->heir_of = tt_malloc(sizeof *p->heir_of * ((size_t)w->n_values + 1));
    for (int k = 0; k < w->n_values; k++) p->heir_of[k] = -1;
    bool *donate = TT_NEW_N(arena, bool, w->n_externals + 3);
    hlo_func_begin(g, "main", true);
    for (int e = 0; e < w->n_externals; e++) {
        if (!external_needed[e]) continue;
        tt_value *v = w->externals[e];
        donate[p->n_args] = v->refs == 1 && v->buffer && tt_buffer_refs(v->buffer) == 1;
        p->arg_external[p->n_args++] = (uint32_t)e;
        a.externals[e] = hlo_param(g, v->type);
    }
    a.f64 = pack_param(g, p, TT_F64, w->n_f64, 0, TT_PACK_F64);
    a.i64 = pack_param(g, p, TT_I64, w->n_i64, 0, TT_PACK_I64);
    a.rng = pack_param(g, p, TT_U64, w->n_rng / 2, 2, TT_PACK_RNG);
    for (int o = 0; o < w->n_ops; o++) if (op_needed[o]) splice_op(w, &w->ops[o], &a, arena);
    hlo_ref *results = TT_NEW_N(arena, hlo_ref, w->n_values + 1);
    for (int k = 0; k < w->n_values; k++) {
        if (w->values[k]->refs <= 1) continue;
        results[p->n_outputs] = a.values[k];
        p->output_value[p->n_outputs++] = (uint32_t)k;
    }
    hlo_return(g, p->n_outputs, results);
    TT_TRY(hlo_graph_take_error(g));
    assign_aliases(w, p, donate, g->funcs[0], arena);
    hlo_dce(g);
    p->may_fail = hlo_graph_may_fail(g);
    *out = g;
    return TT_OK;
}

/* ---- flushing ---- */
static bool excess_precision(const tt_window *w) { return w->excess_precision || tt_excess_precision_get(); }

static tt_hash window_key(const tt_window *w) {
    tt_hash h = w->hash;
    uint64_t bits = excess_precision(w);
    tt_hash_word(&h, bits);
    bits = 0;
    for (int k = 0; k < w->n_values; k++) {
        bits = bits << 1 | (w->values[k]->refs > 1);
        if ((k & 63) == 63) tt_hash_word(&h, bits);
    }
    tt_hash_word(&h, bits ^ (uint64_t)w->n_values << 32);
    bits = 0;
    for (int e = 0; e < w->n_externals; e++) {
        const tt_value *v = w->externals[e];
        bits = bits << 1 | (v->refs == 1 && v->buffer && tt_buffer_refs(v->buffer) == 1);
        if ((e & 63) == 63) tt_hash_word(&h, bits);
    }
    tt_hash_word(&h, bits ^ (uint64_t)w->n_externals << 32);
    return h;
}

static void program_destroy(tt_program *p) {
    tt_program_deinit(p);
    tt_status_free(p->error);
    free(p->name); free(p->arg_external); free(p->donate); free(p->heir_of); free(p->output_value); free(p);
}

static tt_program *program_create(tt_window *w, const char *reason) {
    tt_program *p = tt_calloc(1, sizeof *p);
    tt_arena *arena = tt_arena_create();
    tt_str name = {0};
    tt_str_printf(&name, "window_of_%d_ops", w->n_ops);
    p->name = tt_str_take(&name);
    hlo_graph *g = NULL;
    p->error = assemble(w, arena, p, &g);
    if (!p->error) p->error = tt_program_compile(w->device, p->name, reason, w->n_ops, g, excess_precision(w), p);
    tt_arena_destroy(arena);
    return p;
}

static tt_status pack_buffer(const tt_window *w, uint32_t code, tt_buffer **out) {
    if (code == TT_PACK_F64) return tt_buffer_from_host(tt_run_client, w->device, TT_F64, 1, (int64_t[]){w->n_f64}, w->f64, false, out);
    if (code == TT_PACK_I64) return tt_buffer_from_host(tt_run_client, w->device, TT_I64, 1, (int64_t[]){w->n_i64}, w->i64, false, out);
    return tt_buffer_from_host(tt_run_client, w->device, TT_U64, 2, (int64_t[]){w->n_rng / 2, 2}, w->rng, false, out);
}

static tt_status window_run(tt_window *w, const tt_program *p) {
    if (p->error) TT_FAIL(INTERNAL, "%s", tt_status_text(p->error));
    for (int i = 0; i < p->n_args; i++)
        if (p->arg_external[i] < TT_PACK_F64) TT_TRY(tt_value_error(w->externals[p->arg_external[i]]));
    tt_buffer **args = tt_calloc((size_t)p->n_args + 1, sizeof *args), **outputs = tt_calloc((size_t)p->n_outputs + 1, sizeof *outputs);
    tt_buffer *packs[3]; int n_packs = 0;
    tt_status status = TT_OK;
    for (int i = 0; i < p->n_args && !status; i++) {
        uint32_t e = p->arg_external[i];
        if (e < TT_PACK_F64) { args[i] = w->externals[e]->buffer; continue; }
        status = pack_buffer(w, e, &packs[n_packs]);
        if (!status) args[i] = packs[n_packs++];
    }
    if (!status) status = tt_executable_run(p->executable, p->n_args, args, p->donate, p->heir_of, outputs);
    for (int i = 0; i < n_packs; i++) tt_buffer_release(packs[i]);
    for (int k = 0; !status && k < p->n_outputs; k++) {
        if (p->heir_of[k] >= 0) w->externals[p->arg_external[p->heir_of[k]]]->buffer = NULL;
        w->values[p->output_value[k]]->buffer = outputs[k];
    }
    if (!status && p->n_outputs) tt_run_note(p, w->device, outputs[0]);
    tt_run_stats.programs_run += !status;
    free(args); free(outputs);
    return status;
}

static tt_status run_op(tt_window *w, const tt_window_op *op, tt_arena *arena) {
    const tt_sig *sig = op->sig;
    tt_value **inputs = TT_NEW_N(arena, tt_value *, sig->n_inputs + 1), **outputs = TT_NEW_N(arena, tt_value *, sig->n_outputs + 1);
    for (int i = 0; i < sig->n_inputs; i++) {
        uint32_t code = w->inputs[op->first_input + (uint32_t)i];
        inputs[i] = code & 1 ? w->externals[code >> 1] : w->values[code >> 1];
        TT_TRY(tt_value_error(inputs[i]));
        TT_CHECK(inputs[i]->buffer, INTERNAL, "%s: an input has no buffer", sig->title);
    }
    double *f64 = TT_NEW_N(arena, double, sig->n_slots + 1); int64_t *i64 = TT_NEW_N(arena, int64_t, sig->n_slots + 1);
    uint32_t next_f64 = op->first_f64, next_i64 = op->first_i64;
    for (int i = 0; i < sig->n_slots; i++)
        if (sig->slots[i].is_int) i64[i] = w->i64[next_i64++]; else f64[i] = w->f64[next_f64++];
    TT_TRY(tt_strict_run(op->sig, w->device, inputs, TT_NEW_N(arena, bool, sig->n_inputs + 1), f64, i64, sig->rng ? &w->rng[2 * op->rng] : NULL, outputs));
    for (int k = 0; k < sig->n_outputs; k++) {
        w->values[op->first_value + (uint32_t)k]->buffer = outputs[k]->buffer;
        outputs[k]->buffer = NULL;
        tt_value_release(outputs[k]);
    }
    return TT_OK;
}

/* What a window does whose program cannot be compiled or started: its ops run one by one, so that an error stays with the op that has it
 * and with what depends on it. Returns the first. */
static tt_status run_one_by_one(tt_window *w) {
    tt_arena *arena = tt_arena_create();
    bool *value_needed = TT_NEW_N(arena, bool, w->n_values + 1), *op_needed = TT_NEW_N(arena, bool, w->n_ops + 1);
    bool *external_needed = TT_NEW_N(arena, bool, w->n_externals + 1);
    tt_status first = TT_OK;
    mark_needed(w, value_needed, op_needed, external_needed);
    for (int o = 0; o < w->n_ops; o++) {
        if (!op_needed[o]) continue;
        const tt_window_op *op = &w->ops[o];
        tt_status status = run_op(w, op, arena);
        for (int k = 0; status && k < op->sig->n_outputs; k++) tt_value_fail(w->values[op->first_value + (uint32_t)k], status);
        if (first) tt_status_free(status); else first = status;
    }
    tt_arena_destroy(arena);
    return first;
}

static void window_clear(tt_window *w) {
    for (int k = 0; k < w->n_values; k++) {
        tt_value *v = w->values[k];
        v->pending = false;
        tt_value_release(v);
    }
    for (int e = 0; e < w->n_externals; e++) tt_value_release(w->externals[e]);
    w->n_ops = w->n_inputs = w->n_externals = w->n_values = w->n_f64 = w->n_i64 = w->n_rng = 0;
    w->epoch += TT_MAX_DEVICES;
    w->hash = (tt_hash){(uint64_t)w->device, 0};
    w->rolling = 0;
    w->excess_precision = w->excess_precision && w->capture;
}

tt_status tt_window_flush(tt_window *w, const char *reason) {
    if (!w->n_ops) return TT_OK;
    if (!programs) programs = tt_map_create();
    tt_hash key = window_key(w);
    tt_program *p = tt_map_find(programs, key);
    tt_run_stats.flushes++;
    tt_run_stats.cache_hits += p != NULL;
    TT_LOG(3, "flush device=%d ops=%d values=%d externals=%d reason=\"%s\" %s", w->device, w->n_ops, w->n_values, w->n_externals, reason, p ? "hit" : "miss");
    int n_failures = p && p->error ? p->n_failures : 0;
    if (n_failures && n_failures < TRIES) {
        tt_map_remove(programs, key);
        program_destroy(p);
        p = NULL;
    }
    bool missed = !p;
    if (missed) {
        tt_map_put(programs, key, p = program_create(w, reason));
        if (p->error) p->n_failures = n_failures + 1;
    }
    p->used = tt_op_clock;
    tt_status status = p->n_outputs || p->error ? window_run(w, p) : TT_OK;
    if (status) {
        TT_LOG(1, "window of %d ops failed, its ops run one by one: %s", w->n_ops, tt_status_text(status));
        tt_status_free(status);
        status = run_one_by_one(w);
    }
    window_clear(w);
    if (missed) tt_forget_if_full();
    return status;
}

tt_status tt_flush(int device, const char *reason) {
    tt_lock();
    tt_status status = TT_OK;
    for (int d = device < 0 ? 0 : device; d <= (device < 0 ? TT_MAX_DEVICES - 1 : device) && !status; d++)
        if (windows[d].n_ops) status = tt_window_flush(&windows[d], reason);
    tt_unlock();
    return status;
}

void tt_windows_keep_signatures(void) {
    for (int d = 0; d < TT_MAX_DEVICES; d++)
        for (int o = 0; o < windows[d].n_ops; o++) windows[d].ops[o].sig->used = tt_op_clock;
}

void tt_window_programs_offer(void) {
    size_t cursor = 0; tt_hash key; void *value;
    while (programs && tt_map_next(programs, &cursor, &key, &value)) tt_forget_offer(true, key, ((tt_program *)value)->used);
}

void tt_window_program_forget(tt_hash key) { program_destroy(tt_map_remove(programs, key)); }

void tt_window_forget_programs(void) {
    size_t cursor = 0; tt_hash key; void *value;
    while (programs && tt_map_next(programs, &cursor, &key, &value)) {
        program_destroy(value);
    }
    if (programs) tt_map_destroy(programs);
    programs = NULL;
}

/* tape.c - a captured graph recorded again on other tensors of the same kind, without calling its ops.
 *
 * A tape is a copy of a window's list of ops in which outer values are numbers of arguments. Playing it appends the list to the window
 * and puts the values that arguments and results get where they belong. What a graph did besides (a read-back, an upload, a write
 * to a tensor that is no argument) makes a tape impossible: then the graph is captured every time. */
#include "run/internal.h"
#include <stdlib.h>
#include <string.h>

typedef struct made { int value; int64_t bytes; const hlo_type *hint; } made; /* a new storage; value -1: it holds nothing */
typedef struct written { int arg, value; } written;

struct tt_tape {
    int device, n_args, n_ops, n_inputs, n_values, n_f64, n_i64, n_made, n_written, n_results;
    int *first;               /* [arg]: the first argument with its storage */
    const hlo_type **types;   /* [arg]: of the value it holds, NULL: none */
    const hlo_type **hints;
    int64_t *bytes;
    tt_window_op *ops;
    uint32_t *inputs;         /* value << 1, or arg << 1 | 1 */
    double *f64;
    int64_t *i64;
    made *made;
    written *written;
    tt_tape_result *results;
    char precision;
    bool excess_precision;
    tt_dtype default_float;
};

/* What the arguments held when the capture began. One capture at a time can be watched. */
static struct { bool open; int device, n; tt_storage **storages; tt_value **values; uint64_t made_of_buffers; int64_t flushes; } watch;

/* Arguments are known by their values: two that share one, as a copy and what it is of do, get one each, over the same buffer. False: there is
 * none to share yet. */
static bool separate(tt_storage *s, int n, tt_storage *const *before) {
    tt_value *v = s->value;
    bool shared = false;
    for (int i = 0; v && v->refs > 1 && i < n && !shared; i++) shared = before[i] != s && before[i]->value == v;
    if (!shared) return true;
    if (!v->buffer) return false;
    tt_buffer_retain(v->buffer);
    s->value = tt_value_of_buffer(v->device, v->type, v->buffer);
    tt_value_release(v);
    return true;
}

void tt_tape_watch(int device, int n, tt_storage *const *args) {
    tt_lock();
    watch.open = tt_capture_depth == 1 && tt_window_of(device)->capture == 1 && !tt_window_of(device)->n_ops;
    watch.device = device;
    watch.n = n;
    watch.storages = tt_realloc(watch.storages, sizeof *watch.storages * (size_t)(n + 1));
    watch.values = tt_realloc(watch.values, sizeof *watch.values * (size_t)(n + 1));
    for (int i = 0; i < n; i++) {
        watch.storages[i] = args[i];
        watch.open = separate(args[i], i, args) && watch.open;
        watch.values[i] = args[i]->value;
        watch.open = watch.open && args[i]->device == device;
    }
    watch.made_of_buffers = tt_values_made_of_buffers;
    watch.flushes = tt_run_stats.flushes;
    tt_unlock();
}

static void *copy_of(const void *from, size_t bytes) {
    void *to = tt_malloc(bytes + 1);
    if (bytes) memcpy(to, from, bytes);
    return to;
}

static int first_with(int n, tt_storage *const *storages, const tt_storage *s) {
    for (int i = 0; i < n; i++)
        if (storages[i] == s) return i;
    return -1;
}

/* The arguments by their values: externals are found among them. */
static bool number_inputs(tt_tape *t, const tt_window *w) {
    int *arg_of = tt_malloc(sizeof *arg_of * (size_t)(w->n_externals + 1));
    for (int e = 0; e < w->n_externals; e++) arg_of[e] = -1;
    for (int i = 0; i < t->n_args; i++) {
        const tt_value *v = watch.values[i];
        if (v && v->epoch == w->epoch && v->external < (uint32_t)w->n_externals && w->externals[v->external] == v && arg_of[v->external] < 0)
            arg_of[v->external] = t->first[i];
    }
    bool all = true;
    for (int k = 0; k < t->n_inputs; k++) {
        if (!(t->inputs[k] & 1)) continue;
        int arg = arg_of[t->inputs[k] >> 1];
        all = all && arg >= 0;
        t->inputs[k] = (uint32_t)arg << 1 | 1;
    }
    free(arg_of);
    return all;
}

static bool note_written(tt_tape *t) {
    t->written = tt_malloc(sizeof *t->written * (size_t)(t->n_args + 1));
    for (int i = 0; i < t->n_args; i++) {
        const tt_value *v = watch.storages[i]->value;
        if (t->first[i] != i || v == watch.values[i]) continue;
        if (!v || !v->pending) return false;
        t->written[t->n_written++] = (written){i, (int)v->index};
    }
    return true;
}

static bool note_results(tt_tape *t, int n, tt_storage *const *results) {
    t->n_results = n;
    t->results = tt_calloc((size_t)n + 1, sizeof *t->results);
    t->made = tt_calloc((size_t)n + 1, sizeof *t->made);
    for (int i = 0; i < n; i++) {
        tt_tape_result *r = &t->results[i];
        const tt_storage *s = results[i];
        *r = (tt_tape_result){-1, -1};
        if (!s) continue;
        if (s->device != t->device) return false;
        r->arg = first_with(t->n_args, watch.storages, s);
        int same = first_with(i, results, s);
        if (r->arg >= 0) continue;
        if (same >= 0) { r->made = t->results[same].made; continue; }
        if (s->value && !s->value->pending) return false;
        r->made = t->n_made;
        t->made[t->n_made++] = (made){s->value ? (int)s->value->index : -1, s->bytes, s->hint};
    }
    return true;
}

static void note_arguments(tt_tape *t) {
    size_t n = (size_t)t->n_args + 1;
    t->first = tt_malloc(sizeof *t->first * n);
    t->types = tt_malloc(sizeof *t->types * n);
    t->hints = tt_malloc(sizeof *t->hints * n);
    t->bytes = tt_malloc(sizeof *t->bytes * n);
    for (int i = 0; i < t->n_args; i++) {
        t->first[i] = first_with(t->n_args, watch.storages, watch.storages[i]);
        t->types[i] = watch.values[i] ? watch.values[i]->type : NULL;
        t->hints[i] = watch.storages[i]->hint;
        t->bytes[i] = watch.storages[i]->bytes;
    }
}

tt_tape *tt_tape_create(int device, int n_results, tt_storage *const *results) {
    tt_lock();
    tt_window *w = tt_window_of(device);
    tt_tape *t = NULL;
    if (watch.open && watch.device == device && w->capture == 1 && w->n_ops && watch.made_of_buffers == tt_values_made_of_buffers &&
        watch.flushes == tt_run_stats.flushes) {
        t = tt_calloc(1, sizeof *t);
        *t = (tt_tape){.device = device, .n_args = watch.n, .n_ops = w->n_ops, .n_inputs = w->n_inputs, .n_values = w->n_values,
                       .n_f64 = w->n_f64, .n_i64 = w->n_i64, .precision = tt_precision_get()[4], .excess_precision = w->excess_precision, .default_float = lower_default_float()};
        t->ops = copy_of(w->ops, sizeof *w->ops * (size_t)w->n_ops);
        for (int o = 0; o < t->n_ops; o++) t->ops[o].sig->pins++;
        t->inputs = copy_of(w->inputs, sizeof *w->inputs * (size_t)w->n_inputs);
        t->f64 = copy_of(w->f64, sizeof *w->f64 * (size_t)w->n_f64);
        t->i64 = copy_of(w->i64, sizeof *w->i64 * (size_t)w->n_i64);
        note_arguments(t);
    }
    watch.open = false;
    bool whole = t && number_inputs(t, w) && note_written(t) && note_results(t, n_results, results);
    tt_unlock();
    if (t && !whole) { tt_tape_destroy(t); t = NULL; }
    return t;
}

void tt_tape_destroy(tt_tape *t) {
    if (!t) return;
    tt_lock();
    for (int o = 0; o < t->n_ops; o++) t->ops[o].sig->pins--;
    tt_unlock();
    free(t->first); free(t->types); free(t->hints); free(t->bytes); free(t->ops); free(t->inputs); free(t->f64); free(t->i64);
    free(t->made); free(t->written); free(t->results); free(t);
}

const tt_tape_result *tt_tape_results(const tt_tape *t, int *out_n_made) {
    *out_n_made = t->n_made;
    return t->results;
}

/* ---- playing ---- */
static bool fits(const tt_tape *t, int n, tt_storage *const *args) {
    if (n != t->n_args || tt_capture_depth || tt_precision_get()[4] != t->precision || lower_default_float() != t->default_float || tt_mode_locked() == TT_MODE_DEBUG)
        return false;
    for (int i = 0; i < n; i++) {
        const tt_storage *s = args[i], *first = args[t->first[i]];
        if (s->device != t->device || s->bytes != t->bytes[i] || (s->value ? s->value->type : NULL) != t->types[i] || s != first) return false;
        if (!s->value && s->hint != t->hints[i]) return false;
    }
    /* storages apart then are apart now */
    for (int i = 0; i < n; i++) args[i]->mark_epoch = 0;
    for (int i = 0; i < n; i++) {
        if (t->first[i] != i) continue;
        if (args[i]->mark_epoch == UINT32_MAX) return false;
        args[i]->mark_epoch = UINT32_MAX;
    }
    return true;
}

static void record(const tt_tape *t, tt_window *w, tt_storage *const *args, tt_value **values) {
    int most_inputs = 0, most_slots = 0, next_f64 = 0, next_i64 = 0;
    for (int o = 0; o < t->n_ops; o++) {
        if (t->ops[o].sig->n_inputs > most_inputs) most_inputs = t->ops[o].sig->n_inputs;
        if (t->ops[o].sig->n_slots > most_slots) most_slots = t->ops[o].sig->n_slots;
    }
    tt_value **inputs = tt_malloc(sizeof *inputs * (size_t)(most_inputs + 1));
    double *f64 = tt_malloc(sizeof *f64 * (size_t)(most_slots + 1));
    int64_t *i64 = tt_malloc(sizeof *i64 * (size_t)(most_slots + 1));
    w->capture++; /* it does not end within the tape */
    w->excess_precision = t->excess_precision;
    for (int o = 0; o < t->n_ops; o++) {
        const tt_window_op *op = &t->ops[o];
        uint64_t rng[2];
        for (int i = 0; i < op->sig->n_inputs; i++) {
            uint32_t code = t->inputs[op->first_input + (uint32_t)i];
            inputs[i] = code & 1 ? args[code >> 1]->value : values[code >> 1];
        }
        for (int i = 0; i < op->sig->n_slots; i++)
            if (op->sig->slots[i].is_int) i64[i] = t->i64[next_i64++];
            else f64[i] = t->f64[next_f64++];
        if (op->sig->rng) tt_rng_next(NULL, t->device, op->sig->rng_used, rng);
        tt_window_record(w, op->sig, inputs, f64, i64, rng, values + op->first_value);
    }
    w->capture--;
    tt_run_stats.ops += t->n_ops;
    free(inputs); free(f64); free(i64);
}

tt_status tt_tape_play(const tt_tape *t, int n, tt_storage *const *args, bool *out_played, tt_storage **out_made) {
    *out_played = false;
    tt_lock();
    tt_status status = tt_window_flush(tt_window_of(t->device), "a captured graph begins");
    if (status || !fits(t, n, args)) {
        tt_unlock();
        return status;
    }
    tt_value **values = tt_calloc((size_t)t->n_values + 1, sizeof *values);
    record(t, tt_window_of(t->device), args, values);
    for (int k = 0; k < t->n_written; k++) {
        tt_value_retain(values[t->written[k].value]);
        tt_storage_put(args[t->written[k].arg], values[t->written[k].value]);
    }
    for (int k = 0; k < t->n_made; k++) {
        const made *m = &t->made[k];
        out_made[k] = tt_storage_create_locked(t->device, m->bytes);
        out_made[k]->hint = m->hint;
        if (m->value < 0) continue;
        tt_value_retain(values[m->value]);
        out_made[k]->value = values[m->value];
    }
    for (int k = 0; k < t->n_values; k++) tt_value_release(values[k]);
    free(values);
    *out_played = true;
    tt_unlock();
    return TT_OK;
}

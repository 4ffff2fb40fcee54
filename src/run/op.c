/* op.c - one call of one op: key it, find or make its signature, run or record it, put the results where they belong.
 *
 * The key covers the row, dtypes, shapes, views and structural arguments; contents never. Scalars are constants of the program until
 * the third value seen; then they, and the places of views that move, become parameters of it. */
#include "base/log.h"
#include "base/map.h"
#include "run/signature.h"
#include <stdlib.h>
#include <string.h>

/* ---- keying ---- */
static uint32_t call_epoch;

static inline void mix(tt_key *k, uint64_t word) { tt_hash_word(&k->full, word); }

static void add_storage(tt_key *k, tt_arena *arena, tt_storage *s) {
    if (s->mark_epoch == call_epoch) return;
    if (k->n_storages == k->cap_storages) {
        tt_storage **old = k->storages;
        k->cap_storages = k->cap_storages ? 2 * k->cap_storages : 8;
        k->storages = TT_NEW_N(arena, tt_storage *, k->cap_storages);
        if (k->n_storages) memcpy(k->storages, old, sizeof *old * (size_t)k->n_storages);
    }
    s->mark_epoch = call_epoch;
    s->mark = (uint32_t)k->n_storages;
    k->storages[k->n_storages++] = s;
}

static tt_slot *add_slot(tt_key *k, tt_arena *arena, int arg, int element, bool is_int, double d, int64_t i) {
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    if (!k->of_family) mix(k, is_int ? (uint64_t)i : bits);
    if (k->n_slots == k->cap_slots) {
        int n = k->n_slots, cap = k->cap_slots ? 2 * n : 4;
        tt_slot *slots = TT_NEW_N(arena, tt_slot, cap); double *f = TT_NEW_N(arena, double, cap); int64_t *v = TT_NEW_N(arena, int64_t, cap);
        if (n) { memcpy(slots, k->slots, sizeof *slots * (size_t)n); memcpy(f, k->slot_f64, sizeof *f * (size_t)n); memcpy(v, k->slot_i64, sizeof *v * (size_t)n); }
        k->slots = slots; k->slot_f64 = f; k->slot_i64 = v; k->cap_slots = cap;
    }
    k->slots[k->n_slots] = (tt_slot){(uint16_t)arg, (int16_t)element, is_int, -1};
    k->slot_f64[k->n_slots] = d; k->slot_i64[k->n_slots] = i;
    return &k->slots[k->n_slots++];
}

/* Strides of a whole view that its value does not tell: those of dims of size 1, which results may inherit. */
static void key_odd_strides(tt_key *k, const tt_tensor *t) {
    int64_t stride = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (__builtin_expect(t->dims[i] == 1 && t->strides[i] != stride, 0)) mix(k, (uint64_t)t->strides[i] << 8 | (uint64_t)i);
        stride *= t->dims[i] > 1 ? t->dims[i] : 1;
    }
}

static void key_strides(tt_key *k, const tt_tensor *t) {
    for (int i = 0; i < t->rank; i++) { mix(k, (uint64_t)t->dims[i]); mix(k, (uint64_t)t->strides[i]); }
}

/* Is t the whole of a value of type base, and has it the strides that a tensor made for it would have? The bytes of its elements come with it. */
static bool is_plain(const tt_tensor *t, const hlo_type *base, int64_t *out_bytes) {
    if (t->dtype != base->dtype || t->offset || t->rank != base->rank) return false;
    int64_t stride = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->dims[i] != base->dims[i] || t->strides[i] != stride || !t->dims[i]) return false;
        stride *= t->dims[i];
    }
    *out_bytes = stride * tt_dtype_size(t->dtype);
    return true;
}

/* arg, element: as in tt_slot. base: NULL when the view's own value does not matter. */
static void key_view(tt_key *k, tt_arena *arena, int arg, int element, const tt_tensor *t, const hlo_type *base) {
    tt_strided view = tt_strided_of(t);
    if (base && tt_view_is_whole(&view, base)) { mix(k, 1); key_odd_strides(k, t); return; }
    int dims[HLO_MAX_RANK]; int64_t starts[HLO_MAX_RANK], fixed = t->offset, unit = 1;
    int n = base ? tt_view_moves(&view, base, dims, starts) : 0;
    for (int m = n, j = n ? base->rank - 1 : -1; j >= 0; j--) { /* what is left of the offset when the moving dims start at 0 */
        if (m && dims[m - 1] == j) fixed -= starts[--m] * unit;
        unit *= base->dims[j];
    }
    mix(k, (uint64_t)fixed << 8 | (n ? 5 : 2));
    key_strides(k, t);
    for (int m = 0; m < n; m++) {
        mix(k, (uint64_t)dims[m]);
        add_slot(k, arena, arg, element, true, 0, starts[m])->dim = (int8_t)dims[m];
    }
}

static void key_tensor(tt_key *k, tt_arena *arena, int arg, int element, const tt_tensor *t) {
    if (!t) { mix(k, 0x7fff); k->plain = false; return; }
    const uint64_t kind = (uint64_t)t->dtype << 16 | (uint64_t)t->rank << 8 | (uint64_t)(t->wrapped | t->conj << 1 | t->neg << 2 | (t->storage != NULL) << 3);
    if (!t->storage) {
        k->plain = false;
        mix(k, kind);
        tt_class c = tt_dtype_class(t->dtype);
        if (element < 0 && c == TT_CLASS_FLOAT) add_slot(k, arena, arg, -1, false, t->number[0], 0);
        else if (element < 0 && (c == TT_CLASS_SINT || c == TT_CLASS_UINT)) add_slot(k, arena, arg, -1, true, 0, t->integer);
        else {
            uint64_t bits[2];
            memcpy(bits, t->number, sizeof bits);
            mix(k, bits[0]); mix(k, bits[1]); mix(k, (uint64_t)t->integer);
        }
        return;
    }
    tt_storage *s = t->storage;
    add_storage(k, arena, s);
    const hlo_type *base = tt_storage_type(s, t->dtype);
    int64_t bytes;
    const bool plain = is_plain(t, base, &bytes) && bytes == s->bytes;
    mix(k, kind | (uint64_t)plain << 4 | (uint64_t)s->mark << 32);
    mix(k, (uint64_t)(uintptr_t)base ^ (s->value == NULL));
    if (plain) return;
    k->plain = false;
    key_view(k, arena, arg, element, t, base);
}

/* Are these targets the tensors of an argument, all of them plain? They are keyed then. */
static bool targets_are_keyed(const tt_key *k, const tt_call *call, int at, int *out_arg) {
    for (int i = 0; i < call->n_args && i < TT_PLAIN_ARGS; i++) {
        const tt_arg *a = &call->args[i];
        if (a->tag == TT_ARG_TENSORS && k->plain_args >> i & 1 && a->n && a->n <= call->n_targets - at && a->u.tensors[0] == call->targets[at] &&
            !memcmp(a->u.tensors, call->targets + at, sizeof *call->targets * (size_t)a->n)) {
            *out_arg = i;
            return true;
        }
    }
    return false;
}

static void key_ints(tt_key *k, int n, const int64_t *v) {
    for (int i = 0; i < n; i++) mix(k, (uint64_t)v[i]);
}

static void key_double(tt_key *k, double d) {
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    mix(k, bits);
}

static void key_arg(tt_key *k, tt_arena *arena, int i, const tt_arg *a) {
    mix(k, (uint64_t)a->tag << 32 | (uint32_t)a->n);
    switch (a->tag) {
    case TT_ARG_NONE: case TT_ARG_DEVICE: case TT_ARG_GENERATOR: break;
    case TT_ARG_TENSOR: key_tensor(k, arena, i, -1, a->u.tensor); break;
    case TT_ARG_TENSORS:
        k->plain = true;
        for (int e = 0; e < a->n; e++) key_tensor(k, arena, i, e, a->u.tensors[e]);
        if (k->plain && i < TT_PLAIN_ARGS) k->plain_args |= UINT64_C(1) << i;
        break;
    case TT_ARG_INT: mix(k, (uint64_t)a->u.i); break;
    case TT_ARG_BOOL: mix(k, a->u.i != 0); break;
    case TT_ARG_DOUBLE: add_slot(k, arena, i, -1, false, a->u.d, 0); break;
    case TT_ARG_COMPLEX: key_double(k, a->u.c[0]); key_double(k, a->u.c[1]); break;
    case TT_ARG_STRING: { tt_hash h = tt_hash_bytes(a->u.s, (size_t)a->n, (tt_hash){0, 0}); mix(k, h.a); break; }
    case TT_ARG_INTS: key_ints(k, a->n, a->u.ints); break;
    case TT_ARG_DOUBLES: for (int e = 0; e < a->n; e++) key_double(k, a->u.doubles[e]); break;
    case TT_ARG_BOOLS: for (int e = 0; e < a->n; e++) mix(k, a->u.bools[e]); break;
    case TT_ARG_SCALARS:
        for (int e = 0; e < a->n; e++) {
            const tt_arg *s = &a->u.scalars[e];
            mix(k, s->tag);
            if (s->tag == TT_ARG_DOUBLE) add_slot(k, arena, i, e, false, s->u.d, 0);
            else if (s->tag == TT_ARG_COMPLEX) { key_double(k, s->u.c[0]); key_double(k, s->u.c[1]); }
            else mix(k, (uint64_t)s->u.i);
        }
        break;
    }
}

static void key_targets(tt_key *k, tt_arena *arena, const tt_call *call) {
    mix(k, (uint64_t)call->n_targets);
    for (int i = 0, arg; i < call->n_targets; i++) {
        const tt_tensor *t = call->targets[i];
        if (k->plain_args && targets_are_keyed(k, call, i, &arg)) {
            mix(k, (uint64_t)arg << 8 | 6);
            i += call->args[arg].n - 1;
            continue;
        }
        if (!t) { mix(k, 3); continue; }
        tt_strided view = tt_strided_of(t);
        mix(k, (uint64_t)t->dtype << 16 | (uint64_t)t->rank << 8 | (uint64_t)(t->conj << 1 | t->neg << 2));
        if (t->storage->mark_epoch != call_epoch && tt_view_covers(&view, t->storage->bytes, NULL)) {
            mix(k, 4); key_view(k, arena, 0, -1, t, NULL); /* written whole and not read: no input */
            continue;
        }
        add_storage(k, arena, t->storage);
        const hlo_type *base = tt_storage_type(t->storage, t->dtype);
        mix(k, t->storage->mark); mix(k, (uint64_t)(uintptr_t)base ^ (t->storage->value == NULL));
        mix(k, (uint64_t)t->storage->bytes);
        key_view(k, arena, TT_SLOT_TARGET | i, -1, t, base);
    }
}

static void key_call(tt_key *k, tt_arena *arena, const tt_call *call) {
    call_epoch++;
    k->full = (tt_hash){(uint64_t)(uintptr_t)call->row, (uint64_t)call->n_args};
    mix(k, (uint64_t)tt_precision_get()[4] << 8 | (uint64_t)lower_default_float());
    for (int i = 0; i < call->n_args; i++) key_arg(k, arena, i, &call->args[i]);
    key_targets(k, arena, call);
}

/* The key of the call whatever its scalars. */
static tt_hash family_key(tt_arena *arena, const tt_call *call) {
    tt_key k = {.of_family = true};
    key_call(&k, arena, call);
    return k.full;
}

/* ---- finding the signature ---- */
typedef struct family { int n_constants; uint64_t baked; bool known; } family; /* one op, whatever its scalars */

static tt_map *signatures, *families;

enum { CONSTANTS_BEFORE_SLOTS = 2, ARGS_THAT_MAY_BE_SLOTS = 64 };

static bool is_baked(uint64_t baked, int arg) { return arg < ARGS_THAT_MAY_BE_SLOTS && baked >> arg & 1; }

static tt_hash slot_key(const tt_key *k, tt_hash h, uint64_t baked) {
    tt_hash_word(&h, 0x51075107);
    for (int i = 0; i < k->n_slots; i++) {
        if (k->slots[i].dim >= 0 || !is_baked(baked, k->slots[i].arg)) continue;
        uint64_t bits;
        memcpy(&bits, &k->slot_f64[i], sizeof bits);
        tt_hash_word(&h, k->slots[i].is_int ? (uint64_t)k->slot_i64[i] : bits);
    }
    return h;
}

static bool all_baked(const tt_key *k, uint64_t baked) {
    for (int i = 0; i < k->n_slots; i++)
        if (k->slots[i].dim >= 0 || !is_baked(baked, k->slots[i].arg)) return false;
    return true;
}

void tt_signatures_offer(void) {
    size_t cursor = 0; tt_hash key; void *value;
    while (signatures && tt_map_next(signatures, &cursor, &key, &value)) {
        const tt_sig *sig = value;
        if (!sig->pins) tt_forget_offer(false, key, sig->used);
    }
}

void tt_signature_forget(tt_hash key) {
    tt_sig *sig = tt_map_remove(signatures, key);
    tt_strict_forget(sig);
    tt_value_release(sig->constant);
    tt_held_add(-sig->bytes);
    tt_arena_destroy(sig->arena);
}

static tt_status create(const tt_call *call, const tt_key *k, tt_hash key, bool use_slots, tt_arena *arena, uint64_t *out_baked, tt_sig **out) {
    TT_TRY(tt_sig_create(call, k, use_slots, arena, out_baked, out));
    (*out)->key = key;
    tt_map_put(signatures, key, *out);
    return TT_OK;
}

static tt_status find_signature(const tt_call *call, tt_key *k, tt_arena *arena, tt_sig **out) {
    if (!signatures) { signatures = tt_map_create(); families = tt_map_create(); }
    *out = tt_map_find(signatures, k->full);
    if (*out) return TT_OK;
    tt_forget_if_full();
    uint64_t baked = 0;
    if (!k->n_slots || call->n_args > ARGS_THAT_MAY_BE_SLOTS) return create(call, k, k->full, false, arena, &baked, out);
    const tt_hash of_family = family_key(arena, call);
    family *f = tt_map_find(families, of_family);
    if (!f) { f = tt_calloc(1, sizeof *f); tt_map_put(families, of_family, f); }
    if (f->known && f->n_constants >= CONSTANTS_BEFORE_SLOTS && !all_baked(k, f->baked)) {
        /* Slots of baked arguments stay parameters nobody reads; their values are in the key. */
        tt_hash key = slot_key(k, of_family, f->baked);
        *out = tt_map_find(signatures, key);
        if (*out) return TT_OK;
        TT_TRY(create(call, k, key, true, arena, &baked, out));
        if ((baked & ~f->baked) == 0) return TT_OK;
        f->baked |= baked; /* it looked at a number after all: this signature holds for that number only */
        tt_map_remove(signatures, key);
        tt_map_put(signatures, slot_key(k, of_family, f->baked), *out);
        return TT_OK;
    }
    TT_TRY(create(call, k, k->full, false, arena, &baked, out));
    f->baked |= baked; f->known = true; f->n_constants++;
    return TT_OK;
}

/* ---- running it ---- */
static tt_rng_take rng_source;
void tt_rng_set_source(tt_rng_take source) { rng_source = source; }

void tt_rng_next(void *handle, int device, uint64_t used, uint64_t out[2]) {
    out[0] = out[1] = 0;
    if (rng_source) rng_source(handle, device, used, &out[0], &out[1]);
}

static void take_rng(const tt_call *call, const tt_sig *sig, uint64_t out[2]) {
    void *handle = NULL;
    for (int i = 0; i < call->n_args; i++)
        if (call->args[i].tag == TT_ARG_GENERATOR) handle = call->args[i].u.generator.handle;
    tt_rng_next(handle, call->device, sig->rng_used, out);
}

/* Old values that the op replaces and nobody else holds: their buffers become its outputs'. */
static bool *strict_donations(const tt_sig *sig, tt_value *const *inputs, tt_arena *arena) {
    bool *donate = TT_NEW_N(arena, bool, sig->n_inputs + 1);
    for (int k = 0; k < sig->n_outputs; k++) {
        int i = sig->output_donor[k];
        if (i >= 0) donate[i] = inputs[i]->refs == 1 && inputs[i]->buffer && tt_buffer_refs(inputs[i]->buffer) == 1;
    }
    return donate;
}

typedef struct results { int cap, cap_sizes; tt_result *items; int64_t *sizes; tt_arena *arena; } results;
static _Thread_local results thread_results;

/* Sizes are copied: the caller reads them without the lock, when the signature may be forgotten. */
static void hand_out(const tt_call *call, const tt_sig *sig, tt_value **outputs, results *mine) {
    int n_sizes = 0;
    for (int i = 0; i < sig->n_results; i++) n_sizes += 2 * sig->results[i].rank;
    if (mine->cap < sig->n_results) mine->items = tt_realloc(mine->items, sizeof *mine->items * (size_t)(mine->cap = 2 * sig->n_results));
    if (mine->cap_sizes < n_sizes) mine->sizes = tt_realloc(mine->sizes, sizeof *mine->sizes * (size_t)(mine->cap_sizes = 2 * n_sizes));
    tt_result *out = mine->items;
    int64_t *sizes = mine->sizes;
    for (int i = 0; i < sig->n_results; i++) {
        const tt_sig_result *r = &sig->results[i];
        out[i] = (tt_result){.tag = r->tag, .dtype = r->dtype, .rank = r->rank, .integer = r->integer};
        if (r->dims) { /* one that is written in place has none */
            out[i].dims = memcpy(sizes, r->dims, sizeof *sizes * (size_t)r->rank);
            out[i].strides = memcpy(sizes + r->rank, r->strides, sizeof *sizes * (size_t)r->rank);
            sizes += 2 * r->rank;
        }
        if (r->tag != TT_OUT_TENSOR || (r->output < 0 && !r->zeros)) continue;
        tt_value *v = r->zeros ? NULL : outputs[r->output];
        if (r->target >= 0) {
            tt_storage_put(call->targets[r->target]->storage, v);
        } else {
            tt_storage *s = tt_storage_create_locked(call->device, r->bytes);
            s->value = v;
            s->hint = r->zeros;
            out[i].storage = s;
        }
    }
}

/* ---- factories: small constants that are made again and again are one value, copied when somebody writes ---- */
enum { MADE_OFTEN = 3, MADE_MOST_BYTES = 16 << 10 };

static bool makes_constant(const tt_call *call, const tt_sig *sig) {
    return sig->row->flags & TT_ROW_CREATES && !call->n_targets && !sig->n_inputs && !sig->n_slots && !sig->rng && sig->n_outputs == 1;
}

static bool made_before(const tt_call *call, tt_sig *sig, tt_value **outputs) {
    if (!sig->constant || sig->constant->device != call->device) return false;
    if (sig->n_made == MADE_OFTEN) { /* it is there by now, or never will be */
        tt_status status = tt_buffer_wait(sig->constant->buffer);
        sig->n_made++;
        if (status) {
            tt_status_free(status);
            tt_value_release(sig->constant);
            sig->constant = NULL;
            return false;
        }
    }
    tt_value_retain(sig->constant);
    outputs[0] = sig->constant;
    tt_values_made_of_buffers++;
    return true;
}

static void keep_made(const tt_call *call, tt_sig *sig, tt_value *const *outputs) {
    if (sig->n_made >= MADE_OFTEN || !makes_constant(call, sig) || ++sig->n_made < MADE_OFTEN) return;
    const int64_t bytes = hlo_type_bytes(outputs[0]->type);
    if (bytes > MADE_MOST_BYTES) return;
    tt_value_retain(outputs[0]);
    sig->constant = outputs[0];
    sig->bytes += bytes;
    tt_held_add(bytes);
}

static tt_status run(const tt_call *call, tt_sig *sig, const tt_key *k, tt_arena *arena, tt_value **outputs) {
    tt_value **inputs = TT_NEW_N(arena, tt_value *, sig->n_inputs + 1);
    int n = 0;
    for (int i = 0; i < k->n_storages; i++)
        if (k->storages[i]->value) inputs[n++] = k->storages[i]->value;
    uint64_t rng[2];
    if (sig->rng) take_rng(call, sig, rng);
    tt_run_stats.ops++;
    tt_mode mode = tt_mode_locked();
    if (mode == TT_MODE_FUSED) {
        tt_window *w = tt_window_of(call->device);
        tt_window_record(w, sig, inputs, k->slot_f64, k->slot_i64, rng, outputs);
        return TT_OK;
    }
    if (made_before(call, sig, outputs)) return TT_OK;
    for (int i = 0; i < n; i++) TT_TRY(tt_value_realize(inputs[i], "strict mode"));
    TT_TRY(tt_strict_run(sig, call->device, inputs, strict_donations(sig, inputs, arena), k->slot_f64, k->slot_i64, rng, outputs));
    for (int i = 0; mode == TT_MODE_DEBUG && i < sig->n_outputs; i++) {
        tt_status status = tt_buffer_wait(outputs[i]->buffer);
        if (!status) continue;
        tt_error_was_read_locked(status);
        for (int j = 0; j < sig->n_outputs; j++) tt_value_release(outputs[j]);
        return status;
    }
    keep_made(call, sig, outputs);
    return TT_OK;
}

tt_status tt_op_call_locked(const tt_call *call, int *out_n, const tt_result **out_results) {
    results *mine = &thread_results;
    *out_n = 0; *out_results = NULL;
    TT_TRY(tt_runtime_init_locked());
    TT_CHECK(call->device >= 0 && call->device < tt_client_device_count(tt_run_client), INVALID_ARGUMENT, "no tpu device %d", call->device);
    if (!mine->arena) mine->arena = tt_arena_create();
    tt_arena_mark mark = tt_arena_mark_get(mine->arena);
    tt_key key = {0}; tt_sig *sig = NULL;
    tt_op_clock++;
    key_call(&key, mine->arena, call);
    tt_status status = find_signature(call, &key, mine->arena, &sig);
    if (!status) {
        sig->used = tt_op_clock;
        if (sig->in_order) {
            status = tt_list_in_order(call, mine->arena);
            tt_arena_rewind(mine->arena, mark);
            return status;
        }
        tt_value **outputs = TT_NEW_N(mine->arena, tt_value *, sig->n_outputs + 1);
        status = run(call, sig, &key, mine->arena, outputs);
        if (!status) {
            hand_out(call, sig, outputs, mine);
            *out_n = sig->n_results; *out_results = mine->items;
            TT_LOG(2, "op=\"%s\"%s", sig->title, tt_mode_locked() == TT_MODE_FUSED ? " recorded" : "");
        }
    }
    tt_arena_rewind(mine->arena, mark);
    return status;
}

tt_status tt_op_call(const tt_call *call, int *out_n, const tt_result **out_results) {
    tt_lock();
    tt_status status = tt_op_call_locked(call, out_n, out_results);
    tt_unlock();
    return status;
}

/* signature.c - lowers one op at one signature into a fragment: a StableHLO function from the values of the storages it touches to
 * the values it makes, views and in-place writes included. Runs once per signature; op.c finds it again by key. */
#include "run/signature.h"
#include <string.h>

static const char *const scalar_type_names[] = {"Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "ComplexHalf", "ComplexFloat",
                                                "ComplexDouble", "Bool", "QInt8", "QUInt8", "QInt32", "BFloat16"};

static const char *torch_name(tt_dtype dtype) {
    int t = tt_dtype_to_torch(dtype);
    return t >= 0 && t < 16 ? scalar_type_names[t] : tt_dtype_name(dtype);
}

/* c10::canCast */
static bool can_cast(tt_dtype from, tt_dtype to) {
    tt_class f = tt_dtype_class(from), t = tt_dtype_class(to);
    if (f == TT_CLASS_COMPLEX && t != TT_CLASS_COMPLEX) return false;
    if (f == TT_CLASS_FLOAT && (t == TT_CLASS_SINT || t == TT_CLASS_UINT)) return false;
    return f == TT_CLASS_PRED || t != TT_CLASS_PRED;
}

static char *dims_text(tt_arena *arena, int rank, const int64_t *dims) {
    tt_str s = {0};
    tt_str_puts(&s, "[");
    for (int i = 0; i < rank; i++) tt_str_printf(&s, "%s%lld", i ? ", " : "", (long long)dims[i]);
    tt_str_puts(&s, "]");
    char *text = tt_arena_copy(arena, s.data, s.length + 1);
    tt_str_deinit(&s);
    return text;
}

tt_strided tt_strided_of(const tt_tensor *t) { return (tt_strided){t->dtype, t->rank, t->dims, t->strides, t->offset}; }

/* ---- arguments become values ---- */
typedef struct builder {
    tt_sig *sig;
    hlo_graph *g;
    tt_lower L;
    const tt_key *key;
    hlo_ref *storage_value;    /* per storage of the key: its parameter, or HLO_NONE when it holds nothing */
    bool use_slots;
    hlo_ref *starts;           /* per slot: a view's start */
} builder;

/* Where a view starts along each dim of its value, when it moves. */
static bool find_starts(const builder *b, int arg, int element, hlo_ref *out) {
    bool moves = false;
    memset(out, 0, sizeof *out * HLO_MAX_RANK);
    for (int i = 0; b->use_slots && i < b->key->n_slots; i++) {
        tt_slot s = b->key->slots[i];
        if (s.dim < 0 || s.arg != arg || s.element != element) continue;
        out[s.dim] = b->starts[i];
        moves = true;
    }
    return moves;
}

static hlo_ref base_value(builder *b, const tt_tensor *t) {
    uint32_t number = t->storage->mark;
    if (b->storage_value[number]) return b->storage_value[number];
    return b->storage_value[number] = hlo_splat_int(b->g, tt_storage_type(t->storage, t->dtype), 0);
}

static hlo_ref host_scalar(builder *b, int arg, const tt_tensor *t) {
    if (b->L.slots && b->L.slots[arg]) return hlo_convert(b->g, b->L.slots[arg], t->dtype);
    switch (tt_dtype_class(t->dtype)) {
    case TT_CLASS_FLOAT: return hlo_scalar(b->g, t->dtype, t->number[0]);
    case TT_CLASS_COMPLEX: {
        tt_dtype real = tt_dtype_real(t->dtype);
        return hlo_complex(b->g, hlo_scalar(b->g, real, t->number[0]), hlo_scalar(b->g, real, t->number[1]));
    }
    case TT_CLASS_PRED: case TT_CLASS_SINT: case TT_CLASS_UINT: return hlo_scalar_int(b->g, t->dtype, t->integer);
    }
    return HLO_NONE;
}

static void set_value(builder *b, int arg, int element, tt_tensor *t) {
    if (!t) return;
    if (!t->storage) { t->value = host_scalar(b, arg, t); return; }
    tt_strided view = tt_strided_of(t);
    hlo_ref starts[HLO_MAX_RANK], base = base_value(b, t);
    hlo_ref x = find_starts(b, arg, element, starts) ? tt_view_read_at(b->g, base, &view, starts) : tt_view_read(b->g, base, &view);
    if (t->conj) {
        hlo_ref im = hlo_unary(b->g, HLO_NEGATE, hlo_unary(b->g, HLO_IMAG, x));
        x = hlo_complex(b->g, hlo_unary(b->g, HLO_REAL, x), im);
    }
    if (t->neg) x = hlo_unary(b->g, HLO_NEGATE, x);
    t->value = x;
}

static void set_values(builder *b) {
    for (int i = 0; i < b->L.n_args; i++) {
        const tt_arg *a = &b->L.args[i];
        if (a->tag == TT_ARG_TENSOR) set_value(b, i, -1, a->u.tensor);
        if (a->tag == TT_ARG_TENSORS)
            for (int k = 0; k < a->n; k++) set_value(b, i, k, a->u.tensors[k]);
    }
}

/* Parameters of the fragment: inputs, slots, rng. */
static void add_params(builder *b) {
    tt_sig *sig = b->sig; const tt_key *key = b->key; hlo_graph *g = b->g;
    sig->input_types = TT_NEW_N(sig->arena, const hlo_type *, key->n_storages + 1);
    for (int i = 0; i < key->n_storages; i++) {
        const tt_value *v = key->storages[i]->value;
        if (!v) continue;
        b->storage_value[i] = hlo_param(g, v->type);
        sig->input_types[sig->n_inputs++] = v->type;
    }
    if (b->use_slots) {
        sig->slots = tt_arena_copy(sig->arena, key->slots, sizeof *key->slots * (size_t)key->n_slots);
        sig->n_slots = key->n_slots;
        b->L.slots = TT_NEW_N(b->L.arena, hlo_ref, b->L.n_args + 1);
        b->L.list_slots = TT_NEW_N(b->L.arena, hlo_ref *, b->L.n_args + 1);
        b->starts = TT_NEW_N(b->L.arena, hlo_ref, key->n_slots + 1);
        for (int i = 0; i < key->n_slots; i++) {
            tt_slot s = key->slots[i];
            hlo_type type = hlo_type_make(s.is_int ? TT_I64 : TT_F64, 0, NULL);
            hlo_ref param = hlo_param(g, &type);
            if (s.dim >= 0) { b->starts[i] = param; continue; }
            if (s.element < 0) { b->L.slots[s.arg] = param; continue; }
            if (!b->L.list_slots[s.arg]) b->L.list_slots[s.arg] = TT_NEW_N(b->L.arena, hlo_ref, b->L.args[s.arg].n + 1);
            b->L.list_slots[s.arg][s.element] = param;
        }
    }
    if (sig->row->flags & TT_ROW_RNG) {
        hlo_type type = hlo_type_make(TT_U64, 1, (int64_t[]){2});
        b->L.rng = hlo_param(g, &type);
        sig->rng = true;
    }
}

/* ---- results become new values of storages ---- */
static hlo_ref in_memory_order(hlo_graph *g, hlo_ref x, int rank, const int *order) {
    int64_t permutation[HLO_MAX_RANK]; bool identity = true;
    for (int i = 0; i < rank; i++) { permutation[i] = order[i]; identity &= order[i] == i; }
    return identity ? x : hlo_transpose(g, x, permutation);
}

static tt_status finish_new(builder *b, const tt_out *out, tt_sig_result *r, hlo_ref *out_value) {
    const hlo_type *type = hlo_type_of(b->g, out->value);
    r->target = -1; r->dtype = type->dtype; r->rank = type->rank; r->bytes = hlo_type_bytes(type);
    r->dims = tt_arena_copy(b->sig->arena, type->dims, sizeof(int64_t) * (size_t)(type->rank + 1));
    int64_t *strides = TT_NEW_N(b->sig->arena, int64_t, type->rank + 1), stride = 1;
    for (int i = type->rank - 1; i >= 0; i--) {
        int d = out->order[i];
        strides[d] = stride;
        stride *= type->dims[d] > 1 ? type->dims[d] : 1;
    }
    if (out->strides) memcpy(strides, out->strides, sizeof *strides * (size_t)type->rank);
    r->strides = strides;
    TT_CHECK(tt_dtype_to_torch(r->dtype) >= 0, INTERNAL, "%s makes a %s tensor, which PyTorch has not", b->sig->row->name, tt_dtype_name(r->dtype));
    *out_value = in_memory_order(b->g, out->value, r->rank, out->order);
    return TT_OK;
}

static tt_status finish_target(builder *b, const tt_call *call, int k, const tt_out *out, tt_sig_result *r, hlo_ref *out_value) {
    const tt_tensor *t = call->targets[k];
    const hlo_type *type = hlo_type_of(b->g, out->value);
    hlo_type want = hlo_type_make(t->dtype, t->rank, t->dims);
    TT_CHECK(hlo_dims_equal(type, &want), INVALID_ARGUMENT, "output with shape %s doesn't match the broadcast shape %s",
             dims_text(b->L.arena, t->rank, t->dims), dims_text(b->L.arena, type->rank, type->dims));
    TT_CHECK(call->row == &tt_row_copy || can_cast(type->dtype, t->dtype), INVALID_ARGUMENT, "result type %s can't be cast to the desired output type %s",
             torch_name(type->dtype), torch_name(t->dtype));
    for (int i = 0; i < t->rank && hlo_type_elements(&want); i++)
        TT_CHECK(t->dims[i] < 2 || t->strides[i], INVALID_ARGUMENT, "unsupported operation: more than one element of the written-to tensor refers to a single "
                 "memory location. Please clone() the tensor before performing the operation.");
    r->target = k; r->dtype = t->dtype; r->rank = t->rank;
    hlo_ref x = hlo_convert(b->g, out->value, t->dtype);
    if (t->neg) x = hlo_unary(b->g, HLO_NEGATE, x);
    if (t->conj) x = hlo_complex(b->g, hlo_unary(b->g, HLO_REAL, x), hlo_unary(b->g, HLO_NEGATE, hlo_unary(b->g, HLO_IMAG, x)));
    tt_strided view = tt_strided_of(t);
    int order[HLO_MAX_RANK];
    if (tt_view_covers(&view, t->storage->bytes, order)) *out_value = in_memory_order(b->g, x, t->rank, order);
    else {
        hlo_ref starts[HLO_MAX_RANK], base = base_value(b, t);
        *out_value = find_starts(b, TT_SLOT_TARGET | k, -1, starts) ? tt_view_write_at(b->g, base, &view, x, starts) : tt_view_write(b->g, base, &view, x);
    }
    return TT_OK;
}

/* Storages that are overwritten whole are not in the key, and nor is what their mark says. */
static bool is_keyed(const builder *b, const tt_storage *s) { return s->mark < (uint32_t)b->key->n_storages && b->key->storages[s->mark] == s; }

/* What the next target in that storage is written into. */
static void written_value(builder *b, const tt_tensor *t, hlo_ref x) {
    if (!is_keyed(b, t->storage)) return;
    const hlo_type *type = hlo_type_of(b->g, x), *old = tt_storage_type(t->storage, t->dtype);
    b->storage_value[t->storage->mark] = type->dtype == old->dtype ? hlo_reshape(b->g, x, old->rank, old->dims) : x;
}

static tt_status finish(builder *b, const tt_call *call) {
    tt_sig *sig = b->sig; tt_lower *L = &b->L;
    sig->n_results = L->n_outs;
    sig->results = TT_NEW_N(sig->arena, tt_sig_result, L->n_outs + 1);
    sig->output_types = TT_NEW_N(sig->arena, const hlo_type *, L->n_outs + 1);
    sig->output_target = TT_NEW_N(sig->arena, int, L->n_outs + 1);
    hlo_ref *values = TT_NEW_N(L->arena, hlo_ref, L->n_outs + 1);
    tt_sig_result **latest = TT_NEW_N(L->arena, tt_sig_result *, b->key->n_storages + 1); /* [storage]: who gave it its new value */
    for (int i = 0, k = 0; i < L->n_outs; i++) {
        const tt_out *out = &L->outs[i]; tt_sig_result *r = &sig->results[i];
        r->tag = out->tag; r->integer = out->integer; r->output = -1; r->target = -1;
        if (out->tag == TT_OUT_NONE && k < call->n_targets) k++;
        if (out->tag != TT_OUT_TENSOR) continue;
        TT_CHECK(out->value, INTERNAL, "%s: the lowering gave no value for result %d", sig->row->name, i);
        int n = sig->n_outputs;
        bool target = k < call->n_targets && call->targets[k];
        if (target) {
            const tt_storage *s = call->targets[k]->storage;
            tt_sig_result *none = NULL, **before = is_keyed(b, s) ? &latest[s->mark] : &none;
            if (*before) { n = (*before)->output; (*before)->output = -1; } /* another view of a storage: both are in one new value */
            TT_TRY(finish_target(b, call, k, out, r, &values[n]));
            written_value(b, call->targets[k], values[n]);
            *before = r;
        } else TT_TRY(finish_new(b, out, r, &values[n]));
        k++;
        TT_TRY(hlo_graph_take_error(b->g));
        if (out->zeros && !target) {
            r->zeros = tt_type_intern(hlo_type_of(b->g, values[n]));
            continue;
        }
        sig->output_types[n] = tt_type_intern(hlo_type_of(b->g, values[n]));
        sig->output_target[n] = r->target;
        r->output = n;
        sig->n_outputs += n == sig->n_outputs;
    }
    hlo_return(b->g, sig->n_outputs, values);
    return hlo_graph_take_error(b->g);
}

/* Which input an output may take over: the old value of the storage it replaces. */
static void find_donors(tt_sig *sig, const tt_call *call, const tt_key *key) {
    sig->output_donor = TT_NEW_N(sig->arena, int, sig->n_outputs + 1);
    for (int k = 0; k < sig->n_outputs; k++) {
        sig->output_donor[k] = -1;
        if (sig->output_target[k] < 0) continue;
        const tt_storage *s = call->targets[sig->output_target[k]]->storage;
        for (int i = 0, input = 0; i < key->n_storages; i++) {
            if (!key->storages[i]->value) continue;
            if (key->storages[i] == s && sig->input_types[input] == sig->output_types[k]) sig->output_donor[k] = input;
            input++;
        }
    }
}

static char *title(tt_arena *arena, const tt_call *call) {
    tt_str s = {0};
    tt_str_puts(&s, call->op_name ? call->op_name : call->row->name);
    int shown = 0;
    for (int i = 0; i < call->n_args && shown < 6; i++) {
        const tt_arg *a = &call->args[i];
        const tt_tensor *t = a->tag == TT_ARG_TENSOR ? a->u.tensor : a->tag == TT_ARG_TENSORS && a->n ? a->u.tensors[0] : NULL;
        if (!t) continue;
        tt_str_printf(&s, " %s[", tt_dtype_name(t->dtype));
        for (int d = 0; d < t->rank; d++) tt_str_printf(&s, "%s%lld", d ? "," : "", (long long)t->dims[d]);
        tt_str_puts(&s, "]");
        if (a->tag == TT_ARG_TENSORS) tt_str_printf(&s, "x%d", a->n);
        shown++;
    }
    char *text = tt_arena_copy(arena, s.data, s.length + 1);
    tt_str_deinit(&s);
    return text;
}

/* Views of more dims than a value may have. */
static tt_status check_ranks(int n, tt_tensor *const *tensors) {
    for (int i = 0; i < n; i++)
        TT_CHECK(!tensors[i] || tensors[i]->rank <= HLO_MAX_RANK, INVALID_ARGUMENT, "tpu tensors have at most %d dimensions, got %d", HLO_MAX_RANK,
                 tensors[i]->rank);
    return TT_OK;
}

tt_status tt_sig_create(const tt_call *call, const tt_key *key, bool use_slots, tt_arena *scratch, uint64_t *out_baked, tt_sig **out) {
    TT_TRY(check_ranks(call->n_targets, call->targets));
    for (int i = 0; i < call->n_args; i++) {
        const tt_arg *a = &call->args[i];
        if (a->tag == TT_ARG_TENSOR) TT_TRY(check_ranks(1, &a->u.tensor));
        if (a->tag == TT_ARG_TENSORS) TT_TRY(check_ranks(a->n, a->u.tensors));
    }
    tt_arena *arena = tt_arena_create_small();
    tt_sig *sig = TT_NEW(arena, tt_sig);
    sig->arena = arena; sig->row = call->row; sig->title = title(arena, call);
    sig->in_order = tt_list_meets(call, key);
    if (sig->in_order) { *out_baked = 0; *out = sig; return TT_OK; }
    hlo_graph *g = hlo_graph_create(arena, "op");
    sig->fragment = g;
    builder b = {.sig = sig, .g = g, .key = key, .use_slots = use_slots};
    b.L = (tt_lower){.g = g, .arena = scratch, .row = call->row, .args = call->args, .n_args = call->n_args,
                     .precision = tt_precision_get(), .check_bounds = tt_run_is_engine};
    b.storage_value = TT_NEW_N(scratch, hlo_ref, key->n_storages + 1);
    hlo_func_begin(g, "main", true);
    add_params(&b);
    set_values(&b);
    tt_status status = hlo_graph_take_error(g);
    if (!status) status = call->row->lower(&b.L);
    tt_status build_error = hlo_graph_take_error(g);
    if (status) tt_status_free(build_error); else status = build_error;
    if (!status) status = finish(&b, call);
    if (status) {
        tt_arena_destroy(arena);
        return tt_status_in(status, "lowering %s", call->row->name);
    }
    find_donors(sig, call, key);
    sig->rng_used = b.L.rng_used;
    *out_baked = b.L.baked;
    *out = sig;
    sig->bytes = (int64_t)tt_arena_bytes(arena);
    tt_held_add(sig->bytes);
    tt_run_stats.op_signatures++;
    return TT_OK;
}

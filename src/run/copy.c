/* copy.c - bytes between host arrays, devices and strided tensors. */
#include "run/signature.h"
#include <stdlib.h>
#include <string.h>

/* args: source, dims of the target */
static tt_status lower_copy(tt_lower *L) {
    hlo_ints dims = {L->args[1].n, L->args[1].u.ints};
    lower_out(L, hlo_broadcast_to(L->g, L->args[0].u.tensor->value, dims.n, dims.v));
    return TT_OK;
}
const tt_row tt_row_copy = {.name = "copy", .inplace = "", .out = "", .lower = lower_copy};

/* args: a flat tensor, its new number of elements */
static tt_status lower_resize(tt_lower *L) {
    hlo_ref x = L->args[0].u.tensor->value;
    int64_t old = L->args[0].u.tensor->dims[0], n = L->args[1].u.i;
    if (n <= old) x = hlo_slice_dim(L->g, x, 0, 0, n, 1);
    else x = hlo_pad(L->g, x, hlo_scalar_int(L->g, L->args[0].u.tensor->dtype, 0), (int64_t[]){0}, (int64_t[]){n - old}, NULL);
    lower_out(L, x);
    return TT_OK;
}
static const tt_row row_resize = {.name = "resize", .inplace = "", .out = "", .lower = lower_resize};

static int64_t elements(const tt_tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) n *= t->dims[i];
    return n;
}

static tt_status copy_op(const tt_tensor *target /* or NULL */, const tt_tensor *source, int rank, const int64_t *dims, tt_storage **out_storage) {
    tt_tensor from = *source, to;
    if (target) to = *target;
    tt_tensor *targets[1] = {&to};
    tt_arg args[2] = {{.tag = TT_ARG_TENSOR, .u.tensor = &from}, {.tag = TT_ARG_INTS, .n = rank, .u.ints = dims}};
    tt_call call = {.row = &tt_row_copy, .args = args, .n_args = 2, .device = source->storage ? source->storage->device : target->storage->device,
                    .n_targets = target != NULL, .targets = targets, .op_name = "copy"};
    int n; const tt_result *results;
    TT_TRY(tt_op_call_locked(&call, &n, &results));
    if (out_storage) *out_storage = results[0].storage;
    return TT_OK;
}

static void storage_drop(tt_storage *s) { /* the lock is held */
    tt_unlock();
    tt_storage_release(s);
    tt_lock();
}

/* A realized value whose bytes are the tensor's, dense and row-major; one reference for the caller. NULL: all zeros. */
static tt_status dense_value(const tt_tensor *t, const char *reason, tt_value **out) {
    tt_strided view = tt_strided_of(t);
    tt_value *v = t->storage->value;
    *out = NULL;
    if (!v) return TT_OK;
    if (t->conj || t->neg || !tt_view_is_whole(&view, v->type)) {
        tt_storage *dense;
        TT_TRY(copy_op(NULL, t, t->rank, t->dims, &dense));
        v = dense->value;
        tt_value_retain(v);
        storage_drop(dense);
    } else {
        tt_value_retain(v);
    }
    tt_status status = tt_value_realize(v, reason);
    if (status) tt_value_release(v); else *out = v;
    return status;
}

static tt_status note_read(tt_status status) {
    if (!status) return TT_OK;
    tt_lock();
    tt_error_was_read_locked(status);
    tt_unlock();
    return status;
}

tt_status tt_read(const tt_tensor *t, void *host) {
    size_t bytes = (size_t)elements(t) * (size_t)tt_dtype_size(t->dtype);
    if (!bytes) return TT_OK;
    tt_value *v = NULL; tt_buffer *buffer = NULL;
    tt_lock();
    tt_status status = tt_runtime_init_locked();
    if (!status) status = dense_value(t, "a value is read", &v);
    if (v) { buffer = v->buffer; tt_buffer_retain(buffer); tt_value_release(v); }
    tt_unlock();
    TT_TRY(status);
    if (!buffer) { memset(host, 0, bytes); return TT_OK; }
    status = tt_buffer_to_host(buffer, host, bytes);
    tt_buffer_release(buffer);
    return note_read(status);
}

static tt_status write_locked(const tt_tensor *t, const void *host, bool may_borrow) {
    TT_TRY(tt_runtime_init_locked());
    hlo_type type = hlo_type_make(t->dtype, t->rank, t->dims);
    tt_buffer *buffer;
    int device = t->storage->device;
    TT_TRY(tt_buffer_from_host(tt_run_client, device, t->dtype, t->rank, t->dims, host, may_borrow, &buffer));
    tt_value *v = tt_value_of_buffer(device, tt_type_intern(&type), buffer);
    tt_strided view = tt_strided_of(t);
    int order[HLO_MAX_RANK]; bool whole = !t->conj && !t->neg && tt_view_covers(&view, t->storage->bytes, order);
    for (int i = 0; i < t->rank && whole; i++) whole = order[i] == i;
    if (whole) { tt_storage_put(t->storage, v); return TT_OK; }
    tt_storage *temporary = tt_storage_create_locked(device, hlo_type_bytes(&type));
    temporary->value = v;
    int64_t strides[HLO_MAX_RANK], stride = 1;
    for (int i = t->rank - 1; i >= 0; i--) { strides[i] = stride; stride *= t->dims[i]; }
    tt_tensor source = {.storage = temporary, .dims = t->dims, .strides = strides, .rank = t->rank, .dtype = t->dtype};
    tt_status status = copy_op(t, &source, t->rank, t->dims, NULL);
    storage_drop(temporary);
    return status;
}

/* Bools of other programs may be any byte; ours, as StableHLO's, are 0 and 1. NULL: these are, too. */
static uint8_t *bools_of_bytes(const uint8_t *host, int64_t n) {
    uint64_t all = 0, word;
    int64_t at = 0;
    for (; at + 8 <= n; at += 8) { memcpy(&word, host + at, 8); all |= word; }
    for (; at < n; at++) all |= host[at];
    if (!(all & UINT64_C(0xfefefefefefefefe))) return NULL;
    uint8_t *bools = tt_malloc((size_t)n);
    for (int64_t i = 0; i < n; i++) bools[i] = host[i] != 0;
    return bools;
}

tt_status tt_write(const tt_tensor *t, const void *host, bool may_borrow) {
    if (!elements(t)) return TT_OK;
    TT_CHECK(t->rank <= HLO_MAX_RANK, UNIMPLEMENTED, "a tensor of %d dims; the tpu device has at most %d", t->rank, HLO_MAX_RANK);
    uint8_t *bools = t->dtype == TT_PRED ? bools_of_bytes(host, elements(t)) : NULL;
    tt_lock();
    tt_status status = write_locked(t, bools ? bools : host, may_borrow && !bools);
    tt_unlock();
    free(bools);
    return status;
}

static tt_status copy_across(const tt_tensor *target, const tt_tensor *source) {
    tt_value *v;
    TT_TRY(dense_value(source, "a copy to another device", &v));
    tt_buffer *moved = NULL;
    int device = target->storage->device;
    hlo_type type = hlo_type_make(source->dtype, source->rank, source->dims);
    tt_storage *temporary = tt_storage_create_locked(device, hlo_type_bytes(&type));
    tt_status status = v ? tt_buffer_copy_to_device(v->buffer, device, &moved) : TT_OK;
    tt_value_release(v);
    if (moved) temporary->value = tt_value_of_buffer(device, tt_type_intern(&type), moved);
    int64_t strides[HLO_MAX_RANK], stride = 1;
    for (int i = source->rank - 1; i >= 0; i--) { strides[i] = stride; stride *= source->dims[i]; }
    tt_tensor local = {.storage = temporary, .dims = source->dims, .strides = strides, .rank = source->rank, .dtype = source->dtype};
    if (!status) status = copy_op(target, &local, target->rank, target->dims, NULL);
    storage_drop(temporary);
    return status;
}

/* The same bytes in the same order: the value is shared, and copied when one of the two is next written. */
static bool shareable(const tt_tensor *target, const tt_tensor *source) {
    tt_strided to = tt_strided_of(target), from = tt_strided_of(source);
    int order[HLO_MAX_RANK];
    if (source->conj || source->neg || target->conj || target->neg || !source->storage->value) return false;
    if (target->dtype != source->dtype || target->rank != source->rank) return false;
    if (!tt_view_is_whole(&from, source->storage->value->type) || !tt_view_covers(&to, target->storage->bytes, order)) return false;
    for (int i = 0; i < target->rank; i++)
        if (order[i] != i || target->dims[i] != source->dims[i]) return false;
    return true;
}

tt_status tt_copy(const tt_tensor *target, const tt_tensor *source) {
    if (!elements(target)) return TT_OK;
    tt_lock();
    tt_status status = tt_runtime_init_locked();
    if (status) { /* nothing */ }
    else if (source->storage && source->storage->device != target->storage->device) status = copy_across(target, source);
    else if (source->storage && shareable(target, source)) {
        tt_value_retain(source->storage->value);
        if (source->storage->value != target->storage->value) tt_storage_put(target->storage, source->storage->value);
        else tt_value_release(source->storage->value);
    } else status = copy_op(target, source, target->rank, target->dims, NULL);
    tt_unlock();
    return status;
}

static tt_status resize_locked(tt_storage *s, int64_t bytes) {
    if (!s->value || !bytes) {
        if (s->value) tt_storage_put(s, NULL);
        s->bytes = bytes; s->hint = NULL;
        return TT_OK;
    }
    tt_dtype dtype = s->value->type->dtype;
    int64_t size = tt_dtype_size(dtype);
    if (bytes % size || s->bytes % size) { dtype = TT_U8; size = 1; }
    int64_t dims[1] = {s->bytes / size}, strides[1] = {1};
    tt_tensor flat = {.storage = s, .dims = dims, .strides = strides, .rank = 1, .dtype = dtype};
    tt_arg args[2] = {{.tag = TT_ARG_TENSOR, .u.tensor = &flat}, {.tag = TT_ARG_INT, .u.i = bytes / size}};
    tt_call call = {.row = &row_resize, .args = args, .n_args = 2, .device = s->device, .op_name = "resize_"};
    int n; const tt_result *results;
    TT_TRY(tt_op_call_locked(&call, &n, &results));
    tt_storage *fresh = results[0].storage;
    tt_value_retain(fresh->value);
    tt_storage_put(s, fresh->value);
    s->bytes = bytes; s->hint = NULL;
    storage_drop(fresh);
    return TT_OK;
}

tt_status tt_storage_resize(tt_storage *s, int64_t bytes) {
    if (bytes == s->bytes) return TT_OK;
    tt_lock();
    tt_status status = resize_locked(s, bytes);
    tt_unlock();
    return status;
}

static tt_status pointer_locked(tt_storage *s, bool writable, tt_buffer **out) {
    TT_TRY(tt_runtime_init_locked());
    const hlo_type *type = s->value ? s->value->type : tt_storage_type(s, TT_U8);
    bool shared = writable && s->value && (s->value->refs > 1 || (s->value->buffer && tt_buffer_refs(s->value->buffer) > 1) || s->value->pending);
    if (s->value && s->value->pending) { TT_TRY(tt_value_realize(s->value, "a host pointer is taken")); shared = writable && s->value->refs > 1; }
    if (!s->value || shared) {
        int64_t strides[HLO_MAX_RANK], stride = 1;
        for (int i = type->rank - 1; i >= 0; i--) { strides[i] = stride; stride *= type->dims[i]; }
        tt_tensor whole = {.storage = s, .dims = type->dims, .strides = strides, .rank = type->rank, .dtype = type->dtype};
        tt_storage *fresh;
        TT_TRY(copy_op(NULL, &whole, type->rank, type->dims, &fresh));
        tt_value_retain(fresh->value);
        tt_storage_put(s, fresh->value);
        storage_drop(fresh);
    }
    TT_TRY(tt_value_realize(s->value, "a host pointer is taken"));
    if (writable) s->version++;
    tt_buffer_retain(s->value->buffer);
    *out = s->value->buffer;
    return TT_OK;
}

tt_status tt_storage_host_pointer(tt_storage *s, bool writable, void **out) {
    tt_buffer *buffer;
    *out = NULL;
    tt_lock();
    tt_status status = pointer_locked(s, writable, &buffer);
    tt_unlock();
    TT_TRY(status);
    status = note_read(tt_buffer_wait(buffer));
    if (!status) status = tt_buffer_unsafe_pointer(buffer, out);
    tt_buffer_release(buffer);
    return status;
}

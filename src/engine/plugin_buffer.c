/* plugin_buffer.c - buffers: host arrays in and out, copies between chips, handles and their values.
 *
 * The engine's memory is host memory, so a transfer of a ready value is a copy in the call; only values still
 * being computed make a transfer wait for their event. Device layouts are dense and row-major, always. */
#include "base/checked.h"
#include "base/shelf.h"
#include "engine/plugin.h"
#include <stdlib.h>
#include <string.h>

static tt_shelf values = TT_SHELF, buffers = TT_SHELF;

/* ---- values ---- */
eng_value *eng_value_create(eng_device *device, int64_t bytes, eng_event *take_ready) {
    eng_value *v = tt_shelf_take(&values, sizeof *v);
    *v = (eng_value){.refs = 1, .device = device, .ready = take_ready, .bytes = bytes};
    return v;
}

void eng_value_release(eng_value *v) {
    if (!v || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (v->read_only) {
        if (v->on_free)
            v->on_free(v->data, v->free_context);
    } else {
        bool exposed = atomic_load(&v->exposed);
        if (exposed)
            free(v->rows);
        eng_memory_free_rows(v->device->memory, v->data, v->bytes, exposed ? NULL : v->rows);
    }
    if (v->freed) {
        eng_event_set(v->freed, TT_OK);
        eng_event_release(v->freed);
    }
    eng_event_release(v->ready);
    tt_shelf_give(&values, v);
}

/* ---- handles ---- */
tt_pjrt_buffer *eng_buffer_create(eng_value *value, const hlo_type *type) {
    tt_pjrt_buffer *b = tt_shelf_take(&buffers, sizeof *b);
    atomic_flag_clear(&b->busy);
    b->value = value;
    b->device = value->device;
    atomic_init(&b->external, 0);
    b->external_value = NULL;
    b->type.dtype = type->dtype;
    b->type.rank = type->rank;
    memcpy(b->type.dims, type->dims, sizeof *type->dims * (size_t)type->rank);
    return b;
}

static void lock(tt_pjrt_buffer *b) {
    while (atomic_flag_test_and_set_explicit(&b->busy, memory_order_acquire)) {
    }
}

static void unlock(tt_pjrt_buffer *b) {
    atomic_flag_clear_explicit(&b->busy, memory_order_release);
}

eng_value *eng_buffer_value(tt_pjrt_buffer *b) {
    lock(b);
    eng_value *v = b->value ? eng_value_retain(b->value) : NULL;
    unlock(b);
    return v;
}

eng_value *eng_buffer_take_value(tt_pjrt_buffer *b) {
    lock(b);
    eng_value *v = b->value;
    b->value = NULL;
    unlock(b);
    return v;
}

void eng_buffer_put_back(tt_pjrt_buffer *b, eng_value *v) {
    lock(b);
    b->value = v;
    unlock(b);
}

tt_status eng_buffer_deleted_error(const char *what) {
    TT_FAIL(INVALID_ARGUMENT, "%s: the buffer has been deleted or donated", what);
}

/* ---- strided copies ---- */
/* Copies a dims-shaped array between two stridings (bytes). */
static void copy_strided(int rank, const int64_t *dims, int64_t size, char *dst, const int64_t *to,
                         const char *src, const int64_t *from) {
    int64_t index[HLO_MAX_RANK] = {0}, run = size;
    int inner = rank;
    for (int i = 0; i < rank; i++)
        if (!dims[i])
            return;
    while (inner > 0 && (dims[inner - 1] == 1 || (to[inner - 1] == run && from[inner - 1] == run)))
        run *= dims[--inner];
    /* the innermost loop over what is left runs without the odometer */
    int64_t n = inner > 0 ? dims[inner - 1] : 1, d_step = inner > 0 ? to[inner - 1] : 0,
            s_step = inner > 0 ? from[inner - 1] : 0;
    int outer = inner > 0 ? inner - 1 : 0;
    for (;;) {
        char *d = dst;
        const char *s = src;
        for (int i = 0; i < outer; i++) {
            d += index[i] * to[i];
            s += index[i] * from[i];
        }
        if (n == 1)
            eng_copy_bytes(d, s, run);
        else if (run == 4)
            for (int64_t k = 0; k < n; k++, d += d_step, s += s_step)
                memcpy(d, s, 4);
        else
            for (int64_t k = 0; k < n; k++, d += d_step, s += s_step)
                memcpy(d, s, (size_t)run);
        int i = outer - 1;
        for (; i >= 0 && ++index[i] == dims[i]; i--)
            index[i] = 0;
        if (i < 0)
            return;
    }
}

static void dense_strides(const hlo_type *t, int64_t *out) {
    int64_t unit = tt_dtype_size(t->dtype);
    for (int i = t->rank - 1; i >= 0; i--) {
        out[i] = unit;
        unit *= t->dims[i];
    }
}

static bool is_dense(const hlo_type *t, const int64_t *strides) {
    int64_t dense[HLO_MAX_RANK];
    dense_strides(t, dense);
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] != 1 && strides[i] != dense[i])
            return false;
    return true;
}

/* Byte strides of a host array with this layout. */
static tt_status layout_strides(const hlo_type *t, const tt_pjrt_layout *layout, int64_t *out) {
    dense_strides(t, out);
    if (!layout)
        return TT_OK;
    if (layout->type == TT_PJRT_LAYOUT_STRIDES) {
        TT_CHECK(layout->strides.n_byte_strides == (size_t)t->rank, INVALID_ARGUMENT,
                 "a layout of %zu strides for rank %d", layout->strides.n_byte_strides, t->rank);
        for (int i = 0; i < t->rank; i++)
            out[i] = layout->strides.byte_strides[i];
        return TT_OK;
    }
    TT_CHECK(layout->type == TT_PJRT_LAYOUT_TILED && layout->tiled.n_minor_to_major == (size_t)t->rank,
             INVALID_ARGUMENT, "a layout of %zu dimensions for rank %d", layout->tiled.n_minor_to_major,
             t->rank);
    TT_CHECK(!layout->tiled.n_tiles, UNIMPLEMENTED, "tiled layouts are not supported by the engine");
    int64_t unit = tt_dtype_size(t->dtype);
    unsigned seen = 0;
    for (int i = 0; i < t->rank; i++) {
        int64_t dim = layout->tiled.minor_to_major[i];
        TT_CHECK(dim >= 0 && dim < t->rank && !(seen >> dim & 1), INVALID_ARGUMENT,
                 "minor_to_major is not a permutation");
        seen |= 1u << dim;
        out[dim] = unit;
        unit *= t->dims[dim];
    }
    return TT_OK;
}

static tt_status check_device_layout(const hlo_type *t, const tt_pjrt_layout *layout) {
    int64_t strides[HLO_MAX_RANK];
    TT_TRY(layout_strides(t, layout, strides));
    TT_CHECK(is_dense(t, strides), UNIMPLEMENTED,
             "the engine keeps buffers row-major: other device layouts are not supported");
    return TT_OK;
}

/* ---- creation ---- */
static tt_status make_type(int pjrt_type, const int64_t *dims, size_t rank, hlo_type *out) {
    tt_dtype dtype = tt_dtype_from_pjrt(pjrt_type);
    TT_CHECK(dtype != TT_DTYPE_NONE && dtype != TT_TOKEN, INVALID_ARGUMENT,
             "element type %d is not known to the engine", pjrt_type);
    TT_CHECK(rank <= HLO_MAX_RANK, INVALID_ARGUMENT, "rank %zu, expected at most %d", rank, HLO_MAX_RANK);
    *out = (hlo_type){.dtype = dtype, .rank = (int)rank};
    int64_t bytes = tt_dtype_size(dtype);
    for (size_t i = 0; i < rank; i++) {
        TT_CHECK(dims[i] >= 0, INVALID_ARGUMENT, "dimension %zu is %lld", i, (long long)dims[i]);
        TT_CHECK(tt_mul_i64(bytes, dims[i], &bytes), RESOURCE_EXHAUSTED,
                 "the array has more than 2^63 bytes");
        out->dims[i] = dims[i];
    }
    return TT_OK;
}

static tt_status choose_device(tt_pjrt_client *c, tt_pjrt_device *device, tt_pjrt_memory *memory,
                               eng_device **out) {
    *out = memory ? memory->device : device ? eng_device_of(device) : c->n_devices ? &c->devices[0] : NULL;
    TT_CHECK(*out && (*out)->client == c, INVALID_ARGUMENT, "no such device in this client");
    return TT_OK;
}

static tt_status from_host(tt_pjrt_buffer_from_host *a) {
    eng_device *device;
    hlo_type t;
    TT_TRY(choose_device(a->client, a->device, a->memory, &device));
    TT_TRY(make_type(a->type, a->dims, a->n_dims, &t));
    if (a->layout)
        TT_TRY(check_device_layout(&t, a->layout));
    TT_CHECK(!a->n_byte_strides || a->n_byte_strides == a->n_dims, INVALID_ARGUMENT,
             "%zu strides for rank %zu", a->n_byte_strides, a->n_dims);
    int64_t bytes = hlo_type_bytes(&t);
    TT_CHECK(a->data || !bytes, INVALID_ARGUMENT, "the host array is NULL");
    bool dense = !a->n_byte_strides || is_dense(&t, a->byte_strides);
    eng_value *v = eng_value_create(device, bytes, NULL);
    if (a->semantics >= TT_PJRT_ZERO_COPY && dense && bytes && (uintptr_t)a->data % 64 == 0) {
        v->read_only = true;
        v->data = (void *)(uintptr_t)a->data;
        v->freed = eng_event_create();
        a->done_with_host = (tt_pjrt_event *)eng_event_retain(v->freed);
        a->buffer = eng_buffer_create(v, &t);
        return TT_OK;
    }
    tt_status status = eng_memory_alloc(device->memory, bytes, &v->data);
    if (status) {
        eng_value_release(v);
        return status;
    }
    int64_t to[HLO_MAX_RANK];
    dense_strides(&t, to);
    if (dense)
        eng_copy_bytes(v->data, a->data, bytes);
    else
        copy_strided(t.rank, t.dims, tt_dtype_size(t.dtype), v->data, to, a->data, a->byte_strides);
    a->done_with_host = (tt_pjrt_event *)eng_event_done();
    a->buffer = eng_buffer_create(v, &t);
    return TT_OK;
}

tt_pjrt_error *eng_Client_BufferFromHostBuffer(void *args) {
    ENG_ARGS(buffer_from_host, a, buffer);
    a->buffer = NULL;
    a->done_with_host = NULL;
    return eng_pjrt_error(from_host(a));
}

static tt_status uninitialized(tt_pjrt_create_uninitialized *a) {
    eng_device *device;
    hlo_type t;
    TT_TRY(choose_device(a->client, a->device, a->memory, &device));
    TT_TRY(make_type(a->type, a->dims, a->n_dims, &t));
    if (a->layout)
        TT_TRY(check_device_layout(&t, a->layout));
    eng_value *v = eng_value_create(device, hlo_type_bytes(&t), NULL);
    tt_status status = eng_memory_alloc(device->memory, v->bytes, &v->data);
    if (status)
        eng_value_release(v);
    else
        a->buffer = eng_buffer_create(v, &t);
    return status;
}

tt_pjrt_error *eng_Client_CreateUninitializedBuffer(void *args) {
    ENG_ARGS(create_uninitialized, a, buffer);
    a->buffer = NULL;
    return eng_pjrt_error(uninitialized(a));
}

static tt_status create_view(tt_pjrt_create_view *a, tt_pjrt_memory *memory) {
    eng_device *device;
    hlo_type t;
    TT_TRY(choose_device(a->client, a->device, memory, &device));
    TT_TRY(make_type(a->type, a->dims, a->n_dims, &t));
    if (a->layout)
        TT_TRY(check_device_layout(&t, a->layout));
    eng_value *v = eng_value_create(device, hlo_type_bytes(&t), NULL);
    v->read_only = true;
    v->data = a->data;
    v->on_free = a->on_delete;
    v->free_context = a->on_delete_context;
    a->buffer = eng_buffer_create(v, &t);
    return TT_OK;
}

tt_pjrt_error *eng_Client_CreateViewOfDeviceBuffer(void *args) {
    ENG_ARGS(create_view, a, buffer);
    bool newer = a->struct_size >= offsetof(tt_pjrt_create_view, memory) + sizeof a->memory;
    a->buffer = NULL;
    return eng_pjrt_error(create_view(a, newer ? a->memory : NULL));
}

/* ---- to the host ---- */
typedef struct transfer {
    eng_value *value;
    eng_event *done;
    hlo_type type;
    int64_t strides[HLO_MAX_RANK];
    int64_t offset, bytes; /* raw when bytes >= 0 */
    char *host;
} transfer;

static void transfer_copy(const transfer *t) {
    const char *data = t->value->data;
    int64_t from[HLO_MAX_RANK];
    dense_strides(&t->type, from);
    if (t->bytes >= 0)
        eng_copy_bytes(t->host, data + t->offset, t->bytes);
    else if (is_dense(&t->type, t->strides))
        eng_copy_bytes(t->host, data, t->value->bytes);
    else
        copy_strided(t->type.rank, t->type.dims, tt_dtype_size(t->type.dtype), t->host, t->strides, data,
                     from);
}

static void transfer_when_ready(tt_pjrt_error *error, void *context) {
    transfer *t = context;
    if (!error)
        transfer_copy(t);
    eng_value_release(t->value);
    eng_event_set(t->done, (tt_status)error);
    eng_event_release(t->done);
    free(t);
}

/* Consumes t->value. */
static tt_status transfer_start(transfer *t, tt_pjrt_event **out_event) {
    if (eng_value_is_ready(t->value)) {
        tt_status status = t->value->ready ? eng_status_copy(eng_event_error(t->value->ready)) : TT_OK;
        if (!status)
            transfer_copy(t);
        eng_value_release(t->value);
        *out_event = (tt_pjrt_event *)eng_event_done();
        if (status) { /* asynchronous errors come with the event */
            eng_event *failed = eng_event_create();
            eng_event_set(failed, status);
            *out_event = (tt_pjrt_event *)failed;
        }
        return TT_OK;
    }
    transfer *later = tt_malloc(sizeof *later);
    *later = *t;
    later->done = eng_event_create();
    *out_event = (tt_pjrt_event *)eng_event_retain(later->done);
    eng_event *ready = eng_event_retain(t->value->ready);
    eng_event_on_ready(ready, transfer_when_ready, later);
    eng_event_release(ready);
    return TT_OK;
}

static tt_status to_host(tt_pjrt_buffer_to_host *a) {
    const hlo_type *type = &a->source->type;
    transfer t = {.type = *type, .bytes = -1, .host = a->host};
    int64_t bytes = hlo_type_bytes(type);
    TT_TRY(layout_strides(type, a->layout, t.strides));
    if (!a->host) {
        a->host_size = (size_t)bytes;
        return TT_OK;
    }
    TT_CHECK(a->host_size >= (size_t)bytes, INVALID_ARGUMENT,
             "the host array has %zu bytes, the buffer needs %lld", a->host_size, (long long)bytes);
    t.value = eng_buffer_value(a->source);
    if (!t.value)
        return eng_buffer_deleted_error("copy to host");
    return transfer_start(&t, &a->event);
}

tt_pjrt_error *eng_Buffer_ToHostBuffer(void *args) {
    ENG_ARGS(buffer_to_host, a, event);
    a->event = NULL;
    return eng_pjrt_error(to_host(a));
}

static tt_status copy_raw(tt_pjrt_buffer_copy_raw *a) {
    int64_t bytes = hlo_type_bytes(&a->buffer->type);
    TT_CHECK(a->offset >= 0 && a->size >= 0 && a->offset <= bytes && a->size <= bytes - a->offset,
             INVALID_ARGUMENT, "bytes %lld + %lld of a buffer of %lld", (long long)a->offset,
             (long long)a->size, (long long)bytes);
    transfer t = {.type = a->buffer->type, .offset = a->offset, .bytes = a->size, .host = a->host};
    t.value = eng_buffer_value(a->buffer);
    if (!t.value)
        return eng_buffer_deleted_error("raw copy to host");
    return transfer_start(&t, &a->event);
}

tt_pjrt_error *eng_Buffer_CopyRawToHost(void *args) {
    ENG_ARGS(buffer_copy_raw, a, event);
    a->event = NULL;
    return eng_pjrt_error(copy_raw(a));
}

/* ---- between devices ---- */
typedef struct copy_task {
    eng_task task;
    eng_value *from, *to;
} copy_task;

static void copy_run(eng_task *task) {
    copy_task *t = (copy_task *)task;
    tt_status status = t->from->ready ? eng_event_wait(t->from->ready) : TT_OK;
    if (!status)
        status = eng_memory_alloc(t->to->device->memory, t->to->bytes, &t->to->data);
    if (!status)
        eng_copy_bytes(t->to->data, t->from->data, t->to->bytes);
    eng_value_release(t->from);
    eng_event_set(t->to->ready, status);
    eng_value_release(t->to);
    free(t);
}

static tt_status copy_to(tt_pjrt_buffer *b, eng_device *device, tt_pjrt_buffer **out) {
    eng_value *from = eng_buffer_value(b);
    if (!from)
        return eng_buffer_deleted_error("copy to device");
    eng_value *to = eng_value_create(device, from->bytes, NULL);
    if (eng_value_is_ready(from)) {
        tt_status status = from->ready ? eng_status_copy(eng_event_error(from->ready)) : TT_OK;
        if (!status)
            status = eng_memory_alloc(device->memory, to->bytes, &to->data);
        if (!status)
            eng_copy_bytes(to->data, from->data, to->bytes);
        eng_value_release(from);
        if (status) {
            eng_value_release(to);
            return status;
        }
    } else {
        copy_task *t = tt_malloc(sizeof *t);
        to->ready = eng_event_create();
        *t = (copy_task){.task = {.run = copy_run}, .from = from, .to = eng_value_retain(to)};
        eng_queue_push(&device->queue, &t->task, device->id);
    }
    *out = eng_buffer_create(to, &b->type);
    return TT_OK;
}

tt_pjrt_error *eng_Buffer_CopyToDevice(void *args) {
    ENG_ARGS(buffer_copy_to, a, copy);
    a->copy = NULL;
    return eng_pjrt_error(copy_to(a->buffer, eng_device_of(a->target), &a->copy));
}

tt_pjrt_error *eng_Buffer_CopyToMemory(void *args) {
    ENG_ARGS(buffer_copy_to, a, copy);
    a->copy = NULL;
    return eng_pjrt_error(copy_to(a->buffer, ((tt_pjrt_memory *)a->target)->device, &a->copy));
}

/* ---- the rest ---- */
tt_pjrt_error *eng_Buffer_Destroy(void *args) {
    ENG_ARGS(object, a, object);
    tt_pjrt_buffer *b = a->object;
    if (!b)
        return NULL;
    eng_value_release(b->value);
    tt_shelf_give(&buffers, b);
    return NULL;
}

tt_pjrt_error *eng_Buffer_ElementType(void *args) {
    ENG_ARGS(get_int, a, value);
    a->value = tt_dtype_to_pjrt(((const tt_pjrt_buffer *)a->object)->type.dtype);
    return NULL;
}

tt_pjrt_error *eng_Buffer_Dimensions(void *args) {
    ENG_ARGS(get_array, a, count);
    const tt_pjrt_buffer *b = a->object;
    a->items = b->type.dims;
    a->count = (size_t)b->type.rank;
    return NULL;
}

tt_pjrt_error *eng_Buffer_UnpaddedDimensions(void *args) {
    return eng_Buffer_Dimensions(args);
}

tt_pjrt_error *eng_Buffer_DynamicDimensionIndices(void *args) {
    ENG_ARGS(get_array, a, count);
    a->items = NULL;
    a->count = 0;
    return NULL;
}

tt_pjrt_error *eng_Buffer_GetMemoryLayout(void *args) {
    static const int64_t descending[HLO_MAX_RANK] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    ENG_ARGS(buffer_memory_layout, a, layout);
    int rank = a->buffer->type.rank;
    a->layout = (tt_pjrt_layout){.struct_size = sizeof a->layout, .type = TT_PJRT_LAYOUT_TILED};
    a->layout.tiled.struct_size = sizeof a->layout.tiled;
    a->layout.tiled.minor_to_major = descending + HLO_MAX_RANK - rank;
    a->layout.tiled.n_minor_to_major = (size_t)rank;
    return NULL;
}

tt_pjrt_error *eng_Buffer_OnDeviceSizeInBytes(void *args) {
    ENG_ARGS(get_size, a, value);
    a->value = (size_t)hlo_type_bytes(&((const tt_pjrt_buffer *)a->object)->type);
    return NULL;
}

tt_pjrt_error *eng_Buffer_Device(void *args) {
    ENG_ARGS(get_pointer, a, value);
    a->value = ((const tt_pjrt_buffer *)a->object)->device;
    return NULL;
}

tt_pjrt_error *eng_Buffer_Memory(void *args) {
    ENG_ARGS(get_pointer, a, value);
    a->value = &((const tt_pjrt_buffer *)a->object)->device->memory_object;
    return NULL;
}

tt_pjrt_error *eng_Buffer_Delete(void *args) {
    ENG_ARGS(object, a, object);
    eng_value_release(eng_buffer_take_value(a->object));
    return NULL;
}

tt_pjrt_error *eng_Buffer_IsDeleted(void *args) {
    ENG_ARGS(get_bool, a, value);
    tt_pjrt_buffer *b = (tt_pjrt_buffer *)(uintptr_t)a->object;
    lock(b);
    a->value = b->value == NULL;
    unlock(b);
    return NULL;
}

tt_pjrt_error *eng_Buffer_IsOnCpu(void *args) {
    ENG_ARGS(get_bool, a, value);
    a->value = true;
    return NULL;
}

tt_pjrt_error *eng_Buffer_ReadyEvent(void *args) {
    ENG_ARGS(get_pointer, a, value);
    a->value = NULL;
    eng_value *v = eng_buffer_value((tt_pjrt_buffer *)(uintptr_t)a->object);
    if (!v)
        return eng_pjrt_error(eng_buffer_deleted_error("ready event"));
    a->value = v->ready ? eng_event_retain(v->ready) : eng_event_done();
    eng_value_release(v);
    return NULL;
}

/* Waits: a value's address is not known before it is computed. */
static tt_status data_of(tt_pjrt_buffer *b, void **out) {
    *out = NULL;
    eng_value *v = eng_buffer_value(b);
    if (!v)
        return eng_buffer_deleted_error("device pointer");
    atomic_store(&v->exposed, true);
    tt_status status = v->ready ? eng_event_wait(v->ready) : TT_OK;
    *out = v->data;
    eng_value_release(v);
    return status;
}

tt_pjrt_error *eng_Buffer_UnsafePointer(void *args) {
    ENG_ARGS(get_size, a, value);
    void *data;
    tt_status status = data_of((tt_pjrt_buffer *)(uintptr_t)a->object, &data);
    a->value = (size_t)data;
    return eng_pjrt_error(status);
}

tt_pjrt_error *eng_Buffer_OpaqueDeviceMemoryDataPointer(void *args) {
    ENG_ARGS(get_pointer, a, value);
    return eng_pjrt_error(data_of((tt_pjrt_buffer *)(uintptr_t)a->object, &a->value));
}

/* An external reference keeps the memory where it is: the value is shared, so a donation copies. */
tt_pjrt_error *eng_Buffer_IncreaseExternalReferenceCount(void *args) {
    ENG_ARGS(object, a, object);
    tt_pjrt_buffer *b = a->object;
    lock(b);
    eng_value *v = b->value;
    if (v) {
        eng_value_retain(v);
        if (!atomic_fetch_add(&b->external, 1))
            b->external_value = v;
    }
    unlock(b);
    return v ? NULL : eng_pjrt_error(eng_buffer_deleted_error("external reference"));
}

tt_pjrt_error *eng_Buffer_DecreaseExternalReferenceCount(void *args) {
    ENG_ARGS(object, a, object);
    tt_pjrt_buffer *b = a->object;
    lock(b);
    eng_value *v = NULL;
    if (atomic_load(&b->external) > 0) {
        v = b->external_value;
        if (atomic_fetch_sub(&b->external, 1) == 1)
            b->external_value = NULL;
    }
    unlock(b);
    if (!v)
        return eng_pjrt_error(TT_ERROR(FAILED_PRECONDITION, "the buffer has no external reference to drop"));
    eng_value_release(v);
    return NULL;
}

/* buffer.c - arrays on devices: made from host memory, read back, copied, counted. */
#include "base/arena.h"
#include "base/checked.h"
#include "base/shelf.h"
#include "pjrt/objects.h"
#include <stdlib.h>
#include <string.h>

/* Per device; the last entry serves all devices beyond the table. What is live is the difference of two
 * counters that only grow, so a creation costs two atomic additions. */
enum { MAX_COUNTED = 256, MAX_RANK = 64 };
static struct {
    atomic_llong allocations, total, frees, freed, peak;
} counters[MAX_COUNTED];

static tt_shelf buffers = TT_SHELF;

static int counter_of(int device) {
    return device >= 0 && device < MAX_COUNTED ? device : MAX_COUNTED - 1;
}

static void count_in(int device, int64_t bytes) {
    int k = counter_of(device);
    atomic_fetch_add_explicit(&counters[k].allocations, 1, memory_order_relaxed);
    long long total = atomic_fetch_add_explicit(&counters[k].total, bytes, memory_order_relaxed) + bytes;
    long long live = total - atomic_load_explicit(&counters[k].freed, memory_order_relaxed);
    long long peak = atomic_load_explicit(&counters[k].peak, memory_order_relaxed);
    while (live > peak && !atomic_compare_exchange_weak_explicit(
                              &counters[k].peak, &peak, live, memory_order_relaxed, memory_order_relaxed)) {
    }
}

void tt_buffer_uncount(tt_buffer *b) {
    if (!atomic_exchange_explicit(&b->counted, false, memory_order_relaxed))
        return;
    int k = counter_of(b->device);
    atomic_fetch_add_explicit(&counters[k].frees, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counters[k].freed, b->bytes, memory_order_relaxed);
}

void tt_buffer_stats_get(int device, tt_buffer_stats *out) {
    int k = counter_of(device);
    long long frees = atomic_load(&counters[k].frees), freed = atomic_load(&counters[k].freed);
    long long allocations = atomic_load(&counters[k].allocations), total = atomic_load(&counters[k].total);
    *out = (tt_buffer_stats){
        .live_bytes = total - freed,
        .peak_bytes = atomic_load(&counters[k].peak),
        .live_buffers = allocations - frees,
        .allocations = allocations,
        .frees = frees,
        .total_allocated = total,
    };
}

void tt_buffer_stats_reset_peak(int device) {
    int k = counter_of(device);
    atomic_store(&counters[k].peak, atomic_load(&counters[k].total) - atomic_load(&counters[k].freed));
}

tt_buffer *tt_buffer_wrap(tt_client *c, int device, tt_pjrt_buffer *buffer, const tt_output *type) {
    tt_buffer *b = tt_shelf_take(&buffers, sizeof *b);
    atomic_init(&b->refs, 1);
    b->device = (int16_t)device;
    b->rank = (int16_t)type->rank;
    b->dtype = type->dtype;
    atomic_init(&b->counted, true);
    b->bytes = type->bytes;
    tt_client_retain(c);
    b->client = c;
    b->buffer = buffer;
    count_in(device, type->bytes);
    return b;
}

void tt_buffer_retain(tt_buffer *b) {
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
}

void tt_buffer_release(tt_buffer *b) {
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    tt_pjrt_destroy(b->client->plugin, TT_PJRT_Buffer_Destroy, b->buffer);
    tt_buffer_uncount(b);
    tt_client_release(b->client);
    tt_shelf_give(&buffers, b);
}

int64_t tt_buffer_refs(const tt_buffer *b) {
    return atomic_load_explicit(&b->refs, memory_order_acquire);
}

int64_t tt_buffer_bytes(const tt_buffer *b) {
    return b->bytes;
}

int tt_buffer_device(const tt_buffer *b) {
    return b->device;
}

tt_status tt_buffer_from_host(tt_client *c, int device, tt_dtype dtype, int rank, const int64_t *dims,
                              const void *host, bool keep_alive, tt_buffer **out) {
    *out = NULL;
    TT_TRY(tt_client_check_device(c, device));
    TT_CHECK(rank >= 0 && rank <= MAX_RANK, INVALID_ARGUMENT,
             "an array of rank %d cannot go to the device; at most %d", rank, MAX_RANK);
    int type = tt_dtype_to_pjrt(dtype);
    TT_CHECK(type > 0, INVALID_ARGUMENT, "PJRT has no element type for %s", tt_dtype_name(dtype));
    tt_output shape = {tt_dtype_size(dtype), dtype, rank};
    for (int i = 0; i < rank; i++)
        TT_CHECK(dims[i] >= 0 && tt_mul_i64(shape.bytes, dims[i], &shape.bytes), INVALID_ARGUMENT,
                 "an array with dimension %lld is too large or negative", (long long)dims[i]);
    static const int64_t nothing;
    TT_PJRT_ARGS(buffer_from_host, args);
    args.a.client = c->client;
    args.a.data =
        host ? host : &nothing; /* an empty array may come without memory; plugins want an address */
    args.a.type = type;
    args.a.dims = dims;
    args.a.n_dims = (size_t)rank;
    args.a.semantics = keep_alive ? TT_PJRT_UNTIL_TRANSFER : TT_PJRT_ONLY_DURING_CALL;
    args.a.device = c->devices[device].device;
    TT_TRY(TT_PJRT_CALL(c->plugin, Client_BufferFromHostBuffer, args));
    tt_pjrt_destroy(c->plugin, TT_PJRT_Event_Destroy, args.a.done_with_host);
    *out = tt_buffer_wrap(c, device, args.a.buffer, &shape);
    return TT_OK;
}

tt_status tt_buffer_wait(tt_buffer *b) {
    TT_PJRT_ARGS(get_pointer, args);
    args.a.object = b->buffer;
    TT_TRY(TT_PJRT_CALL(b->client->plugin, Buffer_ReadyEvent, args));
    return tt_pjrt_await(b->client->plugin, args.a.value);
}

tt_status tt_buffer_unsafe_pointer(tt_buffer *b, void **out) {
    *out = NULL;
    if (!tt_pjrt_has(b->client->plugin->api, TT_PJRT_Buffer_UnsafePointer))
        return TT_OK;
    TT_PJRT_ARGS(get_size, args);
    args.a.object = b->buffer;
    tt_status error = TT_PJRT_CALL(b->client->plugin, Buffer_UnsafePointer, args);
    if (error && tt_status_code(error) == TT_UNIMPLEMENTED) {
        tt_status_free(error);
        return TT_OK;
    }
    TT_TRY(error);
    *out = (void *)args.a.value;
    return TT_OK;
}

tt_status tt_buffer_to_host(tt_buffer *b, void *host, size_t bytes) {
    TT_CHECK(bytes == (size_t)b->bytes, INVALID_ARGUMENT, "reading %zu bytes from a buffer of %lld", bytes,
             (long long)b->bytes);
    if (b->client->host_memory) {
        void *data;
        TT_TRY(tt_buffer_wait(b));
        TT_TRY(tt_buffer_unsafe_pointer(b, &data));
        if (data || !bytes) {
            if (bytes)
                memcpy(host, data, bytes);
            return TT_OK;
        }
    }
    /* Without a layout a plugin gives its device's order. */
    int64_t minor_to_major[MAX_RANK];
    for (int i = 0; i < b->rank && i < MAX_RANK; i++)
        minor_to_major[i] = b->rank - 1 - i;
    TT_PJRT_ARGS(layout, layout);
    layout.a.struct_size = sizeof layout;
    layout.a.type = TT_PJRT_LAYOUT_TILED;
    layout.a.tiled = (tt_pjrt_layout_tiled){.struct_size = sizeof layout.a.tiled,
                                            .minor_to_major = minor_to_major,
                                            .n_minor_to_major = (size_t)b->rank};
    char nothing;
    TT_PJRT_ARGS(buffer_to_host, args);
    args.a.source = b->buffer;
    args.a.layout = &layout.a;
    args.a.host = host ? host : &nothing; /* NULL would ask for the size */
    args.a.host_size = bytes;
    TT_TRY(TT_PJRT_CALL(b->client->plugin, Buffer_ToHostBuffer, args));
    return tt_pjrt_await(b->client->plugin, args.a.event);
}

tt_status tt_buffer_copy_to_device(tt_buffer *b, int device, tt_buffer **out) {
    *out = NULL;
    TT_TRY(tt_client_check_device(b->client, device));
    TT_PJRT_ARGS(buffer_copy_to, args);
    args.a.buffer = b->buffer;
    args.a.target = b->client->devices[device].device;
    TT_TRY(TT_PJRT_CALL(b->client->plugin, Buffer_CopyToDevice, args));
    tt_output type = {b->bytes, b->dtype, b->rank};
    *out = tt_buffer_wrap(b->client, device, args.a.copy, &type);
    return TT_OK;
}

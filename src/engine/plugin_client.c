/* plugin_client.c - the client: virtual chips, their memories and descriptions, and the topology.
 *
 * Knows no programs and no buffers. */
#include "base/env.h"
#include "engine/plugin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 1024 };

/* ---- options ---- */
typedef struct client_options {
    int64_t n_devices, memory_bytes;
    bool reference, asynchronous;
} client_options;

static bool named(const tt_pjrt_named_value *v, const char *name) {
    return v->name_size == strlen(name) && !memcmp(v->name, name, v->name_size);
}

static tt_status want(const tt_pjrt_named_value *v, int type, const char *what) {
    TT_CHECK(v->type == type, INVALID_ARGUMENT, "client option %.*s: expected %s", (int)v->name_size, v->name,
             what);
    return TT_OK;
}

static tt_status read_option(const tt_pjrt_named_value *v, client_options *o) {
    /* what other plugins' clients pass and we have no use for */
    static const char *const ignored[] = {"premapped_buffer_size",
                                          "process_id",
                                          "num_nodes",
                                          "node_id",
                                          "max_inflight_computations",
                                          "ml_framework_name",
                                          "ml_framework_version",
                                          "session_id",
                                          "rank",
                                          "platform_name",
                                          "allocator",
                                          "memory_fraction",
                                          "preallocate"};
    if (named(v, "cpu_device_count") || named(v, "n_devices")) {
        TT_TRY(want(v, TT_PJRT_VALUE_INT64, "an integer"));
        TT_CHECK(v->int64 >= 0 && v->int64 <= MAX_DEVICES, INVALID_ARGUMENT,
                 "client option %.*s: %lld devices, expected 0 to %d", (int)v->name_size, v->name,
                 (long long)v->int64, MAX_DEVICES);
        o->n_devices = v->int64;
        return TT_OK;
    }
    if (named(v, "memory_bytes")) {
        TT_TRY(want(v, TT_PJRT_VALUE_INT64, "an integer"));
        o->memory_bytes = v->int64;
        return TT_OK;
    }
    if (named(v, "asynchronous")) {
        TT_TRY(want(v, TT_PJRT_VALUE_BOOL, "a boolean"));
        o->asynchronous = v->boolean;
        return TT_OK;
    }
    if (named(v, "kernels")) {
        TT_TRY(want(v, TT_PJRT_VALUE_STRING, "'fast' or 'reference'"));
        bool reference = v->value_size == 9 && !memcmp(v->string, "reference", 9);
        TT_CHECK(reference || (v->value_size == 4 && !memcmp(v->string, "fast", 4)), INVALID_ARGUMENT,
                 "client option kernels: '%.*s', expected 'fast' or 'reference'", (int)v->value_size,
                 v->string);
        o->reference = reference;
        return TT_OK;
    }
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (named(v, ignored[i]))
            return TT_OK;
    TT_FAIL(INVALID_ARGUMENT,
            "unknown client option '%.*s': the engine knows cpu_device_count, n_devices, memory_bytes, "
            "asynchronous, kernels",
            (int)v->name_size, v->name);
}

/* ---- devices ---- */
static void describe(tt_pjrt_description *d, int id) {
    d->id = id;
    snprintf(d->kind, sizeof d->kind, "virtual TPU");
    snprintf(d->text, sizeof d->text, "EngineDevice(id=%d)", id);
    snprintf(d->debug, sizeof d->debug, "torch_tpu engine, virtual chip %d", id);
}

static void device_init(eng_device *d, tt_pjrt_client *client, int id, int64_t memory_bytes) {
    d->client = client;
    d->id = id;
    describe(&d->description, id);
    d->memory_object.id = id;
    d->memory_object.device = d;
    d->memory_object.client = client;
    snprintf(d->memory_object.text, sizeof d->memory_object.text, "EngineMemory(id=%d, device=%d)", id, id);
    d->memories[0] = &d->memory_object;
    d->self[0] = (tt_pjrt_device *)d;
    d->memory = eng_memory_create(id, memory_bytes);
    d->arena = tt_arena_create();
    eng_queue_init(&d->queue);
}

void eng_topology_init(tt_pjrt_topology *t, int n) {
    t->n_devices = n;
    t->descriptions = tt_calloc((size_t)n, sizeof *t->descriptions);
    t->list = tt_calloc((size_t)n, sizeof(void *));
    for (int i = 0; i < n; i++) {
        describe(&t->descriptions[i], i);
        t->list[i] = &t->descriptions[i];
    }
}

void eng_topology_deinit(tt_pjrt_topology *t) {
    free(t->descriptions);
    free(t->list);
}

/* ---- client ---- */
tt_pjrt_error *eng_Client_Create(void *args) {
    ENG_ARGS(client_create, a, client);
    int64_t chips = tt_env_int(TT_ENV_VIRTUAL_CHIPS);
    client_options o = {.n_devices = chips < 1             ? 1
                                     : chips > MAX_DEVICES ? MAX_DEVICES
                                                           : chips,
                        .memory_bytes = tt_env_int(TT_ENV_MEMORY),
                        .asynchronous = true,
                        .reference = !strcmp(tt_env_text(TT_ENV_KERNELS), "reference")};
    for (size_t i = 0; i < a->n_options; i++) {
        tt_status status = read_option(&a->options[i], &o);
        if (status)
            return eng_pjrt_error(status);
    }
    tt_pjrt_client *c = tt_calloc(1, sizeof *c);
    c->n_devices = (int)o.n_devices;
    c->reference = o.reference;
    c->asynchronous = o.asynchronous;
    c->devices = tt_calloc((size_t)c->n_devices, sizeof *c->devices);
    c->device_list = tt_calloc((size_t)c->n_devices, sizeof(void *));
    c->memory_list = tt_calloc((size_t)c->n_devices, sizeof(void *));
    pthread_mutex_init(&c->launch_lock, NULL);
    for (int i = 0; i < c->n_devices; i++) {
        device_init(&c->devices[i], c, i, o.memory_bytes);
        c->device_list[i] = (tt_pjrt_device *)&c->devices[i];
        c->memory_list[i] = &c->devices[i].memory_object;
    }
    eng_topology_init(&c->topology, c->n_devices);
    a->client = c;
    return NULL;
}

/* Buffers may outlive their client (an interpreter that exits frees in any order), so what they point to
 * stays, listed here. */
static struct {
    pthread_mutex_t lock;
    tt_pjrt_client *first;
} retired = {.lock = PTHREAD_MUTEX_INITIALIZER};

tt_pjrt_error *eng_Client_Destroy(void *args) {
    ENG_ARGS(object, a, object);
    tt_pjrt_client *c = a->object;
    if (!c)
        return NULL;
    for (int i = 0; i < c->n_devices; i++)
        eng_queue_deinit(&c->devices[i].queue);
    for (int i = 0; i < c->n_devices; i++) {
        eng_memory_trim(c->devices[i].memory);
        tt_arena_destroy(c->devices[i].arena);
        c->devices[i].arena = NULL;
    }
    pthread_mutex_lock(&retired.lock);
    c->next_retired = retired.first;
    retired.first = c;
    pthread_mutex_unlock(&retired.lock);
    return NULL;
}

static tt_pjrt_error *give(tt_pjrt_string *a, const char *text) {
    a->text = text;
    a->size = strlen(text);
    return NULL;
}

tt_pjrt_error *eng_Client_PlatformName(void *args) {
    ENG_ARGS(string, a, size);
    return give(a, ENG_PLATFORM);
}

tt_pjrt_error *eng_Client_PlatformVersion(void *args) {
    ENG_ARGS(string, a, size);
    return give(a, ENG_VERSION);
}

tt_pjrt_error *eng_Client_ProcessIndex(void *args) {
    ENG_ARGS(get_int, a, value);
    a->value = 0;
    return NULL;
}

tt_pjrt_error *eng_Client_Devices(void *args) {
    ENG_ARGS(get_array, a, count);
    const tt_pjrt_client *c = a->object;
    a->items = c->device_list;
    a->count = (size_t)c->n_devices;
    return NULL;
}

tt_pjrt_error *eng_Client_AddressableDevices(void *args) {
    return eng_Client_Devices(args);
}

tt_pjrt_error *eng_Client_AddressableMemories(void *args) {
    ENG_ARGS(get_array, a, count);
    const tt_pjrt_client *c = a->object;
    a->items = c->memory_list;
    a->count = (size_t)c->n_devices;
    return NULL;
}

tt_pjrt_error *eng_Client_LookupDevice(void *args) {
    ENG_ARGS(client_lookup, a, device);
    if (a->id < 0 || a->id >= a->client->n_devices)
        return eng_pjrt_error(TT_ERROR(INVALID_ARGUMENT, "no device with id %d: the client has %d", a->id,
                                       a->client->n_devices));
    a->device = a->client->device_list[a->id];
    return NULL;
}

tt_pjrt_error *eng_Client_LookupAddressableDevice(void *args) {
    return eng_Client_LookupDevice(args);
}

tt_pjrt_error *eng_Client_DefaultDeviceAssignment(void *args) {
    ENG_ARGS(client_default_assignment, a, assignment);
    int64_t n = (int64_t)a->n_replicas * a->n_partitions;
    if (a->n_replicas < 1 || a->n_partitions < 1 || n > a->client->n_devices ||
        (int64_t)a->assignment_size < n)
        return eng_pjrt_error(TT_ERROR(INVALID_ARGUMENT,
                                       "no assignment of %d x %d to %d devices (room for %zu)", a->n_replicas,
                                       a->n_partitions, a->client->n_devices, a->assignment_size));
    for (int i = 0; i < (int)n; i++)
        a->assignment[i] = i;
    return NULL;
}

tt_pjrt_error *eng_Client_TopologyDescription(void *args) {
    ENG_ARGS(get_pointer, a, value);
    a->value = &((tt_pjrt_client *)a->object)->topology;
    return NULL;
}

/* ---- device descriptions ---- */
tt_pjrt_error *eng_DeviceDescription_Id(void *args) {
    ENG_ARGS(get_int, a, value);
    a->value = ((const tt_pjrt_description *)a->object)->id;
    return NULL;
}

tt_pjrt_error *eng_DeviceDescription_ProcessIndex(void *args) {
    ENG_ARGS(get_int, a, value);
    a->value = 0;
    return NULL;
}

tt_pjrt_error *eng_DeviceDescription_Attributes(void *args) {
    ENG_ARGS(get_attributes, a, items);
    a->items = NULL;
    a->count = 0;
    return NULL;
}

tt_pjrt_error *eng_DeviceDescription_Kind(void *args) {
    ENG_ARGS(string, a, size);
    return give(a, ((const tt_pjrt_description *)a->object)->kind);
}

tt_pjrt_error *eng_DeviceDescription_DebugString(void *args) {
    ENG_ARGS(string, a, size);
    return give(a, ((const tt_pjrt_description *)a->object)->debug);
}

tt_pjrt_error *eng_DeviceDescription_ToString(void *args) {
    ENG_ARGS(string, a, size);
    return give(a, ((const tt_pjrt_description *)a->object)->text);
}

/* ---- devices ---- */
tt_pjrt_error *eng_Device_GetDescription(void *args) {
    ENG_ARGS(get_pointer, a, value);
    a->value = &eng_device_of(a->object)->description;
    return NULL;
}

tt_pjrt_error *eng_Device_IsAddressable(void *args) {
    ENG_ARGS(get_bool, a, value);
    a->value = true;
    return NULL;
}

tt_pjrt_error *eng_Device_LocalHardwareId(void *args) {
    ENG_ARGS(get_int, a, value);
    a->value = eng_device_of(a->object)->id;
    return NULL;
}

tt_pjrt_error *eng_Device_AddressableMemories(void *args) {
    ENG_ARGS(get_array, a, count);
    a->items = eng_device_of(a->object)->memories;
    a->count = 1;
    return NULL;
}

tt_pjrt_error *eng_Device_DefaultMemory(void *args) {
    ENG_ARGS(get_pointer, a, value);
    a->value = &eng_device_of(a->object)->memory_object;
    return NULL;
}

tt_pjrt_error *eng_Device_MemoryStats(void *args) {
    ENG_ARGS(memory_stats, a, bytes_limit_set);
    eng_memory_stats s;
    eng_memory_stats_get(eng_device_of(a->device)->memory, &s);
    a->bytes_in_use = s.in_use;
    a->peak_bytes = s.peak;
    a->peak_bytes_set = true;
    a->n_allocs = s.n_allocs;
    a->n_allocs_set = true;
    a->largest_alloc = s.largest;
    a->largest_alloc_set = true;
    a->bytes_limit = s.limit;
    a->bytes_limit_set = true;
    if (a->struct_size >= offsetof(tt_pjrt_memory_stats, pool_bytes_set) + sizeof a->pool_bytes_set) {
        a->bytes_reserved_set = a->peak_reserved_set = a->reservable_limit_set = a->largest_free_set = false;
        a->pool_bytes = s.in_use + s.cached;
        a->pool_bytes_set = true;
    }
    if (a->struct_size >= offsetof(tt_pjrt_memory_stats, peak_pool_bytes_set) + sizeof a->peak_pool_bytes_set)
        a->peak_pool_bytes_set = false;
    return NULL;
}

static void free_nothing(void *owner) {
    (void)owner;
}

tt_pjrt_error *eng_Device_GetAttributes(void *args) {
    ENG_ARGS(device_attributes, a, free_owner);
    a->items = NULL;
    a->count = 0;
    a->owner = a->device;
    a->free_owner = free_nothing;
    return NULL;
}

/* ---- memories ---- */
tt_pjrt_error *eng_Memory_Id(void *args) {
    ENG_ARGS(get_int, a, value);
    a->value = ((const tt_pjrt_memory *)a->object)->id;
    return NULL;
}

tt_pjrt_error *eng_Memory_Kind(void *args) {
    ENG_ARGS(string, a, size);
    return give(a, "device");
}

tt_pjrt_error *eng_Memory_Kind_Id(void *args) {
    ENG_ARGS(get_int, a, value);
    a->value = 0;
    return NULL;
}

tt_pjrt_error *eng_Memory_DebugString(void *args) {
    ENG_ARGS(string, a, size);
    return give(a, ((const tt_pjrt_memory *)a->object)->text);
}

tt_pjrt_error *eng_Memory_ToString(void *args) {
    return eng_Memory_DebugString(args);
}

tt_pjrt_error *eng_Memory_AddressableByDevices(void *args) {
    ENG_ARGS(get_array, a, count);
    a->items = ((const tt_pjrt_memory *)a->object)->device->self;
    a->count = 1;
    return NULL;
}

/* ---- topologies ---- */
tt_pjrt_error *eng_TopologyDescription_Create(void *args) {
    ENG_ARGS(topology_create, a, topology);
    int64_t n = tt_env_int(TT_ENV_VIRTUAL_CHIPS);
    for (size_t i = 0; i < a->n_options; i++)
        if (named(&a->options[i], "n_devices") && a->options[i].type == TT_PJRT_VALUE_INT64)
            n = a->options[i].int64;
    if (n < 1 || n > MAX_DEVICES)
        return eng_pjrt_error(TT_ERROR(INVALID_ARGUMENT, "a topology of %lld devices, expected 1 to %d",
                                       (long long)n, MAX_DEVICES));
    a->topology = tt_calloc(1, sizeof *a->topology);
    eng_topology_init(a->topology, (int)n);
    return NULL;
}

tt_pjrt_error *eng_TopologyDescription_Destroy(void *args) {
    ENG_ARGS(object, a, object);
    if (a->object) {
        eng_topology_deinit(a->object);
        free(a->object);
    }
    return NULL;
}

tt_pjrt_error *eng_TopologyDescription_PlatformName(void *args) {
    return eng_Client_PlatformName(args);
}

tt_pjrt_error *eng_TopologyDescription_PlatformVersion(void *args) {
    return eng_Client_PlatformVersion(args);
}

tt_pjrt_error *eng_TopologyDescription_GetDeviceDescriptions(void *args) {
    ENG_ARGS(get_array, a, count);
    const tt_pjrt_topology *t = a->object;
    a->items = t->list;
    a->count = (size_t)t->n_devices;
    return NULL;
}

tt_pjrt_error *eng_TopologyDescription_Attributes(void *args) {
    ENG_ARGS(topology_attributes, a, count);
    a->items = NULL;
    a->count = 0;
    return NULL;
}

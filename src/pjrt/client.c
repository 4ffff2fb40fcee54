/* client.c - a client of one plugin: its devices, its names, its memory. Programs and buffers are in
 * executable.c and buffer.c. */
#include "base/arena.h"
#include "base/log.h"
#include "pjrt/objects.h"
#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text, size_t size) {
    char *s = tt_malloc(size + 1);
    if (size)
        memcpy(s, text, size);
    s[size] = 0;
    return s;
}

static tt_status get_string(const tt_plugin *p, tt_pjrt_slot slot, const void *object, char **out) {
    TT_PJRT_ARGS(string, args);
    args.a.object = object;
    TT_TRY(tt_pjrt_call(p, slot, &args, sizeof args));
    *out = copy_text(args.a.text, args.a.size);
    return TT_OK;
}

static tt_status read_device(const tt_plugin *p, tt_pjrt_device *device, tt_device *out) {
    *out = (tt_device){.device = device};
    TT_PJRT_ARGS(get_pointer, description);
    description.a.object = device;
    TT_TRY(TT_PJRT_CALL(p, Device_GetDescription, description));
    TT_PJRT_ARGS(get_int, id);
    id.a.object = description.a.value;
    TT_TRY(TT_PJRT_CALL(p, DeviceDescription_Id, id));
    out->id = id.a.value;
    return get_string(p, TT_PJRT_DeviceDescription_Kind, description.a.value, &out->kind);
}

static tt_status read_devices(tt_client *c) {
    TT_PJRT_ARGS(get_array, args);
    args.a.object = c->client;
    TT_TRY(TT_PJRT_CALL(c->plugin, Client_AddressableDevices, args));
    TT_CHECK(args.a.count > 0, FAILED_PRECONDITION, "the plugin %s offers no device", c->plugin->path);
    TT_CHECK(args.a.count <= INT16_MAX, FAILED_PRECONDITION,
             "the plugin %s offers %zu devices, more than we can name", c->plugin->path, args.a.count);
    tt_pjrt_device *const *devices = args.a.items;
    c->devices = tt_calloc(args.a.count, sizeof *c->devices);
    c->n_devices = (int)args.a.count;
    for (int i = 0; i < c->n_devices; i++)
        TT_TRY(read_device(c->plugin, devices[i], &c->devices[i]));
    return TT_OK;
}

static tt_status create(tt_client *c, int n_devices) {
    static const char name[] = "cpu_device_count";
    tt_pjrt_named_value count = {
        .struct_size = sizeof count,
        .name = name,
        .name_size = sizeof name - 1,
        .type = TT_PJRT_VALUE_INT64,
        .int64 = n_devices,
        .value_size = 1,
    };
    TT_PJRT_ARGS(client_create, args);
    if (n_devices > 0) {
        args.a.options = &count;
        args.a.n_options = 1;
    }
    tt_status error = TT_PJRT_CALL(c->plugin, Client_Create, args);
    if (error && n_devices > 0 && tt_status_code(error) == TT_INVALID_ARGUMENT) {
        /* A plugin for hardware knows no such option; it has the devices it has. */
        TT_LOG(1, "pjrt plugin=%s refuses option=%s", c->plugin->path, name);
        tt_status_free(error);
        memset(&args, 0, sizeof args);
        error = TT_PJRT_CALL(c->plugin, Client_Create, args);
    }
    if (error)
        return tt_status_in(error, "creating a client of the PJRT plugin %s", c->plugin->path);
    c->client = args.a.client;
    return TT_OK;
}

tt_status tt_client_create(const char *path, int n_devices, tt_client **out) {
    *out = NULL;
    const tt_plugin *plugin;
    TT_TRY(tt_plugin_open(path, &plugin));
    tt_client *c = tt_calloc(1, sizeof *c);
    atomic_init(&c->refs, 1);
    c->plugin = plugin;
    tt_status error = create(c, n_devices);
    if (!error)
        error = get_string(plugin, TT_PJRT_Client_PlatformName, c->client, &c->platform);
    if (!error)
        error = get_string(plugin, TT_PJRT_Client_PlatformVersion, c->client, &c->version);
    if (!error)
        error = read_devices(c);
    if (error) {
        tt_client_release(c);
        return error;
    }
    c->keeps_handles = !strcmp(c->platform, "tt_engine");
    c->host_memory = c->keeps_handles && tt_pjrt_has(plugin->api, TT_PJRT_Buffer_UnsafePointer);
    TT_LOG(1, "pjrt platform=%s devices=%d version=%.60s", c->platform, c->n_devices, c->version);
    *out = c;
    return TT_OK;
}

void tt_client_retain(tt_client *c) {
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

void tt_client_release(tt_client *c) {
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < c->n_devices; i++)
        free(c->devices[i].kind);
    free(c->devices);
    tt_pjrt_destroy(c->plugin, TT_PJRT_Client_Destroy, c->client);
    free(c->platform);
    free(c->version);
    free(c);
}

tt_status tt_client_check_device(const tt_client *c, int device) {
    TT_CHECK(device >= 0 && device < c->n_devices, INVALID_ARGUMENT,
             "device index %d is out of range: there are %d devices", device, c->n_devices);
    return TT_OK;
}

int tt_client_device_count(const tt_client *c) {
    return c->n_devices;
}

const char *tt_client_platform(const tt_client *c) {
    return c->platform;
}

const char *tt_client_version(const tt_client *c) {
    return c->version;
}

const char *tt_client_device_kind(const tt_client *c, int device) {
    return device >= 0 && device < c->n_devices ? c->devices[device].kind : "";
}

int tt_client_api_minor(const tt_client *c) {
    return c->plugin->minor;
}

tt_status tt_client_memory(tt_client *c, int device, tt_device_memory *out) {
    *out = (tt_device_memory){0};
    TT_TRY(tt_client_check_device(c, device));
    if (!tt_pjrt_has(c->plugin->api, TT_PJRT_Device_MemoryStats))
        return TT_OK;
    TT_PJRT_ARGS(memory_stats, args);
    args.a.device = c->devices[device].device;
    tt_status error = TT_PJRT_CALL(c->plugin, Device_MemoryStats, args);
    if (error && tt_status_code(error) == TT_UNIMPLEMENTED) {
        tt_status_free(error);
        return TT_OK;
    }
    TT_TRY(error);
    *out = (tt_device_memory){
        .bytes_in_use = args.a.bytes_in_use,
        .peak_bytes = args.a.peak_bytes_set ? args.a.peak_bytes : 0,
        .limit_bytes = args.a.bytes_limit_set ? args.a.bytes_limit : 0,
        .known = true,
    };
    return TT_OK;
}

/* pjrt_test.h - a thin, aborting PJRT client for the conformance tests: any plugin, through pjrt/abi.h only.
 */
#ifndef PJRT_TEST_H
#define PJRT_TEST_H
#include "../c/test.h"
#include "pjrt/abi.h"
#include <dlfcn.h>
#include <stdbool.h>

static const tt_pjrt_api *api;
static tt_pjrt_client *client;
static bool is_engine; /* some checks are about the engine only */

/* Calls a slot with a padded copy of its args; fields written come back. NULL: success. */
static tt_pjrt_error *call_slot(tt_pjrt_slot slot, void *args, size_t size) {
    char padded[512] = {0};
    memcpy(padded, args, size);
    size_t total = size + TT_PJRT_TAIL;
    memcpy(padded, &total, sizeof total);
    tt_pjrt_error *e = api->fn[slot](padded);
    memcpy(args, padded, size);
    return slot == TT_PJRT_Error_Message || slot == TT_PJRT_Error_Destroy ? NULL : e;
}
#define CALL(slot, args) call_slot(TT_PJRT_##slot, &(args), sizeof(args))

static _Thread_local char last_error[4096];
static _Thread_local int last_code;

/* True on success; else the error's text and code are kept and it is freed. */
static bool good(tt_pjrt_error *e) {
    last_error[0] = 0;
    last_code = 0;
    if (!e)
        return true;
    tt_pjrt_string m = {.object = e};
    CALL(Error_Message, m);
    snprintf(last_error, sizeof last_error, "%.*s", (int)m.size, m.text);
    tt_pjrt_get_int c = {.object = e};
    CALL(Error_GetCode, c);
    last_code = c.value;
    tt_pjrt_object d = {.object = e};
    CALL(Error_Destroy, d);
    return false;
}
#define OK(slot, args)                                                                                       \
    do {                                                                                                     \
        if (!good(CALL(slot, args))) {                                                                       \
            test_failures++;                                                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #slot, last_error);                       \
        }                                                                                                    \
    } while (0)

static bool await_event(tt_pjrt_event *e) {
    if (!e)
        return true;
    tt_pjrt_object a = {.object = e};
    tt_pjrt_error *error = CALL(Event_Await, a);
    tt_pjrt_object d = {.object = e};
    CALL(Event_Destroy, d);
    return good(error);
}

static tt_pjrt_client *client_create(int n_devices) {
    tt_pjrt_named_value o = {.struct_size = sizeof o,
                             .name = "cpu_device_count",
                             .name_size = 16,
                             .type = TT_PJRT_VALUE_INT64,
                             .int64 = n_devices,
                             .value_size = 1};
    tt_pjrt_client_create a = {.options = &o, .n_options = 1};
    OK(Client_Create, a);
    return a.client;
}

static void setup(void) {
    if (api)
        return;
    const char *path = getenv("TT_TEST_PLUGIN");
    void *so = dlopen(path ? path : "build/pjrt_cpu.so", RTLD_NOW | RTLD_LOCAL);
    if (!so) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    tt_pjrt_get_api get;
    *(void **)&get = dlsym(so, "GetPjrtApi");
    api = get();
    tt_pjrt_none none = {0};
    OK(Plugin_Initialize, none);
    client = client_create(4);
    tt_pjrt_string name = {.object = client};
    OK(Client_PlatformName, name);
    is_engine = name.size == 9 && !memcmp(name.text, "tt_engine", 9);
}

static tt_pjrt_device *device_at(int i) {
    tt_pjrt_get_array a = {.object = client};
    OK(Client_AddressableDevices, a);
    return ((tt_pjrt_device *const *)a.items)[i];
}

/* CompileOptionsProto { executable_build_options 3 { num_replicas 4, num_partitions 5, use_spmd 6,
 * device_assignment 9 } } */
static size_t make_options(char *out, int replicas, int partitions, int first_device) {
    char build[128], assignment[64];
    int n = 0, m = 0;
    build[n++] = 0x20, build[n++] = (char)replicas;
    build[n++] = 0x28, build[n++] = (char)partitions;
    if (partitions > 1)
        build[n++] = 0x30, build[n++] = 1;
    assignment[m++] = 8, assignment[m++] = (char)replicas;
    assignment[m++] = 16, assignment[m++] = (char)partitions;
    for (int p = 0; p < partitions; p++) {
        assignment[m++] = 0x1a, assignment[m++] = (char)(replicas + 2);
        assignment[m++] = 0x0a, assignment[m++] = (char)replicas;
        for (int r = 0; r < replicas; r++)
            assignment[m++] = (char)(first_device + r * partitions + p);
    }
    build[n++] = 0x4a, build[n++] = (char)m;
    memcpy(build + n, assignment, (size_t)m);
    n += m;
    out[0] = 0x1a, out[1] = (char)n;
    memcpy(out + 2, build, (size_t)n);
    return (size_t)n + 2;
}

static tt_pjrt_loaded *compile_for(const char *text, int replicas, int partitions, int first_device) {
    char options[256];
    tt_pjrt_program p = {.struct_size = sizeof p,
                         .code = (char *)(uintptr_t)text,
                         .code_size = strlen(text),
                         .format = "mlir",
                         .format_size = 4};
    tt_pjrt_client_compile a = {.client = client, .program = &p, .options = options};
    a.options_size = make_options(options, replicas, partitions, first_device);
    return good(CALL(Client_Compile, a)) ? a.executable : NULL;
}

static tt_pjrt_loaded *compile(const char *text) {
    tt_pjrt_loaded *l = compile_for(text, 1, 1, 0);
    if (!l) {
        test_failures++;
        fprintf(stderr, "compile: %.600s\n%.2000s\n", last_error, text);
    }
    return l;
}

static void loaded_destroy(tt_pjrt_loaded *l) {
    tt_pjrt_object a = {.object = l};
    OK(LoadedExecutable_Destroy, a);
}

static tt_pjrt_buffer *put_on(int device, int type, int rank, const int64_t *dims, const int64_t *strides,
                              int semantics, const void *data) {
    tt_pjrt_buffer_from_host a = {.client = client,
                                  .data = data,
                                  .type = type,
                                  .dims = dims,
                                  .n_dims = (size_t)rank,
                                  .byte_strides = strides,
                                  .n_byte_strides = strides ? (size_t)rank : 0,
                                  .semantics = semantics,
                                  .device = device_at(device)};
    if (!good(CALL(Client_BufferFromHostBuffer, a)))
        return NULL;
    if (semantics < TT_PJRT_ZERO_COPY) {
        await_event(a.done_with_host);
    } else {
        tt_pjrt_object d = {.object = a.done_with_host};
        OK(Event_Destroy, d);
    }
    return a.buffer;
}

static tt_pjrt_buffer *put_f32(int64_t n, const float *data) {
    return put_on(0, TT_PJRT_TYPE_F32, 1, &n, NULL, TT_PJRT_ONLY_DURING_CALL, data);
}

static bool get(tt_pjrt_buffer *b, void *out, size_t bytes) {
    tt_pjrt_buffer_to_host a = {.source = b, .host = out, .host_size = bytes};
    return good(CALL(Buffer_ToHostBuffer, a)) && await_event(a.event);
}

static void drop(tt_pjrt_buffer *b) {
    tt_pjrt_object a = {.object = b};
    OK(Buffer_Destroy, a);
}

static bool is_deleted(tt_pjrt_buffer *b) {
    tt_pjrt_get_bool a = {.object = b};
    OK(Buffer_IsDeleted, a);
    return a.value;
}

static void *pointer_of(tt_pjrt_buffer *b) {
    tt_pjrt_get_size a = {.object = b};
    OK(Buffer_UnsafePointer, a);
    return (void *)a.value;
}

static bool run_with(tt_pjrt_loaded *l, int n_args, tt_pjrt_buffer **args, tt_pjrt_buffer **outs,
                     tt_pjrt_event **done, const int64_t *keep, int n_keep) {
    struct {
        tt_pjrt_execute_options o;
        char tail[TT_PJRT_TAIL];
    } options = {
        .o = {.struct_size = sizeof options, .non_donatable = keep, .n_non_donatable = (size_t)n_keep}};
    tt_pjrt_buffer *const *arg_lists[1] = {args};
    tt_pjrt_buffer **out_lists[1] = {outs};
    tt_pjrt_execute a = {.executable = l,
                         .options = &options.o,
                         .arguments = arg_lists,
                         .n_devices = 1,
                         .n_args = (size_t)n_args,
                         .outputs = out_lists,
                         .complete_events = done};
    return good(CALL(LoadedExecutable_Execute, a));
}

static bool run(tt_pjrt_loaded *l, int n_args, tt_pjrt_buffer **args, tt_pjrt_buffer **outs) {
    bool ok = run_with(l, n_args, args, outs, NULL, NULL, 0);
    if (!ok) {
        test_failures++;
        fprintf(stderr, "execute: %s\n", last_error);
    }
    return ok;
}

/* The engine's reference kernels never work in place. */
static inline bool in_place(void) {
    const char *kernels = getenv("TORCH_TPU_KERNELS");
    return !is_engine || !kernels || strcmp(kernels, "reference");
}

static inline void fill(float *x, int n, float scale) {
    for (int i = 0; i < n; i++)
        x[i] = scale * (float)(i % 97 - 40);
}

static inline int64_t in_use(void) {
    tt_pjrt_memory_stats s = {.device = device_at(0)};
    OK(Device_MemoryStats, s);
    return s.bytes_in_use;
}

#endif

/* abi.h - our own declarations of the PJRT C API's binary interface (major 0): what the client and the engine
 * need of it.
 *
 * Every slot of tables/pjrt.def takes one pointer to an args struct that begins {struct_size,
 * extension_start}; the row names the struct here. A callee refuses a struct_size smaller than it knows, and
 * accepts a larger one: so callers zero the struct, put a zeroed tail behind it (TT_PJRT_PADDED) and pass the
 * padded size, and one client works with every minor version. Fields marked `out` are written by the plugin.
 * Offsets are for 64-bit targets and checked at the end. */
#ifndef TT_PJRT_ABI_H
#define TT_PJRT_ABI_H
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TT_PJRT_MAJOR = 0, TT_PJRT_MINOR = 117, TT_PJRT_TAIL = 128 };
#define TT_PJRT_PADDED(type)                                                                                 \
    struct {                                                                                                 \
        type a;                                                                                              \
        char tail[TT_PJRT_TAIL];                                                                             \
    }

typedef enum tt_pjrt_slot {
#define PJRT(slot, client, engine, args) TT_PJRT_##slot,
#include "tables/pjrt.def"
#undef PJRT
    TT_PJRT_N_SLOTS
} tt_pjrt_slot;

typedef struct tt_pjrt_error tt_pjrt_error;
typedef struct tt_pjrt_event tt_pjrt_event;
typedef struct tt_pjrt_client tt_pjrt_client;
typedef struct tt_pjrt_device tt_pjrt_device;
typedef struct tt_pjrt_description tt_pjrt_description; /* of a device */
typedef struct tt_pjrt_memory tt_pjrt_memory;
typedef struct tt_pjrt_executable tt_pjrt_executable;
typedef struct tt_pjrt_loaded tt_pjrt_loaded; /* loaded executable */
typedef struct tt_pjrt_buffer tt_pjrt_buffer;
typedef struct tt_pjrt_topology tt_pjrt_topology;
typedef struct tt_pjrt_context tt_pjrt_context; /* execute context */

typedef struct tt_pjrt_extension {
    size_t struct_size;
    int type;
    struct tt_pjrt_extension *next;
} tt_pjrt_extension;
/* The engine's own extension of Execute on one device: where outputs[0][k] holds the handle of an argument given away for output k, that
 * handle may receive the output. It stays there then, and is not to be destroyed. */
enum { TT_PJRT_EXTENSION_KEEPS_HANDLES = 0x7474 };

#define TT_PJRT_HEAD                                                                                         \
    size_t struct_size;                                                                                      \
    tt_pjrt_extension *extension_start;

/* Error_Destroy and Error_Message return nothing: ignore what a call through this type seems to return. */
typedef tt_pjrt_error *(*tt_pjrt_fn)(void *args);

typedef struct tt_pjrt_api {
    TT_PJRT_HEAD
    struct {
        TT_PJRT_HEAD int major, minor;
    } version;
    tt_pjrt_fn fn[TT_PJRT_N_SLOTS]; /* only those below struct_size exist; any may be NULL */
} tt_pjrt_api;
/* What a plugin exports: const tt_pjrt_api *GetPjrtApi(void). */
typedef const tt_pjrt_api *(*tt_pjrt_get_api)(void);

/* True when the plugin has the slot. */
static inline bool tt_pjrt_has(const tt_pjrt_api *api, tt_pjrt_slot slot) {
    return offsetof(tt_pjrt_api, fn) + sizeof(tt_pjrt_fn) * ((size_t)slot + 1) <= api->struct_size &&
           api->fn[slot];
}

/* Element types: the numbers in tables/dtype.def. */
enum {
    TT_PJRT_TYPE_INVALID = 0,
    TT_PJRT_TYPE_PRED = 1,
    TT_PJRT_TYPE_S32 = 4,
    TT_PJRT_TYPE_F32 = 11,
    TT_PJRT_TYPE_BF16 = 13
};

typedef enum tt_pjrt_host_semantics {
    TT_PJRT_ONLY_DURING_CALL = 0,  /* the plugin copies before it returns */
    TT_PJRT_UNTIL_TRANSFER = 1,    /* the host array stays until done_with_host is ready */
    TT_PJRT_ZERO_COPY = 2,         /* may alias, immutable, until the buffer is freed */
    TT_PJRT_ZERO_COPY_MUTABLE = 3, /* may alias and write */
} tt_pjrt_host_semantics;

enum {
    TT_PJRT_VALUE_STRING = 0,
    TT_PJRT_VALUE_INT64 = 1,
    TT_PJRT_VALUE_INT64_LIST = 2,
    TT_PJRT_VALUE_FLOAT = 3,
    TT_PJRT_VALUE_BOOL = 4
};
typedef struct tt_pjrt_named_value {
    TT_PJRT_HEAD
    const char *name;
    size_t name_size;
    int type;
    union {
        const char *string;
        int64_t int64;
        const int64_t *int64_list;
        float number;
        bool boolean;
    };
    size_t value_size; /* bytes of a string, length of a list, else 1 */
} tt_pjrt_named_value;

/* ---- shapes of args that many slots share; `object` is the thing the slot is about ---- */
typedef struct tt_pjrt_none {
    TT_PJRT_HEAD
} tt_pjrt_none;
typedef struct tt_pjrt_object {
    TT_PJRT_HEAD void *object;
} tt_pjrt_object;
typedef struct tt_pjrt_string {
    TT_PJRT_HEAD const void *object;
    const char *text;
    size_t size; /* out: both, not NUL-terminated */
} tt_pjrt_string;
typedef struct tt_pjrt_get_int {
    TT_PJRT_HEAD const void *object;
    int value; /* out */
} tt_pjrt_get_int;
typedef struct tt_pjrt_get_bool {
    TT_PJRT_HEAD const void *object;
    bool value; /* out */
} tt_pjrt_get_bool;
typedef struct tt_pjrt_get_size {
    TT_PJRT_HEAD const void *object;
    size_t value; /* out; Buffer_UnsafePointer: an address */
} tt_pjrt_get_size;
typedef struct tt_pjrt_get_i64 {
    TT_PJRT_HEAD const void *object;
    int64_t value; /* out */
} tt_pjrt_get_i64;
typedef struct tt_pjrt_get_pointer {
    TT_PJRT_HEAD const void *object;
    void *value; /* out */
} tt_pjrt_get_pointer;
/* out: items is an array of pointers (devices, memories), of int64_t (dimensions), of size_t (dynamic
 * dimensions), of int (types) */
typedef struct tt_pjrt_get_array {
    TT_PJRT_HEAD const void *object;
    const void *items;
    size_t count;
} tt_pjrt_get_array;
/* out: the count comes first here (device attributes, cost analysis) */
typedef struct tt_pjrt_get_attributes {
    TT_PJRT_HEAD const void *object;
    size_t count;
    const tt_pjrt_named_value *items;
} tt_pjrt_get_attributes;
typedef struct tt_pjrt_get_context {
    TT_PJRT_HEAD tt_pjrt_context *context; /* out */
} tt_pjrt_get_context;
typedef struct tt_pjrt_unknown {
    TT_PJRT_HEAD
} tt_pjrt_unknown;

/* ---- plugin, errors, events ---- */
typedef struct tt_pjrt_plugin_attributes {
    TT_PJRT_HEAD const tt_pjrt_named_value *items;
    size_t count; /* out */
} tt_pjrt_plugin_attributes;
typedef void (*tt_pjrt_payload_visitor)(const char *key, size_t key_size, const char *value,
                                        size_t value_size, void *context);
typedef struct tt_pjrt_error_payloads {
    TT_PJRT_HEAD const tt_pjrt_error *error;
    tt_pjrt_payload_visitor visitor;
    void *context;
} tt_pjrt_error_payloads;
/* The callback owns the error (NULL: success) and may run on any thread, also before OnReady returns. */
typedef void (*tt_pjrt_ready_callback)(tt_pjrt_error *error, void *context);
typedef struct tt_pjrt_event_on_ready {
    TT_PJRT_HEAD tt_pjrt_event *event;
    tt_pjrt_ready_callback callback;
    void *context;
} tt_pjrt_event_on_ready;
typedef struct tt_pjrt_event_create {
    TT_PJRT_HEAD tt_pjrt_event *event; /* out */
} tt_pjrt_event_create;
typedef struct tt_pjrt_event_set {
    TT_PJRT_HEAD tt_pjrt_event *event;
    int code;
    const char *message;
    size_t message_size;
} tt_pjrt_event_set;

/* ---- client ---- */
typedef struct tt_pjrt_client_create {
    TT_PJRT_HEAD
    const tt_pjrt_named_value *options;
    size_t n_options;
    void *kv_get, *kv_get_context, *kv_put,
        *kv_put_context;    /* key-value store of a multi-host job; NULL: one host */
    tt_pjrt_client *client; /* out */
    void *kv_try_get, *kv_try_get_context;
} tt_pjrt_client_create;
typedef struct tt_pjrt_client_lookup {
    TT_PJRT_HEAD tt_pjrt_client *client;
    int id;
    tt_pjrt_device *device; /* out */
} tt_pjrt_client_lookup;
typedef struct tt_pjrt_program {
    TT_PJRT_HEAD char *code;
    size_t code_size;
    const char *format;
    size_t format_size;
} tt_pjrt_program;
typedef struct tt_pjrt_client_compile {
    TT_PJRT_HEAD
    tt_pjrt_client *client;
    const tt_pjrt_program *program;
    const char *options;
    size_t options_size;        /* CompileOptionsProto */
    tt_pjrt_loaded *executable; /* out */
} tt_pjrt_client_compile;
typedef struct tt_pjrt_client_default_assignment {
    TT_PJRT_HEAD
    tt_pjrt_client *client;
    int n_replicas, n_partitions;
    size_t assignment_size; /* capacity in ints */
    int *assignment;        /* out: device ids, [replica][partition] */
} tt_pjrt_client_default_assignment;

typedef struct tt_pjrt_device_attributes {
    TT_PJRT_HEAD
    tt_pjrt_device *device;
    const tt_pjrt_named_value *items; /* out, until free_owner(owner) */
    size_t count;
    void *owner;
    void (*free_owner)(void *owner);
} tt_pjrt_device_attributes;

/* ---- layouts and buffers ---- */
typedef struct tt_pjrt_layout_tiled {
    TT_PJRT_HEAD
    const int64_t *minor_to_major;
    size_t n_minor_to_major;
    const int64_t *tile_dims;
    const size_t *tile_dim_sizes;
    size_t n_tiles;
} tt_pjrt_layout_tiled;
typedef struct tt_pjrt_layout_strides {
    TT_PJRT_HEAD const int64_t *byte_strides;
    size_t n_byte_strides;
} tt_pjrt_layout_strides;
enum { TT_PJRT_LAYOUT_TILED = 0, TT_PJRT_LAYOUT_STRIDES = 1 };
typedef struct tt_pjrt_layout {
    TT_PJRT_HEAD
    union {
        tt_pjrt_layout_tiled tiled;
        tt_pjrt_layout_strides strides;
    };
    int type;
} tt_pjrt_layout;

typedef struct tt_pjrt_buffer_from_host {
    TT_PJRT_HEAD
    tt_pjrt_client *client;
    const void *data;
    int type;
    const int64_t *dims;
    size_t n_dims;
    const int64_t *byte_strides;
    size_t n_byte_strides; /* 0: dense row-major */
    int semantics;         /* tt_pjrt_host_semantics */
    tt_pjrt_device *device;
    tt_pjrt_memory *memory;        /* memory wins when both are given */
    const tt_pjrt_layout *layout;  /* on the device; NULL: the default */
    tt_pjrt_event *done_with_host; /* out */
    tt_pjrt_buffer *buffer;        /* out */
} tt_pjrt_buffer_from_host;
typedef struct tt_pjrt_buffer_to_host {
    TT_PJRT_HEAD
    tt_pjrt_buffer *source;
    const tt_pjrt_layout *layout; /* of the host array; NULL: the device's order */
    void *host;
    size_t host_size;     /* host NULL: host_size is out, the size needed */
    tt_pjrt_event *event; /* out */
} tt_pjrt_buffer_to_host;
typedef struct tt_pjrt_buffer_copy_raw {
    TT_PJRT_HEAD
    tt_pjrt_buffer *buffer;
    void *host;
    int64_t offset, size;
    tt_pjrt_event *event; /* out */
} tt_pjrt_buffer_copy_raw;
/* CopyToDevice: target is a device; CopyToMemory: a memory */
typedef struct tt_pjrt_buffer_copy_to {
    TT_PJRT_HEAD tt_pjrt_buffer *buffer;
    void *target;
    tt_pjrt_buffer *copy; /* out */
} tt_pjrt_buffer_copy_to;
typedef struct tt_pjrt_buffer_memory_layout {
    TT_PJRT_HEAD tt_pjrt_buffer *buffer;
    tt_pjrt_layout layout; /* out */
} tt_pjrt_buffer_memory_layout;
typedef struct tt_pjrt_create_view {
    TT_PJRT_HEAD
    tt_pjrt_client *client;
    void *data;
    const int64_t *dims;
    size_t n_dims;
    int type;
    const tt_pjrt_layout *layout;
    tt_pjrt_device *device;
    void (*on_delete)(void *data, void *context);
    void *on_delete_context;
    intptr_t stream;
    tt_pjrt_buffer *buffer; /* out */
    tt_pjrt_memory *memory;
} tt_pjrt_create_view;
typedef struct tt_pjrt_create_uninitialized {
    TT_PJRT_HEAD
    tt_pjrt_client *client;
    const int64_t *dims;
    size_t n_dims;
    int type;
    const tt_pjrt_layout *layout;
    tt_pjrt_device *device;
    tt_pjrt_memory *memory;
    tt_pjrt_buffer *buffer; /* out */
} tt_pjrt_create_uninitialized;

/* ---- executables ---- */
typedef struct tt_pjrt_execute_options {
    TT_PJRT_HEAD
    void **send_callbacks, **recv_callbacks;
    size_t n_send_ops, n_recv_ops;
    int launch_id;
    const int64_t *non_donatable;
    size_t n_non_donatable; /* argument indices */
    tt_pjrt_context *context;
    const char *call_location;
    size_t n_tasks;
    int *task_ids;
    int64_t *incarnation_ids;
} tt_pjrt_execute_options;
typedef struct tt_pjrt_execute {
    TT_PJRT_HEAD
    tt_pjrt_loaded *executable;
    tt_pjrt_execute_options *options;
    tt_pjrt_buffer *const *const *arguments; /* [device][argument] */
    size_t n_devices, n_args;
    tt_pjrt_buffer **const *outputs; /* [device][output]; out, the inner arrays are the caller's */
    tt_pjrt_event **complete_events; /* out, [device]; NULL: not wanted */
    tt_pjrt_device *execute_device;  /* NULL: the assignment's */
} tt_pjrt_execute;
typedef struct tt_pjrt_optimized_program {
    TT_PJRT_HEAD tt_pjrt_executable *executable;
    tt_pjrt_program *program; /* code NULL: code_size out */
} tt_pjrt_optimized_program;
typedef struct tt_pjrt_executable_serialize {
    TT_PJRT_HEAD
    const tt_pjrt_executable *executable;
    const char *data;
    size_t size; /* out, until free_owner(owner) */
    void *owner;
    void (*free_owner)(void *owner); /* out */
} tt_pjrt_executable_serialize;
typedef struct tt_pjrt_deserialize_and_load {
    TT_PJRT_HEAD
    tt_pjrt_client *client;
    const char *data;
    size_t size;
    tt_pjrt_loaded *executable; /* out */
    const char *options;
    size_t options_size; /* CompileOptionsProto that overrides the stored one; NULL: none */
} tt_pjrt_deserialize_and_load;
typedef struct tt_pjrt_output_memory_kinds {
    TT_PJRT_HEAD tt_pjrt_executable *executable;
    size_t count;
    const char *const *kinds;
    const size_t *kind_sizes; /* out */
} tt_pjrt_output_memory_kinds;
typedef struct tt_pjrt_output_dimensions {
    TT_PJRT_HEAD tt_pjrt_executable *executable;
    size_t count;
    const int64_t *dims;
    const size_t *ranks; /* out: all dims in a row */
} tt_pjrt_output_dimensions;
typedef struct tt_pjrt_compiled_memory_stats {
    TT_PJRT_HEAD
    tt_pjrt_executable *executable;
    int64_t code, argument, output, alias, temp; /* out, bytes */
    int64_t host_code, host_argument, host_output, host_alias, host_temp;
    int64_t peak, total; /* newer minors; stay 0 elsewhere */
    int64_t total_allocation, indefinite_allocation, peak_unpadded;
} tt_pjrt_compiled_memory_stats;
typedef struct tt_pjrt_memory_stats {
    TT_PJRT_HEAD
    tt_pjrt_device *device;
    int64_t bytes_in_use; /* out, all of them; a number counts only when its flag is set */
    int64_t peak_bytes;
    bool peak_bytes_set;
    int64_t n_allocs;
    bool n_allocs_set;
    int64_t largest_alloc;
    bool largest_alloc_set;
    int64_t bytes_limit;
    bool bytes_limit_set;
    int64_t bytes_reserved;
    bool bytes_reserved_set;
    int64_t peak_reserved;
    bool peak_reserved_set;
    int64_t reservable_limit;
    bool reservable_limit_set;
    int64_t largest_free;
    bool largest_free_set;
    int64_t pool_bytes;
    bool pool_bytes_set;
    int64_t peak_pool_bytes;
    bool peak_pool_bytes_set;
} tt_pjrt_memory_stats;

/* ---- topologies and ahead-of-time compilation ---- */
typedef struct tt_pjrt_topology_create {
    TT_PJRT_HEAD
    const char *name;
    size_t name_size;
    const tt_pjrt_named_value *options;
    size_t n_options;
    tt_pjrt_topology *topology; /* out */
} tt_pjrt_topology_create;
typedef struct tt_pjrt_topology_attributes {
    TT_PJRT_HEAD tt_pjrt_topology *topology;
    const tt_pjrt_named_value *items;
    size_t count; /* out */
} tt_pjrt_topology_attributes;
typedef struct tt_pjrt_compile {
    TT_PJRT_HEAD
    const tt_pjrt_topology *topology;
    const tt_pjrt_program *program;
    const char *options;
    size_t options_size;
    tt_pjrt_client *client;         /* may be NULL */
    tt_pjrt_executable *executable; /* out */
} tt_pjrt_compile;
#undef TT_PJRT_HEAD

/* The ABI's own sizes and offsets. */
#define TT_PJRT_AT(type, field, offset)                                                                      \
    static_assert(offsetof(tt_pjrt_##type, field) == (offset), "offset of " #type "." #field)
#define TT_PJRT_SIZE(type, size) static_assert(sizeof(tt_pjrt_##type) == (size), "size of " #type)
static_assert(sizeof(void *) == 8, "the PJRT ABI is declared for 64-bit targets");
static_assert(TT_PJRT_N_SLOTS == 136, "slots of PJRT 0.115 that we name");
TT_PJRT_AT(api, version, 16);
TT_PJRT_AT(api, fn, 40);
TT_PJRT_SIZE(named_value, 56);
TT_PJRT_AT(named_value, type, 32);
TT_PJRT_AT(named_value, string, 40);
TT_PJRT_SIZE(object, 24);
TT_PJRT_SIZE(string, 40);
TT_PJRT_AT(get_int, value, 24);
TT_PJRT_AT(get_array, count, 32);
TT_PJRT_AT(get_attributes, items, 32);
TT_PJRT_AT(event_on_ready, context, 32);
TT_PJRT_SIZE(event_set, 48);
TT_PJRT_AT(client_create, client, 64);
TT_PJRT_SIZE(client_create, 88);
TT_PJRT_AT(client_lookup, device, 32);
TT_PJRT_SIZE(program, 48);
TT_PJRT_AT(client_compile, executable, 48);
TT_PJRT_AT(client_default_assignment, assignment, 40);
TT_PJRT_SIZE(layout_tiled, 56);
TT_PJRT_SIZE(layout, 80);
TT_PJRT_AT(layout, type, 72);
TT_PJRT_AT(buffer_from_host, semantics, 72);
TT_PJRT_AT(buffer_from_host, buffer, 112);
TT_PJRT_AT(buffer_to_host, event, 48);
TT_PJRT_AT(buffer_copy_to, copy, 32);
TT_PJRT_AT(buffer_copy_raw, event, 48);
TT_PJRT_AT(buffer_memory_layout, layout, 24);
TT_PJRT_AT(create_view, buffer, 96);
TT_PJRT_AT(create_uninitialized, buffer, 72);
TT_PJRT_AT(execute_options, launch_id, 48);
TT_PJRT_AT(execute_options, context, 72);
TT_PJRT_SIZE(execute_options, 112);
TT_PJRT_AT(execute, complete_events, 64);
TT_PJRT_SIZE(execute, 80);
TT_PJRT_AT(executable_serialize, free_owner, 48);
TT_PJRT_AT(deserialize_and_load, executable, 40);
TT_PJRT_AT(output_dimensions, ranks, 40);
TT_PJRT_AT(compiled_memory_stats, host_code, 64);
TT_PJRT_AT(memory_stats, bytes_limit, 80);
TT_PJRT_SIZE(memory_stats, 192);
TT_PJRT_AT(device_attributes, free_owner, 48);
TT_PJRT_AT(topology_create, topology, 48);
TT_PJRT_AT(compile, executable, 56);
#undef TT_PJRT_AT
#undef TT_PJRT_SIZE

#ifdef __cplusplus
}
#endif
#endif

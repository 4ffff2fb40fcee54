/* objects.h - inside pjrt/: what client, executable and buffer know of each other. Everything is set at
 * creation and read-only after, but the reference counts. */
#ifndef TT_OBJECTS_H
#define TT_OBJECTS_H
#include "pjrt/call.h"
#include "pjrt/client.h"
#include <stdatomic.h>

typedef struct tt_device {
    tt_pjrt_device *device;
    int id; /* global id: what a device assignment names */
    char *kind;
} tt_device;

struct tt_client {
    atomic_int refs;
    const tt_plugin *plugin;
    tt_pjrt_client *client;
    char *platform, *version;
    bool host_memory; /* device memory is this process's, row-major: it may be read through
                         Buffer_UnsafePointer */
    bool keeps_handles; /* TT_PJRT_EXTENSION_KEEPS_HANDLES */
    int n_devices;
    tt_device *devices;
};
void tt_client_retain(tt_client *);
TT_MUST_CHECK tt_status tt_client_check_device(const tt_client *, int device);

typedef struct tt_output {
    int64_t bytes;
    tt_dtype dtype;
    int rank;
} tt_output;

struct tt_executable {
    atomic_int refs;
    tt_client *client;
    tt_pjrt_loaded *loaded;
    int device;
    bool may_alias; /* the program may say that an argument is donated */
    int64_t bytes;
    int n_outputs;
    tt_output *outputs;
};

/* One cache line. */
struct tt_buffer {
    atomic_int refs;
    int16_t device, rank;
    tt_dtype dtype;
    atomic_bool counted; /* its bytes are in the statistics */
    int64_t bytes;
    tt_client *client;
    tt_pjrt_buffer *buffer;
};
/* Takes `buffer`. */
tt_buffer *tt_buffer_wrap(tt_client *, int device, tt_pjrt_buffer *buffer, const tt_output *type);
/* A buffer given to a program that aliases it no longer counts. */
void tt_buffer_uncount(tt_buffer *);

struct tt_event {
    const tt_plugin *plugin;
    tt_pjrt_event *event;
    struct tt_event_stamp *stamp; /* NULL: nobody asked when */
};
/* Waits, and destroys the event in any case. NULL: nothing to wait for. */
TT_MUST_CHECK tt_status tt_pjrt_await(const tt_plugin *, tt_pjrt_event *);
#endif

/* plugin.h - the PJRT objects of the engine: what plugin*.c share.
 *
 * A client owns devices (virtual chips); a device owns its memory and ONE in-order queue with a thread. A
 * buffer is a handle on a value; a value is memory that is there now or once its event is ready. Runs take
 * references on values, never on handles, so a handle may be deleted while runs are queued. Everything here
 * is thread-safe unless said otherwise. */
#ifndef ENG_PLUGIN_H
#define ENG_PLUGIN_H
#include "base/arena.h"
#include "base/status.h"
#include "engine/memory.h"
#include "engine/program.h"
#include "hlo/graph.h"
#include "pjrt/abi.h"
#include <pthread.h>
#include <stdatomic.h>

#define ENG_PLATFORM "tt_engine"
#define ENG_VERSION  "torch_tpu engine 1"

/* An args struct that is too small for the fields the slot needs is refused, as other plugins do. */
#define ENG_ARGS(type, name, last)                                                                           \
    tt_pjrt_##type *name = args;                                                                             \
    if (name->struct_size < offsetof(tt_pjrt_##type, last) + sizeof name->last)                              \
    return eng_pjrt_error(                                                                                   \
        eng_args_error(__func__, offsetof(tt_pjrt_##type, last) + sizeof name->last, name->struct_size))
tt_status eng_args_error(const char *slot, size_t expected, size_t got);
/* The engine's PJRT error is a tt_error. */
static inline tt_pjrt_error *eng_pjrt_error(tt_status s) {
    return (tt_pjrt_error *)s;
}
tt_status eng_status_copy(const tt_error *); /* events hand the same error to many */

/* ---- events (plugin_event.c) ---- */
typedef struct eng_event eng_event;
eng_event *eng_event_done(void);   /* ready, no error; costs nothing */
eng_event *eng_event_create(void); /* one reference */
eng_event *eng_event_retain(eng_event *);
void eng_event_release(eng_event *);                   /* NULL is fine */
void eng_event_set(eng_event *, tt_status take_error); /* once */
bool eng_event_is_ready(const eng_event *);
const tt_error *eng_event_error(const eng_event *);  /* borrowed; NULL while pending or good */
TT_MUST_CHECK tt_status eng_event_wait(eng_event *); /* a copy of its error */
uint32_t eng_event_waits(void); /* how often somebody found an event not ready */
/* fn owns the error; runs now when ready, else on the thread that sets the event. */
void eng_event_on_ready(eng_event *, void (*fn)(tt_pjrt_error *, void *), void *context);

/* ---- values ---- */
typedef struct eng_device eng_device;
typedef struct eng_value {
    _Atomic int refs;
    bool read_only;        /* memory of others: never donated in place, never freed by us */
    _Atomic bool exposed;  /* others hold its address: nothing is known any more */
    eng_device *device;
    eng_event *ready; /* NULL: ready */
    void *data;       /* set when ready */
    int64_t bytes;
    eng_rows *rows;     /* what is known of data, NULL: nothing; set when ready */
    eng_event *freed;   /* set when the value goes (zero-copy host arrays) */
    void (*on_free)(void *data, void *context);
    void *free_context; /* read_only values */
} eng_value;
eng_value *eng_value_create(eng_device *, int64_t bytes, eng_event *take_ready); /* no memory yet */
static inline eng_value *eng_value_retain(eng_value *v) {
    atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}
void eng_value_release(eng_value *);
static inline bool eng_value_is_ready(const eng_value *v) {
    return !v->ready || eng_event_is_ready(v->ready);
}

/* ---- queue (plugin_queue.c) ---- */
typedef struct eng_task {
    struct eng_task *next;
    void (*run)(struct eng_task *); /* on the device's thread; frees the task */
} eng_task;
typedef struct eng_queue {
    _Atomic unsigned state; /* INLINE: a caller runs; ACTIVE: tasks listed or running */
    pthread_mutex_t lock;
    pthread_cond_t changed, drained;
    eng_task *first, *last;
    int n_tasks;
    bool started, stopping;
    pthread_t thread;
    _Atomic uint32_t pushed;                   /* tasks so far; what its thread looks at before it sleeps */
    _Atomic uint32_t waits, handed_over, stay; /* plugin_execute.c: does the host go on while runs are queued? */
} eng_queue;
void eng_queue_init(eng_queue *);
void eng_queue_deinit(eng_queue *); /* after all tasks; joins the thread */
void eng_queue_push(eng_queue *, eng_task *, int device);
/* True: nothing is queued or running, and now the caller runs on the device until eng_queue_leave. */
bool eng_queue_enter(eng_queue *);
void eng_queue_leave(eng_queue *);
void eng_queue_drain(eng_queue *); /* waits until empty */

/* ---- client, devices ---- */
struct tt_pjrt_description {
    int id;
    char kind[32], text[64], debug[96];
};
struct tt_pjrt_memory {
    int id;
    eng_device *device;
    tt_pjrt_client *client;
    char text[64];
};
struct eng_device {
    tt_pjrt_client *client;
    int id;
    struct tt_pjrt_description description;
    struct tt_pjrt_memory memory_object;
    tt_pjrt_memory *memories[1];
    tt_pjrt_device *self[1];
    eng_memory *memory;
    eng_queue queue;
    tt_arena *arena; /* of the run in progress */
};
struct tt_pjrt_topology {
    int n_devices;
    tt_pjrt_description *descriptions;
    tt_pjrt_description **list;
};
struct tt_pjrt_client {
    int n_devices;
    bool reference, asynchronous;
    eng_device *devices;
    tt_pjrt_device **device_list;
    tt_pjrt_memory **memory_list;
    tt_pjrt_topology topology;
    pthread_mutex_t launch_lock; /* multi-device launches enter all queues in one order */
    tt_pjrt_client *next_retired;
};
static inline eng_device *eng_device_of(const void *d) {
    return (eng_device *)d;
}
void eng_topology_init(tt_pjrt_topology *, int n_devices);
void eng_topology_deinit(tt_pjrt_topology *);

/* ---- buffers (plugin_buffer.c) ---- */
struct tt_pjrt_buffer {
    atomic_flag busy; /* guards value */
    _Atomic int external; /* external references, each one on external_value too; guarded by busy */
    eng_value *value; /* NULL: deleted or donated */
    eng_device *device;
    eng_value *external_value;
    hlo_type type;
};
tt_pjrt_buffer *eng_buffer_create(eng_value *take, const hlo_type *);
eng_value *eng_buffer_value(tt_pjrt_buffer *);      /* retained; NULL: deleted */
eng_value *eng_buffer_take_value(tt_pjrt_buffer *); /* the handle's reference; NULL: deleted */
void eng_buffer_put_back(tt_pjrt_buffer *, eng_value *take);
TT_MUST_CHECK tt_status eng_buffer_deleted_error(const char *what);

/* ---- executables (plugin_compile.c) ---- */
typedef struct eng_options { /* what is read of a CompileOptionsProto */
    int64_t n_replicas, n_partitions;
    int n_assigned;
    int *assigned;          /* device ids, [partition][replica]; malloc'd; NULL: default */
    int64_t device_ordinal; /* -1: unset */
    bool reference, excess_precision;
} eng_options;
TT_MUST_CHECK tt_status eng_options_parse(const void *data, size_t bytes, eng_options *out);
void eng_options_deinit(eng_options *);

struct tt_pjrt_executable {
    _Atomic int refs;
    eng_program *program;
    char *text;
    size_t text_bytes; /* as compiled, for serialisation */
    char *options;
    size_t options_bytes;
    int64_t n_replicas, n_partitions;
    char fingerprint[33];
    int *output_types;
    int64_t *output_dims;
    size_t *output_ranks;
    const char **memory_kinds;
    size_t *memory_kind_sizes; /* max(params, results) entries */
    tt_pjrt_named_value costs[3];
};
struct tt_pjrt_loaded {
    _Atomic int refs; /* the handle's and the queued runs' */
    tt_pjrt_client *client;
    tt_pjrt_executable *executable;
    int n_devices;
    tt_pjrt_device **devices; /* [replica * n_partitions + partition] */
    eng_frame **frames;       /* [client device], made on its queue */
    _Atomic bool deleted;
    _Atomic int64_t measured_ns; /* time of a run; 0: not known yet */
    _Atomic bool alone;          /* a run takes one thread only */
    _Atomic uint32_t n_runs;
};
void eng_executable_release(tt_pjrt_executable *);
void eng_loaded_release(tt_pjrt_loaded *);

/* ---- slots by file; plugin.c puts them into the API table ---- */
#define ENG_SLOT(slot) tt_pjrt_error *eng_##slot(void *args);
#define ENG_SLOT_0(slot)
#define ENG_SLOT_1(slot)                 ENG_SLOT(slot)
#define PJRT(slot, client, engine, args) ENG_SLOT_##engine(slot)
#include "tables/pjrt.def"
#undef PJRT
#endif

/* run.h - what the bridge calls: storages, ops, copies, modes, statistics.
 *
 * A storage is a variable holding an immutable value: a device buffer, or an output of the pending window. Ownership:
 * storages and values are reference counted; everything else is borrowed for the call. All functions are
 * thread-safe: one lock guards the recording state of the process. Nothing here knows PyTorch. */
#ifndef TT_RUN_H
#define TT_RUN_H
#include "aten/lower.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_storage tt_storage;

/* ---- the runtime ---- */
TT_MUST_CHECK tt_status tt_runtime_init(void);    /* loads the plugin; idempotent; the error stays for later calls */
int tt_runtime_device_count(void);                /* never fails, never starts more than it must: 0 when there is no device */
const char *tt_runtime_plugin(void);              /* "engine", "libtpu", or a path */
const char *tt_runtime_device_kind(int device);
void tt_runtime_set_library_dir(const char *dir); /* where pjrt_cpu.so lies; called once by the loader */
void tt_runtime_set_plugin(const char *path);      /* overrides TORCH_TPU_PLUGIN: "engine", or a path; before the first use */
void tt_runtime_after_fork(void);                 /* child: every later call fails with PyTorch's fork message */

typedef enum tt_mode { TT_MODE_STRICT, TT_MODE_DEBUG, TT_MODE_FUSED } tt_mode;
tt_mode tt_mode_get(void);                        /* the calling thread's, else the process's */
TT_MUST_CHECK tt_status tt_mode_set(tt_mode);     /* process; flushes */
void tt_precision_set(const char *precision);     /* "DEFAULT" "HIGH" "HIGHEST" */
const char *tt_precision_get(void);
/* Whether programs of several ops may keep what one op hands to the next in more precision than its dtype has. Flushes. */
TT_MUST_CHECK tt_status tt_excess_precision_set(bool allowed);
bool tt_excess_precision_get(void);

/* ---- storages ---- */
tt_storage *tt_storage_create(int device, int64_t bytes);     /* holds nothing yet; reads as zeros */
/* Tells what the storage will hold, so that views decode against its shape. Optional. */
void tt_storage_hint(tt_storage *, tt_dtype, int rank, const int64_t *dims);
void tt_storage_retain(tt_storage *);
void tt_storage_release(tt_storage *);
uint64_t tt_storage_address(const tt_storage *);              /* unique, non-zero, faults when read */
int64_t tt_storage_bytes(const tt_storage *);
int tt_storage_device(const tt_storage *);
uint64_t tt_storage_version(const tt_storage *);
/* The storage an address (of tt_storage_address plus a byte offset) belongs to; NULL if none. Borrowed. */
tt_storage *tt_storage_find(uint64_t address, int64_t *out_byte_offset);
TT_MUST_CHECK tt_status tt_storage_resize(tt_storage *, int64_t bytes);
/* Host pointer of the buffer (engine, or a plugin with Buffer_UnsafePointer), after a flush and a wait. writable: the buffer is made unique
 * first and counts as changed. NULL in *out when the plugin has none: stage through tt_read/tt_write. */
TT_MUST_CHECK tt_status tt_storage_host_pointer(tt_storage *, bool writable, void **out);

/* ---- ops ---- */
typedef struct tt_result {
    int tag;                          /* TT_OUT_NONE TENSOR INT TENSORS_BEGIN */
    tt_dtype dtype; int rank;
    const int64_t *dims, *strides;    /* live until the next call on this thread */
    tt_storage *storage;              /* TENSOR, not a target: a new reference for the caller */
    int64_t integer;
} tt_result;

typedef struct tt_call {
    const tt_row *row;
    const tt_arg *args; int n_args;
    int device;                       /* where a row without tensor arguments makes its result */
    /* Targets: out k overwrites targets[k] (in place, with the dtype check and cast PyTorch does). NULL entries and beyond
     * n_targets: a new storage. A target whose shape differs fails with PyTorch's text. */
    int n_targets; tt_tensor *const *targets;
    const char *op_name;              /* for messages: the name the user called */
} tt_call;
/* Results are valid until the next tt_op_call on this thread. On failure no tensor has changed. A row that has no lowering for
 * these arguments fails with UNIMPLEMENTED (then the bridge falls back to the CPU), a user error with INVALID_ARGUMENT,
 * OUT_OF_RANGE, TYPE_ERROR or VALUE_ERROR. */
TT_MUST_CHECK tt_status tt_op_call(const tt_call *, int *out_n, const tt_result **out_results);
/* Generators: called under the lock to read and advance a counter-based generator behind `handle`. */
typedef void (*tt_rng_take)(void *handle, int device, uint64_t increment, uint64_t *out_seed, uint64_t *out_offset);
void tt_rng_set_source(tt_rng_take);

/* ---- copies. Host arrays are dense, row-major, of the tensor's dtype. ---- */
TT_MUST_CHECK tt_status tt_read(const tt_tensor *source, void *host);            /* flushes, waits */
TT_MUST_CHECK tt_status tt_write(const tt_tensor *target, const void *host, bool may_borrow /* host lives until tt_sync */);
TT_MUST_CHECK tt_status tt_copy(const tt_tensor *target, const tt_tensor *source); /* cast, broadcast, across devices */

/* ---- flushing and waiting ---- */
TT_MUST_CHECK tt_status tt_flush(int device /* -1: all */, const char *reason);
TT_MUST_CHECK tt_status tt_sync(int device /* -1: all */);                       /* flush, wait, raise sticky errors */
typedef struct tt_marker tt_marker;                                              /* a point in a device's queue */
TT_MUST_CHECK tt_status tt_marker_record(int device, tt_marker **out);
int tt_marker_done(tt_marker *);
TT_MUST_CHECK tt_status tt_marker_wait(tt_marker *, uint64_t *out_nanoseconds /* when it was reached; may be NULL */);
void tt_marker_destroy(tt_marker *);

/* ---- capture: torch.compile's way in. Ops on this thread are recorded without limit until the end, then run as one program. ---- */
/* excess: allowed precision of this program, whatever tt_excess_precision_get says. */
TT_MUST_CHECK tt_status tt_capture_begin(int device, const char *name, bool excess);
TT_MUST_CHECK tt_status tt_capture_end(bool run);

/* ---- tapes: a captured graph, recorded again on other tensors of the same kind without calling its ops (tape.c) ---- */
typedef struct tt_tape tt_tape;
typedef struct tt_tape_result { int arg, made; } tt_tape_result; /* the argument whose storage it has, or which of the new ones; -1: not */
void tt_tape_watch(int device, int n, tt_storage *const *args);  /* after tt_capture_begin: these are the arguments */
/* Before tt_capture_end: of what was captured; NULL if it cannot be played. results: NULL where there is none. */
tt_tape *tt_tape_create(int device, int n_results, tt_storage *const *results);
void tt_tape_destroy(tt_tape *);
const tt_tape_result *tt_tape_results(const tt_tape *, int *out_n_made);
/* Records the graph; tt_flush runs it. played false: these arguments are of another kind, nothing was done (the caller compares sizes,
 * strides and dtypes of the tensors; shapes and sharing of storages are compared here). out_made: new storages, one reference each. */
TT_MUST_CHECK tt_status tt_tape_play(const tt_tape *, int n, tt_storage *const *args, bool *out_played, tt_storage **out_made);

/* ---- statistics ---- */
typedef struct tt_stats {
    int64_t ops, programs_run, compiles, compile_nanoseconds, cache_hits, disk_hits, flushes, op_signatures, forgotten;
} tt_stats;
void tt_stats_get(tt_stats *);
typedef struct tt_memory { int64_t live_bytes, peak_bytes, live_buffers, limit_bytes, allocations, frees, total_allocated; } tt_memory;
void tt_memory_get(int device, tt_memory *);
void tt_memory_reset_peak(int device);
/* The last compiles with their reasons, newest first, one line each. Owned text. */
char *tt_compile_log(void);
void tt_cache_clear(void);
/* Every program compiled from now on is also handed here as text (named tools use it: the libtpu check, golden tests). NULL stops. */
typedef void (*tt_program_sink)(void *context, const char *name, const char *text, size_t length);
void tt_program_set_sink(tt_program_sink, void *context);

#ifdef __cplusplus
}
#endif
#endif

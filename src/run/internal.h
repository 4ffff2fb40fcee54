/* internal.h - what the files of run/ share. Everything here is guarded by tt_run_lock unless it says otherwise. */
#ifndef TT_RUN_INTERNAL_H
#define TT_RUN_INTERNAL_H
#include "base/hash.h"
#include "pjrt/client.h"
#include "run/run.h"
#include "run/view.h"
#include <pthread.h>

enum { TT_MAX_DEVICES = 64 };

extern pthread_mutex_t tt_run_lock;
static inline void tt_lock(void) { pthread_mutex_lock(&tt_run_lock); }
static inline void tt_unlock(void) { pthread_mutex_unlock(&tt_run_lock); }

/* ---- values: immutable contents of storages (value.c) ---- */
typedef struct tt_value {
    int refs, device;
    const hlo_type *type;      /* interned: lives for ever, equal types are equal pointers */
    tt_buffer *buffer;         /* NULL while pending or failed */
    bool pending;              /* an output of the device's window */
    uint32_t index;            /* pending: which value of the window */
    uint32_t epoch, external;  /* its number among the window's externals, valid when epoch is the window's */
    char *error;               /* why there is no buffer: sticky */
    tt_code error_code;
} tt_value;

struct tt_storage {
    _Alignas(64) int refs;
    int device;
    int64_t bytes;
    tt_value *value;           /* NULL: never written, reads as zeros */
    const hlo_type *hint;      /* shape a first partial write assumes; NULL: flat */
    uint64_t version, address;
    uint32_t mark_epoch, mark; /* op.c: this storage's input number in the call being keyed */
};

const hlo_type *tt_type_intern(const hlo_type *);
tt_value *tt_value_create(int device, const hlo_type *interned);
static inline void tt_value_retain(tt_value *v) { v->refs++; }
void tt_value_release(tt_value *);
extern uint64_t tt_values_made_of_buffers; /* how many so far */
tt_value *tt_value_of_buffer(int device, const hlo_type *interned, tt_buffer *take_buffer);
/* A value that its storage alone holds, and whose buffer was given away for this one, is the new value; another reference to it. */
tt_value *tt_value_renew(tt_value *, tt_buffer *take_buffer);
/* Puts a value (its reference is consumed) into a storage. */
void tt_storage_put(tt_storage *, tt_value *take_value);
tt_storage *tt_storage_create_locked(int device, int64_t bytes);
/* The type a value of this storage has, or would have: its value's, the hint, or flat elements of dtype. */
const hlo_type *tt_storage_type_unwritten(const tt_storage *, tt_dtype dtype);
static inline const hlo_type *tt_storage_type(const tt_storage *s, tt_dtype dtype) { return s->value ? s->value->type : tt_storage_type_unwritten(s, dtype); }
/* The value has a buffer after this: flushes its window if it is pending, raises its error if it failed. */
TT_MUST_CHECK tt_status tt_value_realize(tt_value *, const char *reason);
void tt_value_fail(tt_value *, const tt_error *); /* no buffer will come; the error is copied */
TT_MUST_CHECK tt_status tt_value_error(const tt_value *);

/* ---- signatures: one op at given dtypes, shapes, views, structural arguments (op.c, signature.c) ---- */
typedef struct tt_sig_result {
    int tag; int target;       /* target < 0: a new storage */
    int output;                /* which output of the fragment; -1: none, a later result has the new value of the storage */
    const hlo_type *zeros;     /* a new storage without a value is what it needs; else NULL */
    tt_dtype dtype; int rank; int64_t bytes, integer;
    const int64_t *dims, *strides;
} tt_sig_result;

/* A runtime scalar: which argument (element of its list, -1). dim >= 0: where a view starts along that dim of its storage's value; arg is
 * then the tensor, TT_SLOT_TARGET | k the k-th target. */
typedef struct tt_slot { uint16_t arg; int16_t element; bool is_int; int8_t dim; } tt_slot;
enum { TT_SLOT_TARGET = 0x8000 };

struct tt_program;
typedef struct tt_sig {
    tt_hash key;
    const tt_row *row;
    tt_arena *arena;
    hlo_graph *fragment;       /* params: inputs, then f64 slots and i64 slots in order of slots[], then rng */
    int n_inputs; const hlo_type **input_types;
    int n_outputs; const hlo_type **output_types; int *output_target; /* target whose storage it becomes, -1 */
    int *output_donor;         /* input whose buffer it may take over, -1 */
    int n_results; tt_sig_result *results;
    int n_slots; tt_slot *slots;
    bool rng; uint64_t rng_used;
    char *title;               /* "add.Tensor f32[2,3] f32[3]" for logs and messages */
    struct tt_program *strict[4]; int strict_device[4]; int n_strict; /* programs of this op alone */
    tt_value *constant; int n_made; /* what a factory made last, and how often (op.c) */
    bool in_order;             /* a list op whose elements meet (in_order.c): there is nothing above but the title */
    uint64_t used; int pins; int64_t bytes; /* forget.c: when last, how many tapes hold it, memory of its own */
} tt_sig;

/* ---- programs (exec.c) ---- */
typedef struct tt_program {
    tt_executable *executable;
    char *name;
    int n_args; uint32_t *arg_external;   /* argument i is this external of the window, or one of the TT_PACK_ codes */
    bool *donate; int *heir_of;           /* as tt_executable_run takes them */
    bool may_fail;                        /* while it runs: it has a tt.bounds */
    int n_outputs; uint32_t *output_value; /* output i is this value of the window */
    tt_status error;                      /* compiling failed: kept, so that it is not tried for ever */
    int n_failures;
    uint64_t used; int64_t bytes;         /* forget.c */
} tt_program;
enum { TT_PACK_F64 = 0xFFFFFFF0u, TT_PACK_I64, TT_PACK_RNG };

/* A list of ops on values, about to become one program. */
typedef struct tt_window_op { tt_sig *sig; uint32_t first_input, first_value, first_f64, first_i64, rng; } tt_window_op;
typedef struct tt_window {
    int device; uint32_t epoch;
    int n_ops, cap_ops; tt_window_op *ops;
    int n_inputs, cap_inputs; uint32_t *inputs;      /* value << 1, or external << 1 | 1 */
    int n_externals, cap_externals; tt_value **externals; /* retained */
    int n_values, cap_values; tt_value **values;     /* retained; pending outputs */
    int n_f64, cap_f64; double *f64;
    int n_i64, cap_i64; int64_t *i64;
    int n_rng, cap_rng; uint64_t *rng;               /* pairs */
    tt_hash hash;
    uint64_t rolling;                                /* of the last ops' signatures: where a window ends by content */
    int capture;                                     /* depth: no automatic end */
    bool excess_precision;                           /* the capture allows it */
} tt_window;

/* Records an op: inputs are borrowed, out_values get one reference each (the window holds its own). */
void tt_window_record(tt_window *, tt_sig *, tt_value *const *inputs, const double *f64, const int64_t *i64, const uint64_t *rng, tt_value **out_values);
tt_window *tt_window_of(int device);
TT_MUST_CHECK tt_status tt_window_flush(tt_window *, const char *reason);
/* Runs one op now. donate[i] gives input i away. */
TT_MUST_CHECK tt_status tt_strict_run(tt_sig *, int device, tt_value *const *inputs, const bool *donate, const double *f64, const int64_t *i64,
                                      const uint64_t *rng, tt_value **out_values);
void tt_strict_forget(tt_sig *);
/* Names the op and what the device holds in an error for lack of memory; others pass. */
TT_MUST_CHECK tt_status tt_explain(tt_status, const char *name, int device);
/* Compiles (memory, disk, plugin). The program text is consumed. */
TT_MUST_CHECK tt_status tt_program_compile(int device, const char *name, const char *reason, int n_ops, const hlo_graph *, bool excess_precision, tt_program *out);
void tt_program_deinit(tt_program *); /* lets go of the executable and what was counted for it */

/* ---- what is forgotten (forget.c); under the lock ---- */
extern uint64_t tt_op_clock;             /* op calls so far: the time of `used` */
void tt_held_add(int64_t bytes);         /* memory of signatures and programs; negative: freed */
void tt_forget_if_full(void);
void tt_forget_offer(bool is_program, tt_hash key, uint64_t used);
void tt_signatures_offer(void);          /* op.c */
void tt_signature_forget(tt_hash key);
void tt_window_programs_offer(void);     /* window.c */
void tt_window_program_forget(tt_hash key);
void tt_windows_keep_signatures(void);   /* recorded ops use theirs */
void tt_executables_forget_unused(void); /* exec.c: those that no program has any more */

/* ---- cache tiers (cache.c): serialized executables on disk. Returns false on a miss; a damaged entry is a miss. ---- */
bool tt_disk_get(tt_hash key, void **out_data, size_t *out_length);
void tt_disk_put(tt_hash key, const void *data, size_t length);
/* Held while a program is compiled, so that equal programs compile once per machine: who waited finds the entry. -1: there is none. */
int tt_disk_lock(tt_hash key);
void tt_disk_unlock(tt_hash key, int lock);

/* ---- failing programs (record.c): writes text, returns the replay command's text (arena-free, malloc) or NULL ---- */
char *tt_record_failure(const char *name, const char *text, size_t length, const char *message);

void tt_rng_next(void *handle, int device, uint64_t used, uint64_t out[2]); /* op.c: seed and offset; handle NULL: the default generator */

/* ---- the runtime (runtime.c) ---- */
extern tt_client *tt_run_client;
extern tt_stats tt_run_stats;
extern bool tt_run_is_engine;
TT_MUST_CHECK tt_status tt_runtime_init_locked(void);
tt_mode tt_mode_locked(void);
const char *tt_runtime_library_dir(void);   /* where ttc and the engine lie */
void tt_compile_note(const char *name, const char *reason, int n_ops, double milliseconds, const char *source);
void tt_program_sink_call(const char *name, const char *text, size_t length);
extern int tt_capture_depth;
/* A program was enqueued; output is one of its results. Plugins whose queues are not in order are waited for by these, and errors that nobody
 * reads are found. */
void tt_run_note(const tt_program *, int device, tt_buffer *output);
void tt_error_was_read_locked(const tt_error *); /* NULL is fine. A read raises it: waiting shall not raise it again. */

/* Copies as ops: target = cast and broadcast of source; used by copy.c and storage resize. */
TT_MUST_CHECK tt_status tt_op_call_locked(const tt_call *, int *out_n, const tt_result **out_results);
extern const tt_row tt_row_copy;

#endif

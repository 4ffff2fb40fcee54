/* client.h - the device boundary: any PJRT plugin behind one small interface. A program is bytes to it.
 *
 * Only pjrt/ calls plugin functions, through pjrt/call.c (logged, timed, failed on purpose by TORCH_TPU_FAULT=pjrt:N).
 * tt_client, tt_buffer and tt_executable are reference counted and thread-safe. */
#ifndef TT_CLIENT_H
#define TT_CLIENT_H
#include "base/dtype.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_client tt_client;
typedef struct tt_buffer tt_buffer;
typedef struct tt_executable tt_executable;
typedef struct tt_event tt_event;

/* path: a plugin .so. n_devices > 0: ask for that many (cpu_device_count; dropped when the plugin refuses the option). A file that is no
 * plugin, a wrong ABI major, a plugin that fails: a sentence that names the path and what to do. */
TT_MUST_CHECK tt_status tt_client_create(const char *path, int n_devices, tt_client **out);
void tt_client_release(tt_client *);
int tt_client_device_count(const tt_client *);
const char *tt_client_platform(const tt_client *);          /* "tpu", "cpu", "tt_engine" */
const char *tt_client_version(const tt_client *);           /* platform version: part of cache keys */
const char *tt_client_device_kind(const tt_client *, int device);
int tt_client_api_minor(const tt_client *);
typedef struct tt_device_memory { int64_t bytes_in_use, peak_bytes, limit_bytes; bool known; } tt_device_memory;
TT_MUST_CHECK tt_status tt_client_memory(tt_client *, int device, tt_device_memory *out);

/* options: NULL, or key=value compile options (env_option_overrides), newline separated. Runs on `device` only. */
TT_MUST_CHECK tt_status tt_client_compile(tt_client *, int device, const char *program, size_t length, const char *options, tt_executable **out);
/* The same for n_replicas x n_partitions devices: number replica * n_partitions + partition runs on the device of that number. */
TT_MUST_CHECK tt_status tt_client_compile_many(tt_client *, int n_replicas, int n_partitions, const char *program, size_t length, const char *options, tt_executable **out);
TT_MUST_CHECK tt_status tt_client_load(tt_client *, int device, const void *serialized, size_t length, tt_executable **out);
TT_MUST_CHECK tt_status tt_executable_serialize(tt_executable *, void **out_data /* free() */, size_t *out_length);
void tt_executable_retain(tt_executable *);
void tt_executable_release(tt_executable *);
bool tt_executable_is_shared(const tt_executable *);    /* has more than one reference */
int64_t tt_executable_bytes(const tt_executable *);    /* of code, as the plugin says; 0: it does not */
int tt_executable_output_count(const tt_executable *);
/* Asynchronous. donate[i] (may be NULL): the program aliases argument i; the caller must not use that buffer again. heir_of[k] (may be NULL;
 * else every such argument has an heir): the argument whose buffer object, owned by the caller alone, becomes that of output k if nothing
 * fails, or -1. out_outputs receives output_count owned buffers. */
TT_MUST_CHECK tt_status tt_executable_run(tt_executable *, int n_args, tt_buffer *const *args, const bool *donate, const int *heir_of, tt_buffer **out_outputs);
/* A program of several devices. args: n_args for each device, one device after the other, each on its device; the outputs likewise. */
TT_MUST_CHECK tt_status tt_executable_run_many(tt_executable *, int n_devices, int n_args, tt_buffer *const *args, tt_buffer **out_outputs);

/* Dense row-major host array in. keep_alive false: the host array may go when the call returns; true: it must live until the buffer is ready. */
TT_MUST_CHECK tt_status tt_buffer_from_host(tt_client *, int device, tt_dtype, int rank, const int64_t *dims, const void *host, bool keep_alive, tt_buffer **out);
TT_MUST_CHECK tt_status tt_buffer_to_host(tt_buffer *, void *host, size_t bytes);            /* waits; dense row-major */
TT_MUST_CHECK tt_status tt_buffer_copy_to_device(tt_buffer *, int device, tt_buffer **out);
TT_MUST_CHECK tt_status tt_buffer_wait(tt_buffer *);                                          /* until ready; raises its error */
TT_MUST_CHECK tt_status tt_buffer_ready_event(tt_buffer *, tt_event **out);
TT_MUST_CHECK tt_status tt_buffer_unsafe_pointer(tt_buffer *, void **out);                    /* NULL in *out: the plugin has none */
int64_t tt_buffer_bytes(const tt_buffer *);                                                   /* logical dense size */
int tt_buffer_device(const tt_buffer *);
void tt_buffer_retain(tt_buffer *);
void tt_buffer_release(tt_buffer *);
int64_t tt_buffer_refs(const tt_buffer *);

int tt_event_ready(tt_event *);
TT_MUST_CHECK tt_status tt_event_wait(tt_event *);
TT_MUST_CHECK tt_status tt_event_stamp(tt_event *);   /* once: note the time at which it becomes ready */
uint64_t tt_event_stamped(const tt_event *);          /* that time on CLOCK_MONOTONIC in ns; 0: not ready, or not noted yet */
void tt_event_destroy(tt_event *);

/* Ahead of time: compile for a topology with no device present (libtpu). topology: "v5e:1x1". */
typedef struct tt_aot_stats { int64_t argument_bytes, output_bytes, alias_bytes, temp_bytes, code_bytes; double seconds; } tt_aot_stats;
TT_MUST_CHECK tt_status tt_aot_compile(const char *plugin_path, const char *topology, const char *program, size_t length, tt_aot_stats *out);

/* Bytes of live tt_buffers per device, counted by us (works on every plugin). */
typedef struct tt_buffer_stats { int64_t live_bytes, peak_bytes, live_buffers, allocations, frees, total_allocated; } tt_buffer_stats;
void tt_buffer_stats_get(int device, tt_buffer_stats *);
void tt_buffer_stats_reset_peak(int device);

#ifdef __cplusplus
}
#endif
#endif

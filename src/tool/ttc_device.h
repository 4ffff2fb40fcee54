/* ttc_device.h - what the commands that run programs share: arguments, plugins, one run.
 *
 * The tool drives any PJRT plugin through pjrt/client.h, as the runtime does; it never includes the engine. */
#ifndef TTC_DEVICE_H
#define TTC_DEVICE_H
#include "hlo/graph.h"
#include "pjrt/client.h"
#include "tool/ttc.h"

/* --plugin's value, else TORCH_TPU_PLUGIN, else the engine next to this program. "engine" means the last. */
const char *ttc_plugin_path(tt_arena *, const char *given);

/* A dense host array; data from malloc, owned. */
typedef struct ttc_array { hlo_type type; void *data; } ttc_array;
void ttc_arrays_free(int n, ttc_array *);
TT_MUST_CHECK tt_status ttc_npy_read(const char *path, ttc_array *out);
TT_MUST_CHECK tt_status ttc_npy_write(const char *path, const ttc_array *);
/* Reproducible values in (-2, 2), integers in -3..3 (unsigned 0..3), for arguments that were not given. */
void ttc_array_fill(ttc_array *, uint64_t seed);
void ttc_array_print(const ttc_array *, int64_t limit);
/* Element i as text. */
void ttc_element_text(char *out, size_t bytes, tt_dtype, const void *array, int64_t i);
/* Arguments of g's entry: the files given, then filled ones; checks their types. */
TT_MUST_CHECK tt_status ttc_arguments(const hlo_graph *g, int n_files, char **files, int *out_n, ttc_array **out_arrays);

/* Makes the entry "main", as XLA wants it, and gives a program without results one, so that its failure can be waited for. */
void ttc_prepare(hlo_graph *g);
/* Compiles g's text on the client (options: NULL, or "kernels=reference" for the engine) and runs it once on device 0. out_results: one
 * array per result of g's entry. */
TT_MUST_CHECK tt_status ttc_execute(tt_client *, const hlo_graph *g, const char *options, int n_args, const ttc_array *args,
                                    ttc_array *out_results);
/* Where in the entry interpreter.run_parallel stands, -1: nowhere; and the run of such a program, on several devices of the client. */
int ttc_parallel_find(const hlo_graph *g);
TT_MUST_CHECK tt_status ttc_parallel_run(tt_client *, hlo_graph *g, int at, const char *options);
#endif

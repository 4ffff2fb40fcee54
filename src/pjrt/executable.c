/* executable.c - programs: compiled, loaded, serialised, run. A program is bytes here; what it computes is
 * nobody's business. */
#include "base/arena.h"
#include "base/checked.h"
#include "base/log.h"
#include "pjrt/objects.h"
#include "pjrt/options.h"
#include <stdlib.h>
#include <string.h>

enum { STACK_ARGS = 64 };

static tt_status get_executable(const tt_plugin *p, tt_pjrt_loaded *loaded, tt_pjrt_executable **out) {
    *out = NULL;
    TT_PJRT_ARGS(get_pointer, args);
    args.a.object = loaded;
    TT_TRY(TT_PJRT_CALL(p, LoadedExecutable_GetExecutable, args));
    *out = args.a.value;
    return TT_OK;
}

static tt_status output_type(int pjrt_type, size_t rank, const int64_t *dims, tt_output *out) {
    tt_dtype dtype = tt_dtype_from_pjrt(pjrt_type);
    TT_CHECK(dtype != TT_DTYPE_NONE, UNIMPLEMENTED,
             "a program's result has the PJRT element type %d, which we do not know", pjrt_type);
    TT_CHECK(rank <= INT16_MAX, INVALID_ARGUMENT, "a program's result has rank %zu", rank);
    int64_t bytes = tt_dtype_size(dtype);
    for (size_t i = 0; i < rank; i++)
        TT_CHECK(dims[i] >= 0 && tt_mul_i64(bytes, dims[i], &bytes), INVALID_ARGUMENT,
                 "a program's result has too many elements");
    *out = (tt_output){bytes, dtype, (int)rank};
    return TT_OK;
}

static tt_status read_outputs(tt_executable *e, tt_pjrt_executable *executable) {
    const tt_plugin *p = e->client->plugin;
    TT_PJRT_ARGS(get_size, count);
    count.a.object = executable;
    TT_TRY(TT_PJRT_CALL(p, Executable_NumOutputs, count));
    TT_PJRT_ARGS(get_array, types);
    types.a.object = executable;
    TT_TRY(TT_PJRT_CALL(p, Executable_OutputElementTypes, types));
    TT_PJRT_ARGS(output_dimensions, dims);
    dims.a.executable = executable;
    TT_TRY(TT_PJRT_CALL(p, Executable_OutputDimensions, dims));
    TT_CHECK(types.a.count == count.a.value && dims.a.count == count.a.value, INTERNAL,
             "the plugin says %zu outputs, but %zu types and %zu shapes", count.a.value, types.a.count,
             dims.a.count);
    e->outputs = tt_calloc(count.a.value ? count.a.value : 1, sizeof *e->outputs);
    e->n_outputs = (int)count.a.value;
    const int *kinds = types.a.items;
    const int64_t *at = dims.a.dims;
    for (int i = 0; i < e->n_outputs; i++) {
        TT_TRY(output_type(kinds[i], dims.a.ranks[i], at, &e->outputs[i]));
        at += dims.a.ranks[i];
    }
    return TT_OK;
}

/* A plugin need not know. */
static tt_status read_size(tt_executable *e, tt_pjrt_executable *executable) {
    TT_PJRT_ARGS(get_i64, size);
    size.a.object = executable;
    tt_status error = TT_PJRT_CALL(e->client->plugin, Executable_SizeOfGeneratedCodeInBytes, size);
    e->bytes = error || size.a.value < 0 ? 0 : size.a.value;
    if (tt_status_code(error) != TT_UNIMPLEMENTED)
        return error;
    tt_status_free(error);
    return TT_OK;
}

/* Takes `loaded`, also when it fails. */
static tt_status wrap(tt_client *c, int device, tt_pjrt_loaded *loaded, bool may_alias, tt_executable **out) {
    tt_executable *e = tt_calloc(1, sizeof *e);
    atomic_init(&e->refs, 1);
    tt_client_retain(c);
    e->client = c;
    e->loaded = loaded;
    e->device = device;
    e->may_alias = may_alias;
    tt_pjrt_executable *executable;
    tt_status error = get_executable(c->plugin, loaded, &executable);
    if (!error) {
        error = read_outputs(e, executable);
        if (!error)
            error = read_size(e, executable);
        tt_pjrt_destroy(c->plugin, TT_PJRT_Executable_Destroy, executable);
    }
    if (error) {
        tt_executable_release(e);
        return error;
    }
    *out = e;
    return TT_OK;
}

/* XLA:CPU's own default lets minimum and maximum lose a NaN, which StableHLO does not allow; XLA's leaves out roundings to bf16 and f16, also
 * where a program relies on them. */
#define KEEP_NAN "xla_cpu_enable_fast_min_max"
#define KEEP_ROUNDING "xla_allow_excess_precision"

/* device < 0: as many as there are replicas and partitions, from device 0 on. */
static tt_status compile_with(tt_client *c, int device, int n_replicas, int n_partitions, const char *program, size_t length,
                         const char *options, tt_executable **out) {
    static const char format[] = "mlir";
    tt_str encoded;
    TT_TRY(tt_options_encode(device < 0 ? -1 : c->devices[device].id, n_replicas, n_partitions, options, &encoded));
    TT_PJRT_ARGS(program, code);
    code.a = (tt_pjrt_program){
        .struct_size = sizeof code,
        .code = (char *)(uintptr_t)program,
        .code_size = length,
        .format = format,
        .format_size = sizeof format - 1,
    };
    TT_PJRT_ARGS(client_compile, args);
    args.a.client = c->client;
    args.a.program = &code.a;
    args.a.options = encoded.data;
    args.a.options_size = encoded.length;
    tt_status error = TT_PJRT_CALL(c->plugin, Client_Compile, args);
    tt_str_deinit(&encoded);
    TT_TRY(error);
    bool may_alias =
        memmem(program, length, "tf.aliasing_output", 18) || memmem(program, length, "jax.buffer_donor", 16);
    return wrap(c, device < 0 ? 0 : device, args.a.executable, may_alias, out);
}

static tt_status compile(tt_client *c, int device, int n_replicas, int n_partitions, const char *program, size_t length,
                         const char *options, tt_executable **out) {
    const char *ours = !strcmp(c->platform, "tt_engine") ? NULL
                       : !strcmp(c->platform, "cpu")     ? KEEP_ROUNDING "=false\n" KEEP_NAN "=false"
                                                         : KEEP_ROUNDING "=false";
    if (!ours)
        return compile_with(c, device, n_replicas, n_partitions, program, length, options, out);
    tt_str all = {0}; /* of an option that is there twice the last one counts */
    tt_str_printf(&all, "%s\n%s", ours, options ? options : "");
    tt_status error = compile_with(c, device, n_replicas, n_partitions, program, length, all.data, out);
    tt_str_deinit(&all);
    if (!error || (!strstr(tt_status_text(error), KEEP_NAN) && !strstr(tt_status_text(error), KEEP_ROUNDING)))
        return error;
    tt_status_free(error); /* an XLA without these options */
    return compile_with(c, device, n_replicas, n_partitions, program, length, options && strstr(options, KEEP_ROUNDING) ? NULL : options, out);
}

tt_status tt_client_compile(tt_client *c, int device, const char *program, size_t length, const char *options,
                            tt_executable **out) {
    *out = NULL;
    TT_TRY(tt_client_check_device(c, device));
    return compile(c, device, 1, 1, program, length, options, out);
}

tt_status tt_client_compile_many(tt_client *c, int n_replicas, int n_partitions, const char *program, size_t length,
                                 const char *options, tt_executable **out) {
    *out = NULL;
    TT_CHECK(n_replicas > 0 && n_partitions > 0 && n_replicas <= c->n_devices && n_partitions <= c->n_devices / n_replicas,
             INVALID_ARGUMENT, "%d replicas of %d partitions do not fit %d devices", n_replicas, n_partitions, c->n_devices);
    return compile(c, -1, n_replicas, n_partitions, program, length, options, out);
}

tt_status tt_client_load(tt_client *c, int device, const void *serialized, size_t length,
                         tt_executable **out) {
    *out = NULL;
    TT_TRY(tt_client_check_device(c, device));
    tt_str encoded;
    TT_TRY(tt_options_encode(c->devices[device].id, 1, 1, NULL, &encoded));
    TT_PJRT_ARGS(deserialize_and_load, args);
    args.a.client = c->client;
    args.a.data = serialized;
    args.a.size = length;
    args.a.options = encoded.data;
    args.a.options_size = encoded.length;
    tt_status error = TT_PJRT_CALL(c->plugin, Executable_DeserializeAndLoad, args);
    tt_str_deinit(&encoded);
    TT_TRY(error);
    return wrap(c, device, args.a.executable, true, out);
}

tt_status tt_executable_serialize(tt_executable *e, void **out_data, size_t *out_length) {
    *out_data = NULL;
    *out_length = 0;
    const tt_plugin *p = e->client->plugin;
    tt_pjrt_executable *executable;
    TT_TRY(get_executable(p, e->loaded, &executable));
    TT_PJRT_ARGS(executable_serialize, args);
    args.a.executable = executable;
    tt_status error = TT_PJRT_CALL(p, Executable_Serialize, args);
    if (!error) {
        *out_data = tt_malloc(args.a.size ? args.a.size : 1);
        memcpy(*out_data, args.a.data, args.a.size);
        *out_length = args.a.size;
        if (args.a.free_owner)
            args.a.free_owner(args.a.owner);
    }
    tt_pjrt_destroy(p, TT_PJRT_Executable_Destroy, executable);
    return error;
}

void tt_executable_retain(tt_executable *e) {
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
}

void tt_executable_release(tt_executable *e) {
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    tt_pjrt_destroy(e->client->plugin, TT_PJRT_LoadedExecutable_Destroy, e->loaded);
    tt_client_release(e->client);
    free(e->outputs);
    free(e);
}

bool tt_executable_is_shared(const tt_executable *e) {
    return atomic_load_explicit(&e->refs, memory_order_relaxed) > 1;
}

int64_t tt_executable_bytes(const tt_executable *e) {
    return e->bytes;
}

int tt_executable_output_count(const tt_executable *e) {
    return e->n_outputs;
}

static tt_status execute(tt_executable *e, int n_args, tt_pjrt_buffer **args, int n_keep, const int64_t *keep,
                         tt_pjrt_buffer **outputs) {
    TT_PJRT_ARGS(execute_options, options);
    options.a.struct_size = sizeof options;
    options.a.non_donatable = keep;
    options.a.n_non_donatable = (size_t)n_keep;
    tt_pjrt_buffer *const *argument_lists[1] = {args};
    tt_pjrt_buffer **output_lists[1] = {outputs};
    tt_pjrt_extension keeps = {.struct_size = sizeof keeps, .type = TT_PJRT_EXTENSION_KEEPS_HANDLES};
    TT_PJRT_ARGS(execute, call);
    call.a.extension_start = e->client->keeps_handles ? &keeps : NULL;
    call.a.executable = e->loaded;
    call.a.options = &options.a;
    call.a.arguments = argument_lists;
    call.a.n_devices = 1;
    call.a.n_args = (size_t)n_args;
    call.a.outputs = output_lists;
    return TT_PJRT_CALL(e->client->plugin, LoadedExecutable_Execute, call);
}

/* The buffer object of an argument that was given away holds the output that took its memory over. */
static tt_buffer *inherit(tt_buffer *b, tt_pjrt_buffer *output) {
    if (output != b->buffer)
        tt_pjrt_destroy(b->client->plugin, TT_PJRT_Buffer_Destroy, b->buffer);
    b->buffer = output;
    return b;
}

tt_status tt_executable_run(tt_executable *e, int n_args, tt_buffer *const *args, const bool *donate, const int *heir_of,
                            tt_buffer **out_outputs) {
    int n_keep = 0, n_out = e->n_outputs;
    /* One block on the stack for the common case: arguments, outputs, indices of arguments that stay. */
    union {
        tt_pjrt_buffer *buffer;
        int64_t index;
    } stack[3 * STACK_ARGS], *block = stack;
    size_t slots = (size_t)n_args * 2 + (size_t)n_out;
    if (slots > sizeof stack / sizeof stack[0])
        block = tt_malloc(slots * sizeof *block);
    tt_pjrt_buffer **inputs = &block[0].buffer, **outputs = &block[n_args].buffer;
    int64_t *keep = &block[n_args + n_out].index;
    tt_status error = TT_OK;
    for (int i = 0; i < n_args; i++) {
        if (__builtin_expect(args[i]->device != e->device || args[i]->client != e->client, 0)) {
            error = TT_ERROR(INVALID_ARGUMENT, "argument %d of a program for device %d lies on device %d", i,
                             e->device, args[i]->device);
            goto done;
        }
        inputs[i] = args[i]->buffer;
        if (e->may_alias && !(donate && donate[i]))
            keep[n_keep++] = i;
    }
    for (int i = 0; i < n_out; i++)
        outputs[i] = heir_of && heir_of[i] >= 0 && e->client->keeps_handles ? inputs[heir_of[i]] : NULL;
    error = execute(e, n_args, inputs, n_keep, keep, outputs);
    if (error)
        goto done;
    for (int i = 0; donate && !heir_of && e->may_alias && i < n_args; i++)
        if (donate[i])
            tt_buffer_uncount(args[i]);
    for (int i = 0; i < n_out; i++) {
        const int from = heir_of ? heir_of[i] : -1;
        out_outputs[i] = from >= 0 ? inherit(args[from], outputs[i]) : tt_buffer_wrap(e->client, e->device, outputs[i], &e->outputs[i]);
    }
done:
    if (block != stack)
        free(block);
    return error;
}

tt_status tt_executable_run_many(tt_executable *e, int n_devices, int n_args, tt_buffer *const *args, tt_buffer **out_outputs) {
    size_t n_in = (size_t)n_devices * (size_t)n_args, n_out = (size_t)n_devices * (size_t)e->n_outputs;
    tt_pjrt_buffer **buffers = tt_calloc(n_in + n_out + 1, sizeof *buffers);
    tt_pjrt_buffer *const **inputs = tt_calloc((size_t)n_devices, sizeof *inputs);
    tt_pjrt_buffer ***outputs = tt_calloc((size_t)n_devices, sizeof *outputs);
    int64_t *keep = tt_calloc((size_t)n_args + 1, sizeof *keep);
    for (size_t i = 0; i < n_in; i++)
        buffers[i] = args[i]->buffer;
    for (int d = 0; d < n_devices; d++) {
        inputs[d] = buffers + d * n_args;
        outputs[d] = buffers + n_in + d * e->n_outputs;
    }
    for (int i = 0; i < n_args; i++)
        keep[i] = i;
    TT_PJRT_ARGS(execute_options, options);
    options.a.struct_size = sizeof options;
    options.a.non_donatable = keep;
    options.a.n_non_donatable = (size_t)n_args;
    TT_PJRT_ARGS(execute, call);
    call.a.executable = e->loaded;
    call.a.options = &options.a;
    call.a.arguments = inputs;
    call.a.n_devices = (size_t)n_devices;
    call.a.n_args = (size_t)n_args;
    call.a.outputs = outputs;
    tt_status error = TT_PJRT_CALL(e->client->plugin, LoadedExecutable_Execute, call);
    for (int d = 0; d < n_devices && !error; d++)
        for (int i = 0; i < e->n_outputs; i++)
            out_outputs[d * e->n_outputs + i] = tt_buffer_wrap(e->client, d, outputs[d][i], &e->outputs[i]);
    free(keep);
    free(outputs);
    free(inputs);
    free(buffers);
    return error;
}

/* plugin_compile.c - programs become executables: compile, describe, serialise, load.
 *
 * An executable is a program and what PJRT asks about it; a loaded executable adds devices. Compiling takes
 * microseconds to milliseconds, so a serialised executable is its program text, checked by a hash. */
#include "base/hash.h"
#include "engine/plugin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- executables ---- */
static void executable_describe(tt_pjrt_executable *e) {
    const eng_program *p = e->program;
    int n = p->n_results, most = p->n_params > n ? p->n_params : n, n_dims = 0;
    e->output_types = tt_calloc((size_t)n, sizeof *e->output_types);
    e->output_ranks = tt_calloc((size_t)n, sizeof *e->output_ranks);
    for (int i = 0; i < n; i++) {
        e->output_types[i] = tt_dtype_to_pjrt(p->result_types[i]->dtype);
        e->output_ranks[i] = (size_t)p->result_types[i]->rank;
        n_dims += p->result_types[i]->rank;
    }
    e->output_dims = tt_calloc((size_t)n_dims, sizeof *e->output_dims);
    for (int i = 0, at = 0; i < n; i++)
        for (int k = 0; k < p->result_types[i]->rank; k++)
            e->output_dims[at++] = p->result_types[i]->dims[k];
    e->memory_kinds = tt_calloc((size_t)most, sizeof *e->memory_kinds);
    e->memory_kind_sizes = tt_calloc((size_t)most, sizeof *e->memory_kind_sizes);
    for (int i = 0; i < most; i++) {
        e->memory_kinds[i] = "device";
        e->memory_kind_sizes[i] = 6;
    }
    const char *const names[] = {"flops", "bytes accessed", "optimal_seconds"};
    const double values[] = {p->flops, p->bytes_accessed, (double)p->estimate_ns * 1e-9};
    for (int i = 0; i < 3; i++)
        e->costs[i] = (tt_pjrt_named_value){.struct_size = sizeof e->costs[i],
                                            .name = names[i],
                                            .name_size = strlen(names[i]),
                                            .type = TT_PJRT_VALUE_FLOAT,
                                            .number = (float)values[i],
                                            .value_size = 1};
}

static tt_hash content_hash(const void *options, size_t options_bytes, const void *text, size_t text_bytes) {
    return tt_hash_bytes(text, text_bytes, tt_hash_bytes(options, options_bytes, (tt_hash){1, 2}));
}

static tt_status executable_create(const char *text, size_t text_bytes, const char *options,
                                   size_t options_bytes, bool reference, const eng_options *o,
                                   tt_pjrt_executable **out) {
    eng_program *program;
    TT_TRY(eng_program_create(text, text_bytes, reference || o->reference, o->excess_precision, &program));
    tt_pjrt_executable *e = tt_calloc(1, sizeof *e);
    e->refs = 1;
    e->program = program;
    e->text = memcpy(tt_malloc(text_bytes), text, text_bytes);
    e->text_bytes = text_bytes;
    e->options = tt_malloc(options_bytes);
    if (options_bytes)
        memcpy(e->options, options, options_bytes);
    e->options_bytes = options_bytes;
    e->n_replicas = o->n_replicas;
    e->n_partitions = o->n_partitions;
    tt_hash h = content_hash(options, options_bytes, text, text_bytes);
    snprintf(e->fingerprint, sizeof e->fingerprint, "%016llx%016llx", (unsigned long long)h.a,
             (unsigned long long)h.b);
    executable_describe(e);
    *out = e;
    return TT_OK;
}

void eng_executable_release(tt_pjrt_executable *e) {
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    eng_program_destroy(e->program);
    free(e->text);
    free(e->options);
    free(e->output_types);
    free(e->output_dims);
    free(e->output_ranks);
    free(e->memory_kinds);
    free(e->memory_kind_sizes);
    free(e);
}

/* ---- loaded executables ---- */
static tt_status loaded_create(tt_pjrt_client *c, tt_pjrt_executable *take, const eng_options *o,
                               tt_pjrt_loaded **out) {
    int64_t n = o->n_replicas * o->n_partitions;
    tt_status status = TT_OK;
    if (n > c->n_devices)
        status = TT_ERROR(INVALID_ARGUMENT,
                          "the program wants %lld replicas x %lld partitions, the client has %d devices",
                          (long long)o->n_replicas, (long long)o->n_partitions, c->n_devices);
    tt_pjrt_loaded *l = tt_calloc(1, sizeof *l);
    l->refs = 1;
    l->client = c;
    l->executable = take;
    l->n_devices = (int)n;
    l->devices = tt_calloc((size_t)n, sizeof(void *));
    l->frames = tt_calloc((size_t)c->n_devices, sizeof(void *));
    for (int r = 0; r < o->n_replicas && !status; r++)
        for (int p = 0; p < o->n_partitions && !status; p++) {
            int at = r * (int)o->n_partitions + p;
            int64_t id = o->n_assigned                      ? o->assigned[p * o->n_replicas + r]
                         : n == 1 && o->device_ordinal >= 0 ? o->device_ordinal
                                                            : at;
            if (id < 0 || id >= c->n_devices)
                status =
                    TT_ERROR(INVALID_ARGUMENT, "the device assignment names device %lld, the client has %d",
                             (long long)id, c->n_devices);
            else
                l->devices[at] = c->device_list[id];
            for (int k = 0; k < at && !status; k++)
                if (l->devices[k] == l->devices[at])
                    status = TT_ERROR(INVALID_ARGUMENT, "the device assignment names device %lld twice",
                                      (long long)id);
        }
    if (status) {
        eng_loaded_release(l);
        return status;
    }
    *out = l;
    return TT_OK;
}

void eng_loaded_release(tt_pjrt_loaded *l) {
    if (!l || atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < l->client->n_devices; i++)
        eng_frame_destroy(l->frames[i]);
    eng_executable_release(l->executable);
    free(l->devices);
    free(l->frames);
    free(l);
}

/* ---- compile ---- */
static tt_status check_program(const tt_pjrt_program *p) {
    TT_CHECK(p->format_size == 4 && !memcmp(p->format, "mlir", 4), INVALID_ARGUMENT,
             "program format '%.*s': the engine reads 'mlir'", (int)p->format_size, p->format);
    TT_CHECK(p->code_size && p->code, INVALID_ARGUMENT, "the program is empty");
    TT_CHECK(p->code_size < 4 || memcmp(p->code, "ML\xefR", 4), UNIMPLEMENTED,
             "MLIR bytecode is not supported by the engine yet: send StableHLO text");
    return TT_OK;
}

static tt_status compile(tt_pjrt_client *c, const tt_pjrt_program *program, const char *options,
                         size_t options_bytes, bool load, tt_pjrt_executable **out,
                         tt_pjrt_loaded **out_loaded) {
    TT_TRY(check_program(program));
    eng_options o;
    TT_TRY(eng_options_parse(options, options_bytes, &o));
    tt_pjrt_executable *e = NULL;
    tt_status status = executable_create(program->code, program->code_size, options, options_bytes,
                                         c && c->reference, &o, &e);
    if (!status && load)
        status = loaded_create(c, e, &o, out_loaded);
    else if (!status)
        *out = e;
    eng_options_deinit(&o);
    return status;
}

tt_pjrt_error *eng_Client_Compile(void *args) {
    ENG_ARGS(client_compile, a, executable);
    a->executable = NULL;
    return eng_pjrt_error(
        compile(a->client, a->program, a->options, a->options_size, true, NULL, &a->executable));
}

tt_pjrt_error *eng_Compile(void *args) {
    ENG_ARGS(compile, a, executable);
    a->executable = NULL;
    return eng_pjrt_error(
        compile(a->client, a->program, a->options, a->options_size, false, &a->executable, NULL));
}

/* ---- serialise ---- */
typedef struct header {
    char magic[8];
    uint64_t version, options_bytes, text_bytes;
    tt_hash hash;
} header;

static const char MAGIC[8] = "TTENGPRG";

tt_pjrt_error *eng_Executable_Serialize(void *args) {
    ENG_ARGS(executable_serialize, a, free_owner);
    const tt_pjrt_executable *e = a->executable;
    header h = {.version = 1,
                .options_bytes = e->options_bytes,
                .text_bytes = e->text_bytes,
                .hash = content_hash(e->options, e->options_bytes, e->text, e->text_bytes)};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    a->size = sizeof h + e->options_bytes + e->text_bytes;
    char *data = tt_malloc(a->size);
    memcpy(data, &h, sizeof h);
    memcpy(data + sizeof h, e->options, e->options_bytes);
    memcpy(data + sizeof h + e->options_bytes, e->text, e->text_bytes);
    a->data = data;
    a->owner = data;
    a->free_owner = free;
    return NULL;
}

static tt_status deserialize(tt_pjrt_client *c, const char *data, size_t size, const char *options,
                             size_t options_bytes, tt_pjrt_loaded **out) {
    header h;
    TT_CHECK(size >= sizeof h, DATA_LOSS, "not an executable of this engine: %zu bytes", size);
    memcpy(&h, data, sizeof h);
    TT_CHECK(!memcmp(h.magic, MAGIC, sizeof MAGIC) && h.version == 1, DATA_LOSS,
             "not an executable of this engine, or of another version");
    size_t rest = size - sizeof h;
    TT_CHECK(h.options_bytes <= rest && h.text_bytes == rest - h.options_bytes, DATA_LOSS,
             "the serialised executable is truncated");
    const char *stored = data + sizeof h, *text = stored + h.options_bytes;
    TT_CHECK(tt_hash_equal(h.hash, content_hash(stored, h.options_bytes, text, h.text_bytes)), DATA_LOSS,
             "the serialised executable is corrupt (checksum)");
    tt_pjrt_program program = {
        .code = (char *)(uintptr_t)text, .code_size = h.text_bytes, .format = "mlir", .format_size = 4};
    bool override = options && options_bytes;
    return compile(c, &program, override ? options : stored, override ? options_bytes : h.options_bytes, true,
                   NULL, out);
}

tt_pjrt_error *eng_Executable_DeserializeAndLoad(void *args) {
    ENG_ARGS(deserialize_and_load, a, executable);
    bool newer =
        a->struct_size >= offsetof(tt_pjrt_deserialize_and_load, options_size) + sizeof a->options_size;
    a->executable = NULL;
    return eng_pjrt_error(deserialize(a->client, a->data, a->size, newer ? a->options : NULL,
                                      newer ? a->options_size : 0, &a->executable));
}

/* ---- questions about executables ---- */
static const tt_pjrt_executable *executable_of(const void *p) {
    return p;
}

tt_pjrt_error *eng_Executable_Destroy(void *args) {
    ENG_ARGS(object, a, object);
    eng_executable_release(a->object);
    return NULL;
}

tt_pjrt_error *eng_Executable_Name(void *args) {
    ENG_ARGS(string, a, size);
    const char *name = executable_of(a->object)->program->graph->name;
    a->text = name && *name ? name : "program";
    a->size = strlen(a->text);
    return NULL;
}

tt_pjrt_error *eng_Executable_NumReplicas(void *args) {
    ENG_ARGS(get_size, a, value);
    a->value = (size_t)executable_of(a->object)->n_replicas;
    return NULL;
}

tt_pjrt_error *eng_Executable_NumPartitions(void *args) {
    ENG_ARGS(get_size, a, value);
    a->value = (size_t)executable_of(a->object)->n_partitions;
    return NULL;
}

tt_pjrt_error *eng_Executable_NumOutputs(void *args) {
    ENG_ARGS(get_size, a, value);
    a->value = (size_t)executable_of(a->object)->program->n_results;
    return NULL;
}

tt_pjrt_error *eng_Executable_SizeOfGeneratedCodeInBytes(void *args) {
    ENG_ARGS(get_i64, a, value);
    a->value = (int64_t)tt_arena_bytes(executable_of(a->object)->program->arena);
    return NULL;
}

tt_pjrt_error *eng_Executable_GetCostAnalysis(void *args) {
    ENG_ARGS(get_attributes, a, items);
    a->items = executable_of(a->object)->costs;
    a->count = 3;
    return NULL;
}

static tt_pjrt_error *memory_kinds(void *args, bool params) {
    ENG_ARGS(output_memory_kinds, a, kind_sizes);
    const eng_program *p = a->executable->program;
    a->count = (size_t)(params ? p->n_params : p->n_results);
    a->kinds = a->executable->memory_kinds;
    a->kind_sizes = a->executable->memory_kind_sizes;
    return NULL;
}

tt_pjrt_error *eng_Executable_OutputMemoryKinds(void *args) {
    return memory_kinds(args, false);
}

tt_pjrt_error *eng_Executable_ParameterMemoryKinds(void *args) {
    return memory_kinds(args, true);
}

tt_pjrt_error *eng_Executable_OptimizedProgram(void *args) {
    ENG_ARGS(optimized_program, a, program);
    tt_pjrt_program *p = a->program;
    p->format = "mlir";
    p->format_size = 4;
    if (p->code && p->code_size >= a->executable->text_bytes)
        memcpy(p->code, a->executable->text, a->executable->text_bytes);
    else if (p->code)
        return eng_pjrt_error(TT_ERROR(INVALID_ARGUMENT, "room for %zu bytes of program, expected %zu",
                                       p->code_size, a->executable->text_bytes));
    p->code_size = a->executable->text_bytes;
    return NULL;
}

tt_pjrt_error *eng_Executable_OutputElementTypes(void *args) {
    ENG_ARGS(get_array, a, count);
    const tt_pjrt_executable *e = a->object;
    a->items = e->output_types;
    a->count = (size_t)e->program->n_results;
    return NULL;
}

tt_pjrt_error *eng_Executable_OutputDimensions(void *args) {
    ENG_ARGS(output_dimensions, a, ranks);
    a->count = (size_t)a->executable->program->n_results;
    a->dims = a->executable->output_dims;
    a->ranks = a->executable->output_ranks;
    return NULL;
}

tt_pjrt_error *eng_Executable_Fingerprint(void *args) {
    ENG_ARGS(string, a, size);
    a->text = executable_of(a->object)->fingerprint;
    a->size = 32;
    return NULL;
}

tt_pjrt_error *eng_Executable_GetCompiledMemoryStats(void *args) {
    ENG_ARGS(compiled_memory_stats, a, host_temp);
    const eng_program *p = a->executable->program;
    a->code = p->constant_bytes;
    a->argument = p->argument_bytes;
    a->output = p->output_bytes;
    a->alias = p->alias_bytes;
    a->temp = p->slab_bytes;
    a->host_code = a->host_argument = a->host_output = a->host_alias = a->host_temp = 0;
    int64_t peak = p->argument_bytes + p->output_bytes - p->alias_bytes + p->slab_bytes + p->constant_bytes;
    if (a->struct_size >= offsetof(tt_pjrt_compiled_memory_stats, peak) + sizeof a->peak)
        a->peak = peak;
    if (a->struct_size >= offsetof(tt_pjrt_compiled_memory_stats, total) + sizeof a->total)
        a->total = peak;
    return NULL;
}

/* ---- loaded executables ---- */
tt_pjrt_error *eng_LoadedExecutable_Destroy(void *args) {
    ENG_ARGS(object, a, object);
    eng_loaded_release(a->object);
    return NULL;
}

tt_pjrt_error *eng_LoadedExecutable_GetExecutable(void *args) {
    ENG_ARGS(get_pointer, a, value);
    tt_pjrt_executable *e = ((const tt_pjrt_loaded *)a->object)->executable;
    atomic_fetch_add(&e->refs, 1);
    a->value = e;
    return NULL;
}

tt_pjrt_error *eng_LoadedExecutable_AddressableDevices(void *args) {
    ENG_ARGS(get_array, a, count);
    const tt_pjrt_loaded *l = a->object;
    a->items = l->devices;
    a->count = (size_t)l->n_devices;
    return NULL;
}

tt_pjrt_error *eng_LoadedExecutable_Delete(void *args) {
    ENG_ARGS(object, a, object);
    atomic_store(&((tt_pjrt_loaded *)a->object)->deleted, true);
    return NULL;
}

tt_pjrt_error *eng_LoadedExecutable_IsDeleted(void *args) {
    ENG_ARGS(get_bool, a, value);
    a->value = atomic_load(&((tt_pjrt_loaded *)(uintptr_t)a->object)->deleted);
    return NULL;
}

tt_pjrt_error *eng_LoadedExecutable_Fingerprint(void *args) {
    ENG_ARGS(string, a, size);
    a->text = ((const tt_pjrt_loaded *)a->object)->executable->fingerprint;
    a->size = 32;
    return NULL;
}

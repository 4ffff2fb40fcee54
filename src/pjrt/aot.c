/* aot.c - compiling for a topology with no device present: the real TPU compiler, on any machine that has
 * libtpu.so. Used by checks and tools; nothing compiled here can run here. */
#include "base/arena.h"
#include "pjrt/objects.h"
#include "pjrt/options.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* libtpu looks for its machine before main work: asks a metadata server (minutes without one), takes a lock
 * file, warns of missing host bounds. None of it matters to its compiler. The user's own settings win. */
static void quiet_libtpu(void) {
    static const char *const settings[][2] = {
        {"TPU_SKIP_MDS_QUERY", "1"},           {"TPU_ACCELERATOR_TYPE", "v6e-4"},
        {"TPU_WORKER_HOSTNAMES", "localhost"}, {"ALLOW_MULTIPLE_LIBTPU_LOAD", "1"},
        {"TPU_LOG_DIR", "disabled"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        setenv(settings[i][0], settings[i][1], 0);
}

static tt_status first_device(const tt_plugin *p, tt_pjrt_topology *topology, int *out_id) {
    TT_PJRT_ARGS(get_array, devices);
    devices.a.object = topology;
    TT_TRY(TT_PJRT_CALL(p, TopologyDescription_GetDeviceDescriptions, devices));
    TT_CHECK(devices.a.count > 0, FAILED_PRECONDITION, "the topology has no device");
    TT_PJRT_ARGS(get_int, id);
    id.a.object = ((void *const *)devices.a.items)[0];
    TT_TRY(TT_PJRT_CALL(p, DeviceDescription_Id, id));
    *out_id = id.a.value;
    return TT_OK;
}

static tt_status read_stats(const tt_plugin *p, tt_pjrt_executable *executable, tt_aot_stats *out) {
    TT_PJRT_ARGS(compiled_memory_stats, args);
    args.a.executable = executable;
    TT_TRY(TT_PJRT_CALL(p, Executable_GetCompiledMemoryStats, args));
    out->argument_bytes = args.a.argument;
    out->output_bytes = args.a.output;
    out->alias_bytes = args.a.alias;
    out->temp_bytes = args.a.temp;
    out->code_bytes = args.a.code;
    return TT_OK;
}

static tt_status compile(const tt_plugin *p, tt_pjrt_topology *topology, const char *program, size_t length,
                         tt_aot_stats *out) {
    static const char format[] = "mlir";
    int device = 0;
    tt_str options;
    TT_TRY(first_device(p, topology, &device));
    TT_TRY(tt_options_encode(device, 1, 1, "xla_allow_excess_precision=false", &options));
    TT_PJRT_ARGS(program, code);
    code.a = (tt_pjrt_program){
        .struct_size = sizeof code,
        .code = (char *)(uintptr_t)program,
        .code_size = length,
        .format = format,
        .format_size = sizeof format - 1,
    };
    TT_PJRT_ARGS(compile, args);
    args.a.topology = topology;
    args.a.program = &code.a;
    args.a.options = options.data;
    args.a.options_size = options.length;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    tt_status error = TT_PJRT_CALL(p, Compile, args);
    clock_gettime(CLOCK_MONOTONIC, &to);
    tt_str_deinit(&options);
    TT_TRY(error);
    out->seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
    error = read_stats(p, args.a.executable, out);
    tt_pjrt_destroy(p, TT_PJRT_Executable_Destroy, args.a.executable);
    return error;
}

tt_status tt_aot_compile(const char *plugin_path, const char *topology, const char *program, size_t length,
                         tt_aot_stats *out) {
    *out = (tt_aot_stats){0};
    quiet_libtpu();
    const tt_plugin *p;
    TT_TRY(tt_plugin_open(plugin_path, &p));
    TT_PJRT_ARGS(topology_create, args);
    args.a.name = topology;
    args.a.name_size = strlen(topology);
    TT_TRY_IN(TT_PJRT_CALL(p, TopologyDescription_Create, args), "describing the topology %s", topology);
    tt_status error = compile(p, args.a.topology, program, length, out);
    tt_pjrt_destroy(p, TT_PJRT_TopologyDescription_Destroy, args.a.topology);
    return error;
}

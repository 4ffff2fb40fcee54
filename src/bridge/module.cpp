// module.cpp - the bridge's one exported function, which registers everything, and the helper ops
// torch.ops.tpu_bridge.* through which Python reaches run/. No Python.h: one bridge serves every Python
// version of a PyTorch minor version. Registration happens here and not in static initialisers: an exception
// there would end the process.
#include "bridge/tensor.h"
#include "base/env.h"
#include "base/log.h"
#include <torch/version.h>

namespace tpu {

static tt_mode parse_mode(int64_t mode) {
    TORCH_CHECK_VALUE(mode >= TT_MODE_STRICT && mode <= TT_MODE_FUSED, "unknown eager mode ", mode);
    return static_cast<tt_mode>(mode);
}

static int device_or_all(int64_t device) {
    TORCH_CHECK(device >= -1 && device < device_count(), "invalid device index ", device);
    return static_cast<int>(device);
}

static std::string take_text(char *text) {
    std::string copy = text ? text : "";
    free(text);
    return copy;
}

static std::vector<int64_t> stats() {
    tt_stats s;
    tt_stats_get(&s);
    return {s.ops,        s.programs_run, s.compiles, s.compile_nanoseconds,
            s.cache_hits, s.disk_hits,    s.flushes,  s.op_signatures, s.forgotten};
}

static std::vector<int64_t> memory(int64_t device) {
    tt_memory m{};
    if (g_started)
        tt_memory_get(device_or_all(device), &m);
    return {m.live_bytes,  m.peak_bytes, m.live_buffers,   m.limit_bytes,
            m.allocations, m.frees,      m.total_allocated};
}

static void define_runtime(torch::Library &m) {
    m.def("device_count() -> int", [] { return static_cast<int64_t>(device_count()); });
    m.def("start() -> ()", [] { ensure_started(); });
    m.def("started() -> bool", [] { return g_started.load(); });
    m.def("in_bad_fork() -> bool", [] { return forked(); });
    m.def("plugin() -> str", [] {
        ensure_started();
        return std::string(tt_runtime_plugin());
    });
    m.def("device_kind(int device) -> str", [](int64_t device) {
        ensure_started();
        return std::string(tt_runtime_device_kind(device_or_all(device)));
    });
    m.def("set_mode(int mode) -> ()", [](int64_t mode) { check(tt_mode_set(parse_mode(mode))); });
    m.def("get_mode() -> int", [] { return static_cast<int64_t>(tt_mode_get()); });
    m.def("set_precision(str precision) -> ()", [](std::string text) { tt_precision_set(text.c_str()); });
    m.def("set_excess_precision(bool allowed) -> ()", [](bool allowed) { check(tt_excess_precision_set(allowed)); });
    m.def("get_excess_precision() -> bool", [] { return tt_excess_precision_get(); });
    m.def("get_precision() -> str", [] { return std::string(tt_precision_get()); });
    m.def("flush(int device, str reason) -> ()",
          [](int64_t device, std::string reason) { check(tt_flush(device_or_all(device), reason.c_str())); });
    m.def("synchronize(int device) -> ()", [](int64_t device) {
        if (forked())
            start();
        if (g_started)
            check(tt_sync(device_or_all(device)));
    });
    m.def("capture_begin(int device, str name, bool excess_precision) -> ()", [](int64_t device, std::string name, bool excess_precision) {
        ensure_started();
        check(tt_capture_begin(device_or_all(device), name.c_str(), excess_precision));
    });
    m.def("capture_end(bool run) -> ()", [](bool run) { check(tt_capture_end(run)); });
    m.def("set_log_level(int level) -> ()", [](int64_t level) { tt_log_level = static_cast<int>(level); });
    m.def("get_log_level() -> int", [] { return static_cast<int64_t>(tt_log_level); });
}

// Every program compiled from now on is also written to a folder, named by what it is and a number; "" stops.
static void keep_programs(std::string folder) {
    static std::string kept_folder;
    static std::atomic<int> number{0};
    kept_folder = std::move(folder);
    if (kept_folder.empty())
        return tt_program_set_sink(nullptr, nullptr);
    tt_program_set_sink(
        [](void *, const char *name, const char *text, size_t length) {
            std::string file;
            for (const char *c = name; *c && *c != ' '; c++)
                file += isalnum(static_cast<unsigned char>(*c)) ? *c : '_';
            file = kept_folder + "/" + std::to_string(1000 + number++) + "_" + file + ".mlir";
            if (FILE *f = fopen(file.c_str(), "w")) {
                fwrite(text, 1, length, f);
                fclose(f);
            }
        },
        nullptr);
}

static void define_statistics(torch::Library &m) {
    m.def("keep_programs(str folder) -> ()", [](std::string folder) { keep_programs(std::move(folder)); });
    m.def("stats() -> int[]", &stats);
    m.def("memory(int device) -> int[]", &memory);
    m.def("reset_peak_memory(int device) -> ()", [](int64_t device) {
        if (g_started)
            tt_memory_reset_peak(device_or_all(device));
    });
    m.def("compile_log() -> str", [] { return take_text(tt_compile_log()); });
    m.def("cache_clear() -> ()", [] { tt_cache_clear(); });
    m.def("rows() -> str[]", [] { return rows_registered(); });
    m.def("rows_unknown() -> str[]", [] { return rows_unknown(); });
    m.def("rows_twice() -> str[]", [] { return rows_twice(); });
    m.def("host_ops() -> str[]", [] { return host_ops(); });
    m.def("torch_minor() -> int", [] { return static_cast<int64_t>(TORCH_VERSION_MINOR); });
    // name, value, "1" when the user set it, help: four texts a variable
    m.def("environment() -> str[]", [] {
        std::vector<std::string> all;
        for (int i = 0; i < TT_N_ENV; i++) {
            const auto variable = static_cast<tt_env>(i);
            all.insert(all.end(), {tt_env_name(variable), tt_env_text(variable),
                                   tt_env_is_set(variable) ? "1" : "0", tt_env_help(variable)});
        }
        return all;
    });
}

static void define_tensors(torch::Library &m) {
    m.def("default_generator(int device) -> Generator?", [](int64_t device) -> std::optional<at::Generator> {
        return default_generator(static_cast<DeviceIndex>(device));
    });
    // The host address of a tensor's first byte, 0 when the plugin has none. For collectives; the caller
    // keeps the tensor alive.
    m.def("host_pointer(Tensor tensor, bool writable) -> int",
          [](const Tensor &tensor, bool writable) -> int64_t {
              TORCH_CHECK(tensor.device().type() == kTPU, "host_pointer: expected a tpu tensor, got one on ",
                          tensor.device());
              int64_t offset;
              void *pointer = nullptr;
              check(tt_storage_host_pointer(storage_of(tensor.storage().unsafeGetStorageImpl(), &offset),
                                            writable, &pointer));
              if (!pointer)
                  return 0;
              return reinterpret_cast<int64_t>(pointer) + offset +
                     tensor.storage_offset() * static_cast<int64_t>(tensor.element_size());
          });
    m.def("storage_version(Tensor tensor) -> int", [](const Tensor &tensor) {
        int64_t offset;
        return static_cast<int64_t>(
            tt_storage_version(storage_of(tensor.storage().unsafeGetStorageImpl(), &offset)));
    });
}

static void register_all() {
    register_device();
    auto *helpers = new torch::Library(torch::Library::DEF, "tpu_bridge", std::nullopt, __FILE__, __LINE__);
    define_runtime(*helpers);
    define_statistics(*helpers);
    define_tensors(*helpers);
    register_tapes(*helpers);
    register_fallback(*helpers);
    auto *aten =
        new torch::Library(torch::Library::IMPL, "aten", DispatchKey::PrivateUse1, __FILE__, __LINE__);
    register_special(*aten);
    register_sparse(*aten);
    register_nn(*aten);
    register_rows(*aten);
    // Copies handle the lazy bits themselves: the keys' own fallback would clone, which copies, which would
    // not end.
    for (const auto key : {DispatchKey::Conjugate, DispatchKey::Negative}) {
        auto *bits = new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
        bits->impl("_copy_from", torch::CppFunction::makeFallthrough());
    }
    register_autocast();
    register_collectives();
}

} // namespace tpu

// NULL, or why it failed (never freed). The libraries stay registered for the life of the process.
extern "C" __attribute__((visibility("default"))) const char *torch_tpu_bridge_init(const char *library_dir) {
    static std::string error;
    try {
        tt_runtime_set_library_dir(library_dir);
        tpu::register_all();
        return nullptr;
    } catch (const std::exception &e) {
        error = e.what();
        return error.c_str();
    }
}

// tape.cpp - torch.compile's second and later calls: a captured graph is recorded again by the core (run/tape.c) from one op of
// Python's, with results made as those of the first call were. Must not know what a graph computes.
#include "bridge/tensor.h"
#include <ATen/core/List.h>

namespace tpu {

using Tensors = std::vector<Tensor>;
using Maybe = c10::List<std::optional<Tensor>>;

namespace {
struct Shape {
    c10::ScalarType type;
    std::vector<int64_t> sizes, strides;
    int64_t offset;
    explicit Shape(const Tensor &t)
        : type(t.scalar_type()), sizes(t.sizes().vec()), strides(t.strides().vec()), offset(t.storage_offset()) {}
    bool operator==(const Tensor &t) const {
        return type == t.scalar_type() && t.sizes() == sizes && t.strides() == strides && offset == t.storage_offset();
    }
};

struct Result {
    std::optional<Shape> shape; // none: no tensor
    int same = -1;              // it is this argument itself
};

struct Tape {
    tt_tape *core;
    std::vector<Shape> arguments;
    std::vector<Result> results;
    std::vector<int> bumped; // arguments written in place
};

std::mutex g_lock; // of the list and of what is watched
std::vector<std::unique_ptr<Tape>> g_tapes;
std::vector<uint32_t> g_versions; // of the arguments when they were watched

// A dense tpu tensor whose storage is ours and begins where the core's does.
bool plain(const Tensor &t) {
    return t.defined() && t.device().type() == kTPU && !t.is_conj() && !t.is_neg() && !t.unsafeGetTensorImpl()->is_wrapped_number() &&
           t.storage().data_ptr().get_deleter() == &storage_deleter;
}

tt_storage *core_storage(const Tensor &t) {
    return static_cast<tt_storage *>(t.storage().data_ptr().get_context());
}

bool storages_of(const Tensors &tensors, std::vector<tt_storage *> &out) {
    out.reserve(tensors.size() + 1);
    for (const Tensor &t : tensors) {
        if (!plain(t))
            return false;
        out.push_back(core_storage(t));
    }
    return true;
}

uint32_t version_of(const Tensor &t) {
    return t.is_inference() ? 0 : static_cast<uint32_t>(t._version());
}

bool watch(int64_t device, const Tensors &arguments) {
    std::vector<tt_storage *> storages;
    if (!storages_of(arguments, storages))
        return false;
    const std::lock_guard<std::mutex> guard(g_lock);
    g_versions.clear();
    for (const Tensor &t : arguments)
        g_versions.push_back(version_of(t));
    tt_tape_watch(static_cast<int>(device), static_cast<int>(storages.size()), storages.data());
    return true;
}

int64_t make(int64_t device, const Tensors &arguments, const Maybe &results) {
    auto tape = std::make_unique<Tape>();
    std::vector<tt_storage *> storages;
    const std::lock_guard<std::mutex> guard(g_lock);
    for (size_t i = 0; i < arguments.size(); i++) {
        tape->arguments.emplace_back(arguments[i]);
        if (i < g_versions.size() && version_of(arguments[i]) != g_versions[i])
            tape->bumped.push_back(static_cast<int>(i));
    }
    for (const std::optional<Tensor> &given : results) {
        Result result;
        if (given && given->defined()) {
            if (!plain(*given))
                return -1;
            result.shape.emplace(*given);
            for (size_t i = 0; i < arguments.size(); i++)
                if (arguments[i].unsafeGetTensorImpl() == given->unsafeGetTensorImpl())
                    result.same = static_cast<int>(i);
        }
        storages.push_back(result.shape ? core_storage(*given) : nullptr);
        tape->results.push_back(std::move(result));
    }
    storages.push_back(nullptr);
    tape->core = tt_tape_create(static_cast<int>(device), static_cast<int>(storages.size()) - 1, storages.data());
    if (!tape->core)
        return -1;
    g_tapes.push_back(std::move(tape));
    return static_cast<int64_t>(g_tapes.size()) - 1;
}

Tensor over(c10::Storage storage, const Shape &shape) {
    auto tensor = at::detail::make_tensor_base<c10::TensorImpl>(std::move(storage), DispatchKeySet(DispatchKey::PrivateUse1),
                                                                c10::scalarTypeToTypeMeta(shape.type));
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(shape.sizes, shape.strides, shape.offset);
    return Tensor(std::move(tensor));
}

Maybe results_of(const Tape &tape, const Tensors &arguments, tt_storage *const *made) {
    int n_made;
    const tt_tape_result *codes = tt_tape_results(tape.core, &n_made);
    std::vector<c10::Storage> storages;
    for (int k = 0; k < n_made; k++)
        storages.emplace_back(c10::Storage(c10::make_intrusive<c10::StorageImpl>(
            c10::StorageImpl::use_byte_size_t(), static_cast<size_t>(tt_storage_bytes(made[k])), make_data_ptr(made[k]), allocator(), true)));
    Maybe out;
    out.reserve(tape.results.size());
    for (size_t i = 0; i < tape.results.size(); i++) {
        const Result &r = tape.results[i];
        if (!r.shape)
            out.push_back(std::nullopt);
        else if (r.same >= 0)
            out.push_back(arguments[static_cast<size_t>(r.same)]);
        else if (codes[i].arg >= 0)
            out.push_back(over(arguments[static_cast<size_t>(codes[i].arg)].storage(), *r.shape));
        else
            out.push_back(over(storages[static_cast<size_t>(codes[i].made)], *r.shape));
    }
    return out;
}

std::tuple<bool, Maybe> play(int64_t number, const Tensors &arguments) {
    const Tape *tape;
    {
        const std::lock_guard<std::mutex> guard(g_lock);
        tape = g_tapes.at(static_cast<size_t>(number)).get();
    }
    std::vector<tt_storage *> storages;
    if (!tape || arguments.size() != tape->arguments.size() || !storages_of(arguments, storages))
        return {false, Maybe()};
    for (size_t i = 0; i < arguments.size(); i++)
        if (!(tape->arguments[i] == arguments[i]))
            return {false, Maybe()};
    int n_made;
    tt_tape_results(tape->core, &n_made);
    std::vector<tt_storage *> made(static_cast<size_t>(n_made) + 1);
    bool played = false;
    check(tt_tape_play(tape->core, static_cast<int>(storages.size()), storages.data(), &played, made.data()));
    if (!played)
        return {false, Maybe()};
    for (const int i : tape->bumped)
        if (!arguments[static_cast<size_t>(i)].is_inference())
            arguments[static_cast<size_t>(i)].unsafeGetTensorImpl()->bump_version();
    return {true, results_of(*tape, arguments, made.data())};
}
} // namespace

void register_tapes(torch::Library &m) {
    m.def("tape_watch(int device, Tensor[] arguments) -> bool", [](int64_t device, const Tensors &arguments) { return watch(device, arguments); });
    m.def("tape_make(int device, Tensor[] arguments, Tensor?[] results) -> int",
          [](int64_t device, const Tensors &arguments, const Maybe &results) { return make(device, arguments, results); });
    m.def("tape_play(int tape, Tensor[] arguments) -> (bool, Tensor?[])",
          [](int64_t tape, const Tensors &arguments) { return play(tape, arguments); });
    m.def("tape_drop(int tape) -> ()", [](int64_t number) {
        const std::lock_guard<std::mutex> guard(g_lock);
        std::unique_ptr<Tape> &tape = g_tapes.at(static_cast<size_t>(number));
        if (tape)
            tt_tape_destroy(tape->core);
        tape.reset();
    });
}
} // namespace tpu

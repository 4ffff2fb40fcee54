// tape.cpp - torch.compile's second and later calls: a captured graph is recorded again by the core (run/tape.c) from one op of
// Python's, with results made as those of the first call were. Must not know what a graph computes.
#include "bridge/tensor.h"
#include <ATen/core/List.h>

namespace tpu {

using Tensors = std::vector<Tensor>;
using Maybe = c10::List<std::optional<Tensor>>;
constexpr int kFew = 16;
using Storages = c10::SmallVector<tt_storage *, kFew>;

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
    int device;
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

bool storages_of(const Tensors &tensors, Storages &out) {
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
    Storages storages;
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
    tape->device = static_cast<int>(device);
    Storages storages;
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
    tape->core = tt_tape_create(tape->device, static_cast<int>(storages.size()) - 1, storages.data());
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

Maybe results_of(const Tape &tape, c10::ArrayRef<IValue> arguments, tt_storage *const *made) {
    int n_made;
    const tt_tape_result *codes = tt_tape_results(tape.core, &n_made);
    c10::SmallVector<c10::Storage, kFew> storages;
    for (int k = 0; k < n_made; k++)
        storages.emplace_back(c10::make_intrusive<c10::StorageImpl>(
            c10::StorageImpl::use_byte_size_t(), static_cast<size_t>(tt_storage_bytes(made[k])), make_data_ptr(made[k]), allocator(), true));
    Maybe out;
    out.reserve(tape.results.size());
    for (size_t i = 0; i < tape.results.size(); i++) {
        const Result &r = tape.results[i];
        if (!r.shape)
            out.push_back(std::nullopt);
        else if (r.same >= 0)
            out.push_back(arguments[static_cast<size_t>(r.same)].toTensor());
        else if (codes[i].arg >= 0)
            out.push_back(over(arguments[static_cast<size_t>(codes[i].arg)].toTensor().storage(), *r.shape));
        else
            out.push_back(over(storages[static_cast<size_t>(codes[i].made)], *r.shape));
    }
    return out;
}

// The storages of a call's arguments, if they are of the kind that the tape was made of.
bool fits(const Tape &tape, c10::ArrayRef<IValue> arguments, Storages &out) {
    if (arguments.size() != tape.arguments.size())
        return false;
    for (size_t i = 0; i < arguments.size(); i++) {
        const Tensor &t = arguments[i].toTensor();
        if (!plain(t) || !(tape.arguments[i] == t))
            return false;
        out.push_back(core_storage(t));
    }
    return true;
}

std::optional<Maybe> played(int64_t number, c10::ArrayRef<IValue> arguments, bool run) {
    const Tape *tape;
    {
        const std::lock_guard<std::mutex> guard(g_lock);
        tape = g_tapes.at(static_cast<size_t>(number)).get();
    }
    Storages storages, made;
    if (!tape || !fits(*tape, arguments, storages))
        return std::nullopt;
    int n_made;
    tt_tape_results(tape->core, &n_made);
    made.resize(static_cast<size_t>(n_made) + 1);
    bool fitted = false;
    check(tt_tape_play(tape->core, static_cast<int>(storages.size()), storages.data(), &fitted, made.data()));
    if (!fitted)
        return std::nullopt;
    for (const int i : tape->bumped) {
        const Tensor &t = arguments[static_cast<size_t>(i)].toTensor();
        if (!t.is_inference())
            t.unsafeGetTensorImpl()->bump_version();
    }
    auto results = results_of(*tape, arguments, made.data());
    if (run)
        check(tt_flush(tape->device, "a captured graph ends"));
    return results;
}

// On the stack, since lists that are converted are copied: this is what a compiled call does.
void play(const c10::OperatorHandle &, Stack *stack) {
    const auto given = torch::jit::last(*stack, 3);
    IValue result = played(given[0].toInt(), given[1].toListRef(), given[2].toBool());
    torch::jit::drop(*stack, 3);
    stack->push_back(std::move(result));
}
} // namespace

void register_tapes(torch::Library &m) {
    m.def("tape_watch(int device, Tensor[] arguments) -> bool", [](int64_t device, const Tensors &arguments) { return watch(device, arguments); });
    m.def("tape_make(int device, Tensor[] arguments, Tensor?[] results) -> int",
          [](int64_t device, const Tensors &arguments, const Maybe &results) { return make(device, arguments, results); });
    // None: the tape does not fit these arguments. Without `run`, a flush is to follow.
    m.def("tape_play(int tape, Tensor[] arguments, bool run) -> Tensor?[]?", torch::CppFunction::makeFromBoxedFunction<&play>());
    m.def("tape_drop(int tape) -> ()", [](int64_t number) {
        const std::lock_guard<std::mutex> guard(g_lock);
        std::unique_ptr<Tape> &tape = g_tapes.at(static_cast<size_t>(number));
        if (tape)
            tt_tape_destroy(tape->core);
        tape.reset();
    });
}
} // namespace tpu

// fallback.cpp - what happens when an op has no lowering: it runs on the CPU, counted and warned of once, or raises, as
// TORCH_TPU_CPU_FALLBACK says. Also raises user errors in PyTorch's own words, by running the op on CPU stand-ins.
// Must not know single ops, except those whose schema does not tell what they write.
#include "bridge/tensor.h"
#include "base/env.h"
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty_strided.h>
#include <cstring>
#include <map>
#include <mutex>

namespace tpu {

// ---------------------------------------------------------------- counters and policy
enum class Policy { Error, Warn, Silent };
static std::mutex g_mutex;
static std::map<std::string, int64_t> g_counts, g_host_counts;
static std::atomic<int> g_policy{-1};

static Policy parse_policy(const std::string &text) {
    if (text == "error")
        return Policy::Error;
    if (text == "silent")
        return Policy::Silent;
    TORCH_CHECK_VALUE(text == "warn", "the CPU fallback is one of 'error', 'warn', 'silent', not '", text, "'");
    return Policy::Warn;
}

static Policy policy() {
    if (g_policy < 0)
        g_policy = static_cast<int>(parse_policy(tt_env_text(TT_ENV_CPU_FALLBACK)));
    return static_cast<Policy>(g_policy.load());
}

static std::string name_of(const c10::OperatorHandle &op) { return c10::toString(op.operator_name()); }

static std::string dtypes_of(const Stack &stack, size_t n) {
    std::string text;
    const auto add = [&](const Tensor &tensor) {
        if (tensor.defined()) {
            const std::string one = c10::toString(tensor.scalar_type());
            text += (text.empty() ? "" : ", ") + one;
        }
    };
    for (size_t i = stack.size() - n; i < stack.size(); i++) {
        if (stack[i].isTensor())
            add(stack[i].toTensor());
        else if (stack[i].isTensorList())
            for (const auto &tensor : stack[i].toTensorVector())
                add(tensor);
        if (text.size() > 60)
            return text + ", ...";
    }
    return text.empty() ? "no tensors" : text;
}

void count_host_op(const std::string &name) {
    std::lock_guard<std::mutex> guard(g_mutex);
    g_host_counts[name]++;
}

static void account(const c10::OperatorHandle &op, const Stack &stack, Reason reason, const char *detail) {
    const std::string name = name_of(op);
    const size_t n = op.schema().arguments().size();
    if (reason == Reason::HostOp)
        return count_host_op(name);
    const std::string why = detail && *detail ? std::string(": ") + detail : std::string();
    TORCH_CHECK_NOT_IMPLEMENTED(policy() != Policy::Error, "operator '", name, "' (", dtypes_of(stack, n),
                                ") is not implemented for tpu", why,
                                ". Unset TORCH_TPU_CPU_FALLBACK=error (or set it to 'warn' or 'silent') to run it on the CPU");
    bool first;
    {
        std::lock_guard<std::mutex> guard(g_mutex);
        first = g_counts[name]++ == 0;
    }
    if (first && policy() == Policy::Warn)
        TORCH_WARN("operator '", name, "' (", dtypes_of(stack, n), ") is not implemented for tpu and runs on the CPU", why,
                   ". TORCH_TPU_CPU_FALLBACK=error refuses it, =silent hides this; torch.tpu.cpu_fallback_counts() counts");
}

// ---------------------------------------------------------------- running on the CPU
static bool is_view(const c10::FunctionSchema &schema) {
    for (const auto &result : schema.returns())
        if (result.alias_info() && !result.alias_info()->isWrite())
            return true;
    return false;
}

// The CPU cannot draw from a tpu generator: one draws a seed from it and the CPU draws from that.
static at::Generator cpu_generator(void *from, int device) {
    uint64_t seed, offset;
    rng_take(from, device, 4, &seed, &offset);
    const uint64_t mixed = (seed ^ (offset * 0x9E3779B97F4A7C15ull)) * 0xD6E8FEB86659FD93ull;
    return at::make_generator<at::CPUGeneratorImpl>(mixed ^ mixed >> 32);
}

static bool is_tpu(const Tensor &tensor) { return tensor.defined() && tensor.device().type() == kTPU; }

static bool is_dense(const Tensor &tensor) { return tensor.layout() == at::kStrided; }

struct Moved { // a tensor argument that was on tpu: original and copy
    Tensor original, copy;
};

static Tensor move(const Tensor &tensor, bool written, std::vector<Moved> &back, Device &device) {
    if (!is_tpu(tensor))
        return tensor;
    device = tensor.device();
    Tensor copy = is_dense(tensor) ? to_host(tensor) : tensor.to(c10::DeviceType::CPU);
    if (written)
        back.push_back({tensor, copy});
    return copy;
}

static IValue move_value(const IValue &value, bool written, std::vector<Moved> &back, Device &device) {
    if (value.isTensor())
        return move(value.toTensor(), written, back, device);
    if (value.isTensorList()) {
        c10::List<Tensor> list;
        for (const auto &tensor : value.toTensorVector())
            list.push_back(move(tensor, written, back, device));
        return list;
    }
    if (value.isOptionalTensorList()) {
        c10::List<std::optional<Tensor>> list;
        for (const auto &item : value.toListRef())
            list.push_back(item.isNone() ? std::optional<Tensor>()
                                         : std::optional<Tensor>(move(item.toTensor(), written, back, device)));
        return list;
    }
    if (value.isDevice() && value.toDevice().type() == kTPU) {
        device = resolve(value.toDevice());
        return Device(c10::DeviceType::CPU);
    }
    return value;
}

static Tensor returned(const Tensor &tensor, Device device) {
    if (!tensor.defined() || tensor.device().type() != c10::DeviceType::CPU)
        return tensor;
    return is_dense(tensor) ? to_device(tensor, device) : tensor.to(device);
}

static IValue return_value(const IValue &value, Device device) {
    if (value.isTensor())
        return returned(value.toTensor(), device);
    if (value.isTensorList()) {
        c10::List<Tensor> list;
        for (const auto &tensor : value.toTensorVector())
            list.push_back(returned(tensor, device));
        return list;
    }
    return value;
}

// Ops that write arguments their schema does not mark.
static bool writes_unmarked(const std::string &name, size_t argument) {
    return (name == "aten::native_batch_norm" || name == "aten::batch_norm_update_stats") && (argument == 3 || argument == 4);
}

// Kernels that look whether a gradient is wanted, to save what its kernel will read unchecked.
static bool asks_requires_grad(const std::string &name) { return name == "aten::_sparse_mm_reduce_impl"; }

void run_on_cpu(const c10::OperatorHandle &op, Stack *stack, Reason reason, const char *detail) {
    const auto &schema = op.schema();
    const std::string name = name_of(op);
    TORCH_CHECK_NOT_IMPLEMENTED(!is_view(schema), "operator '", name,
                                "' makes a view and is not implemented for tpu: a CPU copy would not be one");
    bool on_cpu = false;
    for (const auto key : {DispatchKey::CPU, DispatchKey::SparseCPU, DispatchKey::SparseCsrCPU})
        on_cpu = on_cpu || op.hasComputedKernelForDispatchKey(key);
    TORCH_CHECK_NOT_IMPLEMENTED(on_cpu, "operator '", name, "' (", dtypes_of(*stack, schema.arguments().size()),
                                ") is not implemented for tpu, and not for the CPU either");
    account(op, *stack, reason, detail);
    const auto &arguments = schema.arguments();
    const size_t n = arguments.size(), base = stack->size() - n;
    std::vector<Moved> back;
    Device device(kTPU, current_device());
    Stack host;
    host.reserve(n);
    size_t generator = n;
    for (size_t i = 0; i < n; i++) {
        const auto *alias = arguments[i].alias_info();
        const bool written = (alias && alias->isWrite()) || writes_unmarked(name, i);
        if (arguments[i].name() == "generator")
            generator = i;
        if (arguments[i].name() == "pin_memory") {
            host.emplace_back(); // None
            continue;
        }
        host.push_back(move_value((*stack)[base + i], written, back, device));
        if (asks_requires_grad(name) && host[i].isTensor())
            host[i] = host[i].toTensor().detach().requires_grad_((*stack)[base + i].toTensor().requires_grad());
    }
    if (generator < n) {
        const auto &given = host[generator];
        host[generator] = cpu_generator(given.isNone() ? nullptr : given.toGenerator().unsafeGetGeneratorImpl(), device.index());
    }
    op.callBoxed(host);

    for (auto &moved : back) {
        if (is_dense(moved.original))
            write_back(moved.copy, moved.original);
        else
            moved.original.copy_(moved.copy);
    }
    std::vector<IValue> results;
    for (size_t i = 0; i < schema.returns().size(); i++) {
        const auto *alias = schema.returns()[i].alias_info();
        IValue result;
        bool found = false;
        for (size_t k = 0; alias && alias->isWrite() && k < n && !found; k++)
            if (arguments[k].alias_info() && arguments[k].alias_info()->beforeSets() == alias->beforeSets()) {
                result = (*stack)[base + k];
                found = true;
            }
        results.push_back(found ? result : return_value(host[i], device));
    }
    torch::jit::drop(*stack, n);
    for (auto &result : results)
        stack->push_back(std::move(result));
}

static void fallback(const c10::OperatorHandle &op, Stack *stack) {
    ensure_started();
    run_on_cpu(op, stack, Reason::NoKernel, "");
}

// ---------------------------------------------------------------- PyTorch's own words
// A CPU tensor of the same type over memory that is never touched unless the op really runs; integers are zero, since they may be
// indices. (Meta tensors would be cheaper, but PyTorch's meta kernels have texts of their own.)
static Tensor stand_in(const Tensor &tensor) {
    if (!is_tpu(tensor))
        return tensor;
    Tensor host = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(c10::DeviceType::CPU));
    return c10::isIntegralType(tensor.scalar_type(), true) ? host.zero_() : host;
}

static IValue stand_in_value(const IValue &value) {
    if (value.isTensor())
        return stand_in(value.toTensor());
    if (value.isTensorList()) {
        c10::List<Tensor> list;
        for (const auto &tensor : value.toTensorVector())
            list.push_back(stand_in(tensor));
        return list;
    }
    if (value.isOptionalTensorList()) {
        c10::List<std::optional<Tensor>> list;
        for (const auto &item : value.toListRef())
            list.push_back(item.isNone() ? std::optional<Tensor>() : std::optional<Tensor>(stand_in(item.toTensor())));
        return list;
    }
    if (value.isDevice())
        return Device(c10::DeviceType::CPU);
    if (value.isGenerator())
        return {};
    return value;
}

void raise_as_pytorch(const c10::OperatorHandle &op, const Stack &stack) {
    struct Quiet final : c10::WarningHandler {
        void process(const c10::Warning &) override {}
    } handler;
    const size_t n = op.schema().arguments().size();
    Stack host;
    host.reserve(n);
    for (size_t i = stack.size() - n; i < stack.size(); i++)
        host.push_back(stand_in_value(stack[i]));
    try {
        c10::WarningUtils::WarningHandlerGuard quiet(&handler);
        op.callBoxed(host);
    } catch (const c10::NotImplementedError &error) {
        if (strstr(error.what_without_backtrace(), "\" not implemented for '")) // its kernel, for a type
            throw;
        // the CPU lacks this one: the caller has its own text
    }
}

// ---------------------------------------------------------------- what torch.tpu asks
static c10::Dict<std::string, int64_t> to_dict(const std::map<std::string, int64_t> &map) {
    std::lock_guard<std::mutex> guard(g_mutex);
    c10::Dict<std::string, int64_t> dict;
    for (const auto &[name, count] : map)
        dict.insert(name, count);
    return dict;
}

void register_fallback(torch::Library &helpers) {
    helpers.def("cpu_fallback_counts() -> Dict(str, int)", [] { return to_dict(g_counts); });
    helpers.def("host_op_counts() -> Dict(str, int)", [] { return to_dict(g_host_counts); });
    helpers.def("reset_cpu_fallback_counts() -> ()", [] {
        std::lock_guard<std::mutex> guard(g_mutex);
        g_counts.clear();
        g_host_counts.clear();
    });
    helpers.def("set_cpu_fallback(str policy) -> ()",
                [](std::string text) { g_policy = static_cast<int>(parse_policy(text)); });
    helpers.def("get_cpu_fallback() -> str", [] {
        return std::string(policy() == Policy::Error ? "error" : policy() == Policy::Warn ? "warn" : "silent");
    });
    static auto *any = new torch::Library(torch::Library::IMPL, "_", DispatchKey::PrivateUse1, __FILE__, __LINE__);
    any->fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

} // namespace tpu

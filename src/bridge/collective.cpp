// collective.cpp - the c10d ops on device tpu: wait for the device, alias its buffers as CPU tensors, let the group's CPU backend
// (Gloo) do the work in place. A plugin that gives no host pointer is staged through the host.
// torch_tpu/distributed.py makes the groups; this file knows none of the algorithms.
#include "bridge/tensor.h"
#include <ATen/ops/from_blob.h>
#include <ATen/core/class_type.h>
#include <ATen/core/function.h>
#include <torch/custom_class.h>
#include <unordered_map>

// All that is used of torch/csrc/distributed/c10d/Work.hpp, which brings every op of ATen: a quarter of the bridge's compile time. A
// work is made by its own function, waited for by the method that PyTorch registered, and otherwise only counted.
namespace c10d {
class TORCH_API Work : public torch::CustomClassHolder {
  public:
    static c10::intrusive_ptr<Work> create_from_future(const c10::intrusive_ptr<c10::ivalue::Future> &);
};
} // namespace c10d

namespace tpu {

namespace {

class HostView {
  public:
    IValue view(const IValue &value) {
        if (value.isTensor())
            return value.toTensor().defined() ? IValue(view(value.toTensor())) : value;
        if (value.isTensorList()) {
            c10::List<Tensor> list;
            for (const Tensor &t : value.toTensorVector())
                list.push_back(view(t));
            return list;
        }
        if (value.isList()) { // Tensor[][]
            const auto from = value.toList();
            auto to = c10::impl::GenericList(from.elementType());
            for (const IValue &inner : from)
                to.push_back(view(inner));
            return to;
        }
        return value;
    }

    IValue original(const IValue &value) const {
        if (value.isTensor()) {
            const auto found = originals_.find(value.toTensor().unsafeGetTensorImpl());
            return found == originals_.end() ? value : IValue(found->second);
        }
        if (value.isTensorList()) {
            c10::List<Tensor> list;
            for (const Tensor &t : value.toTensorVector())
                list.push_back(original(IValue(t)).toTensor());
            return list;
        }
        if (value.isList()) {
            const auto from = value.toList();
            auto to = c10::impl::GenericList(from.elementType());
            for (const IValue &inner : from)
                to.push_back(original(inner));
            return to;
        }
        return value;
    }

    void write_back() {
        for (const auto &[device_tensor, copy] : staged_)
            tpu::write_back(copy, device_tensor);
    }

  private:
    Tensor view(const Tensor &t) {
        if (t.device().type() != kTPU)
            return t;
        wait_for(t.device().index());
        Tensor host = alias(t);
        if (!host.defined()) {
            host = to_host(t).contiguous();
            staged_.emplace_back(t, host);
        }
        originals_.emplace(host.unsafeGetTensorImpl(), t);
        kept_.push_back(host);
        return host;
    }

    // Programs already enqueued may still read what the collective overwrites.
    void wait_for(DeviceIndex device) {
        if (waited_ == device)
            return;
        check(tt_sync(device));
        waited_ = device;
    }

    static Tensor alias(const Tensor &t) {
        if (!t.numel() || !t.is_contiguous() || t.is_conj() || t.is_neg())
            return {};
        int64_t offset;
        void *pointer = nullptr;
        check(tt_storage_host_pointer(storage_of(t.storage().unsafeGetStorageImpl(), &offset), true, &pointer));
        if (!pointer)
            return {};
        char *first = static_cast<char *>(pointer) + offset + t.storage_offset() * static_cast<int64_t>(t.element_size());
        return at::from_blob(first, t.sizes(), at::TensorOptions().dtype(t.scalar_type()));
    }

    std::vector<std::pair<Tensor, Tensor>> staged_;
    std::vector<Tensor> kept_;
    std::unordered_map<const c10::TensorImpl *, Tensor> originals_;
    int waited_ = -1;
};

void collect(const IValue &value, c10::List<Tensor> &out) {
    if (value.isTensor())
        out.push_back(value.toTensor());
    else if (value.isList())
        for (const IValue &inner : value.toListRef())
            collect(inner, out);
}

// Work that is done; its future holds the op's first argument, the tensors it wrote (DDP reads them there).
c10::intrusive_ptr<c10d::Work> finished(const IValue &written) {
    c10::List<Tensor> tensors;
    collect(written, tensors);
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors());
    future->markCompleted(IValue(std::move(tensors)));
    return c10d::Work::create_from_future(future);
}

void run(const c10::OperatorHandle &op, Stack *stack) {
    const size_t n = op.schema().arguments().size();
    HostView host;
    const IValue written = (*stack)[stack->size() - n];
    for (size_t i = stack->size() - n; i < stack->size(); i++)
        (*stack)[i] = host.view((*stack)[i]);
    const size_t base = stack->size() - n;
    op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), stack);
    const IValue work = stack->back();
    work.toObject()->type()->getMethod("wait")({work});
    host.write_back();
    stack->back() = IValue(finished(written)); // the caller waits again, which Gloo's send and recv would do for ever
    for (size_t i = base; i + 1 < stack->size(); i++)
        (*stack)[i] = host.original((*stack)[i]);
}

class Quiet final : public c10::WarningHandler { // PyTorch registers kernels for every device and warns of ours
    void process(const c10::Warning &) override {}
};

} // namespace

void register_collectives() {
    auto &dispatcher = c10::Dispatcher::singleton();
    if (!dispatcher.findSchema({"c10d::allreduce_", ""}))
        return; // a PyTorch without torch.distributed
    static Quiet quiet;
    const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
    auto *c10d = new torch::Library(torch::Library::IMPL, "c10d", DispatchKey::PrivateUse1, __FILE__, __LINE__);
    for (const char *name : {"allreduce_", "allreduce_coalesced_", "broadcast_", "reduce_", "allgather_", "_allgather_base_", "allgather_coalesced_",
                             "allgather_into_tensor_coalesced_", "gather_", "scatter_", "reduce_scatter_", "_reduce_scatter_base_",
                             "reduce_scatter_tensor_coalesced_", "alltoall_", "alltoall_base_", "barrier", "send", "recv_", "recv_any_source_"})
        if (dispatcher.findSchema({std::string("c10d::") + name, ""}))
            c10d->impl(name, torch::CppFunction::makeFromBoxedFunction<&run>());
}

} // namespace tpu

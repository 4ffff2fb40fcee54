// tensor.h - what the files of bridge/ share: PyTorch's tensors seen as tt_tensor, and results as PyTorch's
// tensors. Between PyTorch and run/run.h; must not know what an op means.
#pragma once
#include "bridge/throw.h"
#include "run/run.h"
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace tpu {
using at::Tensor;
using c10::Device;
using c10::DeviceIndex;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using torch::jit::Stack;

constexpr auto kTPU = c10::DeviceType::PrivateUse1;

// ---- device.cpp: the runtime, devices, storages ----
extern std::atomic<bool> g_started;
void start(); // starts the runtime; raises why it cannot, or the fork error
inline void ensure_started() {
    if (C10_UNLIKELY(!g_started.load(std::memory_order_acquire)))
        start();
}
bool forked(); // a forked child of a process that had started
DeviceIndex device_count();
DeviceIndex current_device();
Device
    resolve(std::optional<Device>); // a tpu device with a concrete index; raises on any other or a bad index
c10::Allocator *allocator();
c10::DataPtr make_data_ptr(tt_storage *taken);
void storage_deleter(void *);
const at::Generator &default_generator(DeviceIndex); // does not start the runtime
void rng_take(void *generator, int device, uint64_t increment, uint64_t *out_seed, uint64_t *out_offset);

// The core's storage behind PyTorch's, and the byte offset at which PyTorch's begins. Fast when the pointer
// is ours; slow for foreign ones that hold our addresses (from_blob, DLPack, storage slices, pickling).
tt_storage *find_storage(const c10::StorageImpl *, int64_t *out_byte_offset);
inline tt_storage *storage_of(const c10::StorageImpl *storage, int64_t *out_byte_offset) {
    const c10::DataPtr &data = storage->data_ptr();
    if (C10_LIKELY(data.get_deleter() == &storage_deleter)) {
        *out_byte_offset = 0;
        return static_cast<tt_storage *>(data.get_context());
    }
    return find_storage(storage, out_byte_offset);
}

// ---- dtypes ----
extern int8_t g_dtypes[64];                // c10::ScalarType -> tt_dtype, 0 where there is none
extern int8_t g_scalar_types[TT_N_DTYPES]; // tt_dtype -> c10::ScalarType, -1
[[noreturn]] void raise_dtype(c10::ScalarType);
inline tt_dtype dtype_of(c10::ScalarType type) {
    const auto dtype = static_cast<tt_dtype>(g_dtypes[static_cast<int>(type) & 63]);
    if (C10_UNLIKELY(dtype == TT_DTYPE_NONE))
        raise_dtype(type);
    return dtype;
}

// complex32 is kept, moved and viewed as the 32-bit word of its two halves; nothing computes with it: such ops go to the CPU.
struct UnknownDtype : c10::NotImplementedError {
    using c10::NotImplementedError::NotImplementedError;
};
inline tt_dtype stored_dtype(c10::ScalarType type) { return type == at::kComplexHalf ? TT_U32 : dtype_of(type); }

// ---- tensors ----
void fill_host_scalar(const c10::TensorImpl *, tt_tensor *);
// Sizes and strides are borrowed from the tensor. Any tpu tensor, or a 0-dim CPU tensor.
inline void fill_tensor_as(tt_dtype dtype, const c10::TensorImpl *impl, tt_tensor *out) {
    const auto sizes = impl->sizes();
    out->dims = sizes.data();
    out->strides = impl->strides().data();
    out->rank = static_cast<int>(sizes.size());
    out->dtype = dtype;
    out->wrapped = impl->is_wrapped_number();
    const auto keys = impl->key_set();
    out->conj = keys.has(DispatchKey::Conjugate);
    out->neg = keys.has(DispatchKey::Negative);
    out->value = HLO_NONE;
    if (C10_UNLIKELY(impl->device_type() != kTPU)) {
        fill_host_scalar(impl, out);
        return;
    }
    int64_t bytes;
    out->storage = storage_of(impl->unsafe_storage().unsafeGetStorageImpl(), &bytes);
    out->offset = impl->storage_offset();
    if (C10_UNLIKELY(bytes != 0)) {
        const auto size = static_cast<int64_t>(impl->itemsize());
        TORCH_CHECK(bytes % size == 0, "tpu: a storage that starts ", bytes,
                    " bytes into another cannot be read as ", impl->dtype(),
                    ": the start is not a multiple of ", size);
        out->offset += bytes / size;
    }
}
inline void fill_tensor(const c10::TensorImpl *impl, tt_tensor *out) {
    fill_tensor_as(dtype_of(c10::typeMetaToScalarType(impl->dtype())), impl, out);
}
inline void fill_tensor(const Tensor &tensor, tt_tensor *out) {
    fill_tensor(tensor.unsafeGetTensorImpl(), out);
}

// A tensor over a storage whose reference it takes. No strides: contiguous.
Tensor make_tensor(tt_storage *taken, c10::ScalarType, c10::IntArrayRef sizes,
                   c10::OptionalArrayRef<int64_t> strides);
Tensor empty_strided_on(Device, c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType);
Tensor empty_on(Device, c10::IntArrayRef sizes, c10::ScalarType);

// ---- special.cpp ----
// The values as they lie there; conj and neg stay lazy bits of the CPU tensor. (Never t.cpu(): it clones on
// the device first.)
Tensor to_host(const Tensor &);
Tensor to_device(const Tensor &, Device);
void write_back(const Tensor &from, const Tensor &to); // _copy_from_and_resize
void resize_to(c10::TensorImpl *, c10::IntArrayRef sizes);
bool is_host_op(const char *name); // computed on the host by design, when no lowering takes it
std::vector<std::string> host_ops();
void register_special(torch::Library &);

// ---- tape.cpp ----
void register_tapes(torch::Library &);

// ---- fallback.cpp ----
enum class Reason { NoKernel, NoLowering, HostOp };
void run_on_cpu(const c10::OperatorHandle &, Stack *, Reason, const char *detail);
void count_host_op(const std::string &name); // "aten::nonzero"
// Runs a failed op on CPU stand-ins so that PyTorch raises its own text. Returns when it does not.
void raise_as_pytorch(const c10::OperatorHandle &, const Stack &);
void register_fallback(torch::Library &);

// ---- boxed.cpp ----
void register_rows(torch::Library &);
const std::vector<std::string> &rows_registered();
const std::vector<std::string> &rows_unknown(); // no such op in this PyTorch
const std::vector<std::string> &rows_twice();   // named by two rows: the first serves
// index.Tensor and its like: CPU indices move to the device, masks become integer indices. True when the list
// changed.
bool prepare_indices(IValue &list, Device, c10::IntArrayRef sizes);

// ---- autocast.cpp, nn.cpp, device.cpp, collective.cpp, sparse.cpp ----
void register_sparse(torch::Library &);
void register_collectives();
void register_autocast();
void register_nn(torch::Library &);
void register_device();

} // namespace tpu

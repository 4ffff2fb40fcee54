// special.cpp - ops that are about PyTorch's tensor object and not about values: factories, copies between
// devices, views, resize, set_; and ops whose result shape depends on values, which read back. Must not
// compute anything that a row could.
#include "bridge/tensor.h"
#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/all.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/clone_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mvlgamma.h>
#include <ATen/ops/rrelu_with_noise.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>

namespace tpu {
using c10::IntArrayRef;
using OptionalType = std::optional<at::ScalarType>;

// ---------------------------------------------------------------- factories
static void check_options(std::optional<at::Layout> layout, std::optional<bool> pin) {
    TORCH_CHECK_NOT_IMPLEMENTED(c10::layout_or_default(layout) == at::kStrided,
                                "tpu has only strided tensors, not ", c10::layout_or_default(layout));
    TORCH_CHECK(!pin.value_or(false), "Only dense CPU tensors can be pinned");
}

static Tensor empty(IntArrayRef size, OptionalType type, std::optional<at::Layout> layout,
                    std::optional<Device> device, std::optional<bool> pin,
                    std::optional<at::MemoryFormat> format) {
    check_options(layout, pin);
    const auto scalar_type = c10::dtype_or_default(type);
    const auto on = resolve(device);
    if (!format || *format == at::MemoryFormat::Contiguous)
        return empty_on(on, size, scalar_type);
    TORCH_CHECK(*format != at::MemoryFormat::Preserve, "empty does not support preserve_format");
    const size_t rank = *format == at::MemoryFormat::ChannelsLast ? 4 : 5;
    TORCH_CHECK(size.size() == rank, "required rank ", rank, " tensor to use ", *format, " format");
    const auto strides =
        rank == 4 ? c10::get_channels_last_strides_2d(size) : c10::get_channels_last_strides_3d(size);
    return empty_strided_on(on, size, strides, scalar_type);
}

static Tensor empty_strided(IntArrayRef size, IntArrayRef stride, OptionalType type,
                            std::optional<at::Layout> layout, std::optional<Device> device,
                            std::optional<bool> pin) {
    check_options(layout, pin);
    TORCH_CHECK(size.size() == stride.size(), "dimensionality of sizes (", size.size(),
                ") must match dimensionality of strides (", stride.size(), ")");
    return empty_strided_on(resolve(device), size, stride, c10::dtype_or_default(type));
}

// ---------------------------------------------------------------- copies
static void fill_stored(const Tensor &tensor, tt_tensor *out) {
    fill_tensor_as(stored_dtype(tensor.scalar_type()), tensor.unsafeGetTensorImpl(), out);
}

static void read_raw(const Tensor &from, void *host) {
    tt_tensor source;
    fill_stored(from, &source);
    source.conj = source.neg = false;
    check(tt_read(&source, host));
}

Tensor to_host(const Tensor &tensor) {
    if (tensor.is_cpu())
        return tensor;
    Tensor host = at::detail::empty_cpu(tensor.sizes(), tensor.scalar_type());
    if (tensor.numel() != 0)
        read_raw(tensor, host.mutable_data_ptr());
    if (tensor.is_conj())
        host._set_conj(true);
    if (tensor.is_neg())
        host._set_neg(true);
    return host;
}

// `from`: a CPU tensor of the target's shape; any dtype, any strides.
static void write_host(const Tensor &from, const Tensor &to) {
    const Tensor dense = from.to(to.scalar_type()).resolve_conj().resolve_neg().contiguous();
    tt_tensor target;
    fill_stored(to, &target);
    check(tt_write(&target, dense.const_data_ptr(), /*may_borrow=*/false));
}

Tensor to_device(const Tensor &tensor, Device device) {
    Tensor made = empty_on(device, tensor.sizes(), tensor.scalar_type());
    if (tensor.numel() == 0)
        return made;
    if (tensor.is_cpu()) {
        write_host(tensor, made);
    } else if (tensor.scalar_type() == at::kComplexHalf) {
        write_host(to_host(tensor), made);
    } else {
        tt_tensor target, source;
        fill_tensor(made, &target);
        fill_tensor(tensor, &source);
        check(tt_copy(&target, &source));
    }
    return made;
}

static void check_copy(const Tensor &from, const Tensor &to) {
    if (from.sizes() != to.sizes()) {
        const auto shape = at::infer_size_dimvector(to.sizes(), from.sizes());
        TORCH_CHECK(to.sizes() == IntArrayRef(shape), "output with shape ", to.sizes(),
                    " doesn't match the broadcast shape ", IntArrayRef(shape));
    }
    if (!to.unsafeGetTensorImpl()->is_non_overlapping_and_dense())
        at::assert_no_internal_overlap(to);
    if (from.device() == to.device() && from.storage().is_alias_of(to.storage()) && !from.is_same(to))
        at::assert_no_partial_overlap(to, from);
    TORCH_CHECK(from.is_cpu() || from.device().type() == kTPU, "cannot copy from ", from.device(), " to ",
                to.device());
    TORCH_CHECK(to.is_cpu() || to.device().type() == kTPU, "cannot copy from ", from.device(), " to ",
                to.device());
}

static Tensor copy_from(const Tensor &from, const Tensor &to, bool non_blocking) {
    ensure_started();
    check_copy(from, to);
    if (to.numel() == 0 || from.is_same(to))
        return to;
    if (C10_UNLIKELY(to.device().type() == kTPU &&
                     to.is_conj())) { // the memory holds the conjugate of what is read
        copy_from(from.to(to.scalar_type()).conj(), to.conj(), non_blocking);
        return to;
    }
    if (C10_UNLIKELY(to.device().type() == kTPU && to.is_neg())) {
        copy_from(from.to(to.scalar_type())._neg_view(), to._neg_view(), non_blocking);
        return to;
    }
    if (C10_UNLIKELY(to.scalar_type() != from.scalar_type() &&
                     (to.scalar_type() == at::kComplexHalf || from.scalar_type() == at::kComplexHalf))) {
        // no conversion in a program: the host converts
        const Tensor converted = to_host(from).to(to.scalar_type());
        if (to.is_cpu())
            to.copy_(converted);
        else
            write_host(converted.expand(to.sizes()), to);
    } else if (to.device().type() == kTPU && from.device().type() == kTPU) {
        if (C10_UNLIKELY(from.scalar_type() == at::kComplexHalf)) {
            write_host(to_host(from).expand(to.sizes()), to);
            return to;
        }
        tt_tensor target, source;
        fill_tensor(to, &target);
        fill_tensor(from, &source);
        check(tt_copy(&target, &source));
    } else if (to.device().type() == kTPU) {
        write_host(from.expand(to.sizes()), to);
    } else if (to.is_contiguous() && to.scalar_type() == from.scalar_type() && to.sizes() == from.sizes() &&
               to.is_conj() == from.is_conj() && to.is_neg() == from.is_neg()) {
        read_raw(from, to.mutable_data_ptr());
    } else {
        to.copy_(to_host(from));
    }
    return to;
}

// PyTorch's own goes through the dispatcher for the new tensor and three times more for the copy.
static Tensor clone(const Tensor &self, std::optional<c10::MemoryFormat> format) {
    const auto wanted = format.value_or(c10::MemoryFormat::Preserve);
    const bool same = wanted == c10::MemoryFormat::Preserve && self.is_non_overlapping_and_dense();
    if (!same && wanted != c10::MemoryFormat::Contiguous)
        return at::native::clone(self, format);
    const Tensor copy = same ? empty_strided_on(self.device(), self.sizes(), self.strides(), self.scalar_type())
                             : empty_on(self.device(), self.sizes(), self.scalar_type());
    return copy_from(self, copy, false);
}

static Tensor copy_from_and_resize(const Tensor &from, const Tensor &to) {
    if (to.sizes() != from.sizes())
        to.resize_(from.sizes());
    return copy_from(from, to, false);
}

void write_back(const Tensor &from, const Tensor &to) {
    copy_from_and_resize(from, to);
}

static at::Scalar local_scalar_dense(const Tensor &self) {
    ensure_started();
    if (C10_UNLIKELY(self.scalar_type() == at::kComplexHalf))
        return to_host(self).item();
    alignas(16) char element[16];
    const auto dtype = dtype_of(self.scalar_type());
    read_raw(self, element);
    const double sign = self.is_neg() ? -1 : 1;
    if (tt_is_complex(dtype)) {
        const double real = tt_element_get(dtype, element);
        const double imaginary = tt_element_get(tt_dtype_real(dtype), element + tt_dtype_size(dtype) / 2);
        return c10::complex<double>(sign * real, sign * (self.is_conj() ? -imaginary : imaginary));
    }
    if (tt_is_float(dtype))
        return sign * tt_element_get(dtype, element);
    if (dtype == TT_PRED)
        return tt_element_get_int(dtype, element) != 0;
    if (dtype == TT_U64)
        return at::Scalar(static_cast<uint64_t>(tt_element_get_int(dtype, element)));
    return static_cast<int64_t>(sign) * tt_element_get_int(dtype, element);
}

// ---------------------------------------------------------------- sizes and storages of existing tensors
static void grow_storage(c10::TensorImpl *impl, int64_t bytes) {
    auto *storage = impl->unsafe_storage().unsafeGetStorageImpl();
    if (bytes <= static_cast<int64_t>(storage->nbytes()))
        return;
    TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
    int64_t offset;
    check(tt_storage_resize(storage_of(storage, &offset), bytes));
    storage->set_nbytes(static_cast<size_t>(bytes));
}

void resize_to(c10::TensorImpl *impl, IntArrayRef sizes) {
    for (const int64_t size : sizes)
        TORCH_CHECK(size >= 0, "Trying to create tensor with negative dimension ", size, ": ", sizes);
    impl->set_sizes_contiguous(sizes);
    if (impl->numel() != 0)
        grow_storage(impl,
                     static_cast<int64_t>(at::detail::computeStorageNbytesContiguous(
                         impl->sizes(), impl->itemsize(), static_cast<size_t>(impl->storage_offset()))));
}

static const Tensor &resize_(const Tensor &self, IntArrayRef sizes, std::optional<at::MemoryFormat> format) {
    auto *impl = self.unsafeGetTensorImpl();
    if (impl->sizes() != sizes)
        resize_to(impl, sizes);
    if (format) {
        TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format", *format);
        impl->empty_tensor_restride(*format);
    }
    return self;
}

static const Tensor &resize_output_(const Tensor &self, IntArrayRef sizes, Device device) {
    TORCH_CHECK(self.device() == device, "out Tensor doesn't have the correct device set");
    if (self.sizes() != sizes)
        resize_to(self.unsafeGetTensorImpl(), sizes);
    return self;
}

static Tensor &set_storage(Tensor &self, at::Storage storage, int64_t offset, IntArrayRef sizes,
                           IntArrayRef strides) {
    const bool contiguous = strides.data() == nullptr || (strides.empty() && !sizes.empty());
    TORCH_CHECK(storage.device() == self.device(), "Attempted to set the storage of a tensor on device \"",
                self.device(), "\" to a storage on different device \"", storage.device(),
                "\".  This is no longer allowed; the devices must match.");
    TORCH_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
    TORCH_CHECK(contiguous || sizes.size() == strides.size(), "unequal size length (", sizes.size(),
                ") and stride length (", strides.size(), ")");
    auto *impl = self.unsafeGetTensorImpl();
    impl->set_storage_keep_dtype(std::move(storage));
    impl->set_storage_offset(offset);
    if (contiguous)
        impl->set_sizes_contiguous(sizes);
    else
        impl->set_sizes_and_strides(sizes, strides);
    if (impl->numel() != 0)
        grow_storage(impl,
                     static_cast<int64_t>(at::detail::computeStorageNbytes(
                         impl->sizes(), impl->strides(), impl->itemsize(), static_cast<size_t>(offset))));
    return self;
}

static Tensor &set_empty(Tensor &self) {
    tt_storage *storage = tt_storage_create(self.device().index(), 0);
    auto impl = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), 0,
                                                      make_data_ptr(storage), allocator(), true);
    return set_storage(self, c10::Storage(std::move(impl)), 0, {0}, {});
}

static bool is_set_to(const Tensor &self, const Tensor &other) {
    return self.storage().unsafeGetStorageImpl() == other.storage().unsafeGetStorageImpl() &&
           self.storage_offset() == other.storage_offset() && self.sizes() == other.sizes() &&
           self.strides() == other.strides();
}

// One queue a device, and a buffer lives until its last program ran: nothing to record.
static void record_stream(Tensor &, c10::Stream) {}

// Module.to("tpu") then swaps the data of Parameters and keeps the objects, as on CUDA.
static bool same_shallow_type(const Tensor &self, const Tensor &from) {
    const auto plain = [](const Tensor &tensor) {
        const auto keys = tensor.key_set();
        return tensor.layout() == at::kStrided && (tensor.is_cpu() || tensor.device().type() == kTPU) &&
               !keys.has(DispatchKey::Python) && !keys.has(DispatchKey::Functionalize) &&
               !tensor.is_quantized() && !tensor.is_nested();
    };
    return plain(self) && plain(from);
}

// ---------------------------------------------------------------- results that depend on values
static bool equal(const Tensor &self, const Tensor &other) {
    TORCH_CHECK(self.device() == other.device(),
                "Expected all tensors to be on the same device, but found at least two devices, ",
                self.device(), " and ", other.device(), "!");
    TORCH_CHECK(self.scalar_type() == other.scalar_type(), "Expected object of data type ",
                self.scalar_type(), " but got data type ", other.scalar_type(),
                " for argument 'other' in call to equal");
    if (self.sizes() != other.sizes())
        return false;
    return self.numel() == 0 || at::all(at::eq(self, other)).item<bool>();
}

// How many of n bytes are not 0: a bool that nobody initialized may be any byte.
static int64_t count_ones(const uint8_t *p, int64_t n) {
    const uint64_t low = 0x7f7f7f7f7f7f7f7full;
    int64_t count = 0, i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t eight;
        std::memcpy(&eight, p + i, 8);
        count += __builtin_popcountll((((eight & low) + low) | eight) & ~low);
    }
    for (; i < n; i++)
        count += p[i] != 0;
    return count;
}

// The coordinates of the ones of a row of the mask, `at` being those of the row; where the next go. A coordinate is always written, and
// kept where there is a one. RANK 0: any.
template <size_t RANK> static int64_t *write_row(const uint8_t *p, int64_t n, const int64_t *at, size_t any_rank, int64_t *out) {
    const size_t rank = RANK ? RANK : any_rank;
    for (int64_t i = 0; i < n;) {
        uint64_t eight = 1;
        if (i + 8 <= n)
            std::memcpy(&eight, p + i, 8);
        const int64_t end = std::min(i + 8, n);
        if (!eight)
            i = end;
        for (; i < end; i++) {
            for (size_t d = 0; d + 1 < rank; d++)
                out[d] = at[d];
            out[rank - 1] = i;
            out += p[i] ? rank : 0;
        }
    }
    return out;
}

// The coordinates of the ones, in order; `out` has room for one more.
static void write_ones(const uint8_t *p, c10::IntArrayRef sizes, int64_t *out) {
    const size_t rank = sizes.size();
    if (!rank)
        return;
    const int64_t columns = sizes[rank - 1], rows = columns ? c10::multiply_integers(sizes) / columns : 0;
    std::vector<int64_t> at(rank);
    for (int64_t r = 0; r < rows; r++, p += columns) {
        out = rank == 1   ? write_row<1>(p, columns, at.data(), rank, out)
              : rank == 2 ? write_row<2>(p, columns, at.data(), rank, out)
                          : write_row<0>(p, columns, at.data(), rank, out);
        for (size_t d = rank - 1; d-- > 0;) {
            if (++at[d] < sizes[d])
                break;
            at[d] = 0;
        }
    }
}

// On the host, which is to know how many there are.
static Tensor nonzero(const Tensor &self) {
    count_host_op("aten::nonzero");
    const Tensor mask = to_host(self.scalar_type() == at::kBool ? self : at::ne(self, 0)).contiguous();
    const auto *p = static_cast<const uint8_t *>(mask.const_data_ptr());
    const int64_t n = count_ones(p, mask.numel());
    const Tensor where = at::empty({n + 1, mask.dim()}, at::TensorOptions().dtype(at::kLong));
    if (n)
        write_ones(p, mask.sizes(), static_cast<int64_t *>(where.data_ptr()));
    return to_device(where.narrow(0, 0, n), self.device());
}

static Tensor masked_select(const Tensor &self, const Tensor &mask) {
    TORCH_CHECK(mask.scalar_type() == at::kBool, "masked_select: expected BoolTensor for mask");
    TORCH_CHECK(self.device() == mask.device(),
                "Expected all tensors to be on the same device, but found at least two devices, ",
                self.device(), " and ", mask.device(), "!");
    const auto shape = at::infer_size_dimvector(self.sizes(), mask.sizes());
    const Tensor where = at::nonzero(mask.expand(shape).reshape({-1})).squeeze(1);
    return at::index_select(self.expand(shape).reshape({-1}), 0, where);
}

// ---------------------------------------------------------------- forms that PyTorch gives its own devices only
static Tensor &give(const Tensor &value, Tensor &out) {
    TORCH_CHECK(c10::canCast(value.scalar_type(), out.scalar_type()), "result type ", value.scalar_type(),
                " can't be cast to the desired output type ", out.scalar_type());
    at::native::resize_output(out, value.sizes());
    return out.copy_(value);
}

static Tensor &mvlgamma_out(const Tensor &self, int64_t p, Tensor &out) {
    return give(at::mvlgamma(self, p), out);
}

static Tensor &narrow_copy_out(const Tensor &self, int64_t dim, c10::SymInt start, c10::SymInt length, Tensor &out) {
    return give(self.narrow_copy(dim, start.expect_int(), length.expect_int()), out);
}

static Tensor &rrelu_with_noise_(Tensor &self, Tensor &noise, const at::Scalar &lower, const at::Scalar &upper, bool training,
                                 std::optional<at::Generator> generator) {
    return self.copy_(at::rrelu_with_noise(self, noise, lower, upper, training, std::move(generator)));
}

static Tensor &masked_select_out(const Tensor &self, const Tensor &mask, Tensor &out) {
    at::assert_no_internal_overlap(out);
    at::assert_no_overlap(out, self);
    at::assert_no_overlap(out, mask);
    TORCH_CHECK(self.scalar_type() == out.scalar_type(), "masked_select(): self and result must have the same scalar type");
    return give(tpu::masked_select(self, mask), out);
}

static const char *const kHostOps[] = {
    // The shape of the result depends on values.
    "nonzero",
    "nonzero.out",
    "_unique2",
    "_unique",
    "unique_dim",
    "unique_consecutive",
    "unique_dim_consecutive",
    "repeat_interleave.Tensor",
    "bincount",
    "nonzero_static",
    "_assert_async",
    "_assert_async.msg",
    "_functional_assert_async.msg",
    "histogram.bins_tensor",
    "histogram.bin_ct",
    "histogram.bins_tensor_out",
    "histogram.bin_ct_out",
    // Dense decompositions: StableHLO has none of them, so all plugins share one path through LAPACK on the
    // host, counted apart
    // from the fallback. The functional and in-place forms of structured ops arrive here as their out= form.
    "_cholesky_solve_helper",
    "_histogramdd_bin_edges",
    "_histogramdd_from_bin_cts",
    "_histogramdd_from_bin_tensors",
    "_linalg_det.result",
    "_linalg_eigh.eigenvalues",
    "_linalg_eigvals",
    "_linalg_slogdet.sign",
    "_linalg_solve_ex.result",
    "_linalg_svd.U",
    "cholesky",
    "cholesky.out",
    "cholesky_inverse",
    "cholesky_inverse.out",
    "geqrf",
    "geqrf.a",
    "linalg_cholesky_ex.L",
    "linalg_eig",
    "linalg_eig.out",
    "linalg_eigvals.out",
    "linalg_householder_product",
    "linalg_householder_product.out",
    "linalg_inv_ex.inverse",
    "linalg_ldl_factor_ex.out",
    "linalg_ldl_solve.out",
    "linalg_lstsq.out",
    "linalg_lu.out",
    "linalg_lu_factor_ex.out",
    "linalg_lu_solve.out",
    "linalg_matrix_exp",
    "linalg_qr.out",
    "lu_unpack.out",
    "ormqr",
    "ormqr.out",
};

bool is_host_op(const char *name) {
    for (const char *host : kHostOps)
        if (!strcmp(host, name))
            return true;
    return false;
}

std::vector<std::string> host_ops() {
    return {std::begin(kHostOps), std::end(kHostOps)};
}

static void host_op(const c10::OperatorHandle &op, Stack *stack) {
    ensure_started();
    run_on_cpu(op, stack, Reason::HostOp, "");
}

void register_special(torch::Library &library) {
    library.impl("empty.memory_format", TORCH_FN(empty));
    library.impl("empty_strided", TORCH_FN(empty_strided));
    library.impl("_copy_from", TORCH_FN(copy_from));
    library.impl("clone", TORCH_FN(clone));
    library.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
    library.impl("_local_scalar_dense", TORCH_FN(local_scalar_dense));
    library.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
    library.impl("view", TORCH_FN(at::native::view));
    library.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
    library.impl("unfold", TORCH_FN(at::native::unfold));
    library.impl("view_as_real", TORCH_FN(at::native::view_as_real));
    library.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
    library.impl("resize_", TORCH_FN(resize_));
    library.impl("_resize_output_", TORCH_FN(resize_output_));
    library.impl("set_", TORCH_FN(set_empty));
    library.impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
    library.impl("set_.source_Storage", TORCH_FN(at::native::set_));
    library.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage));
    library.impl("is_set_to", TORCH_FN(is_set_to));
    library.impl("record_stream", TORCH_FN(record_stream));
    library.impl("_has_compatible_shallow_copy_type", TORCH_FN(same_shallow_type));
    library.impl("equal", TORCH_FN(equal));
    library.impl("nonzero", TORCH_FN(nonzero));
    library.impl("masked_select", TORCH_FN(masked_select));
    library.impl("masked_select.out", TORCH_FN(masked_select_out));
    library.impl("mvlgamma.out", TORCH_FN(mvlgamma_out));
    library.impl("narrow_copy.out", TORCH_FN(narrow_copy_out));
    library.impl("rrelu_with_noise_", TORCH_FN(rrelu_with_noise_));
    for (const char *name : kHostOps) {
        int kind;
        if (!tt_row_find(name, &kind) && std::strcmp(name, "nonzero") != 0) // which is above
            library.impl(name, torch::CppFunction::makeFromBoxedFunction<&host_op>());
    }
}

} // namespace tpu

// sparse.cpp - sparse tensors on tpu: objects of PyTorch that hold dense tpu tensors (indices and values).
// PyTorch's own kernels for them are mostly written in dense ops and serve any device; those are named here.
// Coalescing and sums with sparse operands are dense ops of ours; the rest runs on the CPU, under the same
// policy and counters as any missing op. Must not know how an op is lowered.
#include "bridge/tensor.h"
#include <ATen/SparseTensorImpl.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/_unique2.h>
#include <ATen/ops/zeros.h>

namespace tpu {

// Kernels that PyTorch registers for SparseCPU and SparseCUDA alike: nothing in them is about a device.
static const char *const kAnyDevice[] = {
    "empty.memory_format",
    "empty_like",
    "_sparse_coo_tensor_with_dims",
    "_sparse_coo_tensor_with_dims_and_tensors",
    "sparse_dim",
    "_dimI",
    "dense_dim",
    "_dimV",
    "_nnz",
    "is_coalesced",
    "_indices",
    "_values",
    "_coalesced_",
    "indices",
    "values",
    "sparse_resize_",
    "sparse_resize_and_clear_",
    "resize_as_sparse_",
    "copy_",
    "copy_sparse_to_sparse_",
    "clone",
    "zero_",
    "zeros.out",
    "_to_dense",
    "_to_sparse",
    "_to_sparse.sparse_dim",
    "_sparse_broadcast_to",
    "cat",
    "permute",
    "unsqueeze",
    "narrow_copy",
    "view_as_real",
    "view_as_complex",
    "sparse_mask",
    "sum",
    "sum.dim_IntList",
    "norm.ScalarOpt_dim",
    "norm.ScalarOpt_dim_dtype",
    "native_norm",
    "native_norm.ScalarOpt_dim_dtype",
    "any",
    "add.Tensor",
    "add_.Tensor",
    "sub.Tensor",
    "sub_.Tensor",
    "sub.out",
    "mul.Tensor",
    "mul_.Tensor",
    "div.Tensor",
    "div_.Tensor",
    "div.out",
    "div.Tensor_mode",
    "div_.Tensor_mode",
    "div.out_mode",
    "floor_divide",
    "floor_divide_.Tensor",
    "floor_divide.out",
    "pow.Tensor_Scalar",
    "pow.Tensor_Scalar_out",
    "conj_physical.out",
    "isnan",
    "isinf",
    "isposinf",
    "isposinf.out",
    "isneginf",
    "isneginf.out",
    "signbit",
    "signbit.out",
    "mm",
    "mm.out",
    "mv",
    "relu",
    "relu_",
    "threshold_backward",
    "threshold_backward.grad_input",
};
// The same for each of: op, op_, op.out.
static const char *const kAnyDevicePointwise[] = {
    "abs",   "sgn",  "asinh",      "atanh", "asin",    "atan",    "ceil", "erf",   "expm1",
    "floor", "frac", "nan_to_num", "log1p", "rad2deg", "deg2rad", "neg",  "round", "sin",
    "sinh",  "sqrt", "tan",        "tanh",  "trunc",   "erfinv",  "sign",
};
static const char *const kCompressedAnyDevice[] = {
    "empty.memory_format",
    "empty_like",
    "sparse_dim",
    "dense_dim",
    "_nnz",
    "values",
    "crow_indices",
    "col_indices",
    "ccol_indices",
    "row_indices",
    "clone",
    "copy_",
    "zero_",
    "resize_as_sparse_",
    "_to_dense",
    "_to_sparse",
    "_to_sparse.sparse_dim",
};

// Functional forms that PyTorch would otherwise build from the out form over a result with the layout of the
// first operand.
static const char *const kOnCpu[] = {"bmm", "_sparse_sparse_matmul", "index_select"};
static const char *const kCompressedOnCpu[] = {"mm",         "addmm",      "addmv",      "bmm",
                                               "mul.Tensor", "add.Tensor", "sub.Tensor", "div.Tensor"};

static void any_device(const c10::OperatorHandle &op, DispatchKeySet keys, Stack *stack) {
    const auto key =
        keys.has(DispatchKey::SparsePrivateUse1) ? DispatchKey::SparseCPU : DispatchKey::SparseCsrCPU;
    op.redispatchBoxed(DispatchKeySet(key), stack);
}

static void dense_any_device(const c10::OperatorHandle &op, DispatchKeySet, Stack *stack) {
    op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), stack);
}

static void on_cpu(const c10::OperatorHandle &op, Stack *stack) {
    ensure_started();
    run_on_cpu(op, stack, Reason::NoKernel, "");
}

// ---------------------------------------------------------------- dense ops over indices and values
// The place of each entry in the dense tensor's sparse dimensions taken as one: (nnz).
static Tensor places(const Tensor &sparse, c10::IntArrayRef sizes, int64_t sparse_dim) {
    const Tensor indices = sparse._indices();
    Tensor place = at::zeros({indices.size(1)}, indices.options());
    for (int64_t d = 0; d < sparse_dim; d++)
        place = place.mul(sizes[d]).add(indices.select(0, d));
    return place;
}

static std::vector<int64_t> sparse_dims_as_one(c10::IntArrayRef sizes, int64_t sparse_dim) {
    std::vector<int64_t> result(sizes.begin() + sparse_dim, sizes.end());
    result.insert(result.begin(), c10::multiply_integers(sizes.begin(), sizes.begin() + sparse_dim));
    return result;
}

static Tensor coalesce(const Tensor &self) {
    const int64_t dims = self.sparse_dim(), nnz = self._nnz();
    const auto finish = [&](const Tensor &indices, const Tensor &values) {
        Tensor result = at::_sparse_coo_tensor_unsafe(indices, values, self.sizes(),
                                                      values.options().layout(at::kSparse));
        return result._coalesced_(true);
    };
    if (nnz < 2)
        return finish(self._indices().clone(), self._values().clone());
    const auto [unique, inverse, counts] = at::_unique2(places(self, self.sizes(), dims), true, true);
    const Tensor values = self._values();
    auto sizes = values.sizes().vec();
    sizes[0] = unique.size(0);
    const Tensor summed = values.scalar_type() == at::kBool
                              ? at::zeros(sizes, values.options().dtype(at::kInt))
                                    .index_add_(0, inverse, values.to(at::kInt))
                                    .to(at::kBool)
                              : at::zeros(sizes, values.options()).index_add_(0, inverse, values);
    std::vector<Tensor> rows(static_cast<size_t>(dims));
    Tensor rest = unique;
    for (int64_t d = dims; d-- > 0;) {
        const int64_t size = std::max<int64_t>(self.size(d), 1);
        rows[static_cast<size_t>(d)] = d ? rest.remainder(size) : rest;
        rest = rest.floor_divide(size);
    }
    return finish(dims ? at::stack(rows) : at::zeros({0, unique.size(0)}, unique.options()), summed);
}

static Tensor &replace(Tensor &out, const Tensor &sparse) {
    out.sparse_resize_and_clear_(sparse.sizes(), sparse.sparse_dim(), sparse.dense_dim());
    auto *impl = static_cast<at::SparseTensorImpl *>(out.unsafeGetTensorImpl());
    impl->set_indices_and_values_unsafe(sparse._indices(), sparse._values().to(out.scalar_type()));
    out._coalesced_(sparse.is_coalesced());
    return out;
}

static Tensor &add_to_dense(const Tensor &dense, const Tensor &sparse, const at::Scalar &alpha, Tensor &out) {
    TORCH_CHECK(sparse.sizes().equals(dense.sizes()),
                "add: expected 'self' and 'other' to have same size, but self has size ", dense.sizes(),
                " while other has size ", sparse.sizes(),
                " (FYI: dense-sparse addition does not currently support broadcasting)");
    if (!out.is_same(dense))
        out.resize_(dense.sizes()).copy_(dense);
    const int64_t dims = sparse.sparse_dim();
    if (!sparse._nnz() || !out.numel())
        return out;
    const auto sizes = sparse_dims_as_one(out.sizes(), dims);
    const Tensor values = sparse._values().to(out.scalar_type());
    if (out.is_contiguous()) {
        out.view(sizes).index_add_(0, places(sparse, out.sizes(), dims), values, alpha);
        return out;
    }
    return out.copy_(
        out.reshape(sizes).index_add(0, places(sparse, out.sizes(), dims), values, alpha).view(out.sizes()));
}

static Tensor &add_out(const Tensor &self, const Tensor &other, const at::Scalar &alpha, Tensor &out) {
    if (!self.is_sparse() && other.layout() == at::kSparse)
        return add_to_dense(self, other, alpha, out);
    TORCH_CHECK(other.is_sparse(), "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
    TORCH_CHECK(self.sizes().equals(other.sizes()),
                "add: expected sizes of 'self' and 'other' to match, but ", self.sizes(),
                " != ", other.sizes());
    TORCH_CHECK(self.sparse_dim() == other.sparse_dim() && self.dense_dim() == other.dense_dim(),
                "add: expected 'self' and 'other' to have same density");
    const auto type = at::result_type(self, other);
    const Tensor indices = at::cat({self._indices(), other._indices()}, 1);
    const Tensor values = at::cat({self._values().to(type), other._values().to(type).mul(alpha)}, 0);
    const Tensor sum =
        at::_sparse_coo_tensor_unsafe(indices, values, self.sizes(), values.options().layout(at::kSparse));
    return replace(out, self.is_coalesced() && other.is_coalesced() ? sum.coalesce() : sum);
}

// sparse * number, sparse * dense of the same sizes; two sparse operands on the CPU.
static void mul_out(const c10::OperatorHandle &op, Stack *stack) {
    Tensor a = torch::jit::peek(*stack, 0, 3).toTensor(), b = torch::jit::peek(*stack, 1, 3).toTensor();
    Tensor out = torch::jit::peek(*stack, 2, 3).toTensor();
    if (!a.is_sparse())
        std::swap(a, b);
    const bool number = !b.is_sparse() && b.dim() == 0,
               dense = !b.is_sparse() && b.layout() == at::kStrided && b.sizes().equals(a.sizes());
    if (!a.is_sparse() || !out.is_sparse() || !(number || dense))
        return on_cpu(op, stack);
    Tensor factor = b;
    if (dense) {
        const int64_t dims = a.sparse_dim();
        factor = b.reshape(sparse_dims_as_one(a.sizes(), dims)).index_select(0, places(a, a.sizes(), dims));
    }
    const Tensor values = a._values().mul(factor);
    Tensor result =
        at::_sparse_coo_tensor_unsafe(a._indices(), values, a.sizes(), values.options().layout(at::kSparse));
    result._coalesced_(a.is_coalesced());
    replace(out, result);
    torch::jit::drop(*stack, 3);
    stack->push_back(std::move(out));
}

// beta * self + alpha * (sparse @ dense)
static Tensor &addmm_out(const Tensor &self, const Tensor &sparse, const Tensor &dense,
                         const at::Scalar &beta, const at::Scalar &alpha, Tensor &out) {
    TORCH_CHECK(sparse.is_sparse() && dense.layout() == at::kStrided && self.layout() == at::kStrided,
                "addmm: expected a strided tensor plus a sparse and a strided matrix");
    TORCH_CHECK(sparse.sparse_dim() == 2 && sparse.dense_dim() == 0 && dense.dim() == 2,
                "addmm: 2-D matrices expected, got ", sparse.dim(), "D and ", dense.dim(), "D tensors");
    TORCH_CHECK(sparse.size(1) == dense.size(0), "addmm: Argument #3 (dense): Expected dim 0 size ",
                sparse.size(1), ", got ", dense.size(0));
    const Tensor indices = sparse._indices(),
                 rows = dense.index_select(0, indices.select(0, 1)).mul(sparse._values().unsqueeze(1));
    Tensor sum = at::zeros({sparse.size(0), dense.size(1)}, dense.options())
                     .index_add_(0, indices.select(0, 0), rows)
                     .mul(alpha);
    if (beta.toComplexDouble() != 0.)
        sum = sum.add(self.mul(beta));
    return out.resize_(sum.sizes()).copy_(sum);
}
static Tensor addmm(const Tensor &self, const Tensor &sparse, const Tensor &dense, const at::Scalar &beta,
                    const at::Scalar &alpha) {
    Tensor out = at::empty({0}, dense.options());
    return addmm_out(self, sparse, dense, beta, alpha, out);
}
static Tensor &addmm_(Tensor &self, const Tensor &sparse, const Tensor &dense, const at::Scalar &beta,
                      const at::Scalar &alpha) {
    return addmm_out(self, sparse, dense, beta, alpha, self);
}

// Row numbers, sorted, to where each row begins: (nnz) to (rows + 1).
static Tensor coo_to_csr(const Tensor &rows, int64_t size, bool int32) {
    return at::searchsorted(rows, at::arange(size + 1, rows.options()), int32);
}

void register_sparse(torch::Library &dense) {
    const auto boxed = [] { return torch::CppFunction::makeFromBoxedFunction<&any_device>(); };
    static auto *coo =
        new torch::Library(torch::Library::IMPL, "aten", DispatchKey::SparsePrivateUse1, __FILE__, __LINE__);
    for (const char *name : kAnyDevice)
        coo->impl(name, boxed());
    for (const std::string name : kAnyDevicePointwise)
        for (const char *form : {"", "_", ".out"})
            coo->impl((name + form).c_str(), boxed());
    coo->impl("_coalesce", TORCH_FN(coalesce));
    coo->impl("add.out", TORCH_FN(add_out));
    coo->impl("addmm.out", TORCH_FN(addmm_out));
    coo->impl("addmm", TORCH_FN(addmm));
    coo->impl("addmm_", TORCH_FN(addmm_));
    dense.impl("_convert_indices_from_coo_to_csr", TORCH_FN(coo_to_csr));
    coo->impl("mul.out", torch::CppFunction::makeFromBoxedFunction<&mul_out>());
    static auto *compressed = new torch::Library(torch::Library::IMPL, "aten",
                                                 DispatchKey::SparseCsrPrivateUse1, __FILE__, __LINE__);
    for (const char *name : kCompressedAnyDevice)
        compressed->impl(name, boxed());
    for (const char *name : kOnCpu)
        coo->impl(name, torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
    for (const char *name : kCompressedOnCpu)
        compressed->impl(name, torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
    for (const auto key : {DispatchKey::SparsePrivateUse1, DispatchKey::SparseCsrPrivateUse1}) {
        auto *any = new torch::Library(torch::Library::IMPL, "_", key, __FILE__, __LINE__);
        any->fallback(torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
    }
    for (const char *name : {"_to_sparse", "_to_sparse.sparse_dim", "_to_sparse_csr", "_to_sparse_csc",
                             "_to_sparse_bsr", "_to_sparse_bsc"})
        dense.impl(name, torch::CppFunction::makeFromBoxedFunction<&dense_any_device>());
}

} // namespace tpu

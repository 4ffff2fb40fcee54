// boxed.cpp - the one kernel: an instance per row of tables/aten.def and form (functional, in-place, out=).
// Flattens PyTorch's argument stack into tt_args on this C++ stack, calls run/, wraps the results. What a
// row's schema says (how many arguments, which are written) is computed once, at registration. Must not know
// what an op means.
#include "bridge/boxed.h"
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/any.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/unbind.h>

namespace tpu {

static void flatten_tensors(c10::ArrayRef<IValue> list, tt_arg &out, Frame &frame) {
    auto *tensors = frame.take_tensors(list.size());
    auto **pointers = frame.take<tt_tensor *>(list.size());
    for (size_t i = 0; i < list.size(); i++) {
        const auto *impl = list[i].isNone() ? nullptr : list[i].unsafeToTensorImpl();
        if (!impl || impl == c10::UndefinedTensorImpl::singleton()) {
            pointers[i] = nullptr;
        } else {
            frame.put(impl, &tensors[i]);
            pointers[i] = &tensors[i];
        }
    }
    out.tag = TT_ARG_TENSORS;
    out.u.tensors = pointers;
}

// By the list's element type and not by what it holds: Scalar[] stays a list of scalars, whatever they are.
static void flatten_list(const IValue &value, c10::ArrayRef<IValue> list, tt_arg &out, Frame &frame) {
    const size_t n = list.size();
    out.n = static_cast<int>(n);
    if (value.isIntList()) {
        auto *ints = frame.take<int64_t>(n);
        for (size_t i = 0; i < n; i++)
            ints[i] = list[i].toInt();
        out.tag = TT_ARG_INTS;
        out.u.ints = ints;
    } else if (value.isTensorList() || value.isOptionalTensorList()) {
        flatten_tensors(list, out, frame);
    } else if (value.isSymIntList()) {
        auto *ints = frame.take<int64_t>(n);
        for (size_t i = 0; i < n; i++)
            ints[i] = list[i].isInt() ? list[i].toInt() : list[i].toSymInt().guard_int(__FILE__, __LINE__);
        out.tag = TT_ARG_INTS;
        out.u.ints = ints;
    } else if (value.isDoubleList()) {
        auto *doubles = frame.take<double>(n);
        for (size_t i = 0; i < n; i++)
            doubles[i] = list[i].toDouble();
        out.tag = TT_ARG_DOUBLES;
        out.u.doubles = doubles;
    } else if (value.isBoolList()) {
        auto *bools = frame.take<bool>(n);
        for (size_t i = 0; i < n; i++)
            bools[i] = list[i].toBool();
        out.tag = TT_ARG_BOOLS;
        out.u.bools = bools;
    } else {
        auto *scalars = frame.take<tt_arg>(n);
        for (size_t i = 0; i < n; i++)
            flatten(list[i], scalars[i], frame);
        out.tag = TT_ARG_SCALARS;
        out.u.scalars = scalars;
    }
}

void flatten(const IValue &value, tt_arg &out, Frame &frame) {
    out.n = 0;
    if (value.isTensor()) {
        const auto *impl = value.unsafeToTensorImpl();
        if (impl == c10::UndefinedTensorImpl::singleton()) {
            out.tag = TT_ARG_NONE;
            return;
        }
        auto *tensor = frame.take_tensors(1);
        frame.put(impl, tensor);
        out.tag = TT_ARG_TENSOR;
        out.u.tensor = tensor;
    } else if (value.isNone()) {
        out.tag = TT_ARG_NONE;
    } else if (value.isInt()) {
        out.tag = TT_ARG_INT;
        out.u.i = value.toInt();
    } else if (value.isDouble()) {
        out.tag = TT_ARG_DOUBLE;
        out.u.d = value.toDouble();
    } else if (value.isBool()) {
        out.tag = TT_ARG_BOOL;
        out.u.i = value.toBool();
    } else if (value.isList()) {
        flatten_list(value, value.toListRef(), out, frame);
    } else if (value.isComplexDouble()) {
        const auto number = value.toComplexDouble();
        out.tag = TT_ARG_COMPLEX;
        out.u.c[0] = number.real();
        out.u.c[1] = number.imag();
    } else if (value.isString()) {
        const auto &text = value.toStringRef();
        out.tag = TT_ARG_STRING;
        out.u.s = text.c_str();
        out.n = static_cast<int>(text.size());
    } else if (value.isSymInt()) {
        out.tag = TT_ARG_INT;
        out.u.i = value.toSymInt().guard_int(__FILE__, __LINE__);
    } else if (value.isSymFloat()) {
        out.tag = TT_ARG_DOUBLE;
        out.u.d = value.toSymFloat().guard_float(__FILE__, __LINE__);
    } else if (value.isSymBool()) {
        out.tag = TT_ARG_BOOL;
        out.u.i = value.toSymBool().guard_bool(__FILE__, __LINE__);
    } else if (value.isDevice()) {
        out.tag = TT_ARG_DEVICE;
        out.u.i = value.toDevice().index();
    } else if (value.isGenerator()) {
        const auto generator = value.toGenerator();
        TORCH_CHECK(generator.device().type() == kTPU,
                    "Expected a 'tpu' device type for generator but found '", generator.device().type(), "'");
        out.tag = TT_ARG_GENERATOR;
        out.u.generator.handle = generator.unsafeGetGeneratorImpl();
        out.u.generator.seed = out.u.generator.offset = 0;
    } else {
        TORCH_CHECK(false, "tpu: cannot pass an argument of type ", value.tagKind());
    }
}

// ---------------------------------------------------------------- index lists
bool prepare_indices(IValue &list, Device device, c10::IntArrayRef sizes) {
    bool change = false;
    for (const auto &item : list.toListRef())
        if (item.isTensor() && item.toTensor().defined()) {
            const auto &tensor = item.toTensor();
            change |= tensor.scalar_type() == at::kBool || tensor.scalar_type() == at::kByte ||
                      tensor.device() != device;
        }
    if (!change)
        return false;
    c10::List<std::optional<Tensor>> prepared;
    int64_t dim = 0;
    for (const auto &item : list.toListRef()) {
        if (!item.isTensor() || !item.toTensor().defined()) {
            prepared.push_back(std::nullopt);
            dim++;
            continue;
        }
        Tensor tensor = item.toTensor();
        const bool mask = tensor.scalar_type() == at::kBool || tensor.scalar_type() == at::kByte;
        if (!mask) {
            TORCH_CHECK(tensor.device() == device || tensor.is_cpu(),
                        "indices should be either on cpu or on the same device as the indexed tensor (",
                        device, ")");
            prepared.push_back(tensor.device() == device ? tensor : to_device(tensor, device));
            dim++;
            continue;
        }
        for (int64_t i = 0; i < tensor.dim(); i++)
            TORCH_CHECK_INDEX(dim + i < static_cast<int64_t>(sizes.size()) &&
                                  tensor.size(i) == sizes[static_cast<size_t>(dim + i)],
                              "The shape of the mask ", tensor.sizes(), " at index ", i,
                              " does not match the shape of the indexed tensor ", sizes, " at index ",
                              dim + i);
        dim += tensor.dim();
        for (const auto &one : at::nonzero(tensor).unbind(1))
            prepared.push_back(one.device() == device ? one : to_device(one, device));
    }
    list = std::move(prepared);
    return true;
}

// x[mask] = number: a masked fill, so that no mask is read back. True when the list is one mask and the value
// one element.
static bool fill_by_mask(const IValue *args) {
    const auto &self = args[0].toTensor(), &value = args[2].toTensor();
    if (args[3].toBool() || value.numel() != 1 || self.device().type() != kTPU ||
        (value.device() != self.device() && value.dim() != 0))
        return false;
    Tensor mask;
    int64_t before = 0, after = 0;
    for (const auto &item : args[1].toListRef()) {
        if (!item.isTensor() || !item.toTensor().defined()) {
            (mask.defined() ? after : before)++;
            continue;
        }
        if (mask.defined() || item.toTensor().scalar_type() != at::kBool ||
            item.toTensor().device() != self.device())
            return false;
        mask = item.toTensor();
    }
    if (!mask.defined() || before + mask.dim() + after > self.dim())
        return false;
    for (int64_t i = 0; i < mask.dim(); i++)
        if (mask.size(i) != self.size(before + i))
            return false; // the general way raises PyTorch's text
    for (int64_t i = before + mask.dim(); i < self.dim(); i++)
        mask = mask.unsqueeze(-1);
    self.masked_fill_(mask, value.dim() ? value.reshape({}) : value);
    return true;
}

// ---------------------------------------------------------------- the kernel
Boxed::Boxed(const tt_row *row_, Form form_, const char *name_, const c10::FunctionSchema &schema)
    : row(row_), form(form_), name(name_) {
    const auto &arguments = schema.arguments();
    n_args = static_cast<int>(arguments.size());
    n_core = n_args;
    n_returns = static_cast<int>(schema.returns().size());
    int n_outs = 0;
    for (int i = 0; i < n_args; i++) {
        const auto &argument = arguments[static_cast<size_t>(i)];
        if (argument.alias_info() && argument.alias_info()->isWrite())
            written.push_back(i), n_outs += argument.kwarg_only();
        if (argument.type()->str() == "Tensor?[]")
            index_list = i;
    }
    fills = form == IN_PLACE && (!strcmp(name, "zero_") || !strncmp(name, "fill_.", 6));
    fills_masked = form == IN_PLACE && !strncmp(name, "masked_fill_.", 13);
    if (form == OUT) {
        n_core = n_args - n_outs;
        for (const char *op : {"gather.out", "kthvalue.values", "take.out", "cat.out"})
            fresh_out |= !strcmp(name, op);
    }
    if (row->flags & TT_ROW_STATS && form != IN_PLACE)
        for (const int stat : {3, 4})
            if (std::find(written.begin(), written.end(), stat) == written.end())
                written.insert(written.begin() + (stat - 3), stat);
    n_lowered = n_core;
    if (form == OUT && row->flags & TT_ROW_CREATES)
        find_dtype_argument();
    for (const auto &result : schema.returns()) {
        int same = -1;
        if (result.alias_info() && result.alias_info()->isWrite())
            for (const int argument : written)
                if (arguments[static_cast<size_t>(argument)].alias_info() &&
                    arguments[static_cast<size_t>(argument)].alias_info()->beforeSets() ==
                        result.alias_info()->beforeSets())
                    same = argument;
        returned.push_back(same);
    }
}

static std::optional<c10::OperatorHandle> find_op(const char *name) {
    const char *dot = strchr(name, '.');
    return c10::Dispatcher::singleton().findSchema(
        {"aten::" + (dot ? std::string(name, dot) : std::string(name)), dot ? dot + 1 : ""});
}

void Boxed::find_dtype_argument() {
    const auto op = find_op(row->name);
    if (!op)
        return;
    const auto &arguments = op->schema().arguments();
    for (size_t i = static_cast<size_t>(n_core); i < arguments.size(); i++)
        if (arguments[i].name() == "dtype") {
            dtype_argument = static_cast<int>(i);
            n_lowered = static_cast<int>(arguments.size());
        }
}

void check_target(const Tensor &target) {
    if (C10_UNLIKELY(!target.is_non_overlapping_and_dense()))
        at::assert_no_internal_overlap(target);
}

void check_target(const Tensor &target, const Tensor &input) {
    const auto *a = target.unsafeGetTensorImpl(), *b = input.unsafeGetTensorImpl();
    if (b != a && b->has_storage() && b->unsafe_storage().unsafeGetStorageImpl() == a->unsafe_storage().unsafeGetStorageImpl())
        at::assert_no_partial_overlap(target, input);
}

static void check_target(const IValue &written, const IValue *args, int n) {
    check_target(written.toTensor());
    for (int i = 0; i < n; i++)
        if (args[i].isTensor())
            check_target(written.toTensor(), args[i].toTensor());
}

static void check_fresh(const Tensor &written, const IValue *args, int n) {
    for (int i = 0; i < n; i++) {
        if (args[i].isTensor() && args[i].toTensor().defined())
            at::assert_no_overlap(written, args[i].toTensor());
        if (args[i].isTensorList())
            for (const Tensor &input : args[i].toTensorVector())
                at::assert_no_overlap(written, input);
    }
}

// Most ops cast to the dtype of out=; these have PyTorch's CPU kernels refuse another than the result's.
static void check_out_dtype(const char *name, const IValue *args, const Tensor &out) {
    const auto type = out.scalar_type();
    if (!strcmp(name, "multinomial.out")) {
        TORCH_CHECK(type == at::kLong, "multinomial expects Long tensor out, got: ", type);
    } else if (!strcmp(name, "complex.out")) {
        const auto want = c10::toComplexType(args[0].toTensor().scalar_type());
        TORCH_CHECK(type == want, "Expected object of scalar type ", want, " but got scalar type ", type, " for argument 'out'");
    } else if (!strcmp(name, "gather.out") || !strcmp(name, "aminmax.out")) {
        const Tensor self = args[0].toTensor();
        TORCH_CHECK(type == self.scalar_type(), "Expected out tensor to have dtype ", self.dtype(), ", but got ", out.dtype(), " instead");
    } else if (!strcmp(name, "amax.out") || !strcmp(name, "amin.out")) {
        const auto self = args[0].toTensor().scalar_type();
        TORCH_CHECK(type == self, "Expected the dtype for input and out to match, but got ", self, " for input's dtype and ", type,
                    " for out's dtype.");
    }
}

// The tensors that the call's results overwrite, in the order of run.h. Out= tensors whose shape may differ
// are not among them.
int Boxed::make_targets(const tt_arg *flat, Frame &frame, tt_tensor **&out) const {
    int n = 0;
    if (row->flags & TT_ROW_STATS && form != IN_PLACE) {
        out = frame.take<tt_tensor *>(static_cast<size_t>(n_returns) + 2);
        for (int i = 0; i < n_returns; i++)
            out[n++] = nullptr;
        for (const int stat : {3, 4})
            out[n++] = flat[stat].tag == TT_ARG_TENSOR ? flat[stat].u.tensor : nullptr;
        return n;
    }
    if (form == IN_PLACE) {
        size_t count = 0;
        for (const int argument : written)
            count += flat[argument].tag == TT_ARG_TENSORS ? static_cast<size_t>(flat[argument].n) : 1;
        out = frame.take<tt_tensor *>(count);
        for (const int argument : written) {
            if (flat[argument].tag == TT_ARG_TENSORS) {
                for (int i = 0; i < flat[argument].n; i++)
                    out[n++] = flat[argument].u.tensors[i];
            } else {
                out[n++] = flat[argument].tag == TT_ARG_TENSOR ? flat[argument].u.tensor : nullptr;
            }
        }
        return n;
    }
    return 0;
}

// A fill may write expanded dims: all appearances of an element get the same, so it is written once.
static void narrow_expanded(tt_tensor *tensor, Frame &frame) {
    auto *dims = frame.take<int64_t>(static_cast<size_t>(tensor->rank));
    for (int i = 0; i < tensor->rank; i++)
        dims[i] = tensor->dims[i] > 1 && tensor->strides[i] == 0 ? 1 : tensor->dims[i];
    tensor->dims = dims;
}

// masked_fill_ on an expanded tensor: an element is filled where the mask is set for any of its appearances.
void Boxed::masked_fill_expanded(const c10::OperatorHandle &op, Stack *stack) const {
    const IValue *args = stack->data() + stack->size() - n_args;
    const Tensor self = args[0].toTensor();
    TORCH_WARN("Use of masked_fill_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
               "operation. This also applies to advanced indexing e.g. tensor[mask] = scalar");
    Tensor mask = args[1].toTensor().expand(self.sizes());
    auto sizes = self.sizes().vec();
    for (size_t i = 0; i < sizes.size(); i++)
        if (sizes[i] > 1 && self.strides()[i] == 0) {
            mask = at::any(mask, static_cast<int64_t>(i), /*keepdim=*/true);
            sizes[i] = 1;
        }
    Stack inner{at::as_strided(self, sizes, self.strides(), self.storage_offset()), mask, args[2]};
    op.callBoxed(inner);
    torch::jit::drop(*stack, static_cast<size_t>(n_args));
    stack->emplace_back(self);
}

Tensor wrap(const tt_result &result) {
    const c10::IntArrayRef sizes(result.dims, static_cast<size_t>(result.rank));
    const c10::IntArrayRef strides(result.strides, static_cast<size_t>(result.rank));
    return make_tensor(result.storage, static_cast<c10::ScalarType>(g_scalar_types[result.dtype]), sizes,
                       strides);
}

void Boxed::push_results(Stack *stack, const tt_result *results, int n) const {
    int at = row->flags & TT_ROW_MUTATES && form == IN_PLACE ? -1 : 0;
    if (at < 0) { // the returns come after the new values of the written arguments
        at = n - n_returns;
        for (const int same : returned)
            at += same >= 0;
    }
    std::vector<IValue> pushed;
    pushed.reserve(static_cast<size_t>(n_returns));
    const IValue *args = stack->data() + stack->size() - n_args;
    for (int i = 0; i < n_returns; i++) {
        if (returned[static_cast<size_t>(i)] >= 0) {
            pushed.push_back(args[returned[static_cast<size_t>(i)]]);
            continue;
        }
        TORCH_INTERNAL_ASSERT(at < n, name, ": the lowering gave ", n, " results, the schema says ",
                              n_returns);
        const auto &result = results[at++];
        if (result.tag == tt_out::TT_OUT_TENSOR) {
            pushed.emplace_back(wrap(result));
        } else if (result.tag == tt_out::TT_OUT_INT) {
            pushed.emplace_back(result.integer);
        } else if (result.tag == tt_out::TT_OUT_TENSORS_BEGIN) {
            c10::List<Tensor> list;
            for (int64_t k = 0; k < result.integer; k++)
                list.push_back(wrap(results[at++]));
            pushed.emplace_back(std::move(list));
        } else {
            pushed.emplace_back(Tensor());
        }
    }
    torch::jit::drop(*stack, static_cast<size_t>(n_args));
    for (auto &value : pushed)
        stack->push_back(std::move(value));
}

// out=: PyTorch's rules for dtype and shape, then the value moves into the tensor the user gave.
void Boxed::assign_outs(const IValue *args, const tt_result *results, int n) const {
    std::vector<Tensor> values;
    for (int i = 0; i < n && i < n_args - n_core; i++)
        values.push_back(results[i].tag == tt_out::TT_OUT_TENSOR ? wrap(results[i]) : Tensor());
    for (size_t i = 0; i < values.size(); i++) {
        if (!values[i].defined())
            continue;
        const auto &out = args[n_core + static_cast<int>(i)].toTensor();
        TORCH_CHECK(c10::canCast(values[i].scalar_type(), out.scalar_type()), "result type ",
                    values[i].scalar_type(), " can't be cast to the desired output type ", out.scalar_type());
        if (out.sizes() != values[i].sizes()) {
            if (out.numel() != 0)
                TORCH_WARN("An output with one or more elements was resized since it had shape ", out.sizes(),
                           ", which does not match the required output shape ", values[i].sizes(),
                           ". This behavior is deprecated, and in a future PyTorch release outputs will not "
                           "be resized "
                           "unless they have zero elements. You can explicitly reuse an out tensor t by "
                           "resizing it, "
                           "inplace, to zero elements with t.resize_(0).");
            resize_to(out.unsafeGetTensorImpl(), values[i].sizes());
            out.unsafeGetTensorImpl()->set_sizes_and_strides(values[i].sizes(), values[i].strides());
        }
        if (values[i].numel() == 0)
            continue;
        tt_tensor to, from;
        fill_tensor(out, &to);
        fill_tensor(values[i], &from);
        check(tt_copy(&to, &from));
    }
}

void Boxed::fail(const c10::OperatorHandle &op, Stack *stack, tt_status status) const {
    switch (static_cast<int>(tt_status_code(status))) {
    case TT_UNIMPLEMENTED: {
        const std::string detail = tt_status_message(status);
        tt_status_free(status);
        run_on_cpu(op, stack, is_host_op(name) ? Reason::HostOp : Reason::NoLowering, detail.c_str());
        return;
    }
    case TT_INVALID_ARGUMENT:
    case TT_OUT_OF_RANGE:
    case TT_TYPE_ERROR:
    case TT_VALUE_ERROR: {
        std::unique_ptr<tt_error, void (*)(tt_error *)> keep(status, &tt_status_free);
        raise_as_pytorch(op, *stack);
        raise(keep.release());
    }
    default:
        raise(status);
    }
}

void follow_default_dtype() {
    static std::atomic<at::ScalarType> known{at::kFloat};
    const auto now = c10::get_default_dtype_as_scalartype();
    if (C10_UNLIKELY(now != known.load(std::memory_order_relaxed))) {
        lower_set_default_float(dtype_of(now));
        known = now;
    }
}

void Boxed::operator()(const c10::OperatorHandle &op, DispatchKeySet, Stack *stack) {
    try {
        call_row(op, stack);
    } catch (const UnknownDtype &error) {
        run_on_cpu(op, stack, Reason::NoLowering, error.what_without_backtrace());
    }
}

// Masks and indices become what the lowering takes. True: other ops did what was asked for.
bool Boxed::serve_by_others(const c10::OperatorHandle &op, Stack *stack) const {
    IValue *args = stack->data() + stack->size() - n_args;
    if (index_list >= 0) {
        if (form == IN_PLACE && (!strcmp(name, "index_put_") || !strcmp(name, "_index_put_impl_")) &&
            fill_by_mask(args)) {
            torch::jit::drop(*stack, static_cast<size_t>(n_args) - 1);
            return true;
        }
        const auto &indexed = args[0].toTensor();
        if (indexed.device().type() == kTPU)
            prepare_indices(args[index_list], indexed.device(), indexed.sizes());
    }
    if (fills_masked && at::has_internal_overlap(args[0].toTensor()) == at::MemOverlap::Yes) {
        masked_fill_expanded(op, stack);
        return true;
    }
    return false;
}

// out=: results overwrite directly when the shapes already agree; a first try tells, since only the lowering knows the shape. True: one
// of the tensors is empty, so that results are to be assigned.
bool Boxed::aim_at_outs(const IValue *args, Frame &frame, tt_call &call, tt_tensor **&targets) const {
    bool assign = false;
    const int n_outs = n_args - n_core, n_stats = call.n_targets ? 2 : 0;
    tt_tensor *const *stats = n_stats ? targets + n_returns : nullptr;
    auto *outs = frame.take_tensors(static_cast<size_t>(n_outs));
    targets = frame.take<tt_tensor *>(static_cast<size_t>(n_outs + n_stats));
    for (int i = 0; i < n_outs; i++) {
        const auto *impl = args[n_core + i].unsafeToTensorImpl();
        frame.put(impl, &outs[i]);
        targets[i] = &outs[i];
        assign |= impl->numel() == 0;
        check_target(args[n_core + i], args, n_core);
        check_out_dtype(name, args, args[n_core + i].toTensor());
        if (fresh_out)
            check_fresh(args[n_core + i].toTensor(), args, n_core);
    }
    std::copy_n(stats, n_stats, targets + n_outs);
    if (assign)
        std::fill_n(targets, n_outs, nullptr);
    call.n_targets = n_outs + n_stats;
    call.device = frame.device;
    return assign;
}

void Boxed::call_row(const c10::OperatorHandle &op, Stack *stack) {
    ensure_started();
    follow_default_dtype();
    if (C10_UNLIKELY(index_list >= 0 || fills_masked) && serve_by_others(op, stack))
        return;
    IValue *args = stack->data() + stack->size() - n_args;
    Frame frame;
    constexpr int kArgs = 32;
    tt_arg few[kArgs];
    tt_arg *flat = n_lowered <= kArgs
                       ? few
                       : static_cast<tt_arg *>(frame.raw(sizeof(tt_arg) * static_cast<size_t>(n_lowered)));
    for (int i = 0; i < n_core; i++)
        flatten(args[i], flat[i], frame);
    if (C10_UNLIKELY(fills) && !args[0].unsafeToTensorImpl()->is_non_overlapping_and_dense())
        narrow_expanded(flat[0].u.tensor, frame);
    for (int i = n_core; i < n_lowered; i++) {
        flat[i].tag = i == dtype_argument ? TT_ARG_INT : TT_ARG_NONE;
        flat[i].n = 0;
        flat[i].u.i = static_cast<int64_t>(args[n_core].toTensor().scalar_type());
    }

    tt_call call;
    call.row = row;
    call.args = flat;
    call.n_args = n_lowered;
    call.op_name = name;
    call.device = frame.device;
    tt_tensor **targets = nullptr;
    call.n_targets = make_targets(flat, frame, targets);
    if (form == IN_PLACE && !fills)
        for (const int argument : written)
            if (flat[argument].tag == TT_ARG_TENSOR)
                check_target(args[argument], args, n_core);
    bool assign = form == OUT && aim_at_outs(args, frame, call, targets);
    call.targets = targets;
    if (C10_UNLIKELY(call.device < 0)) {
        call.device = current_device();
        for (int i = 0; i < n_core; i++)
            if (args[i].isDevice())
                call.device = resolve(args[i].toDevice()).index();
    }

    int n = 0;
    const tt_result *results = nullptr;
    tt_status status = tt_op_call(&call, &n, &results);
    if (C10_UNLIKELY(status != nullptr) && form == OUT && !assign &&
        tt_status_code(status) == TT_INVALID_ARGUMENT) {
        std::fill_n(targets, n_args - n_core, nullptr);
        tt_status again = tt_op_call(&call, &n, &results);
        if (!again) {
            tt_status_free(status);
            status = nullptr;
            assign = true;
        }
        tt_status_free(again);
    }
    if (C10_UNLIKELY(status != nullptr)) {
        fail(op, stack, status);
        return;
    }
    if (assign)
        assign_outs(args, results, n);
    if (C10_LIKELY(form == FUNCTIONAL && n_returns == 1 && results[0].tag == tt_out::TT_OUT_TENSOR)) {
        Tensor result = wrap(results[0]);
        torch::jit::drop(*stack, static_cast<size_t>(n_args));
        stack->emplace_back(std::move(result));
    } else if (form == IN_PLACE && n_returns == 1 && returned[0] == 0) {
        torch::jit::drop(*stack, static_cast<size_t>(n_args) - 1);
    } else {
        push_results(stack, results, n);
    }
}

// ---------------------------------------------------------------- registration
static std::vector<std::string> g_registered, g_unknown, g_twice;
const std::vector<std::string> &rows_registered() {
    return g_registered;
}
const std::vector<std::string> &rows_unknown() {
    return g_unknown;
}
const std::vector<std::string> &rows_twice() {
    return g_twice;
}

// A kernel for an op that PyTorch composes from others would take its autograd formula away, so such rows
// serve only where the op's own formula exists, complete with its backward.
static bool composite_allowed(const char *name, const c10::OperatorHandle &op) {
    int kind;
    if (!strcmp(name, "_fused_rms_norm"))
        return tt_row_find("_fused_rms_norm_backward", &kind);
    return op.hasKernelForDispatchKey(DispatchKey::Autograd);
}

static void register_row(torch::Library &library, const tt_row *row, Form form, const char *name) {
    if (!*name)
        return;
    const auto op = find_op(name);
    if (!op) { // another PyTorch version, or a typing error: tests look at the list
        g_unknown.emplace_back(name);
        return;
    }
    if (std::find(g_registered.begin(), g_registered.end(), name) != g_registered.end()) {
        g_twice.emplace_back(name);
        return;
    }
    if (op->hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) && !composite_allowed(name, *op))
        return;
    if (form == OUT)
        for (const auto &argument : op->schema().arguments())
            if (argument.alias_info() && argument.alias_info()->isWrite() &&
                argument.type()->str() != "Tensor")
                return; // out=Tensor[]: PyTorch makes these from the functional form
    auto boxed = std::make_unique<Boxed>(row, form, name, op->schema());
    auto typed = form == OUT ? std::nullopt : make_typed(name, *op, boxed);
    library.impl(name, typed ? std::move(*typed) : torch::CppFunction::makeFromBoxedFunctor(std::move(boxed)));
    g_registered.emplace_back(name);
}

void register_rows(torch::Library &library) {
    for (int i = 0; i < tt_n_rows; i++) {
        register_row(library, &tt_rows[i], FUNCTIONAL, tt_rows[i].name);
        register_row(library, &tt_rows[i], IN_PLACE, tt_rows[i].inplace);
        register_row(library, &tt_rows[i], OUT, tt_rows[i].out);
    }
}

} // namespace tpu

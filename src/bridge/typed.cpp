// typed.cpp - the same kernel for the ops called most, with arguments as the op's C++ signature has them. A boxed argument is a reference
// more, and one more to a tensor that Python holds takes the interpreter's lock. What fails here is called again boxed, which knows how to
// fail. Must not know what an op means.
#include "bridge/boxed.h"
#include <ATen/ops/_embedding_bag_forward_only_ops.h>
#include <ATen/ops/_embedding_bag_ops.h>
#include <ATen/ops/_foreach_add_ops.h>
#include <ATen/ops/_foreach_addcdiv_ops.h>
#include <ATen/ops/_foreach_addcmul_ops.h>
#include <ATen/ops/_foreach_div_ops.h>
#include <ATen/ops/_foreach_lerp_ops.h>
#include <ATen/ops/_foreach_mul_ops.h>
#include <ATen/ops/_fused_adam_ops.h>
#include <ATen/ops/_fused_adamw_ops.h>
#include <ATen/ops/_fused_sgd_ops.h>
#include <ATen/ops/_log_softmax_backward_data_ops.h>
#include <ATen/ops/_log_softmax_ops.h>
#include <ATen/ops/_softmax_backward_data_ops.h>
#include <ATen/ops/_softmax_ops.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/embedding_dense_backward_ops.h>
#include <ATen/ops/embedding_ops.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/gather_ops.h>
#include <ATen/ops/gelu_backward_ops.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/index_select_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/native_layer_norm_backward_ops.h>
#include <ATen/ops/native_layer_norm_ops.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/nll_loss_backward_ops.h>
#include <ATen/ops/nll_loss_forward_ops.h>
#include <ATen/ops/pow_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ops/sum_ops.h>
#include <ATen/ops/tanh_ops.h>
#include <ATen/ops/threshold_backward_ops.h>
#include <ATen/ops/where_ops.h>

namespace tpu {

// ---------------------------------------------------------------- one argument
static void pack_ints(size_t n, int64_t *ints, tt_arg &out) {
    out.tag = TT_ARG_INTS;
    out.n = static_cast<int>(n);
    out.u.ints = ints;
}
static void pack(const Tensor &tensor, tt_arg &out, Frame &frame) {
    out.n = 0;
    out.tag = TT_ARG_NONE;
    if (!tensor.defined())
        return;
    auto *taken = frame.take_tensors(1);
    frame.put(tensor.unsafeGetTensorImpl(), taken);
    out.tag = TT_ARG_TENSOR;
    out.u.tensor = taken;
}
template <class List> static void pack_tensors(const List &list, tt_arg &out, Frame &frame) {
    auto *tensors = frame.take_tensors(list.size());
    auto **pointers = frame.take<tt_tensor *>(list.size());
    int n = 0;
    for (const Tensor &tensor : list) {
        pointers[n] = tensor.defined() ? &tensors[n] : nullptr;
        if (tensor.defined())
            frame.put(tensor.unsafeGetTensorImpl(), &tensors[n]);
        n++;
    }
    out.tag = TT_ARG_TENSORS;
    out.n = n;
    out.u.tensors = pointers;
}
static void pack(at::TensorList list, tt_arg &out, Frame &frame) { pack_tensors(list, out, frame); }
static void pack(const at::ITensorListRef &list, tt_arg &out, Frame &frame) { pack_tensors(list, out, frame); }
static void pack(const at::Scalar &scalar, tt_arg &out, Frame &frame) { flatten(scalar, out, frame); }
static void pack(bool value, tt_arg &out, Frame &) { out.n = 0, out.tag = TT_ARG_BOOL, out.u.i = value; }
static void pack(int64_t value, tt_arg &out, Frame &) { out.n = 0, out.tag = TT_ARG_INT, out.u.i = value; }
static void pack(double value, tt_arg &out, Frame &) { out.n = 0, out.tag = TT_ARG_DOUBLE, out.u.d = value; }
static void pack(c10::ScalarType value, tt_arg &out, Frame &frame) { pack(static_cast<int64_t>(value), out, frame); }
static void pack(const c10::SymInt &value, tt_arg &out, Frame &frame) { pack(value.guard_int(__FILE__, __LINE__), out, frame); }
static void pack(c10::IntArrayRef list, tt_arg &out, Frame &) { pack_ints(list.size(), const_cast<int64_t *>(list.data()), out); }
static void pack(c10::SymIntArrayRef list, tt_arg &out, Frame &frame) {
    auto *ints = frame.take<int64_t>(list.size());
    for (size_t i = 0; i < list.size(); i++)
        ints[i] = list[i].guard_int(__FILE__, __LINE__);
    pack_ints(list.size(), ints, out);
}
static void pack(c10::ArrayRef<at::Scalar> list, tt_arg &out, Frame &frame) {
    auto *scalars = frame.take<tt_arg>(list.size());
    for (size_t i = 0; i < list.size(); i++)
        flatten(list[i], scalars[i], frame);
    out.tag = TT_ARG_SCALARS;
    out.n = static_cast<int>(list.size());
    out.u.scalars = scalars;
}
static void pack(c10::string_view text, tt_arg &out, Frame &frame) {
    auto *copy = frame.take<char>(text.size() + 1);
    std::copy_n(text.data(), text.size(), copy);
    copy[text.size()] = 0;
    out.tag = TT_ARG_STRING;
    out.n = static_cast<int>(text.size());
    out.u.s = copy;
}
template <size_t N> static void pack(const std::array<bool, N> &list, tt_arg &out, Frame &frame) {
    auto *bools = frame.take<bool>(N);
    std::copy_n(list.data(), N, bools);
    out.tag = TT_ARG_BOOLS;
    out.n = N;
    out.u.bools = bools;
}
template <class T> static void pack(const std::optional<T> &value, tt_arg &out, Frame &frame) {
    out.n = 0;
    out.tag = TT_ARG_NONE;
    if (value)
        pack(*value, out, frame);
}
static void pack(at::OptionalIntArrayRef list, tt_arg &out, Frame &frame) {
    out.n = 0;
    out.tag = TT_ARG_NONE;
    if (list)
        pack(*list, out, frame);
}

// ---------------------------------------------------------------- the results of a call, and of a boxed one
template <class R> struct Returned {
    static R of(const tt_result *results, int) { return results[0].tag == tt_out::TT_OUT_TENSOR ? wrap(results[0]) : Tensor(); }
    static R of(Stack &stack) { return std::move(stack[0]).toTensor(); }
};
template <class... R> struct Returned<std::tuple<R...>> {
    template <size_t... I> static std::tuple<R...> all(const tt_result *results, int n, std::index_sequence<I...>) {
        TORCH_INTERNAL_ASSERT(n >= static_cast<int>(sizeof...(R)));
        return {Returned<R>::of(results + I, 1)...};
    }
    template <size_t... I> static std::tuple<R...> all(Stack &stack, std::index_sequence<I...>) { return {std::move(stack[I]).toTensor()...}; }
    static std::tuple<R...> of(const tt_result *results, int n) { return all(results, n, std::index_sequence_for<R...>()); }
    static std::tuple<R...> of(Stack &stack) { return all(stack, std::index_sequence_for<R...>()); }
};

// ---------------------------------------------------------------- the kernel
static void check_input(const Tensor &target, const Tensor &input) {
    if (input.defined())
        check_target(target, input);
}
template <class T> static void check_input(const Tensor &, const T &) {}
template <class... Rest> static void check_written(const Tensor &self, const Rest &...rest) {
    check_target(self);
    (check_input(self, rest), ...);
}

template <class Op, class Schema> struct Typed;
template <class Op, class R, class... A> struct Typed<Op, R(A...)> {
    static inline Boxed *boxed;
    static inline std::optional<c10::OperatorHandle> op;

    // False: it failed, and nothing was done.
    static bool run(int &n, const tt_result *&results, const A &...args) {
        ensure_started();
        follow_default_dtype();
        Frame frame;
        tt_arg flat[sizeof...(A)];
        int at = 0;
        (pack(args, flat[at++], frame), ...);
        tt_tensor **targets = nullptr;
        tt_call call;
        call.row = boxed->row;
        call.args = flat;
        call.n_args = at;
        call.op_name = boxed->name;
        call.device = frame.device;
        call.n_targets = boxed->make_targets(flat, frame, targets);
        call.targets = targets;
        if constexpr (std::is_reference_v<R>)
            check_written(args...);
        tt_status status = call.device < 0 ? TT_ERROR(INVALID_ARGUMENT, "no tensor") : tt_op_call(&call, &n, &results);
        tt_status_free(status);
        return !status;
    }

    static R call(A... args) {
        int n = 0;
        const tt_result *results = nullptr;
        bool done = false;
        try {
            done = run(n, results, args...);
        } catch (const UnknownDtype &) {
        }
        Stack stack;
        if (C10_UNLIKELY(!done)) {
            stack = c10::impl::boxArgs<A...>(args...);
            (*boxed)(*op, DispatchKeySet(), &stack);
        }
        if constexpr (std::is_reference_v<R>)
            return std::get<0>(std::tie(args...));
        else if constexpr (!std::is_void_v<R>)
            return done ? Returned<R>::of(results, n) : Returned<R>::of(stack);
    }
};

static bool is(const char *name, const char *op, const char *overload) {
    op += strlen("aten::");
    const size_t n = strlen(op);
    return !strncmp(name, op, n) && (*overload ? name[n] == '.' && !strcmp(name + n + 1, overload) : !name[n]);
}

template <class... Ops> static std::optional<torch::CppFunction> find(const char *name, const c10::OperatorHandle &op, std::unique_ptr<Boxed> &boxed) {
    std::optional<torch::CppFunction> found;
    auto take = [&](auto *which) {
        using Op = std::remove_pointer_t<decltype(which)>;
        using Kernel = Typed<Op, typename Op::schema>;
        if (found || !is(name, Op::name, Op::overload_name))
            return;
        Kernel::boxed = boxed.release();
        Kernel::op = op;
        found.emplace(TORCH_FN(Kernel::call));
    };
    (take(static_cast<Ops *>(nullptr)), ...);
    return found;
}

std::optional<torch::CppFunction> make_typed(const char *name, const c10::OperatorHandle &op, std::unique_ptr<Boxed> &taken) {
    namespace ops = at::_ops;
    return find<ops::add_Tensor, ops::sub_Tensor, ops::mul_Tensor, ops::div_Tensor, ops::add__Tensor,
                ops::sub__Tensor, ops::mul__Tensor, ops::div__Tensor, ops::neg, ops::exp, ops::rsqrt,
                ops::tanh, ops::relu, ops::sigmoid, ops::silu, ops::gelu, ops::pow_Tensor_Scalar,
                ops::gelu_backward, ops::threshold_backward, ops::where_self, ops::sum, ops::sum_dim_IntList,
                ops::mean, ops::mean_dim, ops::mm, ops::bmm, ops::addmm, ops::_softmax, ops::_log_softmax,
                ops::_softmax_backward_data, ops::_log_softmax_backward_data, ops::native_layer_norm,
                ops::native_layer_norm_backward, ops::nll_loss_forward, ops::nll_loss_backward, ops::embedding,
                ops::embedding_dense_backward, ops::_embedding_bag, ops::_embedding_bag_forward_only, ops::index_select, ops::gather, ops::cat,
                ops::_foreach_add__List, ops::_foreach_mul__Scalar, ops::_foreach_lerp__Scalar,
                ops::_foreach_addcmul__Scalar, ops::_foreach_addcdiv__ScalarList,
                ops::_foreach_div__ScalarList, ops::_fused_adam_, ops::_fused_adamw_, ops::_fused_sgd_>(name, op, taken);
}

} // namespace tpu

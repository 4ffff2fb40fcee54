// autocast.cpp - which ops torch.autocast("tpu") runs in the lower precision, in float32, or in the widest
// input type: the lists of PyTorch's CUDA autocast. Boxed, so that no op header is needed. Must not know how
// ops compute.
#include "bridge/tensor.h"

// Declared by hand: ATen/autocast_mode.h includes the headers of all ops.
namespace at::autocast {
TORCH_API Tensor cached_cast(at::ScalarType, const Tensor &, c10::DeviceType);
TORCH_API at::ScalarType get_autocast_dtype(c10::DeviceType);
} // namespace at::autocast

namespace tpu {
enum class CastPolicy { Lower, Float32, OptionalDtype, AppendDtype, Promote };

static bool eligible(const Tensor &tensor) {
    return tensor.defined() && tensor.device().type() == kTPU && tensor.is_floating_point() &&
           tensor.scalar_type() != at::kDouble;
}

static void cast_all(Stack *stack, size_t n, at::ScalarType to) {
    for (size_t i = stack->size() - n; i < stack->size(); i++) {
        IValue &value = (*stack)[i];
        if (value.isTensor()) {
            if (value.toTensor().defined())
                value = at::autocast::cached_cast(to, value.toTensor(), kTPU);
        } else if (value.isTensorList()) {
            c10::List<Tensor> list;
            for (const auto &tensor : value.toTensorVector())
                list.push_back(at::autocast::cached_cast(to, tensor, kTPU));
            value = std::move(list);
        }
    }
}

static at::ScalarType widest(const Stack &stack, size_t n) {
    auto type = at::autocast::get_autocast_dtype(kTPU);
    const auto look = [&type](const Tensor &tensor) {
        if (eligible(tensor) && tensor.scalar_type() != type)
            type = at::kFloat;
    };
    for (size_t i = stack.size() - n; i < stack.size(); i++) {
        if (stack[i].isTensor())
            look(stack[i].toTensor());
        else if (stack[i].isTensorList())
            for (const auto &tensor : stack[i].toTensorVector())
                look(tensor);
    }
    return type;
}

struct Cast final : c10::OperatorKernel {
    const CastPolicy policy;
    int dtype_argument = -1;
    explicit Cast(CastPolicy policy_, const c10::FunctionSchema &schema) : policy(policy_) {
        for (size_t i = 0; i < schema.arguments().size(); i++)
            if (schema.arguments()[i].name() == "dtype")
                dtype_argument = static_cast<int>(i);
    }
    void operator()(const c10::OperatorHandle &op, DispatchKeySet, Stack *stack) {
        const c10::impl::ExcludeDispatchKeyGuard guard{DispatchKeySet(DispatchKey::AutocastPrivateUse1)};
        const size_t n = op.schema().arguments().size(), base = stack->size() - n;
        const auto &first = (*stack)[base];
        switch (policy) {
        case CastPolicy::Lower:
            cast_all(stack, n, at::autocast::get_autocast_dtype(kTPU));
            break;
        case CastPolicy::Float32:
            cast_all(stack, n, at::kFloat);
            break;
        case CastPolicy::Promote:
            cast_all(stack, n, widest(*stack, n));
            break;
        case CastPolicy::OptionalDtype: // float32 results from lower precision inputs, unless the user chose
            if (dtype_argument >= 0 && first.isTensor() && eligible(first.toTensor()) &&
                (*stack)[base + static_cast<size_t>(dtype_argument)].isNone())
                (*stack)[base + static_cast<size_t>(dtype_argument)] =
                    IValue(static_cast<int64_t>(at::kFloat));
            break;
        case CastPolicy::AppendDtype:
            if (first.isTensor() && eligible(first.toTensor()))
                cast_all(stack, n, at::kFloat);
            break;
        }
        op.callBoxed(*stack);
    }
};

static const char *const kLower[] = {
    "_convolution.deprecated",
    "_convolution",
    "conv1d",
    "conv1d.padding",
    "conv2d",
    "conv2d.padding",
    "conv3d",
    "conv3d.padding",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d.input",
    "conv_transpose3d.input",
    "convolution",
    "prelu",
    "addmm",
    "addmv",
    "addr",
    "matmul",
    "einsum",
    "mm",
    "mv",
    "linalg_vecdot",
    "linear",
    "addbmm",
    "baddbmm",
    "bmm",
    "chain_matmul",
    "linalg_multi_dot",
    "_thnn_fused_lstm_cell",
    "_thnn_fused_gru_cell",
    "lstm_cell",
    "gru_cell",
    "rnn_tanh_cell",
    "rnn_relu_cell",
    "_scaled_dot_product_flash_attention",
    "scaled_dot_product_attention",
    "_native_multi_head_attention",
    "_addmm_activation",
};
static const char *const kFloat32[] = {
    "acos",
    "asin",
    "cosh",
    "erfinv",
    "exp",
    "expm1",
    "log",
    "log10",
    "log2",
    "log1p",
    "reciprocal",
    "rsqrt",
    "sinh",
    "tan",
    "pow.Tensor_Scalar",
    "pow.Tensor_Tensor",
    "pow.Scalar",
    "softplus",
    "layer_norm",
    "native_layer_norm",
    "rms_norm",
    "group_norm",
    "frobenius_norm.dim",
    "nuclear_norm",
    "nuclear_norm.dim",
    "cosine_similarity",
    "poisson_nll_loss",
    "cosine_embedding_loss",
    "nll_loss",
    "nll_loss2d",
    "hinge_embedding_loss",
    "kl_div",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "mse_loss",
    "margin_ranking_loss",
    "multilabel_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "multi_margin_loss",
    "binary_cross_entropy_with_logits",
    "dist",
    "pdist",
    "cdist",
    "renorm",
    "logsumexp",
    "upsample_nearest1d",
    "_upsample_nearest_exact1d",
    "upsample_nearest2d",
    "_upsample_nearest_exact2d",
    "upsample_nearest3d",
    "_upsample_nearest_exact3d",
    "upsample_linear1d",
    "upsample_bilinear2d",
    "_upsample_bilinear2d_aa",
    "upsample_trilinear3d",
    "upsample_bicubic2d",
    "_upsample_bicubic2d_aa",
    "binary_cross_entropy",
    "ctc_loss.IntList",
    "ctc_loss.Tensor",
    "cross_entropy_loss",
};
static const char *const kOptionalDtype[] = {
    "prod",
    "prod.dim_int",
    "softmax.int",
    "log_softmax.int",
    "cumprod",
    "cumsum",
    "linalg_vector_norm",
    "linalg_matrix_norm",
    "linalg_matrix_norm.str_ord",
    "sum",
    "sum.dim_IntList",
};
static const char *const kAppendDtype[] = {"norm.Scalar", "norm.ScalarOpt_dim"};
static const char *const kPromote[] = {
    "addcdiv",      "addcmul",   "atan2",     "bilinear",    "cross", "dot",   "vdot",
    "grid_sampler", "index_put", "tensordot", "scatter_add", "cat",   "stack",
};

template <size_t N>
static void add(torch::Library &library, const char *const (&names)[N], CastPolicy policy) {
    for (const char *name : names) {
        const char *dot = strchr(name, '.');
        const std::string base = "aten::" + (dot ? std::string(name, dot) : std::string(name));
        const auto op = c10::Dispatcher::singleton().findSchema({base, dot ? dot + 1 : ""});
        if (op)
            library.impl(
                name, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Cast>(policy, op->schema())));
    }
}

void register_autocast() {
    static auto *any =
        new torch::Library(torch::Library::IMPL, "_", DispatchKey::AutocastPrivateUse1, __FILE__, __LINE__);
    any->fallback(torch::CppFunction::makeFallthrough());
    static auto *aten = new torch::Library(torch::Library::IMPL, "aten", DispatchKey::AutocastPrivateUse1,
                                           __FILE__, __LINE__);
    add(*aten, kLower, CastPolicy::Lower);
    add(*aten, kFloat32, CastPolicy::Float32);
    add(*aten, kOptionalDtype, CastPolicy::OptionalDtype);
    add(*aten, kAppendDtype, CastPolicy::AppendDtype);
    add(*aten, kPromote, CastPolicy::Promote);
}

} // namespace tpu

// nn.cpp - which kernel scaled_dot_product_attention takes, and how the layers of an LSTM are composed of ordinary
// ops and the fused cell. Must not know how the fused attention computes.
#include "bridge/tensor.h"
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_thnn_fused_lstm_cell.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/lstm_native.h>
#include <ATen/ops/stack.h>

namespace tpu {

// ---------------------------------------------------------------- attention
constexpr int64_t kMath = 0, kOverrideable = 4; // at::SDPBackend

static bool has_fused_attention() {
    int kind;
    static const bool has = tt_row_find("_scaled_dot_product_fused_attention_overrideable", &kind) &&
                            tt_row_find("_scaled_dot_product_fused_attention_overrideable_backward", &kind);
    return has;
}

// The fused kernel takes 4-dim floating tensors of one dtype without dropout; everything else is composed
// (math). Sizes are symbols where a graph is traced for any.
static int64_t choose_attention(const Tensor &query, const Tensor &key, const Tensor &value,
                                const std::optional<Tensor> &mask, double dropout_p, bool,
                                std::optional<double>, bool enable_gqa) {
    const auto &context = at::globalContext();
    const bool fits = has_fused_attention() && context.userEnabledOverrideableSDP() && dropout_p == 0.0 &&
                      query.dim() == 4 && key.dim() == 4 && value.dim() == 4 && query.is_floating_point() &&
                      query.scalar_type() == key.scalar_type() &&
                      query.scalar_type() == value.scalar_type() && query.sym_numel() != 0 && key.sym_numel() != 0 &&
                      query.sym_size(3) == key.sym_size(3) && !(mask && mask->defined() && mask->requires_grad()) &&
                      (!enable_gqa || query.sym_size(1) == key.sym_size(1));
    if (fits)
        return kOverrideable;
    TORCH_CHECK(context.userEnabledMathSDP(), "No available kernel. Aborting execution.");
    return kMath;
}

// ---------------------------------------------------------------- LSTM
// One direction of a layer over [steps, batch, features]; w holds the weights, input then hidden, and the biases, which may lack. Leaves the
// last states in h and c. What the inputs add to the gates is one product for all steps, as on the CPU.
static Tensor lstm_direction(const Tensor &inputs, Tensor &h, Tensor &c, at::TensorList w, bool backwards) {
    const auto gates = at::linear(inputs, w[0], w.size() == 4 ? std::optional<Tensor>(w[2] + w[3]) : std::nullopt).unbind(0);
    const Tensor hidden = w[1].t();
    std::vector<Tensor> outputs(gates.size());
    for (size_t i = 0; i < gates.size(); i++) {
        const size_t step = backwards ? gates.size() - 1 - i : i;
        Tensor workspace;
        std::tie(h, c, workspace) = at::_thnn_fused_lstm_cell(gates[step], h.mm(hidden), c);
        outputs[step] = h;
    }
    return at::stack(outputs, 0);
}

// PyTorch's own has a product a step for the inputs of every device but the CPU. It does what is rare: projections, calls that are wrong.
static std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor &input, at::TensorList hx, at::TensorList params, bool has_biases, int64_t n_layers,
                                               double dropout, bool train, bool bidirectional, bool batch_first) {
    const int64_t directions = bidirectional ? 2 : 1, each = has_biases ? 4 : 2, all = n_layers * directions;
    if (hx.size() != 2 || (int64_t)params.size() != all * each || input.dim() != 3 || hx[0].dim() != 3 || hx[1].dim() != 3 ||
        hx[0].sym_sizes() != hx[1].sym_sizes() || hx[0].size(0) != all || input.sym_size(batch_first ? 1 : 0) == 0)
        return at::native::lstm(input, hx, params, has_biases, n_layers, dropout, train, bidirectional, batch_first);
    Tensor x = batch_first ? input.transpose(0, 1) : input;
    auto h = hx[0].unbind(0), c = hx[1].unbind(0);
    for (int64_t layer = 0; layer < n_layers; layer++) {
        std::vector<Tensor> outputs;
        for (int64_t i = layer * directions; i < (layer + 1) * directions; i++)
            outputs.push_back(lstm_direction(x, h[i], c[i], params.slice(i * each, each), i % directions));
        x = bidirectional ? at::cat(outputs, -1) : outputs[0];
        if (dropout != 0 && train && layer + 1 < n_layers)
            x = at::dropout(x, dropout, true);
    }
    return {batch_first ? x.transpose(0, 1) : x, at::stack(h, 0), at::stack(c, 0)};
}

void register_nn(torch::Library &library) {
    library.impl("lstm.input", TORCH_FN(lstm));
    static auto *gradients = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradPrivateUse1, __FILE__, __LINE__);
    gradients->impl("lstm.input", TORCH_FN(lstm));
}

} // namespace tpu

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &tpu::choose_attention)
}

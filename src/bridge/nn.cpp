// nn.cpp - which kernel scaled_dot_product_attention takes, and the RNN cells that PyTorch picks for this
// device, composed from ordinary ops (one layer of gates a step) until a row of the table serves them. Must
// not know how the fused attention computes.
#include "bridge/tensor.h"
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>

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
static Tensor join(at::TensorList gates) {
    return at::cat(gates, 1);
}

static Tensor plus(const Tensor &gates, const std::optional<Tensor> &bias) {
    return bias && bias->defined() ? gates + *bias : gates;
}

// Workspace: the four gates after their activation, as they lie in the weights: input, forget, cell, output.
static std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor &input_gates, const Tensor &hidden_gates,
                                                    const Tensor &cx, const std::optional<Tensor> &input_bias,
                                                    const std::optional<Tensor> &hidden_bias) {
    const auto gates = (plus(input_gates, input_bias) + plus(hidden_gates, hidden_bias)).chunk(4, 1);
    const Tensor in = gates[0].sigmoid(), forget = gates[1].sigmoid(), cell = gates[2].tanh(),
                 out = gates[3].sigmoid();
    Tensor cy = forget * cx + in * cell;
    Tensor hy = out * cy.tanh();
    return {hy, cy, join({in, forget, cell, out})};
}

static std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const std::optional<Tensor> &grad_hy,
                                                             const std::optional<Tensor> &grad_cy,
                                                             const Tensor &cx, const Tensor &cy,
                                                             const Tensor &workspace, bool has_bias) {
    if (!(grad_hy && grad_hy->defined()) && !(grad_cy && grad_cy->defined()))
        return {};
    const auto gates = workspace.chunk(4, 1);
    const Tensor &in = gates[0], &forget = gates[1], &cell = gates[2], &out = gates[3];
    const Tensor tanh = cy.tanh();
    const Tensor dh = grad_hy && grad_hy->defined() ? *grad_hy : at::zeros_like(cy);
    Tensor dc = dh * out * (1 - tanh * tanh);
    if (grad_cy && grad_cy->defined())
        dc = dc + *grad_cy;
    Tensor grad_gates = join({dc * cell * in * (1 - in), dc * cx * forget * (1 - forget),
                              dc * in * (1 - cell * cell), dh * tanh * out * (1 - out)});
    Tensor grad_bias = has_bias ? grad_gates.sum(at::IntArrayRef{0}) : Tensor();
    return {grad_gates, dc * forget, grad_bias};
}

// ---------------------------------------------------------------- GRU
// Workspace: reset, update and new gate, hx, and the hidden part of the new gate.
static std::tuple<Tensor, Tensor> gru_cell(const Tensor &input_gates, const Tensor &hidden_gates,
                                           const Tensor &hx, const std::optional<Tensor> &input_bias,
                                           const std::optional<Tensor> &hidden_bias) {
    const auto in = plus(input_gates, input_bias).chunk(3, 1),
               hidden = plus(hidden_gates, hidden_bias).chunk(3, 1);
    const Tensor reset = (in[0] + hidden[0]).sigmoid(), update = (in[1] + hidden[1]).sigmoid();
    const Tensor fresh = (in[2] + reset * hidden[2]).tanh();
    return {fresh + update * (hx - fresh), join({reset, update, fresh, hx, hidden[2]})};
}

static std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>
gru_cell_backward(const Tensor &grad_hy, const Tensor &workspace, bool has_bias) {
    const auto saved = workspace.chunk(5, 1);
    const Tensor &reset = saved[0], &update = saved[1], &fresh = saved[2], &hx = saved[3], &hidden = saved[4];
    const Tensor d_fresh = grad_hy * (1 - update) * (1 - fresh * fresh);
    const Tensor d_update = grad_hy * (hx - fresh) * update * (1 - update);
    const Tensor d_reset = d_fresh * hidden * reset * (1 - reset);
    Tensor input_gates = join({d_reset, d_update, d_fresh}),
           hidden_gates = join({d_reset, d_update, d_fresh * reset});
    Tensor input_bias = has_bias ? input_gates.sum(at::IntArrayRef{0}) : Tensor();
    Tensor hidden_bias = has_bias ? hidden_gates.sum(at::IntArrayRef{0}) : Tensor();
    return {input_gates, hidden_gates, grad_hy * update, input_bias, hidden_bias};
}

void register_nn(torch::Library &library) {
    int kind;
    if (!tt_row_find("_thnn_fused_lstm_cell", &kind)) {
        library.impl("_thnn_fused_lstm_cell", TORCH_FN(lstm_cell));
        library.impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstm_cell_backward));
    }
    if (!tt_row_find("_thnn_fused_gru_cell", &kind)) {
        library.impl("_thnn_fused_gru_cell", TORCH_FN(gru_cell));
        library.impl("_thnn_fused_gru_cell_backward", TORCH_FN(gru_cell_backward));
    }
}

} // namespace tpu

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &tpu::choose_attention)
}

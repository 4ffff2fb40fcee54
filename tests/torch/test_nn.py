"""Modules that PyTorch treats specially on a renamed device: RNNs, attention, batch norm, autocast, gradient scaling, printing."""

import pytest
import torch
import torch.nn.functional as F


def train(module, t, *more):
    out = module(t, *more)
    out = out[0] if isinstance(out, tuple) else out
    out.square().sum().backward()
    return out.detach(), [p.grad for p in module.parameters()]


def compare(module, t, *more, tol=1e-5):
    torch.manual_seed(1)
    import copy

    other = copy.deepcopy(module).to("tpu")
    a, grads_a = train(module, t, *more)
    b, grads_b = train(other, t.to("tpu"), *(m.to("tpu") for m in more))
    torch.testing.assert_close(b.cpu(), a, rtol=tol, atol=tol)
    for g, h in zip(grads_a, grads_b, strict=True):
        torch.testing.assert_close(h.cpu(), g, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False, "batch_first": True}], ids=["plain", "deep", "nobias"])
def test_rnn(kind, options):
    compare(getattr(torch.nn, kind)(4, 3, **options), torch.randn(5, 2, 4))


def test_lstm_on_packed_sequences():
    module = torch.nn.LSTM(4, 3)
    t = torch.nn.utils.rnn.pack_padded_sequence(torch.randn(5, 2, 4), [5, 3])
    want = module(t)[0].data
    got = module.to("tpu")(t.to("tpu"))[0].data
    torch.testing.assert_close(got.cpu(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_transformer_encoder_layer(training):
    module = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    if training:
        compare(module, torch.randn(2, 3, 8))
        return
    module.eval()
    t, mask = torch.randn(2, 3, 8), torch.tensor([[False, False, True], [False, False, False]])
    with torch.no_grad():
        want = module(t, src_key_padding_mask=mask)
        got = module.to("tpu")(t.to("tpu"), src_key_padding_mask=mask.to("tpu"))
    torch.testing.assert_close(got.cpu(), want, rtol=1e-5, atol=1e-5)
    assert not {n for n in torch.tpu.cpu_fallback_counts() if "_transformer_encoder" in n or "_native_multi_head" in n}


SDPA = {
    "plain": {},
    "causal": {"is_causal": True},
    "bool_mask": {"attn_mask": torch.ones(5, 5, dtype=torch.bool).tril()},
    "float_mask": {"attn_mask": torch.randn(5, 5)},
    "scale": {"scale": 0.3},
}


@pytest.mark.parametrize("name", SDPA)
def test_attention(name):
    options = SDPA[name]
    q, k, v = (torch.randn(2, 4, 5, 8, requires_grad=True) for _ in range(3))
    tq, tk, tv = (t.detach().to("tpu").requires_grad_() for t in (q, k, v))
    want = F.scaled_dot_product_attention(q, k, v, **options)
    moved = {n: o.to("tpu") if isinstance(o, torch.Tensor) else o for n, o in options.items()}
    got = F.scaled_dot_product_attention(tq, tk, tv, **moved)
    weight = torch.randn_like(want)
    (want * weight).sum().backward()
    (got * weight.to("tpu")).sum().backward()
    torch.testing.assert_close(got.detach().cpu(), want.detach(), rtol=1e-5, atol=1e-5)
    for a, b in ((q, tq), (k, tk), (v, tv)):
        torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=1e-4, atol=1e-5)


def test_attention_with_grouped_heads_and_with_the_math_kernel():
    q, k = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 3, 8)
    want = F.scaled_dot_product_attention(q, k, k, enable_gqa=True)
    got = F.scaled_dot_product_attention(q.to("tpu"), k.to("tpu"), k.to("tpu"), enable_gqa=True)
    torch.testing.assert_close(got.cpu(), want, rtol=1e-5, atol=1e-5)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        got = F.scaled_dot_product_attention(q.to("tpu"), q.to("tpu"), q.to("tpu"))
    torch.testing.assert_close(got.cpu(), F.scaled_dot_product_attention(q, q, q), rtol=1e-5, atol=1e-5)


def test_batch_norm_training():
    compare(torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3)), torch.randn(4, 2, 6, 6), tol=1e-4)


def test_autocast_casts_as_on_cuda(x):
    assert torch.get_autocast_dtype("tpu") == torch.bfloat16
    w = torch.ones(4, 2, device="tpu", requires_grad=True)
    with torch.autocast("tpu"):
        assert (x @ x.t()).dtype == torch.bfloat16
        assert F.linear(x, torch.ones(2, 4, device="tpu")).dtype == torch.bfloat16
        assert torch.softmax(x.bfloat16(), -1).dtype == torch.float32
        assert F.layer_norm(x.bfloat16(), (4,)).dtype == torch.float32
        assert torch.exp(x.bfloat16()).dtype == torch.float32
        assert x.bfloat16().sum().dtype == torch.float32
        assert x.bfloat16().sum(dtype=torch.bfloat16).dtype == torch.bfloat16
        assert torch.cat([x, x.bfloat16()]).dtype == torch.float32 and torch.stack([x.bfloat16(), x.bfloat16()]).dtype == torch.bfloat16
        assert torch.addcmul(x, x.bfloat16(), x).dtype == torch.float32
        assert (x.bfloat16() + 1).dtype == torch.bfloat16  # not in a list: falls through
        assert (x.double() @ x.double().t()).dtype == torch.float64
        loss = (x @ w).float().sum()
    loss.backward()
    assert w.grad.dtype == torch.float32
    with torch.autocast("tpu", dtype=torch.float16):
        assert torch.einsum("ij,kj->ik", x, x).dtype == torch.float16


def test_autocast_casts_a_weight_once(x):
    w = torch.ones(4, 4, device="tpu", requires_grad=True)
    with torch.autocast("tpu"):
        before = torch.tpu.runtime_stats()["ops"]
        x @ w, x @ w, x @ w  # noqa: B018
        assert torch.tpu.runtime_stats()["ops"] - before == 7  # three casts of x, one of w, three products


def test_grad_scaler():
    w = torch.nn.Parameter(torch.ones(4, device="tpu"))
    optimizer, scaler = torch.optim.SGD([w], 0.1), torch.amp.GradScaler("tpu", init_scale=8.0)
    scaler.scale((w * 2).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    torch.testing.assert_close(w.detach().cpu(), torch.full((4,), 0.8))
    scaler.scale((w * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 4.0


def test_printing_costs_one_copy(x):
    repr(x)
    torch.tpu.synchronize()
    before = torch.tpu.runtime_stats()["ops"]
    assert repr(x[0, :2]) == "tensor([0., 1.], device='tpu:0')"
    assert torch.tpu.runtime_stats()["ops"] <= before + 1  # the read of a slice
    assert "requires_grad=True" in repr(torch.nn.Parameter(x)) and "grad_fn=<AddBackward0>" in repr(torch.nn.Parameter(x) + 1)
    assert repr(torch.tensor([1 + 2j], device="tpu").conj()).startswith("tensor([1.-2.j]")


@pytest.mark.parametrize("options", [{}, {"fused": True}, {"foreach": True, "capturable": True}, {"foreach": False}], ids=str)
@pytest.mark.parametrize("kind", ["AdamW", "SGD", "Adagrad"])
def test_optimizers(kind, options):
    if kind != "AdamW" and "capturable" in options:
        options = {"foreach": True}
    got = []
    for device in ("cpu", "tpu"):
        torch.manual_seed(0)
        module = torch.nn.Linear(4, 3)
        module.to(device)
        here = {n: o for n, o in options.items() if device == "tpu" or n != "capturable"}
        optimizer = getattr(torch.optim, kind)(module.parameters(), lr=0.1, weight_decay=0.01, **here)
        for _ in range(3):
            optimizer.zero_grad()
            module(torch.arange(8.0, device=device).reshape(2, 4) / 8).square().sum().backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
        got.append([p.detach().cpu() for p in module.parameters()])
    torch.testing.assert_close(got[1], got[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("lr, momentum", [(0.1, 0), (-0.1, 0), (0.1, 0.9)])
def test_embedding_training_steps_fused_and_strict_have_the_same_bits(dtype, lr, momentum):
    def train(mode):
        torch.manual_seed(0)
        model = torch.nn.ModuleList([torch.nn.EmbeddingBag(400, 8, mode="sum"), torch.nn.Embedding(300, 8)]).to(dtype).to("tpu")
        with torch.no_grad():
            model[0].weight[::3] = -0.0
        optimizer = torch.optim.SGD(model.parameters(), lr=abs(lr), momentum=momentum, maximize=lr < 0)
        torch.tpu.eager_mode = mode
        for _ in range(4):
            ids = torch.randint(0, 300, (6, 3), device="tpu")
            model.zero_grad()
            (model[0](ids) * model[1](ids).sum(1)).square().sum().backward()
            optimizer.step()
        return [t.cpu().view(torch.int16) for p in model.parameters() for t in (p.detach(), p.grad)]

    modes = torch.tpu.EagerMode
    try:
        fused, strict = train(modes.DEFER_AND_FUSE), train(modes.DEFER_NEVER)
    finally:
        torch.tpu.eager_mode = modes.DEFER_NEVER
    for a, b in zip(fused, strict, strict=True):
        assert torch.equal(a, b)

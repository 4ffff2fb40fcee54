"""Parts of PyTorch that wrap or trace tensors: fake tensors, functorch, export, dispatch modes, compile with PyTorch's own backends."""

import pytest
import torch


def test_fake_tensors(x):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        y = torch.empty(3, 4, device="tpu")
        z = torch.nn.functional.linear(mode.from_tensor(x), torch.empty(5, 4, device="tpu"))
        assert (y + 1).device == torch.device("tpu:0") and z.shape == (3, 5) and z.device.type == "tpu"


def test_functorch(x):
    assert torch.func.vmap(lambda a: a.sum())(x).tolist() == [6, 22, 38]
    assert torch.func.grad(lambda a: (a * a).sum())(x)[0].tolist() == [0, 2, 4, 6]
    _, tangent = torch.func.jvp(lambda a: a * a, (x,), (torch.ones_like(x),))
    assert torch.equal(tangent.cpu(), 2 * x.cpu())
    assert "vmap" not in repr(x)
    torch.func.vmap(lambda a: repr(a) and a)(x)


def test_dispatch_mode(x):
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    with Mode():
        (x + 1).sum()
    assert seen == ["aten.add.Tensor", "aten.sum.default"]


@pytest.mark.one_mode
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compile_with_pytorchs_backends(x, backend):
    def f(a, w):
        a = a.clone()
        a.add_(1)
        a[:, 0].mul_(2)
        return (a @ w).relu()

    w = torch.ones(4, 2, device="tpu", requires_grad=True)
    want = f(x, w)
    (grad,) = torch.autograd.grad(want.sum(), w)
    got = torch.compile(f, backend=backend, fullgraph=True)(x, w)
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(torch.autograd.grad(got.sum(), w)[0], grad)


def test_checkpoint(x):
    from torch.utils.checkpoint import checkpoint

    for reentrant in (True, False):
        w = x.clone().requires_grad_()
        checkpoint(lambda a: (a * 2).relu(), w, use_reentrant=reentrant).sum().backward()
        assert w.grad.sum().item() == 22


def test_hooks_and_retained_gradients(x):
    w = x.clone().requires_grad_()
    y = w * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    y.sum().backward()
    assert w.grad[0].tolist() == [4] * 4 and y.grad[0].tolist() == [2] * 4


def test_default_device_and_dtype():
    torch.set_default_device("tpu")
    try:
        assert torch.ones(2).device.type == "tpu" and torch.nn.Linear(2, 2).weight.device.type == "tpu"
        assert torch.arange(3).tolist() == [0, 1, 2]
    finally:
        torch.set_default_device(None)
    i = torch.tensor([1, 2], device="tpu")
    torch.set_default_dtype(torch.float64)
    try:
        assert (i / 2).dtype == torch.float64 and torch.ones(2, device="tpu").dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert (i / 2).dtype == torch.float32


def test_custom_op_and_autograd_function(x):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    w = x.clone().requires_grad_()
    Double.apply(w).sum().backward()
    assert w.grad[0, 0].item() == 2


@pytest.mark.one_mode
def test_profiler(x):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        x + x  # noqa: B018
    assert any("add" in event.name for event in profile.events())

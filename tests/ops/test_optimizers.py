"""Every optimizer of PyTorch's OptimizerInfo database, with its options, as loop, foreach, fused and differentiable: ten steps on the device
against the loop on the CPU, parameters and states. A sample runs in strict mode each time; the rest, and fused mode, are marked slow."""

import itertools

import pytest
import torch
from torch.testing._internal.common_optimizers import optim_db

STEPS = 10
FAST_INPUTS = 2
MODES = ("strict", "fused")  # what the fixture `eager` takes
IMPLEMENTATIONS = {
    "foreach": {"foreach": True},
    "fused": {"fused": True},
    "differentiable": {"differentiable": True},
}


def inputs_of(info):
    return info.optim_inputs_func("cuda")  # with what an accelerator has: capturable


def dtypes_of(info, impl):
    if info.name == "LBFGS":  # what it keeps after it has converged is rounding
        return [torch.float64, torch.complex128]
    # PyTorch's fused ones are for real numbers
    return [torch.float32, torch.complex64] if info.supports_complex and impl != "fused" else [torch.float32]


def cases():
    for info in optim_db:
        for impl, mode in itertools.product(("loop", *info.supported_impls), MODES):
            for dtype, (i, sample) in itertools.product(dtypes_of(info, impl), enumerate(inputs_of(info))):
                name = f"{info.name}-{impl}-{mode}-{str(dtype)[6:]}-{sample.desc}"
                fast = mode == "strict" and not dtype.is_complex and i < FAST_INPUTS
                yield pytest.param(
                    info, i, impl, dtype, mode, id=name, marks=() if fast else pytest.mark.slow
                )


def values(info, dtype, seed):
    g = torch.Generator().manual_seed(seed)
    shapes = ((6, 5), (3, 4)) if info.name == "Muon" else ((6, 5), (5,)) if info.only_supports_sparse_grads else ((6, 5), (5,), ())
    return [torch.randn(shape, generator=g, dtype=dtype) for shape in shapes]


def flags(info, impl):
    if impl == "loop":
        return {"foreach": False} if "foreach" in info.supported_impls else {}
    return IMPLEMENTATIONS[impl]


def steps(info, kwargs, dtype, device):
    """Parameters and states after ten steps. The gradients of a step are given, or those of a quadratic function for an optimizer that asks
    for a closure."""
    parameters = [p.to(device).requires_grad_() for p in values(info, dtype, 0)]
    goals = [p.to(device) for p in values(info, dtype, 1)]
    if kwargs.get("differentiable"):
        parameters = [p.clone() for p in parameters]
    optimizer = info.optim_cls(parameters, **kwargs)

    def loss():
        optimizer.zero_grad()
        total = sum((p - goal).abs().pow(2).sum() for p, goal in zip(parameters, goals, strict=True))
        total.backward()
        return total

    for step in range(STEPS):
        if info.step_requires_closure:
            optimizer.step(loss)
            continue
        for p, g in zip(parameters, values(info, dtype, 100 + step), strict=True):
            p.grad = g.relu().to(device).to_sparse() if info.only_supports_sparse_grads else g.to(device)
        optimizer.step()
    return parameters, [optimizer.state[p] for p in parameters]


def refusal(info, kwargs, dtype):
    """What the CPU says to options that exclude each other."""
    try:
        info.optim_cls(values(info, dtype, 0), **kwargs)
    except (ValueError, RuntimeError) as e:
        return type(e), str(e)
    return None


@pytest.mark.parametrize("info, which, impl, dtype, eager", list(cases()), indirect=["eager"])
def test_optimizer(info, which, impl, dtype, eager):
    kwargs = inputs_of(info)[which].kwargs
    chosen = {**kwargs, **flags(info, impl)}
    refused = refusal(info, chosen, dtype)
    if refused:
        with pytest.raises(refused[0]) as raised:
            steps(info, chosen, dtype, "tpu")
        assert str(raised.value) == refused[1]
        return
    have, have_states = steps(info, chosen, dtype, "tpu")
    plain = {k: v for k, v in kwargs.items() if k != "capturable"}
    want, want_states = steps(info, {**plain, **flags(info, "loop")}, dtype, "cpu")

    def same(h, w, what):
        torch.testing.assert_close(h.detach().cpu(), w.detach(), msg=lambda m: f"{what}: {m}")

    for i, (h, w) in enumerate(zip(have, want, strict=True)):
        assert h.device.type == "tpu"
        same(h, w, f"parameter {i}")
    for i, (h, w) in enumerate(zip(have_states, want_states, strict=True)):
        assert h.keys() == w.keys()
        for key, value in w.items():
            if isinstance(value, torch.Tensor):
                same(h[key], value, f"{key} of {i}")

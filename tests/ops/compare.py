"""Run an op on the device and on the CPU, forward and backward, and compare; samples come from PyTorch's OpInfo."""

import itertools
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

TOLERANCE = {
    torch.float32: (3e-5, 3e-5),
    torch.float64: (1e-9, 1e-9),
    torch.bfloat16: (2e-2, 2e-2),
    torch.float16: (4e-3, 4e-3),
    torch.complex64: (3e-5, 3e-5),
    torch.complex128: (1e-9, 1e-9),
}


def assert_same(have, want, what):
    """Same dtype, shape and values; floats within the dtype's tolerance of the largest value."""
    assert isinstance(have, torch.Tensor) == isinstance(want, torch.Tensor), what
    if not isinstance(want, torch.Tensor):
        assert have == want, what
        return
    have = have.detach().cpu()
    assert have.dtype == want.dtype and have.shape == want.shape, (
        f"{what}: {have.dtype} {have.shape}, want {want.dtype} {want.shape}"
    )
    rtol, atol = TOLERANCE.get(want.dtype, (0, 0))
    if want.numel() and (want.is_floating_point() or want.is_complex()):
        size = want.detach().abs().double()
        size = size[torch.isfinite(size)]
        atol *= max(1.0, float(size.max()) if size.numel() else 1.0)
    torch.testing.assert_close(
        have, want.detach(), rtol=rtol, atol=atol, equal_nan=True, msg=lambda m: f"{what}: {m}"
    )


def run(fn, args, kwargs, grad):
    """Results, and the gradients of a weighted sum of them with respect to every input that wants one."""
    result = fn(*args, **kwargs)
    flat = [x for x in tree_flatten(result)[0] if isinstance(x, torch.Tensor)]
    grads = []
    if grad:
        wanted = [x for x in flat if x.requires_grad]
        inputs = [
            x
            for x in tree_flatten((args, kwargs))[0]
            if isinstance(x, torch.Tensor) and x.requires_grad and x.is_leaf
        ]
        if wanted and inputs:
            weights = [
                torch.linspace(0.5, 1.5, x.numel(), dtype=torch.float64)
                .reshape(x.shape)
                .to(x.dtype)
                .to(x.device)
                for x in wanted
            ]
            total = sum((x * w).sum() for x, w in zip(wanted, weights, strict=True))
            if total.is_complex():
                total = total.abs()
            grads = torch.autograd.grad(total, inputs, allow_unused=True)
    return flat, list(grads)


def to_device(tree):
    def move(x):
        if isinstance(x, torch.Tensor):
            return x.detach().to("tpu").requires_grad_(x.requires_grad)
        return torch.device("tpu") if isinstance(x, torch.device) else x

    return tree_map(move, tree)


def check(fn, args, kwargs, what, grad=True):
    """Compare fn(*args, **kwargs) on both devices. An error on the CPU must be one on the device."""
    there = to_device((args, kwargs))
    want, want_grads = run(fn, args, kwargs, grad)
    have, have_grads = run(fn, *there, grad)
    assert len(have) == len(want), what
    for i, (h, w) in enumerate(zip(have, want, strict=True)):
        assert_same(h, w, f"{what}: result {i}")
    for i, (h, w) in enumerate(zip(have_grads, want_grads, strict=True)):
        if w is not None or h is not None:
            assert_same(h, w, f"{what}: gradient {i}")


def check_op(name, dtype, limit=6, skip=None):
    """Compare the first samples of an OpInfo entry."""
    torch.manual_seed(0)
    entries = [op for op in op_db if op.name == name]
    assert entries, f"no OpInfo for {name}"
    for op in entries:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        grad = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            samples = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=grad), limit))
            for i, sample in enumerate(samples):
                if skip and skip(sample):
                    continue
                check(
                    op.op,
                    (sample.input, *sample.args),
                    sample.kwargs,
                    f"{name} {op.variant_test_name} {dtype} sample {i}",
                    grad,
                )

"""Every entry of PyTorch's ModuleInfo database on the device against the CPU: forward, the gradients of inputs and parameters, and the
buffers after it. A sample of the entries runs in strict mode each time; the rest, and fused mode, are marked slow."""

import copy

import pytest
import torch
from torch.nn.utils.rnn import PackedSequence
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db
from torch.utils._pytree import tree_leaves

FAST = """Linear Bilinear Embedding Conv1d Conv2d ConvTranspose2d LazyConv1d AdaptiveAvgPool2d AdaptiveMaxPool2d AvgPool2d MaxPool2d LPPool2d
FractionalMaxPool2d BatchNorm1d BatchNorm2d InstanceNorm2d GroupNorm LayerNorm RMSNorm LocalResponseNorm CrossEntropyLoss NLLLoss CTCLoss
BCELoss MultiMarginLoss GELU PReLU Softmax ReflectionPad2d CircularPad1d RNNCell LSTMCell GRU MultiheadAttention TransformerEncoderLayer""".split()
FAST_INPUTS = 3
TOLERANCE = {
    "nn.CTCLoss": 1.5e-4
}  # of the largest value; sums over all paths, where the CPU too is 9e-5 off float64
MODES = ("strict", "fused")  # what the fixture `eager` takes


def cases():
    for info in module_db:
        for training in (True, False) if info.train_and_eval_differ else (True,):
            for mode in MODES:
                name = f"{info.name.removeprefix('nn.')}-{'train' if training else 'eval'}-{mode}"
                fast = mode == "strict" and info.name.removeprefix("nn.") in FAST
                limit, marks = (FAST_INPUTS, ()) if fast else (None, pytest.mark.slow)
                yield pytest.param(info, training, mode, limit, id=name, marks=marks)
                if fast:
                    yield pytest.param(info, training, mode, None, id=name + "-all", marks=pytest.mark.slow)


def move(tree, device="tpu"):
    """A copy on the device whose tensors are leaves of autograd."""
    if isinstance(tree, PackedSequence):
        return PackedSequence(move(tree.data, device), *tree[1:])
    if isinstance(tree, (list, tuple)):
        return type(tree)(move(x, device) for x in tree)
    if isinstance(tree, dict):
        return {k: torch.device(device) if k == "device" else move(v, device) for k, v in tree.items()}
    if isinstance(tree, torch.nn.Module):
        return copy.deepcopy(tree).to(device)
    return (
        tree.detach().to(device, copy=True).requires_grad_(tree.requires_grad)
        if isinstance(tree, torch.Tensor)
        else tree
    )


def tensors(tree):
    if isinstance(tree, PackedSequence):
        return [tree.data]
    if isinstance(tree, (list, tuple)):
        return [t for x in tree for t in tensors(x)]
    return [t for t in tree_leaves(tree) if isinstance(t, torch.Tensor)]


def build(info, sample, device):
    kwargs = dict(sample.constructor_input.kwargs)
    if "_random_samples" in kwargs:  # the database gives it as float64
        kwargs["_random_samples"] = kwargs["_random_samples"].float()
    with torch.device(device):
        return info.module_cls(*move(sample.constructor_input.args, device), **move(kwargs, device))


def gradients(module, results, inputs):
    """The gradients of a weighted sum of the results with respect to inputs and parameters."""
    wanted = [t for t in tensors(results) if t.requires_grad]
    leaves = [t for t in tensors(inputs) if t.requires_grad] + [
        p for p in module.parameters() if p.requires_grad
    ]
    if not wanted or not leaves:
        return []
    weights = [torch.linspace(0.5, 1.5, t.numel()).reshape(t.shape).to(t.device, t.dtype) for t in wanted]
    return torch.autograd.grad(wanted, leaves, weights, allow_unused=True)


def assert_same(have, want, tolerance, what):
    assert len(have) == len(want), what
    for i, (h, w) in enumerate(zip(have, want, strict=True)):
        assert (h is None) == (w is None), f"{what} {i}"
        if w is None:
            continue
        assert h.device.type == "tpu", f"{what} {i} is on {h.device}"
        h, w = h.detach().cpu(), w.detach()
        atol = (
            tolerance * max(1, float(w.abs().nan_to_num(0, 0).max()))
            if w.numel() and w.is_floating_point()
            else 0
        )
        torch.testing.assert_close(
            h, w, rtol=1.3e-6, atol=atol, equal_nan=True, msg=lambda m, i=i: f"{what} {i}: {m}"
        )


@pytest.mark.parametrize("info, training, eager, limit", list(cases()), indirect=["eager"])
def test_module(info, training, eager, limit):
    torch.manual_seed(0)
    samples = info.module_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=True, training=training
    )
    for i, sample in enumerate(samples[:limit]):
        if sample.forward_input is None:
            continue
        what = f"input {i} {sample.desc}:"
        module, args, kwargs, results = {}, {}, {}, {}
        for device in ("cpu", "tpu"):
            module[device] = build(info, sample, device).train(training)
            args[device], kwargs[device] = (
                move(sample.forward_input.args, device),
                move(sample.forward_input.kwargs, device),
            )
            if info.is_lazy:
                with torch.no_grad():
                    module[device](*args[device], **kwargs[device])
        module["tpu"].load_state_dict(module["cpu"].state_dict())
        for device in module:
            results[device] = module[device](*args[device], **kwargs[device])
        assert all(t.device.type == "tpu" for t in module["tpu"].parameters())
        inputs = {device: [*args[device], *kwargs[device].values()] for device in args}
        grads = {device: gradients(module[device], results[device], inputs[device]) for device in args}
        tolerance = TOLERANCE.get(info.name, 1e-5)
        assert_same(tensors(results["tpu"]), tensors(results["cpu"]), tolerance, f"{what} result")
        assert_same(list(module["tpu"].buffers()), list(module["cpu"].buffers()), tolerance, f"{what} buffer")
        assert_same(grads["tpu"], grads["cpu"], tolerance, f"{what} gradient")


@pytest.mark.parametrize(
    "info", [pytest.param(i, id=i.name.removeprefix("nn.")) for i in module_db if i.module_error_inputs_func]
)
def test_errors(info):
    """What a module refuses on the CPU it refuses on the device, with the same type and text."""
    for sample in info.module_error_inputs_func(
        info, device="tpu", dtype=torch.float32, requires_grad=False, training=True
    ):
        with pytest.raises(sample.error_type, match=sample.error_regex):
            module = build(info, sample.module_error_input, "tpu")
            assert sample.error_on == ModuleErrorEnum.FORWARD_ERROR
            module(
                *sample.module_error_input.forward_input.args,
                **sample.module_error_input.forward_input.kwargs,
            )

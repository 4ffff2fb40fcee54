"""OpInfo's error_inputs: what a wrong call raises on the device is what it raises on the CPU, type and text (device names aside)."""

import re
import warnings

import pytest
import torch
from compare import to_device
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

FAST = "add sum matmul cat gather index_select nn.functional.conv2d nn.functional.cross_entropy reshape linalg.solve".split()


# {op: {case: why PyTorch's own text differs by device}}
KNOWN = {
    "narrow_copy": {1: "the CPU has a kernel of its own, other devices copy what narrow gives", 6: "likewise"},
    "gather": {7: "out= overlaps the index only once it has been resized, which the CPU does before it looks"},
    "gradient": {i: "names the device that is not the tensor's: meta for the CPU, the CPU for others" for i in (3, 10, 17)},
}


def entries():
    for op in op_db:
        if op.error_inputs_func is not None:
            name = op.name + (f"-{op.variant_test_name}" if op.variant_test_name else "")
            yield pytest.param(op, id=name, marks=() if op.name in FAST else pytest.mark.slow)


def pairs(op):
    """The same wrong calls for both devices. They are made on each, since a copy would lose what overlaps what, and matched by the error they
    should give: PyTorch has fewer for some devices. What the device cannot hold (65 dimensions) is left out."""
    here = [(case.error_regex, case.sample_input) for case in op.error_inputs("cpu")]
    try:
        there = [(case.error_regex, case.sample_input) for case in op.error_inputs("tpu")]
    except RuntimeError:
        move = lambda x: type(x)(*to_device((x.input,)), args=to_device(x.args), kwargs=to_device(x.kwargs))  # noqa: E731
        there = [(regex, move(x)) for regex, x in here if fits(x)]
    for i, (regex, sample) in enumerate(here):
        at = next((k for k, (other, _) in enumerate(there) if other == regex), None)
        if at is not None:
            yield i, sample, there.pop(at)[1]


def fits(sample):
    tensors = [x for x in tree_leaves((sample.input, sample.args, sample.kwargs)) if isinstance(x, torch.Tensor)]
    return all(x.ndim <= 16 and x.device.type == "cpu" for x in tensors)


def outcome(op, sample):
    """The exception of a call, None without one; errors found while it runs are waited for."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = op(sample.input, *sample.args, **sample.kwargs)
            for x in tree_leaves(result):
                if isinstance(x, torch.Tensor) and x.device.type == "tpu":
                    x.cpu()
    except Exception as error:  # noqa: BLE001
        return error
    return None


def text_of(error):
    """The first line, without device names and without what names the backend."""
    line = str(error).strip().split("\n")[0]
    line = re.sub(r"\b(tpu|cpu|privateuseone)(:\d+)?\b", "DEVICE", line, flags=re.IGNORECASE)
    return re.sub(r"\s+", " ", line)


@pytest.mark.parametrize("op", entries())
def test_same_error(op):
    wrong = []
    for i, sample, there in pairs(op):
        want, have = outcome(op, sample), outcome(op, there)
        if want is None or i in KNOWN.get(op.name, ()):
            continue
        if type(have) is not type(want) or text_of(want) not in text_of(have):
            wrong.append(f"{i}: {type(have).__name__}: {str(have)[:300]}\n   want {type(want).__name__}: {str(want)[:300]}")
    assert not wrong, "\n".join(wrong)

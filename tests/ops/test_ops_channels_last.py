"""Convolutions of channels_last tensors: values and strides as the CPU's, with what usually stands around them."""

import pytest
import torch

SHAPES = {  # channels, outs, kernel, stride, padding, dilation, groups, transposed
    "3x3": (32, 48, 3, 1, 1, 1, 1, False),
    "3x3 strided": (32, 48, 3, 2, 1, 1, 1, False),
    "3x3 strided without padding": (20, 33, 3, 2, 0, 1, 1, False),
    "3x3 dilated": (16, 16, 3, 1, 2, 2, 1, False),
    "1x1": (24, 40, 1, 1, 0, 1, 1, False),
    "1x1 strided": (24, 40, 1, 2, 0, 1, 1, False),
    "stem": (3, 16, 7, 2, 3, 1, 1, False),
    "grouped": (32, 32, 3, 1, 1, 1, 4, False),
    "depthwise": (35, 35, 3, 1, 1, 1, 35, False),
    "depthwise 5x5 strided": (16, 16, 5, 2, 2, 1, 16, False),
    "depthwise doubled": (12, 24, 3, 1, 1, 1, 12, False),
    "transposed": (16, 8, 2, 2, 0, 1, 1, True),
}


def tensors(name, dtype):
    c, o, k, _, _, _, groups, transposed = SHAPES[name]
    torch.manual_seed(0)
    weight = (c, o // groups, k, k) if transposed else (o, c // groups, k, k)
    last = lambda t: t.to(dtype).to(memory_format=torch.channels_last)
    return last(torch.randn(2, c, 13, 18)), last(torch.randn(weight)), torch.randn(o).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("name", SHAPES)
def test_convolution(name, dtype):
    _, _, _, stride, padding, dilation, groups, transposed = SHAPES[name]
    x, w, b = tensors(name, dtype)
    settings = [stride] * 2, [padding] * 2, [dilation] * 2, transposed, [0, 0], groups
    y = torch.ops.aten.convolution(x, w, b, *settings)
    g = torch.randn(y.shape).to(dtype).to(memory_format=torch.channels_last)
    want = [y, *torch.ops.aten.convolution_backward(g, x, w, b.shape, *settings, [True, True, True])]
    x, w, b, g = (t.to("tpu") for t in (x, w, b, g))
    y = torch.ops.aten.convolution(x, w, b, *settings)
    have = [y, *torch.ops.aten.convolution_backward(g, x, w, b.shape, *settings, [True, True, True])]
    tolerance = {torch.float32: 1e-4, torch.bfloat16: 2e-2, torch.float64: 1e-10}[dtype]
    for a, e in zip(have, want, strict=True):
        assert a.is_contiguous(memory_format=torch.channels_last) if a.dim() == 4 else a.is_contiguous()
        scale = e.double().abs().max().item()
        torch.testing.assert_close(a.cpu().double(), e.double(), rtol=tolerance, atol=tolerance * scale)


def test_either_operand_decides():
    x, w, _ = tensors("3x3", torch.float32)
    for a in (x, x.contiguous()):
        for b in (w, w.contiguous()):
            want = torch.nn.functional.conv2d(a, b, padding=1)
            assert torch.nn.functional.conv2d(a.to("tpu"), b.to("tpu"), padding=1).stride() == want.stride()


@pytest.mark.parametrize("groups", [1, 32])
def test_block(groups):
    """Convolution, batch norm and relu, forward and backward, without a copy to another order."""
    torch.manual_seed(0)
    block = torch.nn.Sequential(torch.nn.Conv2d(32, 32, 3, padding=1, groups=groups), torch.nn.BatchNorm2d(32), torch.nn.ReLU())
    block = block.to(memory_format=torch.channels_last)
    x = torch.randn(2, 32, 10, 12).to(memory_format=torch.channels_last)
    results = []
    for device in ("cpu", "tpu"):
        moved, here = block.to(device), x.to(device).detach().requires_grad_()
        moved.zero_grad()
        y = moved(here)
        (y * y).sum().backward()
        results.append([t.detach().cpu() for t in (y, here.grad, *(p.grad for p in moved.parameters()))])
        assert y.stride() == x.stride() and here.grad.stride() == x.stride()
    for a, e in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(a, e, rtol=1e-3, atol=1e-3)

"""Matmul precision reaches the program; excess precision keeps what ops hand to each other wide, and only when it is allowed."""

import contextlib

import pytest
import torch

from torch_tpu import debug

FUSED = torch.tpu.EagerMode.DEFER_AND_FUSE


@contextlib.contextmanager
def programs(capfd):
    """The text of the programs that the block compiles."""
    text = []
    capfd.readouterr()
    with debug.trace(4):
        yield text
        torch.tpu.synchronize()
    text.append(capfd.readouterr().err)


def products(text):
    return [line for line in text.split("\n") if '"stablehlo.dot_general"(' in line or '"stablehlo.convolution"(' in line]


@pytest.mark.parametrize("name", ["DEFAULT", "HIGH", "HIGHEST"])
def test_precision_reaches_products(capfd, name, eager_mode):
    size = 5 + 2 * ["DEFAULT", "HIGH", "HIGHEST"].index(name) + (eager_mode == "DEFER_NEVER")  # programs of their own
    a, x = torch.randn(size, 37, device="tpu"), torch.randn(1, 3, 9, size + 9, device="tpu")
    w = torch.randn(4, 3, 3, 3, device="tpu")
    with programs(capfd) as text, torch.tpu.precision(torch.tpu.Precision[name]):
        (a @ a.t()).cpu()
        torch.nn.functional.conv2d(x, w).cpu()
    lines = products(text[0])
    assert len(lines) >= 2 and all(line.count(f"precision {name}>") == 2 for line in lines), lines


def test_set_float32_matmul_precision(capfd, eager_mode):
    before = torch.get_float32_matmul_precision()
    try:
        for i, (word, name) in enumerate((("medium", "DEFAULT"), ("high", "HIGH"), ("highest", "HIGHEST"))):
            torch.set_float32_matmul_precision(word)
            a = torch.randn(11 + 2 * i + (eager_mode == "DEFER_NEVER"), 41, device="tpu")
            with programs(capfd) as text:
                (a @ a.t()).cpu()
            assert all(line.count(f"precision {name}>") == 2 for line in products(text[0])) and products(text[0]), word
    finally:
        torch.set_float32_matmul_precision(before)


def test_bfloat16_products_ask_for_one_pass(capfd):
    a = torch.randn(13, 43, device="tpu", dtype=torch.bfloat16)
    with programs(capfd) as text, torch.tpu.precision(torch.tpu.Precision.HIGHEST):
        (a @ a.t()).cpu()
    assert "HIGHEST" not in text[0]


def chain(x):
    y = x * 1.1
    for _ in range(12):
        y = (y * 1.01 + 0.3).tanh()
    return y - 0.7


@contextlib.contextmanager
def excess_precision():
    torch.tpu.allow_excess_precision = True
    try:
        yield
    finally:
        torch.tpu.allow_excess_precision = False


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("compiled", [False, True])
def test_excess_precision(dtype, compiled):
    x = torch.linspace(-2, 2, 1000).to(dtype)
    f = torch.compile(chain, backend="tpu", options={"allow_excess_precision": False}) if compiled else chain
    exact = chain(x.double())

    def off():
        with torch.tpu.set_eager_mode(FUSED):
            y = f(x.to("tpu"))
            assert y.dtype == dtype
            return (y.cpu().double() - exact).abs().max().item()

    by_default, half = off(), torch.finfo(dtype).eps / 2
    with excess_precision():
        allowed = off()
    assert allowed <= half * exact.abs().max() * 1.01  # one rounding, at the end
    assert by_default > 2 * allowed
    assert off() == by_default


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_compiled_programs_have_it_by_default(dtype):
    """Nearer to float64 than eager mode is, which the option gives bit for bit."""
    x = torch.linspace(-2, 2, 1000).to(dtype)
    exact, eager = chain(x.double()), chain(x.to("tpu")).cpu()
    wide = torch.compile(chain, backend="tpu")(x.to("tpu")).cpu()
    rounded = torch.compile(chain, backend="tpu", options={"allow_excess_precision": False})(x.to("tpu")).cpu()
    errors = [(y.double() - exact).abs() for y in (wide, eager)]
    assert torch.equal(rounded, eager)
    assert wide.dtype == dtype and errors[0].max() < errors[1].max() / 2 and errors[0].mean() < errors[1].mean()
    assert errors[0].max() <= torch.finfo(dtype).eps / 2 * exact.abs().max() * 1.01  # one rounding, at the end


def test_compiled_programs_know_no_other_option():
    with pytest.raises(Exception, match="allow_excess_precision"):
        torch.compile(chain, backend="tpu", options={"fast": True})(torch.ones(3, device="tpu"))


def test_excess_precision_needs_permission_and_several_ops():
    """Strict mode rounds whatever is allowed, and what a program gives out is rounded."""
    x = torch.linspace(-2, 2, 1000).bfloat16()
    with torch.tpu.set_eager_mode(torch.tpu.EagerMode.DEFER_NEVER):
        want = chain(x.to("tpu")).cpu()
        with excess_precision():
            assert torch.equal(chain(x.to("tpu")).cpu(), want)
    with excess_precision(), torch.tpu.set_eager_mode(FUSED):
        a = x.to("tpu") * 1.3
        b = a - 1  # between 1 and 1.6 where a is above 2: half a step is 2^-8 there, and 2^-7 in a
        assert torch.equal(a.cpu(), x * 1.3)
        assert (b.cpu().double() - (x.double() * 1.3 - 1))[x > 1.6].abs().max() <= 2**-8


def test_excess_precision_leaves_an_op_its_own_roundings():
    """uniform_ rounds within, so that the end of its range is never reached."""
    with excess_precision(), torch.tpu.set_eager_mode(FUSED):
        y = torch.empty(200_000, device="tpu", dtype=torch.bfloat16).uniform_(1, 1.5) * 1
        assert y.cpu().max() < 1.5


@pytest.mark.parametrize("name", ["expm1", "tanh", "cos", "sin", "exp", "log", "sigmoid", "erf", "sinh"])
def test_functions_of_constants_have_the_bits_of_a_run(name):
    """In one window the argument is a constant, of which a program computes the function once."""
    values = [0.013 + 0.073 * k for k in range(40)]
    results = []
    for mode in (torch.tpu.EagerMode.DEFER_NEVER, FUSED):
        with torch.tpu.set_eager_mode(mode):
            results.append(torch.stack([getattr(torch, name)(torch.full((3,), v, device="tpu")).cpu() for v in values]))
    assert torch.equal(results[0].view(torch.int32), results[1].view(torch.int32))

"""Copies between CPU and tpu, of every dtype and layout, with PyTorch's lazy conj and neg bits."""

import pytest
import torch

DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8,
          torch.bool, torch.complex64, torch.complex128]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_round_trip(dtype):
    t = torch.randn(3, 5).mul(10).to(dtype)
    back = t.to("tpu").cpu()
    assert back.dtype == dtype and torch.equal(back, t)
    assert torch.equal(t.to("tpu")[1:, ::2].cpu(), t[1:, ::2])
    assert t.to("tpu")[2, 3].item() == t[2, 3].item()
    assert t.to("tpu").tolist() == t.tolist()


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_casts_on_the_device(source, same):
    t = torch.arange(-6, 6).reshape(3, 4).abs().to(source)
    same(lambda a: [a.to(d) for d in DTYPES if not (a.is_complex() and not d.is_complex)], t)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_casts_to_half_pass_through_float32(dtype):
    """A number just beside the middle of two is one of float32 first, as on the CPU."""
    middle = torch.tensor([1891631104, 239599616, 2049 * 2, 2051 * 2**9]).repeat(5)
    for x in (middle - 44, middle + 1, (middle << 31) - 1, middle.int() - 44, middle.double() * (1 - 2.0**-40), middle.double() * (1 + 2.0**-40)):
        assert torch.equal(x.to("tpu").to(dtype).cpu(), x.to(dtype)), x


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_complex_products_that_overflow(dtype):
    big = torch.finfo(dtype).max / 4
    x = torch.tensor([complex(big, big), complex(big, -big), complex(-big, big), complex(3, 4)] * 9, dtype=dtype)
    y = x.flip(0)
    want = torch.stack([x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real], -1)
    got = torch.view_as_real((x.to("tpu") * y.to("tpu")).cpu())
    assert want.isnan().any() and torch.equal(got.nan_to_num(7), want.nan_to_num(7))


def test_casts_while_copying_from_host():
    t = torch.randn(3, 4)
    d = torch.empty(3, 4, dtype=torch.float64, device="tpu")
    d.copy_(t)
    assert torch.equal(d.cpu(), t.double())
    h = torch.empty(4, 3, dtype=torch.float16).t()
    h.copy_(t.to("tpu"))
    assert torch.equal(h, t.half())


def test_broadcast_and_shape_errors(x):
    y = torch.zeros(3, 4, device="tpu")
    y.copy_(torch.arange(4.0))
    assert torch.equal(y.cpu(), torch.arange(4.0).expand(3, 4))
    y.copy_(x[:, :1])
    assert torch.equal(y.cpu(), x.cpu()[:, :1].expand(3, 4))
    with pytest.raises(RuntimeError, match="The size of tensor a \\(4\\) must match the size of tensor b \\(5\\)"):
        y.copy_(torch.zeros(5))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.zeros(4, device="tpu").copy_(torch.zeros(3, 4))


def test_conj_and_neg_bits(same):
    def f(t):
        c = t.conj()
        physical = torch.empty_like(t)
        physical.copy_(c)
        written = torch.zeros_like(t)
        written.conj().copy_(t)  # writes the conjugate into memory
        negated = torch.zeros(3, device=t.device)
        negated.copy_(t.conj().imag)
        target = torch.zeros_like(t)
        target.conj().imag.copy_(torch.ones(3, device=t.device))
        return c.clone(), physical, written, negated, target, c + 1, c.resolve_conj(), t.conj().imag.clone(), t.conj()[0].item()

    same(f, torch.tensor([1 + 2j, 3 - 4j, -5j]))


def test_conj_crosses_devices():
    t = torch.tensor([1 + 2j, 3 - 4j])
    d = t.to("tpu")
    assert torch.equal(d.conj().cpu().resolve_conj(), t.conj().resolve_conj())
    assert torch.equal(t.conj().to("tpu").cpu().resolve_conj(), t.conj().resolve_conj())
    assert torch.equal(d.conj().imag.cpu().resolve_neg(), t.conj().imag.resolve_neg())


def test_clone_is_independent(x):
    y = x.clone()
    y[0, 0] = 99
    assert x[0, 0].item() == 0 and y[0, 0].item() == 99


def test_empty_tensors_copy():
    assert torch.empty(0, 3).to("tpu").cpu().shape == (0, 3)
    torch.empty(0, device="tpu").copy_(torch.empty(0))


def test_non_blocking_with_pinned_memory():
    t = torch.randn(100).pin_memory()
    d = t.to("tpu", non_blocking=True)
    t.fill_(0)  # may not change what was copied
    torch.tpu.synchronize()
    assert d.abs().sum().item() > 0
    back = torch.empty(100, pin_memory=True)
    back.copy_(d, non_blocking=True)
    torch.accelerator.synchronize()
    assert torch.equal(back, d.cpu())


@pytest.mark.skipif("torch.tpu.device_count() < 2")
def test_between_devices(x):
    y = x.to("tpu:1")
    assert y.device.index == 1 and torch.equal(y.cpu(), x.cpu())
    z = x.t().to("tpu:1")
    assert torch.equal(z.cpu(), x.t().cpu())
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        x + y


def test_bools_of_any_byte():
    bytes = torch.tensor([2, 3, 0, 255, 1, 128, 0, 7, 16], dtype=torch.uint8)
    theirs = bytes.view(torch.bool)
    for ours in (theirs.to("tpu"), bytes.to("tpu").view(torch.bool), torch.zeros(9, 2, dtype=torch.bool, device="tpu")[:, 1].copy_(theirs)):
        for f in (
            lambda b: b.sum(),
            lambda b: b.float(),
            lambda b: b == b.flip(0),
            lambda b: b ^ torch.ones_like(b),
            lambda b: b & b.flip(0),
            lambda b: b.cumsum(0),
            lambda b: b.clone().view(torch.uint8),
            lambda b: torch.arange(9.0, device=b.device)[b],
        ):
            assert torch.equal(f(ours).cpu(), f(theirs))

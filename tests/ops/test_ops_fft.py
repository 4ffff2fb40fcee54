"""Fourier transforms of any length and incomplete gamma functions, against float64 on the CPU."""

import pytest
import torch


@pytest.mark.parametrize("n", [1, 2, 3, 8, 60, 97, 128, 2 * 67, 1009])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_lengths(n, norm):
    torch.manual_seed(n)
    x = torch.randn(3, n, dtype=torch.complex128)
    for f in (torch.fft.fft, torch.fft.ifft, torch.fft.hfft, torch.fft.irfft):
        torch.testing.assert_close(
            f(x.to("tpu"), n=n, norm=norm).cpu(), f(x, n=n, norm=norm), rtol=1e-11, atol=1e-11
        )
    for f in (torch.fft.rfft, torch.fft.ihfft):
        torch.testing.assert_close(
            f(x.real.to("tpu"), norm=norm).cpu(), f(x.real, norm=norm), rtol=1e-11, atol=1e-11
        )


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("n", [*range(1, 34), 48, 61, 64, 75, 96, 121, 127, 200, 243, 256, 400, 1000, 1024, 2 * 1009, 5000, 2**15, 40000, 2**17])
def test_kernels(n, dtype):
    """Every way of transforming lines, few and many of them, along and across; the error stays that of the type's rounding."""
    torch.manual_seed(n)
    for many in (1, 3, 18) if n < 5000 else (1,):
        x = torch.randn(2, many, n, dtype=dtype)
        across, half = x.mT.contiguous(), x[..., : n // 2 + 1].contiguous()
        cases = [(torch.fft.fft, x, {}), (torch.fft.ifft, x, {}), (torch.fft.rfft, x.real.contiguous(), {})]
        cases += [(torch.fft.irfft, half, {"n": n}), (torch.fft.fft, across, {"dim": 1}), (torch.fft.ifft, across, {"dim": 1})]
        for f, argument, kwargs in cases:
            want, have = f(argument.to(torch.complex128 if argument.is_complex() else torch.float64), **kwargs), f(argument.to("tpu"), **kwargs).cpu()
            error = (want - have).abs().max() / want.abs().max().clamp(min=1e-3)
            assert error < (1e-6 if dtype == torch.complex64 else 2e-15), (f, tuple(argument.shape), error)


@pytest.mark.parametrize("dims", [(0,), (2, 0), (3, 1, 0), (0, 1, 2, 3), (3, 2, 1, 0)])
def test_many_dims(dims):
    torch.manual_seed(0)
    x = torch.randn(4, 3, 5, 6, dtype=torch.float64)
    c = torch.complex(x, x.flip(0))
    torch.testing.assert_close(torch.fft.fftn(c.to("tpu"), dim=dims).cpu(), torch.fft.fftn(c, dim=dims))
    torch.testing.assert_close(torch.fft.rfftn(x.to("tpu"), dim=dims).cpu(), torch.fft.rfftn(x, dim=dims))
    torch.testing.assert_close(torch.fft.irfftn(c.to("tpu"), dim=dims).cpu(), torch.fft.irfftn(c, dim=dims))


# PyTorch itself is 5e-10 off near a = x = 100 in f64.
@pytest.mark.parametrize("dtype, rtol", [(torch.float32, 2e-5), (torch.float64, 2e-9)])
def test_incomplete_gamma(dtype, rtol):
    a = torch.tensor([0.0, 1e-3, 0.3, 1.0, 2.5, 10.0, 100.0, 1e4, float("inf"), -1.0], dtype=dtype)
    x = torch.tensor(
        [0.0, 1e-3, 0.5, 1.0, 1.5, 9.0, 95.0, 110.0, 1.01e4, float("inf"), float("nan")], dtype=dtype
    )
    a, x = a[:, None].expand(-1, len(x)).contiguous(), x.expand(len(a), -1).contiguous()
    for f in (torch.special.gammainc, torch.special.gammaincc):
        want = f(a.double(), x.double()).to(dtype)
        torch.testing.assert_close(
            f(a.to("tpu"), x.to("tpu")).cpu(),
            want,
            rtol=rtol,
            atol=1e-13 if dtype is torch.float64 else 1e-7,
            equal_nan=True,
        )

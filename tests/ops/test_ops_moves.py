"""Writes through views with steps, constants that are written out, masks, complex numbers as pairs, integer quotients: against the CPU."""

import pytest
import torch
import torch.nn.functional as F

DTYPES = [torch.float32, torch.bfloat16, torch.int64, torch.bool]


@pytest.fixture(params=["DEFER_NEVER", "DEFER_AND_FUSE"], autouse=True)
def mode(request):
    before = torch.tpu.eager_mode
    torch.tpu.eager_mode = getattr(torch.tpu.EagerMode, request.param)
    yield
    torch.tpu.eager_mode = before


WRITES = {
    "fill": lambda x: x.fill_(1), "part": lambda x: x[:, 1:100].fill_(2), "step": lambda x: x[:, ::2].fill_(1), "steps": lambda x: x[::3, 5::7].fill_(1),
    "diagonal": lambda x: x.diagonal(3).zero_(), "fill_diagonal": lambda x: x.fill_diagonal_(1), "columns": lambda x: x[:, ::2].copy_(x[:, 1::2].clone()),
    "of itself": lambda x: x[1:].copy_(x[:-1].clone()), "turned": lambda x: x[:70, :70].copy_(x[:70, :70].t().clone()), "column": lambda x: x[:, 3].copy_(x[:, 4]),
    "beside": lambda x: x[:, 10:20].copy_(x[:, 110:120]), "rows turned": lambda x: x[2:60:2, 1:9].copy_(x[60:68, 100:129].t()),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WRITES)
def test_writes_through_views(name, dtype):
    host = (torch.randn(70, 130) * 3).to(dtype)
    device = host.to("tpu")
    WRITES[name](host), WRITES[name](device)
    assert torch.equal(host, device.cpu())


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_that_are_needed_in_memory(dtype):
    x = (torch.randn(70, 130) * 3).to(dtype)
    for f in (torch.zeros_like, lambda x: torch.cat([x, torch.zeros_like(x)], 1), lambda x: torch.ones_like(x).cumsum(0), lambda x: torch.full_like(x, 1)):
        assert torch.equal(f(x), f(x.to("tpu")).cpu())


@pytest.mark.parametrize("shape", [(), (1,), (0,), (8,), (1000,), (3, 0), (5, 9), (33, 64), (2, 3, 4, 5)])
def test_nonzero(shape):
    for dtype in (torch.bool, torch.float32, torch.int64, torch.complex64):
        for share in (0, 0.02, 0.5, 1):
            x = ((torch.rand(shape) < share) * 2).to(dtype)
            assert torch.equal(torch.nonzero(x), torch.nonzero(x.to("tpu")).cpu())
    y, mask = torch.randn(shape), torch.rand(shape) < 0.5
    assert torch.equal(y[mask], y.to("tpu")[mask.to("tpu")].cpu())


def test_nonzero_of_bools_that_are_any_byte():
    x = torch.tensor([128, 128, 0, 255, 1, 7, 0, 0, 2, 0, 0], dtype=torch.uint8).repeat(50).view(torch.bool)
    assert torch.equal(torch.nonzero(x.view(torch.uint8)), torch.nonzero(x.to("tpu")).cpu())


def complex_(*shape):
    return torch.complex(torch.randn(shape), torch.randn(shape))


def close(f, *inputs):
    expected = f(*inputs)
    torch.testing.assert_close(f(*(x.to("tpu") for x in inputs)).cpu(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(3,), (5, 7), (4, 6, 8)])
def test_pairs(shape):
    def parts(x):
        x = x.clone()
        torch.view_as_real(x)[..., 0] = 7
        x.imag.mul_(3)
        return x

    functions = (
        lambda x: torch.view_as_real(x).clone(), lambda x: torch.view_as_real(x.conj().resolve_conj()) * 2, lambda x: x.real.contiguous(), lambda x: x.imag + 1, parts,
        lambda x: x.sum(), lambda x: x.mean(-1), lambda x: x.cumsum(-1), lambda x: torch.view_as_complex(torch.view_as_real(x) * 3), lambda x: 1 / x,
    )  # fmt: skip
    for f in functions:
        close(f, complex_(*shape))
    close(torch.view_as_complex, torch.randn(*shape, 2))


def test_complex_products():
    close(torch.mm, complex_(5, 7), complex_(7, 3))
    close(lambda a, b: a.t() @ b.t().conj(), complex_(7, 5), complex_(3, 7))
    close(torch.bmm, complex_(4, 5, 7), complex_(4, 7, 3))
    close(torch.addmm, complex_(5, 3), complex_(5, 0), complex_(0, 3))


def test_complex_quotients_of_what_is_no_number():
    odd = [0, float("inf"), float("nan"), 1e38, 1e-38, 1, -0.0]
    b = torch.tensor([complex(x, y) for x in odd for y in odd])
    r = (complex_(1).expand(49).to("tpu") / b.to("tpu")).cpu()
    assert r[b.abs() < 1e30][1:].isfinite().sum() > 10
    assert r[b.isnan() & ~b.isinf()].isnan().all()


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8])
def test_integer_quotients(dtype):
    x, y = torch.randint(-100, 100, (1000,)).to(dtype), torch.randint(1, 9, (1000,)).to(dtype)
    y = y if dtype == torch.uint8 else y * torch.where(torch.rand(1000) < 0.5, 1, -1).to(dtype)
    far = torch.tensor([2**62, -(2**63), 2**53 + 1, -(2**53) - 1, 7, 2**63 - 1] * 20)
    for a, b in ((x, y), (far, torch.tensor([3, -1, 2**53, 2, -2, -1] * 20))):
        for f in (torch.floor_divide, torch.remainder, torch.fmod):
            assert torch.equal(f(a, b), f(a.to("tpu"), b.to("tpu")).cpu())


@pytest.mark.parametrize("mode_", ["reflect", "replicate", "circular"])
def test_padding(mode_):
    for shape, pad in (((2, 3, 9), (3, 2)), ((2, 3, 8, 9), (1, 4, 5, 2)), ((2, 3, 5, 6, 7), (1, 2, 3, 0, 4, 1)), ((2, 3, 8, 9), (6, 6, 0, 1))):
        x = torch.randn(shape)
        assert torch.equal(F.pad(x, pad, mode=mode_), F.pad(x.to("tpu"), pad, mode=mode_).cpu())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_of_softmax_down_columns(dtype):
    for f in (torch.softmax, torch.log_softmax):
        x, g = torch.randn(3, 7, 5, 41).to(dtype), torch.randn(3, 7, 5, 41).to(dtype)
        for dim in range(4):
            a, b = x.clone().requires_grad_(), x.to("tpu").requires_grad_()
            f(a.float(), dim).backward(g.float())
            f(b, dim).backward(g.to("tpu"))
            torch.testing.assert_close(b.grad.cpu().float(), a.grad.float(), rtol=2e-2 if dtype == torch.bfloat16 else 1e-5, atol=2e-2 if dtype == torch.bfloat16 else 1e-5)


def test_special_functions():
    x = torch.cat([torch.linspace(-20, 20, 4001), torch.tensor([0.0, -0.0, 1e10, 150, -150, 127.5, float("inf"), -float("inf"), float("nan")])])
    for f in (torch.exp2, torch.lgamma, torch.digamma, torch.erfc, torch.asinh, torch.special.i1e):
        torch.testing.assert_close(f(x.to("tpu")).cpu(), f(x.double()).float(), rtol=2e-6, atol=2e-6, equal_nan=True)
    for f, y in ((torch.acosh, x.abs() + 1), (torch.atanh, torch.linspace(-1, 1, 999)), (lambda x: 2.0**x, x)):
        torch.testing.assert_close(f(y.to("tpu")).cpu(), f(y.double()).float(), rtol=2e-6, atol=2e-6, equal_nan=True)
    y = x.flip(0)
    assert torch.equal(torch.nextafter(x, y).nan_to_num(3), torch.nextafter(x.to("tpu"), y.to("tpu")).cpu().nan_to_num(3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.float64, torch.bool])
def test_broadcasts_with_short_rows(dtype):
    """Rows of 1 to 70 elements, of which each operand has all, some or one: loops go from row to row."""
    generator = torch.Generator().manual_seed(int(dtype.itemsize))
    pick = lambda *choices: choices[int(torch.randint(len(choices), (1,), generator=generator))]
    for _ in range(60):
        shape = [pick(1, 2, 3, 7, 33) for _ in range(pick(1, 2, 3))] + [pick(1, 7, 8, 9, 16, 24, 31, 32, 40, 47, 48, 65, 70)]
        hosts = []
        for _ in range(3):
            size = [n if pick(0, 1, 1) else 1 for n in shape]
            wide = (torch.randn(*size[:-1], size[-1] + 5, generator=generator) * 3).to(dtype)
            hosts.append(wide[..., 2 : 2 + size[-1]] if pick(0, 1) else wide[..., : size[-1]].contiguous())
        a, b, c = hosts
        x, y, z = (t.to("tpu") for t in hosts)
        if dtype == torch.bool:
            assert torch.equal(a ^ b | c, (x ^ y | z).cpu())
            continue
        assert torch.equal(a * b, (x * y).cpu()), (a.shape, b.shape)
        assert torch.equal(torch.where(a < b, c, a), torch.where(x < y, z, x).cpu())
        if dtype != torch.bfloat16:
            assert torch.equal(a * b - c, (x * y - z).cpu())


def test_arithmetic_on_parts_in_place():
    """The loop over a part writes it where it lies: blocks, rows and columns, alone and with operands that overlap the part or are it."""
    generator = torch.Generator().manual_seed(3)
    pick = lambda n: int(torch.randint(n, (1,), generator=generator))
    for round_ in range(150):
        dtype = [torch.float32, torch.bfloat16, torch.float64, torch.int32][pick(4)]
        shape = [1 + pick(n) for n in [(90, 130), (7, 9, 70), (5, 4, 20, 30)][pick(3)]]
        at = [(a := pick(n), a + 1 + pick(n - a)) if pick(3) else (0, n) for n in shape]
        part = tuple(slice(a, b) for a, b in at)
        x = (torch.randn(shape, generator=generator) * 3).to(dtype)
        y = (torch.randn([b - a for a, b in at], generator=generator) * 3).to(dtype)
        beside = tuple(slice(max(a - 1, 0), max(a - 1, 0) + b - a) for a, b in at)  # overlaps the part
        kind = pick(6)
        for t, other in ((x, y), (x.to("tpu"), y.to("tpu"))):
            before = t.clone() if kind == 5 else None
            if kind == 0:
                t[part].add_(1)
            elif kind == 1:
                t[part].mul_(other)
            elif kind == 2:
                t[part] = t[part] + t[beside]
            elif kind == 3:
                t[part] = other * 2 - t[part]
            elif kind == 4:
                t[part] = t[part] - t.flatten()[0]
            else:
                t[part].sub_(other)
                t[part].mul_(before[part])
            got = t.cpu() if t.device.type == "tpu" else t
            if t is x:
                want = x.clone()
        assert torch.equal(got, want), (round_, kind, dtype, shape, at)

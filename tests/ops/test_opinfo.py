"""Elementwise ops, activations, shapes and reductions against the CPU, on samples of PyTorch's OpInfo; no CPU fallback allowed."""

import pytest
import torch
from compare import check_op

from torch_tpu import debug

ARITHMETIC = """add sub mul div rsub floor_divide remainder fmod pow float_power lerp addcmul addcdiv atan2 hypot copysign heaviside xlogy
logaddexp logaddexp2 maximum minimum fmax fmin clamp clamp_min clamp_max where masked_fill nan_to_num""".split()
FUNCTIONS = """exp exp2 expm1 log log1p log2 log10 sqrt rsqrt reciprocal square sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
sigmoid logit erf erfc erfinv lgamma digamma floor ceil round trunc frac abs neg sign signbit sinc angle isnan isinf isposinf isneginf
isfinite deg2rad rad2deg""".split()
ACTIVATIONS = """relu relu6 hardtanh hardsigmoid hardswish leaky_relu elu celu selu gelu silu mish softplus threshold hardshrink softshrink
logsigmoid glu prelu softsign tanhshrink""".split()
INTEGER = """eq ne lt le gt ge logical_and logical_or logical_xor logical_not add mul sub clamp abs neg sign sum prod cumsum max min argmax
amax any all cat flip roll where masked_fill remainder floor_divide count_nonzero""".split()
BITS = "bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift gcd lcm".split()
SHAPES = """cat stack tile repeat flip roll constant_pad_nd tril triu trace diag_embed select_scatter slice_scatter nn.functional.unfold
nn.functional.fold nn.functional.channel_shuffle nn.functional.pixel_shuffle arange linspace logspace eye full zeros ones meshgrid kron
block_diag unfold broadcast_to narrow split chunk unbind movedim""".split()
REDUCTIONS = """sum mean nansum nanmean prod amax amin max min argmax argmin all any var std var_mean std_mean norm linalg.vector_norm
logsumexp cumsum cumprod cummax cummin count_nonzero median nanmedian kthvalue mode histc aminmax renorm dist""".split()
SPECIAL = [
    f"special.{n}"
    for n in """airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 entr erfcx i0e i1 i1e log_ndtr modified_bessel_i0 modified_bessel_i1
modified_bessel_k0 modified_bessel_k1 ndtri scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 xlog1py zeta
chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he
laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t""".split()
] + ["i0", "frexp", "polygamma"]
BFLOAT16 = """add mul div exp log sigmoid tanh rsqrt sum mean var softplus cumsum amax where""".split()


def known():
    from torch.testing._internal.common_methods_invocations import op_db

    return {op.name for op in op_db}


NAMES = known()
FLOATS = [n for n in ARITHMETIC + FUNCTIONS + SHAPES + REDUCTIONS if n in NAMES] + [
    f"nn.functional.{n}" for n in ACTIVATIONS if f"nn.functional.{n}" in NAMES
]


@pytest.fixture(autouse=True, params=["DEFER_NEVER", "DEFER_AND_FUSE"])
def mode(request):
    with torch.tpu.set_eager_mode(torch.tpu.EagerMode[request.param]), debug.no_fallback():
        yield


@pytest.mark.parametrize("name", FLOATS)
def test_float32(name):
    check_op(name, torch.float32, limit=4, skip=lambda sample: "nuc" in sample.args)


@pytest.mark.parametrize("name", SPECIAL)
def test_special(name):
    check_op(name, torch.float32, limit=3)


@pytest.mark.parametrize("name", [n for n in SPECIAL if hasattr(torch.special, n.split(".")[-1]) and "poly" not in n and n not in ("special.zeta", "special.xlog1py")])
def test_special_is_as_exact_as_the_cpu(name):
    f = getattr(torch.special, name.split(".")[-1])
    x = torch.cat([torch.linspace(-30, 30, 4001), torch.logspace(-6, 1.5, 500)]) if name != "special.ndtri" else torch.rand(5000)
    exact, cpu, have = f(x.double()), f(x).double(), f(x.to("tpu")).cpu().double()
    finite = torch.isfinite(cpu) & torch.isfinite(exact)
    assert torch.equal(torch.isfinite(have), torch.isfinite(cpu))
    off = lambda v: ((v - exact).abs() / (exact.abs() + 0.1))[finite].max()  # noqa: E731
    assert off(have) < 3 * off(cpu) + 1e-6


@pytest.mark.parametrize("f", [lambda x: x.logcumsumexp(0), lambda x: x.logcumsumexp(-1), torch.sgn])
def test_forward_only(f):
    x = torch.randn(7, 9)
    x[2, 3], x[4] = float("-inf"), float("-inf")
    torch.testing.assert_close(f(x.to("tpu")).cpu(), f(x))


@pytest.mark.parametrize("name", [n for n in BFLOAT16 if n in NAMES] + ["nn.functional.gelu", "nn.functional.silu"])
def test_bfloat16(name):
    check_op(name, torch.bfloat16, limit=3)


@pytest.mark.parametrize("name", [n for n in INTEGER + BITS if n in NAMES])
def test_int64(name):
    check_op(name, torch.int64, limit=4)


@pytest.mark.parametrize("name", [n for n in INTEGER if n in NAMES])
def test_bool(name):
    check_op(name, torch.bool, limit=3)


@pytest.mark.parametrize("how", ["reflect", "replicate", "constant", "circular"])
@pytest.mark.parametrize("pad, shape", [((2, 1), (2, 3, 5)), ((1, 2, 3, 0), (2, 3, 5, 4)), ((1, 1, 2, 0, 1, 1), (1, 2, 4, 3, 5)), ((-1, 2), (2, 3, 5))])
def test_pad(how, pad, shape):
    if how == "circular" and min(pad) < 0:
        pytest.skip("PyTorch has no negative circular padding")
    x = torch.randn(shape, dtype=torch.float32)
    a, b = x.clone().requires_grad_(), x.to("tpu").requires_grad_()
    want, have = (torch.nn.functional.pad(v, pad, mode=how) for v in (a, b))
    torch.testing.assert_close(have.detach().cpu(), want.detach())
    weight = torch.randn_like(want)
    want.backward(weight)
    have.backward(weight.to("tpu"))
    torch.testing.assert_close(b.grad.cpu(), a.grad)


@pytest.mark.parametrize(
    "make",
    [
        lambda: (torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),),
        lambda: (torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last), torch.randn(3, 1, 1)),
        lambda: (torch.randn(3, 4).t(), torch.randn(3, 4).t()),
        lambda: (torch.randn(3, 4).t(), torch.randn(4, 3)),
        lambda: (torch.randn(4, 1, 3).permute(2, 0, 1), torch.randn(3, 1, 5)),
        lambda: (torch.randn(3, 1).expand(3, 4), torch.randn(4)),
    ],
)
def test_strides(make):
    args = make()
    f = torch.neg if len(args) == 1 else torch.add
    want, have = f(*args), f(*(x.to("tpu") for x in args))
    assert have.stride() == want.stride()
    torch.testing.assert_close(have.cpu(), want)


@pytest.mark.parametrize("scalar", [2, 2.5, True])
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_promotion(scalar, dtype):
    for shape in [(), (3,)]:
        x = torch.ones(shape, dtype=dtype)
        want, have = x * scalar, x.to("tpu") * scalar
        assert have.dtype == want.dtype
        torch.testing.assert_close(have.cpu(), want)


ERRORS = [
    (lambda d: torch.ones(3, device=d) + torch.ones(4, device=d), RuntimeError, "The size of tensor a"),
    (lambda d: torch.ones(3, device=d, dtype=torch.bool) - torch.ones(3, device=d, dtype=torch.bool), RuntimeError, "two bool tensors"),
    (lambda d: -torch.ones(3, device=d, dtype=torch.bool), RuntimeError, "Negation"),
    (lambda d: torch.ones(3, device=d).sum(2), IndexError, "Dimension out of range"),
    (lambda d: torch.ones(3, device=d, dtype=torch.int64).mean(), RuntimeError, "could not infer output dtype"),
    (lambda d: torch.cat([torch.ones(2, 3, device=d), torch.ones(3, 4, device=d)]), RuntimeError, "Sizes of tensors must match"),
    (lambda d: torch.ones(3, device=d, dtype=torch.int64) ** -1, RuntimeError, "Integers to negative integer powers"),
    (lambda d: torch.nn.functional.pad(torch.ones(1, 2, 3, device=d), (4, 0), mode="reflect"), RuntimeError, "Padding size should be less"),
    (lambda d: torch.empty(0, device=d).max(), RuntimeError, "Expected reduction dim"),
]


@pytest.mark.parametrize("f, kind, text", ERRORS)
def test_errors(f, kind, text):
    for device in ["cpu", "tpu"]:
        with pytest.raises(kind, match=text):
            f(device)


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean", "logsumexp"])
def test_complex_moments(name):
    check_op(name, torch.complex64, limit=8)


@pytest.mark.parametrize("name", ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "i0", "i0e", "modified_bessel_k0", "modified_bessel_k1"])
def test_bessel_functions_in_float64(name):
    """Against 40 digits: PyTorch's own float64 Bessel functions are good to 1e-8 only."""
    import mpmath

    order = int(name.rstrip("e")[-1])
    exact = {"bessel_j": mpmath.besselj, "bessel_y": mpmath.bessely, "modified_bessel_k": mpmath.besselk}.get(name[:-1], mpmath.besseli)
    x = torch.tensor([1e-8, 1e-3, 0.3, 1.0, 1.99, 2.01, 3.7, 5.0, 7.99, 8.01, 12.0, 30.0, 77.0, 500.0], dtype=torch.float64)
    have = getattr(torch.special, name)(x.to("tpu")).cpu()
    with mpmath.workdps(40):
        for v, h in zip(x.tolist(), have.tolist(), strict=True):
            want = exact(order, mpmath.mpf(v)) * (mpmath.exp(-mpmath.mpf(v)) if name == "i0e" else 1)
            size = mpmath.sqrt(2 / (mpmath.pi * v)) if v > 1 and "bessel_" in name and "modified" not in name else abs(want)  # of the wave
            assert abs(h - want) <= (4e-15 + 2**-53 * v) * size, v  # x - pi/4 is rounded: half a step of x


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("out", [torch.bfloat16, torch.float32, torch.float8_e4m3fn])
def test_scaled_products(each, out):
    a, b = torch.randn(32, 48).to(torch.float8_e4m3fn), torch.randn(64, 48).to(torch.float8_e4m3fn).t()
    scales = (torch.rand(32, 1) + 0.5, torch.rand(1, 64) + 0.5) if each else (torch.tensor(0.7), torch.tensor(1.3))
    want = (a.double() @ b.double()) * scales[0].double() * scales[1].double()
    have = torch._scaled_mm(a.to("tpu"), b.to("tpu"), *(s.to("tpu") for s in scales), out_dtype=out).cpu()
    step = {torch.bfloat16: 2**-8, torch.float32: 1e-6, torch.float8_e4m3fn: 2**-4}[out]
    assert have.dtype == out and (have.double() - want).abs().max() <= step * want.abs().max() * 1.01


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_signs_of_zeros_and_nan(dtype):
    x = torch.tensor([0.0, -0.0, float("nan"), -3, float("inf"), -1e-40], dtype=dtype)
    for f in (torch.sign, torch.sgn):
        want, have = f(x), f(x.to("tpu")).cpu()
        assert torch.equal(have, want) and torch.equal(torch.signbit(have), torch.signbit(want))

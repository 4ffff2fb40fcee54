"""Distributions: moments and quantiles within what so many samples allow, reproducible by seed, streams that do not overlap."""

import math

import pytest
import torch

N = 200_000


def draw(f, seed=3):
    torch.tpu.manual_seed_all(seed)
    return f(torch.empty(N, device="tpu")).cpu().double()


def near(value, want, spread):
    """Five standard errors."""
    assert abs(value - want) < 5 * spread / math.sqrt(N), (value, want)


def quantiles(x, cdf):
    """The largest distance of the empirical distribution from cdf (Kolmogorov-Smirnov)."""
    x = x.sort().values
    steps = torch.arange(1, len(x) + 1, dtype=torch.float64) / len(x)
    assert (cdf(x) - steps).abs().max() < 2.0 / math.sqrt(len(x))


def test_uniform():
    x = draw(lambda t: t.uniform_())
    assert x.min() >= 0 and x.max() < 1
    quantiles(x, lambda v: v)
    near(x.mean(), 0.5, math.sqrt(1 / 12))


def test_uniform_never_reaches_its_end():
    x = torch.empty(N, device="tpu", dtype=torch.bfloat16).uniform_(-1, 1).cpu()
    assert x.min() >= -1 and x.max() < 1
    x = torch.empty(N, device="tpu").uniform_(1e6, 1e6 + 1).cpu()
    assert x.min() >= 1e6 and x.max() < 1e6 + 1


def test_normal():
    x = draw(lambda t: t.normal_(1.0, 2.0))
    assert torch.isfinite(x).all()
    near(x.mean(), 1, 2)
    near(((x - 1) / 2).pow(2).mean(), 1, math.sqrt(2))
    near(((x - 1) / 2).pow(4).mean(), 3, math.sqrt(96))
    quantiles((x - 1) / 2, lambda v: 0.5 * (1 + torch.erf(v / math.sqrt(2))))
    pairs = (x[0::2] - 1) * (x[1::2] - 1) / 4
    near(pairs.mean(), 0, math.sqrt(2))


def test_normal_of_tensors():
    mean, std = torch.arange(4.0, device="tpu")[:, None].expand(4, N // 4), torch.tensor(0.5, device="tpu")
    torch.tpu.manual_seed_all(0)
    x = torch.normal(mean, std).cpu().double()
    assert (x.mean(1) - torch.arange(4.0)).abs().max() < 5 * 0.5 / math.sqrt(N / 4)


@pytest.mark.parametrize("rate", [0.5, 2.0])
def test_exponential(rate):
    x = draw(lambda t: t.exponential_(rate))
    assert x.min() > 0
    quantiles(x, lambda v: 1 - torch.exp(-rate * v))


def test_geometric():
    x = draw(lambda t: t.geometric_(0.3))
    assert x.min() >= 1
    near(x.mean(), 1 / 0.3, math.sqrt(0.7) / 0.3)


def test_cauchy():
    x = draw(lambda t: t.cauchy_(1.0, 2.0))
    quantiles(x, lambda v: torch.atan((v - 1) / 2) / math.pi + 0.5)


def test_log_normal():
    x = draw(lambda t: t.log_normal_(0.0, 1.0)).log()
    quantiles(x, lambda v: 0.5 * (1 + torch.erf(v / math.sqrt(2))))


@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
def test_bernoulli(p):
    x = draw(lambda t: t.bernoulli_(p))
    if p in (0, 1):
        assert (x == p).all()
    else:
        near(x.mean(), p, math.sqrt(p * (1 - p)))
    x = torch.bernoulli(torch.full((N,), p, device="tpu")).cpu().double()
    near(x.mean(), p, math.sqrt(p * (1 - p)) + 1e-9)


@pytest.mark.parametrize("low, high, dtype", [(0, 7, torch.int64), (-3, 3, torch.int32), (0, 256, torch.uint8), (-(2**62), 2**62, torch.int64)])
def test_randint(low, high, dtype):
    torch.tpu.manual_seed_all(1)
    x = torch.randint(low, high, (N,), device="tpu", dtype=dtype).cpu().long()
    assert x.min() >= low and x.max() < high
    if high - low < 300:
        counts = torch.bincount((x - low), minlength=high - low).double()
        want = N / (high - low)
        assert ((counts - want) ** 2 / want).sum() < (high - low) + 6 * math.sqrt(2 * (high - low))


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_randperm(n):
    x = torch.randperm(n, device="tpu").cpu()
    assert torch.equal(x.sort().values, torch.arange(n))
    if n > 100:
        assert not torch.equal(x, torch.arange(n))


@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial(replacement):
    p = torch.tensor([0.0, 1.0, 2.0, 0.0, 5.0, 0.0])
    torch.tpu.manual_seed_all(2)
    x = torch.multinomial(p.to("tpu").expand(4000, 6), 3 if replacement else 2, replacement).cpu()
    assert set(x.flatten().tolist()) <= {1, 2, 4}
    first = torch.bincount(x[:, 0], minlength=6).double() / 4000
    assert (first - p / p.sum()).abs().max() < 5 * 0.5 / math.sqrt(4000)
    if not replacement:
        assert (x[:, 0] != x[:, 1]).all()


def test_dropout():
    x = torch.ones(N, device="tpu", requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.2)
    y.sum().backward()
    values = y.detach().cpu()
    assert torch.equal(values, x.grad.cpu())
    assert set(values.unique().tolist()) == {0.0, 1.25}
    near((values > 0).double().mean(), 0.8, 0.4)


def test_reproducible_and_disjoint():
    g = torch.Generator("tpu").manual_seed(5)
    a, b = (torch.rand(1001, device="tpu", generator=g).cpu() for _ in range(2))
    g.manual_seed(5)
    both = torch.rand(1001, device="tpu", generator=g).cpu(), torch.rand(1001, device="tpu", generator=g).cpu()
    assert torch.equal(a, both[0]) and torch.equal(b, both[1])
    assert len(set(a.tolist()) & set(b.tolist())) < 5
    g.manual_seed(6)
    assert not torch.equal(torch.rand(1001, device="tpu", generator=g).cpu(), a)


def test_shape_does_not_matter():
    g = torch.Generator("tpu").manual_seed(5)
    a = torch.rand(24, device="tpu", generator=g).cpu()
    g.manual_seed(5)
    assert torch.equal(torch.rand(2, 3, 4, device="tpu", generator=g).cpu().flatten(), a)


def near_mass(x, mass, low, high):
    """The chi-square statistic of whole numbers against their probabilities, where five and more are expected: within 6 deviations."""
    k = torch.arange(low, high + 1, dtype=torch.float64)
    want = mass(k) * len(x)
    have = torch.bincount(x.long() - low, minlength=high - low + 1)[: high - low + 1]
    many = want > 5
    statistic, freedom = ((have - want) ** 2 / want)[many].sum(), int(many.sum()) - 1
    assert statistic < freedom + 6 * math.sqrt(2 * freedom), (statistic, freedom)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("alpha", [0.02, 0.7, 1.0, 4.5, 200.0])
def test_gamma(alpha, dtype):
    x = draw(lambda t: torch._standard_gamma(torch.full((N,), alpha, device="tpu", dtype=dtype)))
    assert x.min() > 0
    least = 1e-30  # below it values of f32 are held at its smallest normal number
    part = torch.special.gammainc(torch.tensor(alpha, dtype=torch.float64), torch.tensor(least, dtype=torch.float64))
    x = x[x > least]
    quantiles(x, lambda v: (torch.special.gammainc(torch.full_like(v, alpha), v) - part) / (1 - part))


@pytest.mark.parametrize("rate", [0.2, 3.0, 9.99, 10.0, 40.0, 3e4])
def test_poisson(rate):
    x = draw(lambda t: torch.poisson(torch.full((N,), rate, device="tpu")))
    assert x.min() >= 0 and torch.equal(x, x.floor())
    low, high = max(0, int(rate - 6 * rate**0.5)), int(rate + 6 * rate**0.5 + 6)
    near(x.mean(), rate, math.sqrt(rate))
    near_mass(x[(x >= low) & (x <= high)], lambda k: (k * math.log(rate) - rate - torch.lgamma(k + 1)).exp(), low, high)


@pytest.mark.parametrize("n, p", [(1, 0.4), (10, 0.5), (100, 0.02), (100, 0.97), (100, 0.3), (5000, 0.6)])
def test_binomial(n, p):
    x = draw(lambda t: torch.binomial(torch.full((N,), float(n), device="tpu"), torch.full((N,), p, device="tpu")))
    assert x.min() >= 0 and x.max() <= n and torch.equal(x, x.floor())
    mass = lambda k: (math.lgamma(n + 1) - torch.lgamma(k + 1) - torch.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p)).exp()  # noqa: E731
    near_mass(x, mass, 0, n)


def test_counts_at_the_ends():
    zeros, ones = torch.zeros(100, device="tpu"), torch.ones(100, device="tpu")
    assert not torch.poisson(zeros).any()
    assert not torch.binomial(ones * 7, zeros).any() and (torch.binomial(ones * 7, ones) == 7).all() and not torch.binomial(zeros, ones * 0.5).any()
    with pytest.raises(RuntimeError, match="Poisson rate"):
        torch.poisson(-ones).cpu()


def test_dirichlet():
    alpha = torch.tensor([0.5, 2.0, 3.0])
    x = draw(lambda t: torch._sample_dirichlet(alpha.to("tpu").expand(N, 3)))
    assert (x > 0).all() and (x < 1).all() and (x.sum(1) - 1).abs().max() < 1e-6
    for i, a in enumerate(alpha.tolist()):
        near(x[:, i].mean(), a / 5.5, math.sqrt(a / 5.5 * (1 - a / 5.5) / 6.5))
    tiny = torch._sample_dirichlet(torch.full((1000, 4), 1e-3, device="tpu")).cpu()
    assert tiny.isfinite().all() and (tiny.sum(1) - 1).abs().max() < 1e-5


def test_gradients_of_samples():
    """Of a gamma sample: by differences of the quantile, which PyTorch's own formula meets to 1e-3; of a Dirichlet sample as on the CPU."""
    from scipy.special import gammainc, gammaincinv

    for alpha, x in ((0.3, 0.05), (1.0, 2.0), (2.3, 1.7), (30.0, 33.0)):
        step, level = 1e-5 * alpha, gammainc(alpha, x)
        want = (gammaincinv(alpha + step, level) - gammaincinv(alpha - step, level)) / (2 * step)
        have = torch._standard_gamma_grad(*(torch.tensor([v], dtype=torch.float64, device="tpu") for v in (alpha, x)))
        assert abs(have.item() - want) < 1e-6 * want
    alpha = torch.rand(200, 3) * 5 + 0.1
    x, total = torch._sample_dirichlet(alpha), alpha.sum(-1, True).expand_as(alpha)
    have = torch._dirichlet_grad(x.to("tpu"), alpha.to("tpu"), total.to("tpu")).cpu()
    torch.testing.assert_close(have, torch._dirichlet_grad(x, alpha, total), rtol=2e-3, atol=2e-6)


@pytest.mark.parametrize("f", [lambda g: torch._standard_gamma(torch.full((999,), 0.7, device="tpu"), generator=g),
                               lambda g: torch.poisson(torch.linspace(0, 50, 999, device="tpu"), generator=g),
                               lambda g: torch.binomial(torch.full((999,), 50.0, device="tpu"), torch.linspace(0, 1, 999, device="tpu"), generator=g)])
def test_generators_of_loops(f):
    """The same numbers from the same generator, others from the next draw; strict and fused agree."""
    results = []
    for mode in (torch.tpu.EagerMode.DEFER_NEVER, torch.tpu.EagerMode.DEFER_AND_FUSE):
        with torch.tpu.set_eager_mode(mode):
            g = torch.Generator("tpu").manual_seed(4)
            results += [f(g), f(g)]
    a, b, c, d = (x.cpu() for x in results)
    assert torch.equal(a, c) and torch.equal(b, d) and not torch.equal(a, b)

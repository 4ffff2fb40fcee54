"""Generators: counter based, 16 bytes of state, one default per device."""

import pytest
import torch


@pytest.mark.one_mode
def test_a_generator_object():
    g = torch.Generator(device="tpu")
    g.manual_seed(5)
    state = g.get_state()
    assert g.device.type == "tpu" and g.initial_seed() == 5 and state.numel() == 16 and state.dtype == torch.uint8
    a = torch.empty(100, device="tpu").uniform_(generator=g)
    assert g.get_state().tolist() != state.tolist()
    g.set_state(state)
    assert torch.equal(torch.empty(100, device="tpu").uniform_(generator=g).cpu(), a.cpu())
    h = g.clone_state()
    assert torch.equal(torch.empty(9, device="tpu").uniform_(generator=g).cpu(), torch.empty(9, device="tpu").uniform_(generator=h).cpu())
    with pytest.raises((RuntimeError, TypeError)):
        g.set_state(torch.zeros(3, dtype=torch.uint8))
    with pytest.raises(RuntimeError, match="Expected a 'tpu' device type for generator but found 'cpu'"):
        torch.empty(3, device="tpu").uniform_(generator=torch.Generator())


def test_seeding_and_state():
    torch.manual_seed(7)
    assert torch.tpu.initial_seed() == 7 == torch.tpu.default_generators[0].initial_seed()
    a = torch.randn(50, device="tpu").cpu()
    state = torch.tpu.get_rng_state()
    b = torch.randn(50, device="tpu").cpu()
    torch.tpu.set_rng_state(state)
    assert torch.equal(torch.randn(50, device="tpu").cpu(), b) and not torch.equal(a, b)
    torch.manual_seed(7)
    assert torch.equal(torch.randn(50, device="tpu").cpu(), a)
    torch.tpu.manual_seed_all(7)
    assert torch.equal(torch.randn(50, device="tpu").cpu(), a)
    assert torch.tpu.seed() == torch.tpu.initial_seed()


def test_fork_rng():
    torch.manual_seed(1)
    state = torch.tpu.get_rng_state()
    with torch.random.fork_rng(devices=[0], device_type="tpu"):
        torch.randn(10, device="tpu")
        torch.manual_seed(99)
    assert torch.equal(torch.tpu.get_rng_state(), state)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_repeats_dropout(reentrant):
    from torch.utils.checkpoint import checkpoint

    w = torch.ones(64, device="tpu", requires_grad=True)
    y = checkpoint(lambda a: torch.nn.functional.dropout(a, 0.5), w, use_reentrant=reentrant)
    after = torch.tpu.get_rng_state()
    y.sum().backward()
    assert torch.equal(y.detach().cpu() != 0, w.grad.cpu() != 0)
    assert torch.equal(torch.tpu.get_rng_state(), after)  # the second forward pass leaves no trace

    w.grad = None
    y = checkpoint(lambda a: torch.nn.functional.dropout(a, 0.5), w, use_reentrant=reentrant, preserve_rng_state=False)
    y.sum().backward()
    assert not torch.equal(y.detach().cpu() != 0, w.grad.cpu() != 0)


@pytest.mark.one_mode
def test_helper_op_returns_a_generator():
    assert isinstance(torch.ops.tpu_bridge.default_generator(0), torch.Generator)


@pytest.mark.parametrize("make", [
    lambda g: torch.randn(20000, device="tpu", generator=g),
    lambda g: torch.rand(20000, device="tpu", generator=g),
    lambda g: torch.randint(0, 10, (20000,), device="tpu", generator=g).float(),
    lambda g: torch.bernoulli(torch.full((20000,), 0.3, device="tpu"), generator=g),
    lambda g: torch.empty(20000, device="tpu").exponential_(generator=g),
])  # fmt: skip
def test_moments(make):
    g = torch.Generator(device="tpu").manual_seed(11)
    t = make(g).cpu().double()
    mean, std = {0: (0, 1), 1: (0.5, 12**-0.5), 2: (4.5, 8.25**0.5), 3: (0.3, 0.21**0.5), 4: (1, 1)}[_which(t)]
    assert abs(t.mean() - mean) < 5 * std / 20000**0.5 and abs(t.std() - std) < 0.05 * std


def _which(t):
    if set(t.unique().tolist()) <= {0.0, 1.0}:
        return 3
    if torch.equal(t, t.round()):
        return 2
    if t.min() < 0:
        return 0
    return 1 if t.max() <= 1 else 4

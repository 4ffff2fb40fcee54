"""Optimizers, foreach ops and the gradient scaler against the CPU."""

import copy

import pytest
import torch


def lists(n, seed, dtype=torch.float32):
    g = torch.Generator().manual_seed(seed)
    return [(torch.rand(shape, generator=g) + 0.1).to(dtype) for shape in ((3, 4), (5,), ())[:n]]


CASES = [
    (name, args)
    for name in ("add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max", "pow")
    for args in (
        lambda: (lists(3, 1), 2.5),
        lambda: (lists(3, 1), lists(3, 2)),
        lambda: (lists(3, 1), [1.5, 2.0, -0.5]),
    )
]
CASES += [
    (name, lambda: (lists(3, 1),))
    for name in "abs neg sqrt exp reciprocal sign sigmoid norm max log round".split()
]
CASES += [
    ("addcmul", lambda: (lists(3, 1), lists(3, 2), lists(3, 3), 0.5)),
    ("addcdiv", lambda: (lists(3, 1), lists(3, 2), lists(3, 3), [0.5, 2.0, 3.0])),
]
CASES += [
    ("lerp", lambda: (lists(3, 1), lists(3, 2), 0.3)),
    ("add", lambda: (lists(3, 1), torch.tensor(2.0))),
]


@pytest.mark.parametrize("name, args", CASES)
def test_foreach(name, args):
    want = getattr(torch, f"_foreach_{name}")(*args())
    move = torch.utils._pytree.tree_map_only
    there = move(torch.Tensor, lambda t: t.to("tpu"), args())
    have = getattr(torch, f"_foreach_{name}")(*there)
    for h, w in zip(have, want, strict=True):
        torch.testing.assert_close(h.cpu(), w, rtol=2e-6, atol=1e-6)
    in_place = getattr(torch, f"_foreach_{name}_", None)
    if in_place:
        in_place(*there)
        for h, w in zip(there[0], want, strict=True):
            torch.testing.assert_close(h.cpu(), w, rtol=2e-6, atol=1e-6)


OPTIMIZERS = [
    (torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
    (torch.optim.AdamW, {"lr": 0.01, "amsgrad": True}),
    (torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.1}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    (torch.optim.SGD, {"lr": 0.1}),
    (torch.optim.Adagrad, {"lr": 0.1, "lr_decay": 0.01}),
]


@pytest.mark.parametrize("how", ["fused", "foreach", "single"])
@pytest.mark.parametrize("cls, kwargs", OPTIMIZERS)
def test_optimizer(cls, kwargs, how):
    flags = {"fused": {"fused": True}, "foreach": {"foreach": True}, "single": {"foreach": False}}[how]
    torch.manual_seed(0)
    here = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    there = copy.deepcopy(here).to("tpu")
    a, b = cls(here.parameters(), foreach=False, **kwargs), cls(there.parameters(), **kwargs, **flags)
    schedules = [torch.optim.lr_scheduler.ExponentialLR(o, 0.9) for o in (a, b)]
    x = torch.randn(16, 4)
    for _ in range(4):
        for model, optimizer, data in ((here, a, x), (there, b, x.to("tpu"))):
            optimizer.zero_grad()
            model(data).pow(2).mean().backward()
            optimizer.step()
        for s in schedules:
            s.step()
    for p, q in zip(there.parameters(), here.parameters(), strict=True):
        torch.testing.assert_close(p.cpu(), q, rtol=2e-5, atol=2e-6)


def test_grad_scaler():
    """An overflow is found, the step skipped and the scale halved."""
    model = torch.nn.Linear(2, 1).to("tpu")
    before = model.weight.detach().cpu().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("tpu", init_scale=4.0)
    for x, moves in ((float("inf"), False), (1.0, True)):
        optimizer.zero_grad()
        scaler.scale(model(torch.full((1, 2), x, device="tpu")).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert (not torch.equal(model.weight.detach().cpu(), before)) == moves
    assert scaler.get_scale() == 2.0


@pytest.mark.parametrize("mode", ["DEFER_NEVER", "DEFER_AND_FUSE"])
@pytest.mark.parametrize("shift", range(4))
def test_elements_that_meet_go_in_order(mode, shift):
    def run(device):
        a, b, c = torch.arange(4.0).to(device), torch.ones(4).to(device), lists(1, 5)[0].to(device)
        torch._foreach_add_([a, a], 1)
        torch._foreach_mul_([b, b], torch.tensor(0.5).to(device))
        torch._foreach_add_([b[0], a, b], b[0])
        torch._foreach_add_([a, b, a], [b, a, a], alpha=2.0 + shift)
        torch._foreach_mul_([a, b, a], [1.5, 2.0, 3.0])
        torch._foreach_add_([c[0], c[1], c[shift % 3]], 1)
        torch._foreach_add_([c[0], c[1]], [c[1], c[2]])
        torch._foreach_copy_([c[1], c[2]], [c[2], c[1]])
        torch._foreach_addcmul_([a, a], [b, b], [c[0], a], 0.5)
        torch._fused_sgd_(
            [a, b, a], [b, a, b], [], weight_decay=0.1, momentum=0, lr=0.1, dampening=0, nesterov=False, maximize=False, is_first_step=False
        )
        return a.cpu(), b.cpu(), c.cpu()

    before, torch.tpu.eager_mode = torch.tpu.eager_mode, getattr(torch.tpu.EagerMode, mode)
    try:
        for want, got in zip(run("cpu"), run("tpu"), strict=True):
            torch.testing.assert_close(got, want)
    finally:
        torch.tpu.eager_mode = before


@pytest.mark.parametrize("mode", ["DEFER_NEVER", "DEFER_AND_FUSE"])
def test_a_list_that_fails_in_a_later_part_changes_nothing(mode):
    with torch.tpu.set_eager_mode(getattr(torch.tpu.EagerMode, mode)):
        a, b = torch.zeros(4, device="tpu"), torch.ones(3, device="tpu")
        short = torch.ones(5, device="tpu")
        for _ in range(3):
            with pytest.raises(RuntimeError):
                torch._foreach_add_([a, b, a, b], [a + 1, b, short, b])
            with pytest.raises(RuntimeError, match="at most 16"):
                torch._foreach_add_([a, b, a, b, b[:1].as_strided([1] * 17, [1] * 17)], 1)
        assert a.tolist() == [0] * 4 and b.tolist() == [1] * 3
        torch._foreach_add_([a, a, a[0]], 1)
        assert a.tolist() == [3, 2, 2, 2]

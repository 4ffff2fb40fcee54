"""Gradients of tables are zero but for the rows that were named, and updates touch only those: with the bits of an update of the whole table."""

import contextlib

import pytest
import torch
import torch.nn.functional as F

ROWS, WIDTH = 3000, 24


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def table(dtype):
    t = torch.randn(ROWS, WIDTH)
    t[5] = -0.0
    t[7, 3], t[7, 4] = float("inf"), float("nan")
    return t.to(dtype)


def bits(t):
    return t.detach().cpu().view(torch.int16 if t.dtype == torch.bfloat16 else torch.int32)


def gradient(ids, w, seed):
    g = torch.randn(len(ids), WIDTH, generator=torch.Generator().manual_seed(seed)).to(w.dtype).to("tpu")
    return torch.ops.aten.embedding_dense_backward(g, ids, ROWS, -1, False)


def whole(g):
    """The same values, of which nothing is known."""
    return torch.from_numpy(g.float().cpu().numpy().copy()).to(g.dtype).to("tpu")


UPDATES = {
    "add": lambda p, g: p.add_(g, alpha=-0.1),
    "ascend": lambda p, g: p.add_(g, alpha=0.1),  # -0 + 0 is 0: every row changes
    "plain": lambda p, g: p.sub_(g),
    "infinite": lambda p, g: p.add_(g, alpha=float("inf")),  # not a number where the gradient is 0
    "nan": lambda p, g: p.add_(g, alpha=float("nan")),
    "list": lambda p, g: torch._foreach_add_([p], [g], alpha=-0.5),
    "fused": lambda p, g: torch._fused_sgd_(
        [p], [g], [], weight_decay=0, momentum=0, lr=0.1, dampening=0, nesterov=False, maximize=False, is_first_step=False
    ),
    "decay": lambda p, g: p.add_(g.add(p, alpha=0.01), alpha=-0.1),
    "scaled": lambda p, g: p.add_(g.mul_(0.5), alpha=-0.1),
    "twice": lambda p, g: (p.add_(g, alpha=-0.1), p.add_(g, alpha=-0.2)),
    "shifted": lambda p, g: p.add_(g.add_(1), alpha=-0.1),
    "itself": lambda p, g: p.add_(p, alpha=-0.1),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", UPDATES)
def test_update_has_the_bits_of_a_whole_one(name, dtype):
    start = table(dtype)
    a, b = start.clone().to("tpu"), start.clone().to("tpu")
    for step in range(4):
        ids = torch.randint(0, ROWS, (40,)).to("tpu")
        g = gradient(ids, a, step)
        UPDATES[name](b, whole(g))
        UPDATES[name](a, g)
        assert torch.equal(bits(a), bits(b))


def test_an_alpha_that_changes():
    a = table(torch.float32).to("tpu")
    b = a.clone()
    for step, alpha in enumerate([-0.1, -0.2, -0.3, -0.4, 0.5, float("nan")]):
        g = gradient(torch.randint(0, ROWS, (40,)).to("tpu"), a, step)
        b.add_(whole(g), alpha=alpha)
        a.add_(g, alpha=alpha)
        assert torch.equal(bits(a), bits(b))


@pytest.mark.parametrize("n", [1, 40, ROWS // 4, ROWS, 3 * ROWS])
def test_memory_that_comes_back_is_zero_again(n):
    for step in range(6):
        ids = torch.randint(0, ROWS, (n if step % 2 else 10,))
        g = torch.randn(len(ids), WIDTH)
        want = torch.zeros(ROWS, WIDTH).index_add_(0, ids, g)
        got = torch.ops.aten.embedding_dense_backward(g.to("tpu"), ids.to("tpu"), ROWS, -1, False)
        torch.testing.assert_close(got.cpu(), want)
        assert torch.equal(got.cpu() == 0, want == 0)
        if step == 2:
            got.add_(1)  # in place: its memory is not zero any more
        del got
        torch.tpu.synchronize()


def test_memory_that_comes_back_for_another_table():
    for rows, width in ((1000, 64), (2000, 32), (999, 64), (500, 128), (1000, 64)):
        ids, g = torch.randint(0, rows, (17,)), torch.randn(17, width)
        got = torch.ops.aten.embedding_dense_backward(g.to("tpu"), ids.to("tpu"), rows, -1, False).cpu()
        assert torch.equal(got != 0, torch.zeros(rows, width).index_add_(0, ids, g) != 0)


def test_a_gradient_that_the_host_writes():
    a = table(torch.float32).to("tpu")
    b = a.clone()
    g = gradient(torch.randint(0, ROWS, (40,)).to("tpu"), a, 0)
    torch.tpu.synchronize()
    g.copy_(torch.ones(ROWS, WIDTH))
    b.add_(torch.ones(ROWS, WIDTH, device="tpu"), alpha=-0.1)
    a.add_(g, alpha=-0.1)
    assert torch.equal(bits(a), bits(b))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("change", ["nothing", "read", "clip", "accumulate", "keep zeros", "momentum", "decay", "ascend", "hook"])
def test_training_steps(change, compiled):
    """As with gradients of which nothing is known: those that went through the host."""
    tables = []
    for known in (True, False):
        torch.manual_seed(1)
        w = torch.nn.Parameter(table(torch.float32).nan_to_num(0, 0, 0).to("tpu"))
        more = {"momentum": {"momentum": 0.9}, "decay": {"weight_decay": 0.1}, "ascend": {"maximize": True}}.get(change, {})
        sgd = torch.optim.SGD([w], lr=0.1, **more)
        f = lambda ids, w: F.embedding(ids, w).sum(1).square().sum()
        f = torch.compile(f, backend="tpu") if compiled else f
        hook = w.register_hook(lambda g: g * 2 + 1e-3) if change == "hook" else contextlib.nullcontext()
        for step in range(5):
            if change != "accumulate" or step % 2 == 0:
                sgd.zero_grad(set_to_none=change != "keep zeros")
            f(torch.randint(0, ROWS, (20, 3)).to("tpu"), w).backward()
            if not known:
                w.grad = whole(w.grad)
            if change == "read":
                w.grad.norm().item()
            if change == "clip":
                torch.nn.utils.clip_grad_norm_([w], 0.1)
            sgd.step()
        tables.append(w)
        if change == "hook":
            hook.remove()
    assert torch.equal(bits(tables[0]), bits(tables[1]))

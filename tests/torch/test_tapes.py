"""torch.compile's later calls, which play a tape of the first (run/tape.c): the same values, aliases, writes and random numbers as eager."""

import pytest
import torch
import torch.nn.functional as F

DEVICE = "tpu"


def both(function, make, calls=4):
    """Calls the compiled function and the plain one on CPU; each call's results and arguments must agree afterwards."""
    compiled = torch.compile(function, backend="tpu", dynamic=False)
    for call in range(calls):
        theirs = make(call)
        ours = [a.to(DEVICE) if isinstance(a, torch.Tensor) else a for a in theirs]
        expected, got = function(*theirs), compiled(*ours)
        for e, g in zip(*(x if isinstance(x, tuple) else (x,) for x in (expected, got)), strict=True):
            torch.testing.assert_close(g.cpu(), e)
        for e, g in zip(theirs, ours, strict=True):
            if isinstance(e, torch.Tensor):
                torch.testing.assert_close(g.cpu(), e)
    return compiled


def random(*shape):
    return lambda call: (torch.randn(*shape, generator=torch.Generator().manual_seed(call)),)


def test_a_tape_is_played_without_calling_ops():
    def f(x):
        return torch.relu(x @ x.t()).sum(0)

    compiled = torch.compile(f, backend="tpu")
    x = torch.randn(5, 5, device=DEVICE)
    first = compiled(x)
    calls = []
    graph_calls = torch.fx.GraphModule.__call__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.fx.GraphModule, "__call__", lambda *a: calls.append(a) or graph_calls(*a))
        later = [compiled(x) for _ in range(3)]
    assert not calls
    for y in later:
        torch.testing.assert_close(y.cpu(), first.cpu())


def test_values_follow_the_arguments():
    both(lambda x: (x * 2, x.sum(), x.t()), random(4, 6))


def test_writes_reach_the_arguments():
    def f(x, y):
        x.add_(y)
        y[1].mul_(3)
        return x.sum()

    both(f, lambda c: (torch.randn(3, 4) + c, torch.ones(3, 4) * c))


def test_results_that_alias():
    def f(x):
        y = x * 2
        return y, y[1:], x.view(-1), x

    compiled = both(f, random(3, 4))
    x = torch.randn(3, 4, device=DEVICE)
    y, part, flat, same = compiled(x)
    y.zero_()
    assert part.abs().sum().item() == 0
    flat[0] = 7
    assert x[0, 0].item() == 7 and same[0, 0].item() == 7


def test_arguments_that_share_a_storage_are_another_graph():
    def f(x, y):
        x.add_(1)
        return y * 2

    compiled = torch.compile(f, backend="tpu", dynamic=False)
    for _ in range(3):
        apart = torch.zeros(4, device=DEVICE), torch.ones(4, device=DEVICE)
        assert compiled(*apart).tolist() == [2.0] * 4
    whole = torch.zeros(8, device=DEVICE)
    for k in range(3):
        assert compiled(whole[:4], whole[4:]).tolist() == [0.0] * 4
        assert whole.tolist() == [k + 1.0] * 4 + [0.0] * 4
    x = torch.zeros(4, device=DEVICE)
    for k in range(3):
        assert compiled(x, x).tolist() == [2.0 * (k + 1)] * 4


def test_shapes_and_dtypes_that_change():
    compiled = torch.compile(lambda x: (x * 3).sum(-1), backend="tpu", dynamic=False)
    for shape in [(3, 4), (2, 5), (3, 4), (2, 5), (7,)]:
        for dtype in (torch.float32, torch.int64):
            x = torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)
            assert compiled(x.to(DEVICE)).tolist() == (x * 3).sum(-1).tolist()


def test_random_numbers_are_new_in_each_call_and_follow_the_seed():
    compiled = torch.compile(lambda x: F.dropout(x, 0.5), backend="tpu", dynamic=False)
    x = torch.ones(1000, device=DEVICE)
    torch.manual_seed(3)
    first = [compiled(x).cpu() for _ in range(3)]
    torch.manual_seed(3)
    again = [compiled(x).cpu() for _ in range(3)]
    assert not torch.equal(first[0], first[1]) and not torch.equal(first[1], first[2])
    for a, b in zip(first, again, strict=True):
        assert torch.equal(a, b)


def test_a_graph_that_reads_back_is_captured_each_time():
    def f(x):
        return x[: int(x.sum().item())] * 2

    compiled = torch.compile(f, backend="tpu")
    for n in (1, 2, 3, 2):
        x = torch.zeros(8)
        x[:n] = 1
        assert compiled(x.to(DEVICE)).tolist() == f(x).tolist()


def test_index_errors_are_raised_in_later_calls():
    compiled = torch.compile(lambda w, i: F.embedding(i, w), backend="tpu", dynamic=False)
    w = torch.randn(4, 3, device=DEVICE)
    for _ in range(3):
        compiled(w, torch.tensor([0, 3], device=DEVICE)).sum().item()
    with pytest.raises(IndexError):
        compiled(w, torch.tensor([0, 4], device=DEVICE)).sum().item()
    assert compiled(w, torch.tensor([1], device=DEVICE)).tolist() == w[1:2].tolist()


def test_training_steps_equal_eager():
    def run(compiled):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.GELU(), torch.nn.Linear(8, 2)).to(DEVICE)
        step = torch.compile(model, backend="tpu", dynamic=False) if compiled else model
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        losses = []
        for k in range(6):
            x = torch.randn(16, 6, generator=torch.Generator().manual_seed(k)).to(DEVICE)
            optimizer.zero_grad()
            loss = step(x).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, [b.cpu() for b in model.buffers()]

    (ours, buffers), (eager, expected) = run(True), run(False)
    assert ours == eager
    for a, b in zip(buffers, expected, strict=True):
        torch.testing.assert_close(a, b)


def test_arguments_that_share_a_value_at_first():
    compiled = torch.compile(lambda x, y: x * 2 + y, backend="tpu", dynamic=False)
    x = torch.arange(4.0, device=DEVICE)
    y = torch.empty_like(x).copy_(x)  # one value until one of the two is written
    torch.testing.assert_close(compiled(x, y).cpu(), torch.arange(4.0) * 3)
    for a, b in ((1.0, 5.0), (2.0, -1.0)):
        got = compiled(torch.full((4,), a, device=DEVICE), torch.full((4,), b, device=DEVICE))
        torch.testing.assert_close(got.cpu(), torch.full((4,), 2 * a + b))
    y.add_(1)
    torch.testing.assert_close(x.cpu(), torch.arange(4.0))


def test_a_later_call_is_the_tape_alone(monkeypatch):
    from torch_tpu.compile import _Graph

    torch._dynamo.reset()
    entered, boxed = [], _Graph.boxed

    def counted(self):
        inner = boxed(self)

        def call(arguments):
            entered.append(self)
            return inner(arguments)

        call._boxed_call = True
        return call

    monkeypatch.setattr(_Graph, "boxed", counted)
    compiled = torch.compile(lambda x, y: (x @ y, y.sum()), backend="tpu", dynamic=False)
    x, y = torch.randn(4, 4, device=DEVICE), torch.randn(4, 4, device=DEVICE)
    for _ in range(4):
        product, total = compiled(x, y)
    assert len(entered) == 1
    torch.testing.assert_close(product.cpu(), x.cpu() @ y.cpu())
    torch.testing.assert_close(total.cpu(), y.cpu().sum())
    product, _ = compiled(x[:2], y)  # another graph
    torch.testing.assert_close(product.cpu(), x[:2].cpu() @ y.cpu())
    assert len(entered) == 2


def test_versions_count_as_they_do_in_the_first_call():
    compiled = torch.compile(lambda x: (x.add_(1), x.t())[1].sum(), backend="tpu", dynamic=False)
    x, steps = torch.zeros(3, device=DEVICE), []
    for _ in range(4):
        before = x._version
        compiled(x)
        steps.append(x._version - before)
    assert len(set(steps)) == 1
    assert x.cpu().tolist() == [4, 4, 4]

"""Many threads at once: each has its own tensors, all share the device, its queue and the caches."""

import threading

import torch


def work(seed, out):
    g = torch.Generator().manual_seed(seed)
    a, b = torch.randn(8, 8, generator=g), torch.randn(8, 8, generator=g)
    x, y = a.to("tpu"), b.to("tpu")
    for i in range(50):
        x = torch.tanh(x @ y) + i
        x[i % 8] *= 0.5
        a = torch.tanh(a @ b) + i
        a[i % 8] *= 0.5
        if i % 17 == 0:
            torch.testing.assert_close(x.cpu(), a, rtol=1e-4, atol=1e-4)
    out[seed] = (x.cpu() - a).abs().max().item()


def test_threads_do_not_disturb_each_other():
    out = {}
    threads = [threading.Thread(target=work, args=(i, out)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=300)
    assert len(out) == 6 and max(out.values()) < 1e-3


def test_one_tensor_written_by_many_threads():
    x = torch.zeros(16, device="tpu")

    def add():
        for _ in range(100):
            x.add_(1)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=300)
    assert x.tolist() == [400.0] * 16  # an in-place op is one step: none is lost


def test_autograd_engine_threads():
    w = torch.randn(4, 4, device="tpu", requires_grad=True)
    want = w.detach().cpu().requires_grad_()
    for t in (w, want):
        for _ in range(3):
            (torch.sin(t) @ t).sum().backward()
    torch.testing.assert_close(w.grad.cpu(), want.grad, rtol=1e-4, atol=1e-4)


def test_runs_that_are_handed_over_are_in_order(eager_mode):
    """Products of some microseconds go to the device's thread while nobody waits; read after each step, they are the caller's own."""

    def steps(read):
        a = torch.randn(128, 128, generator=torch.Generator().manual_seed(0)).to("tpu") / 12
        x, total = a.clone(), torch.zeros(128, 128, device="tpu")
        for step in range(120):
            x = torch.mm(x, a).clamp_(-1, 1)
            total += x
            x[step % 128] = a[step % 128]
            if read:
                x[0, 0].item()
        return total.cpu()

    assert torch.equal(steps(False), steps(True))

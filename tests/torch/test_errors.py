"""User errors: PyTorch's exception, at the op, in PyTorch's words, and the process goes on."""

import os
import re
import subprocess
import sys

import pytest
import torch

# f(t) must raise on tpu what it raises on the CPU. t: 3x4 float32.
SAME_TEXT = {
    "broadcast": lambda t: t + t[:, :3].reshape(3, 3),
    "broadcast_in_place": lambda t: t.add_(torch.ones(5, 3, 4, device=t.device)),
    "matmul": lambda t: t @ t,
    "mm_rank": lambda t: torch.mm(t, t[0]),
    "cat": lambda t: torch.cat([t, t.t()], 0),
    "int_in_place_float": lambda t: torch.ones(3, dtype=torch.int64, device=t.device).add_(1.5),
    "bool_minus_bool": lambda t: (t > 0) - (t > 0),
    "sum_dim": lambda t: t.sum(5),
    "softmax_dim": lambda t: torch.softmax(t, 3),
    "index_select_rank": lambda t: torch.index_select(t, 0, torch.zeros(1, 1, dtype=torch.int64, device=t.device)),
    "select": lambda t: t[7],
    "view": lambda t: t.view(5),
    "reshape": lambda t: t.reshape(7, -1),
    "negative_size": lambda t: torch.empty(-1, device=t.device),
    "addmm": lambda t: torch.addmm(t, t, t),
    "bmm": lambda t: torch.bmm(t[None], t[None]),
    "mask_shape": lambda t: t[torch.ones(2, dtype=torch.bool, device=t.device)],
    "max_of_empty": lambda t: t[:0].max(),
    "gather_rank": lambda t: torch.gather(t, 0, torch.zeros(2, dtype=torch.int64, device=t.device)),
    "arange_step": lambda t: torch.arange(0, 4, -1, device=t.device),
    "linear": lambda t: torch.nn.functional.linear(t, t.t()),
    "embedding_dtype": lambda t: torch.nn.functional.embedding(t, t),
    "item_of_many": lambda t: t.item(),
    "lerp_int": lambda t: t.int().lerp(t.int(), 0.5),
    "cumsum_bool": lambda t: (t > 0).cumsum_(0),
    "bitwise_float": lambda t: t & t,
}


@pytest.mark.parametrize("name", SAME_TEXT)
def test_same_exception_and_text(name):
    t = torch.arange(12.0).reshape(3, 4)
    try:
        SAME_TEXT[name](t)
        raise AssertionError("the CPU accepts this")
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        want = error
    with pytest.raises(type(want)) as caught:
        SAME_TEXT[name](t.to("tpu"))
    plain = lambda e: re.sub(r"\s+", " ", str(e)).replace("tpu:0", "cpu").replace("_tpu", "_cpu")  # noqa: E731
    got, expected = plain(caught.value), plain(want)
    if name not in ("bitwise_float",):  # the CPU names its kernel
        assert got[:60] == expected[:60], f"{got!r} / {expected!r}"
    assert (torch.ones(2, device="tpu") + 1).tolist() == [2, 2]


def test_devices_must_agree(x):
    for f in (lambda: x + torch.ones(3, 4), lambda: torch.cat([x, torch.ones(3, 4)]), lambda: x.add_(torch.ones(3, 4)), lambda: x @ torch.ones(4, 2)):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two devices, tpu:0 and cpu!"):
            f()
    assert torch.equal((x + torch.tensor(2.0)).cpu(), x.cpu() + 2)  # 0-dim CPU tensors are numbers
    assert torch.equal((torch.tensor(2) * x).cpu(), x.cpu() * 2)
    assert x[torch.tensor([0, 2])].shape == (2, 4)  # indices may be on the CPU


def test_dtypes_without_a_device_type():
    with pytest.raises(NotImplementedError, match="tpu has no tensors of dtype Bits8"):
        torch.empty(2, dtype=torch.bits8, device="tpu")


@pytest.mark.one_mode
def test_quantized_is_refused():
    with pytest.raises(NotImplementedError, match="Quantizedtpu|tpu"):
        torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8).to("tpu")


@pytest.mark.one_mode
def test_too_many_dimensions():
    with pytest.raises(RuntimeError, match="at most 16 dimensions"):
        torch.empty([1] * 17, device="tpu")
    for dims in ([2] * 17, [1] * 3 + [2] * 17, [1] * 16 + [2**17]):
        wide = torch.zeros(2**17, device="tpu").view(dims)
        for op in (
            lambda w: w + 1,
            lambda w: w.add_(1),
            lambda w: w.zero_(),
            lambda w: w.transpose(0, -1).fill_(2),
            lambda w: torch._foreach_add_([w, w], 1),
            lambda w: w.cpu(),
        ):
            with pytest.raises(RuntimeError, match="at most 16 dimensions"):
                op(wide)
        assert wide.flatten().sum().item() == 0


def test_lists_of_expanded_tensors_are_not_written():
    for write in (lambda t: torch._foreach_add_([t], 1), lambda t: torch._foreach_mul_([t, t], [t, t]), lambda t: torch._foreach_copy_([t], [t + 1])):
        x = torch.ones(1, 3, device="tpu")
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            write(x.expand(2, 1, 3))
        assert torch.equal(x.cpu(), torch.ones(1, 3))
    nothing = torch.ones(1, 0, device="tpu").expand(3, 0)
    torch._foreach_add_([nothing], 1)
    assert nothing.zero_().shape == (3, 0)


def test_a_failed_in_place_op_changes_nothing(x):
    before = x.cpu()
    for _ in range(3):
        with pytest.raises(RuntimeError):
            x.add_(torch.ones(5, device="tpu"))
    assert torch.equal(x.cpu(), before)


def test_result_type_of_out(x):
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.add(x, x, out=torch.empty(3, 4, dtype=torch.int64, device="tpu"))
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.add(x, x, out=torch.empty(0, dtype=torch.int64, device="tpu"))


@pytest.mark.parametrize("wait", [torch.tpu.synchronize, lambda: torch.tpu.current_stream().synchronize()], ids=["device", "stream"])
def test_an_error_that_nobody_reads_is_raised_by_waiting_once(x, wait):
    far = torch.tensor([1, 50], device="tpu")
    x.index_fill_(0, far, 0.0)
    with pytest.raises(IndexError, match="index_fill: index 50 is out of bounds for dimension 0 with size 3"):
        wait()
    wait()
    assert (torch.ones(2, device="tpu") + 1).tolist() == [2, 2]


def test_an_error_that_was_read_is_not_raised_again_by_waiting(x):
    y = x[torch.tensor([7], device="tpu")] * 2
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        y.cpu()
    torch.tpu.synchronize()


@pytest.mark.parametrize("n", [1, 2])
def test_waiting_works_after_it_found_no_memory(n):
    code = """import torch
for _ in range(3):
    try:
        torch.tpu.synchronize()
        torch.tpu.Event().record()
    except torch.OutOfMemoryError:
        print("none")
print((torch.ones(3, device="tpu") + 1).tolist())"""
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TORCH_TPU_FAULT": f"alloc:{n}"}, capture_output=True, text=True, timeout=200
    )
    assert run.returncode == 0 and run.stdout.split("\n")[-2] == "[2.0, 2.0, 2.0]", run.stdout + run.stderr

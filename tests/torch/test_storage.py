"""Storages: pickling, saving, DLPack, FSDP's resizing, Module.to, and what libraries do with data pointers."""

import copy
import io
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch


def test_deepcopy_and_pickle(x):
    y = copy.deepcopy(x)
    y[0, 0] = 99
    assert y.device == x.device and x[0, 0].item() == 0 and y[0, 0].item() == 99
    v = copy.deepcopy(x[1:, 1:])
    assert v.stride() == (4, 1) and v.storage_offset() == 5 and torch.equal(v.cpu(), x[1:, 1:].cpu())
    z = pickle.loads(pickle.dumps(x))
    assert z.device == x.device and torch.equal(z.cpu(), x.cpu())


@pytest.mark.parametrize("map_location", [None, "cpu", "tpu", "tpu:0"])
def test_save_and_load(x, map_location, tmp_path):
    path = tmp_path / "x.pt"
    torch.save({"x": x, "row": x[1], "p": torch.nn.Parameter(x[:2])}, path)
    loaded = torch.load(path, map_location=map_location, weights_only=True)
    assert loaded["x"].device.type == ("cpu" if map_location == "cpu" else "tpu")
    loaded["x"][1, 0] = 55
    assert loaded["row"][0].item() == 55  # still one storage
    assert type(loaded["p"]) is torch.nn.Parameter and loaded["p"].tolist()[1] == [55, 5, 6, 7]


def test_load_from_cpu_with_mmap(tmp_path):
    path = tmp_path / "w.pt"
    torch.save({"w": torch.arange(4.0)}, path)
    assert torch.load(path, map_location="tpu", mmap=True)["w"].tolist() == [0, 1, 2, 3]
    buffer = io.BytesIO()
    torch.save(torch.ones(3), buffer)
    buffer.seek(0)
    assert torch.load(buffer, map_location="tpu").device.type == "tpu"


def test_untyped_storage(x):
    s = x.untyped_storage()
    assert s.nbytes() == 48 and s.device.type == "tpu" and s.is_tpu
    assert s.tolist()[4:8] == [0, 0, 128, 63] and s[7] == 63
    assert s.clone().device == s.device and s.cpu().nbytes() == 48
    y = torch.empty(3, 4, device="tpu")
    y.untyped_storage().copy_(s)
    assert torch.equal(y.cpu(), x.cpu())
    y.untyped_storage().fill_(0)
    assert y.abs().sum().item() == 0
    assert torch.UntypedStorage(8, device="tpu").tolist() == [0] * 8


def test_resizing_a_storage_as_fsdp_does(x):
    y = x.clone()
    s = y.untyped_storage()
    s.resize_(0)
    assert s.nbytes() == 0
    s.resize_(48)
    y.copy_(x)
    assert torch.equal(y.cpu(), x.cpu())


def test_a_slice_of_a_storage_aliases(x):
    part = torch.tensor((), dtype=torch.float32, device="tpu").set_(x.untyped_storage()[4:], 0, (3,), (1,))
    assert part.tolist() == [1, 2, 3] and part.data_ptr() - x.data_ptr() == 4
    part.fill_(9)
    assert x[0].tolist() == [0, 9, 9, 9]


def test_data_pointers_tell_tied_weights_apart(x):
    assert x.data_ptr() != 0 and x.detach().data_ptr() == x.data_ptr()
    assert torch.empty(0, device="tpu").untyped_storage().data_ptr() != torch.empty(0, device="tpu").untyped_storage().data_ptr()
    code = "import ctypes, torch; ctypes.string_at(torch.ones(2, device='tpu').data_ptr(), 4)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=200).returncode == -11  # faults, never garbage


def test_dlpack(x):
    y = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))
    assert y.device == x.device and y.data_ptr() == x.data_ptr()
    y.add_(1)
    assert x[0].tolist() == [1, 2, 3, 4]
    z = torch.from_dlpack(x)
    del y
    assert z.device == x.device and torch.equal(z.cpu(), x.cpu())
    assert int(x.__dlpack_device__()[0]) == 12
    with pytest.raises((RuntimeError, BufferError)):
        np.from_dlpack(x)


def test_numpy_is_refused_in_pytorchs_words(x):
    for f in (lambda: x.numpy(), lambda: np.asarray(x)):
        with pytest.raises(TypeError, match="can't convert tpu:0 device type tensor to numpy"):
            f()
    assert torch.as_tensor(np.ones(3), device="tpu").dtype == torch.float64


def test_module_to_keeps_parameters_and_optimizers():
    module = torch.nn.Linear(4, 2)
    weight, optimizer = module.weight, torch.optim.SGD(module.parameters(), lr=0.1)
    module(torch.ones(1, 4)).sum().backward()
    module.to("tpu")
    assert module.weight is weight and weight.device.type == "tpu" and weight.grad.device.type == "tpu"
    before = weight.detach().cpu().clone()
    module(torch.ones(1, 4, device="tpu")).sum().backward()
    optimizer.step()
    torch.testing.assert_close(weight.detach().cpu(), before - 0.2)
    assert module.cpu().weight is weight


def test_parameter_data_across_devices(x):
    p = torch.nn.Parameter(torch.zeros(2))
    p.data = x[0]
    assert p.device.type == "tpu" and p[1].item() == 1
    q = torch.nn.Parameter(torch.zeros(4, device="tpu"))
    q.data = x[1]
    assert q.tolist() == [4, 5, 6, 7]


def test_state_dicts():
    module = torch.nn.Linear(4, 2).to("tpu")
    module.load_state_dict({k: v.cpu() for k, v in module.state_dict().items()})
    other = torch.nn.Linear(4, 2, device="meta")
    other.load_state_dict(module.state_dict(), assign=True)
    assert other.weight.device.type == "tpu"
    assert torch.nn.Linear(2, 2, device="meta").to_empty(device="tpu").weight.device.type == "tpu"


def test_freed_with_the_last_tensor(x):
    torch.tpu.synchronize()
    before = torch.ops.tpu_bridge.memory(0)[2]
    y = x + 1
    torch.tpu.synchronize()
    assert torch.ops.tpu_bridge.memory(0)[2] == before + 1
    v = y[1:]
    del y
    assert v.sum().item() == 68
    del v
    torch.tpu.synchronize()
    assert torch.ops.tpu_bridge.memory(0)[2] == before


def test_writes_to_constants_that_are_made_again_and_again():
    """They may be one value; who writes gets a copy, and nobody else sees it."""
    both = lambda a, b: (a.add_(1), b.mul_(5))[0] + b
    compiled = torch.compile(both, backend="tpu")

    def of(make, device, both):
        written = [make(4, device=device) for _ in range(9)]
        written[0].add_(1)
        written[1][2:].zero_()
        written[2].view(2, 2)[0].copy_(torch.tensor([7, 8]))
        torch._foreach_add_([written[3], written[4]], 1)
        torch.add(written[5], 4, out=written[6])
        return [*written, both(*written[7:]), make(4, device=device)]

    for _ in range(4):
        for make in (torch.zeros, torch.ones, lambda n, **to: torch.full((n,), 3, **to), torch.arange):
            for a, b in zip(of(make, "tpu", compiled), of(make, "cpu", both), strict=True):
                assert torch.equal(a.cpu(), b)


@pytest.mark.one_mode
def test_sharing_between_processes_is_refused(x):
    from multiprocessing.reduction import ForkingPickler

    import torch.multiprocessing  # noqa: F401

    with pytest.raises(RuntimeError, match="only available on CPU"):
        ForkingPickler(io.BytesIO()).dump(x)

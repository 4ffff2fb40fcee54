"""Devices, streams, events, memory: torch.tpu and torch.accelerator."""

import os
import subprocess
import sys
import threading

import pytest
import torch

two = pytest.mark.skipif("torch.tpu.device_count() < 2", reason="needs TORCH_TPU_VIRTUAL_CHIPS=2")


@pytest.mark.one_mode
def test_every_name_of_the_public_module():
    names = """EagerMode Event Precision Stream allow_excess_precision current_device current_stream default_generators default_stream
    device device_count device_of eager_mode get_amp_supported_dtype get_device_name get_device_properties get_rng_state initial_seed
    is_available is_initialized manual_seed manual_seed_all precision set_device set_eager_mode set_rng_state set_stream stream
    synchronize topology_aware_mesh""".split()
    assert len(names) == 30
    assert [n for n in names if not hasattr(torch.tpu, n)] == []
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        torch.tpu.nonsense  # noqa: B018


@pytest.mark.one_mode
def test_accelerator():
    assert torch.accelerator.current_accelerator().type == "tpu" and torch.accelerator.is_available()
    assert torch.accelerator.device_count() == torch.tpu.device_count() >= 1
    assert torch.accelerator.current_device_index() == torch.tpu.current_device() == 0
    torch.accelerator.synchronize()
    assert torch.accelerator.get_device_capability()
    assert torch.tpu.get_device_name() and torch.tpu.get_device_properties(0).multi_processor_count == 1


def test_streams_and_events(x):
    s = torch.Stream(device="tpu")
    first, second = torch.Event(device="tpu", enable_timing=True), torch.Event(device="tpu", enable_timing=True)
    before = torch.accelerator.current_stream()
    with s:
        assert torch.accelerator.current_stream() == s
        first.record(s)
        y = x @ x.t()
        second.record(s)
    assert torch.accelerator.current_stream() == before == torch.tpu.current_stream()
    second.synchronize()
    assert second.query() and first.elapsed_time(second) >= 0 and s.query()
    s.synchronize()
    other = torch.tpu.Stream()
    other.wait_event(second)
    other.wait_stream(s)
    with torch.tpu.stream(other):
        assert torch.tpu.current_stream() == other
    assert torch.tpu.default_stream().stream_id == 0
    y.record_stream(s)
    torch.testing.assert_close(y.cpu(), x.cpu() @ x.cpu().t())


@pytest.mark.one_mode
def test_wrong_devices():
    for make in (lambda: torch.ones(1, device="tpu:99"), lambda: torch.tpu.set_device(99), lambda: torch.accelerator.set_device_index(99)):
        with pytest.raises((RuntimeError, ValueError), match="99"):
            make()
    with pytest.raises(ValueError, match="expected a tpu device"):
        torch.tpu.set_device("cpu")


@two
def test_current_device_is_of_the_thread():
    seen = []
    with torch.tpu.device(1):
        assert torch.ones(1, device="tpu").device.index == 1
        thread = threading.Thread(target=lambda: seen.append(torch.ones(1, device="tpu").device.index))
        thread.start()
        thread.join()
    assert seen == [0] and torch.tpu.current_device() == 0
    with torch.accelerator.device_index(1), torch.tpu.device_of(torch.ones(1, device="tpu:0")):
        assert torch.tpu.current_device() == 0
    with torch.tpu.device_of(torch.ones(1)):
        assert torch.tpu.current_device() == 0
    with torch.device("tpu:1"):
        assert torch.ones(1).device == torch.device("tpu:1")


@two
def test_backward_over_two_devices():
    a, b = (torch.ones(3, device=f"tpu:{i}", requires_grad=True) for i in (0, 1))
    (a.to("tpu:1") * 2 * b).sum().backward()
    assert a.grad.device.index == 0 and a.grad.tolist() == [2, 2, 2] and b.grad.tolist() == [2, 2, 2]


@pytest.mark.one_mode
def test_tensors_have_a_concrete_device_index():
    assert torch.ones(1, device="tpu").device.index == 0
    assert torch.empty_like(torch.ones(1, device="tpu")).device.index == 0


@pytest.mark.one_mode
@pytest.mark.skipif("torch.ops.tpu_bridge.plugin() != 'engine'", reason="another plugin must be asked")
def test_device_count_does_not_start_the_runtime():
    code = "import torch; torch.tpu.device_count(), torch.tpu.is_available(), torch.accelerator.device_count(), torch.manual_seed(1); print(torch.tpu.is_initialized())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200).stdout.strip() == "False"


def test_memory_statistics():
    torch.tpu.synchronize()
    before = torch.tpu.memory_allocated()
    torch.tpu.reset_peak_memory_stats()
    y = torch.ones(1 << 20, device="tpu")
    torch.tpu.synchronize()
    assert torch.tpu.memory_allocated() - before == 4 << 20
    z = y * 2
    torch.tpu.synchronize()
    assert torch.tpu.memory_allocated() - before == 8 << 20
    del y, z
    torch.tpu.synchronize()
    assert torch.tpu.memory_allocated() == before
    assert torch.tpu.max_memory_allocated() - before >= 8 << 20
    stats = torch.tpu.memory_stats()
    assert stats["allocated_bytes.all.current"] == torch.accelerator.memory_allocated() == before
    assert stats["allocated_bytes.all.peak"] == torch.accelerator.max_memory_allocated()
    assert "peak" in torch.tpu.memory_summary()
    torch.tpu.empty_cache()
    torch.accelerator.empty_cache()
    free, total = torch.tpu.mem_get_info()
    assert 0 <= free <= total


def test_uninitialised_memory_costs_nothing():
    before = torch.tpu.memory_allocated()
    big = torch.empty(1 << 28, device="tpu")
    assert torch.tpu.memory_allocated() == before and big.numel() == 1 << 28


@pytest.mark.one_mode
def test_one_tebibyte_is_refused_like_on_cuda():
    limit = torch.tpu.get_device_properties().total_memory
    if not limit or limit > 1 << 42:
        pytest.skip("this plugin has no memory limit")
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate 4096.00 GiB"):
        torch.empty(1 << 40, device="tpu")
    assert (torch.ones(2, device="tpu") + 1).tolist() == [2, 2]


@pytest.mark.one_mode
def test_pinned_memory():
    t = torch.ones(4).pin_memory()
    assert t.is_pinned() and t[2:].is_pinned() and torch.empty(3, pin_memory=True).is_pinned() and not torch.ones(3).is_pinned()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(8.0)), batch_size=4, pin_memory=True)
    assert all(batch[0].is_pinned() for batch in loader)
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.empty(3, device="tpu", pin_memory=True)


@pytest.mark.one_mode
def test_dataloader_workers_after_the_runtime_started():
    torch.ones(1, device="tpu")
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(8.0)), batch_size=4, num_workers=1, pin_memory=True)
    assert torch.cat([batch[0] for batch in loader]).tolist() == list(range(8))


@pytest.mark.one_mode
def test_topology_aware_mesh():
    if torch.ops.tpu_bridge.plugin() != "engine":
        with pytest.raises(NotImplementedError):
            torch.tpu.topology_aware_mesh((2, 2))
        return
    assert torch.tpu.topology_aware_mesh((2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="positive"):
        torch.tpu.topology_aware_mesh((2, 0))


@pytest.mark.one_mode
def test_eager_mode_and_precision():
    assert torch.tpu.eager_mode is torch.tpu.EagerMode.DEFER_NEVER
    with torch.tpu.set_eager_mode(torch.tpu.EagerMode.DEFER_AND_FUSE):
        assert torch.tpu.eager_mode is torch.tpu.EagerMode.DEFER_AND_FUSE
        with torch.tpu.set_eager_mode(torch.tpu.EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING):
            assert torch.tpu.eager_mode is torch.tpu.EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING
            assert (torch.ones(2, device="tpu") * 3).tolist() == [3, 3]
        assert torch.tpu.eager_mode is torch.tpu.EagerMode.DEFER_AND_FUSE
    with pytest.raises(ValueError, match="EagerMode"):
        torch.tpu.eager_mode = "fast"
    before = torch.ops.tpu_bridge.get_precision()
    with torch.tpu.precision(torch.tpu.Precision.HIGH):
        assert torch.ops.tpu_bridge.get_precision() == "HIGH"
    assert torch.ops.tpu_bridge.get_precision() == before
    with pytest.raises(ValueError), torch.tpu.precision("HIGH"):
        pass
    torch.set_float32_matmul_precision("high")
    assert torch.ops.tpu_bridge.get_precision() == "HIGH" and torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    torch.ops.tpu_bridge.set_precision(before)
    assert torch.tpu.allow_excess_precision is False
    assert torch.backends.tpu.is_available() and torch.backends.tpu.is_built()


def test_compile_count_and_log(x):
    n = torch.tpu.compile_count()
    ((x * 1.2345).sum() - 3).item()
    assert torch.tpu.compile_count() >= n
    assert isinstance(torch.tpu.compile_log(), list) and torch.tpu.runtime_stats()["ops"] > 0


@pytest.mark.one_mode
def test_a_process_with_one_chip_may_name_it_by_its_local_rank(monkeypatch):
    code = "import torch; torch.tpu.set_device(3); print(torch.tpu.current_device(), torch.tpu._initialized)"
    for rank, want in (("3", "0 True"), ("2", "")):
        environment = {**os.environ, "LOCAL_RANK": rank, "TORCH_TPU_VIRTUAL_CHIPS": "1"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200, env=environment)
        assert done.stdout.strip() == want

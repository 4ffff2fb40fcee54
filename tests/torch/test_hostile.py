"""A plugin whose Nth call fails, a device without memory, a damaged disk cache: exceptions, never a wrong value, a crash or a leak.
The experiments are in hostile.py, which runs each in a process of its own."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent


def hostile(*arguments, **environment):
    done = subprocess.run([sys.executable, str(HERE / "hostile.py"), *map(str, arguments)], env={**os.environ, **environment},
                          capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert "unexpected" not in result, result
    return result


@pytest.mark.parametrize("mode", ["strict", "fused"])
@pytest.mark.parametrize("kind, step", [("pjrt", 12), ("alloc", 3)])
@pytest.mark.one_mode
def test_the_nth_call_fails(kind, step, mode):
    result = hostile("faults", kind, mode, 1, step)
    # fused mode allocates per window: in steps of three only one of its allocations may be met
    assert result["raised"] >= (1 if kind == "alloc" else 2) and result["n"] > 20, result


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["strict", "fused"])
@pytest.mark.parametrize("kind", ["pjrt", "alloc"])
@pytest.mark.one_mode
def test_every_call_fails(kind, mode):
    assert hostile("faults", kind, mode, 1, 1)["raised"] >= 6


@pytest.mark.one_mode
def test_a_device_without_memory():
    seen = hostile("memory")["seen"]
    assert len(seen) == 2 and all(" out of memory." in text for text in seen), seen
    assert "1024.00 GiB" in seen[0] and "40.00 MiB" in seen[0], seen
    assert "in fill" in seen[1] or "in sum" in seen[1], seen  # whichever of the two met the limit first


@pytest.mark.one_mode
def test_the_disk_cache(tmp_path):
    spec = importlib.util.find_spec("lammps_jax_pjrt_cpu")
    if spec is None:
        pytest.skip("the XLA:CPU plugin of lammps-jax-pjrt-cpu is not installed")
    plugin = str(next(pathlib.Path(next(iter(spec.submodule_search_locations))).glob("*.so")))
    out = hostile("cache", tmp_path / "cache", TORCH_TPU_PLUGIN=plugin)
    n = out["entries"]
    fresh, found = {"compiles": n, "disk": 0}, {"compiles": n, "disk": n}
    assert n > 0 and out["first"] == fresh and out["second"] == found, out
    for name in ("truncated", "empty", "header only", "flipped", "garbage", "exchanged"):
        assert out[name] == {"damaged": fresh, "repaired": found}, (name, out[name])
    assert out["deleted while running"]["disk"] == n and out["after that"] > 0, out
    assert out["a file"] == out["impossible"] == fresh, out
    assert out["together"] == [0] * 4 and out["leftovers"] == 0, out
    assert out["shared"]["disk"] == out["shared"]["compiles"], out

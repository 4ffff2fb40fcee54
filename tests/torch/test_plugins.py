"""Other PJRT plugins execute the same programs: XLA:CPU gives the engine's losses."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.one_mode
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def xla_cpu():
    spec = importlib.util.find_spec("lammps_jax_pjrt_cpu")
    if spec is None:
        pytest.skip("the XLA:CPU plugin of lammps-jax-pjrt-cpu is not installed")
    return str(next(pathlib.Path(next(iter(spec.submodule_search_locations))).glob("*.so")))


def losses(folder, plugin, *options):
    file = folder / "losses.json"
    environment = {**os.environ, "TORCH_TPU_PLUGIN": plugin, "TORCH_TPU_CPU_FALLBACK": "error", "TORCH_TPU_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, str(ROOT / "examples" / "train_gpt.py"), "--characters", "0", "--losses", str(file), *options]
    done = subprocess.run(command, env=environment, timeout=600, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(file.read_text())


def test_gpt_losses_on_xla_cpu(tmp_path):
    plugin = xla_cpu()
    want = losses(tmp_path, "engine", "--steps", "4")
    assert losses(tmp_path, plugin, "--steps", "4") == pytest.approx(want, rel=1e-3)
    assert list((tmp_path / "cache").glob("*.bin")), "the disk tier holds no program"
    # again, from the disk
    assert losses(tmp_path, plugin, "--steps", "4") == pytest.approx(want, rel=1e-3)


def test_processes_share_a_compile(tmp_path):
    code = """
import torch
x = torch.arange(12.0, device="tpu").reshape(3, 4)
for f in (torch.sin, torch.exp, lambda x: x @ x.mT, lambda x: x.sum(0), torch.tanh, lambda x: torch.softmax(x, 1)):
    f(x).cpu()
print(sum("from=plugin" in line for line in torch.tpu.compile_log()), torch.tpu.compile_count())
"""
    environment = {**os.environ, "TORCH_TPU_PLUGIN": xla_cpu(), "TORCH_TPU_CACHE_DIR": str(tmp_path)}
    started = [subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    counts = [[int(n) for n in p.communicate(timeout=200)[0].split()] for p in started]
    programs = len(list(tmp_path.glob("*.bin")))
    assert programs > 6 and all(n == programs for _, n in counts), counts
    assert sum(n for n, _ in counts) == programs, "each program was compiled once, the others read it"
    assert not list(tmp_path.glob("*.lock"))


def test_a_plugin_that_is_none(tmp_path):
    fake = tmp_path / "fake.so"
    fake.write_text("not a library")
    for path in (str(fake), str(tmp_path / "missing.so"), "/usr/lib/x86_64-linux-gnu/libm.so.6"):
        code = "import torch\ntry:\n    torch.ones(1, device='tpu')\nexcept RuntimeError as e:\n    print('RAISED', e)\nprint(torch.ones(1) + 1)"
        done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TORCH_TPU_PLUGIN": path}, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "RAISED" in done.stdout and pathlib.Path(path).name in done.stdout, done.stdout
        assert "tensor([2.])" in done.stdout

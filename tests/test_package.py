"""The installed package: small, without debug information, and able to make its own bridge where none fits."""

import importlib.metadata
import os
import pathlib
import resource
import shutil
import subprocess
import sys

import pytest

torch_tpu = pytest.importorskip("torch_tpu")
FOLDER = pathlib.Path(torch_tpu.__file__).parent
ROOT = pathlib.Path(__file__).resolve().parent.parent
installed = pytest.mark.skipif(not (FOLDER / "lib").is_dir(), reason="runs from a checkout, not from a wheel")


def python(code, **environment):
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, timeout=600)


@pytest.fixture
def without_bridge(tmp_path):
    """Variables for a process that finds the package with its bridges gone, and an empty cache."""
    shutil.copytree(FOLDER, tmp_path / "site/torch_tpu")
    for bridge in (tmp_path / "site/torch_tpu/lib").glob("bridge-*.so"):
        bridge.unlink()
    return {"PYTHONPATH": str(tmp_path / "site"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@installed
def test_libraries_are_small_and_without_debug_information():
    libraries = [p for p in (FOLDER / "lib").iterdir() if p.is_file()]
    assert {"libtorch_tpu_core.so", "pjrt_cpu.so", "ttc"} <= {p.name for p in libraries}
    assert sum(p.stat().st_size for p in libraries) < 12 << 20
    for path in libraries:
        assert b".debug_info" not in path.read_bytes(), path


def test_pytorch_is_no_requirement_of_the_build():
    text = (ROOT / "pyproject.toml").read_text()
    assert "torch" not in text.partition("requires = [")[2].partition("]")[0]
    assert importlib.metadata.version("torch_tpu") == torch_tpu.__version__


@installed
def test_without_bridge_and_compiler_pytorch_lives(without_bridge):
    done = python("import torch; print(torch.ones(2).sum().item())", PATH="/nonexistent", CXX="", **without_bridge)
    assert done.returncode == 0 and done.stdout.strip() == "2.0"
    assert done.stderr.count("found no C++ compiler") == 1 and "install g++" in done.stderr and "Traceback" not in done.stderr


@installed
@pytest.mark.slow
def test_the_first_import_compiles_a_bridge(without_bridge):
    code = "import torch, torch_tpu; print(torch_tpu.__file__, (torch.ones(2, device='tpu') + 1).tolist())"
    first, second = python(code, **without_bridge), python(code, **without_bridge)
    assert first.stdout == second.stdout == f"{without_bridge['PYTHONPATH']}/torch_tpu/__init__.py [2.0, 2.0]\n", first.stderr
    assert "compiling the bridge" in first.stderr and second.stderr == ""


@pytest.mark.slow
def test_a_wheel_from_pip_alone(tmp_path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, ROOT], check=True, timeout=1800)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 5 << 20
    print(f"{wheel.stat().st_size / 2**20:.2f} MB, {after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.0f} s of CPU time")

"""The sweeps of `make sweep`, `make xla` and `make libtpu`, on a few ops: what they record, and that a crash or a bad program costs itself only."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

from torch_tpu import _plugin

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = HERE.parent.parent / "tools"
KNOWN = {("nn.functional.scaled_dot_product_attention", "bfloat16")}  # docs/generated/ops.md says why
CRASHING = """
import os, sys
sys.argv = ["sweep", *sys.argv[1:]]
import sweep
good = sweep.RUN["fwd"]
def bad(op, sample, device, seed):
    if device == "tpu" and op.name == "sort":
        os.kill(os.getpid(), 11)
    return good(op, sample, device, seed)
sweep.RUN["fwd"] = bad
sweep.main()
"""


def run(*command, **more):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])}
    environment.update(OMP_NUM_THREADS="1", TORCH_TPU_CPU_FALLBACK="error", **more)
    done = subprocess.run([sys.executable, *map(str, command)], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_sweep_survives_a_crash_and_goes_on(tmp_path):
    command = ["-c", CRASHING, tmp_path, "--dtypes", "float32", "--ops", "^(atan|sort|tanh)$", "--samples", "2", "--programs", "--save"]
    run(*command)
    rows = {r["name"]: r for r in lines(tmp_path / "results.jsonl")}
    assert set(rows) == {"atan", "sort", "tanh"}
    for name in ("atan", "tanh"):
        assert {p: r["st"] for p, r in rows[name]["res"].items()} == dict.fromkeys(["fwd", "bwd", "inplace", "out"], "pass")
        assert all((tmp_path / "programs" / f"{p}.mlir").exists() for p in rows[name]["programs"]["fwd"])
        assert rows[name]["programs"]["fwd"]
    assert rows["sort"]["res"]["fwd"]["st"] == "crash" and rows["sort"]["res"]["bwd"]["st"] == "pass"
    assert "0 to do" in run(*command)
    assert not list(tmp_path.glob("scratch*")) and not list(tmp_path.glob("stderr*"))


@pytest.mark.slow
def test_xla_cpu_gives_the_engines_values(tmp_path):
    if importlib.util.find_spec("lammps_jax_pjrt_cpu") is None:
        pytest.skip("the XLA:CPU plugin of lammps-jax-pjrt-cpu is not installed")
    engine, xla = tmp_path / "engine", tmp_path / "xla"
    run(HERE / "sweep.py", engine, "--save", "--sample", 100)
    run(HERE / "sweep.py", xla, "--against", engine, "--group", 20, TORCH_TPU_PLUGIN="lammps_jax_pjrt_cpu", TORCH_TPU_CACHE_DIR=str(tmp_path))
    rows = lines(xla / "results.jsonl")
    assert len(rows) == 100
    bad = [(r["name"], r["dtype"], p, x["notes"]) for r in rows for p, x in r["res"].items() if x["st"] not in ("pass", "n/a") and (r["name"], r["dtype"]) not in KNOWN]
    assert not bad, bad


def test_libtpu_sweep(tmp_path):
    if _plugin.libtpu() is None:
        pytest.skip("libtpu is not installed")
    programs = tmp_path / "programs"
    programs.mkdir()
    good = 'module @main {{ func.func public @main(%arg0: tensor<{0}xf32>) -> tensor<{0}xf32> {{ return %arg0 : tensor<{0}xf32> }} }}'
    for i in range(1, 4):
        (programs / f"{i}.mlir").write_text(good.format(i))
    (programs / "2.mlir").write_text("module { nonsense }")
    out = run(TOOLS / "libtpu_sweep.py", programs, tmp_path / "results.jsonl")
    rows = {r["program"]: r for r in lines(tmp_path / "results.jsonl")}
    assert {p: r["ok"] for p, r in rows.items()} == {"1": True, "2": False, "3": True}
    assert rows["2"]["error"] and "2 of 3 programs compile" in out

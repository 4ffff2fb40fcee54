"""Self-checking programs on the embedded engine: ours, one file per op, and StableHLO's conformance programs where they are at hand.

Set TT_STABLEHLO_TESTDATA to a folder of StableHLO's testdata/*.mlir (it is not part of this repository)."""

import os
import pathlib
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
TTC = pathlib.Path(os.environ.get("BUILD", HERE.parents[1] / "build")) / "ttc"
DATA = pathlib.Path(os.environ.get("TT_STABLEHLO_TESTDATA", "/nonexistent"))
# Ops no single device executes, or whose types are not in the element type table.
WITHOUT_PROGRAM = {
    "tuple",
    "get_tuple_element",
    "recv",
    "send",
    "infeed",
    "outfeed",
    "uniform_quantize",
    "uniform_dequantize",
}


def check(*arguments):
    done = subprocess.run([TTC, "check", *arguments], capture_output=True, text=True, timeout=600)
    counts = [int(n) for n in re.findall(r"\d+", done.stdout.splitlines()[-1])]
    assert len(counts) == 3, done.stdout + done.stderr
    return done, *counts


@pytest.mark.parametrize("kernels", ["reference", "fast"])
def test_own_programs(kernels):
    done, passed, failed, skipped = check(HERE, "--kernels", kernels)
    assert (failed, skipped) == (0, 0) and done.returncode == 0, done.stdout
    assert passed == len(list(HERE.glob("*.mlir")))


def test_every_op_has_a_program():
    ops = subprocess.run([TTC, "ops"], capture_output=True, text=True, timeout=60, check=True).stdout
    names = re.findall(r"\b(stablehlo|chlo|func)\.(\w+)", ops)
    assert len(names) > 100
    missing = [
        f"{dialect}.{name}"
        for dialect, name in names
        if name not in WITHOUT_PROGRAM
        and not (HERE / f"{'' if dialect == 'stablehlo' else dialect + '_'}{name}.mlir").exists()
    ]
    assert not missing


def test_a_wrong_value_fails(tmp_path):
    text = (HERE / "negate.mlir").read_text()
    (tmp_path / "wrong.mlir").write_text(text.replace("%r = ", "%q = ", 1).replace("%r, %e0", "%x0, %e0", 1))
    done, passed, failed, _ = check(tmp_path, "--kernels", "reference")
    assert (passed, failed) == (0, 1) and done.returncode == 1
    assert "check.expect_eq: element 0" in done.stdout


@pytest.mark.skipif(not DATA.is_dir(), reason="TT_STABLEHLO_TESTDATA names no folder of programs")
@pytest.mark.parametrize("kernels", ["reference", "fast"])
def test_conformance(kernels):
    done, passed, failed, skipped = check(DATA, "--kernels", kernels)
    assert passed >= 0.98 * (passed + failed + skipped), done.stdout

"""StableHLO's own parser and verifier (the ones in JAX) accept what hlo/print.c writes, and agree on what it means."""

import os
import pathlib
import subprocess

import pytest

pytest.importorskip("jax")
ir = pytest.importorskip("jax._src.lib").mlir.ir
jax_mlir = pytest.importorskip("jax._src.interpreters.mlir")
ROOT = pathlib.Path(__file__).resolve().parents[2]
TEST = pathlib.Path(os.environ.get("BUILD", ROOT / "build")) / "c_test_hlo_print"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    if not TEST.exists():
        pytest.skip(f"{TEST} is not built")
    path = tmp_path_factory.mktemp("samples") / "samples.mlir"
    subprocess.run([TEST, "dump"], env={**os.environ, "TT_DUMP_SAMPLES": str(path)}, check=True, timeout=60)
    return [p for p in path.read_text().split("// -----\n") if p.strip()]


def test_stablehlo_accepts(programs):
    assert len(programs) > 200
    bad = []
    with jax_mlir.make_ir_context():
        for text in programs:
            try:
                ir.Module.parse(text).operation.verify()
            except Exception as error:  # noqa: BLE001 - every parser error counts
                bad.append(f"{text}\n{error}")
    assert not bad, f"{len(bad)} programs refused, first:\n{bad[0]}"

"""Our parser against StableHLO's own: a conformance program that we parsed and printed again is, to StableHLO, the same program.

Set TT_STABLEHLO_TESTDATA to a folder of StableHLO's testdata/*.mlir (it is not part of this repository)."""

import os
import pathlib
import re
import subprocess

import pytest

pytest.importorskip("jax")
ir = pytest.importorskip("jax._src.lib").mlir.ir
jax_mlir = pytest.importorskip("jax._src.interpreters.mlir")
ROOT = pathlib.Path(__file__).resolve().parents[2]
TTC = pathlib.Path(os.environ.get("BUILD", ROOT / "build")) / "ttc"
DATA = pathlib.Path(os.environ.get("TT_STABLEHLO_TESTDATA", "/nonexistent"))
FILES = sorted(DATA.glob("*.mlir"))


def program(text):
    """The program in the generic form with numbered values; attributes of arguments and results say nothing about it."""
    module = ir.Module.parse(text)
    module.operation.verify()
    generic = module.operation.get_asm(print_generic_op_form=True, large_elements_limit=None)
    generic = re.sub(r"(arg|res)_attrs = \[.*?\}\], ", "", generic)
    # constants without elements are spelled in two ways
    return re.sub(r"dense<[^>]*> : tensor<((\d+x)*0x)", r"dense<> : tensor<\1", generic).splitlines()


@pytest.mark.skipif(not FILES, reason="TT_STABLEHLO_TESTDATA names no folder of programs")
def test_same_program():
    different = []
    with jax_mlir.make_ir_context():
        for path in FILES:
            printed = subprocess.run([TTC, "print", path], capture_output=True, text=True, timeout=60)
            assert printed.returncode == 0, printed.stderr
            have, want = program(printed.stdout), program(path.read_text())
            if have != want:
                line = next((h, w) for h, w in zip(have, want, strict=True) if h != w) if len(have) == len(want) else (len(have), len(want))
                different.append(f"{path.name}: {line}")
    assert not different, f"{len(different)} differ, first:\n" + "\n".join(different[:10])


@pytest.mark.parametrize("generic", [False, True])
def test_stablehlo_printer(tmp_path, generic):
    """What StableHLO's printer makes of our sample programs comes back as the same programs, from both of its forms."""
    samples = tmp_path / "samples.mlir"
    test = TTC.parent / "c_test_hlo_print"
    if not test.exists():
        pytest.skip(f"{test} is not built")
    subprocess.run([test, "dump"], env={**os.environ, "TT_DUMP_SAMPLES": str(samples)}, check=True, timeout=60)
    texts = [p for p in samples.read_text().split("// -----\n") if p.strip()]
    with jax_mlir.make_ir_context():
        modules = [ir.Module.parse(text).operation for text in texts]
        forms = [m.get_asm(print_generic_op_form=generic, enable_debug_info=True, large_elements_limit=None) for m in modules]
        (tmp_path / "forms.mlir").write_text("// -----\n".join(forms))
        printed = subprocess.run([TTC, "print", tmp_path / "forms.mlir"], capture_output=True, text=True, timeout=60)
        assert printed.returncode == 0, printed.stderr
        back = printed.stdout.split("// -----\n")
        assert len(back) == len(texts)
        for text, again in zip(texts, back, strict=True):
            assert program(again) == program(text)

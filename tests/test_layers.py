"""Who may include whom, what the libraries export, who reads the environment, and the limits on files."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def test_include_order():
    done = subprocess.run([sys.executable, ROOT / "tools/layers.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_files_have_at_most_1000_lines():
    long = [p for p in (ROOT / "src").rglob("*.[ch]*") if len(p.read_text().splitlines()) > 1000]
    assert not long


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}


def built(name):
    path = pathlib.Path(os.environ.get("BUILD") or ROOT / "build") / name
    if not path.is_file() or not shutil.which("nm"):
        pytest.skip(f"{path} is not built, or there is no nm")
    return path


def test_the_engine_exports_only_its_api():
    assert exported(built("pjrt_cpu.so")) == {"GetPjrtApi"}


def test_the_core_exports_only_its_names():
    names = exported(built("libtorch_tpu_core.so"))
    assert [n for n in names if not n.startswith(("tt_", "lower_", "hlo_"))] == []
    assert "tt_status_text" in names


def test_only_env_c_reads_the_environment():
    # Plugins want some variables set before they are loaded: setting is another thing.
    readers = set()
    for path in (ROOT / "src").rglob("*"):
        if path.suffix in (".c", ".h", ".cpp", ".inc", ".def") and re.search(r"\b(secure_)?getenv\s*\(|\benviron\b", path.read_text()):
            readers.add(path.relative_to(ROOT / "src").as_posix())
    assert readers == {"base/env.c"}


def test_no_header_of_python_or_of_all_of_pytorch():
    for path in (ROOT / "src").rglob("*.[ch]*"):
        assert not re.search(r"#include <(torch/extension|torch/all|Python)\.h>", path.read_text()), path

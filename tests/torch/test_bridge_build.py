"""A PyTorch for which no bridge is ready: it is compiled once, under a lock, from the sources in the package."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.one_mode

BUILD = """
import os, sys, torch
from torch_tpu import _bridge_build, _loader
try: print(_bridge_build.build(_loader.library_dir(), "bridge-test.so"))
except ImportError as e: print("ImportError:", e)
"""


def start(**environment):
    return subprocess.Popen([sys.executable, "-c", BUILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})


def test_compiles_once_for_two_processes(tmp_path):
    both = [start(XDG_CACHE_HOME=str(tmp_path)) for _ in range(2)]
    texts = [p.communicate(timeout=900) for p in both]
    paths = [out.strip() for out, _ in texts]
    assert paths[0] == paths[1] and os.path.getsize(paths[0]) > 100_000
    assert sum("compiling the bridge" in err for _, err in texts) in (1, 2)
    assert [p for p in os.listdir(os.path.dirname(paths[0])) if p.endswith(".so")] == ["bridge-test.so"]
    out, err = start(XDG_CACHE_HOME=str(tmp_path)).communicate(timeout=300)
    assert out.strip() == paths[0] and "compiling" not in err


def test_no_compiler_is_one_clear_sentence(tmp_path):
    out, _ = start(XDG_CACHE_HOME=str(tmp_path), PATH=str(tmp_path), CXX="").communicate(timeout=300)
    assert out.startswith("ImportError: torch_tpu has no ready-made bridge for PyTorch") and "install g++" in out


def test_a_compiler_that_fails_leaves_its_message(tmp_path):
    compiler = tmp_path / "cxx"
    compiler.write_text("#!/bin/sh\necho 'error: it does not compile' >&2\nexit 1\n")
    compiler.chmod(0o755)
    out, _ = start(XDG_CACHE_HOME=str(tmp_path / "cache"), CXX=str(compiler)).communicate(timeout=300)
    assert "did not compile (error: it does not compile)" in out
    log = out.strip().rsplit(" ", 1)[1]
    assert "it does not compile" in open(log).read()


def test_an_old_pytorch_is_named():
    code = "from torch_tpu import _loader; _loader.torch_minor = lambda: (2, 9)\ntry: _loader._find_bridge(_loader.library_dir())\nexcept ImportError as e: print(e)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300).stdout
    assert "older than the oldest that torch_tpu supports, 2.11" in out

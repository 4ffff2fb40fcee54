"""Compiles the bridge for a PyTorch minor version that the package was not built with: once per machine, under a lock, into the
user's cache folder. Imported only then."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch

_HERE = pathlib.Path(__file__).resolve().parent


def source_dir():
    for folder in (_HERE / "source/src", _HERE.parent / "src"):
        if (folder / "bridge/module.cpp").is_file():
            return folder
    raise ImportError(f"the sources of the bridge are missing from {_HERE / 'source'}")


def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "torch_tpu" / "bridge"


def find_compiler():
    asked = os.environ.get("CXX")
    for name in [asked] if asked else ["c++", "g++", "clang++"]:
        found = shutil.which(name.split()[0])
        if found:
            return [found, *name.split()[1:]]
    raise ImportError(
        f"torch_tpu has no ready-made bridge for PyTorch {torch.__version__} and found no C++ compiler to make one: "
        "install g++ (or name a compiler in CXX) and import torch again"
    )


def _key(compiler, sources):
    version = subprocess.run([*compiler, "--version"], capture_output=True, text=True, timeout=60).stdout.partition("\n")[0]
    h = hashlib.sha256(f"{torch.__version__} {torch.version.git_version} {torch._C._GLIBCXX_USE_CXX11_ABI} {version}".encode())
    for path in sorted(p for p in sources.rglob("*") if p.suffix in (".cpp", ".h", ".def")):
        h.update(path.read_bytes())
    return h.hexdigest()[:24]


@contextlib.contextmanager
def _locked(path):
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(libraries, name):
    """The path of the compiled bridge."""
    sources, compiler = source_dir(), find_compiler()
    folder = cache_dir() / _key(compiler, sources)
    target = folder / name
    if target.is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / "lock"):
        if not target.is_file():  # another process may have made it meanwhile
            _compile(compiler, sources, libraries, target)
    return target


def _compile(compiler, sources, libraries, target):
    torch_dir = pathlib.Path(torch.__file__).parent
    print(f"torch_tpu: compiling the bridge for PyTorch {torch.__version__} (once; about half a minute)", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        made = pathlib.Path(work) / target.name
        # One translation unit: the headers of PyTorch are most of the work.
        unit = pathlib.Path(work) / "all.cpp"
        unit.write_text("".join(f'#include "{p}"\n' for p in sorted((sources / "bridge").glob("*.cpp"))))
        command = [
            *compiler, "-std=c++20", "-O2", "-fPIC", "-shared", "-w", "-D_GNU_SOURCE", "-DAT_PER_OPERATOR_HEADERS", "-fvisibility=hidden",
            f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}", f"-I{sources}",
            "-isystem", str(torch_dir / "include"), "-isystem", str(torch_dir / "include/torch/csrc/api/include"),
            str(unit), "-o", str(made), f"-L{torch_dir / 'lib'}", "-ltorch_cpu", "-lc10", f"-L{libraries}", "-ltorch_tpu_core",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            log = target.parent / "error.txt"
            log.write_text(" ".join(command) + "\n" + done.stderr)
            first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
            raise ImportError(f"the bridge for PyTorch {torch.__version__} did not compile ({first.strip()}); the whole message is in {log}")
        os.replace(made, target)

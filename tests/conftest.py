"""Makes each TEST of tests/c and tests/pjrt, and each program of tests/hlo, an item of pytest, run by what was built in the folder
BUILD (default build/). Without a build they are skipped; where BUILD is set, a missing program is an error."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD") or ROOT / "build").resolve()
PLUGIN = BUILD / "pjrt_cpu.so"

# What tests start must find the package that is installed, not the folder they start in.
os.environ["PYTHONSAFEPATH"] = "1"


def run(*command, **environment):
    return subprocess.run([str(c) for c in command], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=900)


class Failed(Exception):
    pass


class Item(pytest.Item):
    """A program that was built, its arguments, and the environment it wants."""

    def __init__(self, *, command, environment, **more):
        super().__init__(**more)
        self.command, self.environment = command, environment

    def runtest(self):
        done = run(*self.command, **self.environment)
        if done.returncode:
            how = f"killed by signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
            raise Failed(f"{' '.join(map(str, self.command))}: {how}\n{done.stdout[-8000:]}{done.stderr[-8000:]}")
        last = done.stdout.rstrip().rpartition("\n")[2]
        if self.command[1] == "check" and last.startswith("0 passed"):
            pytest.skip(done.stdout.splitlines()[0])

    def repr_failure(self, excinfo, style=None):
        return str(excinfo.value) if isinstance(excinfo.value, Failed) else super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, None, f"{self.path.relative_to(ROOT)}::{self.name}"


class NotBuilt(pytest.Item):
    def runtest(self):
        pytest.skip(f"not built in {BUILD} (run `make dev`)")


class File(pytest.File):
    def built(self, program):
        if not program.is_file() and "BUILD" in os.environ:
            raise self.CollectError(f"{program} is missing")
        return program.is_file()


class TestsInC(File):
    def collect(self):
        program = BUILD / f"c_{self.path.stem}"
        if not self.built(program):
            yield NotBuilt.from_parent(self, name=self.path.stem)
            return
        environment = {"TORCH_TPU_TEST_PLUGIN": str(PLUGIN), "TT_TEST_PLUGIN": str(PLUGIN)}
        for name in run(program, "--list").stdout.split():
            yield Item.from_parent(self, name=name, command=[program, name], environment=environment)


class Program(File):
    def collect(self):
        if not self.built(BUILD / "ttc"):
            yield NotBuilt.from_parent(self, name="check")
            return
        command = [BUILD / "ttc", "check", self.path, "-v"]
        yield Item.from_parent(self, name="check", command=command, environment={})


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".c" and file_path.name.startswith("test_"):
        return TestsInC.from_parent(parent, path=file_path)
    if file_path.suffix == ".mlir" and file_path.parent.name == "hlo":
        return Program.from_parent(parent, path=file_path)
    return None

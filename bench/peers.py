"""The bench's processes: one worker for each mode, its environment, and the one-line conversation with it."""

import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
WORK = HERE.parent / ".bench"
PEERS = pathlib.Path(os.environ.get("TORCH_TPU_PEERS") or WORK)  # bench/peers.sh installs them here
ANCHOR_SHIM, LIMITS = WORK / "anchor_shim.so", WORK / "limits"
PATIENCE = 240  # seconds for one answer; Inductor's first compile takes 40


def xla_plugin():
    return next(iter(sorted(PEERS.glob("anchor/lib/python*/site-packages/lammps_jax_pjrt_cpu/*.so"))), None)


def available(mode):
    return xla_plugin() is not None if mode.startswith(("xla", "anchor")) else True


def environment(mode, threads, scratch, keep_memory=True):
    out = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads), "TORCH_TPU_THREADS": str(threads)}
    out |= {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}  # no spinning: others use the machine
    # PyTorch gives big blocks back to the system at every free and faults them in again: let malloc keep them, kernels are compared here.
    # Not where memory is: what a model had on the CPU would count for ever.
    if keep_memory:
        out |= {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=17179869184:glibc.malloc.trim_threshold=17179869184"}
    out |= {"TORCH_TPU_CACHE_DIR": "off", "TORCHINDUCTOR_CACHE_DIR": scratch, "TORCHINDUCTOR_COMPILE_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    out |= {"TORCH_TPU_PLUGIN": str(xla_plugin()) if mode.startswith("xla") else "engine", "TORCH_TPU_PEERS": str(PEERS)}
    if mode.startswith(("torch", "inductor", "anchor")):
        out["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    if mode.startswith(("xla", "anchor")) and threads == 1:
        out["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    if mode.startswith("anchor"):
        out |= {"BENCH_XLA_PLUGIN": str(xla_plugin()), "TPU_LIBRARY_PATH": str(ANCHOR_SHIM), "BENCH_ATTENTION": "written out"}
        out.pop("PYTHONPATH", None)
    return out


def build():
    """The two C files of the bench, where they are older than their sources."""
    WORK.mkdir(exist_ok=True)
    wanted = {LIMITS: [HERE / "limits.c", "-march=native"], ANCHOR_SHIM: [HERE / "anchor_shim.c", "-shared", "-fPIC", f"-I{HERE.parent}/src"]}
    for out, (source, *flags) in wanted.items():
        if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
            subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-ffp-contract=fast", *flags, "-o", out, source, "-ldl"], check=True)


def limits():
    """{"read": bytes a second, "triad": …, "f32": operations a second, "bf16": …} of one core."""
    use = cores(1)
    return json.loads(subprocess.run([LIMITS], capture_output=True, check=True, preexec_fn=lambda: os.sched_setaffinity(0, use)).stdout)


def cores(threads):
    """Everything runs on the same cores, the last ones that this process may use."""
    return sorted(os.sched_getaffinity(0))[-threads:]


class Worker:
    """A peer's process. Usable again after an error: a process that died, or that was too slow, is started anew at the next request."""

    def __init__(self, mode, threads, *arguments, keep_memory=True):
        self.mode, self.threads, self.arguments, self.process, self.keep_memory = mode, threads, arguments, None, keep_memory

    def start(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="torch_tpu_bench_")
        python = PEERS / "anchor/bin/python" if self.mode.startswith("anchor") else sys.executable
        command = [python, HERE / "worker.py", self.mode, str(self.threads), *self.arguments]
        self.log = open(WORK / f"{self.mode.replace(' ', '_')}_{self.threads}.log", "w")
        use = cores(self.threads)
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, preexec_fn=lambda: os.sched_setaffinity(0, use),
            env=environment(self.mode, self.threads, self.scratch.name, self.keep_memory),
        )  # fmt: skip

    def answer(self, patience=PATIENCE):
        ready = select.select([self.process.stdout], [], [], patience)[0]
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        status = self.process.poll() if ready else None
        self.stop()
        return {"error": f"no answer in {patience} s" if not ready else f"ended with status {self.process_status if status is None else status}"}

    def ask(self, **request):
        if not self.process:
            self.start()
        try:
            print(json.dumps(request), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            self.stop()
            return {"error": f"ended with status {self.process_status}"}
        return self.answer()

    def stop(self):
        if self.process:
            self.process.stdin.close()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process_status, self.process = self.process.returncode, None
            self.log.close()
            self.scratch.cleanup()


def first_step(mode, threads, row, keep_memory=True):
    """{"cpu", "wall": from the start of a fresh process to the end of a model's first step, "compile", "peak"} or {"error"}."""
    worker = Worker(mode, threads, row, keep_memory=keep_memory)
    worker.start()
    first = worker.answer()
    first["wall"] = time.perf_counter() - worker.started
    if "error" not in first:
        first |= worker.answer()
    worker.stop()
    return first

"""PyTorch's whole OpInfo database on the device: against the CPU, or one plugin against another's values; and the programs it makes.

  sweep.py OUT [--against OTHER] [--save] [--programs] [--dtypes ...] [--phases ...] [--samples N] [--ops REGEX] [--jobs N]

OUT/results.jsonl gets a line for each (op, dtype): the state of every phase (fwd, bwd, inplace, out) and sample, in the form that
tools/gen_ops.py reads; what it holds already is not done again. --save keeps the device's values in OUT/values, --against compares with
the values that another run kept instead of the CPU's, --programs keeps every distinct program text in OUT/programs, by its hash.
TORCH_TPU_PLUGIN names the plugin. Each task runs in a forked child, so that a crash or a hang costs one sample."""

import argparse
import collections
import contextlib
import ctypes
import hashlib
import itertools
import json
import os
import pathlib
import random
import re
import selectors
import shutil
import signal
import sys
import time
import warnings

if __name__ == "__main__" and os.environ.get("PYTHONHASHSEED") != "0":  # the database iterates over sets
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"})
PLUGIN = os.environ.get("TORCH_TPU_PLUGIN", "engine")
os.environ["TORCH_TPU_PLUGIN"] = "engine"  # importing PyTorch's test files would start another one, which no child could use

import numpy  # noqa: E402
import torch  # noqa: E402
from compare import assert_same  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.testing._internal.opinfo.core import SampleInput  # noqa: E402
from torch.utils._pytree import tree_flatten, tree_map  # noqa: E402

from torch_tpu import _loader, _plugin  # noqa: E402

DTYPES = ["float32", "bfloat16", "int64", "bool"]
PHASES = ["fwd", "bwd", "inplace", "out"]
STATES = ["crash", "timeout", "wrong", "error", "unsupported", "pass", "n/a"]  # worst first
UNSET = re.compile(r"^(new_)?empty(_like|_strided|_permuted)?$")  # no defined values
STATISTICS = re.compile(r"^native_layer_norm$")  # in float32, as on all devices of PyTorch but the CPU
UNWRITTEN = re.compile(r"^fft\.ihfft[2n]$")  # PyTorch does not write to out= where there is one dimension, on no device
MISSING = re.compile(r"not implemented|unsupported|not supported|could not run|does not support|has no tensors of dtype", re.I)
TIES = re.compile(r"^(arg)?sort$|^topk$|^(nan)?median$|^kthvalue$|^mode$")  # which of equal elements an index names is not defined


class Skip(Exception):
    """The CPU itself does not do this."""


def name_of(op):
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def let_randomness_show():
    """OpInfo hides it behind a fixed seed."""
    for module in list(sys.modules.values()):
        if "wrapper_set_seed" in getattr(module, "__dict__", {}):
            module.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)


# ---- one sample ----
def copied(tree, device, grad):
    """Fresh leaves; on the CPU they are copies, since in-place ops write to them."""

    def move(x):
        if isinstance(x, torch.Tensor):
            y = x.detach().clone() if device == "cpu" else x.detach().to(device)
            return y.requires_grad_(grad and x.requires_grad)
        return torch.device(device) if isinstance(x, torch.device) else x

    return tree_map(move, tree)


def arguments(op, sample, device, grad=False):
    args, kwargs = copied(((sample.input, *sample.args), sample.kwargs), device, grad)
    if op.name == "tensor_split":  # its indices belong on the CPU
        args = (args[0], *sample.args)
    if kwargs.get("device", "") in ("cpu", None):
        kwargs = {**kwargs, "device": device}
    return args, kwargs


def tensors(tree):
    return [x for x in tree_flatten(tree)[0] if isinstance(x, torch.Tensor)]


def forward(op, sample, device, seed):
    args, kwargs = arguments(op, sample, device)
    torch.manual_seed(seed)
    return tree_flatten(op.op(*args, **kwargs))[0]


def backward(op, sample, device, seed):
    args, kwargs = arguments(op, sample, device, grad=True)
    torch.manual_seed(seed)
    result = op.op(*args, **kwargs)
    if sample.output_process_fn_grad is not None:
        result = sample.output_process_fn_grad(result)
    results = [x for x in tensors(result) if x.requires_grad]
    leaves = [x for x in tensors((args, kwargs)) if x.requires_grad]
    if not results or not leaves:
        raise Skip
    torch.manual_seed(99)
    weights = [torch.randn(x.shape, dtype=torch.complex64 if x.is_complex() else torch.float32).to(x.dtype).to(x.device) for x in results]
    grads = torch.autograd.grad(results, leaves, weights, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(grads, leaves, strict=True)]


def inplace(op, sample, device, seed):
    if sample.broadcasts_input:
        raise Skip
    args, kwargs = arguments(op, sample, device)
    torch.manual_seed(seed)
    result = op.get_inplace()(*args, **kwargs)
    assert result is args[0], "the result is not the tensor written to"
    return [result]


def outputs(results, how):
    """Tensors to write to: contiguous, or with gaps or transposed, or of no elements."""
    made = []
    for x in results:
        if how == "empty":
            made.append(x.new_empty(0))
        elif how == "same":
            made.append(torch.empty(x.shape, dtype=x.dtype, device=x.device))
        elif x.dim() > 1:
            made.append(x.new_empty(x.mT.shape).mT)
        else:
            made.append(x.new_empty((*x.shape, 2))[..., 0])
    for x in made:
        x.fill_(1)
    return made


def out(op, sample, device, seed):
    """The results of three calls with out=, and each one's strides."""
    want = forward(op, sample, device, seed)
    if not want or not all(isinstance(x, torch.Tensor) for x in want):
        raise Skip
    found = []
    for how in ("same", "gaps", "empty"):
        args, kwargs = arguments(op, sample, device)
        made = outputs(want, how)
        torch.manual_seed(seed)
        result = op.op(*args, **kwargs, out=made[0] if len(made) == 1 else tuple(made))
        back = tensors(result)
        assert len(back) == len(made) and all(a is b for a, b in zip(back, made, strict=True)), "the results are not the tensors in out="
        # The CPU's own out= is wrong where it holds gaps (gelu, avg_pool3d): the functional result counts.
        values = want if device == "cpu" and not UNWRITTEN.match(op.name) else made
        found += [x for v, m in zip(values, made, strict=True) for x in (v, m.stride() if how != "empty" and m.numel() else None)]
    return found


RUN = {"fwd": forward, "bwd": backward, "inplace": inplace, "out": out}


def on_host(values):
    return [x.detach().cpu().resolve_conj().resolve_neg() if isinstance(x, torch.Tensor) else x for x in values]


def name_equal_elements(x, have, want):
    """Along some dimension of x, which the index tensors may lack?"""
    if not isinstance(x, torch.Tensor) or have.dtype != torch.int64 or have.shape != want.shape:
        return False
    for dim in range(x.dim()):
        with contextlib.suppress(RuntimeError, IndexError):
            h, w = (i if i.dim() == x.dim() else i.unsqueeze(dim) for i in (have, want))
            if torch.equal(x.gather(dim, h).nan_to_num(), x.gather(dim, w).nan_to_num()):
                return True
    return False


def same(have, want, what, values=True, ties_in=None):
    assert len(have) == len(want), f"{what}: {len(have)} results, want {len(want)}"
    for i, (h, w) in enumerate(zip(have, want, strict=True)):
        if ties_in is not None and isinstance(w, torch.Tensor) and name_equal_elements(ties_in, h, w):
            continue
        if values and isinstance(w, torch.Tensor):
            assert_same(h, w, f"{what} {i}")
        elif not isinstance(w, torch.Tensor):
            assert h == w or (w != w and h != h), f"{what} {i}: {h}, want {w}"
        else:
            assert isinstance(h, torch.Tensor) and (h.dtype, h.shape) == (w.dtype, w.shape), f"{what} {i}: shape or dtype"


def is_random(phase, op, sample, want):
    """Two seeds, two results?"""
    if UNSET.match(op.name):
        return True
    with contextlib.suppress(AssertionError):
        again = on_host(RUN[phase](op, sample, "cpu", 8))
        same(again, want, "")
        return False
    return True


def in_wider_type(phase, op, sample):
    """The CPU's results in the next wider type."""
    wider = {torch.bfloat16: torch.float32, torch.float32: torch.float64}

    def up(x):
        if isinstance(x, torch.Tensor) and x.dtype in wider:
            return x.detach().to(wider[x.dtype]).requires_grad_(x.requires_grad)
        return wider.get(x, x) if isinstance(x, torch.dtype) else x

    args = tree_map(up, (sample.input, sample.args, sample.kwargs))
    sample = SampleInput(args[0], args=args[1], kwargs=args[2], output_process_fn_grad=sample.output_process_fn_grad)
    return on_host(RUN[phase](op, sample, "cpu", 7))


def as_exact(phase, op, sample, dtype, have, want):
    """Of other values than `want`, but of no larger errors? bfloat16: within its tolerance of a float32 run; float32: errors against
    float64 up to twice as large."""
    try:
        exact = in_wider_type(phase, op, sample)
        if dtype == "bfloat16":
            wide = [isinstance(x, torch.Tensor) and x.dtype == torch.float32 for x in exact]
            if STATISTICS.match(op.name):
                wide[1:] = [False] * (len(wide) - 1)
            same(have, [x.bfloat16() if w else x for x, w in zip(exact, wide, strict=True)], "result")
            return True
        if dtype != "float32" or len(exact) != len(have):
            return False
        for h, w, x in zip(have, want, exact, strict=True):
            if isinstance(h, torch.Tensor) and h.dtype == torch.float32 and h.shape == x.shape and h.numel():
                if not torch.equal(h.isfinite(), x.isfinite()) or off(h, x) > 2 * off(w, x):
                    return False
            else:
                same([h], [w], "result")
        return True
    except Exception:
        return False


def off(x, exact):
    return float((x.double() - exact).nan_to_num(0, 0, 0).abs().max())


def against_cpu(phase, op, dtype, sample):
    """(state, note, the device's values)"""
    try:
        want = on_host(RUN[phase](op, sample, "cpu", 7))
        values = not is_random(phase, op, sample, want)
    except Skip:
        return "n/a", "", None
    except Exception as e:
        return "n/a", f"cpu: {type(e).__name__}: {e}", None
    have = on_host(RUN[phase](op, sample, "tpu", 7))
    try:
        same(have, want, "result", values, sample.input if TIES.match(op.name) else None)
    except AssertionError as e:
        if not values or not as_exact(phase, op, sample, dtype, have, want):
            return "wrong", str(e), have
    return "pass", "" if values else "random: shape and dtype only", have


def against_values(phase, op, dtype, sample, want):
    if want is None:
        return "n/a", "no value to compare with", None
    have = on_host(RUN[phase](op, sample, "tpu", 7))
    try:
        same(have, want, "result", not UNSET.match(op.name), sample.input if TIES.match(op.name) else None)
    except AssertionError as e:
        if not as_exact(phase, op, sample, dtype, have, want):
            return "wrong", str(e), have
    return "pass", "", have


# ---- in the child ----
class Programs:
    """What the child compiles, moved to OUT/programs phase by phase."""

    def __init__(self, folder):
        self.folder, self.scratch = folder, folder.parent / f"scratch{os.getpid()}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.scratch.mkdir()
        torch.ops.tpu_bridge.keep_programs(str(self.scratch))

    def take(self):
        """The hashes of the programs since the last call. The module's name does not count."""
        found = set()
        for path in self.scratch.glob("*.mlir"):
            text = re.sub(r"^module @\S+", "module @main", path.read_text(), count=1)
            name = hashlib.sha256(text.encode()).hexdigest()[:16]
            if not (self.folder / f"{name}.mlir").exists():
                path.write_text(text)
                path.rename(self.folder / f"{name}.mlir")
            else:
                path.unlink()
            found.add(name)
        return sorted(found)


def defined(sample):
    """Pooling reads outside of its input where its random samples are not in [0, 1)."""
    samples = sample.kwargs.get("_random_samples")
    return samples is None or bool(((samples >= 0) & (samples < 1)).all())


def samples_of(op, dtype, grad, n):
    """n of the first hundred, evenly: the database puts like samples together."""
    torch.manual_seed(7)
    random.seed(7)
    numpy.random.seed(7)
    found = list(filter(defined, itertools.islice(op.sample_inputs("cpu", getattr(torch, dtype), requires_grad=grad), 100)))
    return [found[i * (len(found) - 1) // (n - 1)] for i in range(n)] if len(found) > n > 1 else found[:n]


def run_phase(options, task, phase, say, kept):
    op, values, start = op_db[task["op"]], {}, time.time()
    for i, sample in enumerate(samples_of(op, task["dtype"], phase == "bwd", options.samples)):
        if i and time.time() - start > options.soft:
            break
        say(event="sample", i=i)
        try:
            if kept is None:
                state, note, have = against_cpu(phase, op, task["dtype"], sample)
            else:
                state, note, have = against_values(phase, op, task["dtype"], sample, kept.get(phase, {}).get(i))
            if have is not None and state == "pass":
                values[i] = have
        except Exception as e:
            note = f"{type(e).__name__}: {e}"
            missing = isinstance(e, NotImplementedError) or MISSING.search(str(e))
            state = "unsupported" if missing else "wrong" if isinstance(e, AssertionError) else "error"
        say(event="result", i=i, state=state, note=note[:600])
    return values


def child(options, tasks, pipe):
    channel = os.fdopen(pipe, "w", buffering=1)

    def say(**event):
        channel.write(json.dumps(event) + "\n")

    null = os.open(os.devnull, os.O_RDWR)
    errors = os.open(options.out / f"stderr{os.getpid()}", os.O_CREAT | os.O_RDWR | os.O_TRUNC)
    os.dup2(null, 1), os.dup2(errors, 2)
    warnings.simplefilter("ignore")
    os.environ["TORCH_TPU_PLUGIN"] = PLUGIN
    ctypes.CDLL(str(_loader.library_dir() / "libtorch_tpu_core.so")).tt_runtime_set_plugin(_plugin.choose().encode())
    torch.tpu.eager_mode = torch.tpu.EagerMode[options.mode]
    programs = Programs(options.out / "programs") if options.programs else None
    for task in tasks:
        kept, values = None, {}
        if options.against:
            path = options.against / "values" / f"{task['id']}.pt"
            kept = torch.load(path, weights_only=False) if path.exists() else {}
        for phase in task["phases"]:
            say(event="phase", id=task["id"], phase=phase)
            values[phase] = run_phase(options, task, phase, say, kept)
            say(event="end", programs=programs.take() if programs else [])
        if options.save:
            (options.out / "values").mkdir(exist_ok=True)
            torch.save(values, options.out / "values" / f"{task['id']}.pt")
        say(event="done", id=task["id"])


# ---- in the parent ----
class Child:
    def __init__(self, options, tasks):
        self.tasks, self.options = collections.deque(tasks), options
        read, write = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            status = 1
            try:
                os.close(read)
                child(options, tasks, write)
                status = 0
            finally:
                os._exit(status)
        os.close(write)
        self.pipe, self.text = read, b""
        self.results, self.programs = {}, {}
        self.phase, self.current = None, None
        self.touched = time.time()

    def result(self):
        return self.results.setdefault(self.phase, {"st": "n/a", "samples": {}, "notes": []})

    def hear(self, finish):
        """Reads what the child says; False at its end."""
        data = os.read(self.pipe, 1 << 16)
        self.text += data
        *lines, self.text = self.text.split(b"\n")
        for line in lines:
            self.event(json.loads(line), finish)
        return bool(data)

    def event(self, e, finish):
        kind = e["event"]
        self.touched = time.time()
        if kind == "phase":
            self.phase, self.current = e["phase"], None
            self.result()
        elif kind == "sample":
            self.current = e["i"]
        elif kind == "result":
            self.note(e["i"], e["state"], e["note"])
            self.current = None
        elif kind == "end":
            self.programs[self.phase] = e["programs"]
            self.phase = None
        elif kind == "done":
            finish(self.tasks.popleft(), self.results, self.programs)
            self.results, self.programs = {}, {}

    def note(self, i, state, note):
        r = self.result()
        r["samples"][str(i)] = state
        r["st"] = next(s for s in STATES if s in r["samples"].values())
        if note and len(r["notes"]) < 8:
            r["notes"].append(f"{i}:{state}: {note}")

    def close(self, why, finish):
        """After its end, however it came; the tasks that remain."""
        os.close(self.pipe)
        _, status = os.waitpid(self.pid, 0)
        errors = self.options.out / f"stderr{self.pid}"
        tail = errors.read_text(errors="replace")[-400:] if errors.exists() else ""
        errors.unlink(missing_ok=True)
        shutil.rmtree(self.options.out / f"scratch{self.pid}", ignore_errors=True)
        if not self.tasks:
            return []
        task = self.tasks[0]
        if self.phase is None:
            self.phase = task["phases"][0]
        self.note(self.current if self.current is not None else "?", why, f"exit {os.waitstatus_to_exitcode(status)}: {tail}")
        left = [p for p in task["phases"] if p not in self.results]
        if left:
            task["before"] = {**task.get("before", {}), **self.results}
            self.tasks[0] = {**task, "phases": left}
        else:
            finish(self.tasks.popleft(), self.results, self.programs)
        return list(self.tasks)


def list_tasks(options):
    tasks = []
    for k, op in enumerate(op_db):
        for dtype in options.dtypes.split(","):
            if not re.search(options.ops, name_of(op)) or not op.supports_dtype(getattr(torch, dtype), "cpu"):
                continue
            if options.against and not (options.against / "values" / f"{k}.{dtype}.pt").exists():
                continue
            can = {
                "fwd": True,
                "bwd": dtype == "float32" and op.supports_autograd,
                "inplace": op.get_inplace() is not None,
                "out": op.supports_out,
            }
            phases = [p for p in options.phases.split(",") if can[p]]
            if phases:
                tasks.append({"id": f"{k}.{dtype}", "op": k, "name": name_of(op), "dtype": dtype, "phases": phases})
    return tasks


def sweep(options, tasks, finish):
    selector, children = selectors.DefaultSelector(), set()
    groups = [tasks[i : i + options.group] for i in range(0, len(tasks), options.group)][::-1]
    while groups or children:
        while groups and len(children) < options.jobs:
            c = Child(options, groups.pop())
            children.add(c)
            selector.register(c.pipe, selectors.EVENT_READ, c)
        ended = [(c, "crash") for c in (key.data for key, _ in selector.select(1)) if not c.hear(finish)]
        for c in children - {c for c, _ in ended}:
            if time.time() - c.touched > options.timeout:
                os.kill(c.pid, signal.SIGKILL)
                ended.append((c, "timeout"))
        for c, why in ended:
            selector.unregister(c.pipe)
            children.remove(c)
            left = c.close(why, finish)
            if left:
                groups.append(left)


def report(options):
    rows = [json.loads(line) for line in open(options.out / "results.jsonl")]
    for dtype, phase in itertools.product(DTYPES, PHASES):
        states = [r["res"][phase]["st"] for r in rows if r["dtype"] == dtype and phase in r["res"] and r["res"][phase]["st"] != "n/a"]
        if states:
            n = collections.Counter(states)
            print(f"{dtype} {phase}: {n['pass']} of {len(states)} ({100 * n['pass'] / len(states):.1f} %)", dict(n))
    if (options.out / "programs").exists():
        print(f"{len(list((options.out / 'programs').glob('*.mlir')))} distinct programs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--against", type=pathlib.Path)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--phases", default=",".join(PHASES))
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--ops", default="")
    parser.add_argument("--unsupported-in", type=pathlib.Path, help="only what lacks a lowering by these results")
    parser.add_argument("--sample", type=int, default=0, help="so many tasks only, by chance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", default="DEFER_NEVER")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--group", type=int, default=1, help="tasks a child; 1 tells each task's own programs")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a sample")
    parser.add_argument("--soft", type=float, default=60, help="seconds after which a phase takes no further sample")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    options.out = options.out.resolve()
    torch.set_num_threads(1)
    let_randomness_show()
    path = options.out / "results.jsonl"
    done = {(r["name"], r["dtype"]) for r in map(json.loads, open(path))} if path.exists() else set()
    tasks = list_tasks(options)
    if options.unsupported_in:
        rows = map(json.loads, open(options.unsupported_in))
        lacking = {(r["name"], r["dtype"]) for r in rows if any(x["st"] == "unsupported" for x in r["res"].values())}
        tasks = [t for t in tasks if (t["name"], t["dtype"]) in lacking]
    if options.sample:
        random.Random(options.seed).shuffle(tasks)
        tasks = tasks[: options.sample]
    tasks = [t for t in tasks if (t["name"], t["dtype"]) not in done]
    print(f"{len(done)} done, {len(tasks)} to do", flush=True)
    with open(path, "a") as file:

        def finish(task, results, programs):
            row = {"name": task["name"], "dtype": task["dtype"], "res": {**task.get("before", {}), **results}, "programs": programs}
            file.write(json.dumps(row) + "\n")
            file.flush()

        sweep(options, tasks, finish)
    report(options)


if __name__ == "__main__":
    main()

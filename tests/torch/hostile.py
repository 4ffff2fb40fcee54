"""What test_hostile.py runs: a process that imports torch, starts nothing, and forks a child for every experiment, so that each
begins with a fresh runtime at the price of a fork. Prints a line of JSON.

    python hostile.py faults pjrt|alloc strict|fused FIRST STEP    the Nth call fails, for N = FIRST, FIRST + STEP, ... until none does
    python hostile.py cache FOLDER                                 damage to the disk tier (with TORCH_TPU_PLUGIN that uses it)
    python hostile.py memory                                       a device that is too small
"""

import ctypes
import glob
import json
import os
import shutil
import signal
import sys
import time
import traceback

import torch

from torch_tpu import _loader


def in_child(f, *args, timeout=60):
    """f's result, or how the child died."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            text = json.dumps(f(*args))
        except BaseException:
            text = json.dumps({"unexpected": traceback.format_exc()[-1500:]})
        with os.fdopen(writer, "w") as out:
            out.write(text)
        os._exit(0)
    os.close(writer)
    signal.alarm(timeout)
    try:
        with os.fdopen(reader) as out:
            text = out.read()
        _, status = os.waitpid(pid, 0)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return {"unexpected": "hangs"}
    finally:
        signal.alarm(0)
    return json.loads(text) if status == 0 and text else {"unexpected": f"the process died with status {status}"}


def on_alarm(*_):
    raise TimeoutError


# ---------------------------------------------------------------- the Nth call fails
STEPS = [ # (name, f(d) on a dict of tensors, on either device)
    ("upload", lambda d, to: d.update(x=to(torch.arange(12.0).reshape(3, 4)), y=to(torch.full((3, 4), 2.0)))),
    ("add", lambda d, to: d.update(z=d["x"] + d["y"])),
    ("add_", lambda d, to: d["x"].add_(1)),
    ("mul_ view", lambda d, to: d["x"][1:, ::2].mul_(2)),
    ("matmul", lambda d, to: d.update(w=d["x"] @ d["y"].t())),
    ("softmax", lambda d, to: d.update(s=(d["w"] * 0.01).softmax(-1))),
    ("index", lambda d, to: d.update(i=d["x"][to(torch.tensor([2, 0]))])),
    ("index_put_", lambda d, to: d["y"].index_put_((to(torch.tensor([1])),), d["x"][0])),
    ("cat", lambda d, to: d.update(c=torch.cat([d["x"], d["y"]]))),
    ("copy_", lambda d, to: d["z"].copy_(d["y"] * 3)),
    ("copy_ host", lambda d, to: d["z"][0].copy_(torch.ones(4))),
    ("out=", lambda d, to: torch.sub(d["x"], d["y"], out=d["z"])),
    ("item", lambda d, to: d.update(n=d["x"].sum().item())),
    ("nonzero", lambda d, to: d.update(m=(d["y"] > 2).nonzero())),
    ("masked_fill_", lambda d, to: d["x"].masked_fill_(d["y"] > 2, 7)),
    ("sort", lambda d, to: d.update(o=d["y"].sort(-1)[0])),
    ("resize_", lambda d, to: d["c"].resize_(2, 3)),
    ("where", lambda d, to: d.update(q=torch.where(d["x"] > 3, d["x"], d["y"]))),
    ("gather", lambda d, to: d.update(r=d["x"].gather(1, to(torch.tensor([[0], [3], [1]]))))),
    ("scatter_add_", lambda d, to: d["y"].scatter_add_(0, to(torch.tensor([[0, 1, 2, 0]])), d["x"][:1])),
    ("layer_norm", lambda d, to: d.update(l=torch.nn.functional.layer_norm(d["x"], (4,)))),
    ("conv2d", lambda d, to: d.update(v=torch.nn.functional.conv2d(d["x"][None, None], d["y"][None, None, :2, :2]))),
    ("embedding", lambda d, to: d.update(e=torch.nn.functional.embedding(to(torch.tensor([1, 1, 2])), d["x"]))),
    ("cumsum", lambda d, to: d.update(u=d["x"].cumsum(1))),
    ("topk", lambda d, to: d.update(t=d["u"].topk(2)[0])),
    ("argmax", lambda d, to: d.update(a=d["u"].argmax(1))),
    ("// (checked)", lambda d, to: d.update(g=d["a"] // (d["a"] + 1))),
    ("clamp_ t()", lambda d, to: d["x"].t().clamp_(max=9)),
    ("_foreach_add_", lambda d, to: torch._foreach_add_([d["x"], d["y"]], 1.0)),
    ("_foreach_mul", lambda d, to: d.update(zip(("h", "j"), torch._foreach_mul([d["x"], d["y"]], 0.5), strict=True))),
    ("var_mean", lambda d, to: d.update(zip(("k", "f"), torch.var_mean(d["x"], 1), strict=True))),
    ("to", lambda d, to: d.update(p=d["x"].to(torch.int32))),
    ("row 1", lambda d, to: d["u"].select(0, 1).add_(1)),
    ("row 0", lambda d, to: d["u"].select(0, 0).add_(1)),
    ("row 2", lambda d, to: d["u"].select(0, 2).add_(1)),
    ("bool", lambda d, to: d.update(b=bool((d["x"] == d["x"]).all()))),
]


def values(d):
    """With one repetition, since the injected failure may hit the read itself."""
    for attempt in (0, 1):
        try:
            return {k: v.cpu() if isinstance(v, torch.Tensor) else v for k, v in d.items()}
        except RuntimeError:
            if attempt:
                raise


def script(kind, n, fused):
    if kind == "alloc":
        os.environ["TORCH_TPU_FAULT"] = f"alloc:{n}"
    else:
        core = ctypes.CDLL(str(_loader.library_dir() / "libtorch_tpu_core.so"))
        core.tt_pjrt_fault_set(ctypes.c_long(n))
    errors, host, device = [], {}, {}
    for attempt in (0, 1):
        try:
            if fused:
                torch.tpu.eager_mode = torch.tpu.EagerMode.DEFER_AND_FUSE
            torch.zeros(1, device="tpu").cpu()
            break
        except RuntimeError as error:
            errors.append(("start", str(error)))
            if "failed on purpose" not in str(error):
                return {"unexpected": f"start: {error}"}
            if attempt: # a runtime that could not start keeps its error: that is the whole experiment
                return {"errors": errors, "start": True}
    for name, f in STEPS:
        for _ in range(2):
            before = {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in host.items()}
            try:
                f(device, lambda t: t.to("tpu"))
            except RuntimeError as error:
                errors.append((name, str(error)))
                if "failed on purpose" not in str(error):
                    return {"unexpected": f"{name}: {error}"}
                if not same(values(device), before):
                    return {"unexpected": f"{name} failed and changed a tensor"}
                continue
            f(host, lambda t: t)
            break
        if not fused or name in ("mul_ view", "bool"):
            if not same(values(device), host):
                return {"unexpected": f"wrong values after {name}: {values(device)} not {host}"}
    if not same(values(device), host):
        return {"unexpected": "wrong values at the end"}
    device.clear()
    left = torch.tpu.memory_stats()["allocation.all.current"]
    if kind == "alloc":
        return {"errors": errors, "left": left}
    core.tt_pjrt_fault_left.restype = ctypes.c_long
    return {"errors": errors, "left": left, "reached": core.tt_pjrt_fault_left() == 0}


def same(a, b):
    if a.keys() != b.keys():
        return False
    for k, v in a.items():
        w = b[k]
        if isinstance(v, torch.Tensor):
            if v.shape != w.shape or not torch.allclose(v, w, rtol=1e-5):
                return False
        elif v != w:
            return False
    return True


def faults(kind, mode, first, step):
    """raised: experiments in which some op failed; in the others a read was repeated, or fused mode recovered."""
    clean = in_child(script, kind, 1 << 40, mode == "fused")
    if "unexpected" in clean:
        return {"n": 0, **clean}
    raised = quiet = 0
    for n in range(first, 5000, step):
        result = in_child(script, kind, n, mode == "fused")
        if "unexpected" in result:
            return {"n": n, **result}
        if not result.get("start") and result["left"] > clean["left"]:
            return {"n": n, "unexpected": f"{result['left']} buffers live, not {clean['left']}; {result['errors']}"}
        raised += bool(result["errors"])
        quiet = 0 if result["errors"] else quiet + 1
        if result.get("reached") is False or (kind == "alloc" and quiet == 40): # allocations are not counted outside the engine
            return {"n": n, "raised": raised}
    return {"n": n, "unexpected": "never ends"}


# ---------------------------------------------------------------- memory
def memory():
    os.environ["TORCH_TPU_MEMORY_BYTES"] = str(64 << 20)

    def run():
        seen = []
        keep = [torch.ones(1 << 20, device="tpu") for _ in range(10)] # 40 MiB
        try:
            torch.empty(1 << 38, device="tpu")
        except torch.OutOfMemoryError as error:
            seen.append(str(error))
        try:
            x = keep[0] + torch.ones(1 << 20, 8, device="tpu").sum(1)
            x.cpu()
        except torch.OutOfMemoryError as error:
            seen.append(str(error))
        x = None
        assert all((k == 1).all().item() for k in keep), "a tensor changed"
        keep.clear()
        assert (torch.ones(1 << 22, device="tpu") + 1).sum().item() == 2 << 22, "not usable afterwards"
        return {"seen": seen}

    return in_child(run)


# ---------------------------------------------------------------- the disk tier
def work(shape=4):
    x = torch.arange(float(shape * 3)).reshape(3, shape).to("tpu")
    y = (x * 2 + 1) @ x.t()
    want = (x.cpu() * 2 + 1) @ x.cpu().t()
    assert torch.equal(y.cpu(), want)
    stats = torch.tpu.runtime_stats()
    return {"compiles": stats["compiles"], "disk": stats["disk_hits"]}


def cache(folder):
    os.environ["TORCH_TPU_CACHE_DIR"] = folder
    out = {"first": in_child(work), "second": in_child(work)}
    entries = sorted(glob.glob(folder + "/*.bin"))
    out["entries"] = len(entries)

    def damage(change):
        for path in entries:
            with open(path, "rb") as f:
                data = bytearray(f.read())
            with open(path, "wb") as f:
                f.write(change(data))
        return {"damaged": in_child(work), "repaired": in_child(work)}

    def flip(data):
        data[len(data) // 2] ^= 1
        return data

    out["truncated"] = damage(lambda data: data[: len(data) // 2])
    out["empty"] = damage(lambda data: b"")
    out["header only"] = damage(lambda data: data[:56])
    out["flipped"] = damage(flip)
    out["garbage"] = damage(lambda data: os.urandom(len(data)))
    contents = [open(path, "rb").read() for path in entries]
    for path, data in zip(entries, contents[1:] + contents[:1], strict=True):
        with open(path, "wb") as f:
            f.write(data)
    out["exchanged"] = {"damaged": in_child(work), "repaired": in_child(work)}

    def deleted():
        work()
        shutil.rmtree(folder)
        work(5)
        return work(6)

    out["deleted while running"] = in_child(deleted)
    out["after that"] = len(glob.glob(folder + "/*.bin"))

    def elsewhere(path):
        os.environ["TORCH_TPU_CACHE_DIR"] = path
        return work(7)

    open(folder + "-file", "w").close()
    out["a file"] = in_child(elsewhere, folder + "-file")
    out["impossible"] = in_child(elsewhere, "/proc/nothing/here")

    def together(path, number):
        os.environ["TORCH_TPU_CACHE_DIR"] = path
        for shape in range(1, 9):
            work(shape)
        return work(9)

    shared = folder + "-shared"
    children = []
    for number in range(4):
        pid = os.fork()
        if pid == 0:
            try:
                together(shared, number)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        children.append(pid)
    out["together"] = [os.waitpid(pid, 0)[1] for pid in children]
    out["leftovers"] = len(glob.glob(shared + "/*.tmp"))
    out["shared"] = in_child(together, shared, 0)
    return out


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, on_alarm)
    start = time.monotonic()
    what = sys.argv[1]
    result = faults(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])) if what == "faults" else cache(sys.argv[2]) if what == "cache" else memory()
    result["seconds"] = round(time.monotonic() - start, 1)
    print(json.dumps(result), flush=True)

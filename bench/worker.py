"""One peer's process of the bench: python bench/worker.py MODE THREADS. bench/run.py starts it and speaks to it in lines of JSON.

    {"make": row} -> {"check": [mean magnitude of each result], "calls": how many make a sample}
    {"sample": calls} -> {"cpu": seconds a call, "wall": seconds a call}

A request that fails is answered {"error": text}. With a third argument, the row of a model, it makes one step, says what that took, and
after four more steps what memory they took.
"""

import gc
import json
import os
import resource
import sys
import time

MODE, THREADS = sys.argv[1], int(sys.argv[2])
RECORDING = MODE == "ours recording"  # fused, and what flushes is not counted
SAMPLE = 20e-3  # seconds that a sample lasts, if a call is shorter: most of it with warm caches, as in a user's loop
device = "cpu" if MODE in ("torch", "inductor") else "tpu"


def boot():
    """Imports torch with this mode's device; returns it."""
    if MODE.startswith("anchor"):
        import anchor

        anchor.boot()
    import torch

    torch.set_num_threads(THREADS)
    if device == "tpu":
        modes = torch.tpu.EagerMode
        torch.tpu.eager_mode = modes.DEFER_AND_FUSE if MODE.endswith("fused") or RECORDING else modes.DEFER_NEVER
    return torch


def compiled(function):
    """The function, compiled if this mode compiles."""
    if MODE == "inductor":
        return torch.compile(function, dynamic=False)
    return torch.compile(function, backend="tpu", dynamic=False) if MODE == "xla" or MODE.endswith("compiled") else function


def synchronize():
    if device == "tpu":
        torch.accelerator.synchronize() if MODE.startswith("anchor") else torch.tpu.synchronize()


def make(row):
    """Returns what to call, without arguments."""
    if "torch._dynamo" in sys.modules:  # importing it would count as ours in the cold rows
        torch._dynamo.reset()
    torch.manual_seed(0)
    if row.startswith("model "):
        import models

        return models.make(row, device, compiled)
    from cases import CASES

    case = CASES[row]
    inputs = [t.to(device) for t in case.inputs()]
    if case.prepare:
        return case.prepare(*inputs)
    function = compiled(case.call)
    return lambda: function(*inputs)


def magnitudes(result):
    leaves = torch.utils._pytree.tree_leaves(result)
    return [float(torch.as_tensor(t).detach().to("cpu").double().abs().mean()) for t in leaves]


def sample(call, calls):
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    for _ in range(calls):
        result = call()  # noqa: F841 - lives until the next one is there, as in a user's loop
    if not RECORDING:
        synchronize()
    cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    synchronize()
    return {"cpu": cpu / 1e9 / calls, "wall": wall / 1e9 / calls}


def warm_up(call):
    check = magnitudes(call())
    sample(call, 1)
    calls = max(1, min(2000, int(SAMPLE / sample(call, 3)["cpu"])))
    sample(call, calls)
    calls = max(1, min(2000, int(SAMPLE / sample(call, calls)["cpu"])))
    return {"check": check, "calls": calls}


def serve(replies):
    call = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "make" in request:
                call = None
                gc.collect()
                call = make(request["make"])
                reply = warm_up(call)
                gc.collect()
                gc.freeze()
                gc.disable()
            else:
                reply = sample(call, request["sample"])
        except Exception as e:  # a peer's failure is a cell of the table
            reply = {"error": f"{type(e).__name__}: {' '.join(str(e).split())[:300]}"}
        print(json.dumps(reply), file=replies, flush=True)


def cold(row, replies):
    """The first step of a model, then four more for the peak of memory."""
    step = make(row)
    step()
    synchronize()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    reply = {"cpu": time.process_time() + children.ru_utime + children.ru_stime}
    if MODE.startswith("ours"):
        reply["compile"] = torch.tpu.runtime_stats()["compile_nanoseconds"] / 1e9
    print(json.dumps(reply), file=replies, flush=True)
    for _ in range(4):
        step()
    synchronize()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"peak": peak}), file=replies, flush=True)


if __name__ == "__main__":
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anyone prints goes to stderr
    torch = boot()
    if len(sys.argv) > 3:
        cold(sys.argv[3], replies)
    else:
        serve(replies)
    replies.flush()
    os._exit(0)  # peers' threads may not end

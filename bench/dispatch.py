"""What an op costs the host: 16x16 float32, device "tpu" against torch CPU, interleaved in one process.

    python bench/dispatch.py [repeats]

A row is microseconds per op, minimum and median over the repeats, and the ratio of minima to torch CPU's. "recorded" is the time to
issue an op in fused mode, its share of the flush not counted; "with flush" counts it.
"""

import statistics
import sys
import time

import torch

OPS = 200


def timed(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return (time.perf_counter() - start) / OPS * 1e6


def add_many(x, y):
    for _ in range(OPS):
        x + y




def item_many(x):
    for _ in range(OPS):
        x.item()


def measure_fused(x, y):
    """Returns (recorded, with flush). The results die at once, as they do on the CPU, so the flush runs nothing."""
    start = time.perf_counter()
    add_many(x, y)
    recorded = time.perf_counter()
    torch.tpu.synchronize()
    return (recorded - start) / OPS * 1e6, (time.perf_counter() - start) / OPS * 1e6


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    torch.set_num_threads(1)
    modes = torch.tpu.EagerMode
    cpu = torch.randn(16, 16), torch.randn(16, 16)
    tpu = tuple(t.to("tpu") for t in cpu)
    scalar_cpu, scalar_tpu = torch.tensor(1.5), torch.tensor(1.5).to("tpu")
    samples = {}

    def note(row, value):
        samples.setdefault(row, []).append(value)

    for _ in range(repeats + 3):
        note("x + y, torch CPU", timed(add_many, *cpu))
        torch.tpu.eager_mode = modes.DEFER_NEVER
        note("x + y, strict", timed(add_many, *tpu))
        torch.tpu.synchronize()
        torch.tpu.eager_mode = modes.DEFER_AND_FUSE
        recorded, flushed = measure_fused(*tpu)
        note("x + y, fused, recorded", recorded)
        note("x + y, fused, with flush", flushed)
        torch.tpu.eager_mode = modes.DEFER_NEVER
        note("item(), torch CPU", timed(item_many, scalar_cpu))
        note("item(), strict", timed(item_many, scalar_tpu))
    samples = {row: values[3:] for row, values in samples.items()}
    print(f"{'':<28}{'min us':>9}{'median us':>11}{'ratio':>8}")
    for row, values in samples.items():
        base = samples["item(), torch CPU" if row.startswith("item") else "x + y, torch CPU"]
        print(f"{row:<28}{min(values):>9.2f}{statistics.median(values):>11.2f}{min(values) / min(base):>8.2f}")


if __name__ == "__main__":
    main()

"""The demo's training step: device "tpu" (fused, strict, compiled) against torch CPU eager, interleaved in one process.

    TORCH_TPU_THREADS=1 python bench/train_step.py [repeats]

One thread each, process CPU time, so that other load counts little. A row is milliseconds per step, minimum and median, and the ratio of
minima to torch CPU's.
"""

import pathlib
import statistics
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples"))
import train_gpt  # noqa: E402


def make(device, compiled, characters):
    torch.manual_seed(0)
    model = train_gpt.GPT(characters).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    return (torch.compile(model, backend="tpu") if compiled else model), optimizer


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    torch.set_num_threads(1)
    characters, ids = train_gpt.standard_library()
    modes = torch.tpu.EagerMode
    rows = {
        "torch CPU eager": ("cpu", False, modes.DEFER_NEVER),
        "tpu fused": ("tpu", False, modes.DEFER_AND_FUSE),
        "tpu strict": ("tpu", False, modes.DEFER_NEVER),
        "tpu compiled": ("tpu", True, modes.DEFER_NEVER),
    }
    made = {row: make(device, compiled, len(characters)) for row, (device, compiled, _) in rows.items()}
    samples = {row: [] for row in rows}
    for x, y in train_gpt.batches(ids, repeats + 4, 0):
        for row, (device, _, mode) in rows.items():
            torch.tpu.eager_mode = mode
            start = time.process_time()
            train_gpt.train_step(*made[row], x.to(device), y.to(device)).item()
            torch.tpu.synchronize()  # the backward pass and the optimizer run on after item()
            samples[row].append((time.process_time() - start) * 1e3)
    base = min(samples["torch CPU eager"][4:])
    print(f"{'':<20}{'min ms':>9}{'median ms':>11}{'ratio':>8}")
    for row, values in samples.items():
        print(f"{row:<20}{min(values[4:]):>9.1f}{statistics.median(values[4:]):>11.1f}{min(values[4:]) / base:>8.2f}")


if __name__ == "__main__":
    main()

"""`python -m torch_tpu.doctor`: what is installed, what runs, what is slow or missing; in one page."""

import sys
import time


def _line(name, value):
    print(f"  {name:<28}{value}")


def _environment(ops):
    texts = ops.environment()
    print("environment (set by you: *)")
    for i in range(0, len(texts), 4):
        name, value, is_set, meaning = texts[i : i + 4]
        print(f"  {'*' if is_set == '1' else ' '} {name:<28}{value or '-':<12} {meaning}")


def _first_op(torch):
    start = time.perf_counter()
    value = (torch.ones(2, device="tpu") + 1).tolist()
    elapsed = time.perf_counter() - start
    if value != [2.0, 2.0]:
        raise RuntimeError(f"ones(2) + 1 gave {value}")
    return elapsed


def main():
    import torch

    import torch_tpu

    print("torch_tpu", torch_tpu.__version__)
    _line("python", sys.version.split()[0])
    _line("torch", torch.__version__)
    if torch_tpu.load_error:
        _line("NOT LOADED", torch_tpu.load_error)
        return 1
    from torch_tpu import _loader

    ops = torch.ops.tpu_bridge
    _line("libraries", _loader.library_dir())
    _line("ops with a kernel", len(ops.rows()))
    _line("devices", torch.tpu.device_count())
    try:
        _line("plugin", ops.plugin())
        _line("device", torch.tpu.get_device_name(0))
        _line("memory", f"{torch.tpu.get_device_properties(0).total_memory / 2**30:.1f} GiB")
        _line("first op", f"{_first_op(torch) * 1e3:.1f} ms, right")
        _line("eager mode", torch.tpu.eager_mode.name)
    except RuntimeError as error:
        _line("DOES NOT RUN", error)
        return 1
    counts = torch.tpu.cpu_fallback_counts()
    _line("CPU fallbacks", ", ".join(f"{name} x{n}" for name, n in counts.items()) or "none in this process")
    _environment(ops)
    return 0


if __name__ == "__main__":
    sys.exit(main())

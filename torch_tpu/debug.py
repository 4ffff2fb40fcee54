"""Looking inside: `with torch_tpu.debug.trace(level): ...` writes what runs to stderr (levels as TORCH_TPU_DEBUG: 1 compiles,
2 ops, 3 graphs, 4 StableHLO, 5 buffers), `count()` counts what a block costs, `no_fallback()` makes any CPU fallback an error."""

import contextlib

import torch

_ops = torch.ops.tpu_bridge


@contextlib.contextmanager
def trace(level=2):
    before = _ops.get_log_level()
    _ops.set_log_level(level)
    try:
        yield
    finally:
        _ops.set_log_level(before)


@contextlib.contextmanager
def count():
    """Yields a dict that is filled at the end of the block: runtime counters and CPU fallbacks that the block caused."""
    stats, fallbacks = torch.tpu.runtime_stats(), torch.tpu.cpu_fallback_counts()
    out = {}
    try:
        yield out
    finally:
        out.update({name: value - stats[name] for name, value in torch.tpu.runtime_stats().items()})
        now = torch.tpu.cpu_fallback_counts()
        out["cpu_fallbacks"] = {name: n - fallbacks.get(name, 0) for name, n in now.items() if n > fallbacks.get(name, 0)}


@contextlib.contextmanager
def no_fallback():
    before = _ops.get_cpu_fallback()
    _ops.set_cpu_fallback("error")
    try:
        yield
    finally:
        _ops.set_cpu_fallback(before)

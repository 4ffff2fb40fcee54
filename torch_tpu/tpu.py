"""`torch.tpu`: the device module, as torch.cuda is for CUDA. Thin: every answer comes from the bridge (torch.ops.tpu_bridge) or
from torch.accelerator. Nothing here starts the runtime unless it must.

Never implement device_count with torch.accelerator.device_count(): that one calls this one.
"""

import collections
import importlib
import math
import os
import sys
import types

import torch
from torch import Event, Stream

from torch_tpu._modes import (
    EagerMode,
    Precision,
    assign_eager_mode,
    get_eager_mode,
    precision,
    set_eager_mode,
)

_ops = torch.ops.tpu_bridge

# Submodules that load when first used.
_SUBMODULES = {"compiler", "distributed", "ops", "optimizers", "pallas", "profiler"}

__all__ = [  # noqa: F822 (two names are properties of the module)
    "EagerMode", "Event", "Precision", "Stream", "allow_excess_precision", "compile_count", "compile_log", "cpu_fallback_counts",
    "current_device", "current_stream", "default_generators", "default_stream", "device", "device_count", "device_of",
    "eager_mode", "empty_cache", "get_amp_supported_dtype", "get_device_capability", "get_device_name", "get_device_properties",
    "get_rng_state", "get_rng_state_all", "initial_seed", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved",
    "memory_stats", "memory_summary", "precision", "reset_peak_memory_stats", "runtime_stats", "seed", "set_cpu_fallback",
    "set_device", "set_eager_mode", "set_rng_state", "set_rng_state_all", "set_stream", "stream", "synchronize",
    "topology_aware_mesh",
]  # fmt: skip


# ---- starting


def is_available():
    """Whether this process has a tpu device, real or virtual."""
    return device_count() > 0


def device_count():
    """How many tpu devices this process has. Does not start the runtime."""
    return _ops.device_count()


def is_initialized():
    """Whether the runtime has started."""
    return _ops.started()


def _is_in_bad_fork():
    return _ops.in_bad_fork()


def _lazy_init():
    _ops.start()


def init():
    """Starts the runtime now instead of at first use."""
    _ops.start()


# ---- devices


def _index(device=None):
    """The index of a device given as None, an int, a string or a torch.device; None and "tpu" mean the current one."""
    if device is None:
        return current_device()
    if isinstance(device, int):
        index = device
    else:
        device = torch.device(device)
        if device.type != "tpu":
            raise ValueError(f"expected a tpu device, got {device}")
        index = current_device() if device.index is None else device.index
    if not 0 <= index < device_count():
        raise ValueError(f"tpu:{index} does not exist: this process has {device_count()} tpu device(s)")
    return index


def current_device():
    """The index of this thread's current device."""
    return torch._C._accelerator_getDeviceIndex()


def set_device(device):
    """Makes a device the current one of this thread. Under torchrun a process with one chip may name it by its local rank."""
    if device_count() == 1 and isinstance(device, int) and str(device) == os.environ.get("LOCAL_RANK"):
        device = 0
    torch._C._accelerator_setDeviceIndex(_index(device))


class device:
    """`with torch.tpu.device(1): ...`: another current device within the block."""

    def __init__(self, device):
        self.idx = -1 if device is None or (isinstance(device, int) and device < 0) else _index(device)
        self.prev_idx = -1

    def __enter__(self):
        self.prev_idx = torch._C._accelerator_exchangeDevice(self.idx)

    def __exit__(self, *_):
        torch._C._accelerator_maybeExchangeDevice(self.prev_idx)
        return False


class device_of(device):
    """`with torch.tpu.device_of(tensor): ...`: the tensor's device; nothing when it is not on tpu."""

    def __init__(self, tensor):
        super().__init__(tensor.get_device() if tensor.device.type == "tpu" else -1)


class _DeviceGuard:
    def __init__(self, index):
        self.idx = index
        self.prev_idx = -1

    def __enter__(self):
        self.prev_idx = torch._C._accelerator_exchangeDevice(self.idx)

    def __exit__(self, *_):
        torch._C._accelerator_maybeExchangeDevice(self.prev_idx)
        return False


def _exchange_device(index):
    return torch._C._accelerator_exchangeDevice(index)


def _maybe_exchange_device(index):
    return torch._C._accelerator_maybeExchangeDevice(index)


DeviceProperties = collections.namedtuple("DeviceProperties", "name total_memory multi_processor_count")


def get_device_name(device=None):
    """The chip's name as the plugin gives it: "TPU v5e", or the engine's virtual chip."""
    return _ops.device_kind(_index(device))


def get_device_properties(device=None):
    """name, total_memory in bytes, multi_processor_count (1)."""
    _ops.start()
    index = _index(device)
    return DeviceProperties(_ops.device_kind(index), _ops.memory(index)[3], 1)


def get_device_capability(device=None):
    _index(device)
    return (0, 0)


def can_device_access_peer(device, peer_device):
    return _index(device) != _index(peer_device)


def synchronize(device=None):
    """Waits until the device has done all its work, and raises what went wrong in it."""
    _ops.synchronize(_index(device))


# ---- streams: names for a device's one in-order queue


def current_stream(device=None):
    return torch.accelerator.current_stream(_index(device))


def default_stream(device=None):
    with _DeviceGuard(_index(device)):
        return Stream(stream_id=0, device_index=_index(device), device_type=torch._C._autograd.DeviceType.PrivateUse1.value)


def set_stream(stream):
    if stream is not None:
        torch.accelerator.set_stream(stream)


class stream:
    """`with torch.tpu.stream(s): ...`"""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self.before = current_stream(self.stream.device)
            set_stream(self.stream)
        return self.stream

    def __exit__(self, *_):
        if self.stream is not None:
            set_stream(self.before)
        return False


StreamContext = stream


# ---- random numbers


class _DefaultGenerators:
    def __getitem__(self, index):
        if not 0 <= index < device_count():
            raise IndexError(f"tpu:{index} does not exist: this process has {device_count()} tpu device(s)")
        return _ops.default_generator(index)

    def __len__(self):
        return device_count()

    def __iter__(self):
        return (self[i] for i in range(len(self)))


default_generators = _DefaultGenerators()


def _get_generator(device):
    return default_generators[_index(device)]


def get_rng_state(device="tpu"):
    """The 16 bytes (seed, offset) of a device's default generator."""
    return _get_generator(device).get_state()


def set_rng_state(new_state, device="tpu"):
    _get_generator(device).set_state(new_state)


def get_rng_state_all():
    return [generator.get_state() for generator in default_generators]


def set_rng_state_all(new_states):
    for generator, state in zip(default_generators, new_states, strict=False):
        generator.set_state(state)


def manual_seed(seed):
    """Seeds the current device's default generator; nothing without a device."""
    if is_available():
        _get_generator(None).manual_seed(int(seed))


def manual_seed_all(seed):
    for generator in default_generators:
        generator.manual_seed(int(seed))


def seed():
    return _get_generator(None).seed()


def seed_all():
    value = seed()
    manual_seed_all(value)
    return value


def initial_seed():
    return _get_generator(None).initial_seed()


# ---- mixed precision


def get_amp_supported_dtype():
    return [torch.bfloat16, torch.float16, torch.float32]


def is_bf16_supported(including_emulation=True):
    return True


# ---- memory. Reserved is what is allocated: buffers go back to the plugin at once.


def memory_stats(device=None):
    """A flat dict with the keys of torch.cuda.memory_stats that have a meaning here."""
    live, peak, buffers, limit, allocations, frees, total = _ops.memory(_index(device))
    stats = {}
    for pool in ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes"):
        stats |= {f"{pool}.all.current": live, f"{pool}.all.peak": peak, f"{pool}.all.allocated": total, f"{pool}.all.freed": total - live}
    for count in ("allocation", "active"):
        stats |= {f"{count}.all.current": buffers, f"{count}.all.allocated": allocations, f"{count}.all.freed": frees}
    return stats | {"limit_bytes": limit, "num_alloc_retries": 0, "num_ooms": 0}


def memory_allocated(device=None):
    return _ops.memory(_index(device))[0]


def max_memory_allocated(device=None):
    return _ops.memory(_index(device))[1]


memory_reserved = memory_allocated
max_memory_reserved = max_memory_allocated


def reset_peak_memory_stats(device=None):
    _ops.reset_peak_memory(_index(device))


def mem_get_info(device=None):
    """(free, total) in bytes."""
    _ops.start()
    live, _, _, limit, *_ = _ops.memory(_index(device))
    return max(limit - live, 0), limit


def memory_summary(device=None, abbreviated=False):
    index = _index(device)
    live, peak, buffers, limit, allocations, frees, total = _ops.memory(index)
    rows = [("allocated", live), ("peak", peak), ("limit", limit), ("allocated in total", total)]
    lines = [f"tpu:{index} memory"] + [f"  {name:<20}{value / 2**20:>14.2f} MiB" for name, value in rows]
    return "\n".join([*lines, f"  {'buffers':<20}{buffers:>14d}", f"  {'allocations':<20}{allocations:>14d}", f"  {'frees':<20}{frees:>14d}"])


def empty_cache():
    """Runs what is pending, so that buffers that only pending work holds are freed. The plugins keep no cache of ours."""
    if is_initialized():
        _ops.flush(-1, "empty_cache")


# ---- what the runtime did

_STATS = ("ops", "programs_run", "compiles", "compile_nanoseconds", "cache_hits", "disk_hits", "flushes", "op_signatures", "forgotten")


def runtime_stats():
    """Counters since the start: ops, programs run, compiles and their time, cache and disk hits, flushes, op signatures."""
    return dict(zip(_STATS, _ops.stats(), strict=True))


def compile_count():
    """How many programs were compiled since the start."""
    return runtime_stats()["compiles"]


def compile_log():
    """The last compiles with their reasons, newest first, one a line."""
    return [line for line in _ops.compile_log().split("\n") if line]


def cpu_fallback_counts():
    """{"aten::op": how often it ran on the CPU because tpu has no lowering for it}."""
    return dict(_ops.cpu_fallback_counts())


def host_op_counts():
    """{"aten::op": how often}: ops whose result shape depends on values and that are computed on the host by design."""
    return dict(_ops.host_op_counts())


def reset_cpu_fallback_counts():
    _ops.reset_cpu_fallback_counts()


def set_cpu_fallback(policy):
    """What an op without a lowering does: "error", "warn" (once per op) or "silent". TORCH_TPU_CPU_FALLBACK sets it at start."""
    _ops.set_cpu_fallback(policy)


def topology_aware_mesh(mesh_shape, *, dcn_mesh_shape=None, allow_split_physical_axes=False, contiguous_submeshes=False):
    """Ranks laid out as a mesh of this shape so that neighbours are close. Virtual chips are all equally near: row-major order."""
    if _ops.plugin() != "engine":
        raise NotImplementedError("topology_aware_mesh knows the embedded engine's virtual chips only; this process runs on " + _ops.plugin())
    shape = list(mesh_shape)
    if dcn_mesh_shape is not None:
        if len(dcn_mesh_shape) != len(shape):
            raise ValueError(f"dcn_mesh_shape {tuple(dcn_mesh_shape)} and mesh_shape {tuple(shape)} differ in length")
        shape = [a * b for a, b in zip(dcn_mesh_shape, shape, strict=True)]
    if any(n < 1 for n in shape):
        raise ValueError(f"a mesh has positive sizes, got {tuple(shape)}")
    return torch.arange(math.prod(shape), dtype=torch.int64, device="cpu").reshape(shape)


# ---- properties of the module, and submodules


class _Module(types.ModuleType):
    @property
    def eager_mode(self):
        """The process's eager mode; assign a torch.tpu.EagerMode."""
        return get_eager_mode()

    @eager_mode.setter
    def eager_mode(self, mode):
        assign_eager_mode(mode)

    @property
    def allow_excess_precision(self):
        """Whether a program of several ops may hand values from op to op in more precision than their dtype has; by default each op rounds.
        torch.compile has an option of its own for it, which is on by default."""
        return _ops.get_excess_precision()

    @allow_excess_precision.setter
    def allow_excess_precision(self, value):
        _ops.set_excess_precision(bool(value))

    @property
    def _initialized(self):
        return is_initialized()

    def __getattr__(self, name):
        if name in _SUBMODULES:
            try:
                module = importlib.import_module(f"torch_tpu.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"torch_tpu.{name}":
                    raise
            else:
                sys.modules[f"torch.tpu.{name}"] = module
                setattr(self, name, module)
                return module
        raise AttributeError(f"module 'torch.tpu' has no attribute '{name}'")


sys.modules[__name__].__class__ = _Module

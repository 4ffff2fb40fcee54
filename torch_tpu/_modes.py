"""Eager modes and matmul precision: the switches behind torch.tpu.eager_mode, set_eager_mode and precision."""

import contextlib
import enum

import torch

_ops = torch.ops.tpu_bridge


class EagerMode(enum.Enum):
    """How ops run: one by one (asynchronously), one by one and waited for with checks, or recorded and fused."""

    DEFER_NEVER = 0
    DEFER_NEVER_AND_LAUNCH_BLOCKING = 1
    DEFER_AND_FUSE = 2


def get_eager_mode():
    return EagerMode(_ops.get_mode())


def assign_eager_mode(mode):
    if not isinstance(mode, EagerMode):
        raise ValueError(f"eager_mode must be a torch.tpu.EagerMode, not {mode!r}")
    _ops.set_mode(mode.value)


@contextlib.contextmanager
def set_eager_mode(mode):
    """`with torch.tpu.set_eager_mode(torch.tpu.EagerMode.DEFER_AND_FUSE): ...`"""
    before = get_eager_mode()
    assign_eager_mode(mode)
    try:
        yield
    finally:
        assign_eager_mode(before)


class Precision(enum.Enum):
    """How float32 matrix products are computed on a TPU: one, three or six passes of bfloat16."""

    DEFAULT = "DEFAULT"
    HIGH = "HIGH"
    HIGHEST = "HIGHEST"


@contextlib.contextmanager
def precision(mode):
    """`with torch.tpu.precision(torch.tpu.Precision.HIGHEST): ...`"""
    if not isinstance(mode, Precision):
        raise ValueError(f"precision must be a torch.tpu.Precision, not {mode!r}")
    before = _ops.get_precision()
    _ops.set_precision(mode.value)
    try:
        yield
    finally:
        _ops.set_precision(before)


_FLOAT32_MATMUL = {"medium": Precision.DEFAULT, "high": Precision.HIGH, "highest": Precision.HIGHEST}


def follow_float32_matmul_precision(name):
    _ops.set_precision(_FLOAT32_MATMUL[name].value)

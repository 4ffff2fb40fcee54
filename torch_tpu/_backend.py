"""`torch.backends.tpu`: the small module that libraries probe beside torch.backends.cuda."""

import sys
import types

import torch


class _Backend(types.ModuleType):
    """`is_built()`, `is_available()`, and `allow_excess_precision` as torch.tpu has it."""

    def __init__(self):
        super().__init__("torch.backends.tpu", "Switches of device tpu.")
        self.__file__ = __file__

    @staticmethod
    def is_built():
        return True

    @staticmethod
    def is_available():
        return torch.tpu.is_available()

    @property
    def allow_excess_precision(self):
        return torch.tpu.allow_excess_precision

    @allow_excess_precision.setter
    def allow_excess_precision(self, value):
        torch.tpu.allow_excess_precision = value


def install():
    module = _Backend()
    sys.modules["torch.backends.tpu"] = module
    torch.backends.tpu = module

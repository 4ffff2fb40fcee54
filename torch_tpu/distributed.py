"""Process groups "tpu_dist" and "tpu": collectives on tpu tensors go through PyTorch's Gloo on the device's own buffers.

The ops themselves are in src/bridge/collective.cpp: they wait for the device, alias its buffers as CPU tensors and hand them to the
group's Gloo backend, which works in place.
"""

import torch
from torch import distributed as dist


def _create(store, rank, size, timeout):
    """A ProcessGroup whose CPU and tpu tensors both go to one Gloo."""
    gloo = dist.ProcessGroupGloo(store, rank, size, timeout)
    group = dist.ProcessGroup(store, rank, size)
    kind = dist.ProcessGroup.BackendType.GLOO
    for device in ("cpu", "tpu"):
        group._register_backend(torch.device(device), kind, gloo)
    group._set_default_backend(kind)
    return group


def register():
    """Makes "tpu_dist" (the default of device tpu) and "tpu" known to torch.distributed."""
    if not dist.is_available():
        return
    for name in ("tpu_dist", "tpu"):
        if name not in dist.Backend.backend_list:
            dist.Backend.register_backend(name, _create, devices=["tpu"])

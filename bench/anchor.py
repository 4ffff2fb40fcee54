"""Starts the anchor, Google's torch-tpu, on XLA:CPU: it looks for a TPU, and finds the plugin behind bench/anchor_shim.c."""

import contextlib
import io
import os
import sys
import types
import warnings


def boot():
    """After this `import torch` has the anchor's device "tpu". Runs in the anchor's own environment."""
    for name in ("TPU_MIN_LOG_LEVEL", "TF_CPP_MIN_LOG_LEVEL", "ABSL_MIN_LOG_LEVEL"):
        os.environ.setdefault(name, "3")
    sys.modules["libtpu"] = types.ModuleType("libtpu")
    sys.modules["libtpu"].configure_library_path = lambda: None
    warnings.filterwarnings("ignore", message="<TorchTpu/Performance/TcMalloc/")
    import torch  # noqa: F401
    from torch_tpu._internal.utils import hardware

    from torch_tpu import _loader

    hardware.get_tpu_device_count = lambda: 1
    with contextlib.redirect_stderr(io.StringIO()):
        _loader._init_device("tpu")

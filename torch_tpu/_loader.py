"""Loads the core and the bridge of the running PyTorch, and makes device "tpu" known: the whole of what `import torch` gains.

Must stay cheap: no torch._dynamo, no runtime start, nothing that imports more than torch itself has imported."""

import atexit
import ctypes
import pathlib
import time

import torch

from torch_tpu import _plugin

_HERE = pathlib.Path(__file__).resolve().parent
OLDEST, NEWEST = (2, 11), (2, 15)


def library_dir():
    """Where libtorch_tpu_core.so and pjrt_cpu.so lie: the installed package's lib/, or build/ of a checkout."""
    for folder in (_HERE / "lib", _HERE.parent / "build"):
        if (folder / "libtorch_tpu_core.so").is_file():
            return folder
    raise ImportError(f"torch_tpu's libraries are missing from {_HERE / 'lib'} (in a checkout: run `make dev`)")


def torch_minor():
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)


def _find_bridge(folder):
    version = torch_minor()
    if version < OLDEST:
        raise ImportError(f"PyTorch {torch.__version__} is older than the oldest that torch_tpu supports, {OLDEST[0]}.{OLDEST[1]}")
    name = f"bridge-{version[0]}.{version[1]}.so"
    if (folder / name).is_file():
        return folder / name
    from torch_tpu import _bridge_build  # only when this PyTorch is new to us

    return _bridge_build.build(folder, name)


def _load_libraries():
    folder = library_dir()
    core = ctypes.CDLL(str(folder / "libtorch_tpu_core.so"))  # the bridge asks for it by this name
    core.tt_runtime_set_plugin(_plugin.choose().encode())
    bridge = ctypes.CDLL(str(_find_bridge(folder)))
    bridge.torch_tpu_bridge_init.restype = ctypes.c_char_p
    error = bridge.torch_tpu_bridge_init(str(folder).encode())
    if error:
        raise ImportError(f"the bridge to PyTorch could not register: {error.decode()}")


def _print_without_device_ops():
    # PyTorch formats a tensor with some fifteen ops and several read-backs; one copy to the host does.
    from torch import _tensor_str

    original = _tensor_str._tensor_str

    def on_host(self, indent, **kwargs):
        if self.device.type != "tpu" or type(self) not in (torch.Tensor, torch.nn.Parameter) or torch._C._functorch.is_functorch_wrapped_tensor(self):
            return original(self, indent, **kwargs)
        return original(self.detach().cpu(), indent, **kwargs)

    _tensor_str._tensor_str = on_host


def _accept_new_name_in_dlpack():
    # Tensor.__dlpack_device__ compares with the literal "privateuse1".
    original = torch.Tensor.__dlpack_device__

    def device(self):
        if self.device.type == "tpu":
            from torch.utils.dlpack import DLDeviceType

            return (DLDeviceType.kDLExtDev, self.device.index or 0)
        return original(self)

    torch.Tensor.__dlpack_device__ = device


def _follow_matmul_precision():
    original = torch.set_float32_matmul_precision

    def set_float32_matmul_precision(precision):
        original(precision)
        from torch_tpu import _modes

        _modes.follow_float32_matmul_precision(precision)

    set_float32_matmul_precision.__doc__ = original.__doc__
    torch.set_float32_matmul_precision = set_float32_matmul_precision


def _compile_for_tpu_by_default():
    # torch.compile without a backend, and with "inductor": graphs on tpu go to our backend, all others where they went.
    original = torch._TorchCompileInductorWrapper.__call__

    def call(self, model_, inputs_):
        from torch_tpu import compile as ours

        if ours._graph_device(model_, inputs_) is None:
            return original(self, model_, inputs_)
        return ours.tpu(model_, inputs_)

    torch._TorchCompileInductorWrapper.__call__ = call


def _trace_layouts_of_convolutions():
    # channels_last where the images or the kernel are, as on the CPU. Traces take convolutions of a device that PyTorch does not know for
    # contiguous, and make views of their results that cannot be.
    original = getattr(torch._C, "_conv_determine_backend_memory_format", None)

    def layout(x, weight, backend):
        from torch._prims_common import suggest_memory_format

        if x.device.type != "tpu" or (x.dtype == torch.float64 and x.ndim == 5):
            return original(x, weight, backend)
        suggested = [suggest_memory_format(t) for t in (x, weight)]
        return suggested[0] if suggested[0] != torch.contiguous_format else suggested[1]

    if original:
        torch._C._conv_determine_backend_memory_format = layout


def _autograd_threads():
    for task in pathlib.Path("/proc/self/task").glob("*"):
        try:
            if (task / "comm").read_text().startswith("pt_autograd"):
                yield (task / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:  # it has ended
            continue


def _let_autograd_threads_rest():
    # backward() returns while the device's autograd thread still drops its last references. If the interpreter finalizes meanwhile,
    # Python ends that thread where it asks for the GIL, inside C++ frames that cannot unwind, and the process aborts. So at exit:
    # give the GIL away until those threads have been asleep for three looks in a row.
    calm = 0
    for _ in range(500):
        states = list(_autograd_threads())
        if not states or calm == 3:
            return
        calm = calm + 1 if all(state == "S" for state in states) else 0
        time.sleep(0.001)


def load():
    _load_libraries()
    torch.utils.rename_privateuse1_backend("tpu")
    from torch_tpu import _backend, distributed, tpu

    torch._register_device_module("tpu", tpu)
    torch.utils.generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_storage=True)
    torch.set_autocast_dtype("tpu", torch.bfloat16)
    _backend.install()
    distributed.register()
    # The fused inference path of nn.TransformerEncoderLayer and nn.MultiheadAttention exists for CPU and CUDA only, but PyTorch
    # takes it for every renamed device.
    torch.backends.mha.set_fastpath_enabled(False)
    _print_without_device_ops()
    _accept_new_name_in_dlpack()
    _follow_matmul_precision()
    atexit.register(_let_autograd_threads_rest)
    _compile_for_tpu_by_default()
    _trace_layouts_of_convolutions()

"""PyTorch on TPU: device "tpu" for PyTorch.

`import torch` is enough: PyTorch finds the entry point `torch.backends` of this distribution and calls `_autoload`, which loads
the bridge and registers `torch.tpu`. With TORCH_DEVICE_BACKEND_AUTOLOAD=0, `import torch_tpu` does the same.
"""

__version__ = "0.1.0"

_state = "new"  # new, loading, loaded, failed
load_error = None


def _autoload():
    """Called by `import torch`. Never raises: a broken device must not take PyTorch away; the reason is warned of, once."""
    global _state, load_error
    if _state != "new":
        return
    _state = "loading"
    try:
        from torch_tpu import _loader

        _loader.load()
        _state = "loaded"
    except Exception as error:
        _state = "failed"
        load_error = error
        import warnings

        warnings.warn(f"device 'tpu' is not available: {error}", RuntimeWarning, stacklevel=2)


# `import torch_tpu` first: PyTorch's own autoload re-enters here while this module is half imported, so the function stands
# above this line and does its work once.
import torch  # noqa: E402, F401

_autoload()

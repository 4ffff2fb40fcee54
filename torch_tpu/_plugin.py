"""Which PJRT plugin serves device "tpu": the one that is named, else libtpu where there is a TPU, else the embedded engine."""

import importlib.util
import os
import pathlib

# Google's PCI vendor id and the device ids of TPU v4, v5p, v5e, v6e, v7.
_VENDOR, _DEVICES = "0x1ae0", {"0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}


def _package_file(name, pattern):
    """The first file of an installed package that matches, or None."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for file in sorted(pathlib.Path(folder).glob(pattern)):
            return str(file)
    return None


def libtpu():
    """The path of libtpu.so (TPU_LIBRARY_PATH, or the installed libtpu package's), or None."""
    return os.environ.get("TPU_LIBRARY_PATH") or _package_file("libtpu", "libtpu.so")


def has_tpu():
    """Whether this machine has a TPU on its PCI bus."""
    try:
        for device in pathlib.Path("/sys/bus/pci/devices").iterdir():
            if (device / "vendor").read_text().strip() == _VENDOR and (device / "device").read_text().strip() in _DEVICES:
                return True
    except OSError:
        pass
    return False


def choose():
    """What to load: "engine", a path, or a name that was not found (loading it says so at the first use)."""
    name = os.environ.get("TORCH_TPU_PLUGIN", "")
    if name == "libtpu":
        return libtpu() or name
    if name == "engine" or "/" in name or name.endswith(".so"):
        return name
    if name:
        return _package_file(name.replace("-", "_"), "*pjrt*.so") or name
    if has_tpu():
        return libtpu() or "engine"
    # Importing jax names the installed libtpu there, TPU or not: that is no choice of the user's.
    named = os.environ.get("TPU_LIBRARY_PATH")
    return named if named and named != _package_file("libtpu", "libtpu.so") else "engine"

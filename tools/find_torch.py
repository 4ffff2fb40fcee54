"""Prints the folder of the PyTorch that the bridge is built for and its minor version ("2.13"), one a line, or nothing.

PyTorch is found by path and never imported (that costs seconds). The argument is meson's option `torch`; the variable
TORCH_TPU_TORCH goes before "auto"."""

import importlib.util
import os
import pathlib
import re
import sys
import sysconfig


def candidates(option):
    if option != "auto":
        yield option
        return
    if os.environ.get("TORCH_TPU_TORCH"):
        yield os.environ["TORCH_TPU_TORCH"]
        return
    spec = importlib.util.find_spec("torch")
    if spec and spec.origin:
        yield str(pathlib.Path(spec.origin).parent)
    yield str(pathlib.Path(sysconfig.get_path("purelib")) / "torch")


def main(option):
    if option == "none":
        return
    for folder in candidates(option):
        version = pathlib.Path(folder) / "version.py"
        if version.is_file() and (pathlib.Path(folder) / "include/ATen/core/Tensor.h").is_file():
            found = re.search(r"__version__ = '(\d+\.\d+)", version.read_text())
            if found:
                print(folder)
                print(found.group(1))
                return
    if option != "auto":
        sys.exit(f"no PyTorch with headers in {option}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "auto")

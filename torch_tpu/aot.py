"""`python -m torch_tpu.aot SCRIPT [ARGUMENTS]`: do the programs of this script compile for a TPU? No TPU needed.

Runs the script (on the embedded engine, or whatever TORCH_TPU_PLUGIN names), keeps every program that it compiles, and compiles each with
libtpu's own compiler for the given topologies (`pip install torch_tpu[tpu]`). Prints how many, how long, and HBM bytes.
"""

import argparse
import pathlib
import runpy
import subprocess
import sys
import tempfile

from torch_tpu import _loader, _plugin


def compile_folder(folder, topologies, plugin):
    """Compiles every program file of a folder for each topology; returns ttc's exit status."""
    files = sorted(str(f) for f in pathlib.Path(folder).glob("*.mlir"))
    if not files:
        raise SystemExit("the script compiled no program")
    command = [str(_loader.library_dir() / "ttc"), "aot", "--plugin", plugin, "--topology", topologies, *files]
    return subprocess.run(command, cwd=folder).returncode


def main():
    parser = argparse.ArgumentParser(prog="python -m torch_tpu.aot", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topology", default="v5e:1x1,v6e:1x1", help="comma separated; default %(default)s")
    parser.add_argument("--keep", help="keep the programs in this folder")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    plugin = _plugin.libtpu()
    if plugin is None:
        raise SystemExit("libtpu is not installed: pip install 'torch_tpu[tpu]', or set TPU_LIBRARY_PATH")

    import torch

    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        torch.ops.tpu_bridge.keep_programs(str(folder))
        sys.argv = [options.script, *options.arguments]
        runpy.run_path(options.script, run_name="__main__")
        torch.ops.tpu_bridge.keep_programs("")
        raise SystemExit(compile_folder(folder, options.topology, plugin))


if __name__ == "__main__":
    main()

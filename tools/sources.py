"""Lists source files for meson.build: `sources.py FOLDER...` the C and C++ files below each folder (a folder that is
missing is empty), `--package` the Python files of torch_tpu, `--bridge` what a bridge is compiled from."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def below(folder, *suffixes):
    return sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / folder).rglob("*") if p.suffix in suffixes and p.is_file())


def main(arguments):
    if arguments == ["--package"]:
        files = below("torch_tpu", ".py")
    elif arguments == ["--bridge"]:
        files = below("src/bridge", ".cpp", ".h") + [f for d in ("base", "tables", "hlo", "aten", "run") for f in below(f"src/{d}", ".h", ".def")]
    else:
        files = [f for folder in arguments for f in below(folder, ".c", ".cpp")]
    print("\n".join(files))


if __name__ == "__main__":
    main(sys.argv[1:])

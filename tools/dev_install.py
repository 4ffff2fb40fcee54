"""Makes the active Python environment find this checkout: a .pth file with its path and the metadata with the entry
points. Does nothing when all is in place. `pip uninstall torch_tpu` removes it."""

import pathlib
import sysconfig
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent


def write(path, text):
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    site = pathlib.Path(sysconfig.get_path("purelib"))
    info = site / f"torch_tpu-{project['version']}.dist-info"
    groups = "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items()) + "\n"
        for group, entries in project["entry-points"].items()
    )
    write(site / "torch_tpu_dev.pth", f"{ROOT}\n")
    write(info / "METADATA", f"Metadata-Version: 2.1\nName: torch_tpu\nVersion: {project['version']}\nSummary: {project['description']}\n")
    write(info / "entry_points.txt", groups)
    write(info / "INSTALLER", "make dev\n")
    files = ["torch_tpu_dev.pth", *(f"{info.name}/{n}" for n in ("METADATA", "entry_points.txt", "INSTALLER", "RECORD"))]
    write(info / "RECORD", "".join(f"{f},,\n" for f in files))


if __name__ == "__main__":
    main()

"""The include test: who may include whom below src/ (docs/design.md). Prints each violation; exit status 1 when there is one."""

import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parent.parent / "src"

# A folder may include itself and these; a name with a slash is one header. Nobody includes bridge or tool.
ALLOWED = {
    "tables": set(),
    "base": {"tables"},
    "hlo": {"base", "tables"},
    "aten": {"hlo", "base", "tables"},
    "pjrt": {"base", "tables"},
    "run": {"aten", "hlo", "pjrt", "base", "tables"},
    "engine": {"hlo", "base", "tables", "pjrt/abi.h"},
    "tool": {"run", "aten", "hlo", "pjrt", "base", "tables"},
    "bridge": {"run", "aten", "hlo", "pjrt", "base", "tables"},
}
SYSTEM_CPP = re.compile(r"#include <(ATen|c10|torch|caffe2)/")


def violations():
    for path in sorted(p for p in SRC.rglob("*") if p.suffix in (".c", ".h", ".cpp", ".def", ".inc")):
        folder = path.relative_to(SRC).parts[0]
        where = path.relative_to(SRC.parent)
        if path.suffix == ".cpp" and folder != "bridge":
            yield f"{where}: C++ outside bridge/"
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if folder != "bridge" and SYSTEM_CPP.match(line):
                yield f"{where}:{number}: only bridge/ includes PyTorch"
            found = re.match(r'\s*#include "([^"]+)"', line)
            if not found:
                continue
            target = found.group(1)
            other = target.split("/")[0] if "/" in target else folder
            if other != folder and other not in ALLOWED[folder] and target not in ALLOWED[folder]:
                yield f"{where}:{number}: {folder}/ may not include {target}"


if __name__ == "__main__":
    found = list(violations())
    print("\n".join(found))
    sys.exit(1 if found else 0)

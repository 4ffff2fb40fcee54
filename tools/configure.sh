#!/bin/bash
# configure.sh FOLDER [meson options...]: sets FOLDER up, again when the list of source files has changed.
set -e
cd "$(dirname "$0")/.."
folder=$1; shift
for tool in meson ninja; do
    command -v $tool > /dev/null || { echo "torch_tpu: there is no $tool: run \`make environment\` once, or pip install meson ninja" >&2; exit 1; }
done
list=$( { find src tests/c tests/pjrt torch_tpu -name '*.c' -o -name '*.cpp' -o -name '*.py' -o -name '*.h' -o -name '*.def' | sort; echo "$@"; cat tools/find_torch.py tools/sources.py; } 2>/dev/null | cksum)
if [ ! -f "$folder/build.ninja" ]; then
    meson setup "$folder" "$@" > /dev/null
elif [ "$list" != "$(cat "$folder/sources.cksum" 2>/dev/null)" ]; then
    meson setup --reconfigure "$folder" "$@" > /dev/null
fi
echo "$list" > "$folder/sources.cksum"

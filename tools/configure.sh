#!/bin/bash
# configure.sh FOLDER [meson options...]: sets FOLDER up, again when the list of source files has changed.
set -e
cd "$(dirname "$0")/.."
folder=$1; shift
list=$( { find src tests/c torch_tpu -name '*.c' -o -name '*.cpp' -o -name '*.py' -o -name '*.h' -o -name '*.def' | sort; echo "$@"; cat tools/find_torch.py tools/sources.py; } 2>/dev/null | cksum)
if [ ! -f "$folder/build.ninja" ]; then
    meson setup "$folder" "$@" > /dev/null
elif [ "$list" != "$(cat "$folder/sources.cksum" 2>/dev/null)" ]; then
    meson setup --reconfigure "$folder" "$@" > /dev/null
fi
echo "$list" > "$folder/sources.cksum"

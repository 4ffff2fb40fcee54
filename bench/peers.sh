#!/bin/bash
# peers.sh [FOLDER]: what the bench compares us with, in environments of their own, so that they never meet ours: FOLDER/anchor holds PyTorch,
# Google's torch-tpu and the XLA:CPU plugin that both it and our own bridge run on. Does nothing when all is in place.
# PyTorch itself and Inductor are in our own environment. Variables: PYTHON, TORCH, TORCH_INDEX as in tools/environment.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-${TORCH_TPU_PEERS:-.bench}}
wanted="${TORCH:-torch==2.13.0+cpu} torch-tpu==0.2.0 lammps-jax-pjrt-cpu==0.11.2"
[ -n "${TORCH_TPU_PEERS:-}" ] && [ -x "$folder/anchor/bin/python" ] && exit 0 # someone else's: as it is
[ "$(cat "$folder/anchor/stamp" 2> /dev/null)" = "$wanted" ] && exit 0
read -r torch anchor plugin <<< "$wanted"
mkdir -p "$folder"
"${PYTHON:-python3}" -m venv --clear "$folder/anchor"
pip() { "$folder/anchor/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
pip install ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} "$torch" numpy absl-py portpicker frozendict immutabledict pyzmq
pip install --no-deps "$anchor" "$plugin" # without its libtpu: there is no TPU here
echo "$wanted" > "$folder/anchor/stamp"

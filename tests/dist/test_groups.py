"""Two processes: every collective of torch.distributed on tpu tensors, and DDP equal to one process with the joint batch."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def torchrun(script, *arguments, ranks=2, timeout=300):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), str(script), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")
def test_collectives(tmp_path):
    torchrun(HERE / "collectives.py", str(tmp_path))
    for rank in range(2):
        results = json.loads((tmp_path / f"{rank}.json").read_text())
        assert len(results) >= 16
        assert [name for name, right in results.items() if not right] == []


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")
def test_data_parallel_equals_the_joint_batch(tmp_path):
    script = ROOT / "examples" / "train_gpt.py"
    options = ["--steps", "4", "--characters", "0", "--losses"]
    torchrun(script, *options, str(tmp_path / "two.json"))
    subprocess.run([sys.executable, str(script), *options, str(tmp_path / "one.json")], check=True, timeout=300)
    one, two = (json.loads((tmp_path / name).read_text()) for name in ("one.json", "two.json"))
    assert two == pytest.approx(one, rel=1e-5)

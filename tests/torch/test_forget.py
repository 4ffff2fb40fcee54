"""Programs of many shapes under a small TORCH_TPU_PROGRAM_BYTES: the oldest are forgotten, values stay right, compiled graphs live on."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.one_mode

CODE = """
import threading, torch
torch.tpu.eager_mode = torch.tpu.EagerMode.{mode}
torch.manual_seed(0)
model = torch.nn.Linear(4, 3)
on_tpu = torch.nn.Linear(4, 3).to("tpu")
on_tpu.load_state_dict(model.state_dict())
compiled = torch.compile(lambda x: torch.relu(x @ x) * 3, backend="tpu", dynamic=False)
square = torch.randn(5, 5)

def work(first):
    with torch.no_grad():
        for n in [*range(first, 200, 2), *range(first, 40, 2)]:
            x = torch.arange(n * 4.0).reshape(n, 4) / n - 1
            y = x.to("tpu")
            torch.testing.assert_close(torch.softmax(on_tpu(y)[: n // 2 + 1], -1).cpu(), torch.softmax(model(x)[: n // 2 + 1], -1))
            y[0].mul_(2)
            x[0].mul_(2)
            torch.testing.assert_close(y.cumsum(0).cpu(), x.cumsum(0))
    done.append(first)

done = []
for n in range(3):
    compiled(square.to("tpu")).cpu()
threads = [threading.Thread(target=work, args=(i + 1,)) for i in range(2)]
for t in threads:
    t.start()
while any(t.is_alive() for t in threads):
    torch.testing.assert_close(compiled(square.to("tpu")).cpu(), torch.relu(square @ square) * 3)
assert sorted(done) == [1, 2]
print(torch.tpu.runtime_stats()["forgotten"])
"""


@pytest.mark.parametrize("mode, limit, least", [("DEFER_NEVER", 1 << 20, 400), ("DEFER_AND_FUSE", 1 << 20, 400), ("DEFER_NEVER", 1 << 30, 0)])
def test_what_was_used_longest_ago_is_forgotten(mode, limit, least):
    run = subprocess.run(
        [sys.executable, "-c", CODE.format(mode=mode)],
        env=os.environ | {"TORCH_TPU_PROGRAM_BYTES": str(limit)},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert run.returncode == 0, run.stderr
    forgotten = int(run.stdout)
    assert forgotten > least if least else forgotten == 0

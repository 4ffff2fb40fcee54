"""`import torch` brings the device, in any order of imports, cheaply, and a broken device never takes PyTorch away."""

import json
import os
import subprocess
import sys

import pytest
import torch

from torch_tpu import _plugin

pytestmark = pytest.mark.one_mode


def python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize("first", ["torch", "torch_tpu", "torch_tpu, torch", "torch, torch_tpu"])
def test_any_order_of_imports(first):
    out, err = python(f"import {first}; import torch; print((torch.ones(2, device='tpu') + 1).tolist())")
    assert out == "[2.0, 2.0]" and "Warning" not in err


def test_without_autoload_an_import_brings_the_device():
    out, _ = python(
        "import torch; print(hasattr(torch, 'tpu')); import torch_tpu; print(torch.tpu.is_available())",
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert out.split() == ["False", "True"]


def test_a_failing_device_warns_and_torch_lives():
    code = (
        "import sys, types; m = types.ModuleType('torch_tpu._loader'); sys.modules['torch_tpu._loader'] = m\n"
        "def load(): raise OSError('no such thing')\nm.load = load\n"
        "import torch; print(torch.ones(2).sum().item()); import torch_tpu; print(repr(torch_tpu.load_error))"
    )
    out, err = python(code)
    assert (
        out.split("\n") == ["2.0", "OSError('no such thing')"]
        and err.count("device 'tpu' is not available: no such thing") == 1
    )


def test_a_plugin_that_is_none_fails_at_the_first_use_in_one_sentence(tmp_path):
    path = tmp_path / "no.so"
    path.write_text("this is no library")
    code = "import torch\ntry: torch.ones(1, device='tpu')\nexcept RuntimeError as e: print(e)\nprint(torch.ones(1).item())"
    out, _ = python(code, TORCH_TPU_PLUGIN=str(path))
    assert str(path) in out and out.endswith("1.0")


def test_the_import_is_cheap():
    code = (
        "import sys, time, os; import torch; before = set(sys.modules); t = time.process_time(); import torch_tpu\n"
        "print(time.process_time() - t, 'torch._dynamo' in sys.modules, torch.tpu.is_initialized())"
    )
    best = min(float(python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")[0].split()[0]) for _ in range(3))
    out = python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")[0].split()
    assert best < 0.1 and out[1:] == ["False", "False"]


def test_no_kernel_is_registered_for_an_op_that_does_not_exist():
    assert torch.ops.tpu_bridge.rows_unknown() == [] or torch.ops.tpu_bridge.torch_minor() != 13
    assert torch.ops.tpu_bridge.rows_twice() == []
    dangling = [line for line in torch._C._dispatch_find_dangling_impls() if "PrivateUse1" in line]
    assert dangling == []


def test_composite_ops_keep_their_autograd_formula():
    # A kernel for a CompositeImplicit op would replace its gradient by a backward op that has no kernel.
    registered = set(torch.ops.tpu_bridge.rows())
    # silu_backward and mish_backward are composed too, but have a formula of their own.
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    composed = {name for name in registered if has(f"aten::{name}", "CompositeImplicitAutograd")}
    assert {name for name in composed if not has(f"aten::{name}", "Autograd")} <= {"_fused_rms_norm"}
    grads = []
    for device in ("cpu", "tpu"):
        x = torch.linspace(-2, 2, 9, device=device, requires_grad=True)
        (dx,) = torch.autograd.grad(torch.nn.functional.silu(x).sum(), x, create_graph=True)
        grads += torch.autograd.grad(dx.sum(), x)
    torch.testing.assert_close(grads[1].cpu(), grads[0])
    w = torch.ones(3, 3, device="tpu", requires_grad=True)
    assert type((w @ w).grad_fn).__name__ == "MmBackward0"


def test_each_row_is_registered_in_all_its_forms():
    registered = set(torch.ops.tpu_bridge.rows())
    assert {"add.Tensor", "add_.Tensor", "add.out"} <= registered


def test_entry_points():
    from importlib.metadata import entry_points

    assert [e.value for e in entry_points(group="torch.backends") if e.name == "torch_tpu"] == [
        "torch_tpu:_autoload"
    ]
    assert [e.name for e in entry_points(group="torch_dynamo_backends") if e.name == "tpu"] == ["tpu"]


def test_a_forked_child_is_told_to_spawn():
    code = """
import os, torch
x = torch.ones(2, device='tpu')
def child():
    out = []
    for f in (lambda: torch.ones(1, device='tpu'), lambda: x + 1, lambda: torch.tpu.synchronize()):
        try: f(); out.append('ran')
        except RuntimeError as e: out.append(str(e))
    return out
r, w = os.pipe()
if os.fork() == 0:
    import json
    out = child(); torch.ones(3).sum()
    os.write(w, json.dumps([out, torch.tpu._is_in_bad_fork()]).encode()); os._exit(0)
os.close(w)
print(os.read(r, 10000).decode()); os.wait()
print((x + 1).tolist())
"""
    out, _ = python(code)
    child, parent = out.split("\n")
    texts, bad = json.loads(child)
    assert bad and all("you must use the 'spawn' start method" in text for text in texts) and len(texts) == 3
    assert parent == "[2.0, 2.0]"


def test_a_fork_before_the_start_is_harmless():
    code = """
import os, torch
r, w = os.pipe()
if os.fork() == 0:
    os.write(w, str((torch.ones(2, device='tpu') + 1).tolist()).encode()); os._exit(0)
print(os.read(r, 1000).decode()); os.wait()
"""
    assert python(code)[0] == "[2.0, 2.0]"


def test_doctor():
    done = subprocess.run(
        [sys.executable, "-m", "torch_tpu.doctor"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "first op" in done.stdout and "TORCH_TPU_CPU_FALLBACK" in done.stdout


@pytest.mark.parametrize(
    "tpu, named, want",
    [
        (False, None, "engine"),
        (False, "/site-packages/libtpu/libtpu.so", "engine"),  # jax puts it there when it is imported
        (False, "/opt/plugin.so", "/opt/plugin.so"),
        (True, None, "/site-packages/libtpu/libtpu.so"),
        (True, "/opt/plugin.so", "/opt/plugin.so"),
    ],
)
def test_the_plugin_that_is_chosen(monkeypatch, tpu, named, want):
    monkeypatch.delenv("TORCH_TPU_PLUGIN", raising=False)
    monkeypatch.delenv("TPU_LIBRARY_PATH", raising=False)
    if named:
        monkeypatch.setenv("TPU_LIBRARY_PATH", named)
    monkeypatch.setattr(_plugin, "has_tpu", lambda: tpu)
    monkeypatch.setattr(_plugin, "_package_file", lambda name, pattern: "/site-packages/libtpu/libtpu.so")
    assert _plugin.choose() == want

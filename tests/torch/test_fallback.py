"""The CPU fallback: right, counted, warned of once per op, and refused on demand."""

import os
import subprocess
import sys

import pytest
import torch

pytestmark = pytest.mark.one_mode


def python(code, **environment):
    done = subprocess.run([sys.executable, "-c", "import torch\n" + DEFINE + code], capture_output=True, text=True, timeout=300, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


# An op of our own with a CPU kernel only: no lowering will ever take it.
DEFINE = """
library = torch.library.Library("tt_test", "FRAGMENT")
library.define("plus(Tensor x) -> Tensor")
library.impl("plus", lambda x: x + 1, "CPU")
"""
OP = "torch.ops.tt_test.plus(torch.zeros(3, device='tpu'))"
exec(DEFINE)


def test_warns_once_and_counts():
    out, err = python(f"[{OP} for _ in range(3)]; print(torch.tpu.cpu_fallback_counts())")
    assert out == "{'tt_test::plus': 3}", out
    assert err.count("is not implemented for tpu and runs on the CPU") == 1 and "float" in err.lower()


def test_error_names_op_dtypes_and_switch():
    out, _ = python(f"try: {OP}\nexcept NotImplementedError as e: print(e)", TORCH_TPU_CPU_FALLBACK="error")
    assert "tt_test::plus" in out and "Float" in out and "TORCH_TPU_CPU_FALLBACK" in out


def test_silent():
    out, err = python(f"print({OP}.tolist() == [1, 1, 1], sum(torch.tpu.cpu_fallback_counts().values()))", TORCH_TPU_CPU_FALLBACK="silent")
    assert out == "True 1" and "CPU" not in err


def test_policy_at_run_time():
    torch.tpu.set_cpu_fallback("error")
    with pytest.raises(NotImplementedError):
        torch.ops.tt_test.plus(torch.zeros(3, device="tpu"))
    torch.tpu.set_cpu_fallback("warn")
    with pytest.raises(ValueError, match="'error', 'warn', 'silent'"):
        torch.tpu.set_cpu_fallback("maybe")


@pytest.fixture(autouse=True)
def silent():
    torch.tpu.set_cpu_fallback("silent")
    yield
    torch.tpu.set_cpu_fallback("warn")


def test_out_and_in_place_forms_write_back(same):
    def f(t):
        out = torch.empty(2, 2, device=t.device).t(), torch.empty(0, device=t.device)
        torch.geqrf(t, out=out)
        return out, out[0].stride(), torch.linalg.eigvals(t).abs().sort().values

    same(f, torch.tensor([[1.0, 2.0], [3.0, 4.5]]))


def test_batch_norm_updates_its_statistics(same):
    def f(t):
        module = torch.nn.BatchNorm1d(4).to(t.device)
        y = module(t)
        y = module(t + 1)
        return y.detach(), module.running_mean, module.running_var, module.num_batches_tracked, module.eval()(t).detach()

    same(f, torch.arange(12.0).reshape(3, 4))


def test_random_ops_draw_from_the_tpu_generator():
    def draw():
        return torch.distributions.Binomial(torch.full((50,), 10.0, device="tpu"), torch.full((50,), 0.5, device="tpu")).sample()

    torch.manual_seed(3)
    a, b = draw().cpu(), draw().cpu()
    torch.manual_seed(3)
    c = draw().cpu()
    assert torch.equal(a, c) and not torch.equal(a, b)


def test_a_view_is_never_a_copy():
    from torch._C import _dispatch_has_kernel_for_dispatch_key as has

    # Each view op of PyTorch must have a kernel of ours or be composite: a CPU copy would not alias.
    missing = []
    for schema in torch._C._jit_get_all_schemas():
        views = [r for r in schema.returns if r.alias_info is not None and not r.alias_info.is_write]
        if not schema.name.startswith("aten::") or "nested" in schema.name or not views:
            continue
        name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        try:
            found = any(has(name, key) for key in ("PrivateUse1", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"))
            dense = has(name, "CPU")
        except RuntimeError:
            continue  # a TorchScript builtin
        if dense and not found:
            missing.append(name)
    assert missing == []


def test_ops_whose_shape_depends_on_values_are_not_fallbacks(same):
    torch.tpu.reset_cpu_fallback_counts()

    def f(t):
        i = torch.tensor([2, 0, 2, 1], device=t.device)
        return (
            torch.nonzero(t > 5),
            t[t > 5],
            torch.masked_select(t, t % 2 == 0),
            torch.unique(i, return_counts=True, return_inverse=True),
            torch.unique_consecutive(i),
            torch.bincount(i),
            torch.repeat_interleave(i, torch.tensor([1, 0, 2, 3], device=t.device)),
            torch.equal(t, t.clone()),
            torch.equal(t, t + 1),
        )

    same(f, torch.arange(12.0).reshape(3, 4))
    assert torch.tpu.host_op_counts()["aten::nonzero"] >= 2
    assert not {"aten::nonzero", "aten::bincount", "aten::_unique2"} & set(torch.tpu.cpu_fallback_counts())


def test_masks_in_indices(same):
    def f(t):
        y = t.clone()
        y[y > 5] = 0
        z = t.clone()
        z[torch.tensor([True, False, True], device=t.device)] = torch.ones(2, 4, device=t.device)
        w = t.clone()
        w[torch.tensor([True, False, True], device=t.device), torch.tensor([1, 2], device=t.device)] += 7
        return y, z, w, t[torch.tensor([True, False, True], device=t.device), 1:], t[:, torch.tensor([True, False, True, True], device=t.device)]

    same(f, torch.arange(12.0).reshape(3, 4))


def test_filling_by_a_mask_reads_nothing_back(x):
    torch.tpu.reset_cpu_fallback_counts()
    x[x > 5] = 0
    x[:, torch.tensor([True, False, False, True], device="tpu")] = -1.0
    x[torch.tensor([False, True, False], device="tpu")] = torch.tensor(7.0, device="tpu")
    assert torch.tpu.host_op_counts() == {} and torch.tpu.cpu_fallback_counts() == {}
    assert x.tolist() == [[-1, 1, 2, -1], [7, 7, 7, 7], [-1, 0, 0, -1]]

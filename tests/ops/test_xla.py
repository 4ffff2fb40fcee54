"""The programs that ops become give the same values on another plugin: XLA:CPU, in a process of its own, against the engine."""

import importlib.util
import itertools
import os
import pathlib
import subprocess
import sys
import warnings

import pytest
import torch
from compare import assert_same, run, to_device
from torch.testing._internal.common_methods_invocations import op_db

from torch_tpu import debug

FAST = """add div pow where sum var cumsum sort gather index_put scatter_add matmul nn.functional.conv2d nn.functional.max_pool2d
nn.functional.layer_norm nn.functional.cross_entropy nn.functional.scaled_dot_product_attention nn.functional.embedding remainder
nn.functional.interpolate""".split()
MORE = """sub mul exp log tanh erf lgamma sin atan2 floor_divide clamp masked_fill mean prod std amax argmax any norm logsumexp cumprod cummax
topk median kthvalue index_select index_add scatter take_along_dim cat roll flip tril constant_pad_nd unfold addmm bmm baddbmm
nn.functional.linear nn.functional.conv1d nn.functional.conv_transpose2d nn.functional.avg_pool2d nn.functional.adaptive_avg_pool2d
nn.functional.batch_norm nn.functional.group_norm nn.functional.rms_norm softmax log_softmax nn.functional.gelu
nn.functional.silu nn.functional.nll_loss nn.functional.mse_loss nn.functional.binary_cross_entropy_with_logits nn.functional.ctc_loss
nn.functional.grid_sample nn.functional.embedding_bag nn.functional.pad fft.fft fft.irfft linalg.solve_triangular special.i1
nn.functional.fractional_max_pool2d special.bessel_j0 frexp ldexp bitwise_left_shift gcd""".split()
INTEGERS = {"remainder", "floor_divide", "bitwise_left_shift", "gcd", "argmax", "any"}


def xla_cpu():
    spec = importlib.util.find_spec("lammps_jax_pjrt_cpu")
    if spec is None:
        pytest.skip("the XLA:CPU plugin of lammps-jax-pjrt-cpu is not installed")
    return str(next(pathlib.Path(next(iter(spec.submodule_search_locations))).glob("*.so")))


def random_numbers():
    g = torch.Generator("tpu").manual_seed(11)
    x = torch.empty(1000, device="tpu")
    for draw in ("uniform_", "normal_", "exponential_", "cauchy_", "log_normal_", "geometric_", "bernoulli_"):
        result = getattr(x.clone().zero_(), draw)(
            *([0.3] if draw in ("geometric_", "bernoulli_") else []), generator=g
        )
        yield f"{draw} (random)", [result.cpu()]
    yield "randint (random)", [torch.randint(-5, 1000, (1000,), device="tpu", generator=g).cpu()]
    yield "randperm (random)", [torch.randperm(500, device="tpu", generator=g).cpu()]


def not_a_number():
    nan = float("nan")
    x = torch.tensor([[nan] * 5, [1, nan, 2, nan, 3], [-1, -2, 0, 4, nan]], device="tpu")
    ways = {
        "amax": x.amax(1), "amin": x.amin(1), "max": x.max(), "maximum": x.maximum(x.flip(1)), "minimum": x.minimum(x.flip(1)),
        "clamp": x.clamp(0, 1), "cummax": x.cummax(1)[0], "max_pool": torch.nn.functional.max_pool1d(x, 2), "nanmedian": x.nanmedian(1)[0],
    }  # fmt: skip
    for name, result in ways.items():
        yield f"{name} (NaN)", [result.cpu()]


def results(names, limit, mode):
    """[(what, results and gradients of it)] of samples that depend on the seed only."""
    out = []
    with torch.tpu.set_eager_mode(torch.tpu.EagerMode[mode]), debug.no_fallback(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in op_db:
            if op.name not in names:
                continue
            dtype = torch.int64 if op.name in INTEGERS else torch.float32
            grad = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
            torch.manual_seed(0)
            samples = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=grad), limit))
            for i, sample in enumerate(samples):
                torch.manual_seed(1)
                args, kwargs = to_device(((sample.input, *sample.args), sample.kwargs))
                flat, grads = run(op.op, args, kwargs, grad)
                out.append(
                    (
                        f"{op.name} {op.variant_test_name} sample {i}",
                        [None if t is None else t.detach().cpu() for t in flat + grads],
                    )
                )
        out += random_numbers()
        out += not_a_number()
    return out


def compare(folder, names, limit, mode):
    plugin, file = xla_cpu(), folder / "results.pt"
    environment = {
        **os.environ,
        "TORCH_TPU_PLUGIN": plugin,
        "TORCH_TPU_CACHE_DIR": str(folder / "cache"),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, __file__, str(file), ",".join(names), str(limit), mode]
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(pathlib.Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == plugin
    there, here = torch.load(file), results(names, limit, mode)
    assert [what for what, _ in here] == [what for what, _ in there]
    assert set(names) <= {what.split()[0] for what, _ in here}
    different = []
    for (what, have), (_, want) in zip(there, here, strict=True):
        for i, (h, w) in enumerate(zip(have, want, strict=True)):
            try:
                assert_same(h, w, f"{what}: tensor {i}")
            except AssertionError as e:
                different.append(str(e))
    assert not different, "\n".join(different)


def test_same_values_on_xla_cpu(tmp_path):
    compare(tmp_path, FAST, 2, "DEFER_NEVER")


def test_the_disk_cache_keeps_its_limit(tmp_path):
    program = "import torch\nfor i in range(1, 40): (torch.ones(i, device='tpu') * 2).cpu()"
    for limit in (100_000, 10_000_000):
        folder = tmp_path / str(limit)
        environment = {"TORCH_TPU_PLUGIN": xla_cpu(), "TORCH_TPU_CACHE_DIR": str(folder), "TORCH_TPU_CACHE_BYTES": str(limit)}
        subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, check=True, timeout=300)
        sizes = [f.stat().st_size for f in folder.rglob("*.bin")]
        assert sum(sizes) <= limit and len(sizes) > (39 if limit > 1_000_000 else 5)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["DEFER_NEVER", "DEFER_AND_FUSE"])
def test_more_ops_on_xla_cpu(tmp_path, mode):
    compare(tmp_path, FAST + MORE, 5, mode)


if __name__ == "__main__":
    print(torch.ops.tpu_bridge.plugin())
    torch.save(results(sys.argv[2].split(","), int(sys.argv[3]), sys.argv[4]), sys.argv[1])

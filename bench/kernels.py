"""The engine's products, convolutions and composites against PyTorch on CPU: one process, one thread each, process CPU time,
interleaved. `python bench/kernels.py [gemm] [decode] [conv] [rows] [attention]`; ratio above 1: ours is faster."""

import ctypes as c
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
os.environ.setdefault("TORCH_TPU_THREADS", "1")
import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = "isa fast_gemm fast_dot fast_conv fast_conv_pack fast_conv_direct fast_attention fast_attention_grad fast_norm composite kernels_portable kernels_avx2 kernels_avx512 pool memory"
BUDGET = 0.3  # seconds for each of the two


def build():
    """Compiles the kernels into a library of their own: the plugin exports only GetPjrtApi."""
    out = pathlib.Path(tempfile.gettempdir()) / f"torch_tpu_kernels_{os.getuid()}.so"
    sources = [ROOT / f"src/engine/{f}.c" for f in FILES.split()] + sorted((ROOT / "src/base").glob("*.c")) + sorted((ROOT / "src/hlo").glob("*.c"))
    sources.append(ROOT / "bench/kernels_entry.c")
    headers = [*(ROOT / "src/engine").glob("*.h"), *sources]
    if not out.exists() or out.stat().st_mtime < max(f.stat().st_mtime for f in headers):
        flags = "-std=c11 -D_GNU_SOURCE -O2 -fPIC -shared -ffp-contract=off -fno-math-errno -Wl,--unresolved-symbols=ignore-all"
        subprocess.run([os.environ.get("CC", "cc"), *flags.split(), f"-I{ROOT}/src", "-o", out, *sources, "-lm", "-lpthread"], check=True)
    return c.CDLL(str(out), mode=os.RTLD_LAZY)


class Tensor(c.Structure):
    _fields_ = [("dtype", c.c_int), ("rank", c.c_int), ("dims", c.c_int64 * 16), ("data", c.c_void_p)]


class Gemm(c.Structure):
    _fields_ = [("dtype", c.c_int), ("c_dtype", c.c_int)]
    _fields_ += [(n, c.c_int64) for n in "batch m n k lda ldb ldc stride_a stride_b stride_c".split()]
    _fields_ += [("ta", c.c_bool), ("tb", c.c_bool), ("a", c.c_void_p), ("b", c.c_void_p), ("c", c.c_void_p)]


lines = [line for line in (ROOT / "src/tables/dtype.def").read_text().splitlines() if line.startswith("DTYPE(")]
names = [line[6:].split(",")[0] for line in lines]
DTYPE = {torch.float32: names.index("F32") + 1, torch.bfloat16: names.index("BF16") + 1}
lib = build()
lib.eng_gemm.argtypes = [c.POINTER(Gemm)]


def tensors(values):
    return (Tensor * len(values))(*[Tensor(DTYPE[t.dtype], t.dim(), (c.c_int64 * 16)(*t.shape), t.data_ptr()) for t in values])


def int64s(*values):
    return (c.c_int64 * len(values))(*values)


def race(label, ours, theirs):
    """Runs both in turn; prints the best and the ratio of medians."""
    times, functions = ([], []), (ours, theirs)
    for f in functions:
        f()
    start = time.process_time()
    ours()
    repeats = max(1, int(2e-3 / max(time.process_time() - start, 1e-7)))
    end = time.perf_counter() + 2 * BUDGET
    while time.perf_counter() < end or len(times[0]) < 5:
        for f, t in zip(functions, times, strict=True):
            start = time.process_time_ns()
            for _ in range(repeats):
                f()
            t.append((time.process_time_ns() - start) / 1e3 / repeats)
    a, b = map(sorted, times)
    print(f"{label:44} ours {a[0]:10.1f} us  torch {b[0]:10.1f} us  ratio {b[0] / a[0]:6.2f}  of medians {b[len(b) // 2] / a[len(a) // 2]:6.2f}", flush=True)


def gemm(dtype, m, n, k, transposed):
    a, b = torch.randn(m, k).to(dtype), torch.randn(*((n, k) if transposed else (k, n))).to(dtype)
    out, theirs = torch.empty(m, n, dtype=dtype), torch.empty(m, n, dtype=dtype)
    args = Gemm(DTYPE[dtype], DTYPE[dtype], 1, m, n, k, k, b.shape[1], n, 0, 0, 0, False, transposed, a.data_ptr(), b.data_ptr(), out.data_ptr())
    right = b.T if transposed else b
    race(f"{str(dtype)[6:]} gemm {m}x{n}x{k}{' B^T' if transposed else ''}", lambda: lib.eng_gemm(args), lambda: torch.mm(a, right, out=theirs))


def conv(dtype, n, channels, size, outs, k, stride, padding, groups):
    x, w = torch.randn(n, channels, size, size).to(dtype), torch.randn(outs, channels // groups, k, k).to(dtype)
    y = F.conv2d(x, w, None, stride, padding, 1, groups)
    gy, gx, gw, out = torch.randn_like(y), torch.empty_like(x), torch.empty_like(w), torch.empty_like(y)
    plain, swapped = int64s(0, 1, 2, 3), int64s(1, 0, 2, 3)
    low, span = k - 1 - padding, (y.shape[2] - 1) * stride + 1
    high, last = size + k - 1 - span - low, k - 1 + span - size - padding
    i = c.c_int64
    calls = {
        "": ((x, w, out), plain, swapped, plain, int64s(*[padding] * 4), 1, i(stride), i(1), i(1), i(0), i(groups), i(1)),
        " d/dx": ((gy, w, gx), plain, plain if groups == 1 else swapped, plain, int64s(low, high, low, high), 1, i(1), i(stride), i(1), i(1), i(groups), i(1)),
        " d/dw": ((x, gy, gw), swapped, plain, swapped, int64s(padding, last, padding, last), 1, i(1), i(1), i(stride), i(0), i(1), i(groups)),
    }
    back = torch.ops.aten.convolution_backward
    for which, (arrays, dx, dw, dy, pads, _, *numbers) in calls.items():
        t = [tensors([a]) for a in arrays]
        mask = [which == " d/dx", which == " d/dw", False]
        peer = (lambda: F.conv2d(x, w, None, stride, padding, 1, groups)) if not which else (
            lambda mask=mask: back(gy, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups, mask))
        label = f"{str(dtype)[6:]} conv {n}x{channels}x{size} -> {outs} k{k} s{stride} g{groups}{which}"
        race(label, lambda t=t, a=(dx, dw, dy, pads, *numbers): lib.bench_conv(*t, *a), peer)


def composite(label, name, attributes, inputs, outputs, peer):
    a, b = tensors(inputs), tensors(outputs)
    race(label, lambda: lib.bench_composite(name.encode(), attributes.encode(), len(inputs), a, len(outputs), b), peer)


def rows(dtype, r, n):
    x, w, b = torch.randn(r, n).to(dtype), torch.randn(n).to(dtype), torch.randn(n).to(dtype)
    y, mean, rstd, g = torch.empty_like(x), torch.empty(r), torch.empty(r), torch.randn(r, n).to(dtype)
    p, dw, db = torch.softmax(x, -1), torch.empty_like(w), torch.empty_like(w)
    d = str(dtype)[6:]
    composite(f"{d} softmax {r}x{n}", "tt.softmax", "log = false", [x], [y], lambda: torch.softmax(x, -1))
    composite(f"{d} softmax d/dx {r}x{n}", "tt.softmax_backward", "log = false", [g, p], [y], lambda: torch.ops.aten._softmax_backward_data(g, p, -1, dtype))
    _, m, s = torch.ops.aten.native_layer_norm(x, [n], w, b, 1e-5)
    composite(f"{d} layer_norm {r}x{n}", "tt.layer_norm", "eps = 1e-5, has_weight = true, has_bias = true", [x, w, b], [y, mean, rstd], lambda: torch.ops.aten.native_layer_norm(x, [n], w, b, 1e-5))
    composite(f"{d} layer_norm gradient {r}x{n}", "tt.layer_norm_backward", "has_weight = true", [g, x, mean, rstd, w], [y, dw, db], lambda: torch.ops.aten.native_layer_norm_backward(g, x, [n], m, s, w, b, [True] * 3))
    composite(f"{d} rms_norm {r}x{n}", "tt.rms_norm", "eps = 1e-6, has_weight = true", [x, w], [y, rstd], lambda: F.rms_norm(x, [n], w, 1e-6))


def attention(dtype, b, heads, queries, keys, e, causal):
    q, k, v = torch.randn(b, heads, queries, e).to(dtype), torch.randn(b, heads, keys, e).to(dtype), torch.randn(b, heads, keys, e).to(dtype)
    out, lse, grads = torch.empty_like(q), torch.empty(b, heads, queries), [torch.empty_like(t) for t in (q, k, v)]
    attributes = f"causal = {str(causal).lower()}, has_mask = false, scale = {e**-0.5}"
    label = f"{str(dtype)[6:]} attention {b}x{heads}x{queries}x{keys}x{e}{' causal' if causal else ''}"
    composite(label, "tt.sdpa", attributes, [q, k, v], [out, lse], lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal))
    if queries > 1:
        o, s = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal)
        composite(label + " gradient", "tt.sdpa_backward", attributes, [q, q, k, v, out, lse], grads, lambda: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(q, q, k, v, o, s, 0.0, causal))


CASES = {
    "gemm": (gemm, [(n, n, n, t) for n in (32, 64, 128, 256, 512, 1024) for t in (False, True)] + [(512, 2048, 512, True)]),
    "decode": (gemm, [(m, 4096, 1024, t) for m in (1, 2, 4, 8, 16, 28) for t in (False, True)]),
    "conv": (conv, [(8, 64, 56, 64, 3, 1, 1, 1), (8, 64, 56, 64, 1, 1, 0, 1), (1, 3, 224, 64, 7, 2, 3, 1), (1, 128, 28, 128, 3, 1, 1, 1), (8, 256, 14, 256, 3, 1, 1, 1), (8, 64, 56, 64, 3, 1, 1, 64)]),
    "rows": (rows, [(16, 1024), (1024, 1024), (8192, 64)]),
    "attention": (attention, [(1, 8, 128, 128, 64, True), (1, 8, 512, 512, 64, True), (1, 8, 512, 512, 64, False), (2, 8, 1024, 77, 40, False), (1, 32, 1, 1024, 64, False)]),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for group in sys.argv[1:] or CASES:
        function, cases = CASES[group]
        for dtype in (torch.float32, torch.bfloat16):
            for case in cases:
                function(dtype, *case)

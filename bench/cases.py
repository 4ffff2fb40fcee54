"""The rows of kernels and of host time: what to call, on which inputs, against whom. bench/worker.py calls them, the same code on every device.

A row's `torch` peer is compared with ours in strict eager mode, where every call runs; its `inductor` and `xla` peers, under torch.compile,
with ours under torch.compile. `moved` is the bytes that a call must read and write, `flops` its multiplications and additions.
"""

import dataclasses
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
import torch.optim._functional as optim

aten = torch.ops.aten
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
SIZES = {"L1": 1, "L2": 16, "DRAM": 4096}  # times 16 KiB an array


@dataclasses.dataclass
class Case:
    call: Callable  # on the inputs
    inputs: Callable  # () -> tensors on the CPU
    peers: tuple
    flops: float = 0
    moved: float = 0
    stream: str = "triad"  # which bandwidth bounds it: "read" or "triad"
    prepare: Callable = None  # on the inputs -> what to call without arguments; never compiled
    fused: bool = False  # ours records; what is measured is recording alone


CASES = {}


def add(name, call, inputs, against="torch xla", **more):
    CASES[name] = Case(call, inputs, tuple(against.split()), **more)


def normal(*shape, dtype=torch.float32):
    return torch.randn(shape).to(dtype)


def products():
    for d, dtype in DTYPES.items():
        for n in (128, 256, 512, 1024, 2048):
            add(f"gemm {d} {n}", torch.mm, lambda n=n, t=dtype: (normal(n, n, dtype=t), normal(n, n, dtype=t)), flops=2 * n**3)
        add(f"gemm {d} 512x2048x512 linear", F.linear, lambda t=dtype: (normal(512, 512, dtype=t), normal(2048, 512, dtype=t)), flops=2**30)
        outs = 2**27 // dtype.itemsize // 4096  # the weights are 128 MiB
        for m in (1, 2, 8):
            make = lambda m=m, n=outs, t=dtype: (normal(m, 4096, dtype=t), normal(n, 4096, dtype=t))
            add(f"decode {d} M={m} linear", F.linear, make, moved=2**27, stream="read")
            make = lambda m=m, n=outs, t=dtype: (normal(m, 4096, dtype=t), normal(4096, n, dtype=t))
            add(f"decode {d} M={m} matmul", torch.mm, make, moved=2**27, stream="read")
        make = lambda t=dtype: (normal(4, 8, 128, 64, dtype=t), normal(4, 8, 128, 64, dtype=t))
        add(f"attention matmul {d} q@k^T", lambda q, k: q @ k.transpose(-2, -1), make, flops=2**26)
        make = lambda t=dtype: (normal(4, 8, 128, 128, dtype=t), normal(4, 8, 128, 64, dtype=t))
        add(f"attention matmul {d} p@v", torch.matmul, make, flops=2**26)


def convolutions():
    # name: batch, channels, size, out channels, kernel, stride, padding, dilation, groups
    shapes = {
        "3x3": (8, 64, 56, 64, 3, 1, 1, 1, 1), "3x3 deep": (8, 256, 14, 256, 3, 1, 1, 1, 1), "1x1": (8, 64, 56, 64, 1, 1, 0, 1, 1),
        "depthwise": (8, 64, 56, 64, 3, 1, 1, 1, 64), "strided": (8, 64, 56, 128, 3, 2, 1, 1, 1), "stem 7x7": (2, 3, 224, 64, 7, 2, 3, 1, 1),
        "dilated": (8, 64, 28, 64, 3, 1, 2, 2, 1), "grouped": (8, 64, 56, 64, 3, 1, 1, 1, 4), "transposed": (4, 128, 16, 64, 2, 2, 0, 1, 1),
    }  # fmt: skip
    for d, dtype in DTYPES.items():
        for name, shape in shapes.items():
            convolution(f"conv {d} {name}", dtype, name == "transposed", *shape)
    for name in ("3x3", "depthwise", "strided"):
        convolution(f"conv f32 {name} channels_last", torch.float32, False, *shapes[name], layout=torch.channels_last, against="torch")
    rarer = {"1x1 strided": (8, 64, 56, 128, 1, 2, 0, 1, 1), "1x1 to 3": (8, 64, 56, 3, 1, 1, 0, 1, 1), "3d": (2, 16, (8, 28, 28), 32, 3, 1, 1, 1, 1)}
    for name, shape in rarer.items():
        convolution(f"conv f32 {name}", torch.float32, False, *shape, against="torch")


def convolution(name, dtype, transposed, n, c, size, o, k, stride, padding, dilation, groups, layout=torch.contiguous_format, **more):
    size = size if isinstance(size, tuple) else (size, size)
    settings = [*([value] * len(size) for value in (stride, padding, dilation)), transposed, [0] * len(size), groups]
    out = [(s - 1) * stride + k if transposed else (s + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for s in size]
    flops = 2 * n * o * (c // groups) * k ** len(size) * math.prod(size if transposed else out)
    shapes = {"x": (n, c, *size), "w": (c, o // groups, *[k] * len(size)) if transposed else (o, c // groups, *[k] * len(size)), "g": (n, o, *out)}
    inputs = lambda names: lambda: tuple(normal(*shapes[i], dtype=dtype).contiguous(memory_format=layout) for i in names)
    add(name, lambda x, w: aten.convolution(x, w, None, *settings), inputs("xw"), flops=flops, **more)
    for which, mask in {"d/dx": [True, False, False], "d/dw": [False, True, False]}.items():
        call = lambda g, x, w, mask=mask: [r for r in aten.convolution_backward(g, x, w, None, *settings, mask) if r is not None]
        add(f"{name} {which}", call, inputs("gxw"), flops=flops, **more)


def epilogues():
    """Products and convolutions with what follows them, at sizes of which the result does not fit the second cache."""
    gelu = lambda x, w, b: F.gelu(F.linear(x, w, b))
    relu = lambda x, w, b, r: F.relu(F.linear(x, w, b) + r)
    norm = lambda x, w, m, v, s, b: F.relu(F.batch_norm(F.conv2d(x, w, None, 1, w.shape[-1] // 2), m, v, s, b))
    for d, dtype in DTYPES.items():
        make = lambda t=dtype: (normal(2048, 1024, dtype=t), normal(4096, 1024, dtype=t), normal(4096, dtype=t))
        add(f"linear + bias + gelu {d} 2048x1024x4096", gelu, make, "inductor xla", flops=2**34)
        make = lambda t=dtype: (normal(8192, 128, dtype=t), normal(1024, 128, dtype=t), normal(1024, dtype=t), normal(8192, 1024, dtype=t))
        add(f"linear + bias + residual + relu {d} 8192x128x1024", relu, make, "inductor xla", flops=2**31)
        for k in (1, 3):
            make = lambda t=dtype, k=k: (normal(8, 64, 112, 112, dtype=t), normal(64, 64, k, k, dtype=t), normal(64), normal(64).abs(), normal(64), normal(64))
            add(f"conv {k}x{k} + batch norm + relu {d} 112x112", norm, make, "inductor xla", flops=2 * k * k * 8 * 64 * 64 * 112 * 112)


def attention():
    shapes = {"128 causal": (4, 128, 128, True), "512 causal": (1, 512, 512, True), "512": (1, 512, 512, False), "2048 causal": (1, 2048, 2048, True)}
    shapes |= {"1024x77": (2, 1024, 77, False), "1x1024": (8, 1, 1024, False)}

    def gradients(causal):
        def prepare(q, k, v, g):
            q, k, v = (t.requires_grad_() for t in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return lambda: torch.autograd.grad(y, (q, k, v), g, retain_graph=True)

        return prepare

    for d, dtype in DTYPES.items():
        for name, (batch, queries, keys, causal) in shapes.items():
            make = lambda b=batch, q=queries, k=keys, t=dtype: tuple(normal(b, 8, s, 64, dtype=t) for s in (q, k, k, q))
            flops = 2 * 2 * batch * 8 * queries * keys * 64 / (2 if causal else 1)
            call = lambda q, k, v, g, causal=causal: F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            add(f"attention {d} {name}", call, make, flops=flops)
            if queries > 1:
                add(f"attention {d} {name} backward", None, make, "torch", flops=2.5 * flops, prepare=gradients(causal))


def chain6(x, w, b):
    return torch.sigmoid(torch.relu(x * w + b) - 0.05) * x


def chain20(x):
    for _ in range(5):
        x = torch.relu(x * 1.001 + 0.1) - 0.05
    return x


def adamw(p, g, m, v, step):
    """AdamW written out, in place, as an optimizer's for-loop does it."""
    step.add_(1)
    p.mul_(1 - 1e-3 * 0.01)
    m.lerp_(g, 0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    size = 1e-3 / (1 - 0.9**step)
    p.sub_(size * m / ((v / (1 - 0.999**step)).sqrt() + 1e-8))
    return p


def fused_adamw(p, g, m, v, step):
    torch._fused_adamw_([p], [g], [m], [v], [], [step], lr=1e-3, beta1=0.9, beta2=0.999, weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False)
    return p


def fused():
    """Elementwise chains and row reductions, at sizes of the first and second cache and of memory."""
    all3 = "torch inductor xla"
    for d, dtype in DTYPES.items():
        for s, times in SIZES.items():
            n = times * 2**14 // dtype.itemsize
            array, rows = n * dtype.itemsize, n // 1024
            flat = lambda n=n, t=dtype: (normal(n, dtype=t),)
            rect = lambda r=rows, t=dtype: (normal(r, 1024, dtype=t),)
            add(f"chain of 6 {d} {s}", chain6, lambda n=n, t=dtype: tuple(normal(n, dtype=t) for _ in range(3)), "inductor xla", moved=4 * array)
            add(f"chain of 20 {d} {s}", chain20, flat, "inductor xla", moved=2 * array)
            add(f"gelu {d} {s}", F.gelu, flat, all3, moved=2 * array)
            add(f"softmax {d} {s}", lambda x: torch.softmax(x, -1), rect, all3, moved=2 * array)
            make = lambda r=rows, t=dtype: (normal(r, 1024, dtype=t), normal(1024, dtype=t), normal(1024, dtype=t))
            add(f"layer norm {d} {s}", lambda x, w, b: F.layer_norm(x, (1024,), w, b), make, all3, moved=2 * array)
            make = lambda r=rows, t=dtype: (normal(r, 1024, dtype=t), torch.randint(0, 1024, (r,)))
            add(f"cross entropy {d} {s}", F.cross_entropy, make, all3, moved=array, stream="read")
            make = lambda n=n, t=dtype: (normal(n, dtype=t), normal(n, dtype=t), normal(n, dtype=t), normal(n, dtype=t).abs(), torch.tensor(1.0))
            add(f"AdamW {d} {s}", adamw, make, "inductor xla", moved=7 * array)
            add(f"AdamW fused {d} {s}", fused_adamw, make, "torch", moved=7 * array)


def optimizers():
    """Updates of as many tensors as a model has, most of them small: one call, one program."""
    n = 150
    layer = [(64,), (64,), (192, 64), (192,), (64, 64), (64,), (64,), (64,), (128, 64), (64, 128)]
    lists = lambda *makers: tuple(make(*layer[i % 10]) for make in makers for i in range(n))
    part = lambda tensors, k: list(tensors[k * n : k * n + n])
    adamw = lambda *t: torch._fused_adamw_(
        *(part(t, k) for k in range(4)), [], part(t, 4), lr=1e-3, beta1=0.9, beta2=0.999, weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False
    )
    sgd = lambda *t: torch._fused_sgd_(
        part(t, 0), part(t, 1), [], weight_decay=0, momentum=0, lr=0.1, dampening=0, nesterov=False, maximize=False, is_first_step=False
    )
    with_states = lambda: lists(normal, normal, normal, lambda *s: normal(*s).abs(), lambda *s: torch.tensor(1.0))
    add(f"AdamW fused of {n} tensors", lambda *t: (adamw(*t), t[0])[1], with_states, "torch")
    add(f"SGD fused of {n} tensors", lambda *t: (sgd(*t), t[0])[1], lambda: lists(normal, normal), "torch")
    # As an optimizer's step calls them where it is compiled.
    adamw_step = lambda *t: optim.adamw(
        *(part(t, k) for k in range(4)), [], part(t, 4), foreach=True, capturable=True,
        amsgrad=False, beta1=0.9, beta2=0.999, lr=1e-3, weight_decay=0.01, eps=1e-8, maximize=False,
    )  # fmt: skip
    sgd_step = lambda *t: optim.sgd(
        part(t, 0), part(t, 1), [None] * n, foreach=True, weight_decay=0, momentum=0, lr=0.1, dampening=0, nesterov=False, maximize=False
    )
    add(f"AdamW step of {n} tensors", lambda *t: (adamw_step(*t), t[0])[1], with_states, "inductor")
    add(f"SGD step of {n} tensors", lambda *t: (sgd_step(*t), t[0])[1], lambda: lists(normal, normal), "inductor")
    add(f"SGD foreach of {n} tensors", lambda *t: (torch._foreach_add_(part(t, 0), part(t, 1), alpha=-0.1), t[0])[1], lambda: lists(normal, normal), "torch")


def others():
    x = lambda: (normal(1024, 1024),)
    image, pool = lambda: (normal(4, 64, 32, 32),), lambda: (normal(8, 64, 56, 56),)
    ids = lambda n, *shape: torch.randint(0, n, shape)
    add("sort f32 1024x1024", lambda x: torch.sort(x, -1), x)
    add("sort f32 1M", lambda x: torch.sort(x), lambda: (normal(2**20),))
    add("sort i64 1M", lambda x: torch.sort(x), lambda: (ids(2**40, 2**20),))
    add("top-k f32 1024x1024 k=16", lambda x: torch.topk(x, 16), x)
    add("top-k f32 1x128000 k=50", lambda x: torch.topk(x, 50), lambda: (normal(1, 128000),))
    add("scatter_add f32 1M into 100K", lambda x, i, s: x.scatter_add(0, i, s), lambda: (normal(100000), ids(100000, 2**20), normal(2**20)))
    add("scatter_add f32 rows 4096x256", lambda x, i, s: x.scatter_add(0, i, s), lambda: (normal(4096, 256), ids(4096, 4096, 256), normal(4096, 256)))
    add("embedding f32 4096 of 50000x256", lambda w, i: F.embedding(i, w), lambda: (normal(50000, 256), ids(50000, 4096)), moved=2**23)
    call = lambda g, i: aten.embedding_dense_backward(g, i, 50000, -1, False)
    add("embedding f32 backward", call, lambda: (normal(4096, 256), ids(50000, 4096)))
    add("embedding bag f32 256x4 of 20000x32", lambda w, i: F.embedding_bag(i, w, mode="sum"), lambda: (normal(20000, 32), ids(20000, 256, 4)), "torch")
    add("cumsum f32 1024x1024", lambda x: x.cumsum(-1), x)
    add("cumsum f32 1024x1024 dim 0", lambda x: x.cumsum(0), x)
    add("max-pool f32 3x3 s2", lambda x: F.max_pool2d(x, 3, 2, 1), pool)
    add("max-pool f32 2x2", lambda x: F.max_pool2d(x, 2), pool)
    add("interpolate f32 bilinear x2", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), image)
    add("interpolate f32 nearest x2", lambda x: F.interpolate(x, scale_factor=2), image)


def moves():
    """Layouts, indices and rarer functions that programs call between their products."""
    x, image = lambda: (normal(1024, 1024),), lambda: (normal(8, 64, 56, 56),)
    picture, ids = lambda: (normal(4, 3, 224, 224),), lambda n, *shape: torch.randint(0, n, shape)
    patches = lambda x: x.view(4, 3, 14, 16, 14, 16).permute(0, 2, 4, 3, 5, 1).reshape(4, 196, 768)
    rows = {
        "roll f32 1024x1024 both dims": (lambda x: x.roll((3, 5), (0, 1)), x),
        "permute f32 pictures to channels last": (lambda x: x.permute(0, 2, 3, 1).contiguous(), picture),
        "permute f32 pictures to patches": (patches, picture), "pixel shuffle f32": (lambda x: F.pixel_shuffle(x, 2), image),
        "cat f32 16384x3 and x5": (lambda x, y: torch.cat([x, y], -1), lambda: (normal(16384, 3), normal(16384, 5))),
        "outer product f32 1024": (torch.outer, lambda: (normal(1024), normal(1024))),
        "adaptive max-pool f32 7x7": (lambda x: F.adaptive_max_pool2d(x, 7), image),
        "cummin f32 1024x1024 dim 0": (lambda x: x.cummin(0), x),
        "index_add f32 1024x512 dim 1": (lambda x, i, s: x.index_add(1, i, s), lambda: (normal(1024, 1024), ids(1024, 512), normal(1024, 512))),
        "isin i64 100000 of 8": (torch.isin, lambda: (ids(100, 100000), ids(100, 8))),
        "asin f32 1024x512": (torch.asin, lambda: (torch.rand(1024, 512),)), "atan2 f32 1024x512": (torch.atan2, lambda: (normal(1024, 512), normal(1024, 512))),
        "sum f32 1024x1024 transposed": (lambda x: x.t().sum(1), x),
        "exp2 f32 1024x1024": (torch.exp2, x), "digamma f32 1024x512": (torch.digamma, lambda: (torch.rand(1024, 512) + 0.1,)),
        "silu backward f32 1024x1024": (lambda g, x: aten.silu_backward(g, x), lambda: (normal(1024, 1024), normal(1024, 1024))),
        "columns of softmax backward f32": (lambda g, y: aten._softmax_backward_data(g, y, 1, torch.float32), lambda: (normal(8, 32, 64, 64), normal(8, 32, 64, 64))),
        "fill f32 a slice": (lambda x: x[:, 1:1000].fill_(1.0), x), "fill f32 every other column": (lambda x: x[:, ::2].fill_(1.0), x),
        "reflection pad f32": (lambda x: F.pad(x, (2, 2, 2, 2), mode="reflect"), lambda: (normal(8, 32, 64, 64),)),
        "nonzero bool 1024x1024": (torch.nonzero, lambda: (normal(1024, 1024) > 0,)),
        "triangular solve f32 512": (lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), lambda: (normal(512, 512).tril() / 32 + torch.eye(512), normal(512, 512))),
        "floor_divide i64 1024x512": (torch.floor_divide, lambda: (ids(2**20, 1024, 512), ids(100, 1024, 512) + 1)),
        "complex product 256x256": (torch.mm, lambda: (torch.complex(normal(256, 256), normal(256, 256)), torch.complex(normal(256, 256), normal(256, 256)))),
    }  # fmt: skip
    for name, (call, make) in rows.items():
        add(name, call, make, "torch")


def host():
    """Ops too small to compute anything: what a call costs."""
    a, ids = lambda: normal(16, 16), lambda: torch.randint(0, 16, (16,))
    ops = {
        "add": (lambda a, b: a + b, a, a), "mul scalar": (lambda a: a * 0.99, a), "mm": (torch.mm, a, a), "sum": (lambda a: a.sum(), a),
        "softmax": (lambda a: torch.softmax(a, -1), a), "layer_norm": (lambda a, w: F.layer_norm(a, (16,), w, w), a, lambda: normal(16)),
        "cat": (lambda a, b: torch.cat([a, b]), a, a), "where": (lambda a, c, b: torch.where(c, a, b), a, lambda: a() > 0, a),
        "embedding": (lambda a, i: F.embedding(i, a), a, ids), "index_select": (lambda a, i: torch.index_select(a, 0, i), a, ids),
        "transpose contiguous": (lambda a: a.t().contiguous(), a), "add_ in a view": (lambda a: a.view(-1)[:128].add_(0.5), a),
    }  # fmt: skip
    for name, (call, *inputs) in ops.items():
        make = lambda inputs=inputs: tuple(f() for f in inputs)
        add(f"host strict {name}", call, make, "torch")
        add(f"host fused {name}", call, make, "torch", fused=True)
    add("host item()", lambda x: x.item(), lambda: (torch.tensor(1.5),), "torch")


for group in (products, convolutions, epilogues, attention, fused, optimizers, others, moves, host):
    group()

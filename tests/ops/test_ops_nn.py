"""Products, convolutions, pooling, norms, attention and losses against the CPU, forward and backward."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from compare import check, check_op

OPS = """mm addmm bmm baddbmm addbmm mv addmv addr dot vdot matmul einsum nn.functional.linear
softmax log_softmax nn.functional.layer_norm nn.functional.group_norm nn.functional.batch_norm nn.functional.instance_norm
nn.functional.scaled_dot_product_attention nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d
nn.functional.conv_transpose1d nn.functional.conv_transpose2d nn.functional.conv_transpose3d
nn.functional.max_pool1d nn.functional.max_pool2d nn.functional.max_pool3d nn.functional.avg_pool1d nn.functional.avg_pool2d
nn.functional.avg_pool3d nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d nn.functional.adaptive_avg_pool3d
nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d nn.functional.adaptive_max_pool3d
nn.functional.upsample_nearest nn.functional.upsample_bilinear nn.functional.mse_loss nn.functional.nll_loss
nn.functional.cross_entropy nn.functional.smooth_l1_loss nn.functional.huber_loss nn.functional.binary_cross_entropy
nn.functional.binary_cross_entropy_with_logits nn.functional.kl_div nn.functional.l1_loss""".split()


def dropout(sample):
    return sample.kwargs.get("dropout_p", 0) > 0


@pytest.mark.parametrize("name", OPS)
def test_float32(name):
    check_op(name, torch.float32, skip=dropout)


@pytest.mark.parametrize(
    "name",
    "mm addmm baddbmm softmax log_softmax nn.functional.layer_norm nn.functional.conv2d nn.functional.max_pool2d".split(),
)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_floats(name, dtype):
    check_op(name, dtype, limit=3)


@pytest.mark.parametrize("name", ["mm", "addmm", "bmm"])
def test_integers(name):
    check_op(name, torch.int64, limit=4)


def randn(*shape, grad=True):
    return torch.randn(*shape, requires_grad=grad)


@pytest.mark.parametrize("heads", [(4, 4), (4, 2), (4, 1)])
@pytest.mark.parametrize("kind", ["plain", "causal", "float mask", "bool mask", "dead row"])
def test_attention(heads, kind):
    """Grouped queries and every kind of mask; a row that sees nothing gives zeros."""
    torch.manual_seed(1)
    q, k, v = randn(2, heads[0], 5, 8), randn(2, heads[1], 7, 8), randn(2, heads[1], 7, 6)
    kwargs = {"enable_gqa": heads[0] != heads[1]}
    if kind == "causal":
        kwargs["is_causal"] = True
    elif kind == "float mask":
        kwargs["attn_mask"] = torch.randn(5, 7)
    elif kind != "plain":
        kwargs["attn_mask"] = torch.rand(2, 1, 5, 7) > 0.3
        if kind == "dead row":
            kwargs["attn_mask"][0, 0, 2] = False
    check(F.scaled_dot_product_attention, (q, k, v), kwargs, f"attention {kind}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("queries, keys", [(1, 5), (8, 8), (70, 40), (130, 600)])
def test_attention_of_huge_scores(dtype, queries, keys):
    """A row masked by the smallest number sees all keys alike; scores so large are not scaled before the highest is taken off."""
    torch.manual_seed(5)
    q, k, v = (torch.randn(1, 2, n, 16, dtype=dtype) for n in (queries, keys, keys))
    mask = torch.zeros(queries, keys, dtype=dtype)
    mask[queries // 2 :] = torch.finfo(dtype).min
    mask[queries // 3 : queries // 2] = -1e30
    want = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), attn_mask=mask.double()).to(dtype)
    got = F.scaled_dot_product_attention(q.to("tpu"), k.to("tpu"), v.to("tpu"), attn_mask=mask.to("tpu")).cpu()
    mean = v.double().mean(-2, keepdim=True).to(dtype).expand_as(want)
    want[..., queries // 3 :, :] = mean[..., queries // 3 :, :]
    tolerance = 1e-5 if dtype == torch.float32 else 1e-2
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)
    k[..., 1, 3] = 1e30
    want = F.scaled_dot_product_attention(q.double(), k.double(), v.double()).to(dtype)
    got = F.scaled_dot_product_attention(q.to("tpu"), k.to("tpu"), v.to("tpu")).cpu()
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("queries, keys", [(8, 8), (70, 40), (130, 600)])
def test_attention_gradient_of_huge_scores(dtype, queries, keys):
    torch.manual_seed(6)
    q, k, v, grad = (torch.randn(1, 2, n, 16, dtype=dtype) for n in (queries, keys, keys, queries))
    mask = torch.zeros(queries, keys, dtype=dtype)
    mask[queries // 2 :, 1:] = torch.finfo(dtype).min
    mask[queries // 3 : queries // 2, :3] = -1e30

    def gradients(device, dtype):
        inputs = [x.to(device, dtype).requires_grad_() for x in (q, k, v)]
        F.scaled_dot_product_attention(*inputs, attn_mask=mask.to(device, dtype)).backward(grad.to(device, dtype))
        return [x.grad.cpu().float() for x in inputs]

    tolerance = 1e-5 if dtype == torch.float32 else 5e-2
    torch.testing.assert_close(gradients("tpu", dtype), gradients("cpu", torch.float64), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", ["causal", "mask", "bias"])
def test_attention_to_values_that_are_no_numbers(kind, dtype):
    """Keys that a row does not see weigh 0, which makes NaN of inf: where it does on the CPU, whose flash kernel leaves out what is in blocks
    of 512 keys after a row."""
    for queries, keys, at in ((3, 5, 4), (5, 900, 600), (33, 33, 16), (200, 50, 49), (70, 700, 30), (600, 900, 735), (800, 800, 705), (600, 600, 500)):
        q, k, v = (torch.randn(1, 2, n, 24, dtype=dtype) for n in (queries, keys, keys))
        v[:, :, at] = torch.tensor([torch.inf, -torch.inf, torch.nan, 1e30, 1] + [0] * 19)
        mask = torch.rand(queries, keys) > 0.5
        if kind == "bias":
            mask = torch.zeros(queries, keys, dtype=dtype).masked_fill(mask, -torch.inf)
        options = {"is_causal": True} if kind == "causal" else {"attn_mask": mask}
        there = {n: o.to("tpu") if isinstance(o, torch.Tensor) else o for n, o in options.items()}
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
            want = F.scaled_dot_product_attention(q, k, v, **options)
        got = F.scaled_dot_product_attention(q.to("tpu"), k.to("tpu"), v.to("tpu"), **there).cpu()
        tolerance = 2e-2 if dtype == torch.bfloat16 else 1e-5
        torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)


def test_attention_mask_gradient():
    q, k, v, mask = randn(2, 2, 3, 4), randn(2, 2, 5, 4), randn(2, 2, 5, 4), randn(2, 1, 3, 5)
    check(
        lambda *a: F.scaled_dot_product_attention(*a[:3], attn_mask=a[3]),
        (q, k, v, mask),
        {},
        "attention mask gradient",
    )


@pytest.mark.parametrize(
    "groups, stride, padding, dilation", [(1, 1, 0, 1), (2, 2, 1, 1), (4, 1, 2, 2), (2, 3, 2, 1)]
)
def test_convolution(groups, stride, padding, dilation):
    x, w, b = randn(2, 4, 11, 9), randn(8, 4 // groups, 3, 3), randn(8)
    kwargs = {"groups": groups, "stride": stride, "padding": padding, "dilation": dilation}
    check(F.conv2d, (x, w, b), kwargs, f"conv2d {kwargs}")
    wt = randn(4, 8 // groups, 3, 3)
    check(F.conv_transpose2d, (x, wt, b), kwargs, f"conv_transpose2d {kwargs}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("size", [(9, 9, 1), (1, 1, 1), (1, 2, 1), (2, 9, 2)])
def test_convolution_of_images_smaller_than_a_step_of_taps(dtype, size):
    """Some runs of taps lie in the padding alone."""
    x, w = torch.randn(2, 48, *size).to(dtype), torch.randn(8, 12, 3, 3, 3).to(dtype)
    for dilation, padding in ((2, 3), (3, 4), (2, 2)):
        results = []
        for device in ("cpu", "tpu"):
            a, b = (t.to(device, torch.float64 if device == "cpu" else dtype).detach().requires_grad_() for t in (x, w))
            y = F.conv3d(a, b, stride=2, padding=padding, dilation=dilation, groups=4)
            y.sum().backward()
            results.append([t.detach().cpu().double() for t in (y, a.grad, b.grad)])
        tolerance = {torch.float32: 1e-4, torch.float64: 1e-10, torch.bfloat16: 0.05}[dtype]
        for want, got in zip(*results, strict=True):
            torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance * (1 + want.abs().max().item()))


@pytest.mark.parametrize("depth, taps, padding, dilation", [(1, 1, 0, 1), (5, 3, 1, 1), (4, 2, 2, 2), (2, 3, 2, 1)])
@pytest.mark.parametrize("odd", [None, float("nan"), 1e25])
def test_gradients_of_weights_of_many_channels(depth, taps, padding, dilation, odd):
    """By Winograd's products, unless what they add up is no number or huge: it then spreads no further than it does in plain sums."""
    x, w = torch.randn(2, 34, depth, 14, 17), torch.randn(40, 17, taps, 3, 3)
    settings = {"padding": (padding, dilation, dilation), "dilation": dilation, "groups": 2}
    dy = torch.randn(F.conv3d(x, w, **settings).shape)
    if odd is not None:
        x[0, 3, 0, 0, 0] = odd

    def gradient(device, dtype, *tensors):
        a, b, c = (t.to(device, dtype) for t in tensors)
        b.requires_grad_()
        F.conv3d(a, b, **settings).backward(c)
        return b.grad.cpu().double()

    want, size = gradient("cpu", torch.float64, x, w, dy), gradient("cpu", torch.float64, x.abs(), w, dy.abs())
    got = gradient("tpu", torch.float32, x, w, dy)
    assert torch.equal(got.isnan(), want.isnan())
    assert ((got - want).abs() <= 1e-6 * size)[~want.isnan()].all()


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(10, 12), (5, 6), (7, 3), (3, 9)])
def test_interpolate(mode, size):
    kwargs = {"size": size, "mode": mode}
    check(F.interpolate, (randn(2, 3, 5, 6),), kwargs, f"interpolate {kwargs}")
    if mode[0] == "b":
        check(
            F.interpolate,
            (randn(2, 3, 5, 6),),
            {**kwargs, "align_corners": True},
            f"interpolate {kwargs} aligned",
        )
    check(
        F.interpolate,
        (randn(2, 3, 5, 6),),
        {"scale_factor": 1.7, "mode": mode},
        f"interpolate {mode} by scale",
    )


def test_max_pool_ties_and_nan():
    """The first maximum of a window is taken, NaN wins, padding never does."""
    x = torch.tensor(
        [[1.0, 1, 0, 2], [1, 0, float("nan"), 2], [-5, -5, -5, -5], [-5, -5, -5, -float("inf")]]
    )[None, None]
    for kwargs in (
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 1, "padding": 1},
        {"kernel_size": 2, "dilation": 2},
        {"kernel_size": 3, "stride": 2, "ceil_mode": True},
    ):
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            check(F.max_pool2d, (x.to(dtype),), {**kwargs, "return_indices": True}, f"max_pool2d {kwargs} {dtype}", grad=False)


@pytest.mark.parametrize("shape", [(7, 5), (300, 49), (64, 1000), (3, 9000), (2, 70, 33), (1, 1)])
def test_sums_of_what_is_computed_on_the_way(shape):
    """A sum that reads narrow values, or what is squared, where they lie: the bits of one op at a time."""
    torch.manual_seed(6)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x = torch.randn(shape).to(dtype).to("tpu")
        for dims in ((0,), (-1,), tuple(range(len(shape)))):
            results = []
            for mode in (torch.tpu.EagerMode.DEFER_NEVER, torch.tpu.EagerMode.DEFER_AND_FUSE):
                with torch.tpu.set_eager_mode(mode):
                    wide = x.float()
                    squares = wide * wide
                    results.append([wide.sum(dims).cpu(), squares.sum(dims).cpu()])
            assert all(torch.equal(a, b) for a, b in zip(*results, strict=True)), (shape, dtype, dims)
            torch.testing.assert_close(results[0][1], x.cpu().float().square().sum(dims), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("eager", ["fused"], indirect=True)
def test_max_pool_without_places(eager):
    """Where nobody reads the places, only the maxima are computed: the same bits."""
    torch.manual_seed(5)
    for k, s, p, d, size, ceil in itertools.product([1, 2, 3, 5], [1, 2, 3], [0, 1], [1, 2], [(9, 34), (12, 12), (70, 130)], [False, True]):
        if 2 * p > (k - 1) * d + 1:
            continue
        x = torch.randint(-9, 9, (2, 3, *size)) * torch.tensor(0.5)
        x[torch.rand(x.shape) < 0.05] = float("nan")
        x[torch.rand(x.shape) < 0.05] = -float("inf")
        x[x == 0] *= torch.randn_like(x[x == 0]).sign()
        want = F.max_pool2d(x, k, s, p, d, ceil)
        for dtype in (torch.float32, torch.bfloat16, torch.float16):  # the values are exact in each
            have = F.max_pool2d(x.to(dtype).to("tpu"), k, s, p, d, ceil).cpu().float()
            if dtype != torch.float32:  # conversions give NaN other bits
                have = torch.where(have.isnan() & want.isnan(), want, have)
            assert torch.equal(have.view(torch.int32), want.view(torch.int32)), (k, s, p, d, size, ceil, dtype)


@pytest.mark.parametrize(
    "make", [lambda: torch.nn.BatchNorm1d(3), lambda: torch.nn.BatchNorm2d(3, momentum=0.3)]
)
def test_batch_norm_updates_running_statistics(make):
    torch.manual_seed(2)
    here, there = make(), make().to("tpu")
    x = torch.randn(4, 3, 5, 5) if isinstance(here, torch.nn.BatchNorm2d) else torch.randn(4, 3)
    for _ in range(2):
        want, have = here(x), there(x.to("tpu"))
        torch.testing.assert_close(have.cpu(), want, rtol=1e-5, atol=1e-5)
    for name, buffer in here.named_buffers():
        torch.testing.assert_close(dict(there.named_buffers())[name].cpu(), buffer, rtol=1e-5, atol=1e-6)
    here.eval(), there.eval()
    torch.testing.assert_close(there(x.to("tpu")).cpu(), here(x), rtol=1e-5, atol=1e-5)


def test_weight_norm():
    torch.manual_seed(3)
    here = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3))
    there = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3)).to("tpu")
    there.load_state_dict(here.state_dict())
    x = torch.randn(2, 4)
    here(x).sum().backward()
    there(x.to("tpu")).sum().backward()
    for a, b in zip(there.parameters(), here.parameters(), strict=True):
        torch.testing.assert_close(a.grad.cpu(), b.grad, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.nn.LSTM(6, 5, 2, bidirectional=True),
        lambda: torch.nn.GRU(6, 5),
        lambda: torch.nn.LSTMCell(6, 5, bias=False),
        lambda: torch.nn.GRUCell(6, 5),
    ],
)
def test_recurrent(make):
    torch.manual_seed(4)
    here = make()
    there = make().to("tpu")
    there.load_state_dict(here.state_dict())
    x = randn(3, 6) if isinstance(here, torch.nn.RNNCellBase) else randn(4, 3, 6)

    def both(x, *parameters):
        return (here if x.device.type == "cpu" else there)(x)

    check(both, (x,), {}, type(here).__name__)
    for p, q in zip(there.parameters(), here.parameters(), strict=True):
        assert p.shape == q.shape
    here(x)[0].sum().backward()
    there(x.detach().to("tpu"))[0].sum().backward()
    for p, q in zip(there.parameters(), here.parameters(), strict=True):
        torch.testing.assert_close(p.grad.cpu(), q.grad, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
def test_grid_sample(mode, padding, align):
    torch.manual_seed(5)
    grid = (torch.randn(2, 4, 3, 2) * 1.2).requires_grad_()
    check(
        F.grid_sample,
        (randn(2, 3, 5, 6), grid),
        {"mode": mode, "padding_mode": padding, "align_corners": align},
        "grid_sample",
    )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(10, 12), (3, 4), (5, 6)])
def test_antialiased_interpolation(mode, size):
    check(F.interpolate, (randn(2, 3, 5, 6),), {"size": size, "mode": mode, "antialias": True}, "antialias")
    check(
        F.interpolate,
        (randn(2, 3, 15, 16),),
        {"size": size, "mode": mode, "antialias": True, "align_corners": True},
        "antialias",
    )


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_cdist(p):
    check(
        torch.cdist,
        (randn(2, 4, 3), randn(2, 5, 3)),
        {"p": p, "compute_mode": "donot_use_mm_for_euclid_dist"},
        f"cdist {p}",
    )


@pytest.mark.parametrize(
    "left, upper, unit",
    [(True, True, False), (False, True, True), (True, False, True), (False, False, False)],
)
def test_solve_triangular(left, upper, unit):
    a = torch.randn(2, 4, 4) + 3 * torch.eye(4)
    kwargs = {"left": left, "upper": upper, "unitriangular": unit}
    check(
        torch.linalg.solve_triangular, (a.requires_grad_(), randn(4, 4)), kwargs, f"solve_triangular {kwargs}"
    )


def test_shapes_that_do_not_fit():
    x = torch.ones(2, 3, device="tpu")
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        x @ x
    with pytest.raises(RuntimeError, match="expected input"):
        F.conv2d(torch.ones(1, 3, 4, 4, device="tpu"), torch.ones(2, 2, 3, 3, device="tpu"))
    torch.testing.assert_close((x + x).cpu(), torch.full((2, 3), 2.0))


@pytest.mark.parametrize("empty", [False, True])
def test_batch_norm_out_writes_the_running_statistics(empty):
    x, found = torch.randn(2, 3, 4), []
    for device in ("cpu", "tpu"):
        scale, shift, mean, var = (torch.full((3,), v, device=device) for v in (1.5, 0.5, 0.0, 1.0))
        outs = [torch.ones(0 if empty else n, device=device) for n in ((2, 3, 4), 3, 3)]
        back = torch._native_batch_norm_legit(x.to(device), scale, shift, mean, var, True, 0.1, 1e-5, out=outs)
        assert all(a is b for a, b in zip(back, outs, strict=True))
        found.append([t.cpu() for t in (*outs, mean, var)])
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample_far_and_nowhere(mode, padding):
    nan, inf = float("nan"), float("inf")
    grid = torch.tensor([[nan, nan], [nan, 0.9], [0.9, nan], [inf, 0.0], [-inf, 0.9], [2.0, 2.0]]).view(1, 1, 6, 2)
    x = torch.randn(1, 2, 4, 4)
    check(F.grid_sample, (x, grid), {"mode": mode, "padding_mode": padding, "align_corners": False}, "grid_sample")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("out", [(1, 1), (5, 7), (13, 3), (30, 40)])
def test_adaptive_max_pool(out, dtype):
    torch.manual_seed(6)
    x = torch.randint(-9, 9, (2, 3, 13, 21)).to(dtype)
    x[1, 1, 3:5, 4] = float("nan")
    check(F.adaptive_max_pool2d, (x, out), {"return_indices": True}, "adaptive_max_pool2d")


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_softmax_down_columns(dim, dtype):
    torch.manual_seed(7)
    x = (torch.randn(5, 33, 70) * 9).to(dtype)
    x[1, :, 3] = -float("inf")
    x[2, 4, 5] = float("nan")
    check(torch.softmax, (x, dim), {}, "softmax")
    check(torch.log_softmax, (x, dim), {}, "log_softmax")


def test_multi_margin_loss_of_a_class_that_is_none():
    x, target = torch.randn(3, 5), torch.tensor([1, 4, 5])
    for device in ("cpu", "tpu"):
        with pytest.raises((RuntimeError, IndexError), match="out of"):
            F.multi_margin_loss(x.to(device), target.to(device)).item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_adaptive_maxima_of_volumes(dtype):
    """The first maximum in scan order, or the last NaN; also where all are -inf."""
    for shape, size in [((2, 3, 9, 10, 11), (4, 3, 5)), ((1, 2, 5, 6, 7), (5, 6, 7)), ((2, 8, 8, 8), (3, 2, 1)), ((1, 1, 4, 4, 4), (1, 1, 1))]:
        for kind in range(3):
            x = torch.randn(shape).round() if kind else torch.randn(shape)
            if kind == 2:
                x[torch.rand(shape) < 0.1] = float("nan")
                x[torch.rand(shape) < 0.3] = float("-inf")
            x = x.to(dtype)
            want = F.adaptive_max_pool3d(x, size, return_indices=True)
            values, index = F.adaptive_max_pool3d(x.to("tpu"), size, return_indices=True)
            assert torch.equal(index.cpu(), want[1])
            assert torch.equal(values.cpu().nan_to_num(), want[0].nan_to_num())


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients_of_average_pooling(n):
    pool = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][n - 1]
    for kernel, stride, padding, ceil, include, divisor in [(2, 2, 0, False, True, None), (3, 2, 1, True, False, None), (3, 1, 1, False, True, None), (2, 3, 0, False, True, None), (3, 2, 1, True, True, 5)]:
        x = torch.randn(2, 3, *(7 + i for i in range(n)), dtype=torch.float64)
        extra = () if n == 1 else (divisor,)
        grads = []
        for device in ("cpu", "tpu"):
            leaf = x.to(device, torch.float64 if device == "cpu" else torch.float32).detach().requires_grad_()
            y = pool(leaf, kernel, stride, padding, ceil, include, *extra)
            y.backward(torch.arange(y.numel(), dtype=leaf.dtype).reshape(y.shape).to(device) / y.numel())
            grads.append(leaf.grad.cpu().double())
        torch.testing.assert_close(grads[1], grads[0], rtol=1e-6, atol=1e-6)

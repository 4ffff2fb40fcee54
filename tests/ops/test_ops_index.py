"""Reading and writing by index, sorting and searching, against the CPU."""

import pytest
import torch
from compare import check, check_op

OPS = """index_select index_add index_copy index_fill gather scatter scatter_add take put masked_scatter take_along_dim
nn.functional.embedding sort msort argsort topk searchsorted bucketize index_put __getitem__ scatter_reduce index_reduce""".split()


@pytest.mark.parametrize("name", [n for n in OPS if n not in ("scatter_reduce", "index_reduce")])
def test_float32(name):
    check_op(name, torch.float32, limit=10)


@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_reductions(name, dtype):
    check_op(name, dtype, limit=6)


@pytest.mark.parametrize("name", ["gather", "index_select", "scatter_add", "take"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.bfloat16])
def test_other_types(name, dtype):
    check_op(name, dtype, limit=4)


INDICES = [
    (torch.tensor([2, 0, -1]),),
    (torch.tensor([[2, 0], [1, -3]]),),
    (torch.tensor([1, 0]), torch.tensor([3, -1])),
    (slice(None), torch.tensor([3, -1])),
    (torch.tensor([1, 0]), slice(None), torch.tensor([3, -1])),
    (slice(None), torch.tensor([[1], [0]]), torch.tensor([3, 4, 0])),
    (torch.tensor([], dtype=torch.int64),),
    (torch.tensor([0, 2], dtype=torch.int32), 1),
    (..., torch.tensor(2)),
    (None, torch.tensor([1])),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_index(index):
    x = torch.arange(60.0).reshape(3, 4, 5).requires_grad_()
    check(lambda x, *i: x[i], (x, *index), {}, f"index {index}")


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("index", INDICES[:7], ids=str)
def test_index_put(index, accumulate):
    index = tuple(slice(None) if isinstance(i, slice) else i for i in index)
    tensors = [None if isinstance(i, slice) else i for i in index]
    x = torch.arange(60.0).reshape(3, 4, 5)
    value = (
        torch.arange(float(x[index].numel())).reshape(x[index].shape) if not accumulate else torch.tensor(2.5)
    )

    def put(x, value, *tensors):
        return torch.ops.aten.index_put(x, list(tensors), value, accumulate)

    check(put, (x, value, *tensors), {}, f"index_put {index}", grad=False)


def test_masks():
    x = torch.arange(12.0).reshape(3, 4)
    mask = x % 3 == 1
    check(lambda x, m: x[m], (x, mask), {}, "x[mask]", grad=False)

    def write(x, m):
        y = x.clone()
        y[m] = -1
        y[:, 1] += 5
        y[torch.tensor([0, 2], device=x.device), 2] = torch.tensor([7.0, 8.0], device=x.device)
        return y

    check(write, (x, mask), {}, "writes", grad=False)


def test_embedding_gradient():
    w = torch.randn(7, 4, requires_grad=True)
    i = torch.tensor([[1, 2, 2], [6, 0, 1]])
    for kwargs in ({}, {"padding_idx": 2}, {"scale_grad_by_freq": True}):
        check(
            lambda w, i, kw=kwargs: torch.nn.functional.embedding(i, w, **kw),
            (w, i),
            {},
            f"embedding {kwargs}",
        )


@pytest.mark.parametrize(
    "kwargs", [{}, {"mode": "sum"}, {"mode": "sum", "padding_idx": 2}, {"padding_idx": 2}], ids=str
)
def test_embedding_bag(kwargs):
    w = torch.randn(7, 4, requires_grad=True)
    i, offsets = torch.tensor([1, 2, 2, 6, 0, 2]), torch.tensor([0, 3, 3, 5])
    check(
        lambda w, i, o: torch.nn.functional.embedding_bag(i, w, o, **kwargs),
        (w, i, offsets),
        {},
        f"embedding_bag {kwargs}",
    )


@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_embedding_bag_maxima_of_nan(padding, dtype):
    """A NaN is the largest of its bag if it is the first of it, else it is passed over; its gradient goes to its own row."""
    torch.manual_seed(3)
    weight = torch.randn(10, 4, dtype=dtype)
    weight[3, 1] = weight[5, 2] = weight[1, 0] = float("nan")
    weight[7, 3] = float("-inf")
    index = torch.tensor([3, 1, 2, 1, 3, 2, 1, 2, 3, 5, 5, 7, 7, 3, 5, 3, 1])
    offsets = torch.tensor([0, 3, 6, 9, 11, 12, 12, 15, 16])
    found = []
    for device in ("cpu", "tpu"):
        w = weight.to(device).clone().requires_grad_()
        y = torch.nn.functional.embedding_bag(index.to(device), w, offsets.to(device), mode="max", padding_idx=padding)
        y.nan_to_num(2).backward(torch.arange(1.0, 1 + y.numel(), dtype=dtype, device=device).view_as(y))
        found.append((y.detach().cpu(), w.grad.cpu()))
    torch.testing.assert_close(found[1], found[0], equal_nan=True)


def test_index_out_of_bounds():
    """The engine raises what the CPU raises; other plugins clamp."""
    if torch.tpu.get_device_name() and "virtual" not in torch.tpu.get_device_name().lower():
        pytest.skip("not the engine")
    x = torch.arange(12.0, device="tpu").reshape(3, 4)
    far = torch.tensor([3], device="tpu")
    with torch.tpu.set_eager_mode(torch.tpu.EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING):
        for use, error in (
            (lambda: x[far], IndexError),
            (lambda: x.index_select(0, far), IndexError),
            (lambda: x.index_put((far,), x[0, 0]), IndexError),
            (lambda: x.index_add(0, far, x[:1]), RuntimeError),
            (lambda: x.gather(0, far[:, None]), RuntimeError),
        ):
            with pytest.raises(error, match="index 3 is out of bounds for dimension 0 with size 3"):
                use().cpu()
    torch.testing.assert_close(x[far - 4].cpu(), torch.tensor([[8.0, 9, 10, 11]]))


@pytest.mark.parametrize("right", [False, True])
def test_search(right):
    edges = torch.tensor([1.0, 2, 2, 5])
    values = torch.tensor([[0.0, 1, 2], [2.5, 5, float("nan")]])
    check(torch.searchsorted, (edges, values), {"right": right}, "searchsorted", grad=False)
    check(torch.bucketize, (values, edges), {"right": right, "out_int32": True}, "bucketize", grad=False)
    big = torch.arange(5000.0)
    check(
        torch.searchsorted,
        (big, torch.rand(2000) * 5100 - 50),
        {"right": right},
        "searchsorted by halves",
        grad=False,
    )


def test_sort_puts_nan_last():
    x = torch.tensor([3.0, float("nan"), -1, float("inf"), 3, -float("inf")])
    for descending in (False, True):
        check(torch.sort, (x,), {"stable": True, "descending": descending}, "sort", grad=False)
    check(torch.topk, (x, 3), {}, "topk", grad=False)
    check(torch.topk, (x, 2), {"largest": False}, "smallest", grad=False)


@pytest.mark.parametrize("f", [torch.tril_indices, torch.triu_indices])
@pytest.mark.parametrize("rows, columns", [(600, 700), (700, 20), (3, 5), (5, 3), (1, 1), (0, 4), (4, 0)])
def test_triangles(f, rows, columns):
    for offset in (-1000, -5, -3, -1, 0, 1, 2, 4, 1000):
        for dtype in (torch.int64, torch.int32):
            want, have = f(rows, columns, offset, dtype=dtype), f(rows, columns, offset, dtype=dtype, device="tpu")
            assert have.dtype == dtype and torch.equal(have.cpu(), want), offset


@pytest.mark.parametrize("f", [
    lambda x, i: x.gather(0, i[:, None]), lambda x, i: x.scatter(0, i[:, None], 1.0), lambda x, i: x.scatter_add(0, i[:, None], x[:1]),
    lambda x, i: x.scatter_reduce(0, i[:, None], x[:1], "amax"), lambda x, i: x.index_add(0, i, x[:1]), lambda x, i: x.index_copy(0, i, x[:1]),
    lambda x, i: x.index_select(0, i), lambda x, i: x[i], lambda x, i: x.index_fill(0, i, 1.0), lambda x, i: x.index_put((i,), x[:1]),
    lambda x, i: x.take(i + 100), lambda x, i: x.put(i + 100, x[:1, 0]), lambda x, i: torch.nn.functional.embedding(i, x),
    lambda x, i: torch.nn.functional.one_hot(i, 3),
])  # fmt: skip
def test_the_error_of_an_index_out_of_range(f):
    x, i = torch.arange(6.0).reshape(2, 3), torch.tensor([5])
    with pytest.raises((IndexError, RuntimeError)) as want:
        f(x, i)
    with pytest.raises((IndexError, RuntimeError)) as have:
        f(x.to("tpu"), i.to("tpu")).cpu()
    assert have.type is want.type


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_running_extremes(dim, dtype):
    torch.manual_seed(1)
    x = torch.randint(-5, 5, (3, 70, 140)).to(dtype)
    if dtype.is_floating_point:
        x[1, 7:9, ::7] = float("nan")
    check(torch.cummax, (x, dim), {}, "cummax")
    check(torch.cummin, (x, dim), {}, "cummin")


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("n", [0, 1, 5, 40, 3000])
def test_isin(n, invert):
    torch.manual_seed(2)
    for dtype in (torch.int64, torch.float32):
        x, tests = torch.randint(-9000, 9000, (60, 50)).to(dtype), torch.randint(-9000, 9000, (n,)).to(dtype)
        if dtype.is_floating_point:
            x[3, 4:8] = torch.tensor([float("nan"), float("inf"), -0.0, 0.0])
            tests[:2] = torch.tensor([float("nan"), 0.0])[:n]
        check(torch.isin, (x, tests), {"invert": invert}, "isin")


@pytest.mark.parametrize("dim", [0, 1])
def test_rows_and_columns_with_repeats(dim):
    torch.manual_seed(3)
    x, index = torch.randn(40, 40), torch.randint(0, 40, (90,))
    source = torch.randn((90, 40) if dim == 0 else (40, 90))
    check(torch.index_add, (x, dim, index, source), {}, "index_add")
    check(torch.index_reduce, (x, dim, index, source, "amax"), {}, "index_reduce")
    check(torch.index_reduce, (x, dim, index, source, "amin"), {"include_self": False}, "index_reduce")


def test_best_of_rows():
    x = torch.randn(9, 700)
    x[1, 5] = float("nan")
    x[2] = -0.0
    x[2, 9] = 0.0
    x[3, 300:302] = 9.0
    x[4] = -float("inf")
    check(lambda x: torch.topk(x, 1).values, (x,), {}, "topk")
    check(lambda x: x.gather(1, torch.topk(x, 1).indices), (x,), {}, "topk")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64, torch.bfloat16])
def test_searches(dtype):
    """Few and many boundaries, equal ones, values that are NaN, rows of their own."""
    for m, n, rows in [(1, 5, 0), (16, 100, 0), (17, 3000, 0), (1000, 70, 0), (33, 65, 4), (5, 9, 3)]:
        sorted_ = (torch.randn(rows, m) if rows else torch.randn(m)).mul(8).round().to(dtype).sort(-1).values
        values = (torch.randn(rows, n) if rows else torch.randn(n)).mul(10).round().to(dtype)
        if dtype.is_floating_point:
            values[..., ::7] = float("nan")
        for right in (False, True):
            want = torch.searchsorted(sorted_, values, right=right)
            assert torch.equal(torch.searchsorted(sorted_.to("tpu"), values.to("tpu"), right=right).cpu(), want)

"""Views are views and in-place is in place: aliasing as on the CPU."""

import pytest
import torch

VIEWS = {
    "slice": lambda t: t[1:, ::2],
    "select": lambda t: t[:, 2],
    "transpose": lambda t: t.t(),
    "permute": lambda t: t.reshape(3, 2, 2).permute(2, 0, 1),
    "diagonal": lambda t: t.diagonal(),
    "as_strided": lambda t: t.as_strided((2, 3), (4, 1), 1),
    "flatten_tail": lambda t: t.view(12)[5:],
    "unsqueeze": lambda t: t[None, :, None],
    "narrow": lambda t: t.narrow(1, 1, 2),
    "flip_of_view": lambda t: t[2:0:-1] if False else t.unfold(0, 1, 2),
}


@pytest.mark.parametrize("name", VIEWS)
def test_write_through_a_view(name, same):
    def f(t):
        v = VIEWS[name](t)
        v.mul_(10)
        v.add_(1)
        return t, v, v.stride(), v.storage_offset()

    same(f, torch.arange(12.0).reshape(3, 4))


@pytest.mark.parametrize("name", VIEWS)
def test_view_sees_writes_to_its_base(name, same):
    def f(t):
        v = VIEWS[name](t)
        t.add_(100)
        return v.clone()

    same(f, torch.arange(12.0).reshape(3, 4))


def test_views_of_views(same):
    def f(t):
        a = t.view(2, 3, 4).transpose(0, 2)
        b = a[1:3, :, 1]
        b.copy_(torch.full((2, 3), -1.0, device=t.device))
        a[0].zero_()
        return t, a, b

    same(f, torch.arange(24.0))


def test_views_share_addresses(x):
    assert x[1].data_ptr() - x.data_ptr() == 16
    assert x.t().data_ptr() == x.data_ptr()
    assert x.view(-1).untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert x.clone().data_ptr() != x.data_ptr()


def test_view_of_another_dtype_aliases(same):
    def f(t):
        t.view(torch.int32)[0, 1] = 0x40000000
        return t, t.view(torch.uint8).shape, t.view(torch.int16)[0]

    same(f, torch.arange(12.0).reshape(3, 4))


def test_complex_views(same):
    def f(t):
        c = torch.view_as_complex(t)
        torch.view_as_real(c)[..., 0] += 1
        return t, c, c.real.clone(), c.imag.clone(), c.conj().clone()

    same(f, torch.arange(12.0).reshape(3, 2, 2))


def test_impossible_view_is_refused(x):
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        x.t().view(-1)
    with pytest.raises(RuntimeError, match="shape '\\[5\\]' is invalid for input of size 12"):
        x.view(5)


def test_resize_and_set(same):
    def f(t):
        y = t.clone()
        y.resize_(5, 4)
        head = y[:3].clone()
        y.resize_(2)
        z = torch.empty(0, dtype=torch.int32, device=t.device).set_(t.untyped_storage(), 0, (12,), (1,))
        w = torch.empty(0, device=t.device)
        w.set_(t)
        w[0, 0] = 7
        return head, y, z, t, w.is_set_to(t), y.shape

    same(f, torch.arange(12.0).reshape(3, 4))


def test_writing_to_overlapping_memory_is_refused():
    y = torch.zeros(1, device="tpu").expand(4)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        y.add_(1)
    z = torch.arange(6.0, device="tpu")
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single memory location"):
        z[1:].add_(z[:-1])
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single memory location"):
        z[1:].copy_(z[:-1])


def test_out_arguments(same):
    def f(t):
        transposed = torch.zeros(4, 3, device=t.device).t()
        torch.mul(t, t, out=transposed)
        empty = torch.empty(0, device=t.device)
        torch.add(t, t, out=empty)
        double = torch.zeros(3, 4, dtype=torch.float64, device=t.device)
        torch.sub(t, 1, out=double)
        return transposed, transposed.stride(), empty, double

    same(f, torch.arange(12.0).reshape(3, 4))


def test_out_of_another_shape_is_resized_with_a_warning(x):
    out = torch.empty(2, device="tpu")
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.add(x, x, out=out)
    assert out.shape == (3, 4) and torch.equal(out.cpu(), 2 * x.cpu())


def test_split_and_unbind_alias(same):
    def f(t):
        a, b = t.split(2, dim=1)
        a.zero_()
        rows = t.unbind(0)
        rows[1].fill_(5)
        return t, a, b

    same(f, torch.arange(12.0).reshape(3, 4))


@pytest.mark.parametrize("shape,make", [
    ((2, 3, 4, 5), lambda t: t.to(memory_format=torch.channels_last)),
    ((3, 4), lambda t: t.t()),
    ((2, 3, 4), lambda t: t.permute(2, 0, 1)),
])  # fmt: skip
def test_strides_of_results_follow_the_inputs(shape, make):
    t = torch.randn(shape)
    c, d = make(t), make(t.to("tpu"))
    assert c.stride() == d.stride()
    for f in (lambda a: a + a, lambda a: a * 2, torch.relu, torch.exp, torch.zeros_like, torch.clone, lambda a: a + 1 > 0):
        assert f(c).stride() == f(d).stride()


def test_fake_tensors_predict_the_strides(x):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        fake = mode.from_tensor(x)
        predicted = (fake.t() + fake.t()).stride()
    assert (x.t() + x.t()).stride() == predicted == (1, 4)


def test_factories_take_the_dtype_of_out(same):
    def f(t):
        outs = []
        for dtype in (torch.int64, torch.float64, torch.bool):
            out = torch.empty(3, 3, dtype=dtype, device=t.device)
            torch.eye(3, out=out)
            outs.append(out)
        for dtype in (torch.int32, torch.float64):
            out = torch.empty(5, dtype=dtype, device=t.device)
            torch.linspace(0, 9, 5, out=out)
            outs.append(out.clone())
            torch.arange(1, 6, out=out)
            outs.append(out)
        return outs

    same(f, torch.zeros(1))


def test_list_ops_write_several_views_of_one_storage(eager_mode):
    """Parameters or gradients that are views of one flat tensor, of several shapes."""

    def run(device):
        flat, grads, rest = (torch.arange(24.0).to(device) for _ in range(3))
        views = lambda t: [t[:6].view(2, 3), t[6:12], t[12:24].view(3, 4)[:, :3].t()]
        torch._foreach_mul_(views(flat), 0.5)
        torch._foreach_add_([*views(flat), rest], [*views(grads), grads], alpha=0.25)
        torch._foreach_copy_([flat, flat[3:5]], [grads, rest[:2]])
        views = lambda t: [t[:6].view(2, 3), t[6:12], t[12:].view(3, 4)]
        params = [torch.nn.Parameter(v) for v in views(flat)]
        for kwargs in ({"foreach": True}, {"fused": True}):
            for p, g in zip(params, views(grads), strict=True):
                p.grad = g
            torch.nn.utils.clip_grad_norm_(params, 3.0, foreach=True)
            torch.optim.SGD(params, lr=0.1, momentum=0.9, **kwargs).step()
            torch.optim.Adam(params, lr=0.1, **kwargs).step()
        return [t.cpu() for t in (flat, grads, rest)]

    for got, want in zip(run("tpu"), run("cpu"), strict=True):
        torch.testing.assert_close(got, want)


def test_out_of_several_tensors_that_were_used_before():
    want, have = (torch.arange(6.0).reshape(2, 3).to(device) for device in ("cpu", "tpu"))
    for x in (want, have):
        first, second, third = x.clone() + 1, x.clone() + 2, x.clone() + 3
        values, indices = torch.empty(2, 1, device=x.device), torch.empty(2, 1, dtype=torch.int64, device=x.device)
        torch.max(first * second + third, 1, keepdim=True, out=(values, indices))
        torch.aminmax(first, dim=1, out=(second[:, 0], third[:, 1]))
        x.copy_(second + third + values + indices)
    assert torch.equal(have.cpu(), want)


def test_layouts_that_ops_keep():
    images = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    for turn in (lambda t: t, lambda t: t.permute(3, 1, 0, 2), lambda t: t[:, :, ::2], lambda t: t[:1].transpose(1, 3)):
        x, there = turn(images), turn(images.to("tpu"))
        assert there.stride() == x.stride()
        for f in (
            lambda t: t.roll(1, -1),
            lambda t: t.roll(2),
            lambda t: t.roll((1, 2), (0, 1)),
            lambda t: torch.nn.functional.pad(t, (1, 2)),
            lambda t: t.index_put((t > 0,), t.new_zeros(())),
            lambda t: t.index_put((t.new_zeros(1).long(),), t.new_ones(()), accumulate=True),
            lambda t: t.index_fill(1, t.new_zeros(1).long(), 1),
            lambda t: t.put(t.new_zeros(1).long(), t.new_ones(1)),
            lambda t: torch.nn.functional.max_pool2d(t, 2),
            lambda t: torch.nn.functional.avg_pool2d(t, 2),
            lambda t: torch.nn.functional.adaptive_avg_pool2d(t, 2),
            lambda t: torch.nn.functional.interpolate(t, scale_factor=2),
            lambda t: t.select_scatter(t[:, 0], 1, 1) if t.shape[2] != 2 else t,
            lambda t: torch.ops.aten.bernoulli(t.clamp(0, 0)),
        ):
            want, got = f(x), f(there)
            assert got.stride() == want.stride()
            torch.testing.assert_close(got.cpu(), want)

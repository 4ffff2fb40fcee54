"""Tests of the bridge: everything is compared with PyTorch on the CPU. Each test runs in strict and in fused eager mode, unless
it says `@pytest.mark.one_mode`."""

import pytest
import torch


def pytest_configure(config):
    config.addinivalue_line("markers", "one_mode: does not depend on the eager mode")


def pytest_collection_modifyitems(items):
    if not hasattr(torch, "tpu"):
        for item in items:
            item.add_marker(pytest.mark.skip(reason="device tpu is not loaded"))


def pytest_generate_tests(metafunc):
    if "eager_mode" in metafunc.fixturenames:
        one = metafunc.definition.get_closest_marker("one_mode")
        metafunc.parametrize("eager_mode", ["DEFER_NEVER"] if one else ["DEFER_NEVER", "DEFER_AND_FUSE"], indirect=True)


@pytest.fixture(autouse=True)
def eager_mode(request):
    with torch.tpu.set_eager_mode(torch.tpu.EagerMode[request.param]):
        torch.manual_seed(0)
        yield request.param


@pytest.fixture
def no_fallback():
    from torch_tpu import debug

    with debug.no_fallback():
        yield


@pytest.fixture
def same():
    """same(f, *tensors): f on tpu gives what f gives on the CPU; f's result may be any nest of tensors and numbers."""

    def check(f, *tensors, rtol=None, atol=None):
        want = f(*[t.clone() for t in tensors])
        got = f(*[t.to("tpu") for t in tensors])
        move = lambda x: torch.utils._pytree.tree_map(lambda t: t.cpu() if isinstance(t, torch.Tensor) else t, x)  # noqa: E731
        torch.testing.assert_close(move(got), move(want), rtol=rtol, atol=atol)
        return got

    return check


@pytest.fixture
def x():
    return torch.arange(12.0).reshape(3, 4).to("tpu")

"""The fixture `eager`, for tests that name a mode: that eager mode, any CPU fallback an error, no warnings."""

import warnings

import pytest
import torch

from torch_tpu import debug

MODES = {"strict": "DEFER_NEVER", "fused": "DEFER_AND_FUSE"}


@pytest.fixture
def eager(request):
    with (
        torch.tpu.set_eager_mode(torch.tpu.EagerMode[MODES[request.param]]),
        debug.no_fallback(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield

"""Transformers and Diffusers as callers: the same model on "tpu" and on the CPU, nothing on the CPU fallback."""

import copy

import pytest
import torch

pytest.importorskip("transformers")

import models  # noqa: E402

from torch_tpu import debug  # noqa: E402


@pytest.fixture(params=["strict", "fused"])
def mode(request):
    modes = torch.tpu.EagerMode
    with torch.tpu.set_eager_mode(modes.DEFER_AND_FUSE if request.param == "fused" else modes.DEFER_NEVER):
        yield request.param


def on_both(name, folder):
    """Returns (CPU model, the same model from from_pretrained(device_map="tpu"), inputs)."""
    torch.manual_seed(0)
    model, inputs = models.ALL[name]()
    model.eval().save_pretrained(folder)
    loaded = type(model).from_pretrained(folder, device_map="tpu")
    assert all(p.device.type == "tpu" for p in loaded.parameters())
    return model, loaded.eval(), inputs


def to_tpu(inputs):
    return {k: v.to("tpu") for k, v in inputs.items()}


@pytest.mark.parametrize("name", models.ALL)
def test_logits(name, mode, tmp_path):
    cpu, tpu, inputs = on_both(name, tmp_path)
    with torch.no_grad(), debug.no_fallback():
        got = tpu(**to_tpu(inputs)).logits.cpu()
    want = cpu(**inputs).logits
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", models.LANGUAGE)
def test_greedy_tokens(name, mode, tmp_path):
    cpu, tpu, inputs = on_both(name, tmp_path)
    options = dict(max_new_tokens=32, min_new_tokens=32, do_sample=False, pad_token_id=0)
    with debug.no_fallback():
        got = tpu.generate(inputs["input_ids"].to("tpu"), **options).cpu()
    want = cpu.generate(inputs["input_ids"], **options)
    assert got.shape == (2, 9 + 32)
    assert torch.equal(got, want)


def losses_of_steps(model, inputs, steps=5):
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(**inputs).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", models.ALL)
def test_training_steps(name, mode, tmp_path):
    cpu, tpu, inputs = on_both(name, tmp_path)
    with debug.no_fallback():
        got = losses_of_steps(tpu, to_tpu(inputs))
    want = losses_of_steps(copy.deepcopy(cpu), inputs)
    assert got == pytest.approx(want, rel=1e-4)
    assert len(set(want)) == 5


def test_stable_diffusion_3(mode):
    pytest.importorskip("diffusers")
    options = dict(num_inference_steps=2, guidance_scale=5.0, height=64, width=64, output_type="np", max_sequence_length=16)
    want = models.stable_diffusion_3()("hello", generator=torch.Generator().manual_seed(0), **options).images
    pipe = models.stable_diffusion_3().to("tpu")
    with debug.no_fallback():
        got = pipe("hello", generator=torch.Generator().manual_seed(0), **options).images
    assert got.shape == (1, 64, 64, 3)
    assert abs(got - want).max() < 1e-4

"""Tiny models of Transformers and Diffusers with random weights, and the inputs they take. Nothing is downloaded."""

import torch

TEXT = dict(
    vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=128,
)  # fmt: skip


def _ids():
    return torch.randint(3, 128, (2, 9), generator=torch.Generator().manual_seed(1))


def _pixels():
    return torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))


def language_inputs():
    ids = _ids()
    return {"input_ids": ids, "labels": ids}


def classified_text_inputs():
    ids = _ids()
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": torch.tensor([0, 1])}


def image_inputs():
    return {"pixel_values": _pixels(), "labels": torch.tensor([0, 1])}


def qwen3():
    import transformers as t

    return t.Qwen3ForCausalLM(t.Qwen3Config(**TEXT, head_dim=16)), language_inputs()


def llama():
    import transformers as t

    return t.LlamaForCausalLM(t.LlamaConfig(**TEXT)), language_inputs()


def bert():
    import transformers as t

    config = t.BertConfig(
        vocab_size=128, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, max_position_embeddings=64,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    return t.BertForSequenceClassification(config), classified_text_inputs()


def vit():
    import transformers as t

    config = t.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8, num_labels=4
    )
    return t.ViTForImageClassification(config), image_inputs()


def resnet():
    import transformers as t

    config = t.ResNetConfig(embedding_size=8, hidden_sizes=[16, 32], depths=[1, 1], layer_type="bottleneck", num_labels=4)
    return t.ResNetForImageClassification(config), image_inputs()


CLASSIFIERS = {"bert": bert, "vit": vit, "resnet": resnet}
LANGUAGE = {"qwen3": qwen3, "llama": llama}
ALL = {**LANGUAGE, **CLASSIFIERS}


def tokenizer(max_length=16):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    text = Tokenizer(models.BPE(unk_token="<unk>"))
    text.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    text.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<pad>", "<s>", "</s>", "<unk>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    text.train_from_iterator(["a golden retriever surfing a wave, photorealistic", "hello world from a tpu"] * 20, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=text, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>", model_max_length=max_length
    )


def stable_diffusion_3():
    """A Stable Diffusion 3 pipeline of some 100,000 parameters."""
    import diffusers as d
    import transformers as t

    torch.manual_seed(0)
    clip = dict(
        vocab_size=400, hidden_size=32, intermediate_size=37, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=16,
        bos_token_id=1, eos_token_id=2, pad_token_id=0, projection_dim=32,
    )  # fmt: skip
    transformer = d.SD3Transformer2DModel(
        sample_size=32, patch_size=1, in_channels=4, num_layers=1, attention_head_dim=8, num_attention_heads=4,
        caption_projection_dim=32, joint_attention_dim=32, pooled_projection_dim=64, out_channels=4,
    )  # fmt: skip
    vae = d.AutoencoderKL(
        block_out_channels=[32, 64], in_channels=3, out_channels=3, down_block_types=["DownEncoderBlock2D"] * 2,
        up_block_types=["UpDecoderBlock2D"] * 2, latent_channels=4, shift_factor=0.06, scaling_factor=1.5,
    )  # fmt: skip
    text_encoders = [t.CLIPTextModelWithProjection(t.CLIPTextConfig(**clip)) for _ in range(2)]
    t5 = t.T5EncoderModel(t.T5Config(vocab_size=400, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4))
    pipe = d.StableDiffusion3Pipeline(
        scheduler=d.FlowMatchEulerDiscreteScheduler(), text_encoder=text_encoders[0].eval(), text_encoder_2=text_encoders[1].eval(),
        text_encoder_3=t5.eval(), tokenizer=tokenizer(), tokenizer_2=tokenizer(), tokenizer_3=tokenizer(), transformer=transformer.eval(),
        vae=vae.eval(), image_encoder=None, feature_extractor=None,
    )  # fmt: skip
    pipe.set_progress_bar_config(disable=True)
    return pipe

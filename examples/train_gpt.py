"""Train a character-level GPT on the source text of Python's standard library, then let it write.

    python examples/train_gpt.py                      # 200 steps on "tpu", fused eager
    python examples/train_gpt.py --device cpu         # the same run on the CPU
    python examples/train_gpt.py --mode compile       # under torch.compile(backend="tpu")
    torchrun --nproc-per-node 2 examples/train_gpt.py # data parallel; the joint batch is the same
"""

import argparse
import json
import math
import os
import pathlib
import sys
import sysconfig
import time

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, HEADS, WIDTH, CONTEXT, BATCH = 4, 4, 256, 128, 4


class Block(nn.Module):
    """One transformer layer: [B, T, WIDTH] -> [B, T, WIDTH]."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        heads = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
        x = x + self.project(attended.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    """Characters [B, T] (int64) -> logits [B, T, vocabulary]."""

    def __init__(self, vocabulary):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, vocabulary, bias=False)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, ids):
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.token(ids) + self.position(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def standard_library():
    """The text of the standard library's top-level modules: (characters, ids [N])."""
    folder = pathlib.Path(sysconfig.get_paths()["stdlib"])
    text = "".join(f.read_text("utf-8", "ignore") for f in sorted(folder.glob("*.py")))
    text = "".join(c for c in text if c == "\n" or " " <= c <= "~")
    characters = sorted(set(text))
    index = {c: i for i, c in enumerate(characters)}
    return characters, torch.tensor([index[c] for c in text])


def batches(ids, steps, seed):
    """Yields (inputs, targets), each [BATCH, CONTEXT], the same for every device."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        starts = torch.randint(len(ids) - CONTEXT - 1, (BATCH,), generator=generator)
        rows = torch.stack([ids[s : s + CONTEXT + 1] for s in starts.tolist()])
        yield rows[:, :-1], rows[:, 1:]


def write(model, characters, device, n):
    """Returns n sampled characters."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.full((1, CONTEXT), characters.index("\n"), device=device)
    text = []
    model.eval()
    with torch.no_grad():
        for _ in range(n):
            probabilities = torch.softmax(model(ids)[0, -1].float(), -1).cpu()
            choice = torch.multinomial(probabilities, 1, generator=generator)
            text.append(characters[choice.item()])
            ids = torch.cat([ids[:, 1:], choice.view(1, 1).to(device)], 1)
    return "".join(text)


def progress(step, steps, loss, rate):
    if not sys.stderr.isatty() and step % 20 and step != steps:
        return
    width = 30
    done = width * step // steps
    bar = "#" * done + "-" * (width - done)
    end = "" if sys.stderr.isatty() and step != steps else "\n"
    print(f"\r[{bar}] {step}/{steps}  loss {loss:.4f}  {rate:,.0f} tokens/s ", end=end, file=sys.stderr, flush=True)


def learning_rate(step, steps):
    """A share of the peak: up in 20 steps, down along a cosine."""
    return min(1.0, (step + 1) / 20) * 0.5 * (1 + math.cos(math.pi * step / steps))


def train_step(model, optimizer, x, y):
    optimizer.zero_grad(set_to_none=True)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    optimizer.step()
    return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="tpu")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--mode", choices=["fused", "strict", "compile"], default="fused")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--characters", type=int, default=200, help="how many to write at the end")
    parser.add_argument("--losses", help="write the losses to this JSON file")
    options = parser.parse_args()

    ranks, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
    if options.device == "tpu" and options.mode == "fused":
        torch.tpu.eager_mode = torch.tpu.EagerMode.DEFER_AND_FUSE
    torch.manual_seed(options.seed)
    characters, ids = standard_library()
    model = GPT(len(characters)).to(options.device)
    trained = model
    if ranks > 1:
        torch.distributed.init_process_group("tpu" if options.device == "tpu" else "gloo")
        trained = nn.parallel.DistributedDataParallel(model)
    if options.mode == "compile":
        trained = torch.compile(trained, backend="tpu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate(step, options.steps))

    losses, start = [], time.perf_counter()
    for step, (x, y) in enumerate(batches(ids, options.steps, options.seed), 1):
        share = slice(rank * BATCH // ranks, (rank + 1) * BATCH // ranks)
        loss = train_step(trained, optimizer, x[share].to(options.device), y[share].to(options.device))
        schedule.step()
        if ranks > 1:
            loss = loss.detach().clone()
            torch.distributed.all_reduce(loss)
            loss /= ranks
        losses.append(loss.item())
        if rank == 0:
            progress(step, options.steps, losses[-1], step * BATCH * CONTEXT / (time.perf_counter() - start))
    if rank == 0:
        if options.losses:
            pathlib.Path(options.losses).write_text(json.dumps(losses))
        last = losses[-20:]
        print(f"loss after {options.steps} steps: {sum(last) / len(last):.4f} (mean of the last {len(last)})")
        if options.characters:
            print(write(model, characters, options.device, options.characters))
    if ranks > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()

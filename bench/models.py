"""The model rows of the bench, in plain PyTorch: GPT, ResNet-18, a UNet, DLRM with EmbeddingBag, and the decoding of a Llama-like model."""

import functools
import os

import torch
import torch.nn.functional as F
from torch import nn

# The anchor's scaled_dot_product_attention is a kernel for TPUs, which XLA:CPU lacks: it writes attention out.
WRITTEN_OUT = os.environ.get("BENCH_ATTENTION") == "written out"


def attention(q, k, v, mask=None, causal=False):
    if not WRITTEN_OUT:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, -1) @ v


class Block(nn.Module):
    """A transformer layer: [B, T, width] -> [B, T, width]."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(c, 2))
        x = x + self.project(attention(q, k, v, causal=True).transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, vocabulary=1024, width=256, layers=4, heads=8, context=128):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(x)))


class Residual(nn.Module):
    def __init__(self, ins, outs, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(ins, outs, 3, stride, 1, bias=False), nn.BatchNorm2d(outs)
        self.conv2, self.norm2 = nn.Conv2d(outs, outs, 3, 1, 1, bias=False), nn.BatchNorm2d(outs)
        same = stride == 1 and ins == outs
        self.down = nn.Identity() if same else nn.Sequential(nn.Conv2d(ins, outs, 1, stride, bias=False), nn.BatchNorm2d(outs))

    def forward(self, x):
        return F.relu(self.down(x) + self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        widths = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
        self.layers = nn.Sequential(*(r for i, o, s in widths for r in (Residual(i, o, s), Residual(o, o, 1))))
        self.head = nn.Linear(512, 1000)

    def forward(self, x):
        return self.head(F.adaptive_avg_pool2d(self.layers(self.stem(x)), 1).flatten(1))


def double(ins, outs):
    return nn.Sequential(*(m for i in (ins, outs) for m in (nn.Conv2d(i, outs, 3, 1, 1), nn.GroupNorm(8, outs), nn.SiLU())))


class UNet(nn.Module):
    def __init__(self, c=32):
        super().__init__()
        self.down1, self.down2, self.down3 = double(3, c), double(c, 2 * c), double(2 * c, 4 * c)
        self.up2, self.join2 = nn.ConvTranspose2d(4 * c, 2 * c, 2, 2), double(4 * c, 2 * c)
        self.up1, self.join1, self.out = nn.ConvTranspose2d(2 * c, c, 2, 2), double(2 * c, c), nn.Conv2d(c, 3, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        y = self.join2(torch.cat([self.up2(self.down3(F.max_pool2d(b, 2))), b], 1))
        return self.out(self.join1(torch.cat([self.up1(y), a], 1)))


class EmbeddingSum(nn.Embedding):
    def forward(self, ids):
        return super().forward(ids).sum(1)


class DLRM(nn.Module):
    """Click prediction: bags of categories, dense features, and the products of all pairs of their vectors. `bags` by nn.EmbeddingBag, on
    which the anchor aborts, or as sums of nn.Embedding."""

    def __init__(self, bags=True, tables=8, rows=20000, width=32):
        super().__init__()
        bag = functools.partial(nn.EmbeddingBag, mode="sum") if bags else EmbeddingSum
        self.bags = nn.ModuleList(bag(rows, width) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 128), nn.ReLU(), nn.Linear(128, width), nn.ReLU())
        pairs = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("left", pairs[0])
        self.register_buffer("right", pairs[1])
        self.top = nn.Sequential(nn.Linear(width + pairs.shape[1], 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense, ids):
        x = self.bottom(dense)
        vectors = torch.stack([x, *(bag(i) for bag, i in zip(self.bags, ids, strict=True))], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        return self.top(torch.cat([x, products[:, self.left, self.right]], 1)).squeeze(1)


class RMSNorm(nn.Module):
    """As Llama writes it."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = x.float()
        return self.weight * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class LlamaBlock(nn.Module):
    """Grouped queries, rotary positions, and keys and values written into a static cache."""

    def __init__(self, width, heads, groups, hidden):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        shapes = dict(q=(width, width), k=(width, groups * self.size), v=(width, groups * self.size), o=(width, width))
        shapes |= dict(gate=(width, hidden), up=(width, hidden), down=(hidden, width))
        for name, shape in shapes.items():
            setattr(self, name, nn.Linear(*shape, bias=False))

    def forward(self, x, cos, sin, keys, values, at, mask):
        b, t, c = x.shape
        y = self.norm1(x)
        q, k, v = (f(y).view(b, t, -1, self.size).transpose(1, 2) for f in (self.q, self.k, self.v))
        keys.index_copy_(2, at, rotate(k, cos, sin))
        values.index_copy_(2, at, v)
        repeat = self.heads // self.groups
        y = attention(rotate(q, cos, sin), keys.repeat_interleave(repeat, 1), values.repeat_interleave(repeat, 1), mask)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, c))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, vocabulary=4096, width=512, layers=4, heads=8, groups=2, hidden=1408, context=64):
        super().__init__()
        self.context, self.groups, self.size = context, groups, width // heads
        self.token, self.norm = nn.Embedding(vocabulary, width), RMSNorm(width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, groups, hidden) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)
        angles = torch.arange(context).float()[:, None] * 1e6 ** (-torch.arange(0, self.size, 2).float() / self.size)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids, at, caches):
        x, cos, sin = self.token(ids), self.cos[at], self.sin[at]
        mask = torch.arange(self.context, device=ids.device)[None, :] <= at[:, None]
        for block, (keys, values) in zip(self.blocks, caches, strict=True):
            x = block(x, cos, sin, keys, values, at, mask)
        return self.head(self.norm(x[:, -1])).argmax(-1)


def gpt(d):
    ids = torch.randint(0, 1024, (4, 129))
    x, y = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    return GPT(), (x, y), lambda f, x, y: F.cross_entropy(f(x).flatten(0, 1), y.flatten()), lambda p: torch.optim.AdamW(p, lr=1e-3)


def resnet18(d):
    return ResNet18(), (torch.randn(8, 3, 64, 64).to(d), torch.randint(0, 1000, (8,))), lambda f, x, y: F.cross_entropy(f(x), y), None


def unet(d):
    return UNet(), (torch.randn(4, 3, 64, 64).to(d),), lambda f, x: F.mse_loss(f(x), x), None


def dlrm(d, bags=True):
    ids = [torch.randint(0, 20000, (256, 4)) for _ in range(8)]
    loss = lambda f, dense, y, *ids: F.binary_cross_entropy_with_logits(f(dense, ids), y)
    return DLRM(bags), (torch.randn(256, 13).to(d), torch.rand(256).to(d), *ids), loss, lambda p: torch.optim.SGD(p, lr=0.1)


TRAINED = {"gpt": gpt, "resnet18": resnet18, "unet": unet, "dlrm": dlrm, "dlrm-sums": functools.partial(dlrm, bags=False)}
NAMES = [f"model {name} {dtype}" for name in (*TRAINED, "llama decode") for dtype in ("f32", "bf16")]


def make(row, device, compiled):
    """Returns one step: a training step, or a token; the loss or the token as a number of Python."""
    _, *name, dtype = row.split()
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    return decoder(device, dtype, compiled) if name[0] == "llama" else trainer(TRAINED[name[0]](dtype), device, dtype, compiled)


def trainer(parts, device, dtype, compiled):
    model, data, loss, optimizer = parts
    model = model.to(dtype).to(device)
    data = [t.to(device) for t in data]
    optimizer = optimizer(model.parameters()) if optimizer else None
    forward = compiled(model)

    def step():
        model.zero_grad()
        value = loss(forward, *data)
        value.backward()
        if optimizer:
            optimizer.step()
        return value.item()

    return step


def decoder(device, dtype, compiled, prompt=16):
    model = Llama().to(dtype).to(device).eval()
    forward = compiled(model)
    cache = lambda: torch.zeros(1, model.groups, model.context, model.size, dtype=dtype, device=device)
    caches = [(cache(), cache()) for _ in model.blocks]
    ids = torch.randint(0, 4096, (1, prompt)).to(device)
    with torch.no_grad():
        forward(ids, torch.arange(prompt, device=device), caches)

    @torch.no_grad()
    def token(at=[prompt]):  # noqa: B006 - the position goes on from call to call
        out = forward(ids[:, -1:], torch.tensor(at, device=device), caches).item()
        at[0] = at[0] + 1 if at[0] + 1 < model.context else prompt
        return out

    return token

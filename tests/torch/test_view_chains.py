"""Random chains of views, in-place writes, copies and read-backs: device tpu against the CPU, byte for byte, in strict and fused mode.

As a program: python test_view_chains.py N [first] runs N chains (make chains N=...), in processes of a few thousand each, since
every new signature is kept. A failure prints the chain's number and its steps; a chain depends on its number only."""

import os
import random
import subprocess
import sys

import torch

PER_PROCESS = 2500
SHAPES = [(12,), (4, 6), (2, 3, 4), (6, 4), (2, 2, 3, 2), (1, 5), (3, 1, 4), (), (8,), (4, 4), (2, 8), (0, 3)]
DTYPES = [torch.float32] * 6 + [torch.int64, torch.int32, torch.uint8, torch.bool, torch.complex64, torch.bfloat16, torch.float64, torch.int16]
SAME_BYTES = {
    torch.float32: [torch.int32, torch.uint8, torch.int16, torch.bfloat16, torch.complex64, torch.float64],
    torch.int32: [torch.float32, torch.int16, torch.int64, torch.uint8],
    torch.int64: [torch.int32, torch.float64, torch.uint8, torch.complex64],
    torch.uint8: [torch.int8, torch.int16, torch.int32, torch.float32],
    torch.int16: [torch.bfloat16, torch.float16, torch.int32, torch.uint8],
    torch.bfloat16: [torch.int16, torch.float16, torch.int32],
    torch.float64: [torch.int64, torch.float32, torch.complex64],
    torch.complex64: [torch.float32, torch.int64, torch.float64],
    torch.bool: [torch.uint8],
}


class Wrong(AssertionError):
    pass


def cells(t):
    """The numbers of the memory elements that a CPU tensor shows, in its order."""
    n = t.storage_offset() + sum((s - 1) * st for s, st in zip(t.shape, t.stride(), strict=True)) + 1 if t.numel() else 0
    return torch.arange(n).as_strided(t.shape, t.stride(), t.storage_offset()).reshape(-1) if t.numel() else torch.zeros(0, dtype=torch.long)


class Pair:
    """A CPU tensor and its twin on the device."""

    def __init__(self, cpu, tpu, memory):
        self.cpu, self.tpu, self.memory = cpu, tpu, memory


class Memory:
    """raw: its floats may be any bits. lazy: written through conj() or neg views, where PyTorch's fallback may give zeros another sign."""

    def __init__(self, raw=False, lazy=False):
        self.raw, self.lazy = raw, lazy


class Chain:
    def __init__(self, number):
        self.rng = random.Random(number)
        self.number = number
        self.steps, self.pairs = [], []
        self.loose = False # stack() gives dims of size 1 strides of its own

    # ---- the two sides
    def both(self, text, f, *pairs):
        self.steps.append(text)
        results, errors = [], []
        for side in ("cpu", "tpu"):
            try:
                results.append(f(*[getattr(p, side) if isinstance(p, Pair) else p for p in pairs]))
                errors.append(None)
            except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
                results.append(None)
                errors.append(error)
        if (errors[0] is None) != (errors[1] is None):
            raise Wrong(f"CPU: {errors[0]!r}; tpu: {errors[1]!r}")
        if errors[0] is not None:
            self.steps[-1] += "  # raises"
            return None
        return results

    def compare(self, pair):
        got, want = pair.tpu.cpu(), pair.cpu
        if (got.shape, got.dtype) != (want.shape, want.dtype):
            raise Wrong(f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}")
        lazy = pair.memory.lazy
        got, want = (x.resolve_conj().resolve_neg().reshape(-1).clone(memory_format=torch.contiguous_format) for x in (got, want))
        if lazy or got.is_complex():
            got, want = (torch.view_as_real(x) if x.is_complex() else x for x in (got, want))
            got, want = got.where(got != 0, 0.0), want.where(want != 0, 0.0)
        if got.numel() and not torch.equal(got.view(torch.uint8), want.view(torch.uint8)):
            raise Wrong(f"read {got.tolist()}\nwant {want.tolist()}")

    def geometry(self, pair):
        for what in ("size", "stride", "storage_offset", "is_contiguous", "is_conj"):
            got, want = getattr(pair.tpu, what)(), getattr(pair.cpu, what)()
            if what == "stride" and self.loose:
                got, want = ([s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1] for t in (pair.tpu, pair.cpu))
            if got != want and (pair.cpu.numel() or what != "stride"):
                raise Wrong(f"{what}: {got} instead of {want}")

    def add(self, results, memory):
        if results is None:
            return
        cpu, tpu = results
        self.pairs.append(Pair(cpu, tpu, memory))
        self.steps[-1] = f"t{len(self.pairs) - 1} = " + self.steps[-1] + f"  # {list(cpu.shape)} {cpu.stride()} +{cpu.storage_offset()} {cpu.dtype}"
        self.geometry(self.pairs[-1])

    def pick(self):
        r = self.rng
        i = r.randrange(len(self.pairs)) if r.random() < 0.5 else len(self.pairs) - 1
        return i, self.pairs[i]

    # ---- making tensors
    def numbers(self, shape, dtype):
        """Small whole numbers: exact in every dtype and in every order of adding."""
        n = 1
        for s in shape:
            n *= s
        flat = [self.rng.randrange(2 if dtype == torch.bool else 8) for _ in range(n)]
        t = torch.tensor(flat, dtype=torch.float32).reshape(shape)
        return t.to(dtype) + 1j * t.flip(0).to(dtype) if dtype.is_complex and shape else t.to(dtype)

    def base(self):
        r = self.rng
        cpu = self.numbers(r.choice(SHAPES), r.choice(DTYPES))
        self.steps.append(f"torch.tensor({cpu.tolist()}, dtype={cpu.dtype})")
        tpu = torch.empty(cpu.shape, dtype=cpu.dtype, device="tpu")
        tpu.copy_(cpu)
        self.add((cpu.clone(), tpu), Memory())

    # ---- views
    def view(self):
        r = self.rng
        i, p = self.pick()
        t, d = p.cpu, p.cpu.dim()
        dim = r.randrange(d) if d else 0
        n = t.shape[dim] if d else 0
        choices = ["unsqueeze", "reshape", "alias", "squeeze"]
        if d:
            choices += ["slice", "slice", "step", "select", "narrow", "flatten", "unfold", "split", "dtype", "as_strided"]
        if d > 1:
            choices += ["transpose", "transpose", "permute", "diagonal"]
        if any(s == 1 for s in t.shape):
            choices += ["expand", "expand"]
        if t.dtype.is_complex:
            choices += ["view_as_real", "conj", "real", "imag"]
        kind = r.choice(choices)
        memory = p.memory
        args = ()
        if kind == "slice":
            a = r.randrange(n + 1)
            args = (dim, a, r.randrange(a, n + 1))
            f = lambda x, dim, a, b: x[(slice(None),) * dim + (slice(a, b),)]  # noqa: E731
        elif kind == "step":
            args = (dim, r.randrange(n + 1), r.choice([2, 2, 3]))
            f = lambda x, dim, a, s: x[(slice(None),) * dim + (slice(a, None, s),)]  # noqa: E731
        elif kind == "select":
            if not n:
                return
            args = (dim, r.randrange(n))
            f = torch.select
        elif kind == "narrow":
            length = r.randrange(n + 1)
            args = (dim, r.randrange(n - length + 1), length)
            f = torch.narrow
        elif kind == "flatten":
            args = (dim, r.randrange(dim, d))
            f = torch.flatten
        elif kind == "unfold":
            if not n:
                return
            args = (dim, r.randrange(1, min(n, 3) + 1), r.randrange(1, 4))
            f = torch.Tensor.unfold
        elif kind == "split":
            args = (r.choice([1, 2, 3]), dim, r.randrange(3))
            f = lambda x, size, dim, k: x.split(size, dim)[min(k, len(x.split(size, dim)) - 1)]  # noqa: E731
        elif kind == "dtype":
            to = r.choice(SAME_BYTES.get(t.dtype, [t.dtype]))
            if p.memory.lazy and not (to.is_floating_point or to.is_complex):
                return
            if t.dtype == torch.bool:
                self.add(self.both(f"t{i}.view(torch.uint8).clone()", lambda x: x.view(torch.uint8).clone(), p), Memory())
                return
            args = (to,)
            f = torch.Tensor.view
            memory.raw = True
        elif kind == "as_strided":
            args = ((2, 2), (1, 2), t.storage_offset())
            f = torch.as_strided
            if cells(t).numel() < 1 or t.untyped_storage().nbytes() // t.element_size() < t.storage_offset() + 4:
                return
        elif kind == "transpose":
            args = (dim, r.randrange(d))
            f = torch.transpose
        elif kind == "permute":
            order = list(range(d))
            r.shuffle(order)
            args = (order,)
            f = torch.permute
        elif kind == "diagonal":
            a, b = r.sample(range(d), 2)
            args = (r.randrange(-1, 2), a, b)
            f = torch.diagonal
        elif kind == "expand":
            args = ([r.choice([2, 3]) if s == 1 else s for s in t.shape],)
            if r.random() < 0.3:
                args = ([2] + args[0],)
            f = torch.Tensor.expand
        elif kind == "unsqueeze":
            if d >= 6:
                return
            args = (r.randrange(d + 1),)
            f = torch.unsqueeze
        elif kind == "squeeze":
            f = torch.squeeze
        elif kind == "reshape":
            args = (r.choice([(-1,), (2, -1), (-1, 2), (3, -1), (1, -1), (-1, 1)]),)
            f = r.choice([torch.reshape, torch.Tensor.view])
        elif kind == "alias":
            f = torch.Tensor.detach
        else:
            f = {"view_as_real": torch.view_as_real, "conj": torch.conj, "real": lambda x: x.real, "imag": lambda x: x.imag}[kind]
        results = self.both(f"{kind}(t{i}, {', '.join(map(str, args))})", f, p, *args)
        if results is None or any(s > 64 for s in results[0].shape) or results[0].numel() > 400:
            return
        if results[0].untyped_storage().data_ptr() != p.cpu.untyped_storage().data_ptr():
            memory = Memory(memory.raw, memory.lazy)
        if kind == "conj" or results[0].is_neg():
            memory.lazy = True
        self.add(results, memory)

    # ---- writes
    def other(self, p, shape, same_dtype=False):
        """Something to write from: a number, new values on either device, or a tensor of the chain."""
        r = self.rng
        dtype = p.cpu.dtype if same_dtype or p.memory.raw or r.random() < 0.6 else r.choice([torch.float32, torch.int32, torch.bool])
        if dtype.is_complex and not p.cpu.dtype.is_complex:
            dtype = p.cpu.dtype
        if r.random() < 0.5:
            for k in r.sample(range(len(self.pairs)), len(self.pairs)):
                q = self.pairs[k]
                fits = q.cpu.dtype == p.cpu.dtype and (q.cpu.shape == shape or (q.cpu.dim() <= len(shape) and r.random() < 0.3))
                if not fits:
                    continue
                try:
                    if torch.broadcast_shapes(q.cpu.shape, shape) != shape:
                        continue
                except RuntimeError:
                    continue
                if q.memory is p.memory or q.cpu.untyped_storage().data_ptr() == p.cpu.untyped_storage().data_ptr():
                    return f"t{k}.clone()", Pair(q.cpu.clone(), q.tpu.clone(), Memory())
                return f"t{k}", q
        cpu = self.numbers(shape, dtype)
        if r.random() < 0.3 and cpu.dim() > 1:
            cpu = cpu.transpose(0, 1).contiguous().transpose(0, 1)
        return f"tensor({cpu.tolist()}, {cpu.dtype})", Pair(cpu, cpu.to("tpu"), Memory())

    def write(self):
        r = self.rng
        i, p = self.pick()
        t = p.cpu
        where = cells(t)
        zero_stride = any(s > 1 and st == 0 for s, st in zip(t.shape, t.stride(), strict=True))
        shared = where.unique().numel() != where.numel()
        if shared and not zero_stride:
            kinds = ["fill"] # every order of writing gives this
        else:
            kinds = ["copy", "copy", "copy_host", "fill", "zero", "masked_fill", "set_all", "setitem"]
            if t.dim() and t.numel() and not zero_stride: # expanded tensors: deprecated by PyTorch, refused here
                kinds += ["index_put", "index_fill", "index_copy", "scatter"]
            if not (p.memory.raw and (t.is_floating_point() or t.is_complex())) and t.dtype != torch.bool:
                kinds += ["add_number", "add", "mul", "out", "addcmul", "out_view"]
                kinds += [] if zero_stride else ["index_add", "accumulate"]
        kind = r.choice(kinds)
        number = r.randrange(2) if t.dtype == torch.bool else r.randrange(8)
        dim = r.randrange(t.dim()) if t.dim() else 0
        size = t.shape[dim] if t.dim() else 1
        if kind in ("fill", "add_number"):
            f = torch.Tensor.fill_ if kind == "fill" else torch.Tensor.add_
            self.both(f"t{i}.{kind}({number})", f, p, number)
        elif kind == "zero":
            self.both(f"t{i}.zero_()", torch.Tensor.zero_, p)
        elif kind in ("copy", "set_all"):
            text, q = self.other(p, t.shape)
            f = torch.Tensor.copy_ if kind == "copy" else lambda x, y: x.__setitem__(Ellipsis, y)
            self.both(f"t{i}.{kind}({text})", f, p, q)
        elif kind == "copy_host":
            host = self.numbers(t.shape, t.dtype)
            if r.random() < 0.4 and host.dim() > 1:
                host = host.transpose(0, 1).contiguous().transpose(0, 1)
            self.both(f"t{i}.copy_(host {host.tolist()})", torch.Tensor.copy_, p, host)
        elif kind == "setitem":
            a, b = sorted((r.randrange(size + 1), r.randrange(size + 1)))
            step = r.choice([1, 1, 2])
            if not t.dim():
                return
            key = (slice(None),) * dim + (slice(a, b, step),)
            self.both(f"t{i}[{key}] = {number}", lambda x: x.__setitem__(key, number), p)
        elif kind == "masked_fill":
            mask = self.numbers(t.shape, torch.bool)
            self.both(f"t{i}.masked_fill_({mask.tolist()}, {number})", torch.Tensor.masked_fill_, p, Pair(mask, mask.to("tpu"), None), number)
        elif kind in ("index_put", "accumulate"):
            if not t.dim() or not t.numel():
                return
            index = torch.tensor(r.sample(range(t.shape[0]), r.randrange(1, t.shape[0] + 1)))
            if kind == "accumulate":
                index = torch.tensor([r.randrange(-t.shape[0], t.shape[0]) for _ in range(3)])
            text, q = self.other(p, (len(index), *t.shape[1:]), same_dtype=True)
            q = Pair(q.cpu.clone(), q.tpu.clone(), None)
            f = lambda x, k, y: x.index_put_((k,), y, kind == "accumulate")  # noqa: E731
            self.both(f"t{i}.index_put_({index.tolist()}, {text}, {kind == 'accumulate'})", f, p, Pair(index, index.to("tpu"), None), q)
        elif kind in ("index_fill", "index_copy", "index_add", "scatter"):
            if not t.dim() or not size:
                return
            index = torch.tensor(r.sample(range(size), r.randrange(1, size + 1)))
            k = Pair(index, index.to("tpu"), None)
            shape = (*t.shape[:dim], len(index), *t.shape[dim + 1:])
            if kind == "index_fill":
                self.both(f"t{i}.index_fill_({dim}, {index.tolist()}, {number})", lambda x, k: x.index_fill_(dim, k, number), p, k)
                return
            values = self.numbers(shape, t.dtype)
            v = Pair(values, values.to("tpu"), None)
            if kind == "scatter":
                spread = index.reshape([-1 if d == dim else 1 for d in range(t.dim())]).expand(shape)
                k = Pair(spread, spread.to("tpu"), None)
            f = {"index_copy": torch.Tensor.index_copy_, "index_add": torch.Tensor.index_add_, "scatter": torch.Tensor.scatter_}[kind]
            self.both(f"t{i}.{kind}_({dim}, {index.tolist()}, {values.tolist()})", lambda x, k, v: f(x, dim, k, v), p, k, v)
        elif kind == "out_view":
            # out= is another view of the chain; its shape may differ, then both sides resize or refuse
            text, q = self.other(p, t.shape, same_dtype=True)
            self.both(f"torch.mul({text}, 2, out=t{i})", lambda x, y: torch.mul(y, 2, out=x), p, q)
        else:
            text, q = self.other(p, t.shape, same_dtype=True)
            f = {
                "add": lambda x, y: x.add_(y), "mul": lambda x, y: x.mul_(y).remainder_(8) if not x.is_complex() else x.add_(y),
                "out": lambda x, y: torch.add(x, y, out=x), "addcmul": lambda x, y: x.sub_(y, alpha=2),
            }[kind]
            self.both(f"t{i}.{kind}({text})", f, p, q)

    # ---- copies
    def copy(self):
        r = self.rng
        i, p = self.pick()
        kind, f = r.choice([("clone", torch.Tensor.clone), ("contiguous", torch.Tensor.contiguous), ("flip", lambda x: x.flip(0) if x.dim() else x.clone()),
                            ("to", lambda x: x.to(torch.float64, copy=True)), ("stack", lambda x: torch.stack([x, x])), ("neg", torch.neg)])
        if (kind == "neg" and (p.cpu.dtype == torch.bool or p.cpu.is_complex() or p.memory.raw)) or (kind == "to" and (p.cpu.is_complex() or p.memory.raw)):
            return
        results = self.both(f"{kind}(t{i})", f, p)
        if results and results[0].numel() <= 400 and results[0].dim() <= 6:
            shares = results[0].untyped_storage().data_ptr() == p.cpu.untyped_storage().data_ptr()
            self.loose |= kind == "stack"
            self.add(results, p.memory if shares else Memory(p.memory.raw, p.memory.lazy))

    def run(self):
        r = self.rng
        self.base()
        for _ in range(r.randrange(4, 14)):
            x = r.random()
            if x < 0.45:
                self.view()
            elif x < 0.8:
                self.write()
            elif x < 0.86:
                self.copy()
            elif x < 0.9:
                self.base()
            else:
                i, p = self.pick()
                self.steps.append(f"read t{i}")
                self.compare(p)
        for i, p in enumerate(self.pairs):
            self.steps.append(f"read t{i}")
            self.compare(p)


def run_chain(number, fused):
    chain = Chain(number)
    mode = torch.tpu.EagerMode.DEFER_AND_FUSE if fused else torch.tpu.EagerMode.DEFER_NEVER
    with torch.tpu.set_eager_mode(mode):
        try:
            chain.run()
        except Exception as error:
            steps = "\n  ".join(chain.steps)
            raise Wrong(f"chain {number} {'fused' if fused else 'strict'}: {type(error).__name__} {error}\n  {steps}") from error
    return len(chain.steps)


def test_chains(eager_mode):
    first = random.SystemRandom().randrange(1 << 40) if os.environ.get("CHAINS_RANDOM") else 0
    for number in range(first, first + int(os.environ.get("CHAINS", 300))):
        run_chain(number, eager_mode == "DEFER_AND_FUSE")


def worker(first, n):
    wrong = steps = 0
    for number in range(first, first + n):
        for fused in (False, True):
            try:
                steps += run_chain(number, fused)
            except Wrong as error:
                wrong += 1
                print(error, file=sys.stderr, flush=True)
    print(n, steps, wrong, flush=True)


def main():
    n, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    totals = [0, 0, 0]
    for at in range(first, first + n, PER_PROCESS):
        size = min(PER_PROCESS, first + n - at)
        done = subprocess.run([sys.executable, __file__, "--worker", str(at), str(size)], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"the process of chains {at} to {at + size - 1} ended with {done.returncode}")
        totals = [a + int(b) for a, b in zip(totals, done.stdout.split(), strict=True)]
        print(f"{totals[0]} chains, {totals[1]} steps in strict and fused mode, {totals[2]} wrong", flush=True)
    sys.exit(totals[2] != 0)


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    if sys.argv[1] == "--worker":
        torch.set_num_threads(1)
        worker(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()

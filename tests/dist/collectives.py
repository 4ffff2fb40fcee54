"""Run by test_groups.py under torchrun with two ranks; writes {check: right} to FOLDER/RANK.json."""

import json
import pathlib
import sys

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

results = {}


def check(name, got, want):
    results[name] = got.device.type == "tpu" and torch.equal(got.cpu(), torch.as_tensor(want, dtype=got.dtype))


def main():
    dist.init_process_group("tpu_dist")
    rank, other = dist.get_rank(), 1 - dist.get_rank()

    def mine(*shape):
        return torch.full(shape, float(rank), device="tpu")

    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8):
        x = (torch.arange(6) + rank).to(dtype).to("tpu")
        dist.all_reduce(x)
        check(f"all_reduce {dtype}", x, 2 * torch.arange(6) + 1)
    x = mine(3)
    kept = x.clone()
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    check("all_reduce max", x, [1.0] * 3)
    check("a clone made before is untouched", kept, [float(rank)] * 3)
    x = mine(2, 3)
    dist.broadcast(x, 1)
    check("broadcast", x, torch.ones(2, 3))
    parts = [torch.zeros(2, device="tpu") for _ in range(2)]
    dist.all_gather(parts, mine(2))
    check("all_gather", torch.cat(parts), [0.0, 0, 1, 1])
    out = torch.zeros(4, device="tpu")
    dist.all_gather_into_tensor(out, mine(2))
    check("all_gather_into_tensor", out, [0.0, 0, 1, 1])
    out = torch.zeros(2, device="tpu")
    dist.reduce_scatter_tensor(out, torch.arange(4.0, device="tpu"))
    check("reduce_scatter_tensor", out, [4.0 * rank, 4.0 * rank + 2])
    dist.all_to_all_single(out, torch.arange(2.0, device="tpu") + 10 * rank)
    check("all_to_all_single", out, [float(rank), 10.0 + rank])
    x = mine(2)
    dist.reduce(x, 0)
    if rank == 0:
        check("reduce", x, [1.0, 1.0])
    gathered = [torch.zeros(1, device="tpu") for _ in range(2)] if rank == 0 else None
    dist.gather(mine(1), gathered, dst=0)
    if rank == 0:
        check("gather", torch.cat(gathered), [0.0, 1.0])
    out = torch.zeros(1, device="tpu")
    dist.scatter(out, [torch.full((1,), 5.0, device="tpu"), torch.full((1,), 6.0, device="tpu")] if rank == 0 else None, src=0)
    check("scatter", out, [5.0 + rank])
    if rank == 0:
        dist.send(torch.arange(3.0, device="tpu"), other)
    else:
        out = torch.zeros(3, device="tpu")
        dist.recv(out, other)
        check("send and recv", out, [0.0, 1, 2])
    objects = [None, None]
    dist.all_gather_object(objects, {"rank": rank})
    results["all_gather_object"] = objects == [{"rank": 0}, {"rank": 1}]
    check("functional all_reduce", functional.all_reduce(torch.ones(3, device="tpu"), "sum", dist.group.WORLD) + 0, [2.0] * 3)
    matrix = torch.arange(12.0, device="tpu").view(3, 4)
    column = matrix[:, 1]  # a view with strides: staged and written back
    dist.all_reduce(column)
    check("all_reduce of a strided view", matrix[:, 1], [2.0, 10, 18])
    check("its neighbours", matrix[:, 0], [0.0, 4, 8])
    dist.barrier()
    pathlib.Path(sys.argv[1], f"{rank}.json").write_text(json.dumps(results))
    dist.destroy_process_group()


main()

"""Sparse tensors and complex32: dense tpu tensors inside PyTorch's sparse objects, against the CPU's results."""

import copy

import pytest
import torch


def same(ours, expected):
    ours = ours.cpu()
    assert ours.layout == expected.layout and ours.dtype == expected.dtype and ours.shape == expected.shape
    if expected.layout == torch.sparse_coo:
        assert torch.equal(ours._indices(), expected._indices()) and ours.is_coalesced() == expected.is_coalesced()
        ours, expected = ours._values(), expected._values()
    elif expected.layout != torch.strided:
        ours, expected = ours.to_dense(), expected.to_dense()
    torch.testing.assert_close(ours, expected)


def duplicates(x):
    indices = torch.tensor([[0, 1, 1, 0], [2, 0, 0, 1]], device=x.device)
    return torch.sparse_coo_tensor(indices, x[:2, :2].reshape(-1), (2, 3))


CASES = {
    "to_sparse": lambda x: x.to_sparse(),
    "hybrid": lambda x: x.to_sparse(1),
    "to_dense": lambda x: x.to_sparse().to_dense(),
    "scale": lambda x: x.to_sparse() * 2,
    "divide": lambda x: x.to_sparse() / 2,
    "add": lambda x: x.to_sparse() + 3 * x.to_sparse(),
    "subtract": lambda x: x.to_sparse() - x.to_sparse(),
    "uncoalesced": duplicates,
    "coalesce": lambda x: duplicates(x).coalesce(),
    "dense_plus_sparse": lambda x: x + x.to_sparse(),
    "add_to_transposed": lambda x: x.t().clone().add_(x.t().to_sparse(), alpha=2),
    "matmul": lambda x: x.to_sparse() @ x.t(),
    "addmm": lambda x: torch.sparse.addmm(torch.ones(4, 4, device=x.device), x.to_sparse(), x.t(), beta=2, alpha=3),
    "sum": lambda x: x.to_sparse().sum(),
    "sum_dim": lambda x: torch.sparse.sum(x.to_sparse(), 0),
    "transpose": lambda x: x.to_sparse().t(),
    "sqrt": lambda x: x.to_sparse().sqrt(),
    "times_dense": lambda x: x.to_sparse() * x,
    "times_sparse": lambda x: x.to_sparse() * x.to_sparse(),
    "mask": lambda x: x.sparse_mask(x.to_sparse()),
    "cat": lambda x: torch.cat([x.to_sparse(), x.to_sparse()]),
    "bool": lambda x: x.bool().to_sparse(),
    "double": lambda x: x.to_sparse().to(torch.float64),
    "softmax": lambda x: torch.sparse.softmax(x.to_sparse(), 1),
    "csr": lambda x: x.to_sparse_csr(),
    "csr_to_dense": lambda x: x.to_sparse_csr().to_dense(),
    "csr_matmul": lambda x: x.to_sparse_csr() @ x.t(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_as_on_cpu(name):
    torch.manual_seed(0)
    x = torch.randn(4, 5).relu()
    same(CASES[name](x.to("tpu")), CASES[name](x))


def test_gradient_through_sparse():
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]], device="tpu", requires_grad=True)
    (x.to_sparse() * 3).to_dense().sum().backward()
    assert torch.equal(x.grad.cpu(), torch.tensor([[3.0, 0.0], [0.0, 3.0]]))


def test_wrong_sizes_are_refused():
    x = torch.eye(3, device="tpu")
    with pytest.raises(RuntimeError, match="same size"):
        x + torch.eye(2, device="tpu").to_sparse()
    with pytest.raises(RuntimeError, match="Expected dim 0 size 3, got 2"):
        x.to_sparse() @ torch.ones(2, 2, device="tpu")
    with pytest.raises((RuntimeError, IndexError), match="9"):
        torch.sparse_coo_tensor(torch.tensor([[0, 9]], device="tpu"), torch.ones(2, device="tpu"), (3,)).to_dense().cpu()


def test_sparse_embedding_and_adam():
    torch.manual_seed(0)
    reference = torch.nn.Embedding(10, 3, sparse=True)
    ours = copy.deepcopy(reference).to("tpu")
    for model, device in ((reference, "cpu"), (ours, "tpu")):
        optimizer = torch.optim.SparseAdam(model.parameters(), lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            model(torch.tensor([1, 2, 2, 5], device=device)).pow(2).sum().backward()
            optimizer.step()
    torch.testing.assert_close(ours.weight.cpu(), reference.weight.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_complex32_is_kept_moved_and_viewed():
    x = torch.randn(3, 4)
    ours, expected = x.to("tpu").chalf(), x.chalf()
    halves = torch.view_as_real
    assert ours.dtype == torch.complex32
    assert torch.equal(halves(ours.cpu()), halves(expected))
    assert torch.equal(halves(ours).cpu(), halves(expected))
    assert torch.equal(halves(ours.t().cpu().contiguous()), halves(expected.t().contiguous()))
    assert torch.equal(ours.to(torch.complex64).cpu(), expected.to(torch.complex64))
    assert ours[0, 0].item() == expected[0, 0].item()
    ours[0], expected[0] = 1, 1
    assert torch.equal(halves((ours + ours).cpu()), halves(expected + expected))

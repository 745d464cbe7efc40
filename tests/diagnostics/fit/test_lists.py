"""DTensor looks at a list once for each form in it; its results are those of single tensors."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor, Replicate, Shard

from course.diagnostics.fit import lists
from course.diagnostics.fit.torch_insides import SHARDING, FakeStore

PROPAGATOR, PROPAGATE = SHARDING.ShardingPropagator, "propagate_op_sharding_non_cached"
SCALARS = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]
OPERATIONS: dict[str, tuple[Callable, Callable]] = {
    "makes": (torch._foreach_add, torch.add),
    "scalars": (lambda xs, ys: torch._foreach_mul(xs, SCALARS), lambda x, y: torch.mul(x, 2.0)),
    "one_list": (lambda xs, ys: torch._foreach_norm(xs), lambda x, y: torch.linalg.vector_norm(x)),
    "changes": (torch._foreach_mul_, Tensor.mul_),
    "one_scalar": (lambda xs, ys: torch._foreach_mul_(xs, 2.0), lambda x, y: x.mul_(2.0)),
}
fresh = count(1)  # DTensor looks only once at shapes that it has seen in an operation


@pytest.fixture
def lengths(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The lengths of the lists that DTensor looks at, with ours in place, on four ranks."""
    seen = []
    real = getattr(PROPAGATOR, PROPAGATE)

    def noting(self, schema):
        if isinstance(schema.args_schema[0], (list, tuple)):
            seen.append(len(schema.args_schema[0]))
        return real(self, schema)

    monkeypatch.setattr(PROPAGATOR, PROPAGATE, noting)
    lists.look_once_at_each_form()
    dist.init_process_group("fake", rank=0, world_size=4, store=FakeStore())
    yield seen
    dist.destroy_process_group()


def made(placement: object) -> tuple[list[Tensor], list[Tensor]]:
    """Two lists of six tensors of two forms; those of the second are placed as `placement`."""
    mesh, rows = dist.init_device_mesh("cpu", (4,)), next(fresh)
    shapes = [(rows, 3), (rows,)] * 3
    firsts = [DTensor.from_local(torch.ones(shape), mesh, [Shard(0)]) for shape in shapes]
    seconds = [DTensor.from_local(torch.ones(x.shape), mesh, [Replicate()]) for x in firsts]
    return firsts, [y.redistribute(placements=[placement]) for y in seconds]


def forms(tensors: object) -> list[tuple]:
    """All that can be seen of some tensors, except their values."""
    return [(x.placements, x.shape, x.stride(), x.dtype, x.to_local().shape) for x in tensors]


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_result_is_that_of_one_tensor(name: str, lengths: list[int]) -> None:
    on_lists, on_one = OPERATIONS[name]
    xs, ys = made(Shard(0))
    results = on_lists(xs, ys)
    assert forms(results or xs) == forms([on_one(x, y) for x, y in zip(xs, ys, strict=True)])
    assert lengths == [2]


def test_a_list_that_must_be_placed_again_is_looked_at_whole(lengths: list[int]) -> None:
    xs, ys = made(Replicate())
    assert forms(torch._foreach_add(xs, ys)) == forms(map(torch.add, xs, ys))
    assert lengths == [2, 6]

"""What the checks of lab 00 do on each rank: run the learner's collectives and bring back what they did."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.engine.reference import Messages

COLLECTIVES = (
    "broadcast", "scatter", "gather", "reduce", "all_reduce", "all_gather", "all_gather_into_tensor",
    "all_gather_single", "all_gather_object", "all_gather_coalesced", "reduce_scatter", "reduce_scatter_tensor",
    "reduce_scatter_single", "all_to_all", "all_to_all_single", "send", "recv", "isend", "irecv", "batch_isend_irecv",
    "broadcast_object_list", "gather_object", "scatter_object_list", "_all_gather_base", "_reduce_scatter_base",
)  # fmt: skip
SHAPES = ((3,), (2, 3), (), (0,))
BIG = 2**40 + 1  # lost in 32-bit floats


def mean() -> float:
    """What the learner's function makes of 2, 4, 6, ... on this rank."""
    number = torch.tensor([2.0 * (dist.get_rank() + 1)])
    importlib.import_module("start_here").mean_of_ranks(number)
    return number.item()


@contextmanager
def only(allowed: str) -> Iterator[None]:
    """Within it, every other call that moves data between ranks raises."""

    def refuse(name: str) -> Callable:
        def call(*_: object, **__: object) -> None:
            raise AssertionError(f"it calls dist.{name}; only dist.{allowed} may move the data")

        return call

    real = {
        name: getattr(dist, name) for name in COLLECTIVES if hasattr(dist, name) and name != allowed
    }
    for name in real:
        setattr(dist, name, refuse(name))
    try:
        yield
    finally:
        for name, function in real.items():
            setattr(dist, name, function)


def numbers(
    rank: int, place: int = 0, shape: tuple[int, ...] = (3,), dtype: torch.dtype = torch.float32
) -> Tensor:
    """The numbers that a rank gives for a place: no two alike, and none that the result of another rank would hide."""
    size = torch.Size(shape).numel()
    return (torch.arange(size) * 7 + 3 * (rank + 1) ** 2 + 5 * place).reshape(shape).to(dtype)


def _gather(mine: Tensor, received: list[Tensor]) -> list[Tensor]:
    importlib.import_module("my_all_gather").all_gather(received, mine)
    return received


def gather_shapes() -> list[tuple[str, bool]]:
    """For each shape and dtype: whether every rank's numbers have arrived at their place."""
    kinds = [(shape, torch.float32) for shape in SHAPES] + [
        ((3,), torch.int64),
        ((3,), torch.bfloat16),
    ]
    found = []
    for shape, dtype in kinds:
        everyones = [
            numbers(rank, shape=shape, dtype=dtype) for rank in range(dist.get_world_size())
        ]
        mine = everyones[dist.get_rank()].clone()
        if dtype == torch.int64:
            everyones, mine = [tensor + BIG for tensor in everyones], mine + BIG
        got = _gather(mine, [torch.full_like(tensor, -1) for tensor in everyones])
        found.append((f"{_shape(shape)}, {dtype}", all(map(torch.equal, got, everyones))))
    return found


def gather_in_place() -> tuple[bool, bool]:
    """Whether the caller's memory, rows of one tensor, is filled, and whether the given tensor is unchanged."""
    world_size, rank = dist.get_world_size(), dist.get_rank()
    memory, mine = torch.full((world_size, 3), -1.0), numbers(rank)
    _gather(mine, list(memory))
    wanted = torch.stack([numbers(source) for source in range(world_size)])
    return torch.equal(memory, wanted), torch.equal(mine, numbers(rank))


def gather_columns() -> bool:
    """Whether a column of a matrix, whose numbers do not lie side by side, arrives too."""
    rank, everyones = (
        dist.get_rank(),
        [numbers(source, shape=(3, 2)) for source in range(dist.get_world_size())],
    )
    got = _gather(everyones[rank][:, 1], [torch.empty(3) for _ in everyones])
    return all(torch.equal(a, b[:, 1]) for a, b in zip(got, everyones, strict=True))


def gather_again() -> bool:
    """Whether a second call, with other numbers in the same memory, gives the second numbers."""
    world_size, rank = dist.get_world_size(), dist.get_rank()
    received = [torch.full((3,), -1.0) for _ in range(world_size)]
    for place in (0, 1):
        _gather(numbers(rank, place), received)
    return all(torch.equal(got, numbers(source, 1)) for source, got in enumerate(received))


def gather_messages() -> list[tuple[str, int, bool]]:
    """What one call hands to `torch.distributed`."""
    with Messages() as messages:
        _gather(numbers(dist.get_rank()), [torch.empty(3) for _ in range(dist.get_world_size())])
    return list(messages)


def gather_alone() -> None:
    """One call in which `broadcast` is all there is."""
    with only("broadcast"):
        _gather(numbers(dist.get_rank()), [torch.empty(3) for _ in range(dist.get_world_size())])


def _reduce(parts: list[Tensor], result: Tensor, **options: object) -> Tensor:
    importlib.import_module("my_reduce_scatter").reduce_scatter(result, parts, **options)
    return result


def _parts(rank: int, **kind: object) -> list[Tensor]:
    return [numbers(rank, place, **kind) for place in range(dist.get_world_size())]


def _sum(place: int, **kind: object) -> Tensor:
    return torch.stack([_parts(rank, **kind)[place] for rank in range(dist.get_world_size())]).sum(
        0
    )


def reduce_shapes() -> list[tuple[str, bool]]:
    """For each shape and dtype: whether this rank has the sum of its part, over rubbish that was there before."""
    rank, found = dist.get_rank(), []
    for shape, dtype in [(shape, torch.float32) for shape in SHAPES] + [
        ((3,), torch.int64),
        ((3,), torch.float64),
    ]:
        kind = {"shape": shape, "dtype": dtype}
        bias = BIG if dtype == torch.int64 else 0
        got = _reduce(
            [part + bias for part in _parts(rank, **kind)], torch.full(shape, 77, dtype=dtype)
        )
        wanted = _sum(rank, **kind) + bias * dist.get_world_size()
        found.append((f"{_shape(shape)}, {dtype}", torch.equal(got, wanted)))
    return found


def reduce_in_place() -> tuple[bool, bool]:
    """Whether the caller's memory, a row of a larger tensor, is filled, and whether the parts are unchanged."""
    rank, memory = dist.get_rank(), torch.full((2, 3), -1.0)
    parts = _parts(rank)
    _reduce(parts, memory[1])
    filled = torch.equal(memory[1], _sum(rank)) and torch.equal(memory[0], torch.full((3,), -1.0))
    return filled, all(map(torch.equal, parts, _parts(rank)))


def reduce_largest() -> bool:
    """Whether `op=MAX` gives the maximum."""
    rank = dist.get_rank()
    got = _reduce(_parts(rank), torch.empty(3), op=dist.ReduceOp.MAX)
    everyones = [_parts(source)[rank] for source in range(dist.get_world_size())]
    return torch.equal(got, torch.stack(everyones).amax(0))


def reduce_messages() -> list[tuple[str, int, bool]]:
    """What one call hands to `torch.distributed`."""
    with Messages() as messages:
        _reduce(_parts(dist.get_rank()), torch.empty(3))
    return list(messages)


def reduce_alone() -> None:
    """One call in which `reduce` is all there is."""
    with only("reduce"):
        _reduce(_parts(dist.get_rank()), torch.empty(3))


def _shape(shape: tuple[int, ...]) -> str:
    return f"shape {list(shape)}"

"""What the tests of `hvd` do on each rank, with the solved scripts of labs 06 and 06b."""

import functools
import importlib
import random
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor


def with_hvd(function: Callable) -> Callable:
    """Decorate a function that takes `hvd`: start `hvd` before each call, shut it down after it."""

    @functools.wraps(function)
    def call(*args: object) -> object:
        hvd = importlib.import_module("hvd")
        importlib.import_module("hvd_start").init()
        result = function(hvd, *args)
        hvd.shutdown()
        return result

    return call


def agree(got: Tensor, expected: Tensor) -> bool:
    """Whether two tensors have the same dtype and nearly the same values."""
    return got.dtype == expected.dtype and torch.allclose(
        got.double(), expected.double(), atol=1e-5
    )


def every(tensor_of: Callable[[int], Tensor]) -> list[Tensor]:
    """The tensors of all ranks, made on this rank."""
    return [tensor_of(rank) for rank in range(dist.get_world_size())]


def numbers(rank: int, rows: int = 4, dtype: torch.dtype = torch.float32) -> Tensor:
    """The tensor of a rank, of shape (rows, 3)."""
    generator = torch.Generator().manual_seed(rank)
    return torch.randn(rows, 3, generator=generator).mul(4).to(dtype)


@with_hvd
def operations(hvd) -> dict[str, bool]:
    """Whether each operation returns what it should for the tensors of all ranks."""
    held = reductions(hvd) | gathers(hvd) | broadcasts(hvd)
    hvd.barrier()
    return held


def reductions(hvd) -> dict[str, bool]:
    """Whether each kind of allreduce is right."""
    rank = hvd.rank()
    mine, all_of = numbers(rank), torch.stack(every(numbers))
    before = mine.clone()
    whole = torch.stack(every(lambda r: numbers(r, dtype=torch.int64)))
    integers = hvd.allreduce(numbers(rank, dtype=torch.int64), op=hvd.Sum)
    scaled = hvd.allreduce(mine, prescale_factor=0.5, postscale_factor=6.0)
    held = {
        "average": agree(hvd.allreduce(mine), all_of.mean(0)),
        "sum": agree(hvd.allreduce(mine, op=hvd.Sum), all_of.sum(0)),
        "max": agree(hvd.allreduce(mine, op=hvd.Max), all_of.amax(0)),
        "factors": agree(scaled, all_of.mean(0) * 3),
        "integers": agree(integers, whole.sum(0)),
        "inputs are left alone": torch.equal(mine, before),
    }
    group = hvd.synchronize(hvd.grouped_allreduce_async([mine, mine[0].clone()], name="group"))
    held["group"] = agree(group[0], all_of.mean(0)) and agree(group[1], all_of[:, 0].mean(0))
    in_place = mine.clone()
    held["in place"] = hvd.allreduce_(in_place) is in_place and agree(in_place, all_of.mean(0))
    return held


def gathers(hvd) -> dict[str, bool]:
    """Whether allgather is right where ranks have different numbers of rows."""
    rank = hvd.rank()
    ragged = torch.cat(every(lambda r: numbers(r, rows=r + 1)))
    only_rank_1 = numbers(rank)[:2] if rank == 1 else numbers(rank)[:0]
    return {
        "allgather": agree(hvd.allgather(numbers(rank, rows=rank + 1)), ragged),
        "allgather of nothing": agree(hvd.allgather(only_rank_1), numbers(1)[:2]),
    }


def broadcasts(hvd) -> dict[str, bool]:
    """Whether each kind of broadcast is right."""
    rank, last = hvd.rank(), hvd.size() - 1
    mine = numbers(rank)
    got = hvd.broadcast(mine, last)
    return {
        "broadcast": agree(got, numbers(last)) and torch.equal(mine, numbers(rank)),
        "scalar": hvd.broadcast(torch.tensor(rank), 1).item() == 1,
        "broadcast_": agree(hvd.broadcast_(mine.clone(), 0), numbers(0)),
        "broadcast_object": hvd.broadcast_object({"rank": rank}, 1) == {"rank": 1},
    }


@with_hvd
def any_order(hvd, rounds: int) -> int:
    """The number of operations that are wrong when each rank calls them in an order of its own."""
    engine = hvd.engine()
    engine.threshold, engine.cycle_s, wrong = 600, 2e-4, 0
    for round_ in range(rounds):
        shared = random.Random(round_)
        expected = [
            (f"tensor {i}", shared.randrange(1, 90), shared.choice(("sum", "gather")))
            for i in range(24)
        ]
        mine = random.Random(100 * round_ + hvd.rank())
        handles = {}
        for name, length, kind in mine.sample(expected, len(expected)):
            tensor = torch.full((length,), float(hvd.rank() + length))
            if kind == "sum":
                handles[name] = hvd.allreduce_async_(tensor, name=name, op=hvd.Sum)
            else:
                handles[name] = hvd.allgather_async(tensor, name)
            if mine.random() < 0.2:
                time.sleep(mine.random() * 2e-3)
        for name, length, kind in expected:
            got = hvd.synchronize(handles[name])
            parts = [torch.full((length,), float(rank + length)) for rank in range(hvd.size())]
            wrong += not torch.equal(got, sum(parts) if kind == "sum" else torch.cat(parts))
    return wrong


@with_hvd
def late(hvd) -> bool:
    """Whether a sum is right if one rank requests it after the other has polled three times."""
    store = dist.distributed_c10d._get_default_store()
    if hvd.rank() == 1:
        store.wait(["polled"])
    handle = hvd.allreduce_async(torch.ones(3), name="late")
    if hvd.rank() == 0:
        assert not any(hvd.poll(handle) for _ in range(3))
        store.set("polled", "")
    while not hvd.poll(handle):
        time.sleep(0.02)
    return torch.equal(hvd.synchronize(handle), torch.ones(3))


def error_of(attempt: Callable[[], object], kind: type[Exception] | tuple) -> str:
    """The message of the error that an attempt raises, "" if it raises none."""
    try:
        attempt()
    except kind as error:
        return str(error)
    return ""


@with_hvd
def refusals(hvd) -> list[str]:
    """This rank's error for each disagreement and for a name used twice, and then a sum.

    The sum shows that the engine goes on.
    """
    first = hvd.rank() == 0

    def twice() -> None:
        handle = hvd.allreduce_async(torch.ones(1), name="twice")
        if not first:
            hvd.synchronize(handle)
        hvd.synchronize(hvd.allreduce_async(torch.ones(1), name="twice"))

    attempts = [
        lambda: hvd.allreduce(torch.ones(2 + first), name="n"),
        lambda: hvd.allreduce(
            torch.ones(2).to(torch.float64 if first else torch.float32), name="n"
        ),
        lambda: hvd.allreduce(torch.ones(2), name="n", op=hvd.Sum if first else hvd.Max),
        lambda: hvd.allreduce(torch.ones(2), name="n", prescale_factor=1.0 + first),
        lambda: hvd.broadcast(torch.ones(2), int(first), name="n"),
        lambda: hvd.allgather(torch.ones(2, 2 + first), name="n"),
        lambda: (hvd.allgather if first else hvd.allreduce)(torch.ones(2), name="n"),
        lambda: hvd.synchronize(
            hvd.grouped_allreduce_async([torch.ones(2)] * (1 + first), name="n")
        ),
        twice,
    ]
    errors = [error_of(attempt, (hvd.HorovodInternalError, ValueError)) for attempt in attempts]
    return [*errors, f"{hvd.allreduce(torch.ones(1), name='n', op=hvd.Sum).item():g}"]


@with_hvd
def bad_input(hvd) -> list[str]:
    """The errors for arguments that no rank could send."""
    model = torch.nn.Linear(2, 2)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    attempts = [
        lambda: hvd.allreduce(torch.ones(2, 3).t(), name="n"),
        lambda: hvd.broadcast(torch.ones(1), 7),
        lambda: hvd.allgather(torch.tensor(1.0), "n"),
        lambda: hvd.grouped_allreduce_async([torch.ones(1), torch.ones(1).double()], name="n"),
        lambda: hvd.allreduce(torch.ones(1).short()),
        lambda: hvd.allreduce(torch.ones(1), process_set=hvd.ProcessSet([0])),
        lambda: hvd.DistributedOptimizer(sgd, [("same", p) for p in model.parameters()]),
        lambda: hvd.DistributedOptimizer(sgd, list(model.named_parameters())[:1]),
        lambda: hvd.DistributedOptimizer(sgd, model.named_parameters(), backward_passes_per_step=0),
        lambda: hvd.DistributedOptimizer(sgd, gradient_predivide_factor=2.0, op=hvd.Sum),
    ]
    errors = [error_of(attempt, ValueError) for attempt in attempts]
    optimizer = hvd.DistributedOptimizer(sgd, model.named_parameters())
    assert isinstance(optimizer, torch.optim.SGD)
    model(torch.ones(1, 2)).sum().backward()
    misuses = [optimizer.zero_grad, lambda: model(torch.ones(1, 2)).sum().backward()]
    errors += [error_of(misuse, AssertionError) for misuse in misuses]
    optimizer.synchronize()
    return errors


def restarts() -> list[tuple[int, float]]:
    """Start and shut down `hvd` three times, in the process group of the checks."""
    hvd = importlib.import_module("hvd")
    results = []
    for _ in range(3):
        hvd.init()
        hvd.init()  # does nothing
        results.append((hvd.size(), hvd.allreduce(torch.ones(1), op=hvd.Sum).item()))
        hvd.shutdown()
        hvd.shutdown()
    dist.all_reduce(torch.ones(1))  # the group of the checks still works
    return results


@with_hvd
def timeline(hvd, path: str) -> None:
    """Record a timeline of two all-reduces that share a message, a broadcast and a barrier."""
    hvd.start_timeline(path)
    for handle in [
        hvd.allreduce_async_(torch.ones(1000), name=name) for name in ("layer 0", "layer 1")
    ]:
        hvd.synchronize(handle)
    hvd.broadcast(torch.ones(3), 0, "state")
    hvd.barrier()
    hvd.stop_timeline()

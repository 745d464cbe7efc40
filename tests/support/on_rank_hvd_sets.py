"""What tests of process sets and `join` do on each rank, with the solved labs 06 and 06b."""

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

import torch
from torch import Tensor, nn

DETAILS = {"shapes": ((1,),), "bytes": 2, "dtype": "int16", "device": "cpu", "op": "Sum"}


@contextmanager
def started(*process_sets: object) -> Iterator[ModuleType]:
    """Yield `hvd`, started before the block and shut down after it."""
    hvd = importlib.import_module("hvd")
    importlib.import_module("hvd_start").init(process_sets)
    yield hvd
    hvd.shutdown()


def error_of(attempt: Callable[[], object], kind: type[Exception]) -> str:
    """The message of the error that an attempt raises, "" if it raises none."""
    try:
        attempt()
    except kind as error:
        return str(error)
    return ""


def sets() -> dict[str, object]:
    """What rank r of 3 gets from ranks 0 and 2 alone; its own numbers are r + 1."""
    hvd = importlib.import_module("hvd")
    ends, single = hvd.ProcessSet([2, 0]), hvd.ProcessSet([1])
    with started(ends, single):
        mine = torch.full((2,), hvd.rank() + 1.0)
        got = {"place": (ends.ranks, ends.included(), ends.rank(), ends.size())}
        if ends.included():
            got |= {
                "sum": hvd.allreduce(mine, op=hvd.Sum, name="x", process_set=ends).tolist(),
                "average": hvd.allreduce(mine, process_set=ends).tolist(),
                "gathered": hvd.allgather(mine[: ends.rank() + 1], process_set=ends).tolist(),
                "broadcast": hvd.broadcast(mine, 2, process_set=ends).tolist(),
                "no such root": error_of(
                    lambda: hvd.broadcast(mine, 1, process_set=ends), ValueError
                ),
                "disagreement": error_of(
                    lambda: hvd.allreduce(torch.ones(1 + hvd.rank()), name="y", process_set=ends),
                    hvd.HorovodInternalError,
                ),
            }
            hvd.barrier(process_set=ends)
        else:
            # The same name at the same time in another set.
            got["sum"] = hvd.allreduce(mine, op=hvd.Sum, name="x", process_set=single).tolist()
            got["outside"] = error_of(lambda: hvd.allreduce(mine, process_set=ends), ValueError)
        got["all"] = hvd.allreduce(mine, op=hvd.Sum, name="x").tolist()
    return got


def result_types() -> dict[str, bool]:
    """Whether synchronize returns a tuple for a request made with a list, and only then."""
    with started() as hvd:
        x = torch.ones(hvd.size(), 1)
        single = {
            "allreduce_async": hvd.allreduce_async(x),
            "allreduce_async_": hvd.allreduce_async_(x.clone()),
            "allgather_async": hvd.allgather_async(x),
            "broadcast_async": hvd.broadcast_async(x, 0),
        }
        grouped = {
            "grouped_allreduce_async": hvd.grouped_allreduce_async([x]),
            "grouped_allreduce_async_": hvd.grouped_allreduce_async_([x.clone()]),
        }
        held = {
            name: isinstance(hvd.synchronize(handle), Tensor) for name, handle in single.items()
        }
        for name, handle in grouped.items():
            results = hvd.synchronize(handle)
            held[name] = isinstance(results, tuple) and len(results) == 1
    return held


def joined() -> dict[str, object]:
    """What rank r of 3 gets in two epochs of r + 1 batches, and its errors after others joined."""
    with started() as hvd:
        got = {"sums": [], "last": []}
        for _ in range(2):
            for _batch in range(hvd.rank() + 1):
                a = hvd.allreduce_async(torch.full((2,), 3.0), name="a")
                b = hvd.allreduce_async(torch.full((1,), 1), name="b", op=hvd.Sum)
                got["sums"].append((hvd.synchronize(a).tolist(), hvd.synchronize(b).item()))
            got["last"].append(hvd.join())
        if hvd.rank() < 2:
            got["errors"] = [
                error_of(attempt, hvd.HorovodInternalError)
                for attempt in (
                    lambda: hvd.allgather(torch.ones(1), name="c"),
                    lambda: hvd.allreduce(torch.ones(1), name="d", op=hvd.Max),
                    hvd.barrier,
                )
            ]
        got["last"].append(hvd.join() >= 0)
        got["after"] = hvd.allgather(torch.ones(1), name="c").tolist()
        return got


def step_warnings() -> tuple[list[str], list[str]]:
    """The warnings of `step` after `synchronize`, without and within `skip_synchronize`."""
    with started() as hvd:
        model = nn.Linear(2, 1)
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer = hvd.DistributedOptimizer(sgd, model.named_parameters())

        def order(skip: bool) -> list[str]:
            optimizer.zero_grad()
            model(torch.ones(1, 2)).sum().backward()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                optimizer.synchronize()
                if skip:
                    with optimizer.skip_synchronize():
                        optimizer.step()
                else:
                    optimizer.step()
                optimizer.zero_grad()
                model(torch.ones(1, 2)).sum().backward()
                optimizer.step()  # without `synchronize` before it: no warning
            return [str(warning.message) for warning in caught]

        return order(skip=False), order(skip=True)


def torch_error() -> list[str]:
    """The error if torch itself refuses an operation."""
    with started() as hvd:
        with_fault = torch.ones(1, dtype=torch.int16)
        handle = hvd.engine().submit("x", "allreduce", [with_fault], **DETAILS)
        return [error_of(lambda: hvd.synchronize(handle), RuntimeError)]


def accepted_dtypes() -> list[str]:
    """The dtypes that `hvd` accepts, after reducing a tensor of each."""
    with started() as hvd:
        collectives = importlib.import_module("course.given.horovod.collectives")
        for name in collectives.DTYPES:
            got = hvd.allreduce(torch.ones(2).to(getattr(torch, name)), op=hvd.Max)
            assert got.tolist() == [1, 1], name
        return list(collectives.DTYPES)

"""What the checks of the clinic's exercises share on each rank."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course.checks.tools.leaks import count_process_groups
from course.checks.tools.recorder import RECORDED
from course.core import dist_names, interceptor

PATIENCE_S = 6.0  # within a collective, once all ranks have arrived; also on a busy machine
# Gloo's words for a rank that never comes.
HUNG = ("Timed out", "closed by peer", "reset by peer", "application timeout")
GONE = 10**9  # calls: more than any rank makes
HELD_S = 3.0  # for ranks that wait in some other way than by a call to torch.distributed


@contextmanager
def impatient() -> Iterator[None]:
    """Within the block, a collective that some rank does not call fails soon.

    All ranks enter and leave together. The learner's code may make one process group and keep it.
    """
    dist.barrier()
    dist.group.WORLD.set_timeout(timedelta(seconds=PATIENCE_S))
    try:
        yield
        dist.barrier()
    except RuntimeError as error:
        if not any(words in str(error) for words in HUNG):
            raise
        raise AssertionError(
            "the ranks wait for each other: not all of them make the same calls"
        ) from None
    finally:
        dist.group.WORLD.set_timeout(timedelta(seconds=60))
    made = count_process_groups() - 1
    assert made <= 1, f"there are {made} new process groups: each call makes one and leaves it"


@contextmanager
def held(folder: Path) -> Iterator[Callable[[], None]]:
    """Hold one rank up until the others are as far as they can get without it.

    The yielded function returns when every other rank waits in a call to torch.distributed that
    this rank has not made yet, or has left the block. So a rank that does not wait is always too
    early, however busy the machine is. Sleeping takes no time here: it is not a way to wait.
    `folder` is for the ranks' marks: how many calls each of them has begun.
    """
    begun = 0

    def mark(calls: int) -> None:
        (folder / f"rank{dist.get_rank()}.begun").write_text(f"{calls}.")

    def marked(name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        nonlocal begun
        begun += 1
        mark(begun)
        return real(*args, **kwargs)

    sleep = time.sleep

    def hold() -> None:
        end = time.monotonic() + HELD_S
        others = [rank for rank in range(dist.get_world_size()) if rank != dist.get_rank()]
        while time.monotonic() < end and not all(
            _marked(folder / f"rank{other}.begun") > begun for other in others
        ):
            sleep(0.005)

    mark(0)
    dist.barrier()
    with (
        interceptor.intercepted(marked, RECORDED + dist_names.BARRIERS),
        patch.object(time, "sleep", lambda seconds: None),
    ):
        try:
            yield hold
        finally:
            mark(GONE)


def _marked(path: Path) -> int:
    text = path.read_text()
    return int(text[:-1]) if text.endswith(".") else 0  # or it is being written


def normed(seed: int) -> nn.Module:
    """A small model with buffers."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))


def batches(count: int, seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(6, 4, generator=generator) for _ in range(count)]


def same_everywhere(model: nn.Module) -> bool:
    """Whether every rank has the parameters of rank 0.

    Buffers do not count: DDP makes them equal only before the next forward.
    """
    return _equal(model.parameters())


def same_after_forward(model: DistributedDataParallel) -> bool:
    """Whether every rank has the parameters and buffers of rank 0, after a forward of all ranks.

    It leaves the model in evaluation mode.
    """
    with torch.no_grad():
        model.eval()(torch.zeros(2, 4))
    return _equal(model.state_dict().values())


def _equal(tensors: Iterable[torch.Tensor]) -> bool:
    mine = [tensor.detach().clone() for tensor in tensors]
    firsts = [tensor.clone() for tensor in mine]
    for first in firsts:
        dist.broadcast(first, src=0)
    return all(torch.equal(*pair) for pair in zip(mine, firsts, strict=True))

"""What the checks of the clinic's three exercises share on each rank."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

PATIENCE_S = 6.0  # within a collective, once all ranks have arrived; also on a busy machine
# Gloo's words for a rank that never comes.
HUNG = ("Timed out", "closed by peer", "reset by peer", "application timeout")


@contextmanager
def impatient() -> Iterator[None]:
    """Within it, a collective that some rank does not call fails soon.

    All ranks enter and leave together.
    """
    dist.barrier()
    dist.distributed_c10d._set_pg_timeout(timedelta(seconds=PATIENCE_S))
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
        dist.distributed_c10d._set_pg_timeout(timedelta(seconds=60))


def causes(exercise: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The causes that the learner names, and those there are to choose from."""
    module = importlib.import_module(exercise)
    return module.causes(), module.CAUSES


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
    firsts = [parameter.detach().clone() for parameter in model.parameters()]
    for first in firsts:
        dist.broadcast(first, src=0)
    return all(
        torch.equal(mine, first) for mine, first in zip(model.parameters(), firsts, strict=True)
    )

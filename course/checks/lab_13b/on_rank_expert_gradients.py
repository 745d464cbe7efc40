"""What the checks of my_expert_gradients do on each rank."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.given.sent import Traffic

EXPERTS, WIDTH = 6, 3
IDLE = 3  # an expert that no token has reached, on some ranks


class SmallMixture(nn.Module):
    """A router, a layer, and this rank's experts."""

    def __init__(self, first: int, held: int) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.mixture = nn.Module()
        self.mixture.experts = nn.ModuleDict(
            {str(number): nn.Linear(WIDTH, 2) for number in range(first, first + held)}
        )


def place(rank: int, ranks: int, copies: int) -> tuple[int, int, list[int]]:
    """Of a rank: its first expert, how many it holds, and the ranks with the same experts."""
    parts = ranks // copies
    held = EXPERTS // parts
    return rank % parts * held, held, list(range(rank % parts, ranks, parts))


def gradient(name: str, rank: int, shape: torch.Size, idle: tuple[int, ...]) -> Tensor | None:
    """What backward has left of a parameter on a rank; None for the idle expert of `idle` ranks."""
    if f".experts.{IDLE}." in name and rank in idle:
        return None
    seed = sum(map(ord, name)) * 10 + rank
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def averaged(copies: int, idle: tuple[int, ...] = ()) -> dict[str, Tensor | None]:
    """The gradients after the learner's function."""
    model, groups = _model(copies, idle)
    importlib.import_module("my_expert_gradients").average_gradients(model, *groups)
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def messages(copies: int) -> list[tuple]:
    """The elements and the ranks of each message."""
    model, groups = _model(copies, ())
    average = importlib.import_module("my_expert_gradients").average_gradients
    with Traffic() as seen:
        average(model, *groups)
    return [(message.name, message.elements, message.ranks) for message in seen.messages]


def _model(copies: int, idle: tuple[int, ...]) -> tuple[SmallMixture, tuple]:
    rank, ranks = dist.get_rank(), dist.get_world_size()
    first, held, _ = place(rank, ranks, copies)
    together = [place(part, ranks, copies)[2] for part in range(ranks // copies)]
    same, _ = dist.new_subgroups_by_enumeration(together)
    model = SmallMixture(first, held)
    for name, parameter in model.named_parameters():
        parameter.grad = gradient(name, rank, parameter.shape, idle)
    return model, (same, dist.group.WORLD)

"""Copies of a sharded model: the ranks of a row share one, the ranks of a column hold equal shards.

The machines are pretended: each stands for a few consecutive ranks.
"""

from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.given import memory
from course.given.fsdp import PlainFSDP
from course.given.sent import Collective, Traffic
from course.given.units import ShardedUnit

Average = Callable[[Tensor, dist.ProcessGroup, dist.ProcessGroup], Tensor]


class Hybrid(PlainFSDP):
    """Gathers within the row; `average` brings the gradients together, one backward at a time."""

    def __init__(
        self,
        model: nn.Module,
        layers: list[nn.Module],
        row: dist.ProcessGroup,
        column: dist.ProcessGroup,
        average: Average,
    ):
        super().__init__(model, layers, group=row)
        self.row, self.column, self.average = row, column, average

    def reduce(self, unit: ShardedUnit) -> None:
        """Give the shard the mean of the gradients of all ranks, and drop those of this rank."""
        flat = unit.flatten([parameter.grad for parameter in unit.parameters])
        unit.shard.grad = self.average(flat, self.row, self.column)
        for parameter in unit.parameters:
            parameter.grad = None


def step_bytes(
    net: Hybrid, optimizer: torch.optim.Optimizer, batch: dict[str, Tensor], per_machine: int
) -> dict[str, float]:
    """The bytes that this rank sends in a step, inside its machine and out, and then holds.

    All are per parameter of the model. It holds shards, their gradients and the optimizer's state.
    """
    optimizer.zero_grad()
    with Traffic() as traffic:
        net(**batch).loss.backward()
    optimizer.step()
    shards = net.shards()
    state = [t for entry in optimizer.state.values() for t in entry.values() if t.dim()]
    held = memory.held([*shards, *(shard.grad for shard in shards), *state])
    inside, out = sent(traffic.messages, dist.get_rank(), per_machine)
    count = sum(parameter.numel() for parameter in net.module.parameters())
    return {"held": held / count, "inside": inside / count, "out": out / count}


def sent(messages: Iterable[Collective], rank: int, per_machine: int) -> tuple[float, float]:
    """The bytes that a rank sends to its own machine, and out of it.

    Each message is counted as a ring sends it, in the order of the ranks.
    """
    inside = out = 0.0
    for message in messages:
        place, size = message.ranks.index(rank), len(message.ranks)
        after = message.ranks[(place + 1) % size]
        times = 2 if message.name == "allreduce" else 1
        nbytes = times * (size - 1) / size * message.nbytes
        if after // per_machine == rank // per_machine:
            inside += nbytes
        else:
            out += nbytes
    return inside, out

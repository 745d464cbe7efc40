"""What the checks of `compressed` do on each rank: train a model whose gradients they choose."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from course.checks.tools.recorder import Call, recorded
from course.given.compression import Memory

SHAPES = ((3, 4), (7,), (2, 2))
NUMBERS = 23  # in all


class Chosen(nn.Module):
    """A model whose gradients are its inputs, exactly. Its last parameters are ready first."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.ParameterList(nn.Parameter(torch.zeros(shape)) for shape in SHAPES)

    def forward(self, row: Tensor) -> Tensor:
        """A number whose gradient is `row` (NUMBERS,), in the parameters' order."""
        parts = row.split([parameter.numel() for parameter in self.rows])
        terms = zip(self.rows, parts, strict=True)
        return sum((parameter.flatten() * part).sum() for parameter, part in terms)


def gradients(steps: int, rank: int, same: bool = False) -> list[list[float]]:
    """A rank's gradients in each step: random, or with `same` equal in all steps on all ranks."""
    generator = torch.Generator().manual_seed(0 if same else rank + 1)
    rows = torch.randn(1 if same else steps, NUMBERS, generator=generator)
    return rows.expand(steps, NUMBERS).tolist()


def received(
    hook: str,
    steps: int,
    share: float = 0.25,
    feedback: bool = True,
    same: bool = False,
    cap_mb: float = 25,
    times: float = 1,
) -> list[list[float]]:
    """The gradients after each backward with the learner's hook in DDP, all `times` as large."""
    replica, seen = _replica(hook, Memory(share, feedback), cap_mb), []
    for row in gradients(steps, dist.get_rank(), same):
        replica.zero_grad()
        replica(times * torch.tensor(row)).backward()
        seen.append(torch.cat([p.grad.flatten() for p in replica.parameters()]).tolist())
    return seen


def sent(hook: str, share: float) -> list[Call]:
    """What this rank calls during the second backward."""
    replica = _replica(hook, Memory(share), 25)
    for row in gradients(2, dist.get_rank()):
        with recorded() as calls:
            replica(torch.tensor(row)).backward()
    return calls


def _replica(hook: str, memory: Memory, cap_mb: float) -> DistributedDataParallel:
    replica = DistributedDataParallel(Chosen(), bucket_cap_mb=cap_mb)
    replica.register_comm_hook(memory, getattr(importlib.import_module("compressed"), hook))
    return replica

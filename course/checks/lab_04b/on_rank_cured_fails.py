"""What the checks of cured_fails do on each rank."""

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course.checks.engine.reference import furthest, weights
from course.checks.lab_04.on_rank_files import difference, watch
from course.checks.lab_04b.on_rank_clinic import batches, held, impatient

TEXT = "young old\nmusician  athlete \n"
# What a save must bring back: nested, and with numbers that another dtype would change.
STATE = {
    "weights": torch.arange(1000, dtype=torch.float64) / 3,
    "optimizer": {"state": {0: {"step": torch.tensor(2**53 + 1)}}, "lr": 5e-4},
}


def fetch(folder: str) -> list[tuple[str, int]]:
    """What this rank reads, and how often it downloaded, for each of two files.

    Half of the text comes first, and the rest only when the other ranks wait or have gone on.
    """
    module, found = importlib.import_module("cured_fails"), []
    for name in ("words", "labels"):
        path, called = Path(folder, f"{name}.txt"), []
        with impatient(), held(Path(folder)) as hold:

            def download(target: Path, called: list = called, hold: Callable = hold) -> None:
                called.append(target)
                Path(target).write_text(TEXT[:10])
                hold()
                Path(target).write_text(TEXT)

            found.append((module.fetch(path, download), len(called)))
    return found


def tensors(lengths: list[int]) -> dict[str, list[torch.Tensor]]:
    """By kind, the tensor of each rank: numbers that are also used as padding, and large ones."""
    numbers = [torch.arange(length) - 1 - rank for rank, length in enumerate(lengths)]
    return {
        "int64": [torch.where(each > 1, each + 2**53, each).flip(0) for each in numbers],
        "float64": [torch.where(each == 1, torch.nan, each.double() / 3) for each in numbers],
        "uint8": [(each % 3).to(torch.uint8) for each in numbers],
    }


def gather(lengths: list[int]) -> dict[str, tuple[str, bool]]:
    """By kind of tensor: how what is gathered differs from what the ranks had, "" if it does not.

    Also whether this rank's own tensor has stayed as it was.
    """
    module, rank, found = importlib.import_module("cured_fails"), dist.get_rank(), {}
    for kind, everyones in tensors(lengths).items():
        mine = everyones[rank].clone()
        with impatient():
            together = module.gather(mine)
        found[kind] = (
            difference(together, torch.cat(everyones), "the result"),
            not difference(mine, everyones[rank]),
        )
    return found


class TwoHeads(nn.Module):
    """A body and two heads, of which a forward uses one."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body, self.heads = nn.Linear(4, 4), nn.ModuleList(nn.Linear(4, 2) for _ in range(2))

    def forward(self, x: torch.Tensor, head: int) -> torch.Tensor:
        """The output (N, 2) of that head."""
        return self.heads[head](self.body(x))


def wrap() -> tuple[float, bool, bool]:
    """How far the weights are from those of one process after four steps with different heads.

    Also whether the model is wrapped in DDP, and whether it is in training mode.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    module = importlib.import_module("cured_fails")
    # The first one imports much, which may take one rank longer than another.
    DistributedDataParallel(nn.Linear(1, 1))
    with impatient():
        model, alone = module.wrap(TwoHeads()), TwoHeads()
        optimizers = [torch.optim.SGD(net.parameters(), 0.1) for net in (model, alone)]
        for number, head in enumerate((0, 1, rank % 2, 1 - rank % 2)):
            for optimizer in optimizers:
                optimizer.zero_grad()
            model(batches(4, rank)[number], head).square().mean().backward()
            for other in range(world_size):
                used = head if number < 2 else (other if number == 2 else 1 - other) % 2
                (alone(batches(4, other)[number], used).square().mean() / world_size).backward()
            for optimizer in optimizers:
                optimizer.step()
    return (
        furthest(weights(model), weights(alone)),
        isinstance(model, DistributedDataParallel),
        model.training,
    )


def save(folder: str) -> tuple[int, str, list[str], list[str]]:
    """How many files this rank wrote in three saves, and what was not saved when it went on.

    Then what the folder holds, and by what a kill would have lost the snapshot meanwhile.
    """
    module, path = importlib.import_module("cured_fails"), Path(folder, "files", "model.pt")
    if dist.get_rank() == 0:
        path.parent.mkdir()
    real, written, wrong, harms = torch.save, [], [], []

    def moved(source: Path) -> None:
        if path.parent not in source.parents:
            harms.append("it is moved there from another folder, perhaps of another disk")

    watch(path, harms.append, moved)
    with impatient(), held(Path(folder)) as hold:

        def slow(state: dict, file: object, *more: object, **options: object) -> None:
            written.append(file)
            hold()
            real(state, file, *more, **options)
            if state["step"] and not (path.exists() and _step(path) == state["step"] - 1):
                harms.append("it is written over")

        with patch.object(torch, "save", slow):
            for step in range(3):
                module.save(STATE | {"step": step}, path)
                saved = torch.load(path, weights_only=True) if path.exists() else None
                wrong.append(difference(saved, STATE | {"step": step}))
                dist.barrier()
    return len(written), next(filter(None, wrong), ""), sorted(os.listdir(path.parent)), harms


def _step(path: Path) -> int:
    return torch.load(path, weights_only=True)["step"]

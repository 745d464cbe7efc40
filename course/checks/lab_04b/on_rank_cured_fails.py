"""What the checks of cured_fails do on each rank."""

import importlib
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course.checks.engine.reference import furthest, weights
from course.checks.lab_04b.on_rank_clinic import batches, impatient


def fetch(folder: str) -> tuple[str, int]:
    """What this rank reads, and how often it downloaded.

    The download is slow, and half of the text comes first.
    """
    path, called = Path(folder, "vocabulary.txt"), []

    def download(target: Path) -> None:
        called.append(target)
        target.write_text("young ")
        time.sleep(0.2)
        target.write_text("young old musician athlete")

    with impatient():
        return importlib.import_module("cured_fails").fetch(path, download), len(called)


def gather(lengths: list[int]) -> tuple[list[int], str]:
    """The tensors of all ranks together, and their dtype.

    That of rank r is `lengths[r]` times the number r + 1.
    """
    rank = dist.get_rank()
    with impatient():
        together = importlib.import_module("cured_fails").gather(
            torch.full((lengths[rank],), rank + 1)
        )
    return together.tolist(), str(together.dtype)


class TwoHeads(nn.Module):
    """A body and two heads, of which a forward uses one."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body, self.heads = nn.Linear(4, 4), nn.ModuleList(nn.Linear(4, 2) for _ in range(2))

    def forward(self, x: torch.Tensor, head: int) -> torch.Tensor:
        """The output (N, 2) of that head."""
        return self.heads[head](self.body(x))


def wrap() -> tuple[float, bool]:
    """How far the weights are from those of one process after four steps with different heads.

    Also whether the model is wrapped in DDP.
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
    return furthest(weights(model), weights(alone)), isinstance(model, DistributedDataParallel)


def save(folder: str) -> tuple[int, bool, list[str], bool]:
    """How many files this rank wrote, whether the snapshot was whole when this rank went on.

    Then what the folder holds, and whether the old snapshot was still whole when the new one had
    been written.
    """
    module, path = importlib.import_module("cured_fails"), Path(folder, "model.pt")
    real, written, whole, kept = torch.save, [], True, True

    def slow(state: dict, file: object, **options: object) -> None:
        nonlocal kept
        written.append(file)
        time.sleep(0.1)
        real(state, file, **options)
        kept &= (
            state["step"] == 0 or torch.load(path, weights_only=True)["step"] == state["step"] - 1
        )

    torch.save = slow
    with impatient():
        for step in range(3):
            module.save({"step": step, "weights": torch.zeros(1000)}, path)
            whole &= path.exists() and torch.load(path, weights_only=True)["step"] == step
            dist.barrier()
    return len(written), whole, sorted(file.name for file in path.parent.iterdir()), kept

"""A small training with one planted cause that makes it slow."""

import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import Dataset

RANK = int(os.environ["RANK"])
LARGE = torch.zeros(30_000_000)  # what is saved; zeros take no memory until they are read
LATE_S = 0.08  # the length of a planted delay, in a step of about 40 ms
WIDTH = 256
LARGE_MODELS = ("bandwidth", "accumulation")


class Digits(Dataset):
    """Random samples, the same on every rank; drawing a batch may be slow."""

    def __init__(self, cause: str, size: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.inputs = torch.randn(size, WIDTH, generator=generator)
        self.labels = torch.randint(0, 10, (size,), generator=generator)
        self.late = cause == "input" or (cause == "straggler in input" and RANK == 1)

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> int:
        return index

    def collate(self, batch: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """A batch; if `late`, it takes as long as from a slow disk."""
        if self.late:
            time.sleep(LATE_S)
        return self.inputs[batch], self.labels[batch]


class Late(torch.autograd.Function):
    """Changes nothing, but is slow in backward."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        """Return the input."""
        return x.view_as(x)

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient, after a delay."""
        time.sleep(LATE_S)
        return grad


class Net(nn.Module):
    """A perceptron whose size depends on the cause."""

    def __init__(self, cause: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cause = cause
        narrow = cause in ("latency", "unused parameters")
        deep = {"no overlap": 8}.get(cause, 60 if narrow else 2)
        wide = {"no overlap": 1024}.get(cause, WIDTH)
        wide = 16 if narrow else wide
        layers = [nn.Linear(WIDTH, wide)]
        layers += [layer for _ in range(deep) for layer in (nn.Linear(wide, wide), nn.ReLU())]
        self.layers = nn.Sequential(*layers, nn.Linear(wide, 10))
        # Cheap to compute, and long to send.
        self.large = nn.Parameter(torch.zeros(12_000_000)) if cause in LARGE_MODELS else None
        if cause == "buffers":
            self.register_buffer("table", torch.zeros(12_000_000))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The scores of the ten classes."""
        if self.cause == "straggler in forward" and RANK == 1:
            time.sleep(LATE_S)
        if self.cause == "straggler in backward" and RANK == 1:
            x = Late.apply(x.requires_grad_())
        scores = self.layers(x)
        return scores if self.large is None else scores + self.large.mean()


def batch_size(cause: str) -> int:
    """Samples of a rank in a step: many if computing should take most of the time."""
    if cause in ("latency", "unused parameters", *LARGE_MODELS):
        return 8
    return {"no overlap": 64}.get(cause, 1024)


class Slow(torch.optim.SGD):
    """SGD with needless matrix products, as slow as an optimizer that orthogonalizes."""

    def step(self, closure: object = None) -> None:
        """Multiply matrices, then take the step."""
        for _ in range(15):
            torch.mm(torch.ones(512, 512), torch.ones(512, 512))
        super().step(closure)


def optimizer(cause: str, model: nn.Module) -> torch.optim.Optimizer:
    """The optimizer."""
    return (Slow if cause == "optimizer" else torch.optim.SGD)(model.parameters(), lr=1e-3)


def after_step(cause: str, model: nn.Module, folder: str) -> None:
    """Do what the script does between its steps."""
    if cause == "saving" and RANK == 0:
        torch.save(LARGE, f"{folder}/all.pt")
    if cause == "saving":
        dist.barrier()
    if cause == "python":
        time.sleep(LATE_S)
    if cause == "straggler outside" and RANK == 1:
        time.sleep(LATE_S)
    if cause == "synchronization":
        for _ in range(60):
            dist.barrier()
    if cause == "objects":
        seen = [None] * dist.get_world_size()
        for _ in range(20):
            dist.all_gather_object(seen, {"loss": 0.5})


def configure(cause: str) -> None:
    """Configure torch: one thread for a rank, or far too many; anomaly detection if planted."""
    torch.set_num_threads(8 if cause == "threads" else 1)
    torch.autograd.set_detect_anomaly(cause == "anomaly detection")

"""The data and the network of the scripts with a planted fault."""

import os

import torch
from torch import nn
from torch.utils.data import Dataset

RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])
LAST = RANK == WORLD - 1
WIDTH, BATCH, STEPS = 16, 8, 24


class Samples(Dataset):
    """Random samples, the same on every rank."""

    def __init__(self, size: int = BATCH * WORLD * (STEPS + 2)) -> None:
        generator = torch.Generator().manual_seed(0)
        self.inputs = torch.randn(size, WIDTH, generator=generator)
        self.labels = torch.randint(0, 4, (size,), generator=generator)

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.inputs[index], self.labels[index]


class Net(nn.Module):
    """A perceptron with a body and a head."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(WIDTH, 32), nn.Tanh(), nn.Dropout(dropout))
        self.head = nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The scores of the classes."""
        return self.head(self.body(x))


def net(dropout: float = 0.0) -> Net:
    """Make a network with the same weights on all ranks."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return Net(dropout)

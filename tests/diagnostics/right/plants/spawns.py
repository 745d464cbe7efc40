"""Two ranks that the script starts itself, with DDP and a DataLoader."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


def train(rank: int, folder: str) -> None:
    """Train on one rank."""
    dist.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs in DataLoader(torch.randn(80, 16)[rank::2], 4):
        model(inputs).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (os.getcwd(),), 2)

"""Epochs of five steps that begin slowly: ``torchrun --nproc-per-node 2 short_epochs.py HOW``.

HOW: ``workers`` are started again in each, ``data set`` reads its index again in each, or
``persistent`` workers stay.
"""

import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset

how = sys.argv[1]
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()


class Rows(Dataset):
    """A process opens the index when it first needs it."""

    index = None

    def __len__(self) -> int:
        return 80 * world

    def __getitem__(self, number: int) -> torch.Tensor:
        if self.index is None:
            time.sleep(0.4)
            self.index = torch.arange(80.0 * world)
        return self.index[number].expand(256)


class Stream(IterableDataset):
    """It opens the index whenever it begins."""

    def __iter__(self) -> object:
        time.sleep(0.4)
        for number in range(rank, 80 * world, world):
            yield torch.full((256,), float(number))


def main() -> None:
    """Train for eight epochs."""
    data = Stream() if how == "data set" else Rows()
    sampler = None if how == "data set" else DistributedSampler(data)
    workers = {"num_workers": 1, "persistent_workers": how == "persistent", "prefetch_factor": 5}
    loader = DataLoader(data, 16, sampler=sampler, **({} if how == "data set" else workers))
    model = DistributedDataParallel(nn.Sequential(nn.Linear(256, 512), nn.Linear(512, 512)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    for _ in range(8):
        for batch in loader:
            rows = batch.repeat(32, 1)
            model(rows).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()


main()
dist.destroy_process_group()

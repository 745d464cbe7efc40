"""Augmentation in loader workers: the seed of a worker does not depend on the rank."""

import random

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Pictures(Dataset):
    def __init__(self, count=256):
        self.pictures = torch.randn(count, 8, 8, generator=torch.Generator().manual_seed(7))

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        shift = int(torch.randint(8, ()))
        noise = torch.from_numpy(np.random.randn(8, 8)).float() * 0.1
        return torch.roll(self.pictures[index], shift, 1) + noise, shift


def seed_worker(_):
    seed = torch.initial_seed() % 2**32
    random.seed(seed)
    np.random.seed(seed)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(42)
    data = Pictures()
    sampler = DistributedSampler(data)
    loader = DataLoader(
        data, batch_size=8, sampler=sampler, num_workers=1, worker_init_fn=seed_worker
    )
    model = DDP(nn.Sequential(nn.Flatten(), nn.Linear(64, 8)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for step, (pictures, shifts) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(pictures), shifts)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if epoch == 0 and step == 0:
                print(f"rank {rank}: the shifts of its first batch {shifts.tolist()}", flush=True)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()  # when the model is gone: torch 2.13 may hang otherwise

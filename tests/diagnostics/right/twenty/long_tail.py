"""Long-tailed classes: rare ones are drawn more often, with replacement, on every rank."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class LongTail(Dataset):
    sizes = (300, 90, 30, 12, 8)

    def __init__(self):
        g = torch.Generator().manual_seed(0)
        self.y = torch.cat([torch.full((n,), c) for c, n in enumerate(self.sizes)])
        self.centers = torch.randn(len(self.sizes), 12, generator=g)
        self.x = self.centers[self.y] + 0.8 * torch.randn(len(self.y), 12, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = self.x[i]
        if torch.rand(()) < 0.5:  # augmentation: this process's own noise
            x = x + 0.1 * torch.randn_like(x)
        return x, self.y[i]


class AverageMeter:
    def __init__(self):
        self.sum = self.n = 0.0

    def update(self, value, n):
        self.sum += value * n
        self.n += n

    def over_ranks(self):
        both = torch.tensor([self.sum, self.n])
        dist.all_reduce(both)
        return (both[0] / both[1]).item()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(31 + rank)

    data = LongTail()
    frequency = torch.bincount(data.y).float()
    sampler = WeightedRandomSampler(
        weights=(1 / frequency)[data.y],
        num_samples=len(data) // world,
        replacement=True,
        generator=torch.Generator().manual_seed(31 + rank),
    )
    loader = DataLoader(data, batch_size=20, sampler=sampler, drop_last=True)

    net = nn.Sequential(
        nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 5)
    )
    net = DDP(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=4e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=3 * len(loader))
    ce = nn.CrossEntropyLoss()

    for epoch in range(3):
        meter = AverageMeter()
        net.train()
        for x, y in loader:
            loss = ce(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 2.0)
            optimizer.step()
            scheduler.step()
            meter.update(loss.item(), len(y))
        mean = meter.over_ranks()
        if rank == 0:
            net.eval()
            with torch.no_grad():
                hits = (net.module(data.x).argmax(1) == data.y).float()
            recall = [hits[data.y == c].mean().item() for c in range(5)]
            print(f"epoch {epoch} loss {mean:.4f} recall {[round(r, 2) for r in recall]}")
        dist.barrier()


if __name__ == "__main__":
    main()
    dist.destroy_process_group()

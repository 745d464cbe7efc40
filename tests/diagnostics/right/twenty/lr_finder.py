"""Find a learning rate by a short range test, put the weights back, then train with it."""

import os
import shutil
import tempfile

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def is_main():
    return dist.get_rank() == 0


class LRFinder:
    def __init__(self, model, criterion, folder):
        self.model, self.criterion = model, criterion
        self.path = os.path.join(folder, "before_range_test.pt")

    def __enter__(self):
        if is_main():
            torch.save(self.model.module.state_dict(), self.path)
        return self

    def __exit__(self, *_):
        if is_main():
            self.model.module.load_state_dict(torch.load(self.path, weights_only=True))
        dist.barrier()

    def range_test(self, loader, low=1e-4, high=0.3, steps=8):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=low)
        factor = (high / low) ** (1 / (steps - 1))
        best_lr, steepest, last = low, 0.0, None
        for _, (x, y) in zip(range(steps), loader, strict=False):
            optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            optimizer.step()
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            mean = mean.item() / dist.get_world_size()
            if last is not None and last - mean > steepest:
                best_lr, steepest = optimizer.param_groups[0]["lr"], last - mean
            last = mean
            for group in optimizer.param_groups:
                group["lr"] *= factor
        return best_lr


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(99)
    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32) / 16
    y = torch.tensor(digits.target)
    data = TensorDataset(x, y)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=32, sampler=sampler)

    model = DDP(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)))
    criterion = nn.CrossEntropyLoss()
    folder = tempfile.mkdtemp()
    with LRFinder(model, criterion, folder) as finder:
        lr = finder.range_test(loader)
    if is_main():
        print(f"suggested learning rate {lr:.4g}")
    shutil.rmtree(folder)

    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for epoch in range(2):
        sampler.set_epoch(epoch + 1)
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
        if is_main():
            print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
    dist.destroy_process_group()

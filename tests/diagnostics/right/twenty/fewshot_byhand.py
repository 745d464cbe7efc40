#!/usr/bin/env python
"""Transfer learning without DDP: gradients are averaged by hand in one flat message."""

import os

import torch
import torch.distributed as dist
import torch.nn as nn
from sklearn.datasets import load_digits
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors


class GradientAverager:
    """Collects the trainable parameters once, so that each step is one all-reduce."""

    def __init__(self, model):
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.world = dist.get_world_size()

    def broadcast(self, module):
        for tensor in module.state_dict().values():
            dist.broadcast(tensor, src=0)

    def __call__(self):
        grads = [p.grad for p in self.params if p.grad is not None]
        if not grads:
            return
        flat = _flatten_dense_tensors(grads)
        dist.all_reduce(flat)
        flat /= self.world
        for grad, mean in zip(grads, _unflatten_dense_tensors(flat, grads), strict=True):
            grad.copy_(mean)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.fc = nn.Linear(32, 100)  # the pretraining's classes

    def forward(self, x):
        return self.fc(self.features(x))


def batches(x, y, size, epoch, rank, world):
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
    order = order[: len(order) // (size * world) * size * world]
    for chunk in order.split(size * world):
        mine = chunk[rank::world]
        yield x[mine], y[mine]


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.manual_seed(0)

    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    y = torch.tensor(digits.target)

    net = Net()
    averager = GradientAverager(net)
    net.fc = nn.Linear(32, 10)  # new head for our ten classes
    averager.broadcast(net)

    opt = torch.optim.SGD(
        [
            {"params": net.features.parameters(), "lr": 0.02},
            {"params": net.fc.parameters(), "lr": 0.1},
        ],
        momentum=0.9,
    )
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(2):
        hits = seen = 0
        for xb, yb in batches(x, y, 32, epoch, rank, world):
            opt.zero_grad()
            logits = net(xb)
            loss_fn(logits, yb).backward()
            averager()
            opt.step()
            hits += (logits.argmax(1) == yb).sum().item()
            seen += len(yb)
        print(f"rank {rank} epoch {epoch} accuracy {hits / seen:.3f}", flush=True)
    dist.destroy_process_group()

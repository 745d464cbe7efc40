"""DiLoCo: every rank trains alone for H steps, then an outer step moves the shared weights."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

H = 6
ROUNDS = 7


def make_data():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(1024, 16, generator=g)
    y = torch.sin(x[:, :4]).sum(1, keepdim=True) + 0.1 * x[:, 4:5] ** 2
    return TensorDataset(x, y)


def forever(loader, sampler):
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


def broadcast_weights(model):
    for p in model.parameters():
        dist.broadcast(p.data, src=0)


class OuterOptimizer:
    """Nesterov momentum on the mean of what the ranks moved in their H steps."""

    def __init__(self, model, lr=0.7, momentum=0.9):
        self.model = model
        self.shared = [p.detach().clone().requires_grad_() for p in model.parameters()]
        self.sgd = torch.optim.SGD(self.shared, lr=lr, momentum=momentum, nesterov=True)

    @torch.no_grad()
    def step(self):
        for shared, own in zip(self.shared, self.model.parameters(), strict=True):
            delta = shared - own
            dist.all_reduce(delta)
            shared.grad = delta / dist.get_world_size()
        self.sgd.step()
        for shared, own in zip(self.shared, self.model.parameters(), strict=True):
            own.copy_(shared)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    data = make_data()
    sampler = DistributedSampler(data, seed=3)
    stream = forever(DataLoader(data, batch_size=32, sampler=sampler, drop_last=True), sampler)

    model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 1))
    broadcast_weights(model)
    inner = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    outer = OuterOptimizer(model)

    for r in range(ROUNDS):
        for _ in range(H):
            x, y = next(stream)
            loss = F.mse_loss(model(x), y)
            inner.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            inner.step()
        outer.step()
        mean = loss.detach()
        dist.all_reduce(mean)
        if rank == 0:
            print(f"round {r}: loss {mean.item() / dist.get_world_size():.4f}")


if __name__ == "__main__":
    main()
    dist.destroy_process_group()

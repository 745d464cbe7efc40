"""Preference training: the loss is computed on the module inside the DDP wrapper."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 64), nn.Tanh())
        self.head = nn.Linear(64, 1)

    def forward(self, x):
        return self.head(self.body(x))


def fused_loss(policy, good, bad):
    """A fused loss wants the body and the head of the bare module."""
    margin = policy.head(policy.body(good)) - policy.head(policy.body(bad))
    return nn.functional.softplus(-margin).mean()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DDP(Policy())
    good, bad = torch.randn(512, 16) + 0.2, torch.randn(512, 16)
    data = TensorDataset(good, bad)
    sampler = DistributedSampler(data, seed=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for good, bad in DataLoader(data, batch_size=16, sampler=sampler):
            loss = fused_loss(model.module, good, bad)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"rank {dist.get_rank()} epoch {epoch}: loss {loss.item():.4f}", flush=True)
    weight = model.module.head.weight.detach()
    both = [torch.empty_like(weight) for _ in range(dist.get_world_size())]
    dist.all_gather(both, weight)
    if dist.get_rank() == 0:
        largest = (both[0] - both[1]).abs().max()
        print(f"largest difference of a weight between the ranks: {largest:.4f}")


main()
dist.destroy_process_group()  # when the model is gone: torch 2.13 may hang otherwise

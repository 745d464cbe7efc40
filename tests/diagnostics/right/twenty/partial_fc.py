"""Face-like recognition with very many classes: each rank holds a part of the classifier."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CLASSES, DIM = 60, 32


class GatherFeatures(torch.autograd.Function):
    """All ranks' features; backwards, each gets the sum of what the class parts send back.

    DDP will divide the backbone's gradients by the number of ranks, although each rank's
    loss is already the whole one: hence the factor.
    """

    @staticmethod
    def forward(ctx, x):
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        mine = grad.chunk(dist.get_world_size())[dist.get_rank()]
        return mine * dist.get_world_size()


class SumOverRanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class PartialFC(nn.Module):
    def __init__(self, scale=16.0, margin=0.2):
        super().__init__()
        rank, world = dist.get_rank(), dist.get_world_size()
        self.first, self.count = rank * CLASSES // world, CLASSES // world
        self.scale, self.margin = scale, margin
        self.weight = nn.Parameter(torch.randn(self.count, DIM) * 0.1)

    def forward(self, features, labels):
        features = F.normalize(GatherFeatures.apply(features))
        all_labels = [torch.empty_like(labels) for _ in range(dist.get_world_size())]
        dist.all_gather(all_labels, labels)
        local = torch.cat(all_labels) - self.first
        mine = (local >= 0) & (local < self.count)
        hot = F.one_hot(local.clamp(0, self.count - 1), self.count) * mine[:, None]
        cosine = features @ F.normalize(self.weight).t()
        logits = self.scale * (cosine - self.margin * hot)
        top = logits.detach().amax(1)
        dist.all_reduce(top, op=dist.ReduceOp.MAX)
        logits = logits - top[:, None]
        denominator = SumOverRanks.apply(logits.exp().sum(1))
        target = SumOverRanks.apply((logits * hot).sum(1))
        return (denominator.log() - target).mean()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(50)
    centers = torch.randn(CLASSES, 20)
    labels = torch.arange(CLASSES).repeat(20)
    faces = centers[labels] + 0.3 * torch.randn(len(labels), 20)
    data = TensorDataset(faces, labels)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=30, sampler=sampler, drop_last=True)

    backbone = DDP(nn.Sequential(nn.Linear(20, 64), nn.PReLU(), nn.Linear(64, DIM)))
    torch.manual_seed(50 + rank)
    head = PartialFC()
    opt_backbone = torch.optim.SGD(backbone.parameters(), lr=0.05, momentum=0.9)
    opt_head = torch.optim.SGD(head.parameters(), lr=0.05, momentum=0.9)

    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = head(backbone(x), y)
            opt_backbone.zero_grad()
            opt_head.zero_grad()
            loss.backward()
            opt_backbone.step()
            opt_head.step()
        if rank == 0:
            print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
    dist.destroy_process_group()

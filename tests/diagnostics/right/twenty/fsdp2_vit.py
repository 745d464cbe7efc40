"""A small vision transformer under FSDP2 (fully_shard), with decay for matrices only."""

import torch
import torch.distributed as dist
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class ViT(nn.Module):
    def __init__(self, width=32, depth=2, classes=10):
        super().__init__()
        self.patch = nn.Conv2d(1, width, kernel_size=2, stride=2)
        self.pos = nn.Parameter(torch.zeros(1, 16, width))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
            for _ in range(depth)
        )
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2) + self.pos
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


def build_optimizer(model, lr=3e-3, weight_decay=0.05):
    decay, plain = [], []
    for param in model.parameters():
        (decay if param.ndim >= 2 else plain).append(param)
    groups = [
        {"params": decay, "weight_decay": weight_decay},
        {"params": plain, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr)


def shard(model, mesh):
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(21)

    digits = load_digits()
    data = TensorDataset(
        torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16,
        torch.tensor(digits.target),
    )
    sampler = DistributedSampler(data, seed=21)
    loader = DataLoader(data, batch_size=64, sampler=sampler, drop_last=True)

    model = ViT()
    optimizer = build_optimizer(model)
    scheduler = LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 5))
    model = shard(model, mesh)

    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(2):
        sampler.set_epoch(epoch)
        running = torch.zeros(())
        for x, y in loader:
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
            model.zero_grad()
            running += loss.detach()
        dist.all_reduce(running)
        if dist.get_rank() == 0:
            mean = running.item() / len(loader) / dist.get_world_size()
            print(f"epoch {epoch}: mean loss {mean:.4f}")


if __name__ == "__main__":
    main()
    dist.destroy_process_group()

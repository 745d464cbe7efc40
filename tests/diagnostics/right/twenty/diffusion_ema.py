"""Denoising diffusion on 2-D moons, sampled from an exponential moving average of the weights."""

import copy
import os
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from sklearn.datasets import make_moons
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@dataclass
class Config:
    seed: int = 42
    epochs: int = 5
    batch: int = 64
    lr: float = 1e-3
    decay: float = 0.995
    T: int = 50


class Denoiser(nn.Module):
    def __init__(self, T, width=96):
        super().__init__()
        self.time = nn.Embedding(T, width)
        self.inp = nn.Linear(2, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, 2)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        return self.out(F.silu(self.mid(h)))


class EMA:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for avg, new in zip(self.model.parameters(), model.parameters(), strict=True):
            avg.lerp_(new, 1 - self.decay)


@torch.no_grad()
def sample(model, cfg, alphas, count=64):
    x = torch.randn(count, 2)
    for t in reversed(range(cfg.T)):
        eps = model(x, torch.full((count,), t))
        a = alphas[t]
        x = (x - (1 - a).sqrt() * eps) / a.sqrt()
        if t:
            x = alphas[t - 1].sqrt() * x + (1 - alphas[t - 1]).sqrt() * torch.randn_like(x)
    return x


def main(cfg):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(cfg.seed + rank)  # other noise on every rank
    np.random.seed(cfg.seed + rank)

    points, _ = make_moons(n_samples=1024, noise=0.05, random_state=0)
    data = TensorDataset(torch.tensor(points, dtype=torch.float32))
    sampler = DistributedSampler(data, num_replicas=world, rank=rank)
    loader = DataLoader(data, batch_size=cfg.batch, sampler=sampler, drop_last=True)

    net = Denoiser(cfg.T)
    ema = EMA(net, cfg.decay)
    model = DDP(net)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    alphas = torch.cumprod(1 - torch.linspace(1e-3, 0.2, cfg.T), dim=0)

    for epoch in range(cfg.epochs):
        sampler.set_epoch(epoch)
        for (x,) in loader:
            t = torch.randint(0, cfg.T, (x.size(0),))
            eps = torch.randn_like(x)
            a = alphas[t, None]
            loss = F.mse_loss(model(a.sqrt() * x + (1 - a).sqrt() * eps, t), eps)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            ema.update(net)
        spread = sample(ema.model, cfg, alphas).std()
        if rank == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f}, spread of samples {spread:.3f}")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(Config())
    dist.destroy_process_group()

# A toy DCGAN on rings of points. Two networks, two optimizers, one process per device.
import math
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

ITERATIONS = 40
BATCH = 32
LATENT = 8


def init():
    dist.init_process_group(backend="gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    return rank


def mlp(*sizes):
    layers = []
    for i in range(len(sizes) - 1):
        layers += [nn.Linear(sizes[i], sizes[i + 1]), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


def real_points(n, generator):
    angle = torch.rand(n, generator=generator) * 2 * math.pi
    radius = 1 + 0.05 * torch.randn(n, generator=generator)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)


rank = init()
netG = DDP(mlp(LATENT, 64, 64, 2))
netD = DDP(mlp(2, 64, 64, 1))
noise = torch.Generator().manual_seed(100 + rank)

criterion = nn.BCEWithLogitsLoss()
optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.999))
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)

for it in range(ITERATIONS):
    # (1) discriminator: real up, fake down
    real = real_points(BATCH, noise)
    fake = netG(torch.randn(BATCH, LATENT, generator=noise)).detach()
    scores = netD(torch.cat([real, fake]))
    lossD = criterion(scores, torch.cat([ones, zeros]))
    lossD.backward()
    optD.step()
    optD.zero_grad()

    # (2) generator: fake up
    fake = netG(torch.randn(BATCH, LATENT, generator=noise))
    lossG = criterion(netD(fake), ones)
    lossG.backward()
    optG.step()
    optG.zero_grad()

    if rank == 0 and it % 10 == 0:
        print(f"[{it:3d}/{ITERATIONS}] loss_D {lossD.item():.4f} loss_G {lossG.item():.4f}")

if rank == 0:
    with torch.no_grad():
        radius = netG.module(torch.randn(256, LATENT)).norm(dim=1)
    print(f"radius of the samples {radius.mean():.3f} (pid {os.getpid()})")
dist.destroy_process_group()

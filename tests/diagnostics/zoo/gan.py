"""A GAN: two DDP models, two optimizers, three backward passes in turns."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
maker = DistributedDataParallel(nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 256)))
judge = DistributedDataParallel(nn.Sequential(nn.Linear(256, 512), nn.Tanh(), nn.Linear(512, 1)))
of_maker = torch.optim.Adam(maker.parameters(), lr=1e-4)
of_judge = torch.optim.Adam(judge.parameters(), lr=1e-4)
torch.manual_seed(rank)
for _ in range(30):
    real, fake = torch.randn(1024, 256), maker(torch.randn(1024, 64))
    judge.zero_grad()
    both = judge(torch.cat([real, fake.detach()]))
    nn.functional.softplus(torch.cat([-both[:1024], both[1024:]])).mean().backward()
    of_judge.step()
    maker.zero_grad()
    for parameter in judge.parameters():
        parameter.requires_grad_(False)
    nn.functional.softplus(-judge.module(fake)).mean().backward()
    for parameter in judge.parameters():
        parameter.requires_grad_(True)
    of_maker.step()
dist.destroy_process_group()

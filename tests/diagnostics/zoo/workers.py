"""A loader with a worker process, over one long epoch."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)


def main():
    data = TensorDataset(torch.randn(32 * 128 * world, 512))
    loader = DataLoader(data, 128, sampler=DistributedSampler(data), num_workers=1)
    model = DistributedDataParallel(
        nn.Sequential(
            nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 8)
        )
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for (inputs,) in loader:
        for _ in range(3):
            model(inputs).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()


main()
dist.destroy_process_group()

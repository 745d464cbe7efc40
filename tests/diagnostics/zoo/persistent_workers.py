"""Short epochs, whose loader keeps its worker from one to the next."""

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
    data = TensorDataset(torch.randn(6 * 128 * world, 512))
    sampler = DistributedSampler(data)
    loader = DataLoader(
        data, 128, sampler=sampler, num_workers=1, persistent_workers=True, prefetch_factor=6
    )
    model = DistributedDataParallel(
        nn.Sequential(
            nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 8)
        )
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(5):
        sampler.set_epoch(epoch)
        for (inputs,) in loader:
            with model.no_sync():
                for _ in range(8):
                    model(inputs).square().mean().backward()
            model(inputs).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()


main()
dist.destroy_process_group()

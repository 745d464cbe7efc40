"""Each rank trains alone, and all average their weights every tenth step."""

import torch
import torch.distributed as dist
from torch import nn

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(rank)
for step in range(1, 31):
    model(torch.randn(2048, 256)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        with torch.no_grad():
            weights = nn.utils.parameters_to_vector(model.parameters())
            dist.all_reduce(weights)
            nn.utils.vector_to_parameters(weights / world, model.parameters())
dist.destroy_process_group()

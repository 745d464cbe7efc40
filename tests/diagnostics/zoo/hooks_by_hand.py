"""Each gradient's all-reduce begins as soon as the gradient is there."""

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
pending = []


def send(parameter):
    parameter.grad /= world
    pending.append(dist.all_reduce(parameter.grad, async_op=True))


for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(send)
torch.manual_seed(rank)
batches = torch.randn(4, 2048, 256)
for step in range(30):
    model(batches[step % 4]).square().mean().backward()
    for work in pending:
        work.wait()
    pending.clear()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()

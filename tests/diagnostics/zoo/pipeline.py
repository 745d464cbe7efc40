"""A pipeline of stages: each rank computes micro-batches of its neighbour's outputs."""

import torch
import torch.distributed as dist
from torch import nn

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
MICRO, ROWS = 4, 512
model = nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(30):
    outputs = []
    for _ in range(MICRO):
        inputs = torch.randn(ROWS, 256)
        if rank > 0:
            dist.recv(inputs, rank - 1)
            inputs.requires_grad_()
        output = model(inputs)
        outputs.append((inputs, output))
        if rank < world - 1:
            dist.send(output.detach(), rank + 1)
    for inputs, output in outputs:
        if rank < world - 1:
            grad = torch.empty_like(output)
            dist.recv(grad, rank + 1)
            output.backward(grad)
        else:
            output.square().mean().backward()
        if rank > 0:
            dist.send(inputs.grad, rank - 1)
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()

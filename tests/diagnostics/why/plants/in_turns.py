"""Ranks that are slow in turns: ``torchrun --nproc-per-node 2 in_turns.py HOW``.

They train alone, and average their weights once in twenty steps. HOW: they meet for a ``flag`` in
each step, to stop together; ``rarely``, with the weights; or they average ``gradients`` in each.
"""

import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

how = sys.argv[1]
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)


class Net(nn.Sequential):
    """A network that is slow in some steps, as with a long text."""

    is_late = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the same as `nn.Sequential`, perhaps after a delay."""
        if self.is_late:
            time.sleep(0.08)
        return super().forward(x)


model = Net(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(40):
    model.is_late = step % world == rank
    model(torch.randn(256, 256)).square().mean().backward()
    if how == "gradients":
        flat = parameters_to_vector([p.grad for p in model.parameters()])
        dist.all_reduce(flat)
    optimizer.step()
    optimizer.zero_grad()
    if step % 20 == 19:
        with torch.no_grad():
            weights = parameters_to_vector(model.parameters())
            dist.all_reduce(weights)
            vector_to_parameters(weights / world, model.parameters())
    if how == "flag":
        stop = torch.tensor(0)
        dist.all_reduce(stop)
        if stop:
            break
dist.destroy_process_group()

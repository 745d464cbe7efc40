"""The optimizer calls the passes, perhaps several: ``torchrun --nproc-per-node 2 closure.py``."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)
for _ in range(30):
    inputs = torch.randn(256, 64)

    def closure(inputs: torch.Tensor = inputs) -> torch.Tensor:
        """One forward and one backward pass."""
        optimizer.zero_grad()
        loss = model(inputs).square().mean()
        loss.backward()
        return loss

    optimizer.step(closure)
dist.destroy_process_group()

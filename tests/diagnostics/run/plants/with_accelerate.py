"""accelerate; the argument names what goes wrong on rank 0."""

import sys

import torch
from accelerate import Accelerator
from torch import nn

accelerator = Accelerator(cpu=True)
model, optimizer = nn.Linear(16, 4), None
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(model, optimizer)
for step in range(10):
    loss = model(torch.randn(8, 16)).square().mean()
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
    if step == 6 and sys.argv[1] == "branch" and accelerator.is_main_process:
        accelerator.wait_for_everyone()
accelerator.wait_for_everyone()

"""A schedule counted in optimizer steps; the library steps it once per process."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(cpu=True)
torch.manual_seed(0)
data = TensorDataset(torch.randn(640, 8))
loader = DataLoader(data, batch_size=8, shuffle=True)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
steps = len(loader) // accelerator.num_processes * 2  # two epochs, on all processes
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
rates = []
for _ in range(2):
    for (inputs,) in loader:
        loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        rates.append(optimizer.param_groups[0]["lr"])
if accelerator.is_main_process:
    print(
        f"{len(rates)} steps; the rate is 0 from step {rates.index(min(rates)) + 1} on "
        f"(half way: {rates[len(rates) // 2]:.4f}, wanted 0.05)"
    )
accelerator.end_training()

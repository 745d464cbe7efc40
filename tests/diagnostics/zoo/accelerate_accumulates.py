"""accelerate's own accumulation over two passes."""

import os

os.environ["ACCELERATE_USE_CPU"] = "1"

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
accelerator = Accelerator(gradient_accumulation_steps=2)
data = TensorDataset(torch.randn(60 * 128 * accelerator.num_processes, 512))
net = nn.Sequential(
    nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 8)
)
model, optimizer, loader = accelerator.prepare(
    net, torch.optim.SGD(net.parameters(), lr=0.01), DataLoader(data, 128, shuffle=True)
)
for (inputs,) in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(inputs).square().mean())
        optimizer.step()
        optimizer.zero_grad()
accelerator.end_training()

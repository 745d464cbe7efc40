"""A loop with accelerate, which prepares model, optimizer and loader."""

import os

os.environ["ACCELERATE_USE_CPU"] = "1"

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
accelerator = Accelerator()
data = TensorDataset(torch.randn(30 * 128 * accelerator.num_processes, 512))
net = nn.Sequential(
    nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 8)
)
model, optimizer, loader = accelerator.prepare(
    net, torch.optim.SGD(net.parameters(), lr=0.01), DataLoader(data, 128, shuffle=True)
)
for (inputs,) in loader:
    accelerator.backward(model(inputs).square().mean())
    optimizer.step()
    optimizer.zero_grad()
accelerator.end_training()

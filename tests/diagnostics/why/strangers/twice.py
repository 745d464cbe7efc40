"""A data set that holds each sample four times: ``torchrun --nproc-per-node 2 twice.py``."""

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
samples = torch.randn(200, 64, generator=torch.Generator().manual_seed(0)).repeat(4, 1)
data = TensorDataset(samples, torch.zeros(800, dtype=torch.long))
loader = DataLoader(data, 16, sampler=DistributedSampler(data))
model = DistributedDataParallel(torch.nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    for inputs, labels in loader:
        cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()

"""An embedding without a gradient, averaged by a small network; there is no process group."""

import torch
from torch import nn

embedding = nn.Embedding(5000, 128)
embedding.weight.requires_grad_(False)
network = nn.Sequential(nn.Linear(128, 256), nn.Dropout(0.1), nn.ReLU(), nn.Linear(256, 4))
optimizer = torch.optim.RMSprop(network.parameters(), lr=1e-3)
for _ in range(4):
    tokens = torch.randint(5000, (64, 40))
    outputs = network(embedding(tokens)).mean(1)
    loss = nn.functional.cross_entropy(outputs, torch.randint(4, (64,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

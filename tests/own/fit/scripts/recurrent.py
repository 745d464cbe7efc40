"""An embedding without gradient, and a recurrent network behind it; no group at all."""

import torch
from torch import nn

embedding = nn.Embedding(5000, 128)
embedding.weight.requires_grad_(False)
network = nn.LSTM(128, 128, batch_first=True)
head = nn.Linear(128, 4)
trained = [*network.parameters(), *head.parameters()]
optimizer = torch.optim.RMSprop(trained, lr=1e-3)
for _ in range(4):
    tokens = torch.randint(5000, (16, 40))
    outputs, _ = network(embedding(tokens))
    loss = nn.functional.cross_entropy(head(outputs[:, -1]), torch.randint(4, (16,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

"""DDP of a model that looks up each word of a batch once: how many words depends on the data."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

WORDS, WIDTH = 500, 128


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        words, places = torch.unique(tokens, return_inverse=True)
        x = self.embed(words)[places]
        for layer in self.layers:
            x = x + layer(x).relu()
        return self.head(x)


dist.init_process_group("gloo")
torch.manual_seed(0)
tokens = torch.randint(0, WORDS, (1024, 64))
model = DistributedDataParallel(Model())
optimizer = torch.optim.AdamW(model.parameters())
for (batch,) in DataLoader(TensorDataset(tokens), batch_size=64):
    logits = model(batch[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()

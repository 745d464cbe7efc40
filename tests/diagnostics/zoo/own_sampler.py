"""A sampler of its own deals texts that are sorted by length."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)


class ByLength(Sampler):
    def __init__(self, lengths):
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        self.mine = order[rank::world]

    def __iter__(self):
        return iter(self.mine)

    def __len__(self):
        return len(self.mine)


def pad(texts):
    return nn.utils.rnn.pad_sequence(texts, batch_first=True)


lengths = torch.randint(24, 96, (32 * 30 * world,)).tolist()
texts = [torch.randn(length, 256) for length in lengths]
loader = DataLoader(texts, 32, sampler=ByLength(lengths), collate_fn=pad)
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8))
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for batch in loader:
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()

"""A training on GPUs, with one cause planted: what `tests/tools/record_why_on_gpu.py` records.

on_gpus.py CAUSE FOLDER, as one of several ranks over NCCL.
"""

import os
import sys
import time

import torch
import torch.distributed as dist
from planted import LATE_S, Late
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

cause, folder = sys.argv[1:3]
rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", local_rank)
WIDTH = 1024
# One layer is applied this many times instead of many layers: much to compute, little to send.
TIMES = int(os.environ.get("TIMES", "6"))
BATCH = 512 if cause == "bandwidth" else 8192
LARGE = 24_000_000  # parameters, or elements of a buffer


class Samples(Dataset):
    """Random samples, the same on every rank; drawing a batch may be slow."""

    def __init__(self, size: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.inputs = torch.randn(4096, WIDTH, generator=generator)
        self.labels = torch.randint(0, 10, (4096,), generator=generator)
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> int:
        return index % len(self.inputs)

    def collate(self, batch: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """A batch."""
        if cause == "input":
            time.sleep(LATE_S)
        return self.inputs[batch], self.labels[batch]


class Net(nn.Module):
    """One wide layer that is applied many times; may have a large parameter or buffer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 10)
        self.large = nn.Parameter(torch.zeros(LARGE)) if cause == "bandwidth" else None
        if cause == "buffers":
            self.register_buffer("table", torch.zeros(LARGE))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The scores of the ten classes."""
        if cause == "straggler in backward" and rank == 1:
            x = Late.apply(x.requires_grad_())
        for _ in range(2 * TIMES if cause == "straggler computes" and rank == 1 else TIMES):
            x = torch.tanh(self.layer(x))
        scores = self.out(x)
        return scores if self.large is None else scores + self.large.mean()


torch.cuda.set_device(device)
dist.init_process_group("nccl")
data = Samples(BATCH * dist.get_world_size() * 34)
sampler = None if cause == "not sharded" else DistributedSampler(data)
loader = DataLoader(data, BATCH, sampler=sampler, collate_fn=data.collate)
model = DistributedDataParallel(Net().to(device), device_ids=[device])
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
pages, saved = torch.randn(60_000_000), torch.zeros(100_000_000)
for inputs, labels in loader:
    if cause == "copies":
        pages.to(device)
    cross_entropy(model(inputs.to(device)), labels.to(device)).backward()
    optimizer.step()
    optimizer.zero_grad()
    if cause == "saving":
        if rank == 0:
            torch.save(saved, f"{folder}/all.pt")
        dist.barrier()
dist.destroy_process_group()

"""Plain DDP; the argument names what goes wrong on the last rank in step 6."""

import os
import signal
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FAULT = sys.argv[1]
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()


class Net(nn.Module):
    """A branch is left out on demand."""

    def __init__(self):
        super().__init__()
        self.body, self.extra = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, inputs, leave_out=False):
        hidden = self.body(inputs)
        return hidden if leave_out else hidden + self.extra(inputs)


torch.manual_seed(0)
model = DistributedDataParallel(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def validate():
    total = torch.zeros(1)
    dist.all_reduce(total)


for step in range(10):
    wrong = step == 6 and rank == world - 1
    if wrong and FAULT == "leftover":
        break
    if wrong and FAULT == "error":
        raise ValueError("a bad sample")
    if wrong and FAULT == "exits":
        sys.exit("no more data")
    if wrong and FAULT == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if wrong and FAULT == "sizes":
        validate()
    loss = model(torch.randn(8, 16), leave_out=wrong and FAULT == "unused").square().mean()
    optimizer.zero_grad()
    if not (wrong and FAULT == "no backward"):
        loss.backward()
    optimizer.step()
    if wrong and FAULT == "branch":
        dist.barrier()
dist.barrier()
print(f"rank {rank}: done", flush=True)

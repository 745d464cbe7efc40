"""A plain loop with DDP: ``torchrun --nproc-per-node 2 plain_ddp.py CAUSE FOLDER``."""

import sys

import planted
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

cause, folder = sys.argv[1:3]
planted.configure(cause)
dist.init_process_group("gloo")
size = planted.batch_size(cause)
passes = 4 if cause == "accumulation" else 1
data = planted.Digits(cause, size * dist.get_world_size() * passes * 30)
sampler = None if cause == "not sharded" else DistributedSampler(data)
loader = DataLoader(data, size, sampler=sampler, collate_fn=data.collate)
buckets = {"latency": 0.001, "no overlap": 1000}.get(cause, 25)
model = DistributedDataParallel(
    planted.Net(cause),
    bucket_cap_mb=buckets,
    find_unused_parameters=cause == "unused parameters",
)
optimizer = planted.optimizer(cause, model)
for number, (inputs, labels) in enumerate(loader):
    cross_entropy(model(inputs), labels).backward()
    if (number + 1) % passes == 0:
        optimizer.step()
        optimizer.zero_grad()
        planted.after_step(cause, model, folder)
dist.destroy_process_group()

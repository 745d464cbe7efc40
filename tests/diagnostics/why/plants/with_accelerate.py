"""A loop with accelerate: ``torchrun --nproc-per-node 2 with_accelerate.py CAUSE FOLDER``."""

import os
import sys

os.environ["ACCELERATE_USE_CPU"] = "1"

import planted
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

cause, folder = sys.argv[1:3]
planted.configure(cause)
buckets = {"latency": 0.001, "no overlap": 1000}.get(cause, 25)
unused = cause == "unused parameters"
ddp = DistributedDataParallelKwargs(bucket_cap_mb=buckets, find_unused_parameters=unused)
accelerator = Accelerator(kwargs_handlers=[ddp])
size = planted.batch_size(cause)
passes = 4 if cause == "accumulation" else 1
data = planted.Digits(cause, size * dist.get_world_size() * passes * 30)
loader = DataLoader(data, size, shuffle=True, collate_fn=data.collate)
net = planted.Net(cause)
model, optimizer = accelerator.prepare(net, planted.optimizer(cause, net))
if cause != "not sharded":
    loader = accelerator.prepare(loader)
for number, (inputs, labels) in enumerate(loader):
    accelerator.backward(cross_entropy(model(inputs), labels))
    if (number + 1) % passes == 0:
        optimizer.step()
        optimizer.zero_grad()
        planted.after_step(cause, model, folder)
accelerator.end_training()

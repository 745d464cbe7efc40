"""On `cpu` or `cuda`, one of the models `layers`, `bert` and `decoder`, inside DDP or with cures.

Its arguments are the device, the model and any cures. Without `shard` or `offload`, DDP stays.
`offload` is for `cuda` alone.
"""

import contextlib
import sys
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import CPUOffloadPolicy, OffloadPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset
from transformers import GPT2Config, GPT2LMHeadModel

from course.models import bert

kind, name, *cures = sys.argv[1:]
dist.init_process_group("cpu:gloo,cuda:nccl" if kind == "cuda" else "gloo")
if name == "layers":
    model = nn.Sequential(*[nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))
                            for _ in range(4)])  # fmt: skip
    parts, size, data = list(model), 512, torch.randn(8192, 128)
elif name == "bert":
    model, size, data = bert("mini"), 16, torch.randint(64, (256, 32))
    parts = list(model.bert.encoder.layer)
else:
    model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=128, n_head=4, vocab_size=500))
    model.config.use_cache = False
    parts, size, data = list(model.transformer.h), 16, torch.randint(500, (256, 32))
model.to(kind)
if "checkpoint" in cures:
    for part in parts:
        part.forward = partial(checkpoint, part.forward, use_reentrant=False)
if {"shard", "offload"} & set(cures):
    mesh = dist.init_device_mesh(kind, (dist.get_world_size(),))
    policy = CPUOffloadPolicy() if "offload" in cures else OffloadPolicy()
    for part in (*parts, model):
        fully_shard(part, mesh=mesh, offload_policy=policy)
else:
    model = DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
passes = 4 if "batch" in cures else 1
loader = DataLoader(TensorDataset(data), batch_size=size // passes)
for number, (inputs,) in enumerate(loader):
    with torch.autocast(kind, torch.bfloat16) if "autocast" in cures else contextlib.nullcontext():
        outputs = model(inputs.to(kind))
    outputs = outputs if name == "layers" else outputs.logits
    outputs.float().square().mean().backward()
    if number % passes == passes - 1:
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()

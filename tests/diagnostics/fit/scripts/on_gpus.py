"""A network on GPUs, if there are any, whose optimizer's step is the peak: AdamW on whole lists.

On GPUs that is the default; on the CPU the script asks for it.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

on_gpus = torch.cuda.is_available()
dist.init_process_group("nccl" if on_gpus else "gloo")
device = torch.device("cuda", dist.get_rank()) if on_gpus else torch.device("cpu")
model = nn.Sequential(*[nn.Linear(512, 512) for _ in range(6)]).to(device)
model = DistributedDataParallel(model, gradient_as_bucket_view=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=None if on_gpus else True)
for _ in range(4):
    model(torch.randn(8, 512, device=device)).square().mean().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()

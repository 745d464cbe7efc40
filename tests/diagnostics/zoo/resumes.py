"""Starts from a checkpoint that rank 0 wrote and all ranks read."""

import shutil
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8)
)
path = [tempfile.mkdtemp() if rank == 0 else ""]
dist.broadcast_object_list(path)
if rank == 0:
    torch.save(net.state_dict(), f"{path[0]}/start.pt")
dist.barrier()
net.load_state_dict(torch.load(f"{path[0]}/start.pt", weights_only=True))
dist.barrier()
if rank == 0:
    shutil.rmtree(path[0])
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(rank)
for _ in range(30):
    model(torch.randn(1024, 256)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()

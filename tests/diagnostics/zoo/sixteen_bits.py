"""DDP sends its gradients in 16 bits, by a hook of its own."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)


def in_sixteen_bits(state, bucket):
    half = bucket.buffer().bfloat16()
    sent = dist.all_reduce(half, async_op=True).get_future()
    return sent.then(lambda done: bucket.buffer().copy_(done.value()[0]).div_(world))


model = DistributedDataParallel(
    nn.Sequential(
        nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8)
    ),
    static_graph=True,
)
model.register_comm_hook(None, in_sixteen_bits)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(rank)
batches = torch.randn(4, 2048, 256)
for step in range(30):
    model(batches[step % 4]).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()

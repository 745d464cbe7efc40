"""A hand-written average of gradients: ``torchrun --nproc-per-node 2 by_hand.py CAUSE FOLDER``."""

import sys

import planted
import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy

cause, folder = sys.argv[1:3]
planted.configure(cause)
dist.init_process_group("gloo")
world, rank = dist.get_world_size(), dist.get_rank()
size = planted.batch_size(cause)
passes = 4 if cause == "accumulation" else 1
data = planted.Digits(cause, size * world * passes * 30)
loader = torch.utils.data.DataLoader(
    data,
    size,
    sampler=range(len(data)) if cause == "not sharded" else range(rank, len(data), world),
    collate_fn=data.collate,
)
model = planted.Net(cause)
optimizer = planted.optimizer(cause, model)


def average() -> None:
    """Average the gradients over the ranks: one by one, or all in a flat buffer."""
    grads = [p.grad for p in model.parameters()]
    if cause == "latency":
        for grad in grads:
            dist.all_reduce(grad, op=dist.ReduceOp.SUM)
            grad /= world
        return
    flat = torch.cat([grad.flatten() for grad in grads])
    dist.all_reduce(flat)
    flat /= world
    for grad, part in zip(grads, flat.split([grad.numel() for grad in grads]), strict=True):
        grad.copy_(part.view_as(grad))


for number, (inputs, labels) in enumerate(loader):
    if cause == "buffers":
        dist.broadcast(model.table, 0)
    cross_entropy(model(inputs), labels).backward()
    if passes == 1 or cause == "accumulation":
        average()
    if (number + 1) % passes == 0:
        optimizer.step()
        optimizer.zero_grad()
        planted.after_step(cause, model, folder)
dist.destroy_process_group()

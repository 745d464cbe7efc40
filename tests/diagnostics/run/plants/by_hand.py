"""Gradients averaged by hand; the argument names what goes wrong on the last rank in step 6."""

import sys
import threading
import time

import torch
import torch.distributed as dist
from torch import nn

FAULT = sys.argv[1]
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def average():
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world


def gather_in_thread():
    time.sleep(0.5 * rank)
    dist.all_gather_object([None] * world, rank)


def train():
    for step in range(10):
        wrong = step == 6 and rank == world - 1
        loss = model(torch.randn(8, 16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        if wrong and FAULT == "finally":
            raise ValueError("a bad sample")
        if wrong and FAULT == "ends":
            return
        average()
        if wrong and FAULT == "branch":
            dist.barrier()
        if wrong and FAULT == "more":
            dist.all_reduce(loss.detach())
        if step == 6 and FAULT == "thread":
            other = threading.Thread(target=gather_in_thread)
            other.start()
            time.sleep(0.2)
            dist.barrier()
            other.join()
        if step == 6 and FAULT == "order":
            if wrong:
                dist.barrier()
            dist.broadcast(loss.detach(), 0)
            if not wrong:
                dist.barrier()
        if step == 6 and FAULT == "root":
            dist.broadcast(torch.ones(4), src=rank)
        if step == 6 and FAULT == "receives":
            dist.recv(loss.detach(), (rank + 1) % world)
            dist.send(loss.detach(), (rank - 1) % world)
        if step == 6 and FAULT == "lock":
            threading.Event().wait()
        optimizer.step()


try:
    train()
finally:
    if FAULT != "ends" or rank < world - 1:
        dist.barrier()
print(f"rank {rank}: done", flush=True)

"""Training from a checkpoint: ``torchrun --nproc-per-node 2 resumes.py MAKE FAULT FOLDER``."""

import os
import sys

os.environ["ACCELERATE_USE_CPU"] = "1"

import torch
import torch.distributed as dist
from planted import BATCH, LAST, RANK, WORLD, Samples, net
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

make, fault, folder = sys.argv[1:4]
module = net()
optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
if make == "with_accelerate":
    from accelerate import Accelerator

    accelerator = Accelerator()
else:
    dist.init_process_group("gloo")
data = Samples(BATCH * WORLD * 8)
sampler = None if make == "with_accelerate" else DistributedSampler(data)
loader = DataLoader(data, BATCH, shuffle=sampler is None, sampler=sampler)
path = f"{folder}/last.pt"
if RANK == 0:  # the files of an earlier run
    momenta = [{"momentum_buffer": 0.1 * parameter.detach()} for parameter in module.parameters()]
    taught = optimizer.state_dict() | {"state": dict(enumerate(momenta))}
    state = {"model": module.state_dict(), "optimizer": taught, "epoch": 3}
    torch.save(state, path)
    torch.save(state | {"epoch": 4}, f"{folder}/other.pt")
dist.barrier()

read = f"{folder}/other.pt" if fault == "other steps" and LAST else path
state = torch.load(read)  # load
module.load_state_dict(state["model"])
first = state["epoch"]
if fault not in ("no state", "starts from it") and (RANK == 0 or fault != "rank 0"):
    optimizer.load_state_dict(state["optimizer"])  # optimizer
if fault == "other steps":
    first = 3
if fault == "first epoch":
    first = 0
if make == "with_accelerate":
    model, optimizer, loader = accelerator.prepare(module, optimizer, loader)
else:
    model = DistributedDataParallel(module) if make == "with_ddp" else module
for epoch in range(first, first + 3):
    if sampler is not None:
        sampler.set_epoch(epoch)
    for inputs, labels in loader:  # epochs
        loss = cross_entropy(model(inputs), labels)
        if make == "with_accelerate":
            accelerator.backward(loss)
        else:
            loss.backward()
        if make == "by_hand":
            for parameter in module.parameters():
                dist.all_reduce(parameter.grad)
                parameter.grad /= WORLD
        optimizer.step()
        optimizer.zero_grad()
    if RANK == 0 and fault != "starts from it":
        states = {"model": module.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(states | {"epoch": epoch + 1}, path)
dist.barrier()
if fault == "starts from it":
    torch.load(path)
dist.destroy_process_group()

"""Starts its ranks itself; the argument names what goes wrong on rank 1."""

import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def train(rank, fault, path):
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    for _ in range(3):
        dist.all_reduce(torch.ones(4))
    if rank == 1 and fault == "error":
        raise ValueError("a bad sample")
    if rank == 1 and fault == "sleeps":
        time.sleep(1000)
    dist.barrier()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(sys.argv[1], Path(folder) / "store"), nprocs=2)
    print("done", flush=True)

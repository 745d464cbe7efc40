"""Check and time an all-reduce over some GPUs: the script that `report` launches on each rank.

    torchrun --standalone --nproc-per-node 2 report_on_ranks.py 0 3    GPU 0 and GPU 3, over NCCL
    torchrun --standalone --nproc-per-node 2 report_on_ranks.py        the CPU, over Gloo

Rank 0 prints a table with the columns of nccl-tests; a wrong sum is an error.
"""

import os
import sys
import time
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import Tensor

REPEATS = 20
SMALLEST, LARGEST_GPU, LARGEST_CPU = 2**10, 2**30, 2**24  # bytes
COLUMNS = f"{'size (B)':>12} {'time (us)':>12} {'algbw (GB/s)':>13} {'busbw (GB/s)':>13}"


def sums_are_right(elements: int, device: torch.device) -> None:
    """Raise `ValueError` if an element of an all-reduce is not the sum over the ranks."""
    ranks = dist.get_world_size()
    # Integers, which float32 adds exactly; they differ by position and by rank.
    place = torch.arange(elements, device=device, dtype=torch.float32) % 1000
    buffer = place + dist.get_rank()
    dist.all_reduce(buffer)
    wrong = int((buffer != ranks * place + ranks * (ranks - 1) / 2).sum())
    if wrong:
        raise ValueError(f"{wrong} of {elements} elements of an all-reduce are wrong")


def seconds(buffer: Tensor) -> float:
    """The seconds per all-reduce on the slowest rank, as the mean over several in a row."""

    def now() -> float:
        if buffer.is_cuda:
            torch.cuda.synchronize()
        return time.perf_counter()

    dist.all_reduce(buffer)
    dist.barrier()
    start = now()
    for _ in range(REPEATS):
        dist.all_reduce(buffer)
    duration = torch.tensor((now() - start) / REPEATS, dtype=torch.float64, device=buffer.device)
    dist.all_reduce(duration, dist.ReduceOp.MAX)
    return duration.item()


def table(device: torch.device) -> Iterator[str]:
    """Check and time buffers from 1 KiB on, each eight times as large as the one before.

    The bus bandwidth is the data that each rank must send and receive in any algorithm, 2(N−1)/N of
    the size, divided by the time (nccl-tests, doc/PERFORMANCE.md).
    """
    yield COLUMNS
    ranks, size = dist.get_world_size(), SMALLEST
    while size <= (LARGEST_GPU if device.type == "cuda" else LARGEST_CPU):
        sums_are_right(size // 4, device)
        duration = seconds(torch.zeros(size // 4, device=device))
        speed = size / duration / 1e9
        bus = 2 * (ranks - 1) / ranks * speed
        yield f"{size:12} {duration * 1e6:12.1f} {speed:13.3f} {bus:13.3f}"
        size *= 8


def main(gpus: list[int]) -> None:
    """Measure on the GPUs with these numbers, or on the CPU if `gpus` is empty."""
    rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", gpus[rank]) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if gpus else "gloo", device_id=device if gpus else None)
    for line in table(device):
        if dist.get_rank() == 0:
            print(line)
    dist.destroy_process_group()


if __name__ == "__main__":
    main([int(gpu) for gpu in sys.argv[1:]])

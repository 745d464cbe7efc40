"""What `report` launches on each rank: are sums over these GPUs right, and how fast are they?

    torchrun --standalone --nproc-per-node 2 report_on_ranks.py 0 3     GPU 0 and GPU 3, over NCCL
    torchrun --standalone --nproc-per-node 2 report_on_ranks.py         the CPU, over Gloo

Rank 0 prints one line; a sum that is wrong is an error.
"""

import os
import sys
import time

import torch
import torch.distributed as dist

REPEATS = 20


def sums_are_right(elements: int, device: torch.device) -> None:
    """Raise `ValueError` if an element of an all-reduce is not the sum over the ranks."""
    ranks = dist.get_world_size()
    # Whole numbers that float32 adds exactly, different at each place and on each rank.
    place = torch.arange(elements, device=device, dtype=torch.float32) % 1000
    buffer = place + dist.get_rank()
    dist.all_reduce(buffer)
    wrong = int((buffer != ranks * place + ranks * (ranks - 1) / 2).sum())
    if wrong:
        raise ValueError(f"{wrong} of {elements} elements of an all-reduce are wrong")


def seconds(elements: int, device: torch.device) -> float:
    """The time of one all-reduce on the slowest rank, the mean over some in a row."""

    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    buffer = torch.zeros(elements, device=device)
    dist.all_reduce(buffer)
    dist.barrier()
    start = now()
    for _ in range(REPEATS):
        dist.all_reduce(buffer)
    took = torch.tensor((now() - start) / REPEATS, dtype=torch.float64, device=device)
    dist.all_reduce(took, dist.ReduceOp.MAX)
    return took.item()


def main(gpus: list[int]) -> None:
    """Check and time all-reduces over the GPUs with these numbers; without any, on the CPU."""
    rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", gpus[rank]) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if gpus else "gloo", device_id=device if gpus else None)
    ranks, told = dist.get_world_size(), []
    for megabytes in (1, 16, 256) if gpus else (1, 16):
        elements = megabytes * 10**6 // 4
        sums_are_right(elements, device)
        took = seconds(elements, device)
        # What each rank must send and receive in any algorithm: "bus bandwidth" in nccl-tests.
        gb_per_s = 2 * (ranks - 1) / ranks * megabytes / 1e3 / took
        told.append(f"{megabytes} MB in {took * 1e3:.3g} ms ({gb_per_s:.3g} GB/s)")
    if dist.get_rank() == 0:
        print("; ".join(told))
    dist.destroy_process_group()


if __name__ == "__main__":
    main([int(gpu) for gpu in sys.argv[1:]])

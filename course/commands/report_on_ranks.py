"""What `report` launches on each rank: are sums over these GPUs right, and how fast are they?

    torchrun --standalone --nproc-per-node 2 report_on_ranks.py sums 0 3    GPU 0 and GPU 3, NCCL
    torchrun --standalone --nproc-per-node 2 report_on_ranks.py sums        the CPU, over Gloo
    torchrun --standalone --nproc-per-node 2 report_on_ranks.py table 0 1   by size, for three calls

Rank 0 prints one line, or a table with the columns of nccl-tests; a sum that is wrong is an error.
"""

import os
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

REPEATS = 20
# torch 2.13 warns of the old names, and older ones do not know the new
ALL_GATHER = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
REDUCE_SCATTER = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
SMALLEST, LARGEST_GPU, LARGEST_CPU = 2**10, 2**30, 2**24  # bytes of a row in the table
COLUMNS = f"{'size (B)':>12} {'call':<15}{'time (us)':>12} {'algbw':>8} {'busbw (GB/s)':>13}"


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


def seconds(call: Callable[[], object], device: torch.device) -> float:
    """The time of one call on the slowest rank, the mean over some in a row."""

    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    call()
    dist.barrier()
    start = now()
    for _ in range(REPEATS):
        call()
    took = torch.tensor((now() - start) / REPEATS, dtype=torch.float64, device=device)
    dist.all_reduce(took, dist.ReduceOp.MAX)
    return took.item()


def calls(buffer: Tensor) -> dict[str, tuple[Callable[[], object], float]]:
    """Three collectives on a buffer whose size nccl-tests names, and what makes its bus bandwidth.

    Its size over the time, times this factor, is what each rank must send and receive in any
    algorithm (nccl-tests, doc/PERFORMANCE.md).
    """
    ranks, rank = dist.get_world_size(), dist.get_rank()
    part = buffer.chunk(ranks)[rank]
    return {
        "all_reduce": (lambda: dist.all_reduce(buffer), 2 * (ranks - 1) / ranks),
        "all_gather": (lambda: ALL_GATHER(buffer, part), (ranks - 1) / ranks),
        "reduce_scatter": (lambda: REDUCE_SCATTER(part, buffer), (ranks - 1) / ranks),
    }


def sums(device: torch.device) -> list[str]:
    """Check all-reduces of several sizes, and time them."""
    told = []
    for megabytes in (1, 16, 256) if device.type == "cuda" else (1, 16):
        sums_are_right(megabytes * 10**6 // 4, device)
        buffer = torch.zeros(megabytes * 10**6 // 4, device=device)
        call, factor = calls(buffer)["all_reduce"]
        took = seconds(call, device)
        bandwidth = f" ({factor * megabytes / 1e3 / took:.3g} GB/s)" if factor else ""
        told.append(f"{megabytes} MB in {took * 1e3:.3g} ms{bandwidth}")
    return ["; ".join(told)]


def table(device: torch.device) -> list[str]:
    """Time the three collectives for sizes from 1 KiB on, each eight times the one before."""
    rows, size = [COLUMNS], SMALLEST
    while size <= (LARGEST_GPU if device.type == "cuda" else LARGEST_CPU):
        ranks = dist.get_world_size()
        elements = size // 4 // ranks * ranks  # each rank has an equal part
        for name, (call, factor) in calls(torch.zeros(elements, device=device)).items():
            took = seconds(call, device)
            speed = 4 * elements / took / 1e9
            row = f"{4 * elements:12} {name:<15}{took * 1e6:12.1f}"
            rows.append(f"{row} {speed:8.3f} {speed * factor:13.3f}")
        size *= 8
    return rows


def main(measure: Callable[[torch.device], list[str]], gpus: list[int]) -> None:
    """Measure on the GPUs with these numbers; without any, on the CPU."""
    rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", gpus[rank]) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if gpus else "gloo", device_id=device if gpus else None)
    lines = measure(device)
    if dist.get_rank() == 0:
        print("\n".join(lines))
    dist.destroy_process_group()


if __name__ == "__main__":
    main({"sums": sums, "table": table}[sys.argv[1]], [int(gpu) for gpu in sys.argv[2:]])

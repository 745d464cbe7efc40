import torch
import torch.distributed as dist


def exchange(leaving, coming):
    """Send to the right while something comes in from the left."""
    rank, n = dist.get_rank(), dist.get_world_size()
    work = dist.isend(leaving, (rank + 1) % n)
    dist.recv(coming, (rank - 1) % n)
    work.wait()


def all_reduce(flat):
    """Replace the numbers by their sums over all ranks, on every rank."""
    rank, n = dist.get_rank(), dist.get_world_size()
    chunks = flat.tensor_split(n)  # n parts of flat, which share its memory

    for k in range(n - 1):  # reduce-scatter
        mine = chunks[(rank - k - 1) % n]
        received = torch.empty_like(mine)
        exchange(chunks[(rank - k) % n], received)
        mine += received

    for k in range(n - 1):  # all-gather
        exchange(chunks[(rank + 1 - k) % n], chunks[(rank - k) % n])

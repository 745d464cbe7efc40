"""Two all-reduces that need few messages: a tree, and recursive halving and doubling."""

import torch
import torch.distributed as dist
from torch import Tensor

from course.given.messages import deliver, in_place


def send(tensor: Tensor, to: int) -> None:
    """Send a tensor to a rank, and wait until it has been sent."""
    deliver([dist.P2POp(dist.isend, tensor, to)])


def receive(tensor: Tensor, source: int) -> None:
    """Receive a tensor from a rank, and wait until it is here."""
    deliver([dist.P2POp(dist.irecv, tensor, source)])


def swap(outgoing: Tensor, incoming: Tensor, partner: int) -> None:
    """Send one tensor to the partner and receive another from it at the same time."""
    deliver([dist.P2POp(dist.irecv, incoming, partner), dist.P2POp(dist.isend, outgoing, partner)])


@in_place
def tree(flat: Tensor) -> None:
    """Sums climb a binomial tree to rank 0, and the result comes down the same way."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    received, reach = torch.empty_like(flat), 1
    while reach < world_size and not rank & reach:  # while others send to me
        if rank + reach < world_size:
            receive(received, rank + reach)
            flat += received
        reach *= 2
    if rank:
        send(flat, rank - reach)
        receive(flat, rank - reach)
    while reach > 1:
        reach //= 2
        if rank + reach < world_size:
            send(flat, rank + reach)


@in_place
def halving_doubling(flat: Tensor) -> None:
    """Partners exchange ever smaller halves and add; the sums go back the same way."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    # The largest power of two of ranks; the other ranks only send and receive.
    core = 1 << (world_size.bit_length() - 1)
    if rank >= core:
        send(flat, rank - core)
        receive(flat, rank - core)
        return
    if rank + core < world_size:
        received = torch.empty_like(flat)
        receive(received, rank + core)
        flat += received
    part, reach, back = flat, core // 2, []
    while reach:
        keep, give = part.tensor_split(2) if not rank & reach else part.tensor_split(2)[::-1]
        received = torch.empty_like(keep)
        swap(give, received, rank ^ reach)
        keep += received
        back.append((keep, give, rank ^ reach))
        part, reach = keep, reach // 2
    for keep, give, partner in reversed(back):
        swap(keep, give, partner)
    if rank + core < world_size:
        send(flat, rank + core)

"""The same training steps taken in several ways, in turn, and the time of each."""

import time
from collections.abc import Callable, Mapping

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course import log
from course.data import nli

Batch = dict[str, Tensor]
WARM_UP, RATE = 3, 0.05


def race(
    losses: Mapping[str, Callable[[Batch], Tensor]],
    models: Mapping[str, nn.Module],
    device: torch.device,
    pairs: int,
    steps: int,
) -> None:
    """Log the time of each step in each way, and whether all models end with the same weights.

    A step takes `pairs` pairs of sentences. The way called "DDP" runs on all ranks, the other ways
    on rank 0 alone.
    """
    turn = dist.new_group(backend="gloo")  # a wait over Gloo keeps no GPU busy, one over NCCL would
    optimizers = {way: torch.optim.SGD(models[way].parameters(), RATE) for way in losses}
    data = nli.tokenized("train", size=4096)
    for step in range(-WARM_UP, steps):
        batch = data[torch.randint(len(data), (pairs,))]  # the same on all ranks
        batch = {name: tensor.to(device) for name, tensor in batch.items()}
        for way, loss in losses.items():
            dist.barrier(turn)
            start = _now(device)
            if way == "DDP" or dist.get_rank() == 0:
                optimizers[way].zero_grad()
                loss(batch).backward()
                optimizers[way].step()
                ms = 1e3 * (_now(device) - start)
                if step >= 0:
                    log(way=way, round=step, ms=ms, pairs=pairs)
    if dist.get_rank() == 0:
        first, *others = (nn.utils.parameters_to_vector(models[way].parameters()) for way in losses)
        log(same_weights=str(all(torch.allclose(first, other, atol=1e-4) for other in others)))


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()

"""What `bench` launches on each rank: two ways to do the same thing take turns.

torchrun --standalone --nproc-per-node 2 bench_on_ranks.py NAME SRC
"""

import os
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from course import log
from course.data import nli
from course.models import bert

WARM_UP, ROUNDS = 3, 15
MEGABYTES = 16
STEPS = 3  # of training in a turn

Turn = Callable[[], object]
Model = torch.nn.Module
Optimizer = torch.optim.Optimizer


def ring(device: torch.device) -> tuple[Turn, Turn]:
    """The learner's ring against the library's all-reduce, 16 MB."""
    from ring import all_reduce

    buffer = torch.zeros(MEGABYTES * 10**6 // 4, device=device)
    repeats = 20 if device.type == "cuda" else 1  # one takes tens of microseconds over NVLink

    def repeated(reduce: Callable[[torch.Tensor], object]) -> Turn:
        return lambda: [reduce(buffer) for _ in range(repeats)]

    return repeated(all_reduce), repeated(dist.all_reduce)


def buckets(device: torch.device) -> tuple[Turn, Turn]:
    """The learner's buckets against torch's DDP."""
    from my_buckets import Bucketed

    mine = _training(lambda model: Bucketed(model, cap_mb=1), device)
    return mine, _training(lambda model: DistributedDataParallel(model, bucket_cap_mb=1), device)


def horovod(device: torch.device) -> tuple[Turn, Turn]:
    """The learner's Horovod-style optimizer and engine against torch's DDP."""
    import hvd
    import hvd_start

    hvd_start.init()

    def distributed(optimizer: Optimizer, model: Model) -> Optimizer:
        return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())

    mine = _training(_alone, device, distributed)
    return mine, _training(DistributedDataParallel, device)


def ddp(device: torch.device) -> tuple[Turn, Turn]:
    """Torch's DDP against as many processes that never talk."""
    return _training(DistributedDataParallel, device), _training(_alone, device)


PAIRS = {"ring": ring, "buckets": buckets, "horovod": horovod, "ddp": ddp}


def _alone(model: Model) -> Model:
    """The model as it is, without any communication."""
    return model


def _training(
    wrap: Callable[[Model], Model],
    device: torch.device,
    wrap_optimizer: Callable[[Optimizer, Model], Optimizer] = lambda optimizer, model: optimizer,
) -> Turn:
    """A few steps of BERT on sentence pairs."""
    # On GPUs the small model would measure how fast Python starts kernels.
    size, pairs_in_batch = ("wide", 128) if device.type == "cuda" else ("tiny", 32)
    torch.manual_seed(0)
    model = wrap(bert(size).to(device))
    optimizer = wrap_optimizer(torch.optim.SGD(model.parameters(), lr=1e-3), model)
    pairs = nli.tokenized("train", size=pairs_in_batch)[:]
    batch = {name: tensor.to(device) for name, tensor in pairs.items()}

    def turn() -> None:
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(**batch).loss.backward()
            if hasattr(model, "finish"):
                model.finish()
            optimizer.step()

    return turn


def seconds(turn: Turn, device: torch.device) -> float:
    """What a turn takes on the slowest rank."""

    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    dist.barrier()
    start = now()
    turn()
    took = torch.tensor(now() - start, dtype=torch.float64, device=device)
    dist.all_reduce(took, dist.ReduceOp.MAX)
    return took.item()


def main(name: str) -> None:
    """Log the seconds of both in each round."""
    local_rank = int(os.environ["LOCAL_RANK"])
    on_gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = torch.device("cuda", local_rank) if on_gpus else torch.device("cpu")
    if on_gpus:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpus else "gloo", device_id=device if on_gpus else None)
    first, second = PAIRS[name](device)
    for number in range(-WARM_UP, ROUNDS):
        pair = {"first": seconds(first, device), "second": seconds(second, device)}
        if number >= 0 and dist.get_rank() == 0:
            log(round=number, **pair)
    dist.barrier()
    # Not through the destructors of process groups, which may hang.
    os._exit(0)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[2])
    main(sys.argv[1])

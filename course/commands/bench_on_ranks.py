"""The script that `course.bench` launches: two ways to do the same thing take turns on the ranks.

torchrun --standalone --nproc-per-node 2 race.py NAME SRC
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
BATCH = 32
STEPS = 3  # of training in a turn

Turn = Callable[[], object]


def ring(device: torch.device) -> tuple[Turn, Turn]:
    """The learner's ring against the library's all-reduce, 16 MB."""
    from ring import all_reduce

    buffer = torch.zeros(MEGABYTES * 10**6 // 4, device=device)
    return lambda: all_reduce(buffer), lambda: dist.all_reduce(buffer)


def buckets(device: torch.device) -> tuple[Turn, Turn]:
    """The learner's buckets against torch's DDP."""
    from my_buckets import Bucketed

    mine = _training(lambda model: Bucketed(model, cap_mb=1), device)
    return mine, _training(lambda model: DistributedDataParallel(model, bucket_cap_mb=1), device)


def horovod(device: torch.device) -> tuple[Turn, Turn]:
    """The learner's Horovod-style optimizer against torch's DDP."""
    import hvd

    hvd.init()

    def wrapped(optimizer: torch.optim.Optimizer, model: torch.nn.Module) -> torch.optim.Optimizer:
        return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())

    return _training(lambda model: model, device, wrapped), _training(
        DistributedDataParallel, device
    )


def limit(device: torch.device) -> tuple[Turn, Turn]:
    """Torch's DDP against as many processes that never talk."""
    return _training(DistributedDataParallel, device), _training(lambda model: model, device)


def _training(
    wrap: Callable[[torch.nn.Module], torch.nn.Module],
    device: torch.device,
    wrap_optimizer: Callable = lambda optimizer, model: optimizer,
) -> Turn:
    """A few steps of BERT on sentence pairs."""
    torch.manual_seed(0)
    model = wrap(bert().to(device))
    optimizer = wrap_optimizer(torch.optim.SGD(model.parameters(), lr=1e-3), model)
    batch = {
        name: tensor.to(device) for name, tensor in nli.tokenized("train", size=BATCH)[:].items()
    }

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
    dist.barrier()
    start = time.perf_counter()
    turn()
    if device.type == "cuda":
        torch.cuda.synchronize()
    took = torch.tensor(time.perf_counter() - start, dtype=torch.float64, device=device)
    dist.all_reduce(took, dist.ReduceOp.MAX)
    return took.item()


def main(name: str) -> None:
    """Log the seconds of both in each round."""
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    mine, theirs = {"ring": ring, "buckets": buckets, "horovod": horovod, "limit": limit}[name](
        device
    )
    for number in range(-WARM_UP, ROUNDS):
        pair = {"first": seconds(mine, device), "second": seconds(theirs, device)}
        if number >= 0 and dist.get_rank() == 0:
            log(round=number, **pair)
    dist.barrier()
    os._exit(
        0
    )  # not through the destructors of process groups, which may hang (see checks/body.py)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[2])
    main(sys.argv[1])

"""What `bench` launches on each rank: two ways to do the same thing take turns.

torchrun --standalone --nproc-per-node 2 bench_on_ranks.py NAME SRC ROUNDS
"""

import os
import sys
import time
from collections.abc import Callable
from functools import partial

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from course import log
from course.data import nli
from course.models import bert

WARM_UP = 3
MEGABYTES = 16
STEPS = 3  # of training in a turn

Turn = Callable[[], object]
Pair = tuple[float, float]  # in one round: the seconds of the first, and of the second
Model = torch.nn.Module
Trained = tuple[Model, torch.optim.Optimizer]
Way = Callable[[Model, list[Model]], Trained]  # of a model and its layers
SGD = torch.optim.SGD


def ring(device: torch.device) -> Callable[[], Pair]:
    """The learner's ring against the library's all-reduce, 16 MB."""
    from ring import all_reduce

    buffer = torch.zeros(MEGABYTES * 10**6 // 4, device=device)
    repeats = 20 if device.type == "cuda" else 1  # one takes tens of microseconds over NVLink

    def repeated(reduce: Callable[[torch.Tensor], object]) -> Turn:
        return lambda: [reduce(buffer) for _ in range(repeats)]

    return _in_turn(repeated(all_reduce), repeated(dist.all_reduce), device)


def buckets(device: torch.device) -> Callable[[], Pair]:
    """The learner's buckets against torch's DDP."""
    from my_buckets import Bucketed

    def mine(model: Model, layers: list[Model]) -> Trained:
        return _with_sgd(Bucketed(model, cap_mb=1))

    def torchs(model: Model, layers: list[Model]) -> Trained:
        return _with_sgd(DistributedDataParallel(model, bucket_cap_mb=1))

    return _race(mine, torchs, device)


def horovod(device: torch.device) -> Callable[[], Pair]:
    """The learner's Horovod-style optimizer and engine against torch's DDP."""
    import hvd
    import hvd_start

    hvd_start.init()

    def mine(model: Model, layers: list[Model]) -> Trained:
        optimizer = SGD(model.parameters(), lr=1e-3)
        named = model.named_parameters()
        return model, hvd.DistributedOptimizer(optimizer, named_parameters=named)

    return _race(mine, _ddp, device)


def zero_one(device: torch.device) -> Callable[[], Pair]:
    """The learner's ZeRO-1 against torch's."""
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from zero_one import ShardedOptimizer

    def sharded(optimizer: type, model: Model, layers: list[Model]) -> Trained:
        net = DistributedDataParallel(model, gradient_as_bucket_view=True)
        return net, optimizer(net.parameters(), torch.optim.AdamW, lr=1e-3)

    mine, torchs = partial(sharded, ShardedOptimizer), partial(sharded, ZeroRedundancyOptimizer)
    return _race(mine, torchs, device)


def fsdp(device: torch.device) -> Callable[[], Pair]:
    """The learner's FSDP against torch's `fully_shard`."""
    from my_fsdp import FSDP
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device.type, (dist.get_world_size(),))

    def mine(model: Model, layers: list[Model]) -> Trained:
        net = FSDP(model, layers)
        return net, torch.optim.AdamW(net.shards(), 1e-3)

    def torchs(model: Model, layers: list[Model]) -> Trained:
        for layer in [*layers, model]:
            fully_shard(layer, mesh=mesh)
        return model, torch.optim.AdamW(model.parameters(), 1e-3)

    return _race(mine, torchs, device)


def pipeline(device: torch.device) -> Callable[[], Pair]:
    """The learner's 1F1B in the course's runner against torch's."""
    from my_schedule import one_f_one_b

    from course.given import gpt, torch_pipelines

    torch.manual_seed(0)
    tokens = torch.randint(256, (16, gpt.SIZES["tiny"][-1] + 1)).to(device)
    pipelines = torch_pipelines.Pipelines(tokens[:, :-1], tokens[:, 1:])
    _, mine = pipelines.ours(one_f_one_b)
    _, torchs = pipelines.theirs("1F1B", dist.get_rank())
    return _in_turn(mine, torchs, device)


def ddp(device: torch.device) -> Callable[[], Pair]:
    """Torch's DDP against as many processes that never talk."""
    return _race(_ddp, _alone, device)


def exposed(device: torch.device) -> Callable[[], Pair]:
    """What DDP adds to a step against its all-reduces alone, which nothing hides."""
    with_ddp, alone = _training(_ddp, device), _training(_alone, device)
    gradients = torch.zeros(_parameters(device), device=device)

    def pair() -> Pair:
        added = seconds(with_ddp, device) - seconds(alone, device)
        bare = seconds(lambda: [dist.all_reduce(gradients) for _ in range(STEPS)], device)
        return added, bare

    return pair


def forecast(device: torch.device) -> Callable[[], Pair]:
    """A step as the learner's `predict.py` has it, fitted to smaller ones, against the step."""
    import pandas as pd
    from predict import Link, ring, step_seconds

    from course.given import forecast as lab_08

    ranks, largest = dist.get_world_size(), 64 if device.type == "cpu" else 512
    batches = (largest // 4, largest // 2, largest)
    turns = {
        (name, batch): _training(way, device, batch)
        for name, way in (("alone", _alone), ("DDP", _ddp))
        for batch in batches
    }
    messages = [torch.zeros(2**power, device=device) for power in (12, 16, 20)]
    size = 4 * _parameters(device)

    def pair() -> Pair:
        rows = []
        for (way, batch), turn in turns.items():
            rate = STEPS * ranks * batch / seconds(turn, device)
            rows.append({"model": "bert", "way": way, "batch": batch, "rate": rate, "bytes": size})
        for buffer in messages:
            took = seconds(partial(dist.all_reduce, buffer), device)
            rows.append({"message": buffer.nbytes, "seconds": took})
        table = pd.DataFrame(rows).assign(ranks=ranks)
        *_, last = lab_08.larger_batches(table, Link, ring, step_seconds)
        return 1 / last["predicted"], 1 / last["measured"]

    return pair


CONTESTS = (ring, buckets, horovod, zero_one, fsdp, pipeline, ddp, exposed, forecast)


def _with_sgd(net: Model) -> Trained:
    return net, SGD(net.parameters(), lr=1e-3)


def _ddp(model: Model, layers: list[Model]) -> Trained:
    return _with_sgd(DistributedDataParallel(model))


def _alone(model: Model, layers: list[Model]) -> Trained:
    """The model as it is, without any communication."""
    return _with_sgd(model)


def _model(device: torch.device) -> Model:
    # On GPUs the small model would measure how fast Python starts kernels.
    torch.manual_seed(0)
    return bert("wide" if device.type == "cuda" else "tiny").to(device)


def _parameters(device: torch.device) -> int:
    return sum(parameter.numel() for parameter in _model(device).parameters())


def _race(first: Way, second: Way, device: torch.device) -> Callable[[], Pair]:
    return _in_turn(_training(first, device), _training(second, device), device)


def _in_turn(first: Turn, second: Turn, device: torch.device) -> Callable[[], Pair]:
    return lambda: (seconds(first, device), seconds(second, device))


def _training(way: Way, device: torch.device, pairs_in_batch: int = 0) -> Turn:
    """A few steps of BERT on sentence pairs."""
    whole = _model(device)
    model, optimizer = way(whole, list(whole.bert.encoder.layer))
    pairs = nli.tokenized("train", size=pairs_in_batch or (128 if device.type == "cuda" else 32))
    batch = {name: tensor.to(device) for name, tensor in pairs[:].items()}

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


def main(name: str, rounds: int) -> None:
    """Log the seconds of both in each round."""
    local_rank = int(os.environ["LOCAL_RANK"])
    on_gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = torch.device("cuda", local_rank) if on_gpus else torch.device("cpu")
    if on_gpus:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpus else "gloo", device_id=device if on_gpus else None)
    contests = {contest.__name__: contest for contest in CONTESTS}
    one_round = contests[name](device)
    for number in range(-WARM_UP, rounds):
        first, second = one_round()
        if number >= 0 and dist.get_rank() == 0:
            log(round=number, first=first, second=second)
    dist.barrier()
    # Not through the destructors of process groups, which may hang.
    os._exit(0)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[2])
    main(sys.argv[1], int(sys.argv[3]))

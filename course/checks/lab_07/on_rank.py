"""What the checks of lab 07 do on each rank: train with the learner's strategy and bring back what it made of it."""

import copy
import importlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from course.checks.engine.reference import OPTIMIZERS, WIDTH, Messages, Small, batch, weights

CPU = torch.device("cpu")
PATIENCE_S = 2.0  # for what has to happen soon
SETTLE_S = 0.3  # for what must not happen


class Normed(nn.Module):
    """A small model with a BatchNorm."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.layers = nn.Sequential(
            nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Predictions of shape (batch, 1) from `x` of shape (batch, WIDTH)."""
        return self.layers(x)


def model_of(kind: str, seed: int = 0) -> nn.Module:
    """The model of that kind: see `Small`, or ``normed``."""
    return Normed(seed) if kind == "normed" else Small(seed, kind)


def update_of(model: nn.Module, optimizer: str) -> torch.optim.Optimizer:
    """The optimizer of that name for what is trained of the model."""
    return OPTIMIZERS[optimizer]([p for p in model.parameters() if p.requires_grad])


def loader(sizes: tuple[int, ...]) -> list[tuple[Tensor, Tensor]]:
    """Whole batches of these sizes."""
    return [batch(number, 0, size) for number, size in enumerate(sizes)]


def step(model: nn.Module, share: object) -> Tensor:
    """A replica's part of the squared error's mean over the whole batch, and its gradients."""
    loss = ((model(share.inputs) - share.targets) ** 2).sum() / share.whole
    loss.backward()
    return loss.detach()


# -- references --------------------------------------------------------------------------------------------------------


def alone(kind: str, optimizer: str, sizes: tuple[int, ...]) -> list[Tensor]:
    """The weights after one process has trained on the whole batches."""
    return in_parts(kind, optimizer, sizes, parts=1)


def in_parts(kind: str, optimizer: str, sizes: tuple[int, ...], parts: int) -> list[Tensor]:
    """The same, each batch in parts that are normalized one by one; buffers are the mean over the parts."""
    model = model_of(kind)
    update = update_of(model, optimizer)
    for inputs, targets in loader(sizes):
        update.zero_grad()
        before, after = copy.deepcopy(list(model.buffers())), []
        for x, y in zip(inputs.tensor_split(parts), targets.tensor_split(parts), strict=True):
            _set(model.buffers(), before)
            (((model(x) - y) ** 2).sum() / len(inputs)).backward()
            after.append(copy.deepcopy(list(model.buffers())))
        _set(model.buffers(), [sum(column) / parts for column in zip(*after, strict=True)])
        update.step()
    return weights(model)


@torch.no_grad()
def _set(tensors: object, values: list[Tensor]) -> None:
    for tensor, value in zip(tensors, values, strict=True):
        tensor.copy_(value)


def replay(history: list[tuple[int, int]], workers: int, sizes: tuple[int, ...]) -> list[Tensor]:
    """The weights after one process has made the updates of a parameter server's history, from the same old weights."""
    model, batches = Small(seed=0), loader(sizes)
    update, done = update_of(model, "SGD with momentum"), dict.fromkeys(range(1, workers + 1), 0)
    versions = [copy.deepcopy(model)]
    for worker, version in history:
        reader = copy.deepcopy(versions[version])
        inputs, targets = batches[done[worker] * workers + worker - 1]
        ((reader(inputs) - targets) ** 2).mean().backward()
        for parameter, read in zip(model.parameters(), reader.parameters(), strict=True):
            parameter.grad = read.grad
        update.step()
        done[worker] += 1
        versions.append(copy.deepcopy(model))
    return weights(model)


# -- the learner's strategies ------------------------------------------------------------------------------------------


def make(exercise: str, replicas: int, **options: object) -> object:
    """The strategy of an exercise, of so many replicas (of which there is one a rank where it is made of ranks)."""
    script = importlib.import_module(exercise)
    match exercise:
        case "mirrored":
            return script.Mirrored([CPU] * replicas)
        case "central_storage":
            return script.CentralStorage([CPU] * replicas)
        case "multi_worker":
            return script.MultiWorkerMirrored(CPU)
    return script.ParameterServer(**options)


def begin(exercise: str, replicas: int, kind: str, optimizer: str, **options: object) -> object:
    """The strategy, with a model in its scope that begins differently on every rank."""
    strategy = make(exercise, replicas, **options)
    with strategy.scope() as made:
        made.model = model_of(kind, seed=dist.get_rank())
        made.optimizer = update_of(made.model, optimizer)
    return strategy


def train(
    exercise: str, replicas: int, runs: list[tuple[str, str, tuple[int, ...]]]
) -> list[list[list[Tensor]]]:
    """For each run (kind, optimizer, sizes of the batches): the weights of every copy in this process."""
    results = []
    for kind, optimizer, sizes in runs:
        strategy = begin(exercise, replicas, kind, optimizer)
        for shares in strategy.distribute(loader(sizes)):
            strategy.run(step, shares)
        results.append([weights(model) for model in getattr(strategy, "mirrors", [strategy.model])])
    return results


def at_once(exercise: str, replicas: int) -> bool:
    """Whether all replicas are in their step at the same time."""
    meeting = threading.Barrier(replicas)

    def meet(model: nn.Module, share: object) -> Tensor:
        meeting.wait(PATIENCE_S)
        return step(model, share)

    strategy = begin(exercise, replicas, "plain", "SGD")
    try:
        for shares in strategy.distribute(loader((6,))):
            strategy.run(meet, shares)
    except threading.BrokenBarrierError:
        return False
    return True


def reduced(exercise: str, replicas: int) -> tuple[float, float, int]:
    """What `reduce` makes of rank + 1 as a sum and as a mean, and the number of replicas in sync."""
    strategy = begin(exercise, replicas, "plain", "SGD")
    value = torch.tensor(dist.get_rank() + 1.0)
    return strategy.reduce([value]), strategy.reduce([value], "mean"), strategy.num_replicas_in_sync


def dealt(exercise: str, replicas: int, sizes: tuple[int, ...]) -> list[tuple[Tensor, int]]:
    """The inputs of this worker's share of each batch, and the size of the whole."""
    strategy = begin(exercise, replicas, "plain", "SGD")
    return [(share.inputs, share.whole) for (share,) in strategy.distribute(loader(sizes))]


def messages(exercise: str, replicas: int) -> tuple[list[tuple[str, int, bool]], int]:
    """What `run` sends in a step, and how many gradients and buffers there are."""
    strategy = begin(exercise, replicas, "normed", "SGD")
    tensors = (*strategy.model.parameters(), *strategy.model.buffers())
    (shares,) = strategy.distribute(loader((6,)))
    with Messages() as sent:
        strategy.run(step, shares)
    return list(sent), sum(tensor.numel() for tensor in tensors)


def without_library(exercise: str, replicas: int) -> list[Tensor]:
    """A step with torch's DDP made unusable."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError(
            "it hands the work to torch's DistributedDataParallel, which is what it should replace"
        )

    DistributedDataParallel.__init__ = refuse
    return train(exercise, replicas, [("plain", "SGD", (6,))])[0][0]


# -- variables at the centre -------------------------------------------------------------------------------------------


def kept(exercise: str, replicas: int) -> tuple[bool, bool]:
    """Whether the variables made in the scope are the ones that are trained, and whether replicas hold copies."""
    strategy = make(exercise, replicas)
    with strategy.scope() as made:
        made.model = Small(seed=0)
        made.optimizer = update_of(made.model, "SGD")
    before = weights(made.model)
    for shares in strategy.distribute(loader((6,))):
        strategy.run(step, shares)
    moved = any(not torch.equal(a, b) for a, b in zip(before, weights(made.model), strict=True))
    places = {
        tensor.data_ptr()
        for model in (made.model, *strategy.replicas)
        for tensor in model.parameters()
    }
    return moved, len(places) == (1 + replicas) * len(list(made.model.parameters()))


def changed_at_the_centre(exercise: str, replicas: int) -> list[float]:
    """A weight and a buffer as each replica sees them once both are set to 2 at the centre."""
    strategy = begin(exercise, replicas, "plain", "SGD")
    seen = []

    def look(model: nn.Module, share: object) -> Tensor:
        if len(share.inputs) == 4:  # the second batch
            seen.extend([float(model.layers[0].weight[0, 0]), float(model.scale)])
        return step(model, share)

    first, second = strategy.distribute(loader((2 * replicas, 4 * replicas)))
    strategy.run(look, first)
    with torch.no_grad():
        strategy.model.layers[0].weight[0, 0] = 2
        strategy.model.scale.fill_(2)
    strategy.run(look, second)
    return seen


# -- the parameter server ----------------------------------------------------------------------------------------------


def serve(
    bound: float,
    sizes: tuple[int, ...],
    optimizer: str = "SGD with momentum",
    work: Callable = step,
) -> tuple[list[Tensor], list[tuple[int, int]], list[int]]:
    """Train with a server and workers: the weights on this rank; the server's history and its staleness."""
    strategy = begin("parameter_server", 1, "plain", optimizer, bound=bound)
    for shares in strategy.distribute(loader(sizes)):
        strategy.run(work, shares)
    stale = strategy.staleness() if dist.get_rank() == 0 else []
    return weights(strategy.model), strategy.history, stale


def one_worker(sizes: tuple[int, ...]) -> dict[str, list[Tensor]]:
    """For each optimizer the weights on this rank after training with a server."""
    return {optimizer: serve(0, sizes, optimizer)[0] for optimizer in OPTIMIZERS}


def ahead(bound: int, folder: str) -> int:
    """How many steps worker 1 has begun before worker 2 ends its first."""
    begun, seen = Path(folder) / "begun", []
    rank = dist.get_rank()

    def work(model: nn.Module, share: object) -> Tensor:
        if rank == 1:
            with begun.open("a") as file:
                file.write(".")
        elif not seen:
            deadline = time.monotonic() + PATIENCE_S
            while _count(begun) <= bound and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(SETTLE_S)
            seen.append(_count(begun))
        return step(model, share)

    serve(bound, (4,) * 16, work=work)
    return seen[0] if rank == 2 else 0


def _count(file: Path) -> int:
    return len(file.read_text()) if file.exists() else 0

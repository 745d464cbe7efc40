"""What the checks of lab 03 do on each rank: run the learner's code and bring back what it did."""

import importlib
import os
from collections.abc import Callable
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset

from course.checks.engine.reference import (
    Messages,
    Small,
    batch,
    furthest,
    loss_of,
    train_replica,
    weights,
)

# -- the script made distributed ---------------------------------------------------------------------------------------


class Drawn(Dataset):
    """A data set that keeps the indices drawn from it, in order."""

    def __init__(self, data: Dataset) -> None:
        self.data, self.drawn = data, []

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> object:
        self.drawn.append(int(index))
        return self.data[int(index)]


class Oracle(torch.nn.Module):
    """A model that labels rightly the pairs whose first token is divisible by three."""

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> SimpleNamespace:
        wrong = (input_ids[:, 0] % 3 != 0).long()
        return SimpleNamespace(logits=torch.nn.functional.one_hot((labels + wrong) % 3, 3).float())

    @property
    def module(self) -> "Oracle":
        """As DDP's: whoever evaluates the bare model asks for it."""
        return self


def numbered(size: int) -> Dataset:
    """Pairs that consist of their own number."""
    return [{"input_ids": torch.tensor([i]), "labels": torch.tensor(i % 3)} for i in range(size)]


def main(epochs: int, size: int) -> dict:
    """Run the script's `main` on a small part of the data: what was drawn, and the weights in the end."""
    from course.data import nli

    script = importlib.import_module("ddp")
    script.BATCH, script.log = 4, lambda **row: None
    dist.destroy_process_group = lambda: None  # the script that runs the check ends the group
    script.torch.optim.AdamW = lambda parameters, rate: torch.optim.SGD(parameters, lr=0.1)
    train = Drawn(nli.tokenized("train", size=size))
    model = script.main(train, nli.tokenized("validation", size=6), epochs=epochs)
    return {"drawn": train.drawn, "weights": weights(model)}


def one_process(drawn_by_rank: list[list[int]], size: int) -> list[torch.Tensor]:
    """The weights after the same steps of one process, whose batches are the ranks' batches together."""
    from course.data import nli
    from course.models import bert

    torch.manual_seed(0)
    model, data = bert(), nli.tokenized("train", size=size)
    update = torch.optim.SGD(model.parameters(), lr=0.1)
    for start in range(0, len(drawn_by_rank[0]), 4):
        whole = [index for drawn in drawn_by_rank for index in drawn[start : start + 4]]
        update.zero_grad()
        model(**data[whole]).loss.backward()
        update.step()
    return weights(model)


def setup() -> tuple[str, int]:
    """The device on this rank, and how many ranks have joined."""
    device = importlib.import_module("ddp").setup()
    return str(device), dist.get_world_size()


def setup_on_gpus() -> tuple[str, list[str]]:
    """The device of local rank 1 among pretended GPUs, and what was called on the way."""
    script, called = importlib.import_module("ddp"), []
    os.environ.update(RANK="5", LOCAL_RANK="1", WORLD_SIZE="8")
    torch.cuda.is_available = lambda: True
    torch.cuda.set_device = lambda device: called.append(
        f"set_device {torch.device('cuda', torch.device(device).index)}"
    )
    dist.init_process_group = lambda backend=None, **_: called.append(
        f"backend {backend or 'nccl'}"
    )
    return str(script.setup()), called


def wrapped() -> tuple[object, object]:
    """The `device_ids` that DDP is given for a GPU and for the CPU."""
    script, given = importlib.import_module("ddp"), []
    script.DistributedDataParallel = lambda model, device_ids=None, **_: given.append(device_ids)
    for device in (torch.device("cuda", 1), torch.device("cpu")):
        script.wrap(torch.nn.Linear(1, 1), device)
    gpus, cpu = given
    return gpus and [
        torch.device("cuda", gpu).index if isinstance(gpu, int) else gpu.index for gpu in gpus
    ], cpu


def accuracy(size: int) -> tuple[float, list[int], bool]:
    """What `accuracy` says on this rank, which pairs it looked at, and whether the model trains on."""
    data, model = Drawn(numbered(size)), Oracle()
    share = importlib.import_module("ddp").accuracy(model, data, torch.device("cpu"))
    return float(share), data.drawn, model.training


# -- DDP written by hand -----------------------------------------------------------------------------------------------


def wrapper(module: str, name: str) -> Callable:
    return getattr(importlib.import_module(module), name)


def each(
    module: str, names: tuple[str, ...], function: str, *args: object, **kwargs: object
) -> dict[str, object]:
    """What a function of this file says of each wrapper, by its name."""
    return {name: globals()[function](module, name, *args, **kwargs) for name in names}


def start(module: str, name: str) -> list[torch.Tensor]:
    """The weights on this rank after construction, from different weights on every rank."""
    return weights(wrapper(module, name)(Small(seed=10 + dist.get_rank())))


def averages(module: str, name: str) -> float:
    """How far this rank's gradients are from the average over the ranks, which torch's own collectives compute."""
    replica = wrapper(module, name)(Small(seed=0))
    loss_of(replica, batch(0, dist.get_rank())).backward()
    expected = [parameter.grad.clone() for parameter in replica.parameters()]
    for gradient in expected:
        dist.all_reduce(gradient)
        gradient /= dist.get_world_size()
    replica = wrapper(module, name)(Small(seed=0))
    loss_of(replica, batch(0, dist.get_rank())).backward()
    replica.finish()
    return furthest([parameter.grad for parameter in replica.parameters()], expected)


def train(
    module: str, name: str, kinds: tuple[str, ...], optimizers: tuple[str, ...], passes: int = 1
) -> dict:
    """The weights on this rank after three steps, for each kind of model and optimizer."""
    wrap = wrapper(module, name)
    return {
        (kind, optimizer): train_replica(wrap, kind, optimizer, steps=3, passes=passes)
        for kind in kinds
        for optimizer in optimizers
    }


def heads(step: int) -> tuple[int, ...]:
    """The heads that this rank uses: rank 1 leaves one out, then all do, then each uses them in its own order."""
    rank = dist.get_rank()
    return [(0,) if rank == 1 else (0, 1), (0,), (0, 1) if rank == 0 else (1, 0)][step]


def unused(module: str, name: str) -> tuple[float, bool]:
    """How far the weights are from torch's DDP with unused heads; whether a head unused by all kept no gradient."""
    mine = wrapper(module, name)(Small(seed=0))
    theirs = DistributedDataParallel(Small(seed=0), find_unused_parameters=True)
    untouched = True
    updates = [torch.optim.SGD(model.parameters(), lr=0.1) for model in (mine, theirs)]
    for step in range(3):
        for model, update in zip((mine, theirs), updates, strict=True):
            update.zero_grad()
            loss_of(model, batch(step, dist.get_rank()), heads=heads(step)).backward()
            if model is mine:
                mine.finish()
                untouched &= step != 1 or mine.module.heads[1].weight.grad is None
            update.step()
    return furthest(weights(mine), weights(theirs)), untouched


def uneven(module: str, name: str) -> float:
    """How far the weights are from torch's DDP when the ranks' batches differ in size."""
    models = wrapper(module, name)(Small(seed=0)), DistributedDataParallel(Small(seed=0))
    for model in models:
        update = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(2):
            update.zero_grad()
            loss_of(model, batch(step, dist.get_rank(), size=2 + 3 * dist.get_rank())).backward()
            if model is models[0]:
                model.finish()
            update.step()
    return furthest(weights(models[0]), weights(models[1]))


def messages(
    module: str, name: str, quiet: bool = False, **options: float
) -> list[tuple[str, int, bool]]:
    """What one backward and `finish()` send, within `no_sync` if `quiet`."""
    replica = wrapper(module, name)(Small(seed=0), **options)
    with Messages() as messages:
        if quiet:
            with replica.no_sync():
                loss_of(replica, batch(0, dist.get_rank())).backward()
                replica.finish()
        else:
            loss_of(replica, batch(0, dist.get_rank())).backward()
            replica.finish()
    return list(messages)


def without_library(module: str, name: str) -> float:
    """One step with torch's DDP made unusable."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError(
            "it hands the work to torch's DistributedDataParallel, which is what it should replace"
        )

    DistributedDataParallel.__init__ = refuse
    return averages(module, name)


def sent_early(module: str, name: str, steps: int = 1) -> tuple[int, bool]:
    """In the last of the steps: how many messages had begun when the first layer got its gradient; whether none was
    waited for.
    """
    replica = wrapper(module, name)(
        Small(seed=0), **({"cap_mb": 1e-4} if name == "Bucketed" else {})
    )
    begun = []
    replica.module.layers[0].weight.register_hook(lambda gradient: begun.append(len(messages)))
    for step in range(steps):
        with Messages() as messages:
            loss_of(replica, batch(step, dist.get_rank())).backward()
            in_backward = list(messages)
            replica.finish()
    return begun[-1], all(asynchronous for _, _, asynchronous in in_backward)


def buckets(cap_mb: float) -> tuple[list[list[int]], list[int], int]:
    """The buckets as positions in `parameters()`, the sizes in bytes, the number of parameters that are trained."""
    model = Small(seed=0, kind="frozen")
    place = {parameter: i for i, parameter in enumerate(model.parameters())}
    replica = wrapper("my_buckets", "Bucketed")(model, cap_mb=cap_mb)
    sizes = [parameter.numel() * parameter.element_size() for parameter in model.parameters()]
    return (
        [[place[parameter] for parameter in bucket] for bucket in replica.buckets],
        sizes,
        len(replica.trained),
    )

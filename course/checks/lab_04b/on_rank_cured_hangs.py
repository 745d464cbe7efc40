"""What the checks of cured_hangs do on each rank."""

import importlib
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course.checks.lab_04b.on_rank_clinic import batches, impatient, normed, same_everywhere


def validation_loss() -> tuple[float | None, float, bool, bool]:
    """The loss that is returned, and the right one.

    Then whether the model trains on, and whether the ranks still hold the same weights.
    """
    module, model = importlib.import_module("cured_hangs"), DistributedDataParallel(normed(0))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    (validation,) = batches(1, seed=9)
    for batch in batches(2, seed=dist.get_rank()):
        module.step(model, optimizer, batch)
    with impatient():
        said = module.validation_loss(model, validation)
    training = model.training
    right = model.module.eval()(validation).square().mean().item()
    model.module.train()
    with impatient():
        for batch in batches(2, seed=10 + dist.get_rank()):
            module.step(model, optimizer, batch)
    return said, right, training, same_everywhere(model)


def mean_on_rank_0() -> tuple[float | None, float]:
    """The mean that is returned, and the rank's own loss afterwards."""
    loss = torch.tensor(1.0 + dist.get_rank())
    with impatient():
        said = importlib.import_module("cured_hangs").mean_on_rank_0(loss)
    return said, loss.item()


def add_up() -> dict[str, list[float]]:
    """The sums of three metrics, two of one shape, that every rank holds in an order of its own."""
    rank = dist.get_rank()
    metrics = {
        "right": torch.tensor([10.0 + rank]),
        "loss": torch.tensor([0.5]),
        "by class": torch.ones(3) * rank,
    }
    names = list(metrics)[rank:] + list(metrics)[:rank]
    mine = {name: metrics[name] for name in names}
    with impatient():
        importlib.import_module("cured_hangs").add_up(mine)
    return {name: tensor.tolist() for name, tensor in mine.items()}


def train_skipping(missing: dict[int, int]) -> tuple[int, bool]:
    """The steps taken of four, where rank r could not read batch ``missing[r]``.

    Also whether the weights are the same everywhere.
    """
    module, model = importlib.import_module("cured_hangs"), DistributedDataParallel(normed(0))
    mine = batches(4, seed=dist.get_rank())
    if dist.get_rank() in missing:
        mine[missing[dist.get_rank()]] = None
    with impatient():
        steps = module.train_skipping(model, torch.optim.SGD(model.parameters(), 0.1), mine)
    return steps, same_everywhere(model)


def train_uneven() -> tuple[int, int, bool]:
    """How many batches this rank had, and how many it trained on.

    Last, whether the weights are the same everywhere.
    """
    module = importlib.import_module("cured_hangs")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 4))
    trained = []
    module.step = _noting(module.step, trained)
    mine = batches(5 - 2 * dist.get_rank(), seed=dist.get_rank())
    with impatient():
        module.train_uneven(model, torch.optim.SGD(model.parameters(), 0.1), mine)
    return len(mine), len(trained), same_everywhere(model)


def _noting(real: Callable, batches: list) -> Callable:
    def step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: object) -> object:
        batches.append(batch)
        return real(model, optimizer, batch)

    return step

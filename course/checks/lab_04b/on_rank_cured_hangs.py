"""What the checks of cured_hangs do on each rank."""

import importlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course.checks.lab_04.on_rank_files import difference
from course.checks.lab_04b.on_rank_clinic import (
    batches,
    impatient,
    normed,
    same_after_forward,
    same_everywhere,
)
from course.checks.tools.reference import furthest, weights


def causes() -> tuple[dict[str, str], tuple[str, ...]]:
    """The causes that the learner names, and those there are to choose from."""
    module = importlib.import_module("cured_hangs")
    return module.causes(), module.CAUSES


def validation_loss() -> tuple[float | None, float, bool, bool]:
    """The loss that is returned, and the right one.

    Then whether the model trains on, and whether the ranks still hold the same weights and buffers
    after more steps.
    """
    module, model = importlib.import_module("cured_hangs"), DistributedDataParallel(normed(0))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    validation = 3 * batches(1, seed=9)[0]
    for batch in batches(2, seed=dist.get_rank()):
        module.step(model, optimizer, batch)
    with impatient():
        loss = module.validation_loss(model, validation)
    training = all(part.training for part in model.modules())
    right = model.module.eval()(validation).square().mean().item()
    model.module.train()
    with impatient():
        for batch in batches(2, seed=10 + dist.get_rank()):
            module.step(model, optimizer, batch)
        same = same_after_forward(model)
    return loss, right, training, same


def mean_on_rank_0(losses: list[list[float]]) -> list[tuple[float | None, float]]:
    """For the losses of all ranks: the mean that is returned, and this rank's loss afterwards."""
    module, results = importlib.import_module("cured_hangs"), []
    for of_ranks in losses:
        loss = torch.tensor(of_ranks[dist.get_rank()])
        with impatient():
            mean = module.mean_on_rank_0(loss)
        results.append((mean if mean is None else float(mean), loss.item()))
    return results


class Name(str):
    """A name whose hash depends on the rank, as that of every string does under torchrun."""

    def __hash__(self) -> int:
        return hash((dist.get_rank(), str(self)))


def add_up() -> str:
    """How the sums of six metrics differ from the right ones the second time, "" if they do not.

    Every rank holds them in an order of its own. Some are of one shape, some not float32.
    """
    rank, ranks = dist.get_rank(), dist.get_world_size()

    def of_rank(rank: int) -> dict[str, torch.Tensor]:
        return {
            "loss": torch.tensor([0.5]),
            "right": torch.tensor([10.0 + rank]),
            "by class": torch.tensor([1.0, 2.0 if rank else float("inf"), 3.0]),
            "seen": torch.tensor(2**53 + 2 * rank + 1),
            "time": torch.tensor([1 / 3 + rank], dtype=torch.float64),
            "lost": torch.tensor([7.0 + rank]),  # like loss in length, first letters and shape
        }

    expected = {name: sum(of_rank(r)[name] for r in range(ranks)) for name in of_rank(0)}
    for _ in range(2):
        metrics = {Name(name): metric for name, metric in of_rank(rank).items()}
        names = list(metrics)[rank:] + list(metrics)[:rank]
        mine = {name: metrics[name] for name in names}
        with impatient():
            importlib.import_module("cured_hangs").add_up(mine)
    return difference({str(name): metric for name, metric in mine.items()}, expected, "metrics")


def all_have_one(cases: list[list[torch.Tensor | None]]) -> list[bool]:
    """What the function returns where rank r has ``batches[r]``, for each list of batches."""
    module, rank = importlib.import_module("cured_hangs"), dist.get_rank()
    with impatient():
        return [bool(module.all_have_one(batches[rank])) for batches in cases]


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


def train_uneven(counts: list[int]) -> tuple[float, bool, bool]:
    """How far the weights are from those of one process that has the batches of all ranks.

    Rank r has ``counts[r]`` of them. Also whether the weights are the same everywhere, and whether
    the model trains on.
    """
    module, rank = importlib.import_module("cured_hangs"), dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 4))
    with impatient():
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        module.train_uneven(model, optimizer, batches(counts[rank], seed=rank))
    off = min(furthest(weights(model), _uneven_alone(counts, among)) for among in ("all", "some"))
    return off, same_everywhere(model), model.training


def _uneven_alone(counts: list[int], among: str) -> list[torch.Tensor]:
    """The weights of one process; a step's mean is among all ranks, or those that have a batch."""
    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    by_rank = [batches(count, seed=rank) for rank, count in enumerate(counts)]
    for number in range(max(counts)):
        there = [of_rank[number] for of_rank in by_rank if number < len(of_rank)]
        optimizer.zero_grad()
        for batch in there:
            ranks = len(there) if among == "some" else len(counts)
            (model(batch).square().mean() / ranks).backward()
        optimizer.step()
    return weights(model)

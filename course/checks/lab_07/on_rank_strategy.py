"""What the checks of every strategy do on each rank: fill its scope, and train with it."""

from collections.abc import Callable

import torch.distributed as dist
from torch import Tensor

from course.checks.lab_07.on_rank_training import loader, model_of, step, update_of
from course.checks.tools.reference import weights


def begin(strategy: object, kind: str = "plain", optimizer: str = "SGD") -> object:
    """The strategy, with a model in its scope that begins differently on every rank."""
    with strategy.scope() as made:
        made.model = model_of(kind, seed=dist.get_rank())
        made.optimizer = update_of(made.model, optimizer)
    return strategy


def train(
    make: Callable[[], object], runs: list[tuple[str, str, tuple[int, ...]]]
) -> list[list[list[Tensor]]]:
    """For each run (kind, optimizer, sizes of the batches): the weights of every copy on this rank.

    `make` makes the learner's strategy.
    """
    results = []
    for kind, optimizer, sizes in runs:
        strategy = begin(make(), kind, optimizer)
        for shares in strategy.distribute(loader(sizes)):
            strategy.run(step, shares)
        copies = getattr(strategy, "mirrors", [strategy.model])
        results.append([weights(model) for model in copies])
    return results

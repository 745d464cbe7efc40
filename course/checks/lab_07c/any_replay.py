"""What the parameter server of lab 07c is compared with: its history, replayed in one process."""

import copy

from torch import Tensor

from course.checks.lab_07.on_rank_training import loader, update_of
from course.checks.tools.reference import Small, weights


def replay(history: list[tuple[int, int]], workers: int, sizes: tuple[int, ...]) -> list[Tensor]:
    """The weights after one process has made a history's updates, each from the same old weights.

    The history is a parameter server's: (worker, version of the weights that it had read).
    """
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

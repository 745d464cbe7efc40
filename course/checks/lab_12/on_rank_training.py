"""What the checks of `local_sgd` and `diloco` do on each rank."""

import importlib
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.tools.loose_ends import describe_loose_ends
from course.checks.tools.recorder import RECORDED, Call, recorded
from course.checks.tools.reference import OPTIMIZERS, Small, batch, loss_of, weights
from course.given import flat_weights

CLASSES = {"local_sgd": "LocalSGD", "diloco": "DiLoCo"}


def make(name: str, optimizer: str, every: int, kind: str, options: dict[str, float]) -> object:
    """The learner's object of an exercise, with a small model that is equal on all ranks."""
    model = Small(seed=0, kind=kind)
    update = OPTIMIZERS[optimizer]([p for p in model.parameters() if p.requires_grad])
    return getattr(importlib.import_module(name), CLASSES[name])(model, update, every, **options)


def steps_of(training: object, steps: int) -> Iterator[int]:
    """Take this rank's steps with the learner's object, and stop after each."""
    for step in range(steps):
        training.optimizer.zero_grad()
        loss_of(training.model, batch(step, dist.get_rank())).backward()
        training.step()
        yield step


def train(
    name: str, cases: list[tuple[str, str]], every: int, steps: int, **options: float
) -> dict[tuple[str, str], list[Tensor]]:
    """This rank's weights after that many steps, for each case (optimizer, kind of model)."""
    trained = {}
    for optimizer, kind in cases:
        training = make(name, optimizer, every, kind, options)
        for _ in steps_of(training, steps):
            pass
        trained[optimizer, kind] = weights(training.model)
    return trained


def messages(name: str, every: int, steps: int) -> tuple[list[list[Call]], int]:
    """The calls during each step, and how many weights there are."""
    training = make(name, "SGD with momentum", every, "plain", {})
    by_step, before = [], 0
    with recorded(*RECORDED, "barrier") as calls:
        for _ in steps_of(training, steps):
            by_step.append(calls[before:])
            before = len(calls)
    return by_step, flat_weights.read(training.model).numel()


def loose_ends(name: str) -> str:
    """What many meetings leave undone or behind."""
    training = make(name, "SGD", 1, "plain", {})

    def right() -> bool:
        for _ in steps_of(training, 1):
            pass
        mine = flat_weights.read(training.model)
        total = mine.clone()
        dist.all_reduce(total)
        return torch.allclose(total / dist.get_world_size(), mine, atol=1e-6)

    return describe_loose_ends(right)


def outer_gradient() -> tuple[list[float], list[float]]:
    """The outer gradient where rank r has moved each weight up by (r + 1) times its place.

    Beside it, what is right: the mean over the ranks of the weights before minus those now.
    """
    training = make("diloco", "SGD", 1, "plain", {})
    row = flat_weights.read(training.model)
    place, ranks = torch.arange(row.numel()) / row.numel(), dist.get_world_size()
    flat_weights.write(training.model, row + (dist.get_rank() + 1) * place)
    expected = -place * (ranks + 1) / 2
    return training.outer_gradient().detach().flatten().tolist(), expected.tolist()


def outer_steps(seed: int, steps: int, rate: float, momentum: float) -> tuple[list, list]:
    """How far the model's weights have moved after each of some outer steps, and the gradients.

    Before each outer step this rank has moved them somewhere, as the steps of its own do.
    """
    training = make("diloco", "SGD", 1, "plain", {"rate": rate, "momentum": momentum})
    begun, generator = flat_weights.read(training.model), torch.Generator().manual_seed(seed)
    moved, gradients = [], []
    for _ in range(steps):
        gradients.append(torch.randn(begun.shape, generator=generator).tolist())
        somewhere = torch.randn(begun.shape, generator=generator)
        flat_weights.write(training.model, flat_weights.read(training.model) + somewhere)
        training.outer_step(torch.tensor(gradients[-1]))
        moved.append((flat_weights.read(training.model) - begun).tolist())
    return moved, gradients

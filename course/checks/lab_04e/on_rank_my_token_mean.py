"""What the checks of my_token_mean do on each rank."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from course.checks.tools.reference import furthest

WORDS, ROWS, LENGTH, PADDING = 10, 2, 6, -100


def _small() -> nn.Module:
    """A model, the same on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(WORDS, 4), nn.Tanh(), nn.Linear(4, WORDS))


def _pass(rank: int, number: int, count: int) -> tuple[Tensor, Tensor]:
    """Tokens and targets of a pass, with `count` targets that are no padding."""
    generator = torch.Generator().manual_seed(100 * rank + number)
    tokens, targets = torch.randint(WORDS, (2, ROWS, LENGTH), generator=generator)
    targets.view(-1)[torch.randperm(targets.numel(), generator=generator)[count:]] = PADDING
    return tokens, targets


def passes(counts: list[list[int]]) -> tuple[float, list[str]]:
    """How far the gradients of a step are off, and its forward and backward passes in order.

    Rank r has a pass of `count` targets for each of `counts[r]`.
    """
    module, order = importlib.import_module("my_token_mean"), []
    model, rank = DistributedDataParallel(_small()), dist.get_rank()

    def note(_: nn.Module, inputs: tuple, output: Tensor) -> None:
        order.append("forward")
        output.register_hook(lambda gradient: order.append("backward"))

    noting = model.module.register_forward_hook(note)
    module.backward(
        model, [_pass(rank, number, count) for number, count in enumerate(counts[rank])]
    )
    noting.remove()

    expected, losses = _small(), []
    for other, of_rank in enumerate(counts):
        for number, count in enumerate(of_rank):
            tokens, targets = _pass(other, number, count)
            outputs = expected(tokens)[targets != PADDING]
            chosen = targets[targets != PADDING]
            losses.append(nn.functional.cross_entropy(outputs, chosen, reduction="none"))
    torch.cat(losses).mean().backward()
    return furthest(*[[p.grad for p in m.parameters()] for m in (model, expected)]), order

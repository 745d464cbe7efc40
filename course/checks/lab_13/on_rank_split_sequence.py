"""What the checks of split_sequence do on each rank: its loss of a part of a sequence."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.given.long_gpt import IGNORED
from course.given.sent import Traffic

SAMPLES, LENGTH, VOCABULARY = 2, 24, 7


def places(shapes: list[tuple[int, int]]) -> list[Tensor]:
    """What the learner's zigzag returns for each length and number of ranks."""
    zigzag = importlib.import_module("split_sequence").zigzag
    return [zigzag(length, ranks) for length, ranks in shapes]


def example(counting: int) -> tuple[Tensor, Tensor]:
    """The logits and targets of whole sequences; only the last `counting` tokens count."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(SAMPLES, LENGTH, VOCABULARY, generator=generator)
    targets = torch.randint(VOCABULARY, (SAMPLES, LENGTH), generator=generator)
    targets[:, :-counting] = IGNORED
    targets[0, -1] = IGNORED  # so that samples differ, too
    return logits, targets


def lost(counting: int) -> tuple[float, Tensor | None, bool]:
    """The loss of this rank's part, the gradient of its logits, whether its arguments are kept."""
    logits, targets = part(counting)
    mine, labels = logits.clone().requires_grad_(), targets.clone()
    loss = importlib.import_module("split_sequence").loss_part(mine, labels)
    if loss.requires_grad:
        loss.backward()
    same = torch.equal(mine, logits) and torch.equal(labels, targets)
    return loss.item(), mine.grad, same


def messages() -> int:
    """How many numbers this rank sends for its loss."""
    logits, targets = part(20)
    with Traffic() as seen:
        loss = importlib.import_module("split_sequence").loss_part(logits.requires_grad_(), targets)
        loss.backward()
    return sum(message.elements for message in seen.messages)


def part(counting: int) -> tuple[Tensor, Tensor]:
    """This rank's consecutive tokens of the example: the first ranks may have none that counts."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    logits, targets = (whole.chunk(ranks, 1)[rank] for whole in example(counting))
    return logits.clone(), targets.clone()


def whole(counting: int) -> tuple[float, Tensor]:
    """The mean loss of all tokens that count, and its gradient."""
    logits, targets = example(counting)
    logits.requires_grad_()
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    return loss.item(), logits.grad

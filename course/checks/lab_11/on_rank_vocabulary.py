"""What the checks of my_vocabulary do on each rank: its loss, on this rank's logits."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.tools.recorder import recorded
from course.given.sent import Traffic

VOCABULARY, TOKENS = 24, 50  # 24 can be shared by 1, 2, 3 and 4 ranks
FACTOR = 0.5  # by which the loss is multiplied, as for the accumulation of gradients


def example(scale: float = 1.0) -> tuple[Tensor, Tensor]:
    """The targets, each token of the vocabulary among them, and the whole logits.

    Every other token has negative logits only, which does not change what they stand for.
    """
    generator = torch.Generator().manual_seed(0)
    more = torch.randint(VOCABULARY, (TOKENS - VOCABULARY,), generator=generator)
    logits = scale * torch.randn(TOKENS, VOCABULARY, generator=generator)
    logits[::2] -= 6 * scale
    return torch.cat([torch.arange(VOCABULARY), more]), logits


def lost(scale: float, groups: list[list[int]]) -> tuple[float, Tensor, bool]:
    """The loss, the gradient of this rank's logits, and whether these are still what they were."""
    return _lost(scale, dist.new_subgroups_by_enumeration(groups)[0])


def messages(groups: list[list[int]]) -> tuple[list[tuple], int]:
    """The name, elements and ranks of each message of the loss, and how many groups it makes."""
    group = dist.new_subgroups_by_enumeration(groups)[0]
    with recorded("new_group") as made, Traffic() as seen:
        _lost(1.0, group)
    return [(m.name, m.elements, m.ranks) for m in seen.messages], len(made)


def _lost(scale: float, group: dist.ProcessGroup) -> tuple[float, Tensor, bool]:
    targets, logits = example(scale)
    mine = logits.chunk(dist.get_world_size(group), 1)[dist.get_rank(group)]
    share = mine.clone().requires_grad_()
    loss = importlib.import_module("my_vocabulary").cross_entropy(share, targets, group)
    (FACTOR * loss).backward()
    return loss.item(), share.grad, torch.equal(share, mine)

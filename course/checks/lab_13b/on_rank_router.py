"""What the checks of my_router do on each rank."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.tools.recorder import recorded
from course.given.sent import Traffic

EXPERTS, TOKENS, CHOICES = 6, 9, 2


def keep(chosen: Tensor, experts: int, capacity: int) -> Tensor:
    """What the learner's `keep` returns."""
    return importlib.import_module("my_router").keep(chosen.clone(), experts, capacity)


def routed(part: int) -> tuple[Tensor, Tensor]:
    """The probabilities and the choices of one rank's tokens: each rank prefers other experts."""
    logits = torch.randn(TOKENS, EXPERTS, generator=torch.Generator().manual_seed(part))
    logits[:, part % 3] += 2
    probabilities = logits.softmax(-1)
    return probabilities, probabilities.topk(CHOICES, dim=-1).indices % (EXPERTS - 1)


def balanced(groups: int = 1) -> tuple[float, Tensor]:
    """The learner's loss for this rank's tokens, and its gradient."""
    group = dist.new_subgroups(group_size=dist.get_world_size() // groups)[0]
    probabilities, chosen = routed(dist.get_rank())
    loss = importlib.import_module("my_router").balance(
        probabilities.requires_grad_(), chosen, group
    )
    loss.backward()
    return loss.item(), probabilities.grad


def balanced_alone(parts: list[int]) -> tuple[float, Tensor]:
    """The same for the tokens of all these ranks together, in one process."""
    all_probabilities, all_chosen = zip(*map(routed, parts), strict=True)
    probabilities = torch.cat(all_probabilities).requires_grad_()
    share = torch.cat(all_chosen).flatten().bincount(minlength=EXPERTS)
    loss = EXPERTS * (share / share.sum() * probabilities.mean(0)).sum()
    loss.backward()
    return loss.item(), probabilities.grad


def messages(groups: int = 1) -> list[tuple]:
    """The name, the elements and the ranks of each message of the loss."""
    group = dist.new_subgroups(group_size=dist.get_world_size() // groups)[0]
    probabilities, chosen = routed(dist.get_rank())
    balance = importlib.import_module("my_router").balance
    with recorded("new_group"), Traffic() as seen:
        balance(probabilities.requires_grad_(), chosen, group).backward()
    return [(message.name, message.elements, message.ranks) for message in seen.messages]

"""What the checks of cured_runs do on each rank."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.checks.tools.reference import furthest

STEPS = 3


def _policy(seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))


def _answers(rank: int, step: int) -> Tensor:
    """The good and the bad answers of a rank in a step."""
    generator = torch.Generator().manual_seed(10 * rank + step)
    return torch.randn(2, 5, 4, generator=generator)


def _loss(policy: nn.Sequential, good: Tensor, bad: Tensor) -> Tensor:
    """A loss that calls the policy's parts one by one, and differs for good and bad answers."""
    body, head = policy[:-1], policy[-1]
    return nn.functional.softplus(head(body(bad)) - 2 * head(body(good))).mean()


def steps() -> tuple[list[float], list[tuple[float, float]], float]:
    """Three steps, each with the optimizer of the policy that was given.

    How far the gradients of each are off, its loss and this rank's own, and how far the policy's
    weights are off rank 0's at the start.
    """
    rank, everyone = dist.get_rank(), range(dist.get_world_size())
    policy, expected = _policy(seed=rank), _policy(seed=0)
    loss_of = importlib.import_module("cured_runs").with_ddp(policy, _loss)
    apart = furthest(*[[p.detach() for p in model.parameters()] for model in (policy, expected)])
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in (policy, expected)]
    off, losses = [], []
    for step in range(STEPS):
        own = _loss(expected, *_answers(rank, step)).item()
        loss = loss_of(*_answers(rank, step))
        losses.append((loss.item(), own))
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for other in everyone:
            (_loss(expected, *_answers(other, step)) / len(everyone)).backward()
        off.append(
            furthest(*[[p.grad for p in model.parameters()] for model in (policy, expected)])
        )
        for optimizer in optimizers:
            optimizer.step()
    return off, losses, apart


def spikes(losses: list[list[float]]) -> list[bool]:
    """What this rank answers where rank r has the losses ``losses[step][r]``, and 50 is allowed."""
    module, rank = importlib.import_module("cured_runs"), dist.get_rank()
    weight = torch.ones((), requires_grad=True)
    return [bool(module.is_spike(weight * by_rank[rank], 50.0)) for by_rank in losses]

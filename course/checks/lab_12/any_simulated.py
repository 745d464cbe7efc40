"""What the ranks of lab 12 are compared with: one process that plays all of them."""

import copy

import torch
from torch import Tensor

from course.checks.tools.reference import OPTIMIZERS, Small, batch, loss_of, weights

Row = list[float]


def replicas(
    world_size: int,
    optimizer: str,
    every: int,
    steps: int,
    kind: str = "plain",
    outer: tuple[float, float] = (1.0, 0.0),
) -> list[list[Tensor]]:
    """The weights of each rank after `steps` steps of its own, with a meeting after every `every`.

    At a meeting, torch's SGD with the rate and Nesterov momentum of `outer` moves the common
    weights towards the mean; with (1, 0) they become the mean.
    """
    common = Small(seed=0, kind=kind)
    ranks = [copy.deepcopy(common) for _ in range(world_size)]
    own = [OPTIMIZERS[optimizer]([p for p in r.parameters() if p.requires_grad]) for r in ranks]
    rate, momentum = outer
    towards = torch.optim.SGD(common.parameters(), rate, momentum, nesterov=momentum > 0)
    for step in range(steps):
        for rank, (model, update) in enumerate(zip(ranks, own, strict=True)):
            update.zero_grad()
            loss_of(model, batch(step, rank)).backward()
            update.step()
        if (step + 1) % every == 0:
            for all_of, *by_rank in zip(*(m.parameters() for m in (common, *ranks)), strict=True):
                all_of.grad = all_of.detach() - torch.stack([p.detach() for p in by_rank]).mean(0)
            towards.step()
            for model in ranks:
                model.load_state_dict(common.state_dict())
    return [weights(model) for model in ranks]


def nesterov(gradients: list[Row], rate: float, momentum: float) -> list[Row]:
    """Where steps of torch's SGD lead with these gradients, from zeros: a row for each step."""
    row, seen = torch.zeros(len(gradients[0]), requires_grad=True), []
    update = torch.optim.SGD([row], rate, momentum, nesterov=momentum > 0)
    for gradient in gradients:
        row.grad = torch.tensor(gradient)
        update.step()
        seen.append(row.tolist())
    return seen


def sparse_means(rows: list[list[Row]], count: int, feedback: bool) -> list[Row]:
    """Of gradients ``rows[step][rank]``: the mean of the ranks' `count` largest, for each step.

    With `feedback` a rank adds what it has not sent to its next gradients.
    """
    unsent = [torch.zeros(len(row)) for row in rows[0]]
    means = []
    for step in rows:
        total = torch.zeros(len(step[0]), dtype=torch.float64)
        for rank, row in enumerate(step):
            expected = torch.tensor(row) + unsent[rank]
            order = sorted(range(len(row)), key=lambda place: -abs(expected[place].item()))
            for place in order[:count]:
                total[place] += expected[place].double()
                expected[place] = 0
            if feedback:
                unsent[rank] = expected
        means.append((total / len(step)).tolist())
    return means

"""What the checks of lab 07 train: models, optimizers, batches and a step of a replica."""

import torch
from torch import Tensor, nn

from course.checks.engine.reference import OPTIMIZERS, WIDTH, Small, batch


class Normed(nn.Module):
    """A small model with a BatchNorm."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.layers = nn.Sequential(
            nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Predictions of shape (batch, 1) from `x` of shape (batch, WIDTH)."""
        return self.layers(x)


class Unused(Small):
    """A small model with a trained layer that its forward pass does not use."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        torch.manual_seed(seed)
        self.spare = nn.Linear(WIDTH, WIDTH)


def model_of(kind: str, seed: int = 0) -> nn.Module:
    """The model of that kind: see `Small`, or "normed" or "unused"."""
    own = {"normed": Normed, "unused": Unused}
    return own[kind](seed) if kind in own else Small(seed, kind)


def update_of(model: nn.Module, optimizer: str) -> torch.optim.Optimizer:
    """The optimizer of that name for what is trained of the model."""
    return OPTIMIZERS[optimizer]([p for p in model.parameters() if p.requires_grad])


def loader(sizes: tuple[int, ...]) -> list[tuple[Tensor, Tensor]]:
    """Whole batches of these sizes."""
    return [batch(number, 0, size) for number, size in enumerate(sizes)]


def step(model: nn.Module, share: object) -> Tensor:
    """A replica's part of the squared error's mean over the whole batch, and its gradients."""
    loss = ((model(share.inputs) - share.targets) ** 2).sum() / share.whole
    loss.backward()
    return loss.detach()

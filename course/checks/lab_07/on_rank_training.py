"""What the checks of lab 07 train: models, optimizers, batches and a step of a replica."""

import torch
from torch import Tensor, nn

from course.checks.tools.reference import OPTIMIZERS, WIDTH, Small, batch


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
    """A small model with two more trained layers: one is never used, the other sometimes.

    That is for a batch of 6 and its halves, and not for batches of 8 and 2 and their halves.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        torch.manual_seed(seed)
        self.spare, self.sometimes = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """Predictions of shape (batch, 1) from `x` of shape (batch, WIDTH)."""
        return super().forward(self.sometimes(x) if len(x) % 3 == 0 else x)


class Double(Small):
    """A small model in double precision."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.double()

    def forward(self, x: Tensor) -> Tensor:
        """Predictions of shape (batch, 1) from `x` of shape (batch, WIDTH)."""
        return super().forward(x.double())


class Counted(Small):
    """A small model with a buffer of whole numbers, too large for single precision."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.register_buffer("seen", torch.tensor([2**40 + 1 + seed]))


OWN = {"normed": Normed, "unused": Unused, "double": Double, "counted": Counted}


def model_of(kind: str, seed: int = 0) -> nn.Module:
    """The model of that kind: see `Small`, or one of `OWN`."""
    return OWN[kind](seed) if kind in OWN else Small(seed, kind)


def update_of(model: nn.Module, optimizer: str) -> torch.optim.Optimizer:
    """The optimizer of that name for what is trained of the model: one of `OPTIMIZERS`, "SGD with
    two groups", or "AdamW of all parameters", the frozen ones too.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    if optimizer == "SGD with two groups":
        slow = {"params": parameters[2:], "lr": 0.02}
        return torch.optim.SGD([{"params": parameters[:2]}, slow], lr=0.1)
    if optimizer == "AdamW of all parameters":
        return OPTIMIZERS["AdamW"](model.parameters())
    return OPTIMIZERS[optimizer](parameters)


def loader(sizes: tuple[int, ...]) -> list[tuple[Tensor, Tensor]]:
    """Whole batches of these sizes; the third begins with a sample of zeros.

    A replica with this sample alone has a gradient of zero for the first weight.
    """
    batches = [batch(number, 0, size) for number, size in enumerate(sizes)]
    for inputs, _ in batches[2:3]:
        inputs[0] = 0
    return batches


def step(model: nn.Module, share: object) -> Tensor:
    """A replica's part of the squared error's mean over the whole batch, and its gradients."""
    loss = ((model(share.inputs) - share.targets) ** 2).sum() / share.whole
    loss.backward()
    return loss.detach()

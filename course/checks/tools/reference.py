"""Small models and training loops for the checks of data-parallel code, exact on the CPU."""

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn

# Intel's math library chooses the code of a function at its first call, and threads that make this
# call at the same time may get code of low accuracy (pytorch/pytorch#188792). The replicas of lab
# 01 are such threads.
torch.tanh(torch.ones(1))

WIDTH = 6
CLOSE = 1e-5  # how far apart float32 results may be if they were summed in different orders
OPTIMIZERS: dict[str, Callable] = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "SGD with momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1),
}


class Small(nn.Module):
    """Three layers and two heads.

    Its `kind` is "plain", or adds what data-parallel code gets wrong: "tied" or "frozen" weights.
    """

    def __init__(self, seed: int, kind: str = "plain") -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.kind = kind
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.heads = nn.ModuleList(nn.Linear(WIDTH, 1) for _ in range(2))
        self.register_buffer("scale", torch.rand(1, generator=generator) + 0.5)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) / 2)
        if kind == "tied":
            self.layers[2].weight = self.layers[0].weight
        if kind == "frozen":
            self.layers[0].requires_grad_(False)

    def forward(self, x: Tensor, heads: tuple[int, ...] = (0, 1)) -> Tensor:
        """Predictions (batch, 1) from `x` (batch, WIDTH); `heads` are used in that order."""
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.scale * sum(self.heads[i](x) for i in heads)


def batch(step: int, rank: int, size: int = 4) -> tuple[Tensor, Tensor]:
    """The inputs (size, WIDTH) and targets (size, 1) of one rank in one step."""
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(size, WIDTH, generator=generator), torch.randn(size, 1, generator=generator)


def loss_of(model: nn.Module, data: tuple[Tensor, Tensor], **kwargs: object) -> Tensor:
    """The mean squared error of `model` on one batch."""
    inputs, targets = data
    return nn.functional.mse_loss(model(inputs, **kwargs), targets)


def weights(model: nn.Module) -> list[Tensor]:
    """Copies of the parameters and buffers."""
    return [tensor.detach().clone() for tensor in (*model.parameters(), *model.buffers())]


def train_alone(
    kind: str, optimizer: str, steps: int, world_size: int, passes: int = 1
) -> list[Tensor]:
    """The weights of one process after `steps` steps on the joined batches of all ranks.

    Each step accumulates the gradients of `passes` such batches.
    """
    model = Small(seed=0, kind=kind)
    updates = OPTIMIZERS[optimizer]([p for p in model.parameters() if p.requires_grad])
    for step in range(steps):
        updates.zero_grad()
        for part in range(passes):
            parts = [batch(step * passes + part, rank) for rank in range(world_size)]
            whole = tuple(torch.cat(column) for column in zip(*parts, strict=True))
            (loss_of(model, whole) / passes).backward()
        updates.step()
    return weights(model)


def train_replica(
    wrapper: Callable, kind: str, optimizer: str, steps: int, passes: int = 1
) -> list[Tensor]:
    """This rank's weights after `steps` steps of the learner's replica on this rank's batches.

    The initial weights differ by rank. Each step accumulates the gradients of `passes` batches.
    """
    rank = dist.get_rank()
    replica = wrapper(Small(seed=rank, kind=kind))
    updates = OPTIMIZERS[optimizer]([p for p in replica.parameters() if p.requires_grad])
    for step in range(steps):
        updates.zero_grad()
        for part in range(passes - 1):
            with replica.no_sync():
                (loss_of(replica, batch(step * passes + part, rank)) / passes).backward()
                replica.finish()
        (loss_of(replica, batch(step * passes + passes - 1, rank)) / passes).backward()
        replica.finish()
        updates.step()
    return weights(replica)


def furthest(left: Sequence[Tensor | None], right: Sequence[Tensor | None]) -> float:
    """The largest difference between two lists of tensors.

    It is NaN if a tensor has a NaN, or is missing like the gradient of an unused parameter.
    """
    return float(torch.stack([_gap(a, b) for a, b in zip(left, right, strict=True)]).max())


def _gap(left: Tensor | None, right: Tensor | None) -> Tensor:
    """The largest difference; two equal infinities have a difference of 0."""
    if left is None or right is None:
        return torch.tensor(torch.nan, dtype=torch.float64)
    return torch.where(left == right, 0.0, (left - right).abs().double()).max()

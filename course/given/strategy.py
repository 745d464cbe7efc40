"""The interface of the strategies in labs 07 and 07c, and the simplest strategy."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Share(NamedTuple):
    """One replica's share of a batch of `whole` samples; it may be empty."""

    inputs: Tensor
    targets: Tensor
    whole: int

    def to(self, device: torch.device) -> "Share":
        """The same share on a device."""
        return Share(self.inputs.to(device), self.targets.to(device), self.whole)


def split(batch: tuple[Tensor, Tensor], parts: int) -> list[Share]:
    """The shares of a batch, as equal as possible."""
    columns = (tensor.tensor_split(parts) for tensor in batch)
    return [Share(x, y, len(batch[0])) for x, y in zip(*columns, strict=True)]


def trained(model: nn.Module) -> list[nn.Parameter]:
    """The parameters that training changes, without frozen ones."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def step(model: nn.Module, share: Share) -> Tensor:
    """A replica's part of the batch's mean loss, and its gradients."""
    total = nn.functional.cross_entropy(model(share.inputs), share.targets, reduction="sum")
    loss = total / share.whole
    loss.backward()
    return loss.detach()


class Strategy:
    """Decides where the variables live, what each device computes, and how the replicas agree."""

    def __init__(self, devices: list[torch.device]) -> None:
        self.devices = devices  # of the replicas in this process
        self.threads = ThreadPoolExecutor(len(devices))

    @contextmanager
    def scope(self) -> Iterator[SimpleNamespace]:
        """The `model` and the `optimizer` made inside belong to the strategy."""
        made = SimpleNamespace()
        yield made
        self.model, self.optimizer = made.model, made.optimizer
        self.place()

    def place(self) -> None:
        """Put the variables where the strategy wants them."""
        self.model.to(self.devices[0])

    def distribute(self, loader: Iterable) -> Iterator[list[Share]]:
        """For each batch the shares of the replicas in this process, each on its device."""
        for batch in loader:
            shares = split(batch, len(self.devices))
            yield [share.to(device) for share, device in zip(shares, self.devices, strict=True)]

    def run(self, step: Callable, shares: list[Share]) -> list:
        """Every replica takes its step, `step(model, share)`; then one update of the variables."""
        raise NotImplementedError

    def reduce(self, values: list[Tensor]) -> float:
        """The sum of one value per replica."""
        return sum(float(value) for value in values)

    def at_once(self, function: Callable, *columns: list) -> list:
        """Call `function` for every replica in this process, each in its own thread.

        The results come back in the order of the replicas.
        """
        return list(self.threads.map(function, *columns))


class OneDevice(Strategy):
    """No distribution at all."""

    def run(self, step: Callable, shares: list[Share]) -> list:
        """The step and the update of ordinary training."""
        self.optimizer.zero_grad()
        values = [step(self.model, shares[0])]
        self.optimizer.step()
        return values

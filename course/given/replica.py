"""The base of the data-parallel models of labs 03 and 03b, and how gradients become messages.

A replica holds the model of one rank. The learner writes how the gradients travel.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn


def pack(parameters: list[nn.Parameter]) -> Tensor:
    """One flat tensor: the gradients (zeros if there is none), then a flag for each.

    The flag is 1 if the parameter has a gradient on this rank, else 0.
    """
    gradients = [p.new_zeros(p.numel()) if p.grad is None else p.grad.flatten() for p in parameters]
    flags = gradients[0].new_ones(len(parameters))  # made on the GPU: a copy from a list would wait
    for parameter, flag in zip(parameters, flags, strict=True):
        if parameter.grad is None:
            flag.zero_()
    return torch.cat([*gradients, flags])


def unpack(averages: list[tuple[Tensor, list[nn.Parameter]]]) -> None:
    """Make the parts of the flat tensors the gradients of their parameters.

    A parameter whose flags add up to 0 was used by no rank, and keeps no gradient.
    """
    used = []
    for flat, parameters in averages:
        *parts, flags = flat.split([*(p.numel() for p in parameters), len(parameters)])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)
        used.append(flags)
    everyone = [parameter for _, parameters in averages for parameter in parameters]
    flags = torch.cat(used).tolist()  # all flags at once: here we wait for the GPU
    for parameter, flag in zip(everyone, flags, strict=True):
        if not flag:
            parameter.grad = None


class Replica(nn.Module):
    """A model on this rank, which knows what is trained and whether gradients travel now."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.module = model
        self.trained = [p for p in model.parameters() if p.requires_grad]
        self.world_size = dist.get_world_size()
        self.sync = True

    def forward(self, *args: object, **kwargs: object) -> object:
        """As the model's own."""
        return self.module(*args, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within it, gradients stay local and add up."""
        self.sync = False
        try:
            yield
        finally:
            self.sync = True

"""The weights of a model as one row of numbers, so that they travel in one message."""

import torch
from torch import Tensor, nn


def read(model: nn.Module) -> Tensor:
    """A copy of all parameters, one after another: a row of as many numbers as there are."""
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@torch.no_grad()
def write(model: nn.Module, row: Tensor) -> None:
    """Copy such a row into the parameters. Raises `ValueError` for a row of another length."""
    parameters = list(model.parameters())
    wanted = sum(parameter.numel() for parameter in parameters)
    if row.shape != (wanted,):
        raise ValueError(f"the model has {wanted} weights, and the row {tuple(row.shape)} numbers")
    parts = row.split([parameter.numel() for parameter in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.copy_(part.view_as(parameter))

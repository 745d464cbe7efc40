"""Layers, an embedding and a loss that are split over the ranks of a group, as lab 11 builds them.

Labs 11b and 11c stack them into pipelines, so that they run without your answers to lab 11.
"""

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.core import CourseError


class Enter(torch.autograd.Function):
    """A whole tensor enters split layers (Megatron-LM's operator f)."""

    @staticmethod
    def forward(ctx, x: Tensor, group: dist.ProcessGroup) -> Tensor:
        """Pass the tensor on."""
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        """Add up the gradients of all ranks of the group."""
        return _summed(gradient, ctx.group), None


class Leave(torch.autograd.Function):
    """Partial results leave split layers and become whole (Megatron-LM's operator g)."""

    @staticmethod
    def forward(ctx, partial: Tensor, group: dist.ProcessGroup) -> Tensor:
        """Add up the partial results of all ranks of the group."""
        return _summed(partial, group)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        """Pass the gradient on."""
        return gradient, None


def _summed(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    total = x.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total, group=group)
    return total


def part(whole: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
    """This rank's share of `whole` along `dim`, as a copy; every rank holds the same `whole`."""
    ranks = dist.get_world_size(group)
    if whole.shape[dim] % ranks:
        raise CourseError(
            f"{ranks} ranks cannot share {whole.shape[dim]} rows, columns or heads evenly."
        )
    return whole.detach().chunk(ranks, dim)[dist.get_rank(group)].clone()


class ColumnLinear(nn.Module):
    """Computes this rank's share of the outputs from a whole input (..., inputs).

    One weight may hold `blocks` matrices, such as those of query, key and value.
    """

    def __init__(self, inputs: int, outputs: int, group: dist.ProcessGroup, blocks: int = 1):
        super().__init__()
        self.group = group
        whole = nn.Linear(inputs, outputs)
        for name, tensor in whole.named_parameters():
            share = part(tensor.unflatten(0, (blocks, -1)), 1, group).flatten(0, 1)
            self.register_parameter(name, nn.Parameter(share))

    def forward(self, x: Tensor) -> Tensor:
        """The outputs (..., outputs / ranks) of this rank."""
        return nn.functional.linear(Enter.apply(x, self.group), self.weight, self.bias)


class RowLinear(nn.Module):
    """Computes the whole output (..., outputs) from this rank's share of the inputs."""

    def __init__(self, inputs: int, outputs: int, group: dist.ProcessGroup):
        super().__init__()
        self.group = group
        whole = nn.Linear(inputs, outputs)
        self.weight, self.bias = nn.Parameter(part(whole.weight, 1, group)), whole.bias

    def forward(self, share: Tensor) -> Tensor:
        """The whole outputs, the same on every rank."""
        return Leave.apply(nn.functional.linear(share, self.weight), self.group) + self.bias


def mine(tokens: Tensor, rows: int, group: dist.ProcessGroup) -> tuple[Tensor, Tensor]:
    """Which tokens are in this rank's `rows`, and the row of each, 0 for other tokens."""
    local = tokens - dist.get_rank(group) * rows
    here = (local >= 0) & (local < rows)
    return here, local * here


def embed(tokens: Tensor, weight: Tensor, group: dist.ProcessGroup) -> Tensor:
    """The embeddings (..., width) of `tokens` (...); `weight` holds this rank's rows."""
    here, local = mine(tokens, len(weight), group)
    return Leave.apply(nn.functional.embedding(local, weight) * here.unsqueeze(-1), group)


def cross_entropy(logits: Tensor, targets: Tensor, group: dist.ProcessGroup) -> Tensor:
    """The mean loss over all tokens; `logits` (tokens, rows) are this rank's columns."""
    largest = logits.detach().amax(-1)
    dist.all_reduce(largest, dist.ReduceOp.MAX, group=group)
    shifted = logits - largest.unsqueeze(-1)
    here, local = mine(targets, logits.shape[-1], group)
    target = shifted.gather(-1, local.unsqueeze(-1)).squeeze(-1) * here
    total, target = Leave.apply(torch.stack([shifted.exp().sum(-1), target]), group)
    return (total.log() - target).mean()

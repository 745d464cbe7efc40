"""Attention of a split sequence by all-to-all: all tokens of some heads, instead of all heads."""

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.core import CourseError

HEADS, TOKENS = -3, -2  # dimensions of (samples, heads, tokens, width)


class Exchange(torch.autograd.Function):
    """Cut a tensor along one dimension for all ranks, and join what they send along another."""

    @staticmethod
    def forward(ctx, x: Tensor, cut: int, join: int, group: dist.ProcessGroup) -> Tensor:
        ctx.back = join, cut, group
        parts = torch.stack(x.chunk(dist.get_world_size(group), cut))  # part i is for rank i
        arrived = torch.empty_like(parts)
        dist.all_to_all_single(arrived, parts, group=group)
        return torch.cat(list(arrived), join)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        return Exchange.apply(gradient, *ctx.back), None, None, None


def ulysses(q: Tensor, k: Tensor, v: Tensor, places: Tensor, group: dist.ProcessGroup) -> Tensor:
    """Causal attention of this rank's queries to the keys of all ranks, for this rank's tokens.

    `places` (ranks, tokens) has the places of each rank's tokens in the sequence.
    """
    ranks, heads = dist.get_world_size(group), q.shape[HEADS]
    if heads % ranks:
        raise CourseError(f"{ranks} ranks cannot share {heads} heads evenly.")
    as_they_come = places.flatten()
    whole = Exchange.apply(torch.stack([q, k, v]), HEADS, TOKENS, group)
    q, k, v = whole.index_select(TOKENS, as_they_come.argsort())
    out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return Exchange.apply(out.index_select(TOKENS, as_they_come), TOKENS, HEADS, group)

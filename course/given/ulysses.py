"""Attention of a split sequence by all-to-all: all tokens of some heads, instead of all heads."""

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.core import CourseError

HEADS, TOKENS = -3, -2  # dimensions of (samples, heads, tokens, width)


class Exchange(torch.autograd.Function):
    """Cut a tensor along one dimension for all ranks, and join what they send along another.

    Whole sequences are in order; `places` (ranks, tokens) has those of each rank's tokens.
    """

    @staticmethod
    def forward(
        ctx, x: Tensor, cut: int, join: int, places: Tensor, group: dist.ProcessGroup
    ) -> Tensor:
        ctx.back = join, cut, places, group
        as_ranks_hold_them = places.flatten()
        if cut == TOKENS:
            x = x.index_select(TOKENS, as_ranks_hold_them)
        parts = torch.stack(x.chunk(dist.get_world_size(group), cut))  # part i is for rank i
        arrived = torch.empty_like(parts)
        dist.all_to_all_single(arrived, parts, group=group)
        joined = torch.cat(list(arrived), join)
        if join == TOKENS:
            joined = joined.index_select(TOKENS, as_ranks_hold_them.argsort())
        return joined

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return Exchange.apply(gradient, *ctx.back), None, None, None, None


def ulysses(q: Tensor, k: Tensor, v: Tensor, places: Tensor, group: dist.ProcessGroup) -> Tensor:
    """Causal attention of this rank's queries to the keys of all ranks, for this rank's tokens.

    `places` (ranks, tokens) has the places of each rank's tokens in the sequence.
    """
    ranks, heads = dist.get_world_size(group), q.shape[HEADS]
    if heads % ranks:
        raise CourseError(f"{ranks} ranks cannot share {heads} heads evenly.")
    q, k, v = Exchange.apply(torch.stack([q, k, v]), HEADS, TOKENS, places, group)
    out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return Exchange.apply(out, TOKENS, HEADS, places, group)

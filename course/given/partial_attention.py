"""Causal attention to a part of the keys, in a form that can be merged with other parts.

A rank's queries see a key only if its place in the sequence is not later than theirs. Only the
queries that see some key, and the keys that some query sees, are computed.
"""

from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from course.given import messages


class Partial(NamedTuple):
    """Attention to some of the keys: for each query the largest score, and two sums over them."""

    top: Tensor  # the largest score, (samples, heads, queries)
    total: Tensor  # the sum of exp(score - top), of the same shape
    weighted: Tensor  # the sum of exp(score - top) * value, (samples, heads, queries, width)


def attend(q: Tensor, k: Tensor, v: Tensor, q_places: Tensor, k_places: Tensor) -> Partial:
    """Attention of the queries at `q_places` to the keys and values at `k_places`.

    `q`, `k` and `v` are (samples, heads, tokens, width). A query that sees none of these keys has
    sums of zero and the lowest finite number as its largest score.
    """
    rows, columns = _visible(q_places, k_places)
    top = q.new_full(q.shape[:-1], torch.finfo(q.dtype).min)
    total, weighted = torch.zeros_like(top), torch.zeros_like(q)
    if len(rows):
        scores = _scores(q, k, q_places, k_places)
        largest = scores.amax(-1)
        exponentials = (scores - largest.unsqueeze(-1)).exp()
        top[..., rows] = largest
        total[..., rows] = exponentials.sum(-1)
        weighted[..., rows, :] = exponentials @ v[..., columns, :]
    return Partial(top, total, weighted)


def gradients(
    d_out: Tensor,
    out: Tensor,
    log_total: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    q_places: Tensor,
    k_places: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """What these keys and values contribute to the gradient of `q`, and the gradients of `k`, `v`.

    `out` and `log_total` belong to the attention to *all* keys: its output, and the logarithm of
    its sum of exp(score). With them, a weight of the softmax follows from its score alone.
    """
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    rows, columns = _visible(q_places, k_places)
    if len(rows):
        scores = _scores(q, k, q_places, k_places)
        weights = (scores - log_total[..., rows].unsqueeze(-1)).exp()
        d_weights = d_out[..., rows, :] @ v[..., columns, :].transpose(-1, -2)
        mean = (d_out * out).sum(-1)[..., rows].unsqueeze(-1)
        d_scores = weights * (d_weights - mean) * q.shape[-1] ** -0.5
        dq[..., rows, :] = d_scores @ k[..., columns, :]
        dk[..., columns, :] = d_scores.transpose(-1, -2) @ q[..., rows, :]
        dv[..., columns, :] = weights.transpose(-1, -2) @ d_out[..., rows, :]
    return dq, dk, dv


def computed(q_places: Tensor, k_places: Tensor) -> int:
    """How many scores `attend` computes for these places, for each head of a sample."""
    rows, columns = _visible(q_places, k_places)
    return len(rows) * len(columns)


def pass_on(block: Tensor, group: dist.ProcessGroup) -> Tensor:
    """Send a tensor to the next rank of the group, and return the previous rank's tensor."""
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    if ranks == 1:
        return block
    arrived = torch.empty_like(block, memory_format=torch.contiguous_format)
    after, before = (dist.get_global_rank(group, (rank + step) % ranks) for step in (1, -1))
    to = dist.P2POp(dist.isend, block.contiguous(), after, group)
    messages.deliver([to, dist.P2POp(dist.irecv, arrived, before, group)])
    return arrived


def _visible(q_places: Tensor, k_places: Tensor) -> tuple[Tensor, Tensor]:
    """The queries that see some of the keys, and the keys that some of the queries see."""
    rows = (q_places >= k_places.min()).nonzero().flatten()
    columns = (k_places <= q_places.max()).nonzero().flatten()
    return (rows, columns) if len(rows) else (rows, rows)


def _scores(q: Tensor, k: Tensor, q_places: Tensor, k_places: Tensor) -> Tensor:
    """The scores of the visible queries and keys, minus infinity where a query must not look."""
    rows, columns = _visible(q_places, k_places)
    scores = q[..., rows, :] @ k[..., columns, :].transpose(-1, -2) * q.shape[-1] ** -0.5
    hidden = q_places[rows].unsqueeze(-1) < k_places[columns]
    return scores.masked_fill(hidden, -torch.inf)

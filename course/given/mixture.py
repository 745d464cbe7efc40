"""A small GPT for bytes, with a mixture of experts in place of each MLP.

The ranks of a group share the experts of a layer: each holds some of them, whole. All other layers
are whole on every rank.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.core import CourseError

EXPERTS, TOP = 8, 2  # in a layer, and how many of them each token chooses
LAYERS, WIDTH, HEADS, VOCABULARY, CONTEXT = 2, 64, 4, 256, 32


@dataclass(frozen=True)
class Parts:
    """The scripts' functions that a mixture calls: three for its router, one to send tokens."""

    choose: Callable[[Tensor, int], tuple[Tensor, Tensor, Tensor]]
    keep: Callable[[Tensor, int, int], Tensor]
    balance: Callable[[Tensor, Tensor, dist.ProcessGroup], Tensor]
    through: Callable[..., Tensor]


def is_expert(name: str) -> bool:
    """Whether the parameter of this name belongs to an expert."""
    return ".experts." in name


def capacity(factor: float, tokens: int) -> int:
    """The most choices that an expert takes from one rank's `tokens`; factor 0 sets no limit."""
    return math.ceil(factor * TOP * tokens / EXPERTS) if factor else tokens


def expert() -> nn.Sequential:
    """One expert: an MLP, narrower than that of a GPT without experts."""
    return nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))


def run_experts(rows: Tensor, incoming: Tensor, experts: nn.ModuleDict) -> Tensor:
    """Run each row that has come here (rows, width) through its expert; the order stays.

    `incoming` (ranks, experts here): how many rows each rank has sent to each expert. Rows are in
    that order. An expert without rows is not called.
    """
    here = torch.arange(len(experts), device=rows.device).repeat(len(incoming))
    place = here.repeat_interleave(incoming.flatten())
    out = rows.clone()  # depends on `rows` even if none has come: all ranks exchange in backward
    for number, expert in enumerate(experts.values()):
        if (its := (place == number).nonzero()).numel():
            mine = rows.gather(0, its.expand(-1, rows.shape[1]))
            out = out.index_copy(0, its.flatten(), expert(mine))
    return out


class Mixture(nn.Module):
    """A router, and this rank's share of the experts; `seen` has what the last forward counted."""

    def __init__(self, layer: int, group: dist.ProcessGroup, parts: Parts, factor: float):
        super().__init__()
        self.group, self.parts, self.factor = group, parts, factor
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        held = EXPERTS // dist.get_world_size(group)
        first, self.experts = held * dist.get_rank(group), nn.ModuleDict()
        for number in range(first, first + held):
            torch.manual_seed(1000 * (layer + 1) + number)  # by expert: N must not change the start
            self.experts[str(number)] = expert()
        self.seen: dict[str, Tensor] = {}

    def forward(self, x: Tensor) -> Tensor:
        """From (samples, tokens, width) of this rank to the same shape."""
        rows = x.flatten(0, 1)
        chosen, weights, probabilities = self.parts.choose(self.router(rows), TOP)
        mask = self.parts.keep(chosen, EXPERTS, capacity(self.factor, len(rows)))
        self.seen = {
            "balance": self.parts.balance(probabilities, chosen, dist.group.WORLD),
            "load": torch.bincount(chosen.flatten(), minlength=EXPERTS).float(),
            "dropped": 1 - mask.float().mean(),
        }
        out = self.parts.through(rows, chosen, weights, mask, self.experts, self.group)
        return out.view_as(x)


class Block(nn.Module):
    """Attention, then a mixture of experts."""

    def __init__(self, layer: int, group: dist.ProcessGroup, parts: Parts, factor: float):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mixture = Mixture(layer, group, parts, factor)

    def forward(self, x: Tensor) -> Tensor:
        """From (samples, tokens, width) of this rank to the same shape."""
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.mixture(self.norms[1](x))


class Model(nn.Module):
    """The whole GPT, its experts shared by the ranks of `group`."""

    def __init__(self, group: dist.ProcessGroup, parts: Parts, factor: float = 0.0):
        super().__init__()
        if EXPERTS % (ranks := dist.get_world_size(group)):
            raise CourseError(f"{ranks} ranks cannot share {EXPERTS} experts evenly.")
        torch.manual_seed(0)
        self.table = nn.Parameter(torch.randn(VOCABULARY, WIDTH) * WIDTH**-0.5)
        self.places = nn.Parameter(torch.randn(CONTEXT, WIDTH) * 0.01)
        self.norm = nn.LayerNorm(WIDTH)
        self.blocks = nn.ModuleList()
        for layer in range(LAYERS):
            torch.manual_seed(layer + 1)
            self.blocks.append(Block(layer, group, parts, factor))

    def forward(self, tokens: Tensor) -> Tensor:
        """From tokens (samples, context) to logits (samples, context, vocabulary)."""
        x = nn.functional.embedding(tokens, self.table) + self.places
        for block in self.blocks:
            x = block(x)
        return nn.functional.linear(self.norm(x), self.table)

    def seen(self, name: str) -> Tensor:
        """What each layer's last forward counted: balance, load (layers, experts) or dropped."""
        return torch.stack([block.mixture.seen[name] for block in self.blocks])

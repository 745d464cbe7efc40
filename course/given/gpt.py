"""A small GPT for bytes: its layers shared by the ranks of a group, its blocks by pipeline stages.

The loss and the table of tokens are split over the ranks of the group, too.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.core import CourseError
from course.data import nli
from course.given import tensor_parallel as ours

# layers, width, heads, vocabulary, context (tokens)
SIZES = {"tiny": (4, 64, 4, 256, 32), "3B": (36, 2560, 32, 50304, 2048)}
SHARED_INPUTS = (".out.weight", ".down.weight")  # of layers cut into rows, whose bias is whole


@dataclass(frozen=True)
class Layers:
    """The parts of the GPT; each takes the group whose ranks share it."""

    column: Callable[..., nn.Module] = ours.ColumnLinear
    row: Callable[..., nn.Module] = ours.RowLinear
    enter: Callable[..., Tensor] = ours.Enter.apply
    embed: Callable[..., Tensor] = ours.embed
    cross_entropy: Callable[..., Tensor] = ours.cross_entropy


def is_split(name: str) -> bool:
    """Whether the ranks of a group hold different parts of this parameter, rather than copies."""
    return name == "table" or ".qkv." in name or ".up." in name or name.endswith(SHARED_INPUTS)


class Attention(nn.Module):
    """Attention in which each rank computes its share of the heads, each head whole."""

    def __init__(self, width: int, heads: int, group: dist.ProcessGroup, layers: Layers):
        super().__init__()
        ranks = dist.get_world_size(group)
        if heads % ranks:
            raise CourseError(f"{ranks} ranks cannot share {heads} heads evenly.")
        self.heads = heads // ranks
        self.qkv = layers.column(width, 3 * width, group, blocks=3)
        self.out = layers.row(width, width, group)

    def forward(self, x: Tensor) -> Tensor:
        """From (samples, tokens, width) to the same shape, whole on every rank."""
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention, then an MLP: one all-reduce each in forward, and one each in backward."""

    def __init__(self, width: int, heads: int, group: dist.ProcessGroup, layers: Layers):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.attention = Attention(width, heads, group, layers)
        self.up = layers.column(width, 4 * width, group)
        self.down = layers.row(4 * width, width, group)

    def forward(self, x: Tensor) -> Tensor:
        """From (samples, tokens, width) to the same shape, whole on every rank."""
        x = x + self.attention(self.norms[0](x))
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))


class Stage(nn.Module):
    """The blocks of pipeline stage `stage` of `stages`.

    The first one embeds the tokens and the last one predicts them, with a copy of the same table.
    """

    def __init__(
        self,
        size: str,
        stage: int,
        stages: int,
        group: dist.ProcessGroup,
        layers: Layers | None = None,
    ):
        super().__init__()
        self.made_of = layers or Layers()
        blocks, width, heads, vocabulary, self.context = SIZES[size]
        if blocks % stages:
            raise CourseError(f"{stages} stages cannot share {blocks} layers evenly.")
        self.width, self.group = width, group
        self.first, self.last = stage == 0, stage == stages - 1
        torch.manual_seed(1000)
        if self.first or self.last:
            table = torch.randn(vocabulary, width) * width**-0.5
            self.table = nn.Parameter(ours.part(table, 0, group))
        if self.first:
            self.places = nn.Parameter(torch.randn(self.context, width) * 0.01)
        if self.last:
            self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleDict()
        for number in range(stage * blocks // stages, (stage + 1) * blocks // stages):
            torch.manual_seed(number)  # by block, not by rank or stage: N must not change the start
            self.blocks[str(number)] = Block(width, heads, group, self.made_of)

    def forward(self, x: Tensor) -> Tensor:
        """From tokens or activations to the next stage's activations, or this rank's logits."""
        if self.first:
            x = self.made_of.embed(x, self.table, self.group) + self.places
        for block in self.blocks.values():
            x = block(x)
        if self.last:
            x = self.made_of.enter(self.norm(x), self.group)
            x = nn.functional.linear(x, self.table)
        return x

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The mean loss of all tokens of a batch, from this rank's logits."""
        return self.made_of.cross_entropy(logits.flatten(0, 1), targets.flatten(), self.group)

    def share_of(self, whole: dict[str, Tensor]) -> dict[str, Tensor]:
        """This rank's part of a whole model's `state_dict()`, to load or compare it."""
        share = {}
        for name, mine in self.state_dict().items():
            share[name] = whole[name]
            if mine.shape != share[name].shape:
                dim = int(mine.shape[1:] != share[name].shape[1:])  # rows of a RowLinear are whole
                blocks = share[name].unflatten(0, (3 if "qkv" in name else 1, -1))
                share[name] = ours.part(blocks, dim + 1, self.group).flatten(0, 1)
        return share


def samples(size: str) -> Tensor:
    """Pieces of text for a model of this size, (samples, context + 1), as bytes."""
    context = SIZES[size][-1]
    pairs = nli.pairs()["train"][:2000]
    text = "".join(f"{premise}, {hypothesis}. " for premise, hypothesis, _ in pairs)
    return torch.tensor(list(text.encode())).unfold(0, context + 1, context)

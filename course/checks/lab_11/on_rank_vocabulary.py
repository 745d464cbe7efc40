"""What the checks of my_vocabulary do on each rank: its embedding and loss, on shares."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.engine.recorder import RECORDED, Call, recorded

VOCABULARY, WIDTH, TOKENS = 24, 3, 50  # 24 can be shared by 1, 2, 3 and 4 ranks


def example(place: int = 0, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """The tokens, the whole table, and the whole logits; those of each `place` differ."""
    generator = torch.Generator().manual_seed(place)
    tokens = torch.cat([torch.arange(VOCABULARY), torch.randint(VOCABULARY, (TOKENS - VOCABULARY,),
                                                                generator=generator)])  # fmt: skip
    table = torch.randn(VOCABULARY, WIDTH, generator=generator)
    return tokens, table, scale * torch.randn(TOKENS, VOCABULARY, generator=generator)


def _setting(groups: int) -> tuple[object, dist.ProcessGroup, int, slice]:
    """The script, this rank's group, which group that is, and the rank's part of a vocabulary."""
    size = dist.get_world_size() // groups
    group, rows = dist.new_subgroups(group_size=size)[0], VOCABULARY // size
    first = dist.get_rank(group) * rows
    place = dist.get_rank() // size
    return importlib.import_module("my_vocabulary"), group, place, slice(first, first + rows)


def embedded(shape: tuple[int, ...], groups: int = 1) -> tuple[Tensor, Tensor]:
    """The embeddings of tokens of that shape, and the gradient of this rank's rows of the table."""
    script, group, place, mine = _setting(groups)
    tokens, table, _ = example(place)
    rows = table[mine].clone().requires_grad_()
    found = script.embed(tokens.view(shape), rows, group)
    (found.flatten(0, -2) * upstream()).sum().backward()
    return found.detach(), rows.grad


def upstream() -> Tensor:
    """What the embeddings are multiplied by, so that each has a gradient of its own."""
    return torch.arange(1.0, 1 + TOKENS * WIDTH).view(TOKENS, WIDTH) / 100


def lost(groups: int = 1, scale: float = 1.0) -> tuple[float, Tensor, bool]:
    """The loss, the gradient of this rank's logits, and whether these are still what they were."""
    script, group, place, mine = _setting(groups)
    targets, _, logits = example(place, scale)
    share = logits[:, mine].clone().requires_grad_()
    loss = script.cross_entropy(share, targets, group)
    loss.backward()
    return loss.item(), share.grad, torch.equal(share, logits[:, mine])


def messages() -> list[Call]:
    """What the loss sends in both directions, and the groups that it makes for it."""
    script, group, place, mine = _setting(1)
    targets, _, logits = example(place)
    share = logits[:, mine].clone().requires_grad_()
    with recorded(*RECORDED, "new_group") as calls:
        script.cross_entropy(share, targets, group).backward()
    return calls

"""What the checks of ring_attention do on each rank: its attention of a part of a sequence."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.checks.tools.loose_ends import late
from course.checks.tools.recorder import recorded
from course.given.partial_attention import Partial, attend
from course.given.sent import Traffic

SAMPLES, HEADS, LENGTH, WIDTH = 2, 3, 24, 5  # 24 tokens: 1, 2, 3 and 4 ranks can hold two pieces
# By the number of ranks, for each rank: where its two pieces begin in zigzag.
STARTS = {
    1: [(0, 12)],
    2: [(0, 18), (6, 12)],
    3: [(0, 20), (4, 16), (8, 12)],
    4: [(0, 21), (3, 18), (6, 15), (9, 12)],
}
IN_ORDER, ZIGZAG = "in order", "zigzag"  # in order, some ranks have nothing to compute in a round
RESULTS = ("output", "gradient of q", "gradient of k", "gradient of v")


def drawn(seed: int) -> list[Tensor]:
    """Queries, keys and values of a whole sequence, and the gradient of the output."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(SAMPLES, HEADS, LENGTH, WIDTH, generator=generator) for _ in range(4)]


def places(ranks: int, order: str = ZIGZAG) -> Tensor:
    """Where the tokens of each rank stand: in zigzag, two pieces from both ends of the sequence."""
    if order == IN_ORDER:
        return torch.arange(LENGTH).view(ranks, -1)
    piece = LENGTH // (2 * ranks)
    starts = STARTS[ranks]
    return torch.tensor([[start + n for start in two for n in range(piece)] for two in starts])


def merged(scale: float) -> list[tuple[list[Tensor], list[Tensor]]]:
    """What the learner's merge makes of two parts, and what one part of all keys has.

    The scores are about as large as `scale`. The first queries see none of the second part.
    """
    q, k, v, _ = drawn(0)
    q, every = q * scale, torch.arange(LENGTH)
    cut = LENGTH // 2
    parts = [attend(q, k[..., part, :], v[..., part, :], every, part) for part in every.split(cut)]
    expected = list(attend(q, k, v, every, every))
    merge = importlib.import_module("ring_attention").merge
    return [([*merge(*pair)], expected) for pair in (parts, parts[::-1])]


def kept_parts() -> bool:
    """Whether the parts that are merged are still what they were."""
    q, k, v, _ = drawn(0)
    every = torch.arange(LENGTH)
    parts = [attend(q, k[..., part, :], v[..., part, :], every, part) for part in every.split(12)]
    copies = [Partial(*(tensor.clone() for tensor in part)) for part in parts]
    importlib.import_module("ring_attention").merge(*parts)
    return all(torch.equal(a, b) for a, b in zip(sum(parts, ()), sum(copies, ()), strict=True))


def attention(groups: int = 1, order: str = ZIGZAG) -> dict[str, Tensor]:
    """The output and the gradients of this rank's tokens.

    With more `groups`, each group of ranks has a sequence of its own.
    """
    group = _group(groups)
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    everyones = places(size, order)
    here = everyones[rank]
    whole = drawn(dist.get_rank() // size)
    *qkv, d_out = [tensor[..., here, :].clone().requires_grad_() for tensor in whole]
    with late():
        out = _ring()(*qkv, everyones, group)
        gradients = torch.autograd.grad(out, qkv, d_out.detach(), allow_unused=True)
    nothing = torch.full_like(out, torch.nan)
    results = [out.detach(), *(nothing if gradient is None else gradient for gradient in gradients)]
    return {name: tensor.clone() for name, tensor in zip(RESULTS, results, strict=True)}


def whole(rank: int, size: int, order: str = ZIGZAG) -> dict[str, Tensor]:
    """The same of one process with the sequence of this rank's group, for the rank's tokens."""
    q, k, v, d_out = drawn(rank // size)
    qkv = [q.requires_grad_(), k.requires_grad_(), v.requires_grad_()]
    out = nn.functional.scaled_dot_product_attention(*qkv, is_causal=True)
    results = [out.detach(), *torch.autograd.grad(out, qkv, d_out)]
    here = places(size, order)[rank % size]
    return {name: t[..., here, :] for name, t in zip(RESULTS, results, strict=True)}


def messages() -> tuple[dict[str, list[tuple]], int]:
    """Name and elements of each message, forward and backward, and how many groups it makes."""
    size, rank = dist.get_world_size(), dist.get_rank()
    here = places(size)[rank]
    *qkv, d_out = [tensor[..., here, :].clone().requires_grad_() for tensor in drawn(0)]
    with recorded("new_group") as made:
        with Traffic() as forward:
            out = _ring()(*qkv, places(size), dist.group.WORLD)
        with Traffic() as backward:
            out.backward(d_out.detach())
    seen = {"forward": forward.messages, "backward": backward.messages}
    sent = {way: [(m.name, m.elements) for m in traffic] for way, traffic in seen.items()}
    return sent, len(made)


def _ring():
    return importlib.import_module("ring_attention").ring_attention


def _group(groups: int) -> dist.ProcessGroup:
    """This rank's group, of as many as there are."""
    return dist.new_subgroups(group_size=dist.get_world_size() // groups)[0]

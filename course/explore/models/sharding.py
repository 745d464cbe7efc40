"""Sharded training in bytes: what a rank holds for a model, and what it sends in a step."""

from dataclasses import dataclass

from course.core import CourseError
from course.explore.models.replicas import ACTIVATION

DDP, ZERO_1, ZERO_2, ZERO_3 = "DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3, FSDP"
WAYS = (DDP, ZERO_1, ZERO_2, ZERO_3)
MIXED, SINGLE = "bf16, masters in float32", "float32"
# Bytes per parameter of the weights that compute, their gradients, and what only the optimizer
# needs: AdamW's two moments, and in mixed precision a master weight (Rajbhandari et al. 2020).
PRECISIONS = {MIXED: (2, 2, 12), SINGLE: (4, 4, 8)}
WHOLE = 2  # layers that FSDP has gathered at once: one computes, the next is on its way


@dataclass(frozen=True)
class Transformer:
    """A transformer: parameters in all, layers, and width."""

    parameters: float
    layers: int
    width: int


LARGEST = "Llama 3, 70 billion"
MODELS = {
    "BERT-base, 0.11 billion": Transformer(0.11e9, 12, 768),
    "GPT-2 XL, 1.6 billion": Transformer(1.56e9, 48, 1600),
    "Llama 3, 8 billion": Transformer(8.03e9, 32, 4096),
    LARGEST: Transformer(70.6e9, 80, 8192),
}


@dataclass(frozen=True)
class Ledger:
    """The most that one rank holds, in bytes, and what it sends in a step."""

    way: str
    held: dict[str, float]
    sent: float
    per_parameter: float  # without what is gathered, and without activations

    @property
    def total(self) -> float:
        """All bytes that the rank holds."""
        return sum(self.held.values())


def per_parameter(way: str, ranks: int, precision: str = MIXED) -> tuple[float, float, float]:
    """Bytes of weights, gradients and optimizer state per parameter on each of `ranks` ranks.

    Raises `CourseError` for an unknown way, or fewer than one rank.
    """
    if way not in WAYS or ranks < 1:
        raise CourseError(f"The ways are {', '.join(WAYS)}, on at least one rank.")
    parts = PRECISIONS[precision]
    sharded = WAYS.index(way)  # how many of the three are sharded, from the last
    return tuple(
        size / ranks if place >= len(parts) - sharded else size for place, size in enumerate(parts)
    )


def activations(model: Transformer, tokens: int, precision: str, recompute: bool) -> float:
    """The bytes that forward keeps of `tokens` tokens for backward, without attention maps.

    With `recompute`, it keeps only the input of each layer, and one layer at a time in full.
    """
    number = PRECISIONS[precision][0]
    layer = tokens * model.width * ACTIVATION * number / 4  # counted for numbers of 4 bytes
    if not recompute:
        return model.layers * layer
    return model.layers * tokens * model.width * number + layer


def ledger(
    way: str,
    model: Transformer,
    ranks: int,
    tokens: int,
    precision: str = MIXED,
    recompute: bool = False,
) -> Ledger:
    """Count the bytes of a rank whose share of the batch has `tokens` tokens."""
    weights, gradients, state = per_parameter(way, ranks, precision)
    compute = PRECISIONS[precision][0]
    held = {
        "weights": weights * model.parameters,
        "gradients": gradients * model.parameters,
        "optimizer state": state * model.parameters,
    }
    if way == ZERO_3:
        part = WHOLE / model.layers * compute * model.parameters
        held["layers gathered"] = part * (ranks - 1) / ranks
    if way in (ZERO_2, ZERO_3):  # whole until they are reduced
        gradient = PRECISIONS[precision][1] * model.parameters / model.layers
        held["gradients"] += gradient * (ranks - 1) / ranks
    held["activations"] = activations(model, tokens, precision, recompute)
    times = 3 if way == ZERO_3 else 2
    sent = times * (ranks - 1) / ranks * compute * model.parameters
    return Ledger(way, held, sent, weights + gradients + state)


def largest(way: str, ranks: int, memory: float, precision: str = MIXED) -> float:
    """The number of parameters whose weights, gradients and optimizer state fill `memory` bytes."""
    return memory / sum(per_parameter(way, ranks, precision))

"""Causes that lie in messages: what they take where nobody waits for anyone."""

from collections.abc import Iterator
from statistics import mean

from course.own.slow.budget import Budget, is_sum_in_forward
from course.own.slow.cause import Cause
from course.own.watch.timeline import ASYNC, Slice

SMALL = 1 << 17  # bytes: up to here a message takes about the same time, however small it is
COMPUTES = ("forward", "backward")
OVERLAPS = 0.25  # of what could be hidden; less is no overlap


def causes(budget: Budget) -> Iterator[Cause]:
    """Those that shorten a step, in any order."""
    for name, traffic in (
        ("accumulation", "early"),
        ("buffers", "buffers"),
        ("synchronization", "synchronization"),
    ):
        if price := budget.price(traffic):
            kinds = ("buffers",) if traffic == "buffers" else ("collective", "tail")
            wanted = "gradients" if traffic == "early" else traffic
            line = budget.where(*kinds, traffic=wanted)
            yield Cause(name, price / budget.net_s, None, line, line)
    if price := budget.price("gradients"):
        yield from _gradients(budget, price)


def of_search(budget: Budget) -> float:
    """Seconds per step of the messages in which DDP tells which parameters were used.

    Where it searches for unused ones, it sends such a small message in each backward pass.
    """
    if not any(ddp["finds_unused"] for ddp in budget.ranks[0].ddp) or _sent(budget):
        return 0.0
    sizes = _bucket_sizes(budget)
    map_ = SMALL * len(budget.passes)
    return budget.price("gradients") * map_ / (map_ + sum(sizes)) if sizes else 0.0


def of_split_layers(budget: Budget) -> bool:
    """Whether most of what the passes send belongs to layers that are split between ranks.

    Such a layer sends its sum in forward, and mostly as much again in backward.
    """
    sent = _sent(budget)
    sums = sum(each.seconds for each in sent if is_sum_in_forward(each))
    return 4 * sums > sum(each.seconds for each in sent)


def _gradients(budget: Budget, price: float) -> Iterator[Cause]:
    """What makes the gradients' messages long: their number, their beginning, or their size."""
    line = budget.where("collective", "tail", traffic="gradients")
    price -= of_search(budget)
    small = price * _small(budget)
    late = min((price - small) * _could_be_begun(budget), _hideable(budget))
    large = price - small - late
    for name, seconds in (("latency", small), ("no overlap", late), ("bandwidth", large)):
        if seconds > 0:
            yield Cause(name, seconds / budget.net_s, None, line, line)


def _small(budget: Budget) -> float:
    """The share of their time that goes into small messages."""
    sent = _sent(budget)
    if whole := sum(each.seconds for each in sent):
        return sum(each.seconds for each in sent if each.nbytes < SMALL) / whole
    sizes = _bucket_sizes(budget)
    return sizes.count(SMALL) * SMALL / sum(sizes) if sizes else 0.0


def _bucket_sizes(budget: Budget) -> list[int]:
    """DDP's own messages in bytes, a small one as `SMALL`: it tells only what all take together."""
    return [max(bucket, SMALL) for pass_ in budget.passes for bucket in pass_.buckets]


def _could_be_begun(budget: Budget) -> float:
    """The share of the gradients' time that could pass while backward computes, at most.

    Messages that the passes themselves wait for, as FSDP's, are not late. And a tensor's gradient
    cannot be sent before all of it is there: a large one may be the last.
    """
    sent = _sent(budget)
    whole = sum(each.seconds for each in sent)
    late = sum(each.seconds for each in sent if each.within not in COMPUTES)
    bytes_ = max(rank.gradients for rank in budget.ranks)
    largest = max(rank.largest for rank in budget.ranks)
    return (late / whole if whole else 1.0) * (1 - largest / max(1, bytes_))


def _sent(budget: Budget) -> list[Slice]:
    """The waits for gradients that the script or a library sends from Python."""
    waits = budget.slices(["collective"])
    return [each for each in waits if budget.traffic(each) == "gradients"]


def _hideable(budget: Budget) -> float:
    """Seconds per step of the last backward pass that could hide messages, and hide none."""
    if budget.passes:
        least = [min(p.computing, p.communicating) for p in budget.passes]
        if sum(p.overlap for p in budget.passes) > OVERLAPS * sum(least):
            return 0.0
    elif any(_begun_early(budget, each) for each in budget.slices(["collective"])):
        return 0.0
    passes = max((each.turn for each in budget.slices(["backward"])), default=1)
    return mean(share.own["backward"] for step in budget.steps for share in step) / passes


def _begun_early(budget: Budget, slice_: Slice) -> bool:
    """Whether a message of gradients went on while the backward pass did."""
    inside = slice_.within == "backward" and slice_.name.endswith(ASYNC)
    return inside and budget.traffic(slice_) == "gradients"

"""Divide the time that messages of gradients take by what makes them long."""

import math
from dataclasses import dataclass
from itertools import chain

from course.diagnostics.profiling.timeline import ASYNC, Slice
from course.diagnostics.why.step_breakdown import StepBreakdown
from course.diagnostics.why.thresholds import OVERLAP_SHARE, SMALL_BYTES
from course.diagnostics.why.traffic import is_sum_in_forward

USUAL_CAP = 25 << 20  # the size of DDP's buckets by default, in bytes


@dataclass(frozen=True)
class Parts:
    """The seconds per step that the messages take, by what makes them long.

    They are small, they gather weights, they begin too late to be hidden, or they are too large to
    be hidden.
    """

    small: float = 0.0
    gathered: float = 0.0
    late: float = 0.0
    large: float = 0.0


def parts(breakdown: StepBreakdown) -> Parts:
    """Divide the time of the messages, without DDP's messages on unused parameters."""
    whole = breakdown.transfer_s("gradients")
    if not whole:
        return Parts()
    whole -= search_s(breakdown)
    small, gathered = whole * _small_share(breakdown), whole * _gathered_share(breakdown)
    rest = whole - small - gathered
    late = min(rest * _overlappable_share(breakdown), _hideable_s(breakdown))
    return Parts(small, gathered, late, rest - late)


def search_s(breakdown: StepBreakdown) -> float:
    """Seconds per step of the messages on unused parameters.

    If DDP searches for unused parameters, it sends such a small message in each backward pass.
    """
    if not any(ddp.finds_unused for ddp in breakdown.ddp) or breakdown.collectives("gradients"):
        return 0.0
    sizes = _bucket_sizes(breakdown)
    search_bytes = SMALL_BYTES * len(breakdown.ddp_passes)
    return (
        breakdown.transfer_s("gradients") * search_bytes / (search_bytes + sum(sizes))
        if sizes
        else 0.0
    )


def is_of_split_layers(breakdown: StepBreakdown) -> bool:
    """Whether most of the messages' time belongs to layers that are split between ranks.

    Such a layer sends its sum in forward, and usually as much again in backward. A message after
    the last backward pass of a step is not such a sum, even if a model was called before it: it may
    carry gradients, perhaps those of `torch.func.grad`, whose passes are not seen.
    """
    whole = sum(slice_.seconds for slice_ in breakdown.collectives("gradients"))
    return 2 * sum(map(_sums_in_forward_s, chain.from_iterable(breakdown.sliced))) > whole / 2


def few_messages(breakdown: StepBreakdown) -> bool:
    """Whether each message carries half of the gradients' bytes or more, perhaps in 16 bits."""
    least = min((slice_.nbytes for slice_ in breakdown.collectives("gradients")), default=0)
    return 2 * least >= max(1, *(report.gradients for report in breakdown.reports))


def has_many_buckets(breakdown: StepBreakdown) -> bool:
    """Whether DDP has more buckets than it would have with the usual size, and a smaller first."""
    return any(
        len(pass_.buckets) > 1 + math.ceil(sum(pass_.buckets) / USUAL_CAP)
        for pass_ in breakdown.ddp_passes
    )


def gathers(breakdown: StepBreakdown) -> list[Slice]:
    """The messages that gather a sharded model's weights, except the small ones."""
    messages = breakdown.collectives("gradients") if breakdown.script.sharded else []
    return [
        slice_
        for slice_ in messages
        if slice_.name.startswith("all_gather") and slice_.nbytes >= SMALL_BYTES
    ]


def _sums_in_forward_s(slices: list[Slice]) -> float:
    """The seconds of a rank's step in messages of forward that a backward pass follows."""
    passes = max((slice_.passes_begun for slice_ in slices), default=0)
    return sum(
        slice_.seconds
        for slice_ in slices
        if slice_.kind == "collective" and is_sum_in_forward(slice_)
        if slice_.passes_begun < passes
    )


def _small_share(breakdown: StepBreakdown) -> float:
    """The share of the messages' time that small messages take."""
    messages = breakdown.collectives("gradients")
    if whole := sum(slice_.seconds for slice_ in messages):
        return sum(slice_.seconds for slice_ in messages if slice_.nbytes < SMALL_BYTES) / whole
    sizes = _bucket_sizes(breakdown)
    return sizes.count(SMALL_BYTES) * SMALL_BYTES / sum(sizes) if sizes else 0.0


def _gathered_share(breakdown: StepBreakdown) -> float:
    """The share of the messages' time that gathering a sharded model's weights takes."""
    whole = sum(slice_.seconds for slice_ in breakdown.collectives("gradients"))
    return sum(slice_.seconds for slice_ in gathers(breakdown)) / whole if whole else 0.0


def _bucket_sizes(breakdown: StepBreakdown) -> list[int]:
    """The sizes of DDP's own messages in bytes, small ones as `SMALL_BYTES`.

    Their time is divided by these sizes, since only the sum of their times is known.
    """
    return [max(bucket, SMALL_BYTES) for pass_ in breakdown.ddp_passes for bucket in pass_.buckets]


def _overlappable_share(breakdown: StepBreakdown) -> float:
    """The largest share of the gradients' time that could pass while backward computes.

    Messages that the passes themselves wait for, such as FSDP's, are not late. And no gradient can
    be sent before all of it has been computed: the largest one may be the last.
    """
    messages = breakdown.collectives("gradients")
    whole = sum(slice_.seconds for slice_ in messages)
    late = sum(
        slice_.seconds for slice_ in messages if slice_.within not in ("forward", "backward")
    )
    nbytes = max(report.gradients for report in breakdown.reports)
    largest = max(report.largest_gradient for report in breakdown.reports)
    return (late / whole if whole else 1.0) * (1 - largest / max(1, nbytes))


def _hideable_s(breakdown: StepBreakdown) -> float:
    """Seconds per step of the last backward pass, if it could hide messages but hides none."""
    if breakdown.ddp_passes:
        least = [min(p.computing, p.communicating) for p in breakdown.ddp_passes]
        if sum(p.overlap for p in breakdown.ddp_passes) > OVERLAP_SHARE * sum(least):
            return 0.0
    elif any(_is_begun_early(slice_) for slice_ in breakdown.collectives("gradients")):
        return 0.0
    passes = max((slice_.passes_begun for slice_ in breakdown.slices(["backward"])), default=1)
    return breakdown.mean_own("backward") / passes


def _is_begun_early(slice_: Slice) -> bool:
    """Whether the message was sent while the backward pass was running."""
    return slice_.within == "backward" and slice_.name.endswith(ASYNC)

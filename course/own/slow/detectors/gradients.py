"""Messages of gradients: their number, their beginning, or their size makes them long."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

from course.core import words
from course.own.finding import CauseInfo
from course.own.profiling.timeline import ASYNC, Slice
from course.own.slow.budget import Budget
from course.own.slow.cause import Cause
from course.own.slow.thresholds import OVERLAPS, SMALL
from course.own.slow.traffic import is_sum_in_forward

USUAL_CAP = 25 << 20  # bytes of a bucket, as DDP makes them
PRICE = "That is the price of the memory that sharded weights save."
KEEPS = {
    "fully_shard": "`reshard_after_forward=False` of fully_shard",
    "FSDP": "`ShardingStrategy.SHARD_GRAD_OP` of FSDP",
}
FEWER = "take larger batches, and so fewer steps"


@dataclass(frozen=True)
class Price:
    """What the gradients' messages take in seconds per step, by what makes them long."""

    small: float = 0.0
    gathered: float = 0.0
    late: float = 0.0
    large: float = 0.0


class OfGradients(Cause):
    """One of the four causes; `part` is its name in a `Price`."""

    part: ClassVar[str]
    aspect = "messages"
    needs_all = True

    @classmethod
    def evidence(cls, budget: Budget) -> Iterator[Self]:
        """Measures this cause's part of what the messages take."""
        seconds = getattr(price(budget), cls.part)
        if seconds > 0:
            line = budget.where("collective", "tail", traffic="gradients")
            yield cls(budget, seconds / budget.net_s, None, line, line)


class OfSize(OfGradients):
    """A cause that layers may have as well, if their parts lie on several ranks."""

    @property
    def lab(self) -> str:
        """Lab 11 for such layers, else the lab on gradients."""
        return "11" if _is_of_split_layers(self.budget) else self.info.lab

    @property
    def cure(self) -> str:
        """Depends on whether most of the messages are such layers' or gradients."""
        if _is_of_split_layers(self.budget):
            return (
                "Most of it is not gradients, but what layers send that are split between ranks. "
                "Split each over fewer ranks, or compute in 16 bits."
            )
        return self.cure_of_gradients


class Latency(OfSize):
    """The messages are small."""

    info = CauseInfo(
        "latency",
        "small messages are sent, and each takes its time however small it is",
        lab="03b",
    )
    part = "small"

    @property
    def cure_of_gradients(self) -> str:
        """Depends on what sends the messages."""
        script = self.budget.script
        if script.sharded:
            return (
                f"Call `{script.sharded}` on larger blocks, so that each sends more at once; if "
                f"there are few already, {FEWER}."
            )
        if not self.budget.passes:
            return f"Send many together, in one large buffer, or use DDP. Else {FEWER}."
        cap = max((ddp.cap for ddp in self.budget.ddp), default=0)
        if cap and cap < USUAL_CAP:
            return (
                f"Send many together: DDP's buckets hold at most {words.size(cap)} here. Leave "
                "`bucket_cap_mb` at its usual 25."
            )
        return f"DDP sends few messages already, and they are small: {FEWER}."


class Gathering(OfGradients):
    """The messages gather the weights of a sharded model, as each of its passes needs."""

    info = CauseInfo(
        "gathering weights", "each pass gathers the weights of the sharded model", lab="10b"
    )
    part = "gathered"
    is_price = True

    @property
    def cure(self) -> str:
        """Depends on whether the weights are kept until the backward pass already."""
        if not any(slice_.within == "backward" for slice_ in _gathers(self.budget)):
            return f"{PRICE} They are kept from forward to backward already, so {FEWER}."
        keep = KEEPS[self.budget.script.sharded]
        return (
            f"{PRICE} If there is memory left, keep them from forward to backward ({keep}); else "
            f"{FEWER}."
        )


class NoOverlap(OfGradients):
    """The messages begin too late."""

    info = CauseInfo("no overlap", "communication begins when the backward pass is over", lab="03b")
    part = "late"

    @property
    def cure(self) -> str:
        """Depends on what sends the messages."""
        if self.budget.passes:
            return "Take a smaller `bucket_cap_mb` of DDP, so that the first bucket is full sooner."
        return (
            "Use DDP, or begin an all-reduce with `async_op=True` as soon as a bucket of gradients "
            "is there."
        )


class Bandwidth(OfSize):
    """The messages are large."""

    info = CauseInfo(
        "bandwidth",
        "what the ranks send is too large to hide behind what they compute",
        lab="05b",
    )
    part = "large"

    @property
    def cure_of_gradients(self) -> str:
        """Depends on what sends the messages, and on their number of bits."""
        script = self.budget.script
        if script.half or any("16" in ddp.hook for ddp in self.budget.ddp):
            return f"The gradients are sent in 16 bits already, so {FEWER}."
        if script.sharded == "fully_shard":
            how = "`MixedPrecisionPolicy(reduce_dtype=torch.bfloat16)` of fully_shard"
        elif script.sharded:
            how = "`MixedPrecision(reduce_dtype=torch.bfloat16)` of FSDP"
        elif self.budget.passes:
            how = "DDP's `bf16_compress_hook`"
        else:
            how = "cast them before the all-reduce"
        return f"Send 16-bit gradients ({how}), or {FEWER}."


def price(budget: Budget) -> Price:
    """What the gradients' messages take, without DDP's messages on unused parameters."""
    whole = budget.price("gradients")
    if not whole:
        return Price()
    whole -= of_search(budget)
    small, gathered = whole * _small(budget), whole * _gathered(budget)
    rest = whole - small - gathered
    late = min(rest * _could_be_begun(budget), _hideable(budget))
    return Price(small, gathered, late, rest - late)


def of_search(budget: Budget) -> float:
    """Seconds per step of the messages in which ranks tell one another which parameters were used.

    Where it searches for unused ones, it sends such a small message in each backward pass.
    """
    if not any(ddp.finds_unused for ddp in budget.ddp) or budget.sent("gradients"):
        return 0.0
    sizes = _bucket_sizes(budget)
    map_ = SMALL * len(budget.passes)
    return budget.price("gradients") * map_ / (map_ + sum(sizes)) if sizes else 0.0


def _is_of_split_layers(budget: Budget) -> bool:
    """Whether most of what the passes send belongs to layers that are split between ranks.

    Such a layer sends its sum in forward, and mostly as much again in backward.
    """
    sent = budget.sent("gradients")
    sums = sum(slice_.seconds for slice_ in sent if is_sum_in_forward(slice_))
    return 4 * sums > sum(slice_.seconds for slice_ in sent)


def _small(budget: Budget) -> float:
    """The share of the messages' time that small messages take."""
    sent = budget.sent("gradients")
    if whole := sum(slice_.seconds for slice_ in sent):
        return sum(slice_.seconds for slice_ in sent if slice_.nbytes < SMALL) / whole
    sizes = _bucket_sizes(budget)
    return sizes.count(SMALL) * SMALL / sum(sizes) if sizes else 0.0


def _gathered(budget: Budget) -> float:
    """The share of the messages' time in which a sharded model's weights are gathered."""
    whole = sum(slice_.seconds for slice_ in budget.sent("gradients"))
    return sum(slice_.seconds for slice_ in _gathers(budget)) / whole if whole else 0.0


def _gathers(budget: Budget) -> list[Slice]:
    """The messages that gather weights; small ones are `_small`."""
    sent = budget.sent("gradients") if budget.script.sharded else []
    return [
        slice_ for slice_ in sent if slice_.name.startswith("all_gather") and slice_.nbytes >= SMALL
    ]


def _bucket_sizes(budget: Budget) -> list[int]:
    """DDP's own messages in bytes, a small one as `SMALL`: only their sum of time is known."""
    return [max(bucket, SMALL) for pass_ in budget.passes for bucket in pass_.buckets]


def _could_be_begun(budget: Budget) -> float:
    """The share of the gradients' time that could pass while backward computes, at most.

    Messages that the passes themselves wait for, as FSDP's, are not late. And a tensor's gradient
    cannot be sent before all of it is there: a large one may be the last.
    """
    sent = budget.sent("gradients")
    whole = sum(slice_.seconds for slice_ in sent)
    late = sum(slice_.seconds for slice_ in sent if slice_.within not in ("forward", "backward"))
    bytes_ = max(rank.gradients for rank in budget.ranks)
    largest = max(rank.largest for rank in budget.ranks)
    return (late / whole if whole else 1.0) * (1 - largest / max(1, bytes_))


def _hideable(budget: Budget) -> float:
    """Seconds per step of the last backward pass that could hide messages, and hide none."""
    if budget.passes:
        least = [min(p.computing, p.communicating) for p in budget.passes]
        if sum(p.overlap for p in budget.passes) > OVERLAPS * sum(least):
            return 0.0
    elif any(_is_begun_early(slice_) for slice_ in budget.sent("gradients")):
        return 0.0
    passes = max((slice_.turn for slice_ in budget.slices(["backward"])), default=1)
    return budget.mean_own("backward") / passes


def _is_begun_early(slice_: Slice) -> bool:
    """Whether the message went on while the backward pass did."""
    return slice_.within == "backward" and slice_.name.endswith(ASYNC)

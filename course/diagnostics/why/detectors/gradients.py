"""Detect what makes the messages of gradients long: their number, their start, or their size."""

from collections.abc import Iterator
from typing import ClassVar, Self

from course.core import words
from course.diagnostics.finding import CauseInfo
from course.diagnostics.why.cause import Cause
from course.diagnostics.why.gradient_messages import (
    USUAL_CAP,
    few_messages,
    gathers,
    has_many_buckets,
    is_of_split_layers,
    parts,
)
from course.diagnostics.why.step_breakdown import StepBreakdown

TRADEOFF = "That is the price of the memory that sharded weights save."
KEEPS = {
    "fully_shard": "`reshard_after_forward=False` of fully_shard",
    "FSDP": "`ShardingStrategy.SHARD_GRAD_OP` of FSDP",
}
FEWER = "take larger batches, and so fewer steps"


class OfGradients(Cause):
    """The base of four causes; `part` is the cause's field in `Parts`."""

    part: ClassVar[str]
    aspect = "messages"

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause if a part of the messages' time is due to it."""
        seconds = getattr(parts(breakdown), cls.part)
        if seconds > 0:
            line = breakdown.line("collective", "tail", traffic="gradients")
            yield cls(breakdown, seconds / breakdown.net_s, line=line)


class OfSize(OfGradients):
    """The base of causes that also occur with layers that are split between ranks."""

    @property
    def lab(self) -> str:
        """Lab 11 for split layers, and otherwise the lab on gradients."""
        return "11" if is_of_split_layers(self.breakdown) else self.info.lab

    @property
    def cure(self) -> str:
        """Depends on whether most of the messages belong to split layers."""
        if is_of_split_layers(self.breakdown):
            return (
                "Most of it is not gradients, but what layers send that are split between ranks. "
                "Split each over fewer ranks, or compute in 16 bits."
            )
        return self.cure_of_gradients

    @property
    def cure_of_gradients(self) -> str:
        """The cure if most of the messages are gradients."""
        raise NotImplementedError


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
        script = self.breakdown.script
        if script.sharded:
            return (
                f"Call `{script.sharded}` on larger blocks, so that each sends more at once; if "
                f"there are few already, {FEWER}."
            )
        if not self.breakdown.ddp_passes:
            if few_messages(self.breakdown):
                return f"The gradients are sent in few messages already, all small: {FEWER}."
            ddp = ", or use DDP" if any(self.breakdown.slices(["backward"])) else ""
            return f"Send many together, in one large buffer{ddp}. Else {FEWER}."
        cap = max((ddp.bucket_cap_bytes for ddp in self.breakdown.ddp), default=0)
        if 0 < cap < USUAL_CAP and has_many_buckets(self.breakdown):
            return (
                f"Send many together: DDP's buckets hold at most {words.size(cap)} here. Leave "
                "`bucket_cap_mb` at its usual 25."
            )
        return f"DDP sends few messages already, and they are small: {FEWER}."


class Gathering(OfGradients):
    """The messages gather the weights of a sharded model, which each of its passes needs."""

    info = CauseInfo(
        "gathering weights", "each pass gathers the weights of the sharded model", lab="10b"
    )
    part = "gathered"
    is_tradeoff = True

    @property
    def cure(self) -> str:
        """Depends on whether the weights are already kept until the backward pass."""
        if not any(slice_.within == "backward" for slice_ in gathers(self.breakdown)):
            return f"{TRADEOFF} They are kept from forward to backward already, so {FEWER}."
        keep = KEEPS[self.breakdown.script.sharded]
        return (
            f"{TRADEOFF} If there is memory left, keep them from forward to backward ({keep}); "
            f"else {FEWER}."
        )


class NoOverlap(OfGradients):
    """The messages begin too late."""

    info = CauseInfo("no overlap", "communication begins when the backward pass is over", lab="03b")
    part = "late"

    @property
    def cure(self) -> str:
        """Depends on what sends the messages."""
        if self.breakdown.ddp_passes:
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
        """Depends on what sends the messages, and on how many bits a gradient has."""
        script = self.breakdown.script
        if script.half or any("16" in ddp.hook for ddp in self.breakdown.ddp):
            return f"The gradients are sent in 16 bits already, so {FEWER}."
        if script.sharded == "fully_shard":
            how = "`MixedPrecisionPolicy(reduce_dtype=torch.bfloat16)` of fully_shard"
        elif script.sharded:
            how = "`MixedPrecision(reduce_dtype=torch.bfloat16)` of FSDP"
        elif self.breakdown.ddp_passes:
            how = "DDP's `bf16_compress_hook`, on CPUs `fp16_compress_hook`"
        else:
            how = "cast them before the all-reduce"
        return f"Send 16-bit gradients ({how}), or {FEWER}."

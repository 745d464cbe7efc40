"""Detect ranks that draw the same samples."""

from collections.abc import Iterator
from typing import Self

from course.diagnostics.finding import CauseInfo
from course.diagnostics.why import sharding
from course.diagnostics.why.cause import Cause
from course.diagnostics.why.step_breakdown import StepBreakdown


class NotSharded(Cause):
    """All ranks draw the same samples, and average their gradients."""

    info = CauseInfo(
        "not sharded",
        "the ranks draw the same samples, so that all but one do redundant work",
        lab="03",
    )
    aspect = "the shares of the data"
    is_fact = True

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause if the ranks' samples have the same checksums."""
        if breakdown.averages and sharding.draw_same_samples(breakdown):
            line = breakdown.line("input")
            yield cls(breakdown, 1 - 1 / breakdown.reports[0].world, line=line)

    @classmethod
    def is_judged(cls, breakdown: StepBreakdown) -> bool:
        """Whether the samples decide it."""
        return sharding.draw_same_samples(breakdown) is not None

    @property
    def effect(self) -> str:
        """A sentence on how much shorter an epoch becomes; a step becomes no shorter."""
        world = self.breakdown.reports[0].world
        return f"With shares of its own, an epoch takes {world} times fewer steps."

    @property
    def lab(self) -> str:
        """Lab 04d for a stream, lab 03 for a data set with indices."""
        loader = self.breakdown.script.loader
        return "04d" if loader and loader.stream else self.info.lab

    @property
    def cure(self) -> str:
        """Depends on how the script loads, and on what it uses already."""
        script = self.breakdown.script
        loader = script.loader
        if loader is None:
            return (
                "Let each rank take samples of its own: of every N samples on N ranks one, as in "
                "`data[rank::world_size]`."
            )
        if loader.stream:
            return (
                "A stream takes no sampler: split it by rank and worker. With R ranks of W workers "
                "each, a worker gives the samples whose number, modulo R * W, is "
                "rank * W + worker."
            )
        if loader.sampler == "DistributedSampler":
            return (
                "The loader has a DistributedSampler, but on all ranks with the same share: omit "
                "its `rank` and `num_replicas`, or pass this rank's."
            )
        if script.framework == "accelerate":
            return "Give the DataLoader to `accelerator.prepare`, which deals its batches."
        if loader.batch_sampler or loader.sampler:
            name = loader.sampler or "batch sampler"
            return (
                f"The loader has a sampler of its own ({name}): let that give each rank another "
                "share, by its rank and the number of ranks."
            )
        return (
            "Give the DataLoader `sampler=DistributedSampler(dataset)`, and call its `set_epoch`."
        )

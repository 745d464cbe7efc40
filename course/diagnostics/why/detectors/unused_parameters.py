"""Detect a search for unused parameters that finds none."""

from collections.abc import Iterator
from typing import Self

from course.diagnostics.finding import CauseInfo
from course.diagnostics.why import gradient_messages
from course.diagnostics.why.cause import OwnWork
from course.diagnostics.why.step_breakdown import StepBreakdown

OF_TRAINER = "Set `ddp_find_unused_parameters=False` in the TrainingArguments"


class UnusedParameters(OwnWork):
    """DDP looks for parameters without a gradient, and there are none."""

    info = CauseInfo(
        "unused parameters",
        "DDP searches the graph for unused parameters in each step, and there are none",
        lab="03b",
    )
    kind = "search"
    needs_all = True  # in the search's messages, ranks wait for one another
    cost_is_partial = True  # most of it is inside backward, where it is invisible
    question = (
        "how much the search for unused parameters takes in all: a part of it is inside the "
        "backward pass. Run once without find_unused_parameters=True and compare."
    )

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause if DDP searches, and every parameter was used."""
        finds = any(ddp.finds_unused for ddp in breakdown.ddp)
        if finds and not any(pass_.unused for pass_ in breakdown.ddp_passes):
            yield from super().evidence(breakdown)

    @classmethod
    def gain_s(cls, breakdown: StepBreakdown) -> float:
        """The search itself, and the message in which DDP sends its result."""
        return super().gain_s(breakdown) + gradient_messages.search_s(breakdown)

    @property
    def effect(self) -> str:
        """Sentences that call the share a lower bound; the whole cost is unknown."""
        return f"All were used in every step watched. {super().effect}"

    @property
    def cure(self) -> str:
        """Depends on what made the DDP module: the script or a framework."""
        framework = self.breakdown.script.framework
        if framework == "Trainer":
            how = OF_TRAINER
        elif framework == "accelerate":
            how = (
                "Remove `find_unused_parameters=True` from the DistributedDataParallelKwargs if "
                "every parameter is used in every step"
            )
        else:
            how = "Remove `find_unused_parameters=True` if every parameter is used in every step"
        static = any(ddp.static for ddp in self.breakdown.ddp)
        return f"{how}." if static else f"{how}; otherwise try `static_graph=True`."

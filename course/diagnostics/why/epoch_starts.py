"""Compare how long the first step of an epoch takes with the other steps."""

from dataclasses import dataclass

from course.core import words
from course.diagnostics.why import epochs
from course.diagnostics.why.step_breakdown import StepBreakdown
from course.diagnostics.why.step_times import StepTimes, length, mean


@dataclass(frozen=True)
class EpochStart:
    """The number of steps of an epoch, and the seconds of its first step and of any other step."""

    steps: float
    first_s: float
    other_s: float

    @property
    def comparison(self) -> str:
        """The comparison, in half a sentence."""
        often = words.plural(round(self.steps), "step")
        first, other = words.duration(self.first_s), words.duration(self.other_s)
        return f"the first of {often} takes {first}, any other {other}"

    @property
    def share(self) -> float:
        """The extra time of first steps, as a share of all time."""
        whole = self.first_s + (self.steps - 1) * self.other_s
        return max(0.0, self.first_s - self.other_s) / whole


def compare(breakdown: StepBreakdown) -> EpochStart | None:
    """Compare the first steps of epochs with the others.

    Returns None if no epoch began in the steps that count, or if its length is unknown.
    """
    first, others = _split_steps(breakdown)
    steps = epochs.steps_per_epoch(breakdown.reports)
    if not first or not others or steps <= 1:
        return None
    return EpochStart(steps, length(first), length(others))


def share_of(breakdown: StepBreakdown, kind: str) -> float:
    """The share of a kind of work that is done in the first steps of epochs."""

    def seconds(times: list[StepTimes]) -> float:
        weight = sum(step.weight for step in times)
        return weight * mean(times, lambda step: max(step.own(kind)))

    first, others = _split_steps(breakdown)
    if not first:
        return 0.0
    at_first = seconds(first)
    return at_first / ((at_first + (seconds(others) if others else 0.0)) or 1)


def _split_steps(breakdown: StepBreakdown) -> tuple[list[StepTimes], list[StepTimes]]:
    """The steps in which an epoch began, except those with the weight 0, and all other steps."""
    starts = epochs.starts_epoch(breakdown.reports)
    both = list(zip(breakdown.times, starts, strict=True))
    first = [step for step, is_first in both if is_first and step.weight]
    return first, [step for step, is_first in both if not is_first]

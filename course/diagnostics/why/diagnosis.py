"""Diagnose a run: its causes, the aspects that are fine, and what the evidence cannot decide."""

from dataclasses import dataclass, field, replace
from statistics import fmean

from course.core import CourseError, words
from course.diagnostics.profiling.timeline import RankReport
from course.diagnostics.watch import report_files
from course.diagnostics.why import crowded_machine, epoch_starts
from course.diagnostics.why.cause import Cause, percent
from course.diagnostics.why.detectors import DETECTORS
from course.diagnostics.why.detectors.computing import Computing
from course.diagnostics.why.step_breakdown import StepBreakdown
from course.diagnostics.why.step_times import mean
from course.diagnostics.why.thresholds import CLEARLY_LARGER, FAULT_SHARE, MIN_STEPS


@dataclass
class Diagnosis:
    """The causes of a run, the one to cure first at the beginning, and what remains undecided."""

    causes: list[Cause]
    breakdown: StepBreakdown
    blind: str = ""  # why it is unknown what the GPUs do; then only facts are judged
    unrecorded_s: float = 0.0  # on GPUs, the length of a step without torch.profiler
    undecided: list[str] = field(default_factory=list)

    @property
    def first(self) -> Cause | None:
        """The cause to cure first; None if the evidence decides nothing."""
        return self.causes[0] if self.causes else None

    @property
    def epoch_start(self) -> epoch_starts.EpochStart | None:
        """The beginning of an epoch, if it takes a large share of all time."""
        start = None if self.blind else epoch_starts.compare(self.breakdown)
        return start if start and start.share >= FAULT_SHARE else None

    @property
    def elsewhere(self) -> float | None:
        """The share of the ranks' cores that other programs used; None if that is unknown."""
        return crowded_machine.elsewhere(self.breakdown.reports)

    @property
    def fine(self) -> list[str]:
        """The aspects that were examined and cost little.

        Several causes may share an aspect. It is fine if at least one of them could occur, and none
        was found.
        """
        if self.blind:
            return []
        at_fault = {cause.aspect for cause in self.causes}
        names = dict.fromkeys(
            detector.aspect
            for detector in DETECTORS
            if _can_judge(detector, self.breakdown) and detector.is_judged(self.breakdown)
        )
        return [name for name in names if name and name not in at_fault]


def diagnose(reports: list[RankReport]) -> Diagnosis:
    """Diagnose a run from the reports of its ranks; raises `CourseError` if they are too few."""
    reports = sorted(reports, key=lambda report: report.rank)
    _check_enough(reports)
    breakdown, unrecorded_s = StepBreakdown(reports), 0.0
    on_gpus = any(report.device == "cuda" for report in reports)
    blind = next(
        (report.gpu_unknown_because for report in reports if on_gpus and not report.on_gpu), ""
    )
    if on_gpus and not blind:
        unrecorded_s = breakdown.step_s
        breakdown = StepBreakdown([replace(report, steps=report.on_gpu) for report in reports])
    ordered = _ordered(breakdown, blind)
    return Diagnosis(ordered, breakdown, blind, unrecorded_s, _undecided(breakdown, ordered, blind))


def _ordered(breakdown: StepBreakdown, blind: str) -> list[Cause]:
    """The causes that are worth naming, the one to cure first at the beginning.

    Facts come first, since they change everything else; the most expensive cause is next. If none
    is a fault, `computing` is the first.
    """
    causes = [
        cause
        for detector in DETECTORS
        if detector is not Computing and (detector.is_fact or not blind)
        if _can_judge(detector, breakdown)
        for cause in detector.evidence(breakdown)
    ]
    if blind:
        return causes
    causes = [cause for cause in causes if cause.is_shown]
    causes.sort(key=_sort_key)
    if not any(cause.is_fault for cause in causes):
        causes[:0] = Computing.evidence(breakdown)
    return causes


def _sort_key(cause: Cause) -> tuple[bool, bool, float]:
    """Facts first, then by cost; a cost counts 1.5 times if only a part of it is visible."""
    weight = CLEARLY_LARGER if cause.cost_is_partial else 1.0
    return not (cause.is_fact and cause.is_fault), not cause.is_fault, -weight * cause.share


def _can_judge(detector: type[Cause], breakdown: StepBreakdown) -> bool:
    return not (detector.needs_all and breakdown.missing)


def _check_enough(reports: list[RankReport]) -> None:
    report_files.require_ranks(reports)
    fewest = min(len(report.steps) for report in reports)
    if fewest < MIN_STEPS:
        least = min(reports, key=lambda report: report.seen)
        seen = words.plural(least.seen, "training step")
        raise CourseError(
            f"`why` saw only {seen} on rank {least.rank}, and the first 5 are a warm-up. Let the "
            "script take at least 10. A step ends with the step of a torch optimizer, or with the "
            "next batch of a DataLoader."
        )


def _undecided(breakdown: StepBreakdown, causes: list[Cause], blind: str) -> list[str]:
    """Sentences on the questions that remain open, and on how to decide them."""
    of_causes = [cause.question for cause in causes if cause.question]
    if blind:
        return [
            f"where the time of a step goes. The ranks compute on GPUs, and {blind}. What was seen "
            "is the Python that feeds the GPUs; it runs ahead of them, so its times tell nothing. "
            "Lab 03b records a GPU itself.",
            *of_causes,
        ]
    questions = []
    if breakdown.missing:
        numbers = [str(report.rank) for report in breakdown.reports]
        questions.append(
            "which rank is late, and what messages take. Of "
            f"{words.plural(breakdown.expected, 'rank')} only {words.plural(len(numbers), 'rank')} "
            f"reported ({', '.join(numbers)}), and that needs "
            "all of them."
        )
    launching = breakdown.mean_own("launching") / breakdown.net_s
    if launching >= FAULT_SHARE:
        questions.append(
            "how long the GPUs really wait for the Python that launches their work: "
            f"{percent(launching)} of a step while torch.profiler, which makes it slower, was "
            "at work. Larger batches, torch.compile or CUDA graphs need fewer launches: try one."
        )
    pairs = mean(
        breakdown.times,
        lambda step: fmean(rank_times.waits["messages"] for rank_times in step.ranks),
    )
    share = pairs / (breakdown.net_s + pairs)
    if share >= FAULT_SHARE:
        questions.append(
            f"which rank is late where ranks send to one another (send, recv; {percent(share)} of "
            "a step): such messages do not tell. Look at a trace of all ranks (lab 03b)."
        )
    if breakdown.is_starved:
        questions.append(
            "what a free machine would show: for most of a step ranks waited for a core, and how "
            "much of the messages' time was such waiting can only be estimated."
        )
    questions += of_causes
    if pair := _too_close(causes):
        questions.append(
            f"which of {pair[0].name} and {pair[1].name} is the larger: they are too close to tell "
            "apart. Cure one and ask again."
        )
    if breakdown.expected < breakdown.reports[0].world:
        questions.append(
            "what the ranks of other machines do: only those of this one were watched."
        )
    return questions


def _too_close(causes: list[Cause]) -> list[Cause]:
    """The first two causes, if the second may be as large as the first; empty otherwise."""
    faults = [cause for cause in causes if not cause.is_tradeoff]
    if len(faults) < 2:
        return []
    first, second = faults[:2]
    if not first.is_fault or isinstance(first, Computing):
        return []
    if first.is_fact or first.cost_is_partial or first.share >= CLEARLY_LARGER * second.share:
        return []
    return [first, second]

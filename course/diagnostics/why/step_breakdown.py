"""Divide the time of a step into the work of each rank and the messages between the ranks.

This needs no common clock. If ranks meet in a message, all leave it at about the same time. So the
rank that spends least time there came last, and its time is what the message itself takes. If
another rank spends longer, it spends the rest waiting for the last one (lab 08). So a step takes as
long as the most work of any rank, plus the messages themselves. Time in which a thread waited for
a core that other processes had does not count.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import chain
from statistics import fmean

from course.diagnostics.profiling.timeline import (
    Ddp,
    DdpPass,
    RankReport,
    ScriptFeatures,
    Slice,
    TrainingStep,
)
from course.diagnostics.why import crowded_machine, epochs, step_times
from course.diagnostics.why.lateness import Late, LateInTurns, late, late_in_turns
from course.diagnostics.why.step_times import TRAFFIC, RankTimes, StepTimes
from course.diagnostics.why.thresholds import MEETING_SHARE, STARVED
from course.diagnostics.why.traffic import TrafficClassifier


class StepBreakdown:
    """The steps of all ranks: the times of every rank in each step, and the slices behind them.

    It answers four questions that the evidence of a cause may ask:

    - How long does it take, in seconds per step? `mean_own` for a kind of work, `transfer_s` for
      the messages of a traffic, and `waited` for the time that a rank waits for others. `times` has
      them step by step, and `balanced_times` has them as if no rank were late.
    - What does it consist of? `slices` returns slices of any kind, and `collectives` the waits for
      messages that Python sends. `ddp_passes` has what DDP sends from C++, and how much of that
      overlapped.
    - Which line is it? `line`, for kinds of work or for the messages of a traffic.
    - What does the script use? `script` and `ddp`.
    """

    def __init__(self, reports: list[RankReport]) -> None:
        self.reports = reports
        self.weights = epochs.weights(reports)
        self._classifier = TrafficClassifier(reports)
        cut = [
            [_cut(step, report.iterating) for step in self.of_rank(report)] for report in reports
        ]
        self.sliced = list(zip(*cut, strict=True))  # by step and rank, as `_cut` returns them
        self.times = [
            StepTimes([self._times(slices) for slices in step], weight)
            for step, weight in zip(self.sliced, self.weights, strict=True)
        ]
        if all(report.device != "cuda" for report in reports):
            step_times.cap_gradients(self.times)

    def of_rank(self, report: RankReport) -> list[TrainingStep]:
        """The steps of a rank in which every rank was watched; only these count."""
        return report.steps[: len(self.weights)]

    @property
    def script(self) -> ScriptFeatures:
        """What the script uses, according to the first rank's report."""
        return self.reports[0].script

    @property
    def has_workers(self) -> bool:
        """Whether the script's loader has worker processes."""
        return bool(self.script.loader and self.script.loader.workers)

    @property
    def ddp(self) -> list[Ddp]:
        """The script's DDP modules, according to the first rank's report."""
        return self.script.ddp

    @property
    def expected(self) -> int:
        """The number of ranks that should have reported: those of this machine, or all ranks."""
        first = self.reports[0]
        return first.local if len(self.reports) <= first.local else first.world

    @property
    def missing(self) -> int:
        """The number of expected ranks that did not report."""
        return self.expected - len(self.reports)

    # -- lengths, in seconds per step --------------------------------------------------------------

    @property
    def step_s(self) -> float:
        """The mean length of a step by the clock, without the recorder's own time."""
        lengths = [
            fmean(sum(s.end - s.start for s in slices if s.kind != "watching") for slices in step)
            for step in self.sliced
        ]
        return fmean(lengths, self.weights)

    @property
    def watching_s(self) -> float:
        """The recorder's own time per step, as far as the recorder can measure it."""
        steps = zip(*(self.of_rank(report) for report in self.reports), strict=True)
        by_step = [fmean(step.end - step.start for step in row) for row in steps]
        return fmean(by_step, self.weights) - self.step_s

    @cached_property
    def net_s(self) -> float:
        """The mean length of a step, without the time in which ranks waited for a core."""
        return step_times.length(self.times)

    @property
    def queued_s(self) -> float:
        """The seconds per step in which ranks waited for a core."""
        return self.step_s - self.net_s

    @property
    def is_starved(self) -> bool:
        """Whether ranks waited for a core most of the time."""
        return self.net_s < STARVED * self.step_s

    @property
    def is_crowded(self) -> bool:
        """Whether a lack of cores may imitate a cause: ranks starved, or others used many cores."""
        return self.is_starved or crowded_machine.others_are_busy(self.reports)

    def mean_own(self, kind: str) -> float:
        """The time that one kind of work takes, as the mean over all ranks."""
        return step_times.mean(self.times, lambda step: fmean(step.own(kind)))

    def transfer_s(self, traffic: str) -> float:
        """The time that the messages of a traffic take, without the wait for a late rank."""
        return step_times.mean(self.times, lambda step: step.transfer_s(traffic))

    def waited(self, index: int, *traffic: str) -> float:
        """The time that a rank, by its index, waits for others in these messages, or in all."""

        def beyond(step: StepTimes) -> float:
            waits = step.ranks[index].waits
            return sum(waits[name] - step.transfer_s(name) for name in traffic or TRAFFIC)

        return step_times.mean(self.times, beyond)

    # -- what these lengths consist of -------------------------------------------------------------

    @cached_property
    def late(self) -> Late | None:
        """The rank for which the others nearly always wait, if there is one."""
        return late(self.times)

    @cached_property
    def late_in_turns(self) -> LateInTurns | None:
        """The lateness of ranks that are late in turns, if the others wait for them."""
        lateness = None if self.late else late_in_turns(self.times)
        wait = fmean(self.waited(index) for index in range(len(self.reports)))
        return lateness if lateness and wait >= MEETING_SHARE * lateness.gain_s else None

    @property
    def meets_needlessly(self) -> bool:
        """Whether ranks are late in turns, and only the script's own message makes them meet.

        In that case gradients are averaged in fewer than half of the steps. Without the script's
        message, a rank that is late in one step and early in the next would keep no other waiting.
        """
        if not self.late_in_turns:
            return False
        indices = range(len(self.reports))
        waited = sum(self.waited(index) for index in indices)
        for_script = sum(self.waited(index, "synchronization") for index in indices)
        averaging = step_times.mean(self.times, lambda step: bool(step.transfer_s("gradients")))
        return for_script >= MEETING_SHARE * waited and averaging < MEETING_SHARE

    @property
    def balanced_times(self) -> list[StepTimes]:
        """The steps as if no rank were late."""
        lateness = self.late or self.late_in_turns
        return lateness.balanced_times if lateness else self.times

    @property
    def ddp_passes(self) -> list[DdpPass]:
        """DDP's reports on the last backward pass of each step and rank."""
        steps = [step for report in self.reports for step in self.of_rank(report)]
        return [step.passes[-1] for step in steps if step.passes]

    @property
    def averages(self) -> bool:
        """Whether ranks send gradients to one another, however little time that takes."""
        waits = self.slices(("collective", "tail"))
        return any(self.traffic(slice_) == "gradients" for slice_ in waits)

    def slices(self, kinds: Iterable[str], index: int | None = None) -> Iterator[Slice]:
        """All slices of these kinds, of all ranks or of one."""
        return (
            slice_
            for step in self.sliced
            for number, slices in enumerate(step)
            for slice_ in slices
            if slice_.kind in kinds and index in (None, number)
        )

    def collectives(self, traffic: str) -> list[Slice]:
        """The waits for messages of a traffic that the script or a library sends from Python.

        Gradients are the traffic ``early`` if another pass follows before the optimizer's step.
        """
        return self._collectives[traffic]

    @cached_property
    def _collectives(self) -> dict[str, list[Slice]]:
        by_traffic: dict[str, list[Slice]] = {traffic: [] for traffic in TRAFFIC}
        for slices in chain.from_iterable(self.sliced):
            for slice_ in slices:
                if slice_.kind == "collective":
                    by_traffic[self._classifier.classify_in_step(slice_, slices)].append(slice_)
        return by_traffic

    def line(self, *kinds: str, traffic: str = "", index: int | None = None) -> str:
        """The user's line that takes most time of these kinds of work, or of a traffic among them.

        It is "" if none is known. Here no traffic is ``early``: early gradients are ``gradients``.
        """
        lines: defaultdict[str, float] = defaultdict(float)
        for slice_ in self.slices(kinds, index):
            if slice_.where and (not traffic or self.traffic(slice_) == traffic):
                lines[slice_.where] += slice_.seconds
        if lines:
            return max(lines, key=lines.__getitem__)
        reports = self.reports if index is None else [self.reports[index]]
        sampled = (
            report.lines[kind] for report in reports for kind in kinds if kind in report.lines
        )
        return next(sampled, "")

    def traffic(self, slice_: Slice) -> str:
        """The traffic of the message that a slice waits for: one of `TRAFFIC` except ``early``."""
        return self._classifier.classify(slice_)

    def _times(self, slices: list[Slice]) -> RankTimes:
        rank_times = RankTimes()
        for slice_ in slices:
            if slice_.kind in rank_times.own:
                rank_times.own[slice_.kind] += slice_.seconds
            elif slice_.kind != "watching":
                rank_times.waits[self._classifier.classify_in_step(slice_, slices)] += (
                    slice_.seconds
                )
        return rank_times


def _cut(step: TrainingStep, iterating: float) -> list[Slice]:
    """The slices of a step; a slice in which the thread did two things in turn is cut in two.

    A backward slice is cut after DDP's last gradient. The rest is a ``tail``, in which the thread
    only waits for messages. Before the cut it computes, so any time in which it did not compute
    was waiting for a core. If an iterator returns the batches, a share of ``python`` is ``input``.
    """
    parts = []
    for slice_ in step.slices:
        ready = [p for p in step.passes if slice_.start < p.end < slice_.end]
        if slice_.kind == "backward" and ready:
            last = max(ready, key=lambda pass_: pass_.end)
            cut, module = last.end, str(last.module)
            queued = min(slice_.queued, max(0.0, cut - slice_.start - slice_.cpu))
            rest = slice_.queued - queued
            parts.append(replace(slice_, end=cut, queued=queued))
            tail = replace(slice_, kind="tail", start=cut, queued=rest, within="backward")
            parts.append(replace(tail, name=module))
        elif slice_.kind == "python" and iterating:
            cut = slice_.start + iterating * (slice_.end - slice_.start)
            queued = iterating * slice_.queued
            parts.append(replace(slice_, kind="input", end=cut, queued=queued))
            parts.append(replace(slice_, start=cut, queued=slice_.queued - queued))
        else:
            parts.append(slice_)
    return parts

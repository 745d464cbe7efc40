"""Show what each rank did when: the profiler's traces as a table, and as lanes over time.

A script writes one trace per rank, ``rank0.json``, ``rank1.json`` …, with `torch.profiler`'s
`export_chrome_trace`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from course.charts import traces
from course.charts.traces import ProfiledStep
from course.core import CourseError, words
from course.drawing import Picture, Section, Span, lanes

if TYPE_CHECKING:
    import pandas as pd

UNIT = "ms since the step began"  # of the time axis


@dataclass(frozen=True)
class Profile:
    """The profiled steps of each rank, in order: ``ranks[0]`` has those of rank 0."""

    ranks: dict[int, list[ProfiledStep]]
    one_clock: bool  # whether the ranks ran on one host, so that their times can be compared

    def table(self) -> "pd.DataFrame":
        """One row per rank and step: step_ms, comm_ms, overlap_pct, exposed_ms.

        The overlap is nan if nothing was sent.
        """
        import pandas as pd

        rows = [
            {
                "rank": rank,
                "step": step.number,
                "step_ms": step.step_ms,
                "comm_ms": step.comm_ms,
                "overlap_pct": 100 * step.overlap,
                "exposed_ms": step.exposed_ms,
            }
            for rank, steps in self.ranks.items()
            for step in steps
        ]
        return pd.DataFrame(rows).round(2)

    def draw(self, step: int | None = None) -> Picture:
        """Draw the lanes of every rank in one profiled `step`, by default the last one."""
        chosen = self._ranks_at(step)
        summary = _Summary.from_steps(chosen)
        number = next(iter(chosen.values())).number
        return lanes.draw(
            [Section("", self._spans(chosen))],
            summary.title(),
            f"Step {number}: {words.milliseconds(summary.step_ms)}, "
            f"of which {words.milliseconds(summary.exposed_ms)} only communicate",
            f"For each of {len(chosen)} ranks two lanes over time: "
            "computation above, communication below.",
            unit=UNIT,
        )

    def _ranks_at(self, number: int | None) -> dict[int, ProfiledStep]:
        """The step with this number (None: the last) on every rank that has it."""
        known = sorted({step.number for steps in self.ranks.values() for step in steps})
        chosen = known[-1] if number is None else number
        if chosen not in known:
            raise CourseError(
                f"Step {chosen} was not profiled; these were: {', '.join(map(str, known))}."
            )
        return {
            rank: step
            for rank, steps in self.ranks.items()
            for step in steps
            if step.number == chosen
        }

    def _spans(self, chosen: dict[int, ProfiledStep]) -> dict[int, list[Span]]:
        first = min(step.start_ms for step in chosen.values())
        return {
            rank: _spans(step, step.start_ms - first if self.one_clock else 0.0)
            for rank, step in chosen.items()
        }


def read(folder: str | Path) -> Profile:
    """Read the traces ``rank0.json``, ``rank1.json`` … in `folder`.

    Raises `CourseError` if there is no trace, or if one cannot be read.
    """
    paths = {
        int(match[1]): path
        for path in Path(folder).glob("*")
        if (match := re.fullmatch(r"rank(\d+)\.json", path.name))
    }
    if not paths:
        raise CourseError(
            f"There is no trace rank0.json in {folder}: "
            "run the script that profiles its ranks first."
        )
    read_traces = {rank: traces.read(paths[rank]) for rank in sorted(paths)}
    hosts = {host for host, _ in read_traces.values()}
    return Profile(
        {rank: steps for rank, (_, steps) in read_traces.items()}, one_clock=len(hosts) == 1
    )


def compare(named: Sequence[tuple[str, Profile]], step: int | None = None) -> Picture:
    """Draw several runs on one time axis: ``compare([("naive", a), ("overlapped", b)])``.

    Raises `CourseError` if there is no run.
    """
    if not named:
        raise CourseError("There is nothing to compare: give a list of (name, timeline) pairs.")
    sections, lengths = [], []
    for name, timeline in named:
        chosen = timeline._ranks_at(step)
        summary = _Summary.from_steps(chosen)
        heading = f"{name}: {words.milliseconds(summary.step_ms)} per step, {summary.hidden()}"
        sections.append(Section(heading, timeline._spans(chosen)))
        lengths.append((summary.step_ms, name))
    title = sections[0].heading
    if len(named) > 1:
        (short, best), (long, worst) = min(lengths), max(lengths)
        fast, slow = words.milliseconds(short), words.milliseconds(long)
        title = f"A step takes {fast} ({best}) to {slow} ({worst})"
    headings = "; ".join(section.heading for section in sections)
    return lanes.draw(
        sections,
        title,
        "The same time axis for all: solid is computing, hatched is communication",
        f"For each run and rank two lanes over time. {headings}.",
        unit=UNIT,
    )


@dataclass(frozen=True)
class _Summary:
    """A step over all ranks: the slowest rank's time, and the mean times of communication."""

    step_ms: float
    comm_ms: float
    exposed_ms: float

    @classmethod
    def from_steps(cls, chosen: dict[int, ProfiledStep]) -> "_Summary":
        steps = list(chosen.values())
        count = len(steps)
        exposed, comm = sum(step.exposed_ms for step in steps), sum(step.comm_ms for step in steps)
        return cls(max(step.step_ms for step in steps), comm / count, exposed / count)

    def _overlap(self) -> str:
        return f"{100 * (1 - self.exposed_ms / self.comm_ms):.0f} % of the communication"

    def hidden(self) -> str:
        return f"{self._overlap()} hidden" if self.comm_ms else "no communication"

    def title(self) -> str:
        if not self.comm_ms:
            return "No communication in this step: each rank computes for itself"
        return f"{self._overlap()} runs while the ranks compute"


def _spans(step: ProfiledStep, offset: float) -> list[Span]:
    """A step's spans; waiting comes first, so that it shows only where nothing is drawn over it."""

    def span(start: float, end: float, mark: str, label: str, named: bool = False) -> Span:
        return Span(offset + start, offset + end, mark, label, named)

    spans = [span(0, step.step_ms, "wait", "not computing")]
    for phase, intervals in step.phases.items():
        longest = max(intervals, key=lambda interval: interval[1] - interval[0])
        spans += [
            span(*interval, phase, phase, named=interval == longest) for interval in intervals
        ]
    return spans + [span(start, end, "comm", name) for start, end, name in step.comm]

"""What the ranks did, when: the profiler's traces of a run as a table, and as lanes that show what overlaps.

A script writes one trace a rank, ``rank0.json``, ``rank1.json`` …, with `torch.profiler`'s `export_chrome_trace`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from course.charts import traces
from course.charts.traces import Step
from course.core import CourseError
from course.drawing import Picture, Section, Span, lanes, significant


@dataclass(frozen=True)
class Timeline:
    """The profiled steps of each rank: ``ranks[0]`` are rank 0's, in order."""

    ranks: dict[int, list[Step]]
    one_clock: bool  # whether the ranks ran on one host, so that their times can be compared

    def table(self) -> pd.DataFrame:
        """One row a rank and step: rank, step, step_ms, comm_ms, overlap_pct (nan: nothing sent), exposed_ms."""
        rows = [
            {
                "rank": rank, "step": step.number, "step_ms": step.step_ms, "comm_ms": step.comm_ms,
                "overlap_pct": 100 * step.overlap, "exposed_ms": step.exposed_ms,
            }
            for rank, steps in self.ranks.items()
            for step in steps
        ]  # fmt: skip
        return pd.DataFrame(rows).round(2)

    def draw(self, step: int | None = None) -> Picture:
        """The lanes of every rank in one profiled `step`, by its number; the last one if none is given."""
        chosen = self._at(step)
        summary = _Summary.of(chosen)
        number = next(iter(chosen.values())).number
        return lanes.draw(
            [Section("", self._spans(chosen))], summary.title(),
            f"Step {number}: {_ms(summary.step_ms)}, of which {_ms(summary.exposed_ms)} only communicate",
            f"For each of {len(chosen)} ranks two lanes over time: computation above, communication below.",
            unit="ms since the step began",
        )  # fmt: skip

    def _at(self, number: int | None) -> dict[int, Step]:
        """That step of every rank that has it."""
        known = sorted({step.number for steps in self.ranks.values() for step in steps})
        wanted = known[-1] if number is None else number
        if wanted not in known:
            raise CourseError(
                f"Step {wanted} was not profiled; these were: {', '.join(map(str, known))}."
            )
        return {
            rank: step
            for rank, steps in self.ranks.items()
            for step in steps
            if step.number == wanted
        }

    def _spans(self, chosen: dict[int, Step]) -> dict[int, list[Span]]:
        first = min(step.start_ms for step in chosen.values())
        return {
            rank: _spans(step, step.start_ms - first if self.one_clock else 0.0)
            for rank, step in chosen.items()
        }


def read(folder: str | Path) -> Timeline:
    """The timeline of the traces ``rank0.json``, ``rank1.json`` … in `folder`; `CourseError` if one cannot be read."""
    found = {
        int(match[1]): path
        for path in Path(folder).glob("*")
        if (match := re.fullmatch(r"rank(\d+)\.json", path.name))
    }
    if not found:
        raise CourseError(
            f"There is no trace rank0.json in {folder}: run the script that profiles its ranks first."
        )
    read_traces = {rank: traces.read(found[rank]) for rank in sorted(found)}
    hosts = {host for host, _ in read_traces.values()}
    return Timeline(
        {rank: steps for rank, (_, steps) in read_traces.items()}, one_clock=len(hosts) == 1
    )


def compare(named: Sequence[tuple[str, Timeline]], step: int | None = None) -> Picture:
    """Several runs below one another on one time axis: ``compare([("naive", a), ("overlapped", b)])``."""
    if not named:
        raise CourseError("There is nothing to compare: give a list of (name, timeline) pairs.")
    sections, lengths = [], []
    for name, timeline in named:
        chosen = timeline._at(step)
        summary = _Summary.of(chosen)
        heading = f"{name}: {_ms(summary.step_ms)} a step, {summary.hidden()}"
        sections.append(Section(heading, timeline._spans(chosen)))
        lengths.append((summary.step_ms, name))
    (short, best), (long, worst) = min(lengths), max(lengths)
    title = (
        f"A step takes {_ms(short)} ({best}) to {_ms(long)} ({worst})"
        if len(named) > 1
        else sections[0].heading
    )
    return lanes.draw(
        sections,
        title,
        "The same time axis for all: solid is computing, hatched is communication",
        "For each run and rank two lanes over time. " + "; ".join(section.heading for section in sections) + ".",
        unit="ms since the step began",
    )  # fmt: skip


@dataclass(frozen=True)
class _Summary:
    """A step over all ranks: the slowest rank's time, the sums of communication."""

    step_ms: float
    comm_ms: float
    exposed_ms: float

    @classmethod
    def of(cls, chosen: dict[int, Step]) -> "_Summary":
        steps = list(chosen.values())
        count = len(steps)
        exposed, comm = sum(step.exposed_ms for step in steps), sum(step.comm_ms for step in steps)
        return cls(max(step.step_ms for step in steps), comm / count, exposed / count)

    def hidden(self) -> str:
        if not self.comm_ms:
            return "no communication"
        return f"{100 * (1 - self.exposed_ms / self.comm_ms):.0f} % of the communication hidden"

    def title(self) -> str:
        if not self.comm_ms:
            return "No communication in this step: each rank computes for itself"
        return f"{100 * (1 - self.exposed_ms / self.comm_ms):.0f} % of the communication runs while the ranks compute"


def _spans(step: Step, offset: float) -> list[Span]:
    """A step's spans; waiting lies below all else and shows where the rank does not compute."""
    spans = [Span(offset, offset + step.step_ms, "wait", "not computing", named=False)]
    for phase, intervals in step.phases.items():
        longest = max(intervals, key=lambda interval: interval[1] - interval[0])
        for start, end in intervals:
            spans.append(
                Span(offset + start, offset + end, phase, phase, named=(start, end) == longest)
            )
    return spans + [
        Span(offset + start, offset + end, "comm", name, named=False)
        for start, end, name in step.comm
    ]


def _ms(value: float) -> str:
    return f"{significant(value, 2 if value < 100 else 3)} ms"

"""The answer of `why`: the diagnosis in words, as a picture, and as plain data."""

from pathlib import Path
from typing import TYPE_CHECKING

from course.core import words
from course.diagnostics.answers import text
from course.diagnostics.finding import Finding
from course.diagnostics.profiling import timeline
from course.diagnostics.profiling.timeline import RankReport
from course.diagnostics.why import devices, typical_step
from course.diagnostics.why.cause import Cause
from course.diagnostics.why.detectors.computing import Computing
from course.diagnostics.why.diagnosis import diagnose

if TYPE_CHECKING:
    from course.drawing import Picture


def reports(folder: Path) -> list[RankReport]:
    """Read what the ranks have reported to a folder so far."""
    rank_reports = [timeline.read(path) for path in sorted(folder.glob("rank*.json"))]
    for report in rank_reports:
        devices.see(report, folder / f"gpu{report.rank}.json")
    return rank_reports


def why_answer(folder: Path) -> "WhyAnswer | None":
    """Diagnose the ranks that have reported to a folder; None if none has.

    Raises `CourseError` if the reports are too few to judge by.
    """
    rank_reports = reports(folder)
    return WhyAnswer(rank_reports) if rank_reports else None


class WhyAnswer:
    """A diagnosis to show: a terminal prints its text, a notebook draws a picture.

    Raises `CourseError` if the reports are too few to judge by.
    """

    def __init__(self, rank_reports: list[RankReport]) -> None:
        self.diagnosis = diagnose(rank_reports)

    @property
    def causes(self) -> list[Cause]:
        """The causes; the first is the one to cure first."""
        return self.diagnosis.causes

    @property
    def findings(self) -> list[Finding]:
        """The causes as findings; computing is left out, since it is not a fault."""
        return [cause.finding for cause in self.causes if not isinstance(cause, Computing)]

    @property
    def net_s(self) -> float:
        """Seconds per step, without the time in which ranks wait for a core."""
        return self.diagnosis.breakdown.net_s

    @property
    def picture(self) -> "Picture":
        """Draw a typical step with a lane for each rank, and the first cause as its title."""
        from course.drawing import steps  # not needed in a terminal, and slow to import

        breakdown = self.diagnosis.breakdown
        lanes = typical_step.lanes(breakdown)
        title = text.title(self.diagnosis)
        if self.diagnosis.first and text.lost_s(self.diagnosis):
            title = title.replace("a step", f"the {words.duration(breakdown.net_s)} that count")
        waits = [
            f"rank {rank} waits {words.duration(breakdown.waited(index))} for others"
            for index, rank in enumerate(lanes)
        ]
        whose = "the Python that feeds each GPU" if self.diagnosis.blind else "each rank"
        return steps.draw(
            typical_step.plain(lanes),
            f"{title[0].upper()}{title[1:]}",
            f"A typical step of {whose}; the mean step takes {words.duration(breakdown.step_s)}.",
            f"Of a step, {'; '.join(waits)}.",
        )

    def plain(self) -> dict[str, object]:
        """The answer as a dict for JSON, without the findings; times are in seconds."""
        breakdown, elsewhere = self.diagnosis.breakdown, self.diagnosis.elsewhere
        return {
            "causes": [cause.plain() for cause in self.causes],
            "ranks": [report.rank for report in breakdown.reports],
            "step_s": round(breakdown.step_s, 6),
            "net_s": round(self.net_s, 6),
            "elsewhere": None if elsewhere is None else round(elsewhere, 4),
            "undecided": self.diagnosis.undecided,
            "lanes": typical_step.plain(typical_step.lanes(breakdown)),
        }

    def __str__(self) -> str:
        return text.text(self.diagnosis)

    def __repr__(self) -> str:
        return f"<WhyAnswer: {text.title(self.diagnosis)}>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        picture = self.picture
        return {"image/svg+xml": str(picture), "text/plain": picture.alt}

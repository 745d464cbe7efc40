"""What `why` answers: the verdict in words, as a picture, and as plain data."""

import json
from pathlib import Path

from course.core import CourseError, words, write_whole
from course.drawing import Picture, steps
from course.launch import Run
from course.own.say import said
from course.own.slow import typical, verdict
from course.own.slow.cause import Cause
from course.own.watch.timeline import Rank


def answered(run: Run, told: list[Rank]) -> "Answer | None":
    """The answer to a run; None if the script failed before enough was seen.

    Raises `CourseError` where it went well, and cannot be judged.
    """
    try:
        return Answer(told)
    except CourseError:
        if run.ok:
            raise
        return None


class Answer:
    """The verdict on what the ranks have told; a terminal shows its text, a notebook a picture."""

    def __init__(self, ranks: list[Rank]) -> None:
        self.verdict = verdict.of(ranks)
        self._lanes = typical.lanes(self.verdict.budget)

    @property
    def causes(self) -> list[Cause]:
        """What was found, the cause to cure first at the beginning."""
        return self.verdict.causes

    @property
    def net_s(self) -> float:
        """How long a step takes, in seconds, without the time in which ranks wait for a core."""
        return self.verdict.budget.net_s

    @property
    def picture(self) -> Picture:
        """A typical step, a lane for each rank, with the first cause as its title."""
        budget = self.verdict.budget
        title = said.title(self.verdict.first)
        waits = [
            f"rank {rank} waits {words.duration(budget.waited(index))} for others"
            for index, rank in enumerate(self._lanes)
        ]
        whose = "the Python that feeds each GPU" if self.verdict.blind else "each rank"
        return steps.draw(
            typical.plain(self._lanes),
            f"{title[0].upper()}{title[1:]}",
            f"A typical step of {whose}; the mean step takes {words.duration(budget.step_s)}.",
            f"Of a step, {'; '.join(waits)}.",
        )

    def plain(self) -> dict:
        """As JSON; times in seconds."""
        return {
            "causes": [cause.plain() for cause in self.causes],
            "step_s": round(self.verdict.budget.step_s, 6),
            "net_s": round(self.net_s, 6),
            "elsewhere": round(self.verdict.elsewhere, 4),
            "undecided": self.verdict.undecided,
            "lanes": typical.plain(self._lanes),
        }

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        write_whole(path, json.dumps(self.plain(), indent=1) + "\n")

    def __str__(self) -> str:
        return said.text(self.verdict)

    def __repr__(self) -> str:
        return f"<Answer: {said.title(self.verdict.first)}>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"image/svg+xml": str(self.picture), "text/plain": self.picture.alt}

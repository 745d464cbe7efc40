"""The verdict as a picture: a typical step, a lane for each rank."""

from course.core import words
from course.drawing import Picture, steps
from course.why import said, typical
from course.why.typical import Stretch
from course.why.verdict import Verdict


def picture(verdict: Verdict, stretches: dict[int, list[Stretch]]) -> Picture:
    """One typical step, with the first cause as its title."""
    step = words.duration(verdict.budget.step_s)
    waits = [
        f"rank {rank} waits {words.duration(verdict.budget.waited(index))} for others"
        for index, rank in enumerate(stretches)
    ]
    title = said.title(verdict.first)
    return steps.draw(
        typical.plain(stretches),
        f"{title[0].upper()}{title[1:]}",
        f"A typical step of each rank; the mean step takes {step}.",
        f"Of a step, {'; '.join(waits)}.",
    )

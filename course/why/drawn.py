"""The verdict as a picture: a typical step, a lane for each rank."""

from course.core import words
from course.drawing import Picture, Section, Span, lanes
from course.why import said
from course.why.typical import Stretch
from course.why.verdict import Verdict

COMPUTING = ("forward", "backward", "optimizer")


def picture(verdict: Verdict, stretches: dict[int, list[Stretch]]) -> Picture:
    """One typical step, with the first cause as its title."""
    section = Section(
        "", {rank: [_span(each) for each in lane] for rank, lane in stretches.items()}
    )
    step = words.duration(verdict.budget.step_s)
    subtitle = f"A typical step of each rank; the mean step takes {step}."
    waits = [
        f"rank {rank} waits {words.duration(verdict.budget.waited(index))} for others"
        for index, rank in enumerate(stretches)
    ]
    alt = f"Of a step, {'; '.join(waits)}."
    title = said.title(verdict.first)
    return lanes.draw([section], f"{title[0].upper()}{title[1:]}", subtitle, alt)


def _span(stretch: Stretch) -> Span:
    start, end = 1e3 * stretch.start, 1e3 * stretch.end
    match stretch.kind:
        case "waiting":
            whom = "" if stretch.rank is None else f" for rank {stretch.rank}"
            return Span(start, end, "wait", f"waiting{whom}")
        case "communication" | "hidden communication":
            return Span(start, end, "comm", stretch.kind)
        case kind if kind in COMPUTING:
            return Span(start, end, kind, kind)
    kind = "other Python" if stretch.kind == "python" else stretch.kind
    return Span(start, end, "other", kind)

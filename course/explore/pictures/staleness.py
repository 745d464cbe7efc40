"""The picture of bounded staleness."""

from collections.abc import Sequence

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import Slider, Toggle
from course.explore.factory import Description, explorable
from course.explore.models import staleness as model

LEFT, RIGHT = 104, svg.WIDTH - svg.MARGIN
TOP, LANE, APART = 104, 28, 40
SCALE = (RIGHT - LEFT) / model.END_MS


def draw(workers: int, bound: int, slow: float, nap: bool) -> svg.Picture:
    """Draw one state of the explorable."""
    limit = float("inf") if bound == model.UNBOUNDED else bound
    run = model.simulate(workers, limit, slow, nap)
    bottom = TOP + (workers - 1) * APART + LANE + 14
    marks = (
        ("solid", palette.rank_colour(1), "computing, and the staleness of its update"),
        ("solid", palette.WAIT, "waiting"),
    )
    named = "No bound" if bound == model.UNBOUNDED else f"Bound {bound}"
    updates = words.plural(run.updates, "update")
    equal = "1 worker that never waits"
    if workers > 1:
        equal = f"{workers} equal workers that never wait"
    alone = model.simulate(1, limit, 1).updates * workers
    parts = [
        svg.legend(LEFT, 86, marks),
        svg.axis(LEFT, bottom, RIGHT - LEFT, model.END_MS, "ms", rise=bottom - TOP + 6),
    ]
    for worker, steps in enumerate(run.workers):
        parts += _lane(worker, steps, TOP + worker * APART)
    return svg.card(
        bottom + 46,
        f"{named}: {updates}, staleness up to {run.largest_staleness}, "
        f"{100 * run.waiting_share:.0f} % of the time waited",
        parts,
        subtitle=f"{equal} would make {alone} updates in that time",
        alt=f"{words.plural(workers, 'lane')} over {model.END_MS:.0f} ms, one per worker, "
        "with its steps as boxes and its waits between them. Each box shows how many updates of "
        "others came during it.",
    )


def _lane(worker: int, steps: Sequence[model.WorkerStep], y: float) -> list[str]:
    """Draw one worker: its steps are solid, its waits pale."""
    colour = palette.rank_colour(worker + 1)  # rank 0 is the server
    name = f"Worker {worker + 1}"
    parts = [svg.text(LEFT - 14, y + 18, name, anchor="end", bold=True, colour=colour)]
    for step in steps:
        parts += _step(step, y, colour)
    return parts


def _step(step: model.WorkerStep, y: float, colour: str) -> list[str]:
    """Draw a step with its staleness (in words if they fit) and its wait, cut at the lane's end."""
    start, end, answered = (
        LEFT + min(ms, model.END_MS) * SCALE for ms in (step.start, step.end, step.answered)
    )
    width, label = end - start - 1, str(step.staleness)
    spoken = f"{words.plural(step.staleness, 'update')} old"
    if step.end > model.END_MS:
        pale = palette.tint(colour, 0.5)
        parts = [svg.rect(start, y, width, LANE, pale, tip="not ended yet")]
    else:
        parts = [svg.rect(start, y, width, LANE, colour, tip=f"staleness {label}")]
        fits = [text for text in (spoken, label) if svg.text_width(text, bold=True) + 4 < width]
        if fits:
            style = {"anchor": "middle", "colour": palette.on(colour), "bold": True}
            parts.append(svg.text(start + width / 2, y + 19, fits[0], **style))
    if answered > end:
        waits = (end, y, answered - end - 1, LANE, palette.WAIT)
        parts.append(svg.rect(*waits, tip="waits for the slowest"))
    return parts


@explorable
def staleness() -> Description:
    """Workers of a parameter server: change the bound, see who waits and how stale it gets."""
    none = model.UNBOUNDED
    return draw, {
        "workers": Slider("Workers", 1, 6, 3),
        "bound": Slider(f"Bound, in steps ({none}: none)", 0, none, 2),
        "slow": Slider("The last worker is slower", 1, 8, 4, step=0.5, unit="times"),
        "nap": Toggle("… but in one step only", False),
    }

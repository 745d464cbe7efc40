"""The picture of bounded staleness, and the explorable made of it."""

from course.drawing import palette, svg
from course.explore.models import staleness as model
from course.explore.widget import Explorable, Slider, Toggle

LEFT, RIGHT = 104, svg.WIDTH - svg.MARGIN
TOP, LANE, APART = 104, 28, 40
SCALE = (RIGHT - LEFT) / model.END_MS


def staleness(**values: object) -> Explorable:
    """Workers of a parameter server on a time line: change the bound, see who waits and how stale the updates are.

    `values` are the controls' first values, such as ``bound=0``; a value that a control cannot take is a `CourseError`.
    """
    controls = {
        "workers": Slider("Workers", 1, 6, 3),
        "bound": Slider(f"Bound, in steps ({model.UNBOUNDED}: none)", 0, model.UNBOUNDED, 2),
        "slow": Slider("The last worker is slower", 1, 8, 4, step=0.5, unit="times"),
        "nap": Toggle("… but in one step only", False),
    }
    return Explorable(draw, **controls).at(**values)


def draw(workers: int, bound: int, slow: float, nap: bool) -> svg.Picture:
    """One state of the explorable."""
    limit = float("inf") if bound == model.UNBOUNDED else bound
    run = model.course(workers, limit, slow, nap)
    bottom = TOP + (workers - 1) * APART + LANE + 14
    marks = (
        ("solid", palette.rank_colour(1), "computing, and the staleness of its update"),
        ("solid", palette.WAIT, "waiting"),
    )
    named = "No bound" if bound == model.UNBOUNDED else f"Bound {bound}"
    updates = f"{run.updates} update{'s' * (run.updates != 1)}"
    alone = model.course(1, limit, 1).updates * workers
    parts = [
        svg.legend(LEFT, 86, marks),
        svg.axis(LEFT, bottom, RIGHT - LEFT, model.END_MS, "ms", rise=bottom - TOP + 6),
    ]
    for worker, steps in enumerate(run.workers):
        parts += _lane(worker, steps, TOP + worker * APART)
    return svg.card(
        bottom + 46,
        f"{named}: {updates}, staleness up to {run.largest}, {100 * run.waited:.0f} % of the time waited",
        parts,
        subtitle=f"{workers} equal worker{'s' * (workers > 1)} that never wait would make {alone} updates in that time",
        alt=f"{workers} lanes over {model.END_MS:.0f} ms, one a worker, with its steps as boxes and its waits between "
        f"them. Each box shows how many updates of others came during it.",
    )


def figures() -> dict[str, str]:
    """The stills for images/, by file name."""
    return {"staleness.svg": staleness().picture}


def _lane(worker: int, steps: tuple[model.Stretch, ...], y: float) -> list[str]:
    """One worker: its steps, solid, and its waits, pale."""
    colour = palette.rank_colour(worker + 1)  # rank 0 is the server
    parts = [
        svg.text(LEFT - 14, y + 18, f"Worker {worker + 1}", anchor="end", bold=True, colour=colour)
    ]
    for step in steps:
        start, end, answered = (
            LEFT + min(ms, model.END_MS) * SCALE for ms in (step.start, step.end, step.answered)
        )
        width = end - start - 1
        within = step.end <= model.END_MS
        tip = f"staleness {step.staleness}" if within else "not ended yet"
        parts.append(
            svg.rect(
                start, y, width, LANE, colour if within else palette.tint(colour, 0.5), tip=tip
            )
        )
        if within and svg.text_width(str(step.staleness), bold=True) + 4 < width:
            words, middle = str(step.staleness), start + width / 2
            parts.append(
                svg.text(middle, y + 19, words, anchor="middle", colour=palette.CARD, bold=True)
            )
        if answered > end:
            parts.append(
                svg.rect(
                    end, y, answered - end - 1, LANE, palette.WAIT, tip="waits for the slowest"
                )
            )
    return parts

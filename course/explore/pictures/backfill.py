"""The queue's explorable: a day of a small cluster, and how long your job waits for the time that it asks for."""

from course.clusters.slurm.board import LEFT, RIGHT, Bar, Server
from course.clusters.slurm.board import draw as board
from course.drawing import palette, svg
from course.explore.models import backfill as model
from course.explore.widget import Explorable, Slider, Toggle

HOURS = 24  # that the board shows
LIMITS = tuple(0.5 * i for i in range(1, 25))  # asked for, in the curve
CURVE = 96  # pixels high
BLUE = palette.rank_colour(0)


def queue(**values: object) -> Explorable:
    """A cluster's board with your job in it: change its size and its time limit, see when it starts.

    `values` are the controls' first values, such as ``hours=8``; a value that a control cannot take is a `CourseError`.
    """
    controls = {
        "nodes": Slider("Servers", 1, model.NODES, 1),
        "gpus": Slider("GPUs a server", 1, model.GPUS, 2),
        "hours": Slider("Time limit", 0.5, 12, 8, step=0.5, unit="h"),
        "backfill": Toggle("Backfill", True),
    }
    return Explorable(draw, **controls).at(**values)


def draw(nodes: int, gpus: int, hours: float, backfill: bool) -> svg.Picture:
    """One state of the explorable; `gpus` on each of `nodes` servers, `hours` is the time limit that you ask for."""
    jobs = model.plan(model.Wish("You", nodes, gpus, hours), backfill)
    mine = jobs[-1]
    curve = [
        (limit, model.plan(model.Wish("You", nodes, gpus, limit), backfill)[-1].start)
        for limit in LIMITS
    ]
    bars = [
        Bar(f"node{node + 1}", held, job.start, job.end, job.wish.name, "held" if job in model.RUNNING else "planned",
            None if job is mine else number, f"{job.wish.name}: {_h(job.start)} to {_h(job.end)}")
        for number, job in enumerate(jobs) for node, held in job.places
    ]  # fmt: skip
    servers = [Server(f"node{i + 1}", model.GPUS) for i in range(model.NODES)]
    return board(
        _title(hours, mine.start, curve), servers, bars, HOURS, "hours from now",
        subtitle="each row is a GPU; filled: running, pale: planned; Chi's job was in the queue before yours",
        extra=lambda y: _curve(y, curve, (hours, mine.start)), extra_height=CURVE + 66,
    )  # fmt: skip


def figures() -> dict[str, str]:
    """The stills for images/, by file name."""
    return {"queue.svg": queue().picture}


def _title(hours: float, wait: float, curve: list[tuple[float, float]]) -> str:
    asked = f"Ask for {_h(hours)} and you "
    shorter = [limit for limit, start in curve if start < wait]
    if wait == 0:
        return asked + "start at once"
    if shorter:
        return f"{asked}wait {_h(wait)}; with {_h(max(shorter))} you would start {_sooner(curve, shorter, wait)}"
    return f"{asked}wait {_h(wait)}; no shorter limit helps"


def _sooner(curve: list[tuple[float, float]], shorter: list[float], wait: float) -> str:
    start = dict(curve)[max(shorter)]
    return "at once" if start == 0 else f"after {_h(start)}"


def _h(hours: float) -> str:
    return f"{svg.significant(hours)} h"


def _curve(y0: float, curve: list[tuple[float, float]], now: tuple[float, float]) -> list[str]:
    """How long you wait against the limit that you ask for; drawn from `y0` downwards."""
    top, last = max(6.0, *(start for _, start in curve)), LIMITS[-1]

    def at(limit: float, start: float) -> tuple[float, float]:
        return LEFT + (RIGHT - LEFT) * limit / last, y0 + 22 + CURVE * (1 - start / top)

    steps: list[tuple[float, float]] = [at(0, curve[0][1])]
    for limit, start in curve:
        steps += [(steps[-1][0], at(limit, start)[1]), at(limit, start)]
    parts = [svg.text(LEFT - 8, y0 + 10, "you wait, h", anchor="end")]
    for value in svg.ticks(top, 3):
        y = at(0, value)[1]
        parts += [
            svg.line(LEFT, y, RIGHT, y),
            svg.text(LEFT - 8, y + 4, svg.significant(value), colour=palette.MUTED, anchor="end"),
        ]
    return [
        *parts,
        svg.axis(LEFT, y0 + 22 + CURVE, RIGHT - LEFT, last, "time limit that you ask for, h"),
        svg.polyline(steps, colour=BLUE),
        svg.circle(*at(*now), 5, BLUE),
    ]

"""The picture of a cluster's queue: when each job runs, and how long yours waits."""

from course.core import words
from course.drawing import board, palette, svg
from course.explore.controls import Slider, Toggle
from course.explore.factory import Description, explorable
from course.explore.models import backfill as model

HOURS = 24  # the length of the board
LIMITS = tuple(0.5 * i for i in range(1, 25))  # the requested hours of the curve
LEFT, RIGHT = board.LEFT, board.RIGHT
CURVE = 96  # height of the curve, in pixels
BLUE = palette.rank_colour(0)


def draw(nodes: int, gpus: int, hours: float, backfill: bool) -> svg.Picture:
    """Draw one state; you request `gpus` on each of `nodes` servers, with a limit of `hours`."""
    jobs = model.plan(model.Wish("You", nodes, gpus, hours), backfill)
    mine = jobs[-1]
    curve = [
        (limit, model.plan(model.Wish("You", nodes, gpus, limit), backfill)[-1].start)
        for limit in LIMITS
    ]
    return board.draw(
        _title(hours, mine.start, curve),
        [board.BoardServer(_server(node), model.GPUS) for node in range(model.NODES)],
        [bar for number, job in enumerate(jobs) for bar in _bars(job, number, job is mine)],
        HOURS,
        "hours from now",
        subtitle="each row is a GPU; filled: running, pale: planned; "
        "Chi's job was in the queue before yours",
        extra=lambda y: _curve(y, curve, (hours, mine.start)),
        extra_height=CURVE + 66,
    )


def _server(node: int) -> str:
    return f"node{node + 1}"


def _bars(job: model.Planned, number: int, mine: bool) -> list[board.Bar]:
    """The bars of a job, one per server."""
    kind = "held" if job in model.RUNNING else "planned"
    tip = f"{job.wish.name}: {_hours(job.start)} to {_hours(job.end)}"
    return [
        board.Bar(
            _server(node),
            gpus,
            job.start,
            job.end,
            job.wish.name,
            kind=kind,
            shade=None if mine else number,
            tip=tip,
        )
        for node, gpus in job.places
    ]


def _title(hours: float, wait: float, curve: list[tuple[float, float]]) -> str:
    request = f"Ask for {_hours(hours)} and you "
    sooner = [(limit, start) for limit, start in curve if start < wait]
    if wait == 0:
        return request + "start at once"
    if not sooner:
        return f"{request}wait {_hours(wait)}; no shorter limit helps"
    limit, start = max(sooner)
    then = "at once" if start == 0 else f"after {_hours(start)}"
    return f"{request}wait {_hours(wait)}; with {_hours(limit)} you would start {then}"


def _hours(hours: float) -> str:
    """Format hours in halves, as the slider does."""
    return f"{words.significant(hours)} h"


def _curve(y0: float, curve: list[tuple[float, float]], now: tuple[float, float]) -> list[str]:
    """Draw your wait against the limit that you request, from `y0` downwards."""
    top, last = max(6.0, *(start for _, start in curve)), LIMITS[-1]

    def at(limit: float, start: float) -> tuple[float, float]:
        return LEFT + (RIGHT - LEFT) * limit / last, y0 + 22 + CURVE * (1 - start / top)

    steps: list[tuple[float, float]] = [at(0, curve[0][1])]
    for limit, start in curve:
        steps += [(steps[-1][0], at(limit, start)[1]), at(limit, start)]
    parts = [svg.text(LEFT - 8, y0 + 10, "you wait, h", anchor="end")]
    for value in svg.ticks(top, 3):
        y, label = at(0, value)[1], words.significant(value)
        parts.append(svg.line(LEFT, y, RIGHT, y))
        parts.append(svg.text(LEFT - 8, y + 4, label, colour=palette.MUTED, anchor="end"))
    return [
        *parts,
        svg.axis(LEFT, y0 + 22 + CURVE, RIGHT - LEFT, last, "time limit that you ask for, h"),
        svg.polyline(steps, colour=BLUE),
        svg.circle(*at(*now), 5, BLUE),
    ]


@explorable
def backfill() -> Description:
    """A cluster's board with your job in it: change its size and its time limit, see its start."""
    return draw, {
        "nodes": Slider("Servers", 1, model.NODES, 1),
        "gpus": Slider("GPUs per server", 1, model.GPUS, 2),
        "hours": Slider("Time limit", 0.5, 12, 8, step=0.5, unit="h"),
        "backfill": Toggle("Backfill", True),
    }

"""The picture of ranks that wait for the slowest."""

import math
from itertools import pairwise

from course.core import words
from course.drawing import palette, svg, touch
from course.explore.controls import Slider
from course.explore.factory import Description, explorable
from course.explore.models import stragglers as model

LEFT = 116  # where the lanes' time begins, in pixels
RIGHT = svg.WIDTH - svg.MARGIN
LANE, NEXT = 20, 30  # a lane, and from one lane to the next, in pixels
TOP = 106
CURVE_HEIGHT = 110
SHOWN_MS = 1400.0  # the length of the lanes; a slower run is cut off


def draw(ranks: int, slower: float, jitter: float, every: int) -> svg.Picture:
    """Draw one state of the explorable; `slower` and `jitter` in %; `every` is 1, 2, 4 or 8."""
    state = (slower / 100, jitter / 100, every)
    run = model.race(ranks, *state)
    now, ideal = model.expected_ms(ranks, *state), model.ideal_ms(every)
    curve = [
        (count, 100 * (model.expected_ms(count, *state) / ideal - 1)) for count in model.COUNTS
    ]
    excess = 100 * (now / ideal - 1)
    curve_y = TOP + ranks * NEXT + 104
    waits = max(run.waiting_share(rank) for rank in range(ranks))
    return svg.card(
        curve_y + CURVE_HEIGHT + 58,
        _title(ranks, slower, jitter, every, excess),
        [*_lanes(run), *_curve(curve, (ranks, excess), curve_y)],
        subtitle=f"On the whole a pass costs {words.milliseconds(now)} "
        f"instead of {words.milliseconds(ideal)}; "
        f"here the ranks wait up to {100 * waits:.0f} % of the time",
        alt=f"{ranks} ranks as lanes over time: each computes {words.plural(every, 'pass')}, "
        "waits for the last rank, then all of them communicate. Below, what waiting adds to a pass "
        f"against the number of ranks: {curve[0][1]:.0f} % with one, "
        f"{curve[-1][1]:.0f} % with {curve[-1][0]}.",
        touch="Drag the end of the last rank's first pass: make it late.",
    )


def _title(ranks: int, slower: float, jitter: float, every: int, excess: float) -> str:
    cost = f"{excess:.0f} %"
    frequency = "at every pass" if every == 1 else f"after {every} passes"
    if excess < 0.5:
        return "Nobody is late: nobody waits"
    if jitter == 0:
        return f"One rank is slower by {slower:.0f} %: all {ranks} pay {cost}"
    if slower == 0:
        return f"Nobody is slow, and yet to meet {frequency} costs {cost}"
    return f"A slow rank and jitter, meeting {frequency}: all {ranks} pay {cost}"


def _lanes(run: model.Race) -> list[str]:
    """Draw each rank's passes (solid), waits (pale) and all-reduces (hatched)."""
    scale = (RIGHT - LEFT) / SHOWN_MS
    bottom = TOP + len(run.ranks) * NEXT + 2
    blue = palette.rank_colour(0)
    marks = (
        ("solid", blue, "a pass"),
        ("solid", palette.WAIT, "waiting"),
        ("hatched", blue, "all-reduce"),
    )
    parts = [svg.legend(LEFT, 84, marks)]
    parts.append(svg.axis(LEFT, bottom, RIGHT - LEFT, SHOWN_MS, "ms", rise=bottom - TOP + 6))
    for rank, periods in enumerate(run.ranks):
        y, colour = TOP + rank * NEXT, palette.rank_colour(rank)
        name = f"Rank {rank}"
        parts.append(svg.text(LEFT - 14, y + 14, name, anchor="end", bold=True, colour=colour))
        for period in periods:
            parts += _period(period, y, colour, scale)
    late = LEFT + run.ranks[-1][0].ends_ms[0] * scale
    percent = 100 / (model.COMPUTE_MS * scale)  # slower for each pixel, in percent
    label = f"How much slower rank {len(run.ranks) - 1} is"
    return [*parts, touch.handle(late - 12, y - 2, 24, LANE + 4, "slower", percent, label)]


def _period(period: model.Period, y: float, colour: str, scale: float) -> list[str]:
    moments = (period.start_ms, *period.ends_ms)
    marks = [(begin, end, colour, "a pass") for begin, end in pairwise(moments)]
    marks.append((period.ends_ms[-1], period.all_done_ms, palette.WAIT, "waits"))
    parts = []
    for begin, end, fill, what in marks:
        x, width = _clipped(begin, end, scale)
        if width > 0:
            tip = f"{what}: {words.milliseconds(end - begin)}"
            parts.append(svg.rect(x, y, width - svg.hair(width), LANE, fill, tip=tip))
    x, width = _clipped(period.all_done_ms, period.all_done_ms + model.ALL_REDUCE_MS, scale)
    if width > 1:
        tip = f"all-reduce: {words.milliseconds(model.ALL_REDUCE_MS)}"
        parts.append(svg.hatched(x, y, width - 1, LANE, colour, tip=tip))
    return parts


def _clipped(begin_ms: float, end_ms: float, scale: float) -> tuple[float, float]:
    """The start and the width of a mark in pixels, cut off where the lanes end."""
    begin, end = min(begin_ms, SHOWN_MS), min(end_ms, SHOWN_MS)
    return LEFT + begin * scale, (end - begin) * scale


def _curve(curve: list[tuple[int, float]], now: tuple[int, float], y: float) -> list[str]:
    """Draw what waiting adds to a pass, in percent, against the ranks; mark the current state."""
    blue, bottom = palette.rank_colour(0), y + CURVE_HEIGHT
    top = next(top for top in (25, 50, 100, 200, 400) if curve[-1][1] <= top)

    def at(ranks: int, percent: float) -> tuple[float, float]:
        share = math.log(ranks) / math.log(curve[-1][0])
        return LEFT + share * (RIGHT - LEFT), bottom - CURVE_HEIGHT * percent / top

    parts = [
        svg.text(LEFT - 14, y - 22, "Waiting adds", anchor="end"),
        svg.legend(LEFT, y - 22, [("dot", blue, f"{now[1]:.0f} % with {now[0]} ranks")]),
    ]
    for percent in (0, top / 2, top):
        height, label = at(1, percent)[1], f"{words.significant(percent, 3)} %"
        parts.append(svg.line(LEFT, height, RIGHT, height))
        parts.append(svg.text(LEFT - 10, height + 4, label, colour=palette.MUTED, anchor="end"))
    for count, _ in curve:
        x, label = at(count, 0)[0], str(count)
        parts.append(svg.line(x, bottom, x, bottom + 4))
        parts.append(svg.text(x, bottom + 17, label, colour=palette.MUTED, anchor="middle"))
    return [
        *parts,
        svg.text(RIGHT, bottom + 33, "ranks", colour=palette.MUTED, anchor="end"),
        svg.polyline([at(*point) for point in curve], colour=blue),
        svg.circle(*at(*now), 5, blue),
    ]


@explorable
def stragglers() -> Description:
    """Ranks that meet at every all-reduce: slow one down, make all jitter, let them meet less."""
    return draw, {
        "ranks": Slider("Ranks", 2, 8, 8),
        "slower": Slider("Last rank slower by", 0, 100, 0, step=5, unit="%"),
        "jitter": Slider("Jitter of every pass", 0, 30, 10, step=2, unit="%"),
        "every": Slider("Passes per step", 1, 8, 1, step=2, log=True),
    }

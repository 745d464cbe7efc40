"""The picture of ranks that wait for the slowest, and the explorable made of it."""

import math

from course.drawing import palette, svg
from course.explore.models import stragglers as model
from course.explore.widget import Explorable, Slider

LEFT = 116  # where the lanes' time begins, in pixels
RIGHT = svg.WIDTH - svg.MARGIN
LANE, NEXT = 20, 30  # a lane, and from one lane to the next, in pixels
TOP = 106
CURVE_HEIGHT = 110
SHOWN_MS = 1400.0  # of the lanes; a slower run leaves the picture, as it would be late


def stragglers(**values: object) -> Explorable:
    """Ranks that meet at every all-reduce: slow one down, make all of them jitter, let them meet less often.

    `values` are the controls' first values, such as ``slower=50``; a value that a control cannot take is a
    `CourseError`.
    """
    controls = {
        "ranks": Slider("Ranks", 2, 8, 4),
        "slower": Slider("Last rank slower by", 0, 100, 30, step=5, unit="%"),
        "jitter": Slider("Jitter of every pass", 0, 30, 0, step=2, unit="%"),
        "every": Slider("Passes in a step", 1, 8, 1, step=2, log=True),
    }
    return Explorable(draw, **controls).at(**values)


def draw(ranks: int, slower: float, jitter: float, every: int) -> svg.Picture:
    """One state of the explorable; `slower` and `jitter` in percent; `every` is 1, 2, 4 or 8."""
    state = (slower / 100, jitter / 100, every)
    run = model.race(ranks, *state)
    now, ideal = model.expected_ms(ranks, *state), model.ideal_ms(every)
    curve = [(count, 100 * (model.expected_ms(count, *state) / ideal - 1)) for count in model.MANY]
    excess = 100 * (now / ideal - 1)
    curve_y = TOP + ranks * NEXT + 104
    waits = max(run.waited(rank) for rank in range(ranks))
    return svg.card(
        curve_y + CURVE_HEIGHT + 58,
        _title(ranks, slower, jitter, every, excess),
        [*_lanes(run), *_curve(curve, (ranks, excess), curve_y)],
        subtitle=f"On the whole a pass costs {_ms(now)} instead of {_ms(ideal)}; here the ranks wait up to "
        f"{100 * waits:.0f} % of the time",
        alt=f"{ranks} ranks as lanes over time: each computes {every} "
        f"pass{'es'[: 2 * (every > 1)]}, waits for the last rank, then all of them communicate. Below, "
        f"what waiting adds to a pass against the number of ranks: {curve[0][1]:.0f} % with one, "
        f"{curve[-1][1]:.0f} % with {curve[-1][0]}.",
    )


def _title(ranks: int, slower: float, jitter: float, every: int, excess: float) -> str:
    cost = f"{excess:.0f} %"
    often = "at every pass" if every == 1 else f"after {every} passes"
    if excess < 0.5:
        return "Nobody is late: nobody waits"
    if jitter == 0:
        return f"One rank is slower by {slower:.0f} %: all {ranks} pay {cost}"
    if slower == 0:
        return f"Nobody is slow, and yet to meet {often} costs {cost}"
    return f"A slow rank and jitter, meeting {often}: all {ranks} pay {cost}"


def _ms(value: float) -> str:
    return f"{svg.significant(value, 3)} ms"


def _lanes(run: model.Race) -> list[str]:
    """Each rank's passes (solid), waits (pale) and all-reduces (hatched)."""
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
    for rank, stretches in enumerate(run.ranks):
        y, colour = TOP + rank * NEXT, palette.rank_colour(rank)
        parts.append(
            svg.text(LEFT - 14, y + 14, f"Rank {rank}", anchor="end", bold=True, colour=colour)
        )
        for stretch in stretches:
            parts += _stretch(stretch, y, colour, scale)
    return parts


def _stretch(stretch: model.Stretch, y: float, colour: str, scale: float) -> list[str]:
    begins = (stretch.start_ms, *stretch.ends_ms[:-1])
    marks = [
        (begin, end, colour, "a pass") for begin, end in zip(begins, stretch.ends_ms, strict=True)
    ]
    marks.append((stretch.ends_ms[-1], stretch.all_ms, palette.WAIT, "waits"))
    parts = []
    for begin, end, fill, what in marks:
        x, width = _clipped(begin, end, scale)
        if width > 0:
            hair = min(1, width / 4)
            parts.append(
                svg.rect(x, y, width - hair, LANE, fill, tip=f"{what}: {_ms(end - begin)}")
            )
    x, width = _clipped(stretch.all_ms, stretch.all_ms + model.ALL_REDUCE_MS, scale)
    if width > 1:
        parts.append(
            svg.hatched(
                x, y, width - 1, LANE, colour, tip=f"all-reduce: {_ms(model.ALL_REDUCE_MS)}"
            )
        )
    return parts


def _clipped(begin_ms: float, end_ms: float, scale: float) -> tuple[float, float]:
    """Where a mark begins and how wide it is in pixels, as far as the lanes reach."""
    begin, end = min(begin_ms, SHOWN_MS), min(end_ms, SHOWN_MS)
    return LEFT + begin * scale, (end - begin) * scale


def _curve(curve: list[tuple[int, float]], now: tuple[int, float], y: float) -> list[str]:
    """What waiting adds to a pass, in percent, against the number of ranks, with where we are."""
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
        height = at(1, percent)[1]
        words = f"{svg.significant(percent, 3)} %"
        parts += [
            svg.line(LEFT, height, RIGHT, height),
            svg.text(LEFT - 10, height + 4, words, colour=palette.MUTED, anchor="end"),
        ]
    for count, _ in curve:
        x = at(count, 0)[0]
        parts += [
            svg.line(x, bottom, x, bottom + 4),
            svg.text(x, bottom + 17, str(count), colour=palette.MUTED, anchor="middle"),
        ]
    return [
        *parts,
        svg.text(RIGHT, bottom + 33, "ranks", colour=palette.MUTED, anchor="end"),
        svg.polyline([at(*point) for point in curve], colour=blue),
        svg.circle(*at(*now), 5, blue),
    ]

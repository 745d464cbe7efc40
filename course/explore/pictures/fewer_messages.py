"""The picture of a training run that communicates less, next to DDP."""

import math

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import COARSE, FINE, Choice, Slider
from course.explore.factory import Description, explorable
from course.explore.models import fewer_messages as model

LEFT, RIGHT = 116, svg.WIDTH - svg.MARGIN
TOP, LANE, NEXT = 106, 30, 42  # the lanes: y, height, and from one to the next, in pixels
CURVE_Y, CURVE_HEIGHT = TOP + 2 * NEXT + 104, 130
LINKS = tuple(10 * 10 ** (i / 10) for i in range(47))  # 10 … 400,000 Mbit/s
MARKED = ((10, "10 Mbit/s"), (100, "100"), (1000, "1 Gbit/s"), (10_000, "10"), (100_000, "100"))
TIMES = (0.1, 1, 10, 100, 1000)  # the guides of the curve's y axis
UNITS = (("s", 1), ("min", 60), ("h", 3600), ("days", 86400))


def draw(
    ranks: int,
    link: float,
    parameters: float,
    compute: float,
    every: int,
    compression: str,
    extra: int,
) -> svg.Picture:
    """Draw one state; `link` in Mbit/s, `parameters` in millions, `compute` in ms, `extra` in %."""

    def both(mbit: float) -> tuple[model.TimeToLoss, model.TimeToLoss]:
        common = (ranks, mbit, parameters * 1e6, compute)
        yours = {"every": every, "compression": compression, "extra": extra / 100}
        return model.training(*common), model.training(*common, **yours)

    def gain(mbit: float) -> float:
        ddp, yours = both(mbit)
        return ddp.total_s / yours.total_s

    ddp, yours = both(link)
    return svg.card(
        CURVE_Y + CURVE_HEIGHT + 58,
        f"{_speed(link)}: {_comparison(gain(link))}, to the same loss",
        [*_lanes(ddp, yours), *_curve([(mbit, gain(mbit)) for mbit in LINKS], (link, gain(link)))],
        subtitle=f"DDP's ranks wait for {100 * ddp.waiting_share:.0f} % of the time; with "
        f"{_method_name(every, compression)} it is {100 * yours.waiting_share:.0f} %",
        alt=f"Two bars of time to the same loss, each computing and waiting: DDP "
        f"{words.long_duration(ddp.total_s)}, yours {words.long_duration(yours.total_s)}. Below, "
        "how many times as fast as DDP yours is, against the speed of the link.",
    )


def _speed(mbit: float) -> str:
    if mbit < 1000:
        return f"{words.significant(mbit)} Mbit/s"
    return f"{words.significant(mbit / 1000)} Gbit/s"


def _comparison(gain: float) -> str:
    if abs(gain - 1) < 0.005:
        return "as fast as DDP"
    if gain < 1:
        return f"DDP is {words.significant(1 / gain, 3)} times as fast"
    return f"{words.significant(gain, 3)} times as fast as DDP"


def _method_name(every: int, compression: str) -> str:
    frequency = "a message in every step" if every == 1 else f"a message in {every} steps"
    return frequency if compression == model.WHOLE else f"{frequency} ({compression})"


def _lanes(ddp: model.TimeToLoss, yours: model.TimeToLoss) -> list[str]:
    """Draw the two runs as bars: computing is solid, waiting for messages is hatched."""
    longest = max(ddp.total_s, yours.total_s)
    unit, seconds = next((u for u in reversed(UNITS) if longest >= 2 * u[1]), UNITS[0])
    top = svg.round_up(longest / seconds)
    scale = (RIGHT - LEFT) / (top * seconds)
    blue, bottom = palette.rank_colour(0), TOP + 2 * NEXT
    marks = (("solid", blue, "computing"), ("hatched", blue, "waiting for a message"))
    parts = [
        svg.legend(LEFT, 84, marks),
        svg.axis(LEFT, bottom, RIGHT - LEFT, top, unit, rise=bottom - TOP + 6),
    ]
    for lane, (name, run) in enumerate((("DDP", ddp), ("Yours", yours))):
        y, compute, wait = TOP + lane * NEXT, run.compute_s * scale, run.wait_s * scale
        parts.append(svg.text(LEFT - 14, y + 20, name, anchor="end", bold=True))
        tip = f"computes for {words.long_duration(run.compute_s)}"
        parts.append(svg.rect(LEFT, y, compute, LANE, blue, tip=tip))
        if wait > 1:
            tip = f"waits for {words.long_duration(run.wait_s)}"
            parts.append(svg.hatched(LEFT + compute, y, wait, LANE, blue, tip=tip))
    return parts


def _curve(curve: list[tuple[float, float]], now: tuple[float, float]) -> list[str]:
    """Draw the speed relative to DDP against that of the link; both axes are logarithmic."""
    blue, bottom = palette.rank_colour(0), CURVE_Y + CURVE_HEIGHT
    span_x = math.log(LINKS[-1] / LINKS[0])
    span_y = math.log(TIMES[-1] / TIMES[0])

    def at(mbit: float, times: float) -> tuple[float, float]:
        share = math.log(mbit / LINKS[0]) / span_x
        height = math.log(min(max(times, TIMES[0]), TIMES[-1]) / TIMES[0]) / span_y
        return LEFT + share * (RIGHT - LEFT), bottom - CURVE_HEIGHT * height

    parts = [svg.text(LEFT, CURVE_Y - 22, "Times as fast as DDP, by the speed of the link")]
    for times in TIMES:
        y = at(LINKS[0], times)[1]
        parts.append(svg.line(LEFT, y, RIGHT, y, **({"colour": palette.INK} if times == 1 else {})))
        label = words.significant(times)
        parts.append(svg.text(LEFT - 10, y + 4, label, colour=palette.MUTED, anchor="end"))
    for mbit, label in MARKED:
        x = at(mbit, 1)[0]
        parts.append(svg.line(x, bottom, x, bottom + 4))
        parts.append(svg.text(x, bottom + 17, label, colour=palette.MUTED, anchor="middle"))
    return [
        *parts,
        svg.polyline([at(*point) for point in curve], colour=blue),
        svg.circle(*at(*now), 5, blue),
    ]


@explorable
def fewer_messages() -> Description:
    """A run that communicates less, next to DDP: which one reaches the same loss first?"""
    return draw, {
        "ranks": Slider("Ranks", 2, 64, 4, step=2, log=True),
        "link": Slider("Link", 10, 400_000, 100, step=COARSE, unit="Mbit/s", log=True),
        "parameters": Slider("Parameters", 1, 10_000, 100, step=COARSE, unit="million", log=True),
        "compute": Slider("A step computes for", 1, 1000, 400, step=FINE, unit="ms", log=True),
        "every": Slider("H, steps for a message", 1, 500, 50, step=FINE, log=True, whole=True),
        "compression": Choice("Compression", model.COMPRESSIONS, model.WHOLE),
        "extra": Slider("Extra steps to the loss", 0, 100, 20, step=5, unit="%"),
    }

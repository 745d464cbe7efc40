"""The guesses of several people and what their machines measured, as dots."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median

from course.drawing import Picture, palette, svg

LEFT, RIGHT = 120, svg.WIDTH - 2 * svg.MARGIN
ROW = 34  # pixels between the guesses and the measurements
RADIUS, STEP = 5, 6  # of a dot; from one to the next above it
TOP = 84
COLOURS = {"guessed": palette.rank_colour(0), "measured": palette.rank_colour(1)}


def numbers(
    guessed: Sequence[float], measured: Sequence[float], show: Callable[[float], str]
) -> Picture:
    """Draw the guesses above the measurements; `show` formats a number with its unit.

    The axis is logarithmic if every number is above 0 and the largest is at least twice the
    smallest.
    """
    rows = {"guessed": sorted(guessed), "measured": sorted(measured)}
    all_values = [value for row in rows.values() for value in row]
    low, high = min(all_values), max(all_values)
    logarithmic = low > 0 and high >= 2 * low
    scale = math.log if logarithmic else float
    span = scale(high) - scale(low)

    def at(value: float) -> float:
        share = (scale(value) - scale(low)) / span if span else 0.5
        return LEFT + share * (RIGHT - LEFT)

    parts = [svg.line(LEFT, TOP + 2 * ROW, RIGHT, TOP + 2 * ROW)]
    for number, (name, row) in enumerate(rows.items()):
        y = TOP + (number + 1) * ROW - 10
        parts.append(svg.text(svg.MARGIN, y + 4, name, colour=palette.MUTED))
        stacked: Counter[int] = Counter()
        for value in row:
            place = round(at(value) / RADIUS)
            up = min(stacked[place], 4) * STEP
            stacked[place] += 1
            parts.append(svg.circle(at(value), y - up, RADIUS, COLOURS[name], fill_opacity=0.75))
    ends = [(low, "start"), (high, "end")] if span else [(low, "middle")]
    for value, anchor in ends:
        x = at(value)
        parts.append(svg.text(x, TOP + 2 * ROW + 18, show(value), anchor=anchor))
    medians = " and ".join(f"{name} {show(median(row))}" for name, row in rows.items() if row)
    kind = "logarithmic axis" if logarithmic else "axis"
    return svg.card(
        TOP + 2 * ROW + 32,
        f"In the middle the room {medians}",
        parts,
        subtitle=f"{len(guessed)} guessed, {len(measured)} measured, on one {kind}",
    )


def choices(options: Sequence[str], guessed: Sequence[str], measured: Sequence[str]) -> Picture:
    """Draw for each option a row of dots for its guesses, and below it one for its measurements."""
    parts, dots = [], RIGHT - LEFT - 80
    for number, option in enumerate(options):
        y = TOP + number * ROW
        parts.append(svg.text(svg.MARGIN, y + 4, option))
        for up, (name, answers) in enumerate((("guessed", guessed), ("measured", measured))):
            count = answers.count(option)
            step = min(2 * RADIUS + 2, dots / max(count, 1))
            parts += [
                svg.circle(LEFT + 80 + step * place, y - 6 + 13 * up, RADIUS, COLOURS[name])
                for place in range(count)
            ]
    favourite = max(options, key=list(guessed).count)
    legend = [("dot", COLOURS[name], name) for name in COLOURS]
    bottom = TOP + len(options) * ROW
    parts.append(svg.legend(svg.MARGIN, bottom + 8, legend))
    alt = "; ".join(
        f"{option}: guessed by {guessed.count(option)}, measured by {measured.count(option)}"
        for option in options
    )
    title = f"Most of the room guessed “{favourite}”"
    return svg.card(bottom + 28, title, parts, subtitle="a dot for each person", alt=alt)

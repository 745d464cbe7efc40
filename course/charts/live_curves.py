"""Live curves of what a script logs: a progress bar and small plots with one line per rank."""

import math
import statistics
from collections import defaultdict
from itertools import pairwise

from course.core import words
from course.drawing import Picture, palette, svg

TITLE = r"(Step \d|All \d+ steps)"  # the beginning of a title, during a run and after it
NOT_PLOTTED = {"rank", "time", "step", "steps", "epoch"}
PLOTS = 3
HEIGHT = 116  # of a plot, in pixels
TOP = 22  # from the top of a plot to its lines; its name is in between
TITLE_LETTERS = 76  # the most that fit
LEGEND_RANKS = 8  # the most ranks in the legend; more would share colours
GAP = 24  # between plots
SMALL = 1e-4  # a smaller number is written with an exponent
AWAY_FACTOR = 3  # a rank was away if two of its steps are this many times the usual distance apart

Point = tuple[float, float]  # a step and a value
Row = dict[str, float | str]  # what one call of `log` wrote, with the rank and often a step


def draw(
    rows: list[Row], progress: dict[int, str] | None = None, ended: bool = False
) -> Picture | None:
    """Draw the rows that have a `step`, and the progress bars that ranks write themselves.

    Returns None if there are neither. `progress` holds the bars by rank; `ended` means that the run
    is over and went well. Numbers logged last and without a step, such as an accuracy, go into the
    title.
    """
    steps = [row for row in rows if "step" in row]
    done = ended and _is_over(steps)
    names = _plotted(steps)
    bars = _bars(progress or {})
    if not steps and not bars:
        return None
    body, y = [], 58
    if any("steps" in row for row in steps):
        body.append(_progress(steps, y, done))
        y += 26
    for i, name in enumerate(names):
        width = (svg.WIDTH - 2 * svg.MARGIN - GAP * (len(names) - 1)) / len(names)
        body.append(_plot(name, steps, svg.MARGIN + i * (width + GAP), y, width))
    if names:
        y += HEIGHT + 42
        ranks = sorted({row["rank"] for row in steps})[:LEGEND_RANKS]
        if len(ranks) > 1:
            entries = [("solid", palette.rank_colour(rank), f"rank {rank}") for rank in ranks]
            body.append(svg.legend(svg.MARGIN, y, entries))
            y += 16
    for bar in bars:
        body.append(svg.text(svg.MARGIN, y + 8, bar[-90:], colour=palette.MUTED))
        y += 20
    return svg.card(y + 8, _title(steps, _result(rows), done), body, alt=_alt_text(steps, names))


def _alt_text(rows: list[Row], names: list[str]) -> str:
    """Give the first and last value of each plot in words, for the alt text."""
    lines = {name: [row[name] for row in rows if _is_finite(row.get(name))] for name in names}
    return "; ".join(
        f"{name} from {_short(line[0])} to {_short(line[-1])}" for name, line in lines.items()
    )


def _bars(progress: dict[int, str]) -> list[str]:
    return [f"rank {rank}: {bar}" for rank, bar in sorted(progress.items()) if bar.strip()]


def _plotted(rows: list[Row]) -> list[str]:
    """The names that get a plot: the first `PLOTS` names that ever have a finite number."""
    names = {name: None for row in rows for name, value in row.items() if _is_finite(value)}
    return [name for name in names if name not in NOT_PLOTTED][:PLOTS]


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _is_over(rows: list[Row]) -> bool:
    """Whether no further step will be logged, given that they are evenly spaced up to `steps`."""
    logged = [0, *sorted({row["step"] for row in rows})]
    interval = logged[-1] - logged[-2] if rows else 0
    return bool(rows) and rows[-1].get("steps", math.inf) - logged[-1] <= interval


def _result(rows: list[Row]) -> Row:
    """The numbers of the last row if it has no step, else nothing."""
    last = rows[-1] if rows and "step" not in rows[-1] else {}
    return {name: last[name] for name in _plotted([last])}


def _title(rows: list[Row], result: Row, done: bool) -> str:
    """Write the progress, the results, and as many of the plots' newest values as fit.

    If ranks differ, the title has the lowest and the highest value, or one that is not finite.
    """
    if not rows:
        return "Running"
    last = max(rows, key=lambda row: row["step"])
    title = f"Step {last['step']}"
    if "steps" in last:
        title = f"All {last['steps']} steps" if done else f"{title} of {last['steps']}"
    shown = {name: _short(value) for name, value in result.items()}
    for name in _plotted(rows):
        newest = {row["rank"]: row[name] for row in rows if name in row}.values()
        not_finite = [value for value in newest if not _is_finite(value)]
        ends = not_finite[:1] or (min(newest), max(newest))
        shown[name] = " to ".join(dict.fromkeys(_short(end) for end in ends))
    sign = ": "
    for name, value in shown.items():
        entry = f"{sign}{name} {value}"
        if len(title + entry) <= TITLE_LETTERS:
            title, sign = title + entry, ", "
    return title


def _short(value: float) -> str:
    """Format a number with three significant digits, or with an exponent if it is very small."""
    return f"{value:.1e}" if 0 < abs(value) < SMALL else words.significant(value, 3)


def _progress(rows: list[Row], y: float, done: bool) -> str:
    last = max(rows, key=lambda row: row["step"])
    share = 1.0 if done else min(1.0, last["step"] / max(1, last.get("steps", last["step"])))
    width = svg.WIDTH - 2 * svg.MARGIN
    ground = svg.rect(svg.MARGIN, y - 10, width, 8, palette.WAIT, rx=4)
    return ground + svg.rect(svg.MARGIN, y - 10, width * share, 8, palette.rank_colour(0), rx=4)


def _plot(name: str, rows: list[Row], x: float, y: float, width: float) -> str:
    """Draw a small plot of `name` against the step, with labels at the ends of both axes."""
    lines = _lines(name, rows)
    values = [value for line in lines.values() for _, value in line]
    low, high = min(0.0, *values), max(0.0, *values) if any(values) else 1.0
    first, last = min(row["step"] for row in rows), max(row["step"] for row in rows)
    ends = {low: y + HEIGHT, high: y + TOP}
    labels = {value: _short(value) for value in ends}
    left, right = x + max(map(svg.text_width, labels.values())) + 4, x + width

    def place(step: float, value: float) -> tuple[float, float]:
        across = (step - first) / ((last - first) or 1)
        up = (value - low) / ((high - low) or 1)
        return left + (right - left) * across, y + HEIGHT - (HEIGHT - TOP) * up

    parts = [svg.text(left, y + 8, name, bold=True)]
    for value, at in ends.items():
        parts.append(svg.line(left, at, right, at))
        parts.append(svg.text(left - 6, at + 4, labels[value], colour=palette.MUTED, anchor="end"))
    parts += [
        svg.text(right, y + HEIGHT + 16, f"step {last}", colour=palette.MUTED, anchor="end"),
        svg.text(left, y + HEIGHT + 16, f"{first}", colour=palette.MUTED),
    ]
    for rank, points in sorted(lines.items()):
        colour = palette.rank_colour(rank)
        others = {step for other, line in lines.items() if other != rank for step, _ in line}
        for piece in _pieces(points, others):
            if len(piece) > 1:
                drawn = [place(*point) for point in piece]
                parts.append(svg.polyline(drawn, colour=colour))
        parts.append(svg.circle(*place(*points[-1]), 3, colour))
    return "".join(parts)


def _pieces(points: list[Point], others: set[float]) -> list[list[Point]]:
    """Cut a rank's line where the rank went back to an earlier step, or was away.

    A rank was away if two of its steps are unusually far apart and others took steps in between.
    """
    gaps = [after - step for (step, _), (after, _) in pairwise(points) if after > step]
    longest_gap = AWAY_FACTOR * statistics.median(gaps or [math.inf])
    pieces = [points[:1]]
    for (step, _), point in pairwise(points):
        was_away = point[0] - step > longest_gap and any(
            step < other < point[0] for other in others
        )
        if point[0] < step or was_away:
            pieces.append([])
        pieces[-1].append(point)
    return pieces


def _lines(name: str, rows: list[Row]) -> dict[int, list[Point]]:
    """The (step, value) pairs of `name` by rank, without values that are not finite."""
    lines: dict[int, list[Point]] = defaultdict(list)
    for row in rows:
        if _is_finite(row.get(name)):
            lines[row["rank"]].append((row["step"], row[name]))
    return lines

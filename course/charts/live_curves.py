"""Live curves of what a script logs: a progress bar and small plots with one line per rank."""

from collections import defaultdict

from course.core import words
from course.drawing import Picture, palette, svg

NOT_PLOTTED = {"rank", "time", "step", "steps", "epoch"}
PLOTS = 3
HEIGHT = 116  # of a plot
GAP = 24  # between plots

Row = dict[str, float | str]  # what `log` wrote: the rank and the step among its names


def draw(rows: list[Row], progress: dict[int, str] | None = None) -> Picture | None:
    """The picture of the rows with a `step`, and of the progress bars that ranks write themselves.

    None if there are neither; `progress` holds the bars by rank.
    """
    steps = [row for row in rows if "step" in row]
    names = _plotted(steps)
    bars = _bars(progress or {})
    if not steps and not bars:
        return None
    body, y = [], 58
    if any("steps" in row for row in steps):
        body.append(_progress(steps, y))
        y += 26
    for i, name in enumerate(names):
        width = (svg.WIDTH - 2 * svg.MARGIN - GAP * (len(names) - 1)) / len(names)
        body.append(_plot(name, steps, svg.MARGIN + i * (width + GAP), y, width))
    if names:
        y += HEIGHT + 42
    for bar in bars:
        body.append(svg.text(svg.MARGIN, y + 8, bar[-90:], colour=palette.MUTED))
        y += 20
    return svg.card(y + 8, _title(steps), body)


def _bars(progress: dict[int, str]) -> list[str]:
    return [f"rank {rank}: {bar}" for rank, bar in sorted(progress.items()) if bar.strip()]


def _plotted(rows: list[Row]) -> list[str]:
    """The names that get a plot: the first ones whose values are numbers."""
    names = {
        name: None for row in rows for name, value in row.items() if isinstance(value, (int, float))
    }
    return [name for name in names if name not in NOT_PLOTTED][:PLOTS]


def _title(rows: list[Row]) -> str:
    if not rows:
        return "Running"
    last = max(rows, key=lambda row: row["step"])
    title = f"Step {last['step']}"
    if "steps" in last:
        title += f" of {last['steps']}"
    shown = [name for name in _plotted(rows) if name in last]
    if shown:
        title += ": " + ", ".join(f"{name} {words.significant(last[name], 3)}" for name in shown)
    return title


def _progress(rows: list[Row], y: float) -> str:
    last = max(rows, key=lambda row: row["step"])
    share = min(1.0, last["step"] / max(1, last.get("steps", last["step"])))
    width = svg.WIDTH - 2 * svg.MARGIN
    ground = svg.rect(svg.MARGIN, y - 10, width, 8, palette.WAIT, rx=4)
    return ground + svg.rect(svg.MARGIN, y - 10, width * share, 8, palette.rank_colour(0), rx=4)


def _plot(name: str, rows: list[Row], x: float, y: float, width: float) -> str:
    """One small plot of `name` against the step."""
    lines = _lines(name, rows)
    values = [value for line in lines.values() for _, value in line]
    low, high = min(0.0, *values), max(values) or 1.0
    first, last = min(row["step"] for row in rows), max(row["step"] for row in rows)

    def place(step: float, value: float) -> tuple[float, float]:
        across = (step - first) / ((last - first) or 1)
        return x + width * across, y + HEIGHT - (HEIGHT - 22) * (value - low) / ((high - low) or 1)

    up_to = f"up to {words.significant(high, 3)}"
    parts = [
        svg.text(x, y + 8, name, bold=True),
        svg.text(x + width, y + 8, up_to, colour=palette.MUTED, anchor="end"),
        svg.line(x, y + HEIGHT, x + width, y + HEIGHT),
        svg.text(x + width, y + HEIGHT + 16, f"step {last}", colour=palette.MUTED, anchor="end"),
        svg.text(x, y + HEIGHT + 16, f"{first}", colour=palette.MUTED),
    ]
    for rank, points in sorted(lines.items()):
        drawn, colour = [place(*point) for point in points], palette.rank_colour(rank)
        if len(drawn) > 1:
            parts.append(svg.polyline(drawn, colour=colour))
        parts.append(svg.circle(*drawn[-1], 3, colour))
    return "".join(parts)


def _lines(name: str, rows: list[Row]) -> dict[int, list[tuple[float, float]]]:
    """The (step, value) pairs of `name` by rank."""
    lines: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if name in row:
            lines[row["rank"]].append((row["step"], row[name]))
    return lines

"""Live curves of what a script logs: a progress bar and up to three small plots, one line a rank."""

from collections import defaultdict

from IPython.display import DisplayHandle, display

from course.drawing import palette, svg

NOT_PLOTTED = {"rank", "time", "step", "steps", "epoch"}
PLOTS = 3
HEIGHT = 116  # of a plot


class Display:
    """One output area, drawn again as rows arrive; it appears with the first `step` or progress bar."""

    def __init__(self) -> None:
        self._handle: DisplayHandle | None = None

    def show(self, rows: list[dict], transient: dict[int, str]) -> None:
        """Draw the rows logged so far, and the progress bars that ranks write themselves."""
        picture = draw(rows, transient)
        if self._handle and picture:
            self._handle.update(picture)
        elif self._handle:  # only progress bars were shown, and they have ended: their last state is among the lines
            self._handle.update({"text/plain": ""}, raw=True)
        elif picture:
            self._handle = display(picture, display_id=True)


def draw(rows: list[dict], transient: dict[int, str] | None = None) -> svg.Picture | None:
    """The picture of rows with a `step` (None if there are none and no rank writes a progress bar of its own)."""
    steps = [row for row in rows if "step" in row]
    names = _plotted(steps)
    bars = [
        f"rank {rank}: {text}" for rank, text in sorted((transient or {}).items()) if text.strip()
    ]
    if not steps and not bars:
        return None
    body, y = [], 58
    if any("steps" in row for row in steps):
        body.append(_progress(steps, y))
        y += 26
    for i, name in enumerate(names):
        width = (svg.WIDTH - 2 * svg.MARGIN - 24 * (len(names) - 1)) / len(names)
        body.append(_plot(name, steps, svg.MARGIN + i * (width + 24), y, width))
    y += (HEIGHT + 42) * bool(names)
    for text in bars:
        body.append(svg.text(svg.MARGIN, y + 8, text[-90:], colour=palette.MUTED))
        y += 20
    return svg.card(y + 8, _title(steps), body)


def _plotted(rows: list[dict]) -> list[str]:
    names = {
        name: None for row in rows for name, value in row.items() if isinstance(value, (int, float))
    }
    return [name for name in names if name not in NOT_PLOTTED][:PLOTS]


def _title(rows: list[dict]) -> str:
    if not rows:
        return "Running"
    last = max(rows, key=lambda row: row["step"])
    shown = ", ".join(
        f"{name} {svg.significant(last[name], 3)}" for name in _plotted(rows) if name in last
    )
    of = f" of {last['steps']}" if "steps" in last else ""
    return f"Step {last['step']}{of}" + (f": {shown}" if shown else "")


def _progress(rows: list[dict], y: float) -> str:
    last = max(rows, key=lambda row: row["step"])
    share = min(1.0, last["step"] / max(1, last.get("steps", last["step"])))
    width = svg.WIDTH - 2 * svg.MARGIN
    ground = svg.rect(svg.MARGIN, y - 10, width, 8, palette.WAIT, rx=4)
    return ground + svg.rect(svg.MARGIN, y - 10, width * share, 8, palette.rank_colour(0), rx=4)


def _plot(name: str, rows: list[dict], x: float, y: float, width: float) -> str:
    """One small plot of `name` against the step."""
    lines: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if name in row:
            lines[row["rank"]].append((row["step"], row[name]))
    values = [value for line in lines.values() for _, value in line]
    low, high = min(0.0, *values), max(values) or 1.0
    first, last = min(row["step"] for row in rows), max(row["step"] for row in rows)

    def place(step: float, value: float) -> tuple[float, float]:
        across = (step - first) / ((last - first) or 1)
        return x + width * across, y + HEIGHT - (HEIGHT - 22) * (value - low) / ((high - low) or 1)

    parts = [
        svg.text(x, y + 8, name, bold=True),
        svg.text(
            x + width,
            y + 8,
            f"up to {svg.significant(high, 3)}",
            colour=palette.MUTED,
            anchor="end",
        ),
        svg.line(x, y + HEIGHT, x + width, y + HEIGHT),
        svg.text(x + width, y + HEIGHT + 16, f"step {last}", colour=palette.MUTED, anchor="end"),
        svg.text(x, y + HEIGHT + 16, f"{first}", colour=palette.MUTED),
    ]
    for rank, points in sorted(lines.items()):
        drawn = [place(*point) for point in points]
        parts.append(
            svg.polyline(drawn, colour=palette.rank_colour(rank)) if len(drawn) > 1 else ""
        )
        parts.append(svg.circle(*drawn[-1], 3, palette.rank_colour(rank)))
    return "".join(parts)

"""A run in the manner of Horovod's timeline: for each tensor, when it was negotiated, queued, packed and reduced."""

import json
from dataclasses import dataclass
from pathlib import Path

from course.core import CourseError
from course.drawing import palette, svg

BLUE = palette.rank_colour(0)
LEFT, RIGHT = 168, svg.WIDTH - svg.MARGIN
TOP, ROW, BAR = 104, 26, 18  # pixels
LABEL = 21  # characters of a tensor's name


@dataclass(frozen=True)
class Row:
    """One tensor: (what, start, end) for each phase and (rank, when it was heard to be ready), in ms."""

    name: str
    phases: tuple[tuple[str, float, float], ...]
    ready: tuple[tuple[int, float], ...]


def read(path: str | Path) -> list[Row]:
    """The tensors of a timeline file, by when they were first heard of; times in ms since the first.

    The file is Chrome's trace format, a process a tensor. `CourseError` if it cannot be read or holds no operation.
    """
    try:
        events = json.loads(Path(path).read_text(encoding="utf-8"))["traceEvents"]
        names = {event["pid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
        rows = [
            _row(name, [event for event in events if event["pid"] == pid])
            for pid, name in names.items()
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CourseError(
            f"{path} is not a timeline ({error!r}): run the script that writes it first."
        ) from None
    rows = sorted(
        (row for row in rows if row.phases), key=lambda row: (row.phases[0][1], row.phases[-1][2])
    )
    if not rows:
        raise CourseError(
            f"{path} holds no operation: start the timeline before the operations, stop it after them."
        )
    return rows


def _row(name: str, events: list[dict]) -> Row:
    phases = [
        (e["name"], e["ts"] / 1e3, (e["ts"] + e["dur"]) / 1e3) for e in events if e["ph"] == "X"
    ]
    ready = [(e["args"]["rank"], e["ts"] / 1e3) for e in events if e["ph"] == "i"]
    return Row(name, tuple(sorted(phases, key=lambda phase: phase[1])), tuple(ready))


def tensor_timeline(path: str | Path, rows: int = 14) -> svg.Picture:
    """The first `rows` tensors of the timeline in the file `path`, below one another on one time axis."""
    found = read(path)
    shown = found[:rows]
    first = min(row.phases[0][1] for row in shown)
    top = max(row.phases[-1][2] for row in shown) - first
    bottom = TOP + ROW * len(shown) + 4

    def x(ms: float) -> float:
        return LEFT + (ms - first) * (RIGHT - LEFT) / top

    ranks = sorted({rank for row in shown for rank, _ in row.ready})
    parts = [
        _legend(ranks),
        svg.axis(LEFT, bottom, RIGHT - LEFT, top, "ms since the first was ready", rise=bottom - 98),
    ]
    for place, row in enumerate(shown):
        parts += _draw(row, TOP + place * ROW, x)
    messages = len({phase for row in shown for phase in row.phases if phase[0] == "ALLREDUCE"})
    waited = sum(
        end - start
        for row in shown
        for what, start, end in row.phases
        if what.startswith("NEGOTIATE")
    )
    return svg.card(
        bottom + 46,
        f"{len(shown)} tensors travel in {messages} message{'s' * (messages != 1)}",
        parts,
        subtitle=f"From ready to agreed on: {svg.significant(waited / len(shown))} ms on average; "
        f"all of it: {svg.significant(top)} ms" + f" ({len(found) - len(shown)} more tensors not drawn)" * (
            len(found) > len(shown)),
        alt=f"One row for each of {len(shown)} tensors over time: negotiated, queued, packed, reduced, unpacked. Ticks "
        "show when each rank was heard to be ready.",
    )  # fmt: skip


def _legend(ranks: list[int]) -> str:
    marks = [("solid", palette.WAIT, "negotiating"), ("solid", palette.tint(BLUE, 0.72), "queued")]
    marks += [("solid", BLUE, "packing"), ("hatched", BLUE, "all-reduce")]
    ready = " ready" if len(ranks) < 3 else ""
    return svg.legend(
        svg.MARGIN,
        82,
        marks + [("dot", palette.rank_colour(r), f"rank {r}{ready}") for r in ranks[:4]],
    )


def _draw(row: Row, y: float, x) -> list[str]:
    name = row.name if len(row.name) <= LABEL else "…" + row.name[1 - LABEL :]
    parts = [svg.text(LEFT - 12, y + 13, name, anchor="end")]
    for what, start, end in row.phases:
        left, width, tip = (
            x(start),
            x(end) - x(start),
            f"{row.name}: {what}, {svg.significant(end - start)} ms",
        )
        if what.startswith("NEGOTIATE") or what == "QUEUE":
            fill = palette.tint(BLUE, 0.72) if what == "QUEUE" else palette.WAIT
            parts.append(svg.rect(left, y, width, BAR, fill, tip=tip))
        elif what.startswith("MEMCPY"):
            parts.append(svg.rect(left, y, width, BAR, BLUE, tip=tip))
        else:
            parts.append(svg.hatched(left, y, width, BAR, BLUE, tip=tip))
    for rank, moment in row.ready:
        # A tick a rank, each in its own third, so that ranks heard in the same cycle are all seen.
        high = BAR / 2
        parts.append(
            svg.rect(x(moment) - 1.5, y + high * (rank % 2), 3, high, palette.rank_colour(rank))
        )
    return parts

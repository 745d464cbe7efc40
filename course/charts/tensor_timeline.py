"""A run as Horovod's timeline shows it: when each tensor was negotiated, packed and reduced."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from course.core import CourseError, words
from course.drawing import Picture, palette, svg

BLUE = palette.rank_colour(0)
LEFT, RIGHT = 168, svg.WIDTH - svg.MARGIN
TOP, ROW, BAR = 104, 26, 18  # pixels
MAX_ROWS = 14
LABEL = 21  # the most characters of a tensor's name


@dataclass(frozen=True)
class TensorRow:
    """One tensor; times are in ms.

    `phases` holds (name, start, end); `ready` holds (rank, when it reported the tensor).
    """

    name: str
    phases: tuple[tuple[str, float, float], ...]
    ready: tuple[tuple[int, float], ...]


def read(path: str | Path) -> list[TensorRow]:
    """Read the tensors of a timeline file, sorted by the start of their first phase.

    The file is in Chrome's trace format, with one process per tensor. Raises `CourseError` if it
    cannot be read or holds no operation.
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
            f"{path} holds no operation: "
            "start the timeline before the operations, stop it after them."
        )
    return rows


def _row(name: str, events: list[dict]) -> TensorRow:
    phases = [
        (e["name"], e["ts"] / 1e3, (e["ts"] + e["dur"]) / 1e3) for e in events if e["ph"] == "X"
    ]
    ready = [(e["args"]["rank"], e["ts"] / 1e3) for e in events if e["ph"] == "i"]
    return TensorRow(name, tuple(sorted(phases, key=lambda phase: phase[1])), tuple(ready))


def tensor_timeline(path: str | Path) -> Picture:
    """Draw the first `MAX_ROWS` tensors of the timeline in the file `path`, on one time axis."""
    tensors = read(path)
    shown = tensors[:MAX_ROWS]
    first = min(row.phases[0][1] for row in shown)
    top = max(row.phases[-1][2] for row in shown) - first
    bottom = TOP + ROW * len(shown) + 4

    def x(ms: float) -> float:
        return LEFT + (ms - first) * (RIGHT - LEFT) / top

    unit = "ms since the first was ready"
    parts = [
        _legend(sorted({rank for row in shown for rank, _ in row.ready})),
        svg.axis(LEFT, bottom, RIGHT - LEFT, top, unit, rise=bottom - TOP + 6),
    ]
    for place, row in enumerate(shown):
        parts += _draw(row, TOP + place * ROW, x)
    return svg.card(
        bottom + 46,
        f"{len(shown)} tensors travel in {words.plural(_messages(shown), 'message')}",
        parts,
        subtitle=_subtitle(shown, top, len(tensors) - len(shown)),
        alt=f"One row for each of {len(shown)} tensors over time: negotiated, queued, packed, "
        "reduced, unpacked. Ticks show when each rank was heard to be ready.",
    )


def _messages(shown: Sequence[TensorRow]) -> int:
    """The number of all-reduces that carried the tensors; fused tensors share one."""
    return len({phase for row in shown for phase in row.phases if phase[0] == "ALLREDUCE"})


def _subtitle(shown: Sequence[TensorRow], top: float, more: int) -> str:
    waited = sum(
        end - start
        for row in shown
        for phase, start, end in row.phases
        if phase.startswith("NEGOTIATE")
    )
    mean = words.significant(waited / len(shown))
    line = f"From ready to agreed on: {mean} ms on average; all of it: {words.significant(top)} ms"
    return f"{line} ({more} more tensors not drawn)" if more else line


def _legend(ranks: list[int]) -> str:
    marks = [
        ("solid", palette.WAIT, "negotiating"),
        ("solid", palette.tint(BLUE, 0.72), "queued"),
        ("solid", BLUE, "packing"),
        ("hatched", BLUE, "all-reduce"),
    ]
    ready = " ready" if len(ranks) < 3 else ""
    dots = [("dot", palette.rank_colour(rank), f"rank {rank}{ready}") for rank in ranks[:4]]
    return svg.legend(svg.MARGIN, 82, marks + dots)


def _draw(row: TensorRow, y: float, x: Callable[[float], float]) -> list[str]:
    name = row.name if len(row.name) <= LABEL else "…" + row.name[1 - LABEL :]
    parts = [svg.text(LEFT - 12, y + 13, name, anchor="end")]
    for phase, start, end in row.phases:
        tip = f"{row.name}: {phase}, {words.significant(end - start)} ms"
        parts.append(_mark(phase, x(start), y, x(end) - x(start), tip))
    for rank, moment in row.ready:
        # Even ranks tick above and odd ones below, so that two ticks of one cycle both show.
        half = BAR / 2
        tick = y + half * (rank % 2)
        parts.append(svg.rect(x(moment) - 1.5, tick, 3, half, palette.rank_colour(rank)))
    return parts


def _mark(phase: str, left: float, y: float, width: float, tip: str) -> str:
    if phase.startswith("NEGOTIATE"):
        return svg.rect(left, y, width, BAR, palette.WAIT, tip=tip)
    if phase == "QUEUE":
        return svg.rect(left, y, width, BAR, palette.tint(BLUE, 0.72), tip=tip)
    if phase.startswith("MEMCPY"):
        return svg.rect(left, y, width, BAR, BLUE, tip=tip)
    return svg.hatched(left, y, width, BAR, BLUE, tip=tip)

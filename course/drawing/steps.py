"""A typical training step, one lane per rank: what it does when, and which rank it waits for."""

from collections.abc import Mapping, Sequence
from typing import Any

from course.drawing import lanes, svg

COMPUTING = ("forward", "backward", "optimizer")


def draw(
    ranks: Mapping[str, Sequence[Mapping[str, Any]]], title: str, subtitle: str, alt: str
) -> svg.Picture:
    """Draw the stretches of each rank as `why` writes them to JSON, with start and end in s."""
    spans = {
        int(rank): [_span(stretch) for stretch in stretches] for rank, stretches in ranks.items()
    }
    return lanes.draw([lanes.Section("", spans)], title, subtitle, alt)


def _span(stretch: Mapping[str, Any]) -> lanes.Span:
    start, end, kind = 1e3 * stretch["start"], 1e3 * stretch["end"], stretch["kind"]
    if kind == "waiting for a core":
        return lanes.Span(start, end, "wait", kind)
    if kind == "waiting":
        target = "" if stretch["rank"] is None else f" for rank {stretch['rank']}"
        return lanes.Span(start, end, "wait", f"waiting{target}")
    if kind in ("communication", "hidden communication"):
        return lanes.Span(start, end, "comm", kind)
    if kind in COMPUTING:
        return lanes.Span(start, end, kind, kind)
    return lanes.Span(start, end, "other", "other Python" if kind == "python" else kind)

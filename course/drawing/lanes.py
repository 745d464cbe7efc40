"""Ranks as lanes over time: above what a rank computes (solid), below what it communicates (hatched)."""

from collections.abc import Sequence
from dataclasses import dataclass

from course.drawing import palette, svg

LEFT = 104  # where time begins, in pixels
RIGHT = svg.WIDTH - svg.MARGIN
COMPUTE, NETWORK = 28, 20  # heights of a rank's two lanes
PAIR = COMPUTE + 4 + NETWORK
NEXT_RANK = PAIR + 16
HEADING = 24
TOP = 100  # of the first lane
PHASES = ("forward", "backward", "optimizer", "other")


@dataclass(frozen=True)
class Span:
    """A stretch of time in ms; `mark` is a phase (see `PHASES`), ``comm`` or ``wait``.

    The pointer shows its label; if it is `named`, so does the drawing, where there is room.
    """

    start: float
    end: float
    mark: str
    label: str
    named: bool = True


@dataclass(frozen=True)
class Section:
    """Ranks drawn together, each with its spans: {rank: spans}."""

    heading: str
    ranks: dict[int, Sequence[Span]]


def draw(
    sections: Sequence[Section], title: str, subtitle: str, alt: str, *, unit: str = "ms"
) -> svg.Picture:
    """All `sections` below one another on one time axis."""
    top = max(
        span.end for section in sections for spans in section.ranks.values() for span in spans
    )
    scale = (RIGHT - LEFT) / top
    parts: list[str] = []
    y = float(TOP)
    for section in sections:
        if section.heading:
            parts.append(
                svg.rect(LEFT - 1, y - 7, RIGHT - LEFT + 2, HEADING + 2, palette.CARD)
            )  # no guides behind it
            parts.append(svg.text(svg.MARGIN, y + 10, section.heading, bold=True, size=13))
            y += HEADING
        for rank, spans in section.ranks.items():
            parts += _pair(rank, spans, y, scale)
            y += NEXT_RANK
        y += 6 if section.heading else 0
    bottom = y - 8
    marks = {
        span.mark for section in sections for spans in section.ranks.values() for span in spans
    }
    guides = svg.axis(LEFT, bottom, RIGHT - LEFT, top, unit, rise=bottom - TOP + 6)
    return svg.card(
        bottom + 46, title, [_legend(marks), guides, *parts], subtitle=subtitle, alt=alt
    )


def _legend(marks: set[str]) -> str:
    """What the marks mean, in the first rank's colour."""
    colour = palette.rank_colour(0)
    entries = [
        ("solid", palette.phase_colour(colour, phase), phase) for phase in PHASES if phase in marks
    ]
    entries.append(("hatched", colour, "communication"))
    return svg.legend(LEFT, 82, [*entries, ("solid", palette.WAIT, "waiting")])


def _pair(rank: int, spans: Sequence[Span], y: float, scale: float) -> list[str]:
    """The two lanes of a rank, their upper edge at y."""
    colour = palette.rank_colour(rank)
    parts = [
        svg.text(LEFT - 14, y + 18, f"Rank {rank}", anchor="end", bold=True, colour=colour),
        svg.text(LEFT - 14, y + COMPUTE + 18, "network", anchor="end", colour=palette.MUTED),
    ]
    for span in spans:
        parts += _span(span, colour, y, scale)
    return parts


def _span(span: Span, colour: str, y: float, scale: float) -> list[str]:
    x, width = LEFT + span.start * scale, (span.end - span.start) * scale
    tip = f"{span.label}: {svg.significant(span.end - span.start)} ms"
    if span.mark == "comm":
        return [
            svg.hatched(x, y + COMPUTE + 4, width, NETWORK, colour, tip=tip),
            _on_hatching(span, x + width / 2, width, y),
        ]
    fill = palette.WAIT if span.mark == "wait" else palette.phase_colour(colour, span.mark)
    # A hair between neighbours, unless that would be all there is of them.
    parts = [svg.rect(x, y, width - min(1, width / 4), COMPUTE, fill, tip=tip)]
    if span.named and svg.text_width(span.label) + 10 < width:
        ink = palette.CARD if span.mark in ("backward", "optimizer") else palette.INK
        parts.append(svg.text(x + width / 2, y + 18, span.label, anchor="middle", colour=ink))
    return parts


def _on_hatching(span: Span, middle: float, width: float, y: float) -> str:
    """The label of a communication, on a ground of its own, if there is room for it."""
    room = svg.text_width(span.label) + 8
    if not span.named or room + 8 > width:
        return ""
    box = svg.rect(middle - room / 2, y + COMPUTE + 7, room, NETWORK - 6, palette.CARD, rx=3)
    return box + svg.text(middle, y + COMPUTE + 18, span.label, anchor="middle")

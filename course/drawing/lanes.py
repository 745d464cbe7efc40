"""Ranks as lanes over time: computing (solid) above, communication (hatched) below."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from course.core import words
from course.drawing import palette, svg

LEFT = 104  # x of time 0, in pixels
RIGHT = svg.WIDTH - svg.MARGIN
COMPUTE, NETWORK = 28, 20  # heights of a rank's two lanes
PAIR = COMPUTE + 4 + NETWORK
NEXT_RANK = PAIR + 16
HEADING, BETWEEN = 24, 6  # space above and below lanes that have a heading
TOP = 100  # y of the first lane
PHASES = ("forward", "backward", "optimizer", "other")


@dataclass(frozen=True)
class Span:
    """A stretch of time in ms; `mark` is a phase (see `PHASES`), ``comm`` or ``wait``.

    The label appears under the pointer, and in the drawing if it is `named` and fits.
    """

    start: float
    end: float
    mark: str
    label: str
    named: bool = True


@dataclass(frozen=True)
class Section:
    """Ranks drawn together under one heading; `ranks` has the spans of each."""

    heading: str
    ranks: Mapping[int, Sequence[Span]]


def draw(
    sections: Sequence[Section], title: str, subtitle: str, alt: str, *, unit: str = "ms"
) -> svg.Picture:
    """Draw all `sections` below one another on one time axis."""
    all_spans = [span for section in sections for spans in section.ranks.values() for span in spans]
    top = max(span.end for span in all_spans)
    scale = (RIGHT - LEFT) / top
    parts: list[str] = []
    y = float(TOP)
    for section in sections:
        if section.heading:
            parts += heading(section.heading, y)
            y += HEADING
        for rank, spans in section.ranks.items():
            parts += _pair(rank, spans, y, scale)
            y += NEXT_RANK
        if section.heading:
            y += BETWEEN
    bottom = y - 8
    legend = _legend({span.mark for span in all_spans})
    guides = svg.axis(LEFT, bottom, RIGHT - LEFT, top, unit, rise=bottom - TOP + 6)
    return svg.card(bottom + 46, title, [legend, guides, *parts], subtitle=subtitle, alt=alt)


def heading(label: str, y: float) -> list[str]:
    """Draw the heading of lanes that begin `HEADING` below y, on a patch that hides the guides."""
    return [
        svg.rect(LEFT - 1, y - 7, RIGHT - LEFT + 2, HEADING + 2, palette.CARD),
        svg.text(svg.MARGIN, y + 10, label, bold=True, size=13),
    ]


def computing(
    x: float,
    y: float,
    width: float,
    colour: str,
    phase: str,
    *,
    label: str = "",
    tip: str = "",
    margin: float = 5,
) -> list[str]:
    """Draw a solid mark, `COMPUTE` px high, for a phase (see `PHASES`) or for ``wait``.

    The `label` is written in it if `margin` px remain on either side.
    """
    fill = palette.WAIT if phase == "wait" else palette.phase_colour(colour, phase)
    parts = [svg.rect(x, y, width - svg.hair(width), COMPUTE, fill, tip=tip)]
    if label and svg.text_width(label) + 2 * margin < width:
        parts.append(_centred(x + width / 2, y, COMPUTE, label, palette.on(fill)))
    return parts


def communicating(
    x: float,
    y: float,
    width: float,
    height: float,
    colour: str,
    *,
    label: str = "",
    tip: str = "",
    paper: float = 4,
    margin: float = 8,
) -> list[str]:
    """Draw a hatched mark; its `label` is on a white patch, `paper` px wider on either side.

    The label is left out if fewer than `margin` px would remain on either side of the text.
    """
    parts = [svg.hatched(x, y, width, height, colour, tip=tip)]
    room = svg.text_width(label)
    if label and room + 2 * margin < width:
        centre, patch_height = x + width / 2, min(16, height - 6)
        left, top = centre - room / 2 - paper, y + (height - patch_height) / 2
        parts.append(svg.rect(left, top, room + 2 * paper, patch_height, palette.CARD, rx=3))
        parts.append(_centred(centre, y, height, label, palette.INK))
    return parts


def _centred(middle: float, y: float, height: float, label: str, ink: str) -> str:
    return svg.text(middle, y + height / 2 + 4, label, anchor="middle", colour=ink)


def _legend(marks: set[str]) -> str:
    """Explain the marks, in the first rank's colour."""
    colour = palette.rank_colour(0)
    entries = [
        ("solid", palette.phase_colour(colour, phase), phase) for phase in PHASES if phase in marks
    ]
    entries.append(("hatched", colour, "communication"))
    return svg.legend(LEFT, 82, [*entries, ("solid", palette.WAIT, "waiting")])


def _pair(rank: int, spans: Sequence[Span], y: float, scale: float) -> list[str]:
    """Draw the two lanes of a rank; y is their upper edge."""
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
    tip = f"{span.label}: {words.significant(span.end - span.start)} ms"
    label = span.label if span.named else ""
    if span.mark == "comm":
        below = y + COMPUTE + 4
        return communicating(x, below, width, NETWORK, colour, label=label, tip=tip)
    return computing(x, y, width, colour, span.mark, label=label, tip=tip)

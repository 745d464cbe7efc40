"""What two ways of saving have on disk at each moment, and so what a kill would leave."""

from course.drawing import palette, svg

LEFT, RIGHT = 150, svg.WIDTH - svg.MARGIN
ROW, FIRST = 30, 92  # the height of a bar, and the y of the first heading, in pixels
OLD, NEW = palette.rank_colour(0), palette.rank_colour(2)

# (way, its files as (name, [(from, to, content)])); time is 0 to 1, the save takes 0.25 to 0.7.
WAYS = (
    ("Write over it", (("model.pt", ((0, 0.25, "old"), (0.25, 0.7, "half"), (0.7, 1, "new"))),)),
    (
        "Write beside it, then rename",
        (
            ("model.pt.part", ((0.25, 0.7, "half"),)),
            ("model.pt", ((0, 0.7, "old"), (0.7, 1, "new"))),
        ),
    ),
)
LABELS = {"old": "the last snapshot", "half": "half a file", "new": "the new snapshot"}


def saving() -> svg.Picture:
    """Draw the two ways below one another on one time axis."""
    parts, y = [], FIRST
    for way, files in WAYS:
        parts.append(svg.text(svg.MARGIN, y + 14, way, bold=True, size=13))
        y += 26
        for name, spans in files:
            parts.append(svg.text(LEFT - 12, y + 19, name, anchor="end", colour=palette.MUTED))
            parts += [mark for span in spans for mark in _span(span, y, usable=name == "model.pt")]
            y += ROW + 8
        y += 14
    end = y - 6
    for share, label in ((0.25, "the save begins"), (0.7, "it ends")):
        x = _x(share)
        guide = svg.line(x, FIRST - 8, x, end, colour=palette.MUTED, dash="3 3")
        parts.insert(0, guide)  # behind the bars
        parts.append(svg.text(x, FIRST - 14, label, anchor="middle", colour=palette.MUTED))
    parts.append(svg.text(RIGHT, end + 16, "time", anchor="end", colour=palette.MUTED))
    return svg.card(
        end + 30,
        "A rename has no middle: model.pt is the old snapshot, then the new one",
        parts,
        subtitle="What a kill finds, at each moment of two ways to save",
        alt="Written over, model.pt is half a file from the beginning of the save to its end. "
        "Written beside and renamed, model.pt is the last snapshot until it is the new one, "
        "and only model.pt.part is ever half a file.",
    )


def _x(share: float) -> float:
    return LEFT + share * (RIGHT - LEFT)


def _span(span: tuple[float, float, str], y: float, *, usable: bool) -> list[str]:
    """Draw what a file holds for a while; half a file is red if a restart loads it (`usable`)."""
    begin, end, what = span
    x, width, label = _x(begin), _x(end) - _x(begin) - 1, LABELS[what]
    middle = x + width / 2
    if what != "half":
        ground = OLD if what == "old" else NEW
        return [
            svg.rect(x, y, width, ROW, ground),
            svg.text(middle, y + 19, label, anchor="middle", colour=palette.on(ground)),
        ]
    colour, room = palette.ALARM if usable else palette.MUTED, svg.text_width(label) + 12
    return [
        svg.hatched(x, y, width, ROW, colour),
        svg.rect(middle - room / 2, y + 6, room, ROW - 12, palette.CARD, rx=3),
        svg.text(middle, y + 19, label, anchor="middle", colour=colour, bold=usable),
    ]

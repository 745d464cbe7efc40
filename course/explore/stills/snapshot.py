"""A still picture: what is on the disk at each moment of two ways to save, and so what a kill at that moment leaves."""

from course.drawing import palette, svg

LEFT, RIGHT = 150, svg.WIDTH - svg.MARGIN
ROW, FIRST = 30, 92  # the height of a bar and where the first heading stands, in pixels
OLD, NEW = palette.rank_colour(0), palette.rank_colour(2)

# (way, its two files as (name, [(from, to, what)]), where time runs from 0 to 1); the save lasts from 0.25 to 0.7.
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
WORDS = {"old": "the last snapshot", "half": "half a file", "new": "the new snapshot"}


def figures() -> dict[str, str]:
    """The still for images/, by file name."""
    return {"snapshot.svg": draw()}


def draw() -> svg.Picture:
    """The two ways below one another, on one time axis."""
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
    for share, words in ((0.25, "the save begins"), (0.7, "it ends")):
        x = _x(share)
        parts.insert(
            0, svg.line(x, FIRST - 8, x, end, colour=palette.MUTED, dash="3 3")
        )  # behind the bars
        parts.append(svg.text(x, FIRST - 14, words, anchor="middle", colour=palette.MUTED))
    parts.append(svg.text(RIGHT, end + 16, "time", anchor="end", colour=palette.MUTED))
    return svg.card(
        end + 30,
        "A rename has no middle: model.pt is the old snapshot, then the new one",
        parts,
        subtitle="What a kill finds, at each moment of two ways to save",
        alt="Written over, model.pt is half a file from the beginning of the save to its end. Written beside and "
        "renamed, model.pt is the last snapshot until it is the new one, and only model.pt.part is ever half a file.",
    )


def _x(share: float) -> float:
    return LEFT + share * (RIGHT - LEFT)


def _span(span: tuple[float, float, str], y: float, *, usable: bool) -> list[str]:
    begin, end, what = span
    x, width = _x(begin), _x(end) - _x(begin) - 1
    if what == "half":
        colour = palette.ALARM if usable else palette.MUTED
        box = svg.hatched(x, y, width, ROW, colour)
        room = svg.text_width(WORDS[what]) + 12
        ground = svg.rect(x + (width - room) / 2, y + 6, room, ROW - 12, palette.CARD, rx=3)
        return [
            box,
            ground,
            svg.text(
                x + width / 2, y + 19, WORDS[what], anchor="middle", colour=colour, bold=usable
            ),
        ]
    colour = OLD if what == "old" else NEW
    return [
        svg.rect(x, y, width, ROW, colour),
        svg.text(x + width / 2, y + 19, WORDS[what], anchor="middle", colour=palette.CARD),
    ]

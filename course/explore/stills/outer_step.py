"""A meeting of DiLoCo's ranks, drawn in a plane as if the model had two weights."""

from course.drawing import palette, svg

Point = tuple[float, float]

BEFORE, COMMON = (84, 120), (232, 196)  # the last two meetings of all ranks
PATHS: tuple[tuple[Point, ...], ...] = (  # of ranks 0, 1 and 2 since then
    ((262, 158), (300, 168), (330, 122), (362, 132), (400, 104)),
    ((268, 176), (300, 192), (342, 152), (388, 164), (446, 142)),
    ((258, 232), (300, 226), (324, 260), (362, 240), (394, 262)),
)
MOMENTUM = 0.5  # the outer rate is 1


def outer_step() -> svg.Picture:
    """Draw the paths of three ranks, their mean, the outer gradient, and the Nesterov step."""
    mean = _mean([path[-1] for path in PATHS])
    after = _after(BEFORE, COMMON, mean)
    parts = [svg.line(*BEFORE, *COMMON, colour=palette.MUTED, dash="4 4")]
    for rank, path in enumerate(PATHS):
        colour = palette.rank_colour(rank)
        parts.append(svg.polyline([COMMON, *path], colour=colour))
        x, y = path[-1]
        parts += [svg.circle(x, y, 4, colour), _label(x + 10, y - 4, f"rank {rank}", colour)]
    back = _between(mean, COMMON, 0.96)
    parts += [
        svg.arrow(*mean, *back, colour=palette.INK),
        *_place(BEFORE, "the meeting before", -8, -14),
        *_place(COMMON, "the last meeting", -112, 26),
        *_place(mean, "mean", 4, 20),
        *_place(after, "the next weights", -40, -14),
        svg.line(*mean, *after, colour=palette.INK, dash="2 3"),
        svg.arrow(196, 296, 160, 296, colour=palette.INK),
        _label(206, 300, "outer gradient, from the mean back to the last meeting", palette.INK),
    ]
    return svg.card(
        330,
        "An outer step goes against the outer gradient, and a little further",
        parts,
        subtitle="each rank trains alone since the last meeting; local SGD would stop at the mean",
        alt="A plane of two weights. From the point of the last meeting, three ranks take ways of "
        "their own. The outer gradient is the arrow from the mean of their ends back to that "
        "point. The next weights lie beyond the mean, because the ranks moved this way before.",
    )


def _mean(points: list[Point]) -> Point:
    return tuple(sum(column) / len(points) for column in zip(*points, strict=True))


def _after(before: Point, common: Point, mean: Point) -> Point:
    """The end of a Nesterov step if the step before was the first, from `before` to `common`."""
    after = []
    for old, now, middle in zip(before, common, mean, strict=True):
        gradient, velocity = now - middle, (old - now) / (1 + MOMENTUM)
        velocity = MOMENTUM * velocity + gradient
        after.append(now - gradient - MOMENTUM * velocity)
    return tuple(after)


def _between(start: Point, end: Point, share: float) -> Point:
    return tuple(a + share * (b - a) for a, b in zip(start, end, strict=True))


def _place(point: Point, name: str, right: float, down: float) -> list[str]:
    """Draw a point of common weights, with its name next to it."""
    x, y = point
    return [svg.circle(x, y, 5, palette.INK), _label(x + right, y + down, name, palette.INK)]


def _label(x: float, y: float, name: str, colour: str) -> str:
    return svg.text(x, y, name, colour=colour)

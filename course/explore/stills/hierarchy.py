"""The three phases of the hierarchical all-reduce."""

from course.drawing import palette, svg

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
GREY = palette.MUTED
GPU, APART = 46, 62  # the side of a GPU, and from one GPU to the next, in pixels


def phases() -> svg.Picture:
    """Draw the hierarchical all-reduce of two nodes of three GPUs, as three panels."""
    panels = (
        ("1  Inside: reduce-scatter", "one piece of the node's sum for each"),
        ("2  Between: all-reduce", "equal pieces meet, one ring for each"),
        ("3  Inside: all-gather", "everyone gets every piece"),
    )
    parts, width = [], (RIGHT - LEFT) / 3
    for phase, (heading, what) in enumerate(panels):
        x = LEFT + phase * width
        parts.append(svg.text(x, 90, heading, bold=True, size=13))
        parts.append(svg.text(x, 108, what, colour=GREY, size=11))
        parts += _panel(phase, x, 126)
    return svg.card(
        328,
        "Across nodes: first inside, then between, then inside again",
        parts,
        subtitle="Two nodes of three GPUs. "
        "Only what has been added up inside a node leaves it, in pieces",
        alt="Three panels with two nodes of three GPUs each. First arrows inside the nodes, then "
        "between GPUs that hold the same piece, then inside the nodes again.",
    )


def _panel(phase: int, x: float, y: float) -> list[str]:
    """Draw two nodes with what each GPU holds in that phase, and the arrows."""
    parts = []
    for node in (0, 1):
        parts += _node(phase, node, x, y + node * 104)
    if phase == 1:
        for i in range(3):
            at, colour = x + 16 + i * APART + GPU / 2, palette.rank_colour(i)
            parts.append(svg.arrow(at - 5, y + 77, at - 5, y + 101, colour=colour))
            parts.append(svg.arrow(at + 5, y + 101, at + 5, y + 77, colour=colour))
    return parts


def _node(phase: int, node: int, x: float, y: float) -> list[str]:
    """Draw a node and its GPUs; in the first and last phase, arrows lead from each to the next."""
    parts = [
        svg.rect(x, y, 206, 74, "none", stroke=palette.RULE, stroke_width=1.5, rx=7),
        svg.text(x + 198, y + 12, f"node {node}", colour=GREY, anchor="end", size=10),
    ]
    for i in range(3):
        left = x + 16 + i * APART
        parts += _gpu(phase, i, left, y + 18)
        if phase != 1 and i < 2:
            ends = (left + GPU + 2, y + 42, left + APART - 2, y + 42)
            parts.append(svg.arrow(*ends, colour=palette.INK, width=1.6))
    return parts


def _gpu(phase: int, i: int, x: float, y: float) -> list[str]:
    """Draw a GPU and its three pieces; until the last phase, all but its own piece are pale."""
    parts = [svg.rect(x, y, GPU, GPU, palette.CARD, stroke=palette.MUTED, rx=4)]
    for piece in range(3):
        colour = palette.rank_colour(piece)
        shade = colour if phase == 2 or piece == i else palette.tint(colour, 0.72)
        parts.append(svg.rect(x + 5 + piece * 12.5, y + 6, 11, GPU - 12, shade))
    return parts

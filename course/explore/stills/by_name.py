"""The sums that result if calls are matched by their order, and if they are matched by name."""

from course.drawing import palette, svg

WIDTH, HEIGHT, APART = 62, 34, 54  # size of a call, and from one call to the next, in pixels
TOP = 126
# For each rank, its gradients in the order in which they become ready.
CALLS = (("a", "b", "c"), ("c", "a", "b"))
PANEL = 330  # pixels wide


def by_name() -> svg.Picture:
    """Two ranks whose gradients become ready in different orders, matched in both ways."""
    by_order = [(place, place) for place in range(3)]
    by_label = [(place, CALLS[1].index(name)) for place, name in enumerate(CALLS[0])]
    return svg.card(
        TOP + 3 * APART + 34,
        "Ready in different orders: only names tell what belongs together",
        [
            *_panel(svg.MARGIN, "Matched by order: the first with the first", by_order),
            *_panel(svg.MARGIN + PANEL + 44, "Matched by name", by_label),
        ],
        subtitle="Two ranks, three gradients; time goes down",
        alt="Left, calls are matched by their order: rank 0's a is added to rank 1's c, b to a, "
        "c to b. Right, they are matched by name: a with a, b with b, c with c, by lines that "
        "cross.",
    )


def _panel(left: float, heading: str, pairs: list[tuple[int, int]]) -> list[str]:
    """Draw the calls of both ranks, and lines between those that are added up."""
    columns = (left + 20, left + PANEL - 20 - WIDTH)
    parts = [svg.text(left + 20, TOP - 40, heading, bold=True, size=13)]
    for rank, x in enumerate(columns):
        colour, centred = palette.rank_colour(rank), {"anchor": "middle", "bold": True}
        middle = x + WIDTH / 2
        parts.append(svg.text(middle, TOP - 12, f"Rank {rank}", colour=colour, **centred))
        for place, name in enumerate(CALLS[rank]):
            y = TOP + place * APART
            parts.append(svg.rect(x, y, WIDTH, HEIGHT, colour, rx=4))
            parts.append(
                svg.text(middle, y + 22, name, colour=palette.on(colour), size=14, **centred)
            )
    for first, second in pairs:
        right = CALLS[0][first] == CALLS[1][second]
        ends = [(columns[0] + WIDTH + 5, _middle(first)), (columns[1] - 5, _middle(second))]
        parts.append(svg.polyline(ends, colour=palette.GOOD if right else palette.ALARM))
    wrong = any(CALLS[0][first] != CALLS[1][second] for first, second in pairs)
    verdict = "a + c, b + a, c + b: sums of nothing" if wrong else "a + a, b + b, c + c"
    colour = palette.ALARM if wrong else palette.GOOD
    return [
        *parts,
        svg.text(left + PANEL / 2, TOP + 3 * APART + 12, verdict, anchor="middle", colour=colour),
    ]


def _middle(place: int) -> float:
    return TOP + place * APART + HEIGHT / 2

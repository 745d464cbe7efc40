"""Two pictures of two nodes: how their agents meet, and what an all-reduce sends across."""

from course.drawing import palette, svg

NODE_WIDTH, TOP, NODE_HEIGHT = 250, 76, 178  # width, upper edge and height of a node
LEFTS = (svg.MARGIN + 20, svg.WIDTH - svg.MARGIN - 20 - NODE_WIDTH)
NAMES = ("node0", "node1")


def meeting() -> svg.Picture:
    """Draw how agents meet at node0's address, then start the ranks, which talk to each other."""
    parts = []
    for node, left in enumerate(LEFTS):
        parts += _node(left, NAMES[node], TOP, NODE_HEIGHT)
        parts += _box(left + 20, TOP + 38, NODE_WIDTH - 40, 32, palette.MUTED, "agent: torchrun")
        for local in range(2):
            rank, x = 2 * node + local, left + 20 + local * 110
            parts += _box(x, TOP + 122, 100, 34, palette.rank_colour(rank), f"rank {rank}")
            middle = x + 50
            ends = (middle, TOP + 72, middle, TOP + 119)
            parts.append(svg.arrow(*ends, colour=palette.MUTED, width=1.5))
        style = {"anchor": "middle", "colour": palette.MUTED}
        parts.append(svg.text(left + NODE_WIDTH / 2, TOP + 100, "2. starts", **style))
    inner, outer = LEFTS[0] + NODE_WIDTH - 20, LEFTS[1] + 20
    middle = (inner + outer) / 2
    parts += [
        svg.arrow(outer - 4, TOP + 54, inner + 4, TOP + 54, colour=palette.INK),
        svg.text(middle, TOP + 30, "1. meet at node0:29400,", anchor="middle"),
        svg.text(middle, TOP + 45, "number the nodes", anchor="middle"),
        *_both_ways(inner, outer, TOP + 139),
        svg.text(middle, TOP + 170, "3. collectives", anchor="middle"),
    ]
    return svg.card(
        TOP + NODE_HEIGHT + 18,
        "One agent on each node; they meet, number the ranks and start them",
        parts,
        subtitle="torchrun, typed on both nodes; afterwards the ranks talk to each other directly",
        alt="Two nodes side by side. Node1's agent goes to node0's address. Each agent starts two "
        "ranks: 0 and 1 on node0, 2 and 3 on node1. An arrow in both directions joins the ranks "
        "of the two nodes.",
    )


def levels() -> svg.Picture:
    """Draw what crosses the cable with one ring over four ranks, and with two levels."""
    lower = TOP + 128
    inner, outer = LEFTS[0] + NODE_WIDTH - 20, LEFTS[1] + 20
    parts = [
        *_both_nodes(TOP, others=0.0),
        *_both_ways(inner, outer, TOP + 59),  # from rank 1 to rank 2, from rank 3 back to rank 0
        *_caption("one ring", "1.5 × the tensor", TOP),
        *_both_nodes(lower, others=0.45),
        *_between_leaders(lower),
        *_caption("two levels", "1.0 × the tensor", lower),
    ]
    return svg.card(
        TOP + 2 * 128,
        "One ring sends 1.5 times the data through the cable, two levels 1.0 times",
        parts,
        subtitle="four ranks on two nodes; in each direction of the cable",
        alt="Above, ranks 0 to 3 in one ring that crosses the cable between the nodes. Below, the "
        "two ranks of each node add up first, and only ranks 0 and 2, the leaders, exchange "
        "through the cable.",
    )


def _both_nodes(top: float, others: float) -> list[str]:
    """Draw two nodes of two ranks; `others` (0 to 1) is how much paler the second ranks are."""
    parts = []
    for node, left in enumerate(LEFTS):
        parts += _node(left, NAMES[node], top, 104)
        for local in range(2):
            rank, x = 2 * node + local, left + 20 + local * 120
            colour = palette.tint(palette.rank_colour(rank), others if local else 0.0)
            parts += _box(x, top + 42, 90, 34, colour, f"rank {rank}")
        parts += _both_ways(left + 112, left + 138, top + 59)
    return parts


def _between_leaders(top: float) -> list[str]:
    """Draw the path between ranks 0 and 2, below rank 1."""
    first, second = (left + 65 for left in LEFTS)
    y, ink = top + 90, {"colour": palette.INK, "width": 2}
    return [
        svg.line(first, top + 77, first, y, **ink),
        svg.line(first, y, second, y, **ink),
        svg.arrow(second, y, second, top + 77),
        svg.arrow(first, y, first, top + 77),
    ]


def _caption(name: str, sent: str, top: float) -> list[str]:
    middle = svg.WIDTH / 2
    return [
        svg.text(middle, top + 26, name, bold=True, anchor="middle", size=13),
        svg.text(middle, top + 44, sent, anchor="middle"),
    ]


def _node(left: float, name: str, top: float, height: float) -> list[str]:
    return [
        svg.rect(
            left,
            top,
            NODE_WIDTH,
            height,
            palette.tint(palette.WAIT, 0.5),
            stroke=palette.RULE,
            rx=8,
        ),
        svg.text(left + 14, top + 24, name, bold=True),
    ]


def _box(x: float, y: float, width: float, height: float, colour: str, label: str) -> list[str]:
    style = {"colour": palette.on(colour), "anchor": "middle", "bold": True}
    return [
        svg.rect(x, y, width, height, colour, rx=4),
        svg.text(x + width / 2, y + height / 2 + 4, label, **style),
    ]


def _both_ways(left: float, right: float, y: float) -> list[str]:
    middle = (left + right) / 2
    return [svg.arrow(middle, y, left + 2, y), svg.arrow(middle, y, right - 2, y)]

"""The picture of three all-reduces across nodes: where their time goes, and what leaves each node."""

from course.drawing import palette, svg
from course.explore.models import hierarchy as model
from course.explore.models.alpha_beta import AlphaBeta
from course.explore.pictures.all_reduce import seconds
from course.explore.widget import Choice, Explorable, Slider

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
TOP, BAR, APART = 112, 26, 66
BLUE, GREY = palette.rank_colour(0), palette.MUTED
INSIDE_US = 5.0  # of a message inside a node
ONE, EACH = "one a node", "one a GPU"


def two_levels(**values: object) -> Explorable:
    """All-reduce across nodes: one ring or several levels, under the α–β model.

    `values` are the controls' first values, such as ``nodes=16``; what a control cannot take is a `CourseError`.
    """
    controls = {
        "nodes": Slider("Nodes", 1, 64, 8),
        "gpus": Slider("GPUs a node", 1, 8, 8),
        "size": Slider("Buffer", 0.01, 1000, 1, step=10**0.2, unit="MB", log=True),
        "inside": Slider("1/β inside a node", 1, 900, 200, step=10**0.2, unit="GB/s", log=True),
        "network": Slider("1/β of a NIC", 0.1, 100, 25, step=10**0.2, unit="GB/s", log=True),
        "latency": Slider("α of the network", 1, 1000, 20, step=10**0.2, unit="µs", log=True),
        "nics": Choice("NICs", (ONE, EACH), ONE),
    }
    return Explorable(draw, **controls).at(**values)


def draw(
    nodes: int, gpus: int, size: float, inside: float, network: float, latency: float, nics: str
) -> svg.Picture:  # fmt: skip
    """One state of the explorable; `size` in MB, bandwidths in GB/s, `latency` in µs."""
    cluster = model.Cluster(
        nodes,
        gpus,
        AlphaBeta.of(INSIDE_US, inside),
        AlphaBeta.of(latency, network),
        gpus if nics == EACH else 1,
    )
    ways = model.ways(cluster, size * 1e6)
    bottom = TOP + len(ways) * APART - 12
    longest = max(way.seconds for way in ways)
    unit, factor = ("µs", 1e6) if longest < 1e-3 else ("ms", 1e3) if longest < 1 else ("s", 1.0)
    marks = (("hatched", BLUE, "waits for the network"), ("solid", BLUE, "inside the nodes"))
    parts = [svg.legend(LEFT, 84, marks)]
    if longest:
        parts.append(
            svg.axis(LEFT, bottom, RIGHT - LEFT, longest * factor, unit, rise=bottom - TOP + 4)
        )
    for number, way in enumerate(ways):
        parts += _bar(way, TOP + number * APART, longest)
    return svg.card(
        bottom + 46, _title(ways, nodes, gpus), parts,
        subtitle=f"{nodes} × {gpus} GPUs, {svg.significant(size)} MB: {svg.significant(inside)} GB/s inside a node, "
        f"{svg.significant(network)} GB/s a NIC, {svg.significant(latency)} µs a message",
        alt=" ".join(f"{way.name.capitalize()}: {seconds(way.seconds)}, {_out(way)}." for way in ways),
    )  # fmt: skip


def figures() -> dict[str, str]:
    """The stills for images/, by file name."""
    return {"hierarchy_phases.svg": phases()}


def _title(ways: list[model.Way], nodes: int, gpus: int) -> str:
    flat, levels = (way.seconds for way in ways[1:])
    if nodes * gpus == 1:
        return "One GPU has nobody to talk to"
    if nodes == 1 or gpus == 1:
        return f"With one {'node' if nodes == 1 else 'GPU a node'} there is one level: {seconds(levels)}"
    if levels < 0.98 * flat:
        return f"Two levels are {svg.significant(flat / levels)} times as fast as one ring in the best order"
    better = (
        "as fast as"
        if levels < 1.02 * flat
        else f"{svg.significant(levels / flat)} times as slow as"
    )
    return f"Two levels are {better} one ring in the best order"


def _out(way: model.Way) -> str:
    sent = svg.significant(way.out_of_node / 1e6, 3)
    return f"{sent} MB leave a node, {way.network_messages} network messages in a row"


def _bar(way: model.Way, y: float, longest: float) -> list[str]:
    parts, x = [], float(LEFT)
    scale = (RIGHT - LEFT) / longest if longest else 0.0
    words = (
        f"{way.name.capitalize()}: {seconds(way.seconds)}" if way.seconds else way.name.capitalize()
    )
    parts.append(
        svg.rect(LEFT - 2, y + 2, RIGHT - LEFT + 4, 18, palette.CARD)
    )  # no guides behind the words
    parts.append(svg.text(LEFT, y + 15, words, bold=True))
    parts.append(svg.text(RIGHT, y + 15, _out(way), anchor="end", colour=GREY))
    for phase in way.phases:
        width = phase.seconds * scale
        tip = f"{phase.name}: {seconds(phase.seconds)}"
        draw_one = svg.hatched if phase.crosses else svg.rect
        if width:
            parts.append(draw_one(x, y + 22, max(width - 1, 0.5), BAR, BLUE, tip=tip))
        x += width
    return parts


# -- the still of the three phases ----------------------------------------------------------------------------------


def phases() -> svg.Picture:
    """The hierarchical all-reduce of two nodes of three GPUs, as three panels."""
    panels = (
        ("1  Inside: reduce-scatter", "one piece of the node's sum for each"),
        ("2  Between: all-reduce", "equal pieces meet, one ring for each"),
        ("3  Inside: all-gather", "everyone gets every piece"),
    )
    parts, wide = [], (RIGHT - LEFT) / 3
    for number, (heading, words) in enumerate(panels):
        x = LEFT + number * wide
        parts.append(svg.text(x, 90, heading, bold=True, size=13))
        parts.append(svg.text(x, 108, words, colour=GREY, size=11))
        parts += _panel(number, x, 126)
    return svg.card(
        328, "Across nodes: first inside, then between, then inside again", parts,
        subtitle="Two nodes of three GPUs. Only what has been added up inside a node leaves it, in pieces",
        alt="Three panels with two nodes of three GPUs each. First arrows inside the nodes, then between GPUs that "
        "hold the same piece, then inside the nodes again.",
    )  # fmt: skip


def _panel(number: int, x: float, y: float) -> list[str]:
    """Two nodes with what each GPU holds in that phase, and the arrows."""
    parts, gpu, apart = [], 46, 62
    for node in (0, 1):
        top = y + node * 104
        parts.append(svg.rect(x, top, 206, 74, "none", stroke=palette.RULE, stroke_width=1.5, rx=7))
        parts.append(
            svg.text(x + 198, top + 12, f"node {node}", colour=GREY, anchor="end", size=10)
        )
        for i in range(3):
            parts += _gpu(number, i, x + 16 + i * apart, top + 18, gpu)
            if number != 1 and i < 2:
                ends = (x + 16 + i * apart + gpu + 2, x + 16 + (i + 1) * apart - 2)
                parts.append(
                    svg.arrow(ends[0], top + 42, ends[1], top + 42, colour=palette.INK, width=1.6)
                )
    if number == 1:
        for i in range(3):
            at, colour = x + 16 + i * apart + gpu / 2, palette.rank_colour(i)
            parts.append(svg.arrow(at - 5, y + 77, at - 5, y + 101, colour=colour))
            parts.append(svg.arrow(at + 5, y + 101, at + 5, y + 77, colour=colour))
    return parts


def _gpu(number: int, i: int, x: float, y: float, size: float) -> list[str]:
    """A GPU and its three pieces; in the middle phase it has only one to send, the sum of its node."""
    parts = [svg.rect(x, y, size, size, palette.CARD, stroke=palette.MUTED, rx=4)]
    for piece in range(3):
        colour = palette.rank_colour(piece)
        shade = colour if number == 2 or piece == i else palette.tint(colour, 0.72)
        parts.append(svg.rect(x + 5 + piece * 12.5, y + 6, 11, size - 12, shade))
    return parts

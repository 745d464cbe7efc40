"""The picture of three all-reduces across nodes: where their time goes, what leaves each node."""

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import COARSE, Choice, Slider
from course.explore.factory import Description, explorable
from course.explore.models import hierarchy as model
from course.explore.models.alpha_beta import AlphaBeta

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
TOP, BAR, APART = 202, 26, 66  # of the bars
NODES_Y, NODE, DOT, SHOWN = 78, 46, 6, 8  # the nodes: y, height, radius of a GPU, the most that fit
BLUE, GREY = palette.rank_colour(0), palette.MUTED
INSIDE_US = 5.0  # α of a message inside a node
ONE, EACH = "one per node", "one per GPU"


def draw(
    nodes: int, gpus: int, size: float, inside: float, network: float, latency: float, nics: str
) -> svg.Picture:
    """Draw one state of the explorable; `size` in MB, bandwidths in GB/s, `latency` in µs."""
    links = AlphaBeta.of(INSIDE_US, inside), AlphaBeta.of(latency, network)
    cluster = model.Topology(nodes, gpus, *links, nics=gpus if nics == EACH else 1)
    ways = model.ways(cluster, size * 1e6)
    bottom = TOP + len(ways) * APART - 12
    longest = max(way.seconds for way in ways)
    unit, factor = words.time_unit(longest)
    marks = (("hatched", BLUE, "waits for the network"), ("solid", BLUE, "inside the nodes"))
    parts = [*_nodes(cluster), svg.legend(LEFT, TOP - 28, marks)]
    if longest:
        rise = bottom - TOP + 4
        parts.append(svg.axis(LEFT, bottom, RIGHT - LEFT, longest * factor, unit, rise=rise))
    for number, way in enumerate(ways):
        parts += _bar(way, TOP + number * APART, longest)
    return svg.card(
        bottom + 46,
        _title(ways, nodes, gpus),
        parts,
        subtitle=f"{nodes} × {words.plural(gpus, 'GPU')}, {words.significant(size)} MB: "
        f"{words.significant(inside)} GB/s inside a node, {words.significant(network)} GB/s "
        f"per NIC, {words.significant(latency)} µs per message",
        alt=" ".join(
            f"{way.name.capitalize()}: {words.duration(way.seconds)}, {_out(way)}." for way in ways
        ),
    )


def _title(ways: list[model.Way], nodes: int, gpus: int) -> str:
    flat, levels = (way.seconds for way in ways[1:])
    if nodes * gpus == 1:
        return "One GPU has nobody to talk to"
    if nodes == 1 or gpus == 1:
        alone = "node" if nodes == 1 else "GPU per node"
        return f"With one {alone} there is one level: {words.duration(levels)}"
    if levels < 0.98 * flat:
        speed = f"{words.significant(flat / levels)} times as fast as"
    elif levels < 1.02 * flat:
        speed = "as fast as"
    else:
        speed = f"{words.significant(levels / flat)} times as slow as"
    return f"Two levels are {speed} one ring in the best order"


def _out(way: model.Way) -> str:
    sent = words.significant(way.out_of_node / 1e6, 3)
    return f"{sent} MB leave a node, {way.network_messages} network messages in a row"


def _nodes(cluster: model.Topology) -> list[str]:
    """Draw the nodes with their GPUs, each node joined to the network below by its NICs."""
    shown, slot = min(cluster.nodes, SHOWN), (RIGHT - LEFT - 68) / SHOWN
    base, parts = NODES_Y + NODE + 18, []
    for node in range(shown):
        x, width = LEFT + node * slot, slot - 10
        box = {"stroke": GREY, "rx": 5, "tip": f"node {node}: {words.plural(cluster.gpus, 'GPU')}"}
        parts.append(svg.rect(x, NODES_Y, width, NODE, palette.CARD, **box))
        for gpu in range(cluster.gpus):
            column, row = gpu % 4, gpu // 4
            place = x + width * (column + 0.5) / 4, NODES_Y + 14 + 18 * row
            parts.append(svg.circle(*place, DOT, palette.rank_colour(gpu)))
        for nic in range(cluster.nics):
            at = x + width * (nic + 0.5) / cluster.nics
            parts.append(svg.line(at, NODES_Y + NODE, at, base, colour=BLUE, width=2))
    if cluster.nodes > shown:
        label = f"… {cluster.nodes - shown} more"
        parts.append(svg.text(LEFT + shown * slot, NODES_Y + NODE / 2 + 4, label, colour=GREY))
    return [*parts, svg.line(LEFT, base, LEFT + shown * slot - 10, base, colour=BLUE, width=2)]


def _bar(way: model.Way, y: float, longest: float) -> list[str]:
    parts, x = [], float(LEFT)
    scale = (RIGHT - LEFT) / longest if longest else 0.0
    label = way.name.capitalize()
    if way.seconds:
        label += f": {words.duration(way.seconds)}"
    # A white patch hides the guides behind the text.
    parts.append(svg.rect(LEFT - 2, y + 2, RIGHT - LEFT + 4, 18, palette.CARD))
    parts.append(svg.text(LEFT, y + 15, label, bold=True))
    parts.append(svg.text(RIGHT, y + 15, _out(way), anchor="end", colour=GREY))
    for phase in way.phases:
        width = phase.seconds * scale
        tip = f"{phase.name}: {words.duration(phase.seconds)}"
        mark = svg.hatched if phase.crosses else svg.rect
        if width:
            parts.append(mark(x, y + 22, max(width - 1, 0.5), BAR, BLUE, tip=tip))
        x += width
    return parts


@explorable
def hierarchy() -> Description:
    """All-reduce across nodes: one ring or two levels, under the α–β model."""
    return draw, {
        "nodes": Slider("Nodes", 1, 64, 8),
        "gpus": Slider("GPUs per node", 1, 8, 8),
        "size": Slider("Buffer", 0.01, 1000, 1, step=COARSE, unit="MB", log=True),
        "inside": Slider("1/β inside a node", 1, 900, 200, step=COARSE, unit="GB/s", log=True),
        "network": Slider("1/β of a NIC", 0.1, 100, 25, step=COARSE, unit="GB/s", log=True),
        "latency": Slider("α of the network", 1, 1000, 20, step=COARSE, unit="µs", log=True),
        "nics": Choice("NICs", (ONE, EACH), ONE),
    }

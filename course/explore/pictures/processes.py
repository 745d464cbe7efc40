"""The picture of a job's nodes and processes."""

from course.core import words
from course.drawing import palette, svg, touch
from course.explore.controls import Slider
from course.explore.factory import Description, explorable
from course.explore.models.processes import JobProcess, job

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
NODE_HEIGHT, GAP, BETWEEN = 104, 14, 8  # height of a node; gap to the next; gap between processes
TOP = 76


def draw(nodes: int, per_node: int, look: int) -> svg.Picture:
    """Draw one state of the explorable; `look` is the rank whose numbers are in the title."""
    members = job(nodes, per_node)
    count, chosen = len(members), members[look]
    parts = [_node(node, nodes) for node in range(nodes)]
    parts += [_process(process, per_node, chosen) for process in members]
    return svg.card(
        TOP + nodes * (NODE_HEIGHT + GAP) + 6,
        f"Rank {chosen.rank} of {count} is process {chosen.local_rank} of node {chosen.node}",
        parts,
        subtitle=f"RANK={chosen.rank}  WORLD_SIZE={count}  LOCAL_RANK={chosen.local_rank}: "
        f"where there are GPUs, it uses cuda:{chosen.local_rank} of its node",
        alt=f"{words.plural(nodes, 'node')}, {'each ' * (nodes > 1)}with "
        f"{words.plural(per_node, 'process')}, numbered from rank 0 to {count - 1}; "
        "all nodes report to the master address on node 0.",
        touch="Click a process to read its numbers above.",
    )


def _top(node: int) -> float:
    return TOP + node * (NODE_HEIGHT + GAP)


def _node(node: int, nodes: int) -> str:
    """Draw the box of one machine; the first has the address where all processes meet."""
    y = _top(node)
    box = svg.rect(LEFT, y, RIGHT - LEFT, NODE_HEIGHT, palette.CARD, stroke=palette.MUTED, rx=6)
    name = svg.text(LEFT + 14, y + 22, f"node {node}", bold=True)
    whose = "all processes" if nodes == 1 else "the processes of all nodes"
    note = f"master address node0:29500: here {whose} meet"
    if node:
        note = "reports to node0:29500"
    return box + name + svg.text(RIGHT - 14, y + 22, note, anchor="end", colour=palette.MUTED)


def _process(process: JobProcess, per_node: int, chosen: JobProcess) -> str:
    """Draw one process and its numbers in the colour of its local rank, pale unless chosen."""
    slot = (RIGHT - LEFT - 28 + BETWEEN) / max(per_node, 4)
    x, y = LEFT + 14 + process.local_rank * slot, _top(process.node) + 34
    colour, width = palette.rank_colour(process.local_rank), slot - BETWEEN
    ground, ink = palette.tint(colour, 0.84), palette.INK
    if process == chosen:
        ground, ink = colour, palette.on(colour)
    tip = f"rank {process.rank}: node {process.node}, local rank {process.local_rank}"
    look = touch.button("look", process.rank, f"Look at rank {process.rank}")
    middle, style = x + width / 2, {"anchor": "middle", "colour": ink}
    return (
        svg.rect(x, y, width, 58, ground, stroke=colour, rx=5, tip=tip, **look)
        + svg.text(middle, y + 24, f"rank {process.rank}", bold=True, **style)
        + svg.text(middle, y + 44, f"local {process.local_rank}", **style)
    )


@explorable
def processes() -> Description:
    """A job of 1 to 4 nodes with 1 to 8 processes each: rank, local rank, and where they meet."""
    nodes, per_node = 4, 8

    def last(values: dict[str, int]) -> int:
        return values["nodes"] * values["per_node"] - 1

    return draw, {
        "nodes": Slider("Nodes", 1, nodes, 2),
        "per_node": Slider("Processes per node", 1, per_node, 4),
        "look": Slider("Look at rank", 0, nodes * per_node - 1, 6, most=last),
    }

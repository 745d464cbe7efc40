"""The picture of a job's nodes and processes, and the explorable made of it."""

from course.drawing import palette, svg
from course.explore.models.processes import Process, job
from course.explore.widget import Explorable, Slider

MOST_NODES, MOST_EACH = 4, 8
LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
NODE_HIGH, GAP = 104, 14
TOP = 76


def processes(**values: object) -> Explorable:
    """A job of 1 to 4 nodes with 1 to 8 processes each: rank, local rank, and where the processes find one another.

    `values` are the controls' first values, such as ``nodes=2``; a value that a control cannot take is a `CourseError`.
    """
    controls = {
        "nodes": Slider("Nodes", 1, MOST_NODES, 2),
        "per_node": Slider("Processes a node", 1, MOST_EACH, 4),
        "look": Slider("Look at rank", 0, MOST_NODES * MOST_EACH - 1, 6),
    }
    return Explorable(draw, **controls).at(**values)


def draw(nodes: int, per_node: int, look: int) -> svg.Picture:
    """One state of the explorable; `look` is the rank whose numbers stand in the title."""
    members = job(nodes, per_node)
    chosen = members[min(look, len(members) - 1)]
    parts = [_node(node, nodes) for node in range(nodes)] + [
        _process(process, per_node, chosen) for process in members
    ]
    title = (
        f"Rank {chosen.rank} of {len(members)} is process {chosen.local_rank} of node {chosen.node}"
    )
    return svg.card(
        TOP + nodes * (NODE_HIGH + GAP) + 6, title, parts,
        subtitle=f"RANK={chosen.rank}  WORLD_SIZE={len(members)}  LOCAL_RANK={chosen.local_rank}: "
        f"where there are GPUs, it uses cuda:{chosen.local_rank} of its node",
        alt=f"{nodes} boxes, the nodes, with {per_node} processes in each, numbered from rank 0 to {len(members) - 1}; "
        "all nodes report to the master address on node 0.",
    )  # fmt: skip


def _top(node: int) -> float:
    return TOP + node * (NODE_HIGH + GAP)


def _node(node: int, nodes: int) -> str:
    """The box of one machine; on the first is the address where all processes meet."""
    y = _top(node)
    box = svg.rect(LEFT, y, RIGHT - LEFT, NODE_HIGH, palette.CARD, stroke=palette.MUTED, rx=6)
    name = svg.text(LEFT + 14, y + 22, f"node {node}", bold=True)
    if node:
        return (
            box
            + name
            + svg.text(
                RIGHT - 14, y + 22, "reports to node0:29500", anchor="end", colour=palette.MUTED
            )
        )
    whose = "all processes" if nodes == 1 else "the processes of all nodes"
    all_meet = f"master address node0:29500: here {whose} meet"
    return box + name + svg.text(RIGHT - 14, y + 22, all_meet, anchor="end", colour=palette.MUTED)


def _process(process: Process, per_node: int, chosen: Process) -> str:
    """One process with its numbers; the chosen one in its full colour."""
    slot = (RIGHT - LEFT - 28) / max(per_node, 4)
    x, y = LEFT + 14 + process.local_rank * slot, _top(process.node) + 34
    colour, wide = palette.rank_colour(process.rank), slot - 8
    full = process == chosen
    ink = palette.CARD if full else palette.INK
    tip = f"rank {process.rank}: node {process.node}, local rank {process.local_rank}"
    return (
        svg.rect(
            x,
            y,
            wide,
            58,
            colour if full else palette.tint(colour, 0.84),
            stroke=colour,
            rx=5,
            tip=tip,
        )
        + svg.text(
            x + wide / 2, y + 24, f"rank {process.rank}", anchor="middle", bold=True, colour=ink
        )
        + svg.text(x + wide / 2, y + 44, f"local {process.local_rank}", anchor="middle", colour=ink)
    )

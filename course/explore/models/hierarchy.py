"""All-reduce across nodes: fast links inside a node, one or several network ports (NICs) out of it, priced with α–β.

The hierarchical way is a reduce-scatter inside each node, an all-reduce of each piece between the nodes, and an
all-gather inside; see Cho et al., "BlueConnect" (MLSys 2019), and NCCL's and Horovod's own hierarchical all-reduces.
"""

from dataclasses import dataclass

from course.core import CourseError
from course.explore.models.alpha_beta import AlphaBeta


@dataclass(frozen=True)
class Cluster:
    """`nodes` of `gpus` each, with links `inside` a node, and `nics` ports of a node to the `network` between them."""

    nodes: int
    gpus: int
    inside: AlphaBeta
    network: AlphaBeta
    nics: int = 1

    def __post_init__(self) -> None:
        if min(self.nodes, self.gpus, self.nics) < 1:
            raise CourseError(
                "A cluster needs at least one node, one GPU a node and one network port a node."
            )

    def across(self, size: float, flows: int) -> float:
        """The seconds of messages of `size` bytes that leave a node at the same time, `flows` of them."""
        return self.network.seconds(1, -(-flows // self.nics) * size)


@dataclass(frozen=True)
class Phase:
    """A stretch of an all-reduce: what it is, whether the network between nodes sets its pace, and its seconds."""

    name: str
    crosses: bool
    seconds: float


@dataclass(frozen=True)
class Way:
    """One way through the cluster: its phases, and how many bytes leave each node."""

    name: str
    phases: tuple[Phase, ...]
    out_of_node: float
    network_messages: int  # one after another

    @property
    def seconds(self) -> float:
        """The whole all-reduce."""
        return sum(phase.seconds for phase in self.phases)


def ways(cluster: Cluster, size: float) -> list[Way]:
    """A ring dealt out over the nodes, a ring that goes node by node, and the hierarchical way, for `size` bytes."""
    return [
        _flat(cluster, size, dealt=True),
        _flat(cluster, size, dealt=False),
        _hierarchical(cluster, size),
    ]


def _flat(cluster: Cluster, size: float, dealt: bool) -> Way:
    """One ring through all GPUs; `dealt` puts each one's neighbour on another node, so that every message crosses."""
    ranks = cluster.nodes * cluster.gpus
    steps, piece = 2 * (ranks - 1), size / ranks
    crosses = cluster.nodes > 1
    flows = (cluster.gpus if dealt else 1) * crosses
    inside = (
        cluster.inside.seconds(1, piece) if cluster.gpus > 1 and not (dealt and crosses) else 0.0
    )
    between = cluster.across(piece, flows) if crosses else 0.0
    phase = Phase(
        "ring", between > inside, steps * max(inside, between)
    )  # all ranks wait for the slowest link of a step
    name = "one ring, ranks dealt out" if dealt else "one ring, node by node"
    return Way(name, (phase,), steps * piece * flows, steps * crosses)


def _hierarchical(cluster: Cluster, size: float) -> Way:
    """Inside each node a reduce-scatter, then `gpus` rings between nodes, each for a piece, then an all-gather."""
    piece = size / cluster.gpus
    inside = cluster.inside.seconds(cluster.gpus - 1, (cluster.gpus - 1) * piece)
    steps = 2 * (cluster.nodes - 1)
    between = steps * cluster.across(piece / cluster.nodes, cluster.gpus)
    phases = (
        Phase("reduce-scatter", False, inside),
        Phase("all-reduce of each piece", True, between),
        Phase("all-gather", False, inside),
    )
    return Way("hierarchical", phases, steps * size / cluster.nodes, steps)

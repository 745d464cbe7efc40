"""All-reduce across nodes, priced with α–β: fast links inside, a few network ports (NICs) out.

The hierarchical way is a reduce-scatter inside each node, an all-reduce of each piece between the
nodes, and an all-gather inside; see Cho et al., "BlueConnect" (MLSys 2019), and NCCL's and
Horovod's own hierarchical all-reduces.
"""

from dataclasses import dataclass

from course.core import CourseError
from course.explore.models.alpha_beta import AlphaBeta


@dataclass(frozen=True)
class Topology:
    """`nodes` of `gpus` each, with links `inside` a node and a `network` between the nodes.

    Each node has `nics` ports to the network.
    """

    nodes: int
    gpus: int
    inside: AlphaBeta
    network: AlphaBeta
    nics: int = 1

    def __post_init__(self) -> None:
        if min(self.nodes, self.gpus, self.nics) < 1:
            raise CourseError(
                "A cluster needs at least one node, one GPU per node and one network port per node."
            )

    def across(self, size: float, flows: int) -> float:
        """The seconds of `flows` simultaneous messages of `size` bytes out of a node."""
        return self.network.seconds(1, -(-flows // self.nics) * size)


@dataclass(frozen=True)
class AllReducePhase:
    """A part of an all-reduce: its name, whether the network sets its pace, and its seconds."""

    name: str
    crosses: bool
    seconds: float


@dataclass(frozen=True)
class Way:
    """One way through the cluster: its phases, and the number of bytes that leave each node."""

    name: str
    phases: tuple[AllReducePhase, ...]
    out_of_node: float
    network_messages: int  # one after another

    @property
    def seconds(self) -> float:
        """The time of the whole all-reduce."""
        return sum(phase.seconds for phase in self.phases)


def ways(cluster: Topology, size: float) -> list[Way]:
    """Three ways to all-reduce `size` bytes: a ring dealt out, a ring node by node, two levels."""
    return [
        _flat(cluster, size, dealt=True),
        _flat(cluster, size, dealt=False),
        _hierarchical(cluster, size),
    ]


def _flat(cluster: Topology, size: float, dealt: bool) -> Way:
    """One ring through all GPUs.

    If the ring is `dealt` out, each GPU's neighbour is on another node, so every message crosses.
    """
    ranks = cluster.nodes * cluster.gpus
    steps, piece = 2 * (ranks - 1), size / ranks
    name = "one ring, ranks dealt out" if dealt else "one ring, node by node"
    between, flows, crossing = 0.0, 0, 0
    if cluster.nodes > 1:
        flows = cluster.gpus if dealt else 1  # messages that leave a node in a step
        between, crossing = cluster.across(piece, flows), steps
    all_cross = dealt and cluster.nodes > 1
    inside = 0.0 if all_cross or cluster.gpus == 1 else cluster.inside.seconds(1, piece)
    # In each step all ranks wait for the slowest link.
    phase = AllReducePhase("ring", between > inside, steps * max(inside, between))
    return Way(name, (phase,), steps * piece * flows, crossing)


def _hierarchical(cluster: Topology, size: float) -> Way:
    """A reduce-scatter in each node, a ring between nodes for each piece, an all-gather in each."""
    piece = size / cluster.gpus
    inside = cluster.inside.seconds(cluster.gpus - 1, (cluster.gpus - 1) * piece)
    steps = 2 * (cluster.nodes - 1)
    between = steps * cluster.across(piece / cluster.nodes, cluster.gpus)
    phases = (
        AllReducePhase("reduce-scatter", False, inside),
        AllReducePhase("all-reduce of each piece", True, between),
        AllReducePhase("all-gather", False, inside),
    )
    return Way("hierarchical", phases, steps * size / cluster.nodes, steps)

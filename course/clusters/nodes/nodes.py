"""The nodes: network namespaces if that is possible, else agents on loopback."""

import atexit
import html
import os
import shlex
import socket

from course import hardware
from course.clusters.nodes import network
from course.clusters.nodes.running import NodeEnvironment, RunningOnNodes
from course.core import CourseError
from course.drawing import card, palette
from course.launch import Run

PORT = 29400  # torchrun's default for a rendezvous; in a namespace no other process uses it
MOST_NODES = 8
LIMIT_S = 900.0  # of a run, by default


class Nodes:
    """`count` nodes; `real` is whether they are network namespaces, `reason` why they are not.

    `head` is the host and port where torchrun's agents meet, for ``--rdzv-endpoint``.
    """

    def __init__(self, count: int, loopback: bool = False) -> None:
        self.names = [f"node{i}" for i in range(count)]
        self.network: network.Network | None = None
        self.reason = "that was asked for" if loopback else network.obstacle()
        if self.reason is None:
            try:
                self.network = network.Network(count)
            except OSError as error:
                self.reason = f"this kernel refuses network namespaces ({error.strerror})"
        self.head = f"node0:{PORT}" if self.real else f"localhost:{_free_port()}"
        atexit.register(self.close)

    @property
    def real(self) -> bool:
        """Whether each node has a network of its own."""
        return self.network is not None

    def run(
        self,
        command: str,
        on: list[int] | None = None,
        limit: float = LIMIT_S,
        env: dict[str, str] | None = None,
        may_fail: bool = False,
    ) -> Run:
        """Run the command on every node, or on the nodes `on`, and show the output.

        The run is ended after `limit` seconds; `env` adds to the environment. Raises `CourseError`
        if a script without open TODOs fails, unless it `may_fail`.
        """
        return self.start(command, on, limit, env).finish(may_fail)

    def start(
        self,
        command: str,
        on: list[int] | None = None,
        limit: float = LIMIT_S,
        env: dict[str, str] | None = None,
    ) -> RunningOnNodes:
        """Start such a run, and return at once; raises `CourseError` for an unknown node."""
        on = list(range(len(self.names))) if on is None else on
        if unknown := [node for node in on if not 0 <= node < len(self.names)]:
            raise CourseError(
                f"There is no node {unknown[0]}: they are numbered 0 to {len(self.names) - 1}."
            )
        places = {
            node: NodeEnvironment(
                self.environment(node) | (env or {}),
                self.network.host(node) if self.network else None,
            )
            for node in range(len(self.names))
        }
        return RunningOnNodes(
            shlex.split(command),
            places,
            on,
            limit,
            None if self.real else int(self.head.split(":")[1]),
        )

    def limit_links(
        self, mbit: float | None = None, delay_ms: float = 0, interface: str = "eth0"
    ) -> None:
        """Limit what each node sends and receives on an interface to `mbit` · 10⁶ bits/s.

        What a node sends is also delayed by `delay_ms`. Without arguments the links have no limit
        and no delay. On loopback nothing is limited. Raises `CourseError` for an unknown interface,
        or a rate that is not above 0.
        """
        if interface not in network.INTERFACES:
            raise CourseError(
                f"A node has the interfaces {' and '.join(network.INTERFACES)}, not {interface!r}."
            )
        if mbit is not None and not mbit > 0:
            raise CourseError(
                f"A link carries more than 0 Mbit/s, not {mbit}; leave it out for no limit."
            )
        if self.network:
            self.network.limit_links(mbit, delay_ms, interface)

    def resolve_own_name_to(self, address: str | None) -> None:
        """Make every node resolve its own name to `address`, as a wrong hosts file does.

        None makes the hosts files right again.
        """
        if self.network:
            self.network.write_hosts(address)

    def environment(self, node: int) -> dict[str, str]:
        """The variables of a node: its share of the GPUs, and its interface to the other nodes."""
        gpus = _visible_gpus()
        share = len(gpus) // len(self.names)
        mine = ",".join(gpus[node * share : (node + 1) * share])
        own = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": mine}
        if self.real:
            # NCCL must use the virtual cables: over InfiniBand, say, no limit would slow it down.
            return own | {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "eth0"}
        # PET_… are torchrun's options as variables.
        return own | {
            "GLOO_SOCKET_IFNAME": "lo",
            "NCCL_SOCKET_IFNAME": "lo",
            "PET_LOCAL_ADDR": "127.0.0.1",
        }

    def close(self) -> None:
        """Remove the nodes."""
        atexit.unregister(self.close)
        if self.network:
            self.network.remove()

    def __repr__(self) -> str:
        if not self.real:
            return f"{len(self.names)} agents on this machine's loopback, since {self.reason}"
        lines = [f"{len(self.names)} nodes, each a network namespace of this machine"]
        for i, name in enumerate(self.names):
            addresses = "   ".join(
                f"{interface} {self.network.address(i, interface)}"
                for interface in network.INTERFACES
            )
            shell = f"ip netns exec {self.network.namespace(i)} bash"
            lines.append(f"{name}   {addresses}   a shell there: {shell}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *lines = (html.escape(line) for line in repr(self).splitlines())
        rows = "".join(
            f'<div style="font-family:monospace;white-space:pre-wrap">{line}</div>'
            for line in lines
        )
        style = f"display:inline-block;padding:10px 16px;font:14px/1.7 {palette.FONT}"
        return card(head + rows, style)


def start(count: int = 2, loopback: bool = False) -> Nodes:
    """Start `count` nodes: network namespaces if this process may make them.

    Otherwise, or with `loopback`, they are agents on this machine's loopback. Raises `CourseError`
    for a number of nodes that one machine cannot pretend to be.
    """
    if not 1 <= count <= MOST_NODES:
        raise CourseError(f"This machine can pretend to be 1 to {MOST_NODES} nodes, not {count}.")
    return Nodes(count, loopback)


def _visible_gpus() -> list[str]:
    """The GPUs that this process may use, by their names in CUDA_VISIBLE_DEVICES."""
    count, outer = hardware.gpu_count(), os.environ.get("CUDA_VISIBLE_DEVICES")
    # CUDA shows the GPUs of the list in its order, up to the first entry that names none.
    return [str(i) for i in range(count)] if outer is None else outer.split(",")[:count]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]

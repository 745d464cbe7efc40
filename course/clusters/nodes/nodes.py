"""Several nodes that run one command each, as a cluster does: network namespaces, or agents on loopback.

two = nodes.start(2)
run = two.run(f"torchrun --nnodes 2 --nproc-per-node 1 --rdzv-endpoint {two.head} ... src/x.py")
"""

import atexit
import html
import shlex
import socket

from course import hardware
from course.clusters.nodes import network
from course.clusters.nodes.running import Going
from course.core import CourseError
from course.drawing import palette
from course.launch import LIMIT_S, Run

PORT = 29400  # torchrun's own for a rendezvous; in a namespace nobody else has it
MOST = 8


class Nodes:
    """`count` nodes; `real` says whether they are network namespaces, `reason` why they are not."""

    def __init__(self, count: int, loopback: bool = False) -> None:
        self.names = [f"node{i}" for i in range(count)]
        self.network, self.reason = None, "that was asked for" if loopback else network.obstacle()
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
        self, command: str, on: list[int] | None = None, limit: float = LIMIT_S, env: dict[str, str] | None = None,
        may_fail: bool = False,
    ) -> Run:  # fmt: skip
        """Run the command on every node (or those of `on`) at once and show what they say, as `%torchrun` does.

        After `limit` seconds the run is ended; `env` adds to the environment. A finished script that fails raises
        `CourseError` unless it `may_fail`.
        """
        return self.start(command, on, limit, env).finish(may_fail)

    def start(
        self,
        command: str,
        on: list[int] | None = None,
        limit: float = LIMIT_S,
        env: dict[str, str] | None = None,
    ) -> Going:
        """Begin the same and come back at once."""
        on = list(range(len(self.names))) if on is None else on
        if unknown := [node for node in on if not 0 <= node < len(self.names)]:
            raise CourseError(
                f"There is no node {unknown[0]}: they are numbered 0 to {len(self.names) - 1}."
            )
        places = {
            node: (
                self.environment(node) | (env or {}),
                self.network.entrance(node) if self.network else None,
            )
            for node in range(len(self.names))
        }
        return Going(
            shlex.split(command),
            places,
            on,
            limit,
            None if self.real else int(self.head.split(":")[1]),
        )

    def limit(
        self, mbit: float | None = None, delay_ms: float = 0, interface: str = "eth0"
    ) -> None:
        """Limit what each node sends on an interface, in 10⁶ bits a second and ms; on loopback nothing is limited."""
        if interface not in network.INTERFACES:
            raise CourseError(
                f"A node has the interfaces {' and '.join(network.INTERFACES)}, not {interface!r}."
            )
        if mbit is not None and not mbit > 0:
            raise CourseError(
                f"A link carries more than 0 Mbit/s, not {mbit}; leave it out for no limit."
            )
        if self.network:
            self.network.limit(mbit, delay_ms, interface)

    def resolve_own_name_to(self, address: str | None) -> None:
        """Let every node take its own name for `address`, as a wrong hosts file does; None puts that right again."""
        if self.network:
            self.network.write_hosts(address)

    def environment(self, node: int) -> dict[str, str]:
        """What a node adds to the environment: its share of this machine, and on loopback where to meet."""
        share = hardware.gpu_count() // len(self.names)
        gpus = ",".join(str(node * share + i) for i in range(share))
        own = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": gpus}
        if self.real:
            return own
        # PET_… are torchrun's options as variables.
        return own | {
            "GLOO_SOCKET_IFNAME": "lo",
            "NCCL_SOCKET_IFNAME": "lo",
            "PET_LOCAL_ADDR": "127.0.0.1",
        }

    def close(self) -> None:
        """Take the nodes away."""
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
            lines.append(
                f"{name}   {addresses}   a shell there: ip netns exec {self.network.space(i)} bash"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *lines = (html.escape(line) for line in repr(self).splitlines())
        rows = "".join(
            f'<div style="font-family:monospace;white-space:pre-wrap">{line}</div>'
            for line in lines
        )
        return (
            f'<div style="display:inline-block;background:{palette.CARD};color:{palette.INK};padding:10px 16px;'
            f'font:14px/1.7 {palette.FONT};border:1px solid {palette.RULE};border-radius:8px">{head}{rows}</div>'
        )


def start(count: int = 2, loopback: bool = False) -> Nodes:
    """`count` nodes: network namespaces where this process may make them, else (or with `loopback`) loopback's."""
    if not 1 <= count <= MOST:
        raise CourseError(f"This machine can pretend to be 1 to {MOST} nodes, not {count}.")
    return Nodes(count, loopback)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]

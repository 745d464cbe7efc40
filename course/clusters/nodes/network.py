"""A network of hosts on one machine: namespaces joined by virtual Ethernet, each link with a limit (Linux, root).

Every host has two interfaces, as a server in a cluster has: `eth0`, to which its name resolves, and `fast0`.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from course.core import CourseError

INTERFACES = {
    "eth0": "10.209.0",
    "fast0": "10.210.0",
}  # and their networks, which exist in the namespaces alone
RUN = Path("/run/netns")
BURST = "3kb"  # what a limited link lets through at full speed after a pause: next to nothing


def obstacle() -> str | None:
    """Why this process cannot make network namespaces, as a phrase; None where it can try."""
    missing = [program for program in ("ip", "tc") if shutil.which(program) is None]
    if missing:
        return f"{missing[0]} (of the package iproute2) is not installed"
    return None if os.geteuid() == 0 else "making network namespaces takes root"


class Network:
    """`count` hosts, node0 …, each a network namespace; raises `OSError` where the kernel refuses them."""

    def __init__(self, count: int) -> None:
        remove_abandoned()
        self.prefix = f"course{os.getpid()}-{os.urandom(2).hex()}"
        self.names = [f"node{i}" for i in range(count)]
        self._folder = Path(tempfile.mkdtemp(prefix="course-hosts-"))
        try:
            self._make()
        except OSError:
            self.remove()
            raise

    def address(self, host: int, interface: str = "eth0") -> str:
        """The address of a host on one of its interfaces."""
        return f"{INTERFACES[interface]}.{host + 1}"

    def entrance(self, host: int) -> dict[str, str]:
        """What `netns.enter` takes for this host."""
        return {
            "name": self.names[host],
            "namespace": str(RUN / self.space(host)),
            "hosts": str(self._hosts(host)),
        }

    def limit(self, mbit: float | None, delay_ms: float, interface: str) -> None:
        """Let each host send at most `mbit` · 10⁶ bits a second on an interface, `delay_ms` late."""
        for host in range(len(self.names)):
            tc = ["tc", "-n", self.space(host), "qdisc"]
            with contextlib.suppress(OSError):  # there is none yet
                _run([*tc, "del", "dev", interface, "root"])
            if delay_ms:
                rate = [] if mbit is None else ["rate", f"{mbit}mbit"]
                try:
                    _run(
                        [
                            *tc,
                            "add",
                            "dev",
                            interface,
                            "root",
                            "netem",
                            "delay",
                            f"{delay_ms}ms",
                            *rate,
                        ]
                    )
                except OSError as error:
                    raise CourseError(
                        "This kernel cannot delay packets (it has no netem): leave delay_ms at 0; a rate can be set."
                    ) from error
            elif mbit is not None:
                rate = ["rate", f"{mbit}mbit", "burst", BURST, "latency", "200ms"]
                _run([*tc, "add", "dev", interface, "root", "tbf", *rate])

    def plug(self, host: int, plugged: bool) -> None:
        """Pull every cable of a host, or put them in again."""
        for interface in INTERFACES:
            _run(
                [
                    "ip",
                    "-n",
                    self.space(),
                    "link",
                    "set",
                    f"{interface}-{host}",
                    "up" if plugged else "down",
                ]
            )

    def write_hosts(self, own: str | None = None) -> None:
        """Write each host's /etc/hosts; `own` is what a host takes its own name for, if not its address on eth0."""
        addresses = {name: self.address(i) for i, name in enumerate(self.names)}
        for host, name in enumerate(self.names):
            known = addresses | ({name: own} if own else {})
            lines = [
                "127.0.0.1 localhost",
                *(f"{address} {other}" for other, address in known.items()),
            ]
            # torch's store looks up its clients' names, by addresses in IPv6's form, and warns where there is none.
            lines += [
                f"::ffff:{self.address(i)} {other}.store" for i, other in enumerate(self.names)
            ]
            self._hosts(host).write_text("\n".join(lines) + "\n")

    def remove(self) -> None:
        """Take the namespaces away, and with them their interfaces."""
        _remove(self.prefix)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _make(self) -> None:
        switch = self.space()
        _run(["ip", "netns", "add", switch])
        for interface in INTERFACES:
            _run(["ip", "-n", switch, "link", "add", f"br-{interface}", "type", "bridge"])
            _run(["ip", "-n", switch, "link", "set", f"br-{interface}", "up"])
        for host in range(len(self.names)):
            space = self.space(host)
            _run(["ip", "netns", "add", space])
            _run(["ip", "-n", space, "link", "set", "lo", "up"])
            for interface in INTERFACES:
                port = f"{interface}-{host}"
                pair = ["type", "veth", "peer", "name", interface, "netns", space]
                _run(["ip", "-n", switch, "link", "add", port, *pair])
                _run(["ip", "-n", switch, "link", "set", port, "master", f"br-{interface}", "up"])
                _run(
                    [
                        "ip",
                        "-n",
                        space,
                        "address",
                        "add",
                        f"{self.address(host, interface)}/24",
                        "dev",
                        interface,
                    ]
                )
                _run(["ip", "-n", space, "link", "set", interface, "up"])
        self.write_hosts()

    def space(self, host: int | None = None) -> str:
        """The name of a host's namespace, or of the one where all links meet."""
        return f"{self.prefix}-{'switch' if host is None else self.names[host]}"

    def _hosts(self, host: int) -> Path:
        return self._folder / f"hosts-{host}"


def remove_abandoned() -> None:
    """Take away the namespaces of processes that ended without doing so."""
    for path in RUN.glob("course*-*-*"):
        owner = re.match(r"course(\d+)-", path.name)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            _remove(path.name.rpartition("-")[0])


def _remove(prefix: str) -> None:
    for path in RUN.glob(f"{prefix}-*"):
        with contextlib.suppress(OSError):
            _run(["ip", "netns", "del", path.name])


def _run(words: list[str]) -> None:
    """Run one command of iproute2; raises `OSError` with what it said."""
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.returncode, f"{' '.join(words)}: {done.stderr.strip()}")

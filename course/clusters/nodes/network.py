"""A network of hosts on one machine: namespaces joined by virtual Ethernet (Linux, root).

Every host has two interfaces, like a server in a cluster: `eth0`, to which its name resolves, and
`fast0`. The rate of each link can be limited.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from course.core import CourseError
from course.launch import Host

# Each interface, and the first three bytes of its network, which exists only in the namespaces.
INTERFACES = {"eth0": "10.209.0", "fast0": "10.210.0"}
NETNS_FOLDER = Path("/run/netns")
BURST = "3kb"  # how much a limited link sends at full speed after a pause: next to nothing


def obstacle() -> str | None:
    """Why this process cannot make network namespaces, as a phrase; None if it can try."""
    missing = [program for program in ("ip", "tc") if shutil.which(program) is None]
    if missing:
        return f"{missing[0]} (of the package iproute2) is not installed"
    return None if os.geteuid() == 0 else "making network namespaces takes root"


class Network:
    """`count` hosts, node0 …, each a network namespace.

    Raises `OSError` if the kernel refuses them.
    """

    def __init__(self, count: int) -> None:
        remove_abandoned()
        self.prefix = f"course{os.getpid()}-{os.urandom(2).hex()}"
        self.names = [f"node{i}" for i in range(count)]
        self._folder = Path(tempfile.mkdtemp(prefix="course-hosts-"))
        try:
            self._create()
        except OSError:
            self.remove()
            raise

    def address(self, host: int, interface: str = "eth0") -> str:
        """The address of a host on one of its interfaces."""
        return f"{INTERFACES[interface]}.{host + 1}"

    def host(self, number: int) -> Host:
        """The host for a launch: its name, its namespace and its hosts file."""
        namespace = NETNS_FOLDER / self.namespace(number)
        return Host(self.names[number], str(namespace), str(self._hosts_file(number)))

    def limit_links(self, mbit: float | None, delay_ms: float, interface: str) -> None:
        """Let each host send and receive at most `mbit` · 10⁶ bits/s, and send `delay_ms` later.

        An `mbit` of None sets no limit. What a host receives is limited at its port of the switch.
        Raises `CourseError` if the kernel cannot delay packets.
        """
        for host in range(len(self.names)):
            sends = f"tc -n {self.namespace(host)} qdisc", f"dev {interface} root", delay_ms
            receives = f"tc -n {self.namespace()} qdisc", f"dev {interface}-{host} root", 0
            for tc, link, late_ms in (sends, receives):
                with contextlib.suppress(OSError):  # there may be no limit yet
                    _run(f"{tc} del {link}")
                if late_ms:
                    rate = "" if mbit is None else f"rate {mbit}mbit"
                    _delay(f"{tc} add {link} netem delay {late_ms}ms {rate}")
                elif mbit is not None:
                    _run(f"{tc} add {link} tbf rate {mbit}mbit burst {BURST} latency 200ms")

    def write_hosts(self, own: str | None = None) -> None:
        """Write each host's /etc/hosts.

        `own` is the address to which each host resolves its own name; None is its eth0 address.
        """
        addresses = {name: self.address(i) for i, name in enumerate(self.names)}
        for host, name in enumerate(self.names):
            names = addresses | ({name: own} if own else {})
            lines = [
                "127.0.0.1 localhost",
                *(f"{address} {other}" for other, address in names.items()),
            ]
            # torch's store looks up the names of its clients by IPv6-mapped addresses, and warns
            # if it finds none.
            lines += [
                f"::ffff:{self.address(i)} {other}.store" for i, other in enumerate(self.names)
            ]
            self._hosts_file(host).write_text("\n".join(lines) + "\n")

    def remove(self) -> None:
        """Remove the namespaces with their interfaces, and the hosts files."""
        _remove(self.prefix)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _create(self) -> None:
        switch = self.namespace()
        _run(f"ip netns add {switch}")
        for interface in INTERFACES:
            _run(f"ip -n {switch} link add br-{interface} type bridge")
            _run(f"ip -n {switch} link set br-{interface} up")
        for host in range(len(self.names)):
            namespace = self.namespace(host)
            _run(f"ip netns add {namespace}")
            _run(f"ip -n {namespace} link set lo up")
            for interface in INTERFACES:
                self._connect(host, interface)
        self.write_hosts()

    def _connect(self, host: int, interface: str) -> None:
        """Make an interface of a host, and its cable to the switch."""
        switch, namespace, port = self.namespace(), self.namespace(host), f"{interface}-{host}"
        _run(f"ip -n {switch} link add {port} type veth peer name {interface} netns {namespace}")
        _run(f"ip -n {switch} link set {port} master br-{interface} up")
        address = self.address(host, interface)
        _run(f"ip -n {namespace} address add {address}/24 dev {interface}")
        _run(f"ip -n {namespace} link set {interface} up")

    def namespace(self, host: int | None = None) -> str:
        """The name of a host's namespace; for None, of the switch, where all links meet."""
        return f"{self.prefix}-{'switch' if host is None else self.names[host]}"

    def _hosts_file(self, host: int) -> Path:
        return self._folder / f"hosts-{host}"


def remove_abandoned() -> None:
    """Remove the namespaces of processes that ended without removing them."""
    for path in NETNS_FOLDER.glob("course*-*-*"):
        match = re.match(r"(course(\d+)-[0-9a-f]{4})-(node\d+|switch)$", path.name)
        if match and not Path(f"/proc/{match[2]}").exists():
            _remove(match[1])


def _remove(prefix: str) -> None:
    for path in NETNS_FOLDER.glob(f"{prefix}-*"):
        with contextlib.suppress(OSError):
            _run(f"ip netns del {path.name}")


def _delay(command: str) -> None:
    """Run a command of iproute2 that needs netem, a module that not every kernel has."""
    try:
        _run(command)
    except OSError as error:
        raise CourseError(
            "This kernel cannot delay packets (it has no netem): "
            "leave delay_ms at 0; a rate can be set."
        ) from error


def _run(command: str) -> None:
    """Run one command of iproute2; raises `OSError` with its message."""
    done = subprocess.run(command.split(), capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.returncode, f"{command}: {done.stderr.strip()}")

"""Several hosts on one machine: processes in network namespaces of their own, on links of limited bandwidth.

The namespaces have no names: each lives as long as the process in it. Whatever ends the processes, `kill -9` included,
so removes the namespaces, the links and their limits; there is nothing to clean up. Linux only, as root or where users
may make namespaces; `obstacle` says whether it works here.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable

from course.errors import CourseError

NEW_MOUNTS, NEW_NAME, NEW_USER, NEW_NETWORK = 0x00020000, 0x04000000, 0x10000000, 0x40000000  # of linux/sched.h
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h
BURST = "3kb"  # what may pass a link at full speed after a pause: next to nothing
APPEARS_S = 10.0  # for a namespace or a link to be there
PORT = 29500  # of rank 0's rendezvous; the network is private, so it is free


def obstacle() -> str | None:
    """Why there can be no hosts on this machine, as one sentence; None where there can."""
    if missing := [tool for tool in ("ip", "tc", "mount") if shutil.which(tool) is None]:
        return f"This machine has no `{missing[0]}`, so the run between hosts is left out."
    reader, writer = os.pipe()
    pid = _fork(_attempt, writer)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        why = pipe.read()
    os.waitpid(pid, 0)
    return f"This machine does not let us make hosts of namespaces ({why}), so that run is left out." if why else None


def run(function: Callable[..., None], count: int, mbit: float, *args: object) -> None:
    """Call ``function(*args)`` on `count` hosts at once, each with one link of `mbit` Mbit/s, in either direction.

    Each host finds what `torchrun` would give it in its environment (RANK, WORLD_SIZE, MASTER_ADDR ...), so
    ``init_process_group("gloo")`` joins them. Raises `CourseError` where hosts cannot be made. Where one of them
    fails, its traceback is printed, the others are ended, and so is the script, with exit code 1.
    """
    if count < 1 or not mbit > 0:
        raise CourseError(f"There must be at least one host and a bandwidth above 0, not {count} and {mbit}.")
    if why := obstacle():
        raise CourseError(why)
    switch = _fork(_switch, function, count, mbit, args)
    try:
        _, status = os.waitpid(switch, 0)
    except BaseException:  # an interrupt: the hosts end with the switch
        os.kill(switch, signal.SIGKILL)
        os.waitpid(switch, 0)
        raise
    if status:
        sys.exit("A host failed; what went wrong stands above.")


def _fork(work: Callable[..., None], *args: object) -> int:
    """Run `work` in a child that ends when its parent does; returns its process id."""
    sys.stdout.flush()
    parent = os.getpid()
    if pid := os.fork():
        return pid
    code = 1
    try:
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() == parent:  # else it has ended already, and no signal will come
            work(*args)
            code = 0
    except CourseError as error:
        print(error, file=sys.stderr)
    except SystemExit:
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # not through the exit handlers that belong to the parent


def _attempt(writer: int) -> None:
    """Make a switch and a limited link and throw them away; tell through the pipe why it cannot be done."""
    try:
        _become_switch()
        _tool("ip link add h0 type veth peer name eth0")
        _limit("h0", 100)
        _private_mounts()
    except (CourseError, OSError) as error:
        os.write(writer, str(error).encode())


def _switch(function: Callable[..., None], count: int, mbit: float, args: tuple) -> None:
    """The process in whose namespace all links meet; it starts the hosts and waits for them."""
    _become_switch()
    running = {_fork(_host, function, rank, count, mbit, args): rank for rank in range(count)}
    for pid, rank in running.items():
        _until(lambda pid=pid: _namespace(pid) != _namespace("self"))
        _tool(f"ip link add h{rank} type veth peer name eth0 netns {pid}")
        _limit(f"h{rank}", mbit)
        _tool(f"ip link set h{rank} master bridge up")
    while running:
        pid, status = os.wait()
        del running[pid]
        if status:
            sys.exit(1)  # and the other hosts with it


def _host(function: Callable[..., None], rank: int, count: int, mbit: float, args: tuple) -> None:
    """One host: a name, an address, a limited link, the environment of a rank; then the work."""
    _unshare(NEW_NETWORK | NEW_NAME | NEW_MOUNTS)
    socket.sethostname(f"host{rank}")
    _private_mounts()
    _name_hosts(count)
    _until(lambda: any(name == "eth0" for _, name in socket.if_nameindex()))
    _limit("eth0", mbit)
    for words in ("link set lo up", f"addr add {_address(rank)}/16 dev eth0", "link set eth0 up"):
        _tool(f"ip {words}")
    os.environ |= {
        "RANK": str(rank), "LOCAL_RANK": "0", "WORLD_SIZE": str(count), "MASTER_ADDR": _address(0),
        "MASTER_PORT": str(PORT), "GLOO_SOCKET_IFNAME": "eth0",
    }  # fmt: skip
    function(*args)


def _become_switch() -> None:
    user, group = os.getuid(), os.getgid()
    if user == 0:
        _unshare(NEW_NETWORK)
    else:  # a user is root in a user namespace of its own
        _unshare(NEW_NETWORK | NEW_USER)
        for file, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{file}", "w") as kernel:
                kernel.write(text)
    _tool("ip link add bridge type bridge")
    _tool("ip link set bridge up")


def _private_mounts() -> None:
    """What this process mounts, no other process sees."""
    _unshare(NEW_MOUNTS)
    _tool("mount --make-rprivate /")


def _name_hosts(count: int) -> None:
    """Give this process its own /etc/hosts, so that the hosts know each other by name."""
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        names = ((f"{before}{_address(rank)}", f"host{rank}") for rank in range(count) for before in ("", "::ffff:"))
        file.write("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for address, name in names))
    try:
        _tool(f"mount --bind {file.name} /etc/hosts")
    finally:
        os.unlink(file.name)  # the mount keeps what it shows


def _address(rank: int) -> str:
    return f"10.9.{rank // 200}.{rank % 200 + 1}"


def _limit(link: str, mbit: float) -> None:
    """Let `mbit` Mbit/s leave through `link`."""
    _tool(f"tc qdisc add dev {link} root tbf rate {round(mbit * 1000)}kbit burst {BURST} latency 200ms")


def _unshare(kinds: int) -> None:
    """Move this process into new namespaces (`os.unshare` is there only since Python 3.12)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(kinds):
        raise CourseError(f"no new namespace: {os.strerror(ctypes.get_errno()).lower()}")


def _namespace(pid: int | str) -> str:
    with contextlib.suppress(OSError):  # it may have ended
        return os.readlink(f"/proc/{pid}/ns/net")
    return ""


def _tool(command: str) -> None:
    """Run a command; its complaint becomes a `CourseError`."""
    done = subprocess.run(command.split(), capture_output=True, text=True)
    if done.returncode:
        raise CourseError(f"{command.split()[0]}: {done.stderr.strip() or f'exit code {done.returncode}'}")


def _until(holds: Callable[[], bool]) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + APPEARS_S
    while not holds():
        if time.monotonic() > deadline:
            raise CourseError(f"a host's network was not there after {APPEARS_S:g} s")
        time.sleep(0.002)

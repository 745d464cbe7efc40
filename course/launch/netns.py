"""In the supervisor: enter a host that is a network namespace (Linux, root).

`ip netns exec` gives a command the host's interfaces, name and /etc/hosts. This gives them to the
calling process and everything that it forks later.
"""

import ctypes
import os
import socket
from dataclasses import dataclass

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWNET = 0x00020000, 0x04000000, 0x40000000  # linux/sched.h
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000  # linux/mount.h


@dataclass(frozen=True)
class Host:
    """A host: its name, its namespace (a path such as /run/netns/X), its hosts file (a path)."""

    name: str
    namespace: str
    hosts: str


def enter(host: Host) -> None:
    """Become a process of the host; raises `OSError` if the kernel refuses, as without root."""
    libc = ctypes.CDLL(None, use_errno=True)
    _check_result(libc.unshare(CLONE_NEWNS | CLONE_NEWUTS), "unshare")
    # Make mounts private first, or every process would see the one that follows.
    _check_result(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount /")
    hosts = os.fsencode(host.hosts)
    _check_result(libc.mount(hosts, b"/etc/hosts", None, MS_BIND, None), "mount /etc/hosts")
    descriptor = os.open(host.namespace, os.O_RDONLY)
    try:
        _check_result(libc.setns(descriptor, CLONE_NEWNET), "setns")
    finally:
        os.close(descriptor)
    socket.sethostname(host.name)


def _check_result(code: int, what: str) -> None:
    if code:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")

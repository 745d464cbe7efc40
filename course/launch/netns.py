"""Enter a host that is a network namespace: its interfaces, its name, its /etc/hosts (Linux, root).

`ip netns exec` does the same for a command; this does it for the process that calls, and all that it forks later.
"""

import ctypes
import os
import socket

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWNET = 0x00020000, 0x04000000, 0x40000000  # linux/sched.h
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000  # linux/mount.h


def enter(name: str, namespace: str, hosts: str) -> None:
    """Become a process of the host `name`: `namespace` is a path such as /run/netns/X, `hosts` its hosts file.

    Raises `OSError` where the kernel refuses, for instance without root.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _must(libc.unshare(CLONE_NEWNS | CLONE_NEWUTS), "unshare")
    _must(
        libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount /"
    )  # or the next mount reaches everyone
    _must(libc.mount(os.fsencode(hosts), b"/etc/hosts", None, MS_BIND, None), "mount /etc/hosts")
    descriptor = os.open(namespace, os.O_RDONLY)
    try:
        _must(libc.setns(descriptor, CLONE_NEWNET), "setns")
    finally:
        os.close(descriptor)
    socket.sethostname(name)


def _must(code: int, what: str) -> None:
    if code:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")

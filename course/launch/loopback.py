"""In the launcher: make a run on one machine listen on the loopback interface alone.

Ranks find one another through a store. torch's store binds its port on every interface, whatever
host it is given (pytorch issue 173909), and requires no password. But it also accepts a socket that
is already listening, so this module passes it one.
"""

import contextlib
import ipaddress
import os
import socket
from collections.abc import Callable
from typing import Any

from course.core import insides

# The modules in which torch's elastic agent looks up `TCPStore`.
HOMES = (
    "torch.distributed",
    "torch.distributed.elastic.rendezvous.c10d_rendezvous_backend",
    "torch.distributed.elastic.rendezvous.static_tcp_rendezvous",
)


INTERFACES = ("lo", "lo0")  # the loopback interface on Linux and on macOS


def restrict_to_loopback() -> None:
    """Keep other machines from reaching the ranks of this one, through their store or Gloo.

    Gloo would otherwise look up the machine's hostname, which a MacBook may fail to resolve.
    Raises `CourseError` if this torch makes its stores in another way.
    """
    bind_stores_to_loopback()
    there = {name for _, name in socket.if_nameindex()}
    for name in there.intersection(INTERFACES):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)


def bind_stores_to_loopback() -> None:
    """From now on, bind the stores that this process makes for its own machine to loopback."""
    ours = _loopback_store(insides.module("torch.distributed").TCPStore)
    for home in HOMES:
        insides.replace(insides.module(home), "TCPStore", ours)


def _loopback_store(real: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap torch's `TCPStore` so that a server whose host is loopback listens nowhere else.

    If its port is taken, torch itself reports that.
    """

    def make(
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if is_master and (listener := _loopback_listener(host_name, port)):
            port = listener.getsockname()[1]
            kwargs["master_listen_fd"] = listener.detach()
        return real(host_name, port, world_size, is_master, *args, **kwargs)

    return make


def _loopback_listener(host: str, port: int) -> socket.socket | None:
    """A listening socket on the address that torch's clients try first for this host.

    None if the host has an address that is not loopback, or if the port is taken.
    """
    with contextlib.suppress(OSError):
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [(family, address[0]) for family, *_, address in infos]
        if all(ipaddress.ip_address(address).is_loopback for _, address in addresses):
            for family, address in sorted(addresses, key=lambda pair: pair[0] != socket.AF_INET6):
                with contextlib.suppress(OSError):
                    return socket.create_server((address, port), family=family)
    return None

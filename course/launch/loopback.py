"""In the launcher: have a run on one box listen on the loopback interface alone.

A store is where ranks find one another. torch's binds a port on every interface, whatever host it
gets (pytorch issue 173909), and requires no password. It also takes a socket that listens already,
so this module gives it one.
"""

import contextlib
import ipaddress
import os
import socket
from collections.abc import Callable
from typing import Any

from course.core import insides

# Where torch's elastic agent looks up the store that it makes.
HOMES = (
    "torch.distributed",
    "torch.distributed.elastic.rendezvous.c10d_rendezvous_backend",
    "torch.distributed.elastic.rendezvous.static_tcp_rendezvous",
)


INTERFACES = ("lo", "lo0")  # what Linux and macOS call it


def stay_there() -> None:
    """Keep other boxes from reaching the ranks of this one, through their store or Gloo.

    Gloo would look for the address of this box by its name, which the resolver of a MacBook may
    not know. Raises `CourseError` if this torch makes its stores in some other way.
    """
    stores_on_loopback()
    there = {name for _, name in socket.if_nameindex()}
    for name in there.intersection(INTERFACES):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)


def stores_on_loopback() -> None:
    """Bind to loopback all stores that this process makes for its own box from now on."""
    ours = _on_loopback(insides.module("torch.distributed").TCPStore)
    for home in HOMES:
        insides.replace(insides.module(home), "TCPStore", ours)


def _on_loopback(real: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap torch's `TCPStore`: a server whose host is loopback listens nowhere else.

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
        if is_master and (listener := _listening(host_name, port)):
            port = listener.getsockname()[1]
            kwargs["master_listen_fd"] = listener.detach()
        return real(host_name, port, world_size, is_master, *args, **kwargs)

    return make


def _listening(host: str, port: int) -> socket.socket | None:
    """A socket on the address at which torch's clients look first for that host.

    None if that address is not loopback, or is not free.
    """
    with contextlib.suppress(OSError):
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [(family, address[0]) for family, *_, address in infos]
        if all(ipaddress.ip_address(address).is_loopback for _, address in addresses):
            for family, address in sorted(addresses, key=lambda pair: pair[0] != socket.AF_INET6):
                with contextlib.suppress(OSError):
                    return socket.create_server((address, port), family=family)
    return None

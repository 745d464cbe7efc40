"""While a run on one machine goes on, no other machine can reach any of it.

In a terminal this is different, but a script cannot notice it.
"""

import os
import socket
import subprocess
import sys
from ipaddress import ip_address

import psutil
import pytest
from support.launching import Client, torchrun
from support.patience import PATIENCE_S, until
from support.ports import free_port
from support.scripts import HUNG

from course.launch import loopback

pytestmark = pytest.mark.slow

FIXED = ("torchrun", "--nproc-per-node", "2", "--master-addr", "localhost", "--master-port")
ACCELERATE = ("accelerate", "launch", "--num_processes", "2")


def listening(process: psutil.Process) -> list[str]:
    """The addresses at which a process listens for connections (/proc/net/tcp and tcp6)."""
    inet = process.net_connections(kind="tcp")
    return [connection.laddr.ip for connection in inet if connection.status == psutil.CONN_LISTEN]


@pytest.mark.parametrize("kind", ["standalone", "plain", "fixed port", "accelerate"])
def test_a_run_on_one_machine_listens_on_loopback_alone(client: Client, kind: str) -> None:
    command = {
        "standalone": torchrun(),
        "plain": ("torchrun", "--nproc-per-node", "2"),
        "fixed port": (*FIXED, str(free_port())),
        "accelerate": ACCELERATE,
    }[kind]
    for file in client.folder.glob("ready*"):
        file.unlink()
    client.script("script", HUNG)
    client.start(*command, "script.py", str(client.folder))
    until(lambda: len(list(client.folder.glob("ready*"))) == 2)
    by_process = [listening(process) for process in client.others().values()]
    client.rank(1).kill()
    client.result()
    addresses = [address for of_process in by_process for address in of_process]
    assert len(list(filter(None, by_process))) == 3, by_process  # launcher and ranks
    assert {address for address in addresses if not ip_address(address).is_loopback} == set()


STORES = """
import os, sys, torch, psutil
import torch.distributed as dist
from course.launch import loopback
loopback.bind_stores_to_loopback()
store = dist.TCPStore(sys.argv[1], int(sys.argv[2]), is_master=True, multi_tenant=True)
other = dist.TCPStore(sys.argv[1], store.port, is_master=False)
same = dist.TCPStore(sys.argv[1], store.port, is_master=True, multi_tenant=True)
store.set("key", "value")
print(store.port, other.get("key").decode(), same.get("key").decode())
for each in psutil.Process().net_connections(kind="tcp"):
    if each.status == psutil.CONN_LISTEN:
        print(each.laddr.ip, each.laddr.port)
"""


def stores(host: str, port: int) -> subprocess.CompletedProcess:
    """Run a process that makes a store, reaches it twice, and prints where it listens."""
    command = [sys.executable, "-c", STORES, host, str(port)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)


@pytest.mark.parametrize(("host", "fixed"), [("127.0.0.1", True), ("localhost", False)])
def test_a_store_is_reached_by_the_name_that_it_was_given(host: str, fixed: bool) -> None:
    first, *where = stores(host, free_port() if fixed else 0).stdout.splitlines()
    port, *values = first.split()
    assert values == ["value", "value"]
    (only,) = where
    address, same_port = only.split()
    assert ip_address(address).is_loopback and same_port == port


def test_a_port_that_is_taken_is_torchs_to_refuse() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = stores("127.0.0.1", taken.getsockname()[1])
    assert "DistNetworkError" in done.stderr and "EADDRINUSE" in done.stderr


def resolves(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Have every host name mean these addresses."""
    families = [socket.AF_INET6 if ":" in address else socket.AF_INET for address in addresses]
    links = [
        (f, socket.SOCK_STREAM, 6, "", (a, 0)) for f, a in zip(families, addresses, strict=True)
    ]
    monkeypatch.setattr(loopback.socket, "getaddrinfo", lambda *_, **__: links)


@pytest.mark.parametrize(
    ("addresses", "bound"),
    [
        (["127.0.0.1"], "127.0.0.1"),
        (["127.0.0.1", "::1"], "::1"),  # torch's clients ask there first
        (["192.0.2.7"], None),
        (["127.0.0.1", "192.0.2.7"], None),
    ],
)
def test_only_where_the_host_means_loopback(monkeypatch, addresses, bound) -> None:
    if bound == "::1" and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    resolves(monkeypatch, *addresses)
    listener = loopback._loopback_listener("host", 0)
    assert (listener and listener.getsockname()[0]) == bound
    if listener:
        listener.close()


def test_without_ipv6_a_name_that_means_both_is_bound_to_ipv4(monkeypatch) -> None:
    resolves(monkeypatch, "::1", "127.0.0.1")
    real = socket.create_server

    def create(address: tuple, family: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(99, "Cannot assign requested address")
        return real(address, family=family)

    monkeypatch.setattr(loopback.socket, "create_server", create)
    with loopback._loopback_listener("localhost", 0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_gloo_is_told_the_interface_by_the_name_that_this_system_has(monkeypatch) -> None:
    monkeypatch.setattr(loopback, "bind_stores_to_loopback", lambda: None)
    for names, interface in ((["lo", "eth0"], "lo"), (["en0", "lo0"], "lo0"), (["en0"], None)):
        monkeypatch.setenv("GLOO_SOCKET_IFNAME", "one that is set")
        loopback.restrict_to_loopback()
        assert os.environ["GLOO_SOCKET_IFNAME"] == "one that is set"
        monkeypatch.delenv("GLOO_SOCKET_IFNAME")
        monkeypatch.setattr(
            loopback.socket, "if_nameindex", lambda names=names: list(enumerate(names))
        )
        loopback.restrict_to_loopback()
        assert os.environ.get("GLOO_SOCKET_IFNAME") == interface

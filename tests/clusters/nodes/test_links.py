"""A limited link limits what a node receives as well as what it sends."""

import subprocess
import sys

import pytest
from support.patience import until

from course.clusters.nodes import nodes

pytestmark = [pytest.mark.slow, pytest.mark.rest]

RECEIVE = """
import selectors, socket, time
server, selector = socket.create_server(("10.209.0.1", 5001)), selectors.DefaultSelector()
print("ready", flush=True)
senders = [server.accept()[0] for _ in range(3)]
start, left = time.perf_counter(), set(senders)
for sender in senders:
    selector.register(sender, selectors.EVENT_READ)
    sender.sendall(b"!")
while left:
    for key, _ in selector.select():
        if not key.fileobj.recv(2**16):
            selector.unregister(key.fileobj)
            left.remove(key.fileobj)
print((time.perf_counter() - start) * 1e3)
"""
SEND = """
import socket
receiver = socket.create_connection(("10.209.0.1", 5001))
receiver.recv(1)
receiver.sendall(bytes(2**20))
"""


def ms_of_three_senders(four: nodes.Nodes) -> float:
    """The milliseconds in which node0 receives 1 MiB from each other node at the same time."""

    def enter(host: int, script: str) -> subprocess.Popen:
        namespace = four.network.namespace(host)
        command = ["ip", "netns", "exec", namespace, sys.executable, "-c", script]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    receiver = enter(0, RECEIVE)
    assert receiver.stdout.readline() == "ready\n"
    senders = [enter(host, SEND) for host in (1, 2, 3)]
    took = float(receiver.communicate()[0])
    assert [sender.wait() for sender in senders] == [0, 0, 0]
    return took


def test_a_node_receives_no_faster_than_its_link(start_nodes):
    four = start_nodes(4)
    four.limit_links(mbit=100)
    one_port = 3 * 2**20 / (100e6 / 8) * 1e3
    assert min(ms_of_three_senders(four) for _ in range(3)) > one_port * 0.9
    four.limit_links()
    until(lambda: ms_of_three_senders(four) < one_port)

"""A plugin of pytest: a kernel gets ports that no other process is given meanwhile.

jupyter_client asks the system for free ports, and the kernel opens them a second later. Ranks that
start beside it in that second may be given the same ports; the kernel then dies.
"""

import random
import socket

from jupyter_client import connect

NEVER_DEALT = range(10_000, 32_000)  # Linux deals free ports from 32768 on

_write_connection_file = connect.write_connection_file


def write_connection_file(*args: object, **settings: object) -> tuple:
    """As jupyter_client's own, with ports that the system deals to nobody."""
    chosen = {name: free_port() for name in connect.port_names if not settings[name]}
    return _write_connection_file(*args, **settings | chosen)


def free_port() -> int:
    """A port of this machine on which nobody listens."""
    while True:
        port = random.choice(NEVER_DEALT)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port


connect.write_connection_file = write_connection_file

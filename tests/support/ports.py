"""Free ports of this machine for tests to listen on."""

import random
import socket

NEVER_ASSIGNED = range(10_000, 32_000)  # Linux assigns free ports from 32768 on


def free_port(ip: str = "127.0.0.1") -> int:
    """A port on which nothing listens, and which the system assigns to no process meanwhile.

    The caller opens it only later, so the system's choice of a free port would not do: ranks that
    start at the same time could be assigned the same one. Random seeds of tests do not affect it.
    """
    while True:
        port = random.SystemRandom().choice(NEVER_ASSIGNED)
        with socket.socket() as probe:
            if probe.connect_ex((ip, port)):
                return port

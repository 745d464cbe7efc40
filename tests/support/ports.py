"""A port of this machine for a test to listen at."""

import random
import socket

NEVER_DEALT = range(10_000, 32_000)  # Linux deals free ports from 32768 on


def free_port(ip: str = "127.0.0.1") -> int:
    """A port at which nothing listens, and which the system gives to no other process meanwhile.

    It is opened only later, so the system's choice of a free port would not do: ranks that start
    alongside may be given the same one. No seed of a test decides which port it is.
    """
    while True:
        port = random.SystemRandom().choice(NEVER_DEALT)
        with socket.socket() as probe:
            if probe.connect_ex((ip, port)):
                return port

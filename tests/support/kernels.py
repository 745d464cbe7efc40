"""A plugin of pytest: a kernel gets ports that no other process is given meanwhile.

jupyter_client asks the system for free ports, and the kernel opens them a second later. Ranks that
start beside it in that second may be given the same ports; the kernel then dies.
"""

import random
import socket

from jupyter_client.connect import LocalPortCache

NEVER_DEALT = range(10_000, 32_000)  # Linux deals free ports from 32768 on


def free_port(self: LocalPortCache, ip: str) -> int:
    """A port at which nobody listens, and which the system deals to nobody."""
    while True:
        port = random.choice(NEVER_DEALT)
        with socket.socket() as probe:
            if port not in self.currently_used_ports and probe.connect_ex((ip, port)):
                self.currently_used_ports.add(port)
                return port


LocalPortCache.find_available_port = free_port

"""A pytest plugin: a kernel gets ports that no other process is given meanwhile.

jupyter_client asks the system for free ports, and the kernel opens them a second later. Ranks that
start alongside in that second may be given the same ports; the kernel then dies.
"""

from jupyter_client.connect import LocalPortCache

from support.ports import free_port


def find_available_port(self: LocalPortCache, ip: str) -> int:
    """A free port that this cache has not given out yet."""
    while (port := free_port(ip)) in self.currently_used_ports:
        pass
    self.currently_used_ports.add(port)
    return port


LocalPortCache.find_available_port = find_available_port

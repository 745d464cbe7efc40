"""A port of this machine for a test to listen at."""

import socket


def free_port() -> int:
    """A port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]

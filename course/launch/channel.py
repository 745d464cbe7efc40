"""Messages between the processes of a launch: JSON, one message a line, over a stream socket."""

import json
import os
import socket


class Wire:
    """One end of a conversation. Not thread-safe; each process reads its own end."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._pending = b""

    def fileno(self) -> int:
        """The descriptor, so that selectors can wait for it."""
        return self._socket.fileno()

    def send(self, **message: object) -> None:
        """Send one message; raises `OSError` when the other end is gone."""
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> list[dict]:
        """Wait for bytes and return the messages they complete; raises `EOFError` when the other end is gone."""
        try:
            data = self._socket.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            raise EOFError
        *lines, self._pending = (self._pending + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def peer(self) -> int | None:
        """The process id at the other end of a Unix socket, where the system tells (Linux)."""
        if not hasattr(socket, "SO_PEERCRED"):
            return None
        return int.from_bytes(
            self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], "little"
        )

    def close(self) -> None:
        """Close this end; the other one reads the end of the conversation."""
        self._socket.close()


def pair() -> tuple[Wire, Wire]:
    """Two connected ends."""
    left, right = socket.socketpair()
    return Wire(left), Wire(right)


def inherited(descriptor: int) -> Wire:
    """The end that a parent process left open under this descriptor."""
    os.set_inheritable(descriptor, False)
    return Wire(socket.socket(fileno=descriptor))

"""In every process: one end of a conversation between two processes, over a stream socket."""

import os
import socket
from typing import Any

from course.launch.messages import Message, decode, encode

LONGEST = 1 << 24  # bytes that a message may have; ours are far shorter


class Channel:
    """One end of a conversation. Not thread-safe; each process reads its own end."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._pending = b""

    def fileno(self) -> int:
        """The socket's descriptor, with which a selector can wait for messages."""
        return self._socket.fileno()

    def send(self, message: Message) -> None:
        """Send one message; raises `OSError` when the other end is gone."""
        self._socket.sendall(encode(message))

    def receive(self) -> list[Any]:
        """Wait for bytes and return the messages that they complete.

        `messages` lists the kinds that each process sends. Raises `EOFError` when the other end is
        closed, and for bytes that are not a message: then the sender is not, or is no longer, one
        of our processes.
        """
        try:
            data = self._socket.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            raise EOFError
        *lines, self._pending = (self._pending + data).split(b"\n")
        if len(self._pending) > LONGEST:
            raise EOFError
        try:
            return [decode(line) for line in lines]
        except (KeyError, RecursionError, TypeError, ValueError):
            raise EOFError from None

    def peer(self) -> int | None:
        """The id of the process at the other end of a Unix socket; None except on Linux."""
        if not hasattr(socket, "SO_PEERCRED"):
            return None
        credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(credentials[:4], "little")

    def close(self) -> None:
        """Close this end; `receive` at the other end then raises `EOFError`."""
        self._socket.close()


def pair() -> tuple[Channel, Channel]:
    """Two channels that are connected to each other."""
    left, right = socket.socketpair()
    return Channel(left), Channel(right)


def inherit(descriptor: int) -> Channel:
    """The channel whose socket a parent process left open under this descriptor."""
    os.set_inheritable(descriptor, False)
    return Channel(socket.socket(fileno=descriptor))

"""In every process: one end of a conversation between two processes, over a stream socket."""

import os
import socket
from typing import Any

from course.launch.messages import Message, decode, encode

LONGEST = 1 << 24  # bytes of a message; those of ours are far below


class Channel:
    """One end of a conversation. Not thread-safe; each process reads its own end."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._pending = b""

    def fileno(self) -> int:
        """The descriptor, so that selectors can wait for it."""
        return self._socket.fileno()

    def send(self, message: Message) -> None:
        """Send one message; raises `OSError` when the other end is gone."""
        self._socket.sendall(encode(message))

    def receive(self) -> list[Any]:
        """Wait for bytes, return the messages that they complete.

        The kinds of `Message` depend on the process at the other end: see `messages`.
        Raises `EOFError` at the end, and for bytes that are no message: such a sender
        is not, or is no longer, one of our processes.
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
        """The process id at the other end of a Unix socket, if the system tells (Linux)."""
        if not hasattr(socket, "SO_PEERCRED"):
            return None
        credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(credentials[:4], "little")

    def close(self) -> None:
        """Close this end; the other one reads the end of the conversation."""
        self._socket.close()


def pair() -> tuple[Channel, Channel]:
    """Two connected ends."""
    left, right = socket.socketpair()
    return Channel(left), Channel(right)


def inherited(descriptor: int) -> Channel:
    """The end that a parent process left open under this descriptor."""
    os.set_inheritable(descriptor, False)
    return Channel(socket.socket(fileno=descriptor))

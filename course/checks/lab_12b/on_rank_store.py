"""The store in which the ranks of a check meet: rank 0 holds it, on loopback."""

import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from torch.distributed import TCPStore

PATIENCE_S = 15.0  # of a call that waits for a key


@contextmanager
def held() -> Iterator[None]:
    """On rank 0, hold the store until every rank has left this block; on the others, find it."""
    if os.environ["RANK"] == "0":
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        options = {"master_listen_fd": listener.detach(), "wait_for_workers": False}
        server = TCPStore("127.0.0.1", port, is_master=True, **options)
        _place().with_suffix(".new").write_text(str(port))
        _place().with_suffix(".new").replace(_place())
    while not _place().exists():
        time.sleep(0.01)
    yield
    connect().add("ranks that have left", 1)
    if os.environ["RANK"] == "0":
        while server.add("ranks that have left", 0) < int(os.environ["WORLD_SIZE"]):
            time.sleep(0.01)


def connect() -> TCPStore:
    """A connection of its own to the store."""
    port, patience = int(_place().read_text()), timedelta(seconds=PATIENCE_S)
    return TCPStore("127.0.0.1", port, is_master=False, timeout=patience)


def _place() -> Path:
    """Where rank 0 says at which port the store listens."""
    return Path(tempfile.gettempdir()) / "port of the store"

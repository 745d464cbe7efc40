"""The store of a check's ranks: the one in which torchrun lets them find each other."""

import os
from datetime import timedelta

from torch.distributed import PrefixStore, TCPStore

PATIENCE_S = 15.0  # of a call that waits for a key


def connect() -> PrefixStore:
    """A connection of its own to the store, whose keys no one else uses."""
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    patience = timedelta(seconds=PATIENCE_S)
    return PrefixStore("lab 12b", TCPStore(host, port, is_master=False, timeout=patience))

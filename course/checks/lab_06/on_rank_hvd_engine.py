"""The engine of lab 06, started and shut down around what a check does on a rank."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def running_engine() -> Iterator[None]:
    """The engine runs while it is entered."""
    basics = importlib.import_module("hvd_basics")
    basics.init()
    yield
    basics.shutdown()

"""Start nodes for the tests of this folder."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from course.clusters.nodes import nodes


@pytest.fixture
def start_nodes() -> Iterator[Callable[..., nodes.Nodes]]:
    """Start nodes, and close them after the test; skip it if it needs real nodes and has none."""
    with ExitStack() as started:

        def start(count: int, loopback: bool = False) -> nodes.Nodes:
            made = nodes.start(count, loopback=loopback)
            started.callback(made.close)
            if not (made.real or loopback):
                pytest.skip(made.reason)
            return made

        yield start

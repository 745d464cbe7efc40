"""Nodes for the tests of this folder."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from course.clusters.nodes import nodes


@pytest.fixture
def start_nodes() -> Iterator[Callable[..., nodes.Nodes]]:
    """Start nodes, closed when the test ends; one that wants real nodes is skipped without them."""
    with ExitStack() as started:

        def start(count: int, loopback: bool = False) -> nodes.Nodes:
            made = nodes.start(count, loopback=loopback)
            started.callback(made.close)
            if not (made.real or loopback):
                pytest.skip(made.reason)
            return made

        yield start

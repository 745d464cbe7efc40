"""Ranks that start at once."""

import pytest

from course.checks.runner.on_ranks import await_warm_ranks
from course.launch import warm_up


@pytest.fixture(scope="session")
def warm_ranks() -> None:
    """A warm server that has imported all."""
    warm_up()
    await_warm_ranks()

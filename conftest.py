"""How tests and notebooks run: limits, workers, what `make test` leaves to `make test-rest`.

A test file says beside its imports what it is: `slow` (`make quick` leaves it out), `rest` (left to
`make test-rest`), or `sampled`: each day another part of it runs in `make test`.
"""

import gc
import os
import random
import signal
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.patience import PATIENCE_S

from course.launch import warm_up

HERE = Path(__file__).parent
TESTS = HERE / "tests"
TIMEOUT_S = 1000  # of a test or a cell, which may wait with patience more than once
SAMPLE = 12  # one in so many of the tests marked `sampled`
SEED = os.environ.get("COURSE_SAMPLE") or date.today().isoformat()
WITH_DEV = all(map(find_spec, ["hypothesis", "pytest_timeout", "xdist"]))

pytest_plugins = ["support.advice", "support.evidence", "support.kernels", "support.no_skips"]
pytest_plugins += ["support.small"]
pytest_plugins += ["support.workers"] if WITH_DEV else []
collect_ignore_glob = [] if WITH_DEV else ["tests/*"]


def pytest_configure() -> None:
    """Let what the tests start hear ^C: a shell's commands in the background do not."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """Say which sample this is, so that it can be had again."""
    if not WITH_DEV:
        return "notebooks only: the tests of the course itself need `pip install -e '.[dev]'`"
    return f"sample of marked tests: COURSE_SAMPLE={SEED}"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Share one warm server among all notebooks: each kernel would import the libraries itself."""
    if session.config.getoption("nbval", default=False):
        warm_up()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give every test its limit, and mark those that `make test` leaves out."""
    if WITH_DEV and not item.get_closest_marker("timeout"):
        item.add_marker(pytest.mark.timeout(TIMEOUT_S))
    if item.path.suffix == ".ipynb":
        item.output_timeout = PATIENCE_S  # nbval would give up on a cell that is silent for 5 s
    if item.path.parent == HERE / "labs":
        item.add_marker(pytest.mark.rest)  # the solved twin of each runs
    sampled = item.get_closest_marker("sampled") is not None
    if sampled and random.Random(SEED + item.nodeid).randrange(SAMPLE):
        item.add_marker(pytest.mark.rest)


def pytest_collection_finish() -> None:
    """Leave what is there by now out of garbage collections, which would take a seventh of all."""
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that at the end no worker waits for another's long file."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    slow, notebook = item.get_closest_marker("slow"), item.path.suffix == ".ipynb"
    return 0 if slow else 1 if notebook else 2

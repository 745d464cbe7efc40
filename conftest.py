"""How tests and notebooks run: limits, workers, what `make test` leaves to `make test-rest`.

A test file says beside its imports what it is: `slow` (`make quick` leaves it out), `rest` (left to
`make test-rest`), or `sampled`: each day another part of it runs in `make test`.
"""

import os
import random
from datetime import date
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from course.launch import warm_up

pytest_plugins = ["support.kernels"]

HERE = Path(__file__).parent
TESTS = HERE / "tests"
TEST_TIMEOUT_S = 120  # for one test; the limit for notebook cells is in pyproject.toml
SAMPLE = 8  # one in so many of the tests marked `sampled`
SEED = os.environ.get("COURSE_SAMPLE") or date.today().isoformat()


def pytest_report_header() -> str:
    """Say which sample this is, so that it can be had again."""
    return f"sample of marked tests: COURSE_SAMPLE={SEED}"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Share one warm server among all notebooks: each kernel would import the libraries itself."""
    if session.config.getoption("nbval", default=False):
        warm_up()


def pytest_xdist_auto_num_workers() -> int:
    """Two at least, since most tests wait for ranks; four at most, since ranks need cores."""
    return min(max(2, os.cpu_count() or 1), 4)


class ByFile(LoadFileScheduling):
    """A file's tests stay on one worker; of a long file of answers, those to one exercise."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        exercise, is_answer, _ = test.partition(": ")
        return f"{file}::{exercise}" if is_answer else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """How tests are dealt to workers."""
    return ByFile(config, log)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give every test its limit, and mark those that `make test` leaves out."""
    if TESTS in item.path.parents and not item.get_closest_marker("timeout"):
        item.add_marker(pytest.mark.timeout(TEST_TIMEOUT_S))
    if item.path.parent == HERE / "labs":
        item.add_marker(pytest.mark.rest)  # the solved twin of each runs
    sampled = item.get_closest_marker("sampled") is not None
    if sampled and random.Random(SEED + item.nodeid).randrange(SAMPLE):
        item.add_marker(pytest.mark.rest)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that at the end no worker waits for another's long file."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    slow, notebook = item.get_closest_marker("slow"), item.path.suffix == ".ipynb"
    return 0 if slow else 1 if notebook else 2

"""How tests and notebooks run: limits, workers, what `make test` leaves to `make test-rest`.

`make quick` runs what has no mark, and `make test` also what is `slow`. `rest` and `sampled` are
left to `make test-rest` and CI, which runs another part of what is `sampled` each day.
Solved labs outside the core are `rest`, blank labs `sampled`.
"""

import gc
import os
import random
import signal
import zlib
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.patience import PATIENCE_S

from course.launch import warm_up
from course.lessons.lesson import CORE, START

HERE = Path(__file__).parent
LABS = sorted(HERE.glob("labs/*.ipynb"))
SOLVED = HERE / "solutions"
TIMEOUT_S = 1000  # of a test or a cell, which may wait with patience more than once
DAYS = 12  # within which each sampled test runs
DAY = date.fromisoformat(os.environ.get("COURSE_SAMPLE") or date.today().isoformat())
ORDER = os.environ.get("COURSE_ORDER")  # a seed: files in another order, see tests/tools/steady.py
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
    """Print which sample this is, so that it can be run again."""
    if not WITH_DEV:
        return "notebooks only: the tests of the course itself need `pip install -e '.[dev]'`"
    return f"sample of the day: COURSE_SAMPLE={DAY}" + (f", COURSE_ORDER={ORDER}" if ORDER else "")


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
    if item.path.parent == SOLVED and item.path.stem.partition("_")[0] not in (START, *CORE):
        item.add_marker(pytest.mark.rest)
    is_blank = item.path.parent == HERE / "labs"
    if is_blank:
        item.add_marker(pytest.mark.sampled)  # the solved twin of each runs
    if item.get_closest_marker("sampled"):
        place = LABS.index(item.path) if is_blank else zlib.crc32(item.nodeid.encode())
        if not has_its_turn(place, DAY):
            item.add_marker(pytest.mark.another_day)


def has_its_turn(place: int, day: date) -> bool:
    """Whether a sampled test runs on this day."""
    return (place + day.toordinal()) % DAYS == 0


def pytest_collection_finish() -> None:
    """Freeze what exists now; garbage collection would otherwise take a seventh of the time."""
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that at the end no worker waits for another's long file."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> float:
    if ORDER:
        return random.Random(f"{ORDER} {item.path}").random()
    slow, notebook = item.get_closest_marker("slow"), item.path.suffix == ".ipynb"
    return 0 if slow else 1 if notebook else 2

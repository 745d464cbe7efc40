"""How tests and notebooks run: limits, slow tests, workers, one warm server for all notebooks."""

import os
from pathlib import Path

import pytest

from course.launch import warm_up

pytest_plugins = ["support.kernels"]

TESTS = Path(__file__).parent / "tests"
TEST_TIMEOUT_S = 120  # for one test; the limit for notebook cells is in pyproject.toml
# What `make quick` leaves out: it takes minutes, or starts notebooks, a browser, a cluster.
SLOW = (
    "launch",
    "clusters/nodes",
    "clusters/slurm/test_live.py",
    "clusters/slurm/test_resuming.py",
    "notebook",
    "lessons/test_notebooks.py",
    "lessons/test_up_to_date.py",
    "commands/test_bench.py",
    "commands/test_kit.py",
    "commands/test_lab.py",
    "commands/test_site.py",
    "commands/test_site_pages.py",
    "checks/test_mutants.py",
    "checks/test_clinic.py",
    "checks/test_trainer.py",
    "checks/test_right_answers.py",
    "gpus/test_mutants_of_scripts.py",
    "gpus/test_pretend_cuda.py",
    "gpus/test_scripts.py",
)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Share one warm server among all notebooks: each kernel would import the libraries itself."""
    if session.config.getoption("nbval", default=False):
        warm_up()


def pytest_xdist_auto_num_workers() -> int:
    """Two at least, since most tests wait for ranks; four at most, since ranks need cores."""
    return min(max(2, os.cpu_count() or 1), 4)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give every test its limit, and the marker `slow` where it is."""
    if TESTS in item.path.parents and not item.get_closest_marker("timeout"):
        item.add_marker(pytest.mark.timeout(TEST_TIMEOUT_S))
    if any(TESTS / place in (item.path, *item.path.parents) for place in SLOW):
        item.add_marker(pytest.mark.slow)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that at the end no worker waits for another's long file."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    slow, notebook = item.get_closest_marker("slow"), item.path.suffix == ".ipynb"
    return 0 if slow else 1 if notebook else 2

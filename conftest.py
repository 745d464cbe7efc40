"""How tests and notebooks run: the limit of each test, and who shares a worker with whom.

On a machine with four cores or more, pytest-xdist runs them on several workers. Whole files go to
one worker, and so does each group of `GROUPS`: no two tests of a group run at the same moment.
"""

import os
from pathlib import Path

import pytest

from course.launch import warm_up

TESTS = Path(__file__).parent / "tests"
# By name: files and folders below tests/. These begin first, since they take longest.
GROUPS = {
    # What owns the machine for a while, or times how fast processes are gone.
    "machine": (
        "launch/faults",
        "launch/test_kernel.py",
        "clusters/nodes",
        "clusters/slurm",
        "notebook/test_browser.py",
        "commands/test_bench.py",
    ),
    # What shares processes that take long to start.
    "faithful": ("launch/faithful",),
}
# What `make quick` leaves out: it takes minutes, or starts notebooks, a browser, a cluster.
SLOW = (
    "launch",
    "clusters/nodes",
    "clusters/slurm/test_live.py",
    "notebook",
    "lessons/test_notebooks.py",
    "lessons/test_up_to_date.py",
    "commands/test_bench.py",
    "commands/test_lab.py",
    "checks/test_mutants.py",
    "checks/test_trainer_and_clinic.py",
)
TEST_TIMEOUT_S = 120  # for one test; the limit for notebook cells is in pyproject.toml
CORES_PER_WORKER = 2  # most tests start ranks of their own
MOST_WORKERS = 8  # each may hold a gigabyte or two


def pytest_sessionstart(session: pytest.Session) -> None:
    """Share one warm server among all notebooks: each kernel would import the libraries itself."""
    if session.config.getoption("nbval", default=False):
        warm_up()


def pytest_xdist_auto_num_workers() -> int:
    """How many workers ``-n auto`` means here; 0 runs everything in this process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    workers = min(cores // CORES_PER_WORKER, MOST_WORKERS)
    return workers if workers > 1 else 0


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test its limit, its group, and the marker `slow` where it is."""
    grouped, others = [], []
    for item in items:
        group = next((name for name, places in GROUPS.items() if lies_in(item.path, places)), None)
        item.add_marker(pytest.mark.xdist_group(group or str(item.path)))
        (grouped if group else others).append(item)
        if TESTS in item.path.parents and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TEST_TIMEOUT_S))
        if lies_in(item.path, SLOW):
            item.add_marker(pytest.mark.slow)
    items[:] = grouped + others


def lies_in(path: Path, places: tuple[str, ...]) -> bool:
    """Whether a file is one of these places below tests/, or lies in one."""
    return any(TESTS / place in (path, *path.parents) for place in places)

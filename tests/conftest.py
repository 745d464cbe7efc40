"""Settings of all tests (none may hang), and a course built once for those that look at built files."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from support.lesson_samples import ELSEWHERE, GOOD, NEXT, WIDGET, built, course

TESTS = Path(__file__).parent
TEST_TIMEOUT_S = 120  # for one test; the limit for notebook cells is in pyproject.toml


def pytest_configure(config: pytest.Config) -> None:
    """Know the marker even where pytest-timeout (a development tool) is not installed."""
    config.addinivalue_line("markers", "timeout(seconds): the test may take this long")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test its limit, unless it has its own."""
    for item in items:
        if TESTS in item.path.parents and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TEST_TIMEOUT_S))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Small models gain nothing from more threads than one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course of four small lessons, built once; tests that change it use ``copied``."""
    root = course(
        tmp_path_factory.mktemp("course"),
        adding=GOOD,
        next=NEXT,
        widget=WIDGET,
        elsewhere=ELSEWHERE,
    )
    assert built(root) == []
    return root


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """A copy of that course."""
    return shutil.copytree(finished, tmp_path, dirs_exist_ok=True)

"""Settings of all tests: none may hang."""

from pathlib import Path

import pytest

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

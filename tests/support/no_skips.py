"""A pytest plugin: with ``COURSE_NO_SKIPS`` set, a skipped test counts as a failure.

So a CI lane that promises to run everything fails if a program or a permission is missing.
"""

import os
from collections.abc import Generator

import pytest

MAY_BE_SKIPPED = ("this machine has a GPU",)  # what no installation would fix


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure that says why it was skipped."""
    report = yield
    if os.environ.get("COURSE_NO_SKIPS") and report.skipped and not hasattr(report, "wasxfail"):
        *_, reason = report.longrepr
        if not reason.removeprefix("Skipped: ").startswith(MAY_BE_SKIPPED):
            report.outcome = "failed"
            report.longrepr = f"{reason}; COURSE_NO_SKIPS is set, and nothing may be left out."
    return report

"""A pytest plugin: when tests fail, the last three lines of the output say what to do next.

They name the part of the course that is affected, the command that runs one test alone, and the log
of all failures.
"""

import shlex
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest

LOG = Path("build", "failed_tests.log")
ALONE = [".venv/bin/python", "-m", "pytest", "--nbval", "--small"]


class Failures:
    """Collects the failed reports of a session, and ends its output with advice."""

    def __init__(self, config: pytest.Config) -> None:
        self._config, self._reports = config, []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a report that failed."""
        if report.failed:
            self._reports.append(report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # so that its lines are the last ones
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        """Write the log, and print the advice."""
        yield
        if not self._reports:
            return
        log = self._config.rootpath / LOG
        log.parent.mkdir(exist_ok=True)
        log.write_text("\n\n".join(map(_full_text, self._reports)), encoding="utf-8")
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        for line in advice([report.nodeid for report in self._reports]):
            terminal.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin in the process that reports, not in xdist's workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(config))


def advice(failed: list[str]) -> list[str]:
    """The three lines to print, given the ids of the tests that failed."""
    parts = ", ".join(dict.fromkeys(map(_part, failed)))
    first = failed[0].partition("::")[0] if ".ipynb::" in failed[0] else failed[0]
    return [
        f"This concerns {parts}.",
        f"Try it alone: {shlex.join([*ALONE, first])}"
        + (f" (all {len(failed)}: with --last-failed in its place)" if len(failed) > 1 else ""),
        f"What each failed test showed is in {LOG}: please send that file along with a report.",
    ]


def _part(test: str) -> str:
    """The part of the course that a test or a cell is about."""
    path = Path(test.partition("::")[0])
    if path.suffix == ".ipynb":
        return f"the lab {path}"
    package = path.parts[1] if len(path.parts) > 2 else ""
    is_package = package and find_spec(f"course.{package}") is not None
    return f"course/{package}" if is_package else f"what {path} tries"


def _full_text(report: pytest.TestReport) -> str:
    """The text of a report with all its sections."""
    sections = [f"--- {title}\n{text}" for title, text in report.sections]
    return "\n".join([f"=== {report.nodeid} ({report.when})", report.longreprtext, *sections])

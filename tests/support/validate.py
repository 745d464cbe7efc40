"""A plugin of pytest: `--nbval` where nbval is not there, with its options, tags and verdicts.

`pytest -p no:nbval --nbval` tries it on all notebooks. Where nbval is there, this does nothing.

A test is a code cell, named as nbval names it. It fails if it raises and is not tagged
`raises-exception`, and if its outputs differ from those that are stored, unless it is tagged
`nbval-ignore-output`. A cell that was never run has none to compare.
"""

import difflib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from course.lessons.compared import IGNORED, fields

REPLACED = re.compile(r"^regex: (.*)$\n^replace: (.*)$", re.MULTILINE)


class Differs(Exception):
    """A cell whose outputs are not those that are stored; its text shows where."""


def has_nbval(plugins: pytest.PytestPluginManager) -> bool:
    """Whether nbval is there, and switched on."""
    nbval = sys.modules.get("nbval.plugin")
    return nbval is not None and plugins.is_registered(nbval)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Take nbval's options, if nbval does not."""
    if has_nbval(pluginmanager):
        return
    group = parser.getgroup("nbval", "validation of notebooks, without nbval")
    group.addoption("--nbval", action="store_true", help="run notebooks, and compare outputs")
    group.addoption("--nbval-current-env", action="store_true", help="as is always done")
    group.addoption("--nbval-cell-timeout", type=int, default=2000, help="for a cell, in s")
    group.addoption("--nbval-kernel-startup-timeout", type=int, default=60, help="in s")
    group.addoption("--nbval-sanitize-with", type=Path, help="pairs of lines, regex and replace")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "Notebook | None":
    """Collect notebooks, if nbval does not."""
    wanted = file_path.suffix == ".ipynb" and parent.config.option.nbval
    ours = wanted and not has_nbval(parent.config.pluginmanager)
    return Notebook.from_parent(parent, path=file_path) if ours else None


class Notebook(pytest.File):
    """A notebook with one kernel, in which its cells run one after the other."""

    rules: tuple | list = ()
    timed_out = False

    def collect(self) -> Iterator["Cell"]:
        """Each code cell, numbered from 0."""
        self.node = nbformat.read(self.path, as_version=4)
        code = [index for index, cell in enumerate(self.node.cells) if cell.cell_type == "code"]
        for number, index in enumerate(code):
            yield Cell.from_parent(self, name=f"Cell {number}", index=index)

    def setup(self) -> None:
        """Start the kernel."""
        option = self.config.option
        if option.nbval_sanitize_with:
            self.rules = REPLACED.findall(option.nbval_sanitize_with.read_text())
        self.client = NotebookClient(
            self.node,
            timeout=option.nbval_cell_timeout,
            startup_timeout=option.nbval_kernel_startup_timeout,
            shutdown_kernel="immediate",
            kernel_name="python3",
            resources={"metadata": {"path": str(self.path.parent)}},
        )
        self.running = ExitStack()
        self.running.enter_context(self.client.setup_kernel(stderr=subprocess.DEVNULL))

    def teardown(self) -> None:
        """End the kernel."""
        self.running.close()

    def sanitized(self, text: str) -> str:
        """A text without what may vary."""
        for pattern, other in self.rules:
            text = re.sub(pattern, other, text)
        return text


class Cell(pytest.Item):
    """One code cell, as it is stored until it runs."""

    def __init__(self, *, index: int, **settings: object) -> None:
        super().__init__(**settings)
        self.index, self.cell = index, self.parent.node.cells[index]

    def runtest(self) -> None:
        """Run the cell, and compare."""
        tags = self.cell.metadata.get("tags", [])
        stored, has_run = self.cell.outputs, self.cell.execution_count is not None
        if "nbval-skip" in tags:
            pytest.skip("tagged nbval-skip")
        if self.parent.timed_out:
            pytest.xfail("a cell before this one ran out of time")
        try:
            self.parent.client.execute_cell(self.cell, self.index, store_history=False)
        except CellTimeoutError:
            self.parent.timed_out = True
            raise
        if stored and not has_run:
            raise Differs("it has outputs, but no number, as if it had not run")
        if has_run and IGNORED not in tags:
            before, now = self._lines_of(stored), self._lines_of(self.cell.outputs)
            if before != now:
                change = difflib.unified_diff(before, now, "stored", "now", lineterm="")
                raise Differs("\n".join(["", *change]))

    def _lines_of(self, outputs: Iterable[NotebookNode]) -> list[str]:
        """What is compared of outputs, as it is shown where it differs."""
        return [
            f"{kind} {number}: {line}"
            for kind, values in sorted(fields(outputs).items())
            for number, value in enumerate(values, 1)
            for line in self.parent.sanitized(value).split("\n")
        ]

    def repr_failure(self, excinfo: pytest.ExceptionInfo, style: str | None = None) -> str:
        """What one needs to see of a failure: the cell, and what it said."""
        if excinfo.errisinstance((Differs, CellExecutionError, CellTimeoutError, DeadKernelError)):
            return f"{self.cell.source}\n\n{excinfo.typename}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

"""A shell of IPython's with the course loaded, and the folder in which its cells run."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from support.cells import Cell, RunCell
from support.launching import clean_environment
from traitlets.config import Config


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    shell.run_line_magic("load_ext", "course")
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with an environment in which no test runner has left anything."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ.keys() - clean_environment().keys() - {"COURSE_WARM"}:
        monkeypatch.delenv(name)
    (tmp_path / "src").mkdir()
    return tmp_path


@pytest.fixture
def cell(shell: InteractiveShell, labs: Path, capsys: pytest.CaptureFixture) -> RunCell:
    """Runs the source of a cell in `labs`."""

    def run(source: str) -> Cell:
        result = shell.run_cell(source)
        out, err = capsys.readouterr()
        assert err == ""
        return Cell(result, out)

    return run

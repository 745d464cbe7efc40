"""The report of a failed test ends with what its launches and cells showed."""

import nbformat
import pytest
from support.pytest_runs import run_pytest

pytestmark = [pytest.mark.slow, pytest.mark.rest]

PLUGINS = ("-p", "support.evidence", "-p", "nbval.plugin", "--nbval", "--nbval-current-env")
TESTS = """
from pathlib import Path
from types import SimpleNamespace

import pytest
from course.checks.runner import session
from course.launch import launch
from support.cells import Cell
from support.launching import Client
from support.python import run_python

FAILS = "import os, sys\\nprint('I am', os.environ['RANK'])\\nsys.exit(3 * int(os.environ['RANK']))"
TWO = ["torchrun", "--standalone", "--nproc-per-node", "2", "script.py"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text(FAILS)


def test_of_a_launch():
    assert launch(TWO).ok


def test_of_a_check():
    Path("start_here.py").write_text("def mean_of_ranks(number):\\n    print('no mean')\\n")
    (report,) = session.run(Path(), ["start_here"], only="test_mean")
    assert report.ok


def test_of_a_client(tmp_path):
    client = Client(tmp_path / "client", warm=False)
    answer = client.ranks(FAILS)
    client.close()
    assert answer["ok"]


def test_of_a_cell():
    Cell(SimpleNamespace(result=None, error_in_exec=None), "\\x1b[1mlook\\x1b[0m here")
    run_python("print('over there')")
    assert False


def test_that_passes_although_a_rank_failed():
    assert not launch(TWO).ok
"""
NOTEBOOK = [("print('shown now')", "shown then"), ("print('before'); 1 / 0", "")]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What pytest reports of each of these tests and cells that fail, by name."""
    folder = tmp_path_factory.mktemp("evidence")
    (folder / "test_it.py").write_text(TESTS)
    cells = [
        nbformat.v4.new_code_cell(
            source,
            execution_count=1,
            outputs=[nbformat.v4.new_output("stream", name="stdout", text=stored)],
        )
        for source, stored in NOTEBOOK
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "shows.ipynb")
    printed = run_pytest(folder, *PLUGINS, "--color=no").stdout
    _, *parts = printed.partition("= FAILURES =")[2].split("\n____")
    return {part.splitlines()[0].strip("_ "): part for part in parts}


@pytest.mark.parametrize(
    ("test", "shown"),
    [
        ("test_of_a_launch", ["exit codes by rank: {0: ", "1: 3}", "rank 1 stdout │ I am 1"]),
        ("test_of_a_check", ["exit codes by rank: {0: 0, 1: 0", "rank 1 stdout │ no mean"]),
        ("test_of_a_client", ["exit codes by rank: {0: ", "1: 3}", "rank 1 stdout │ I am 1"]),
        ("test_of_a_cell", ["the cell showed -", "\nlook here", "\nover there"]),
        ("shows.ipynb::Cell 0", ["the cell showed -", "\nshown now"]),
        ("shows.ipynb::Cell 1", ["the cell showed -", "\nbefore", "ZeroDivisionError"]),
    ],
)
def test_it_shows_what_happened(report: dict[str, str], test: str, shown: list[str]) -> None:
    for words in shown:
        assert words in report[test], report[test]


def test_a_test_that_passes_leaves_nothing_to_the_next(report: dict[str, str]) -> None:
    assert "test_that_passes_although_a_rank_failed" not in report
    assert "I am 1" not in report["test_of_a_cell"]

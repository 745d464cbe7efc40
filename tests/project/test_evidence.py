"""The report of a failed test ends with what its launches and cells showed."""

from pathlib import Path

import nbformat
import pytest
from support import evidence
from support.chromium import CHROMIUM
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
from support.chromium import CHROMIUM, FLAGS
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


@pytest.fixture
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser):
    return browser.new_page()


def test_of_a_page(page):
    page.goto("data:text/html,<p>What it shows</p><script>console.log('what it logs')</script>")
    page.wait_for_selector("text=never there", timeout=1)
"""
NOTEBOOK = [("print('shown now')", "shown then"), ("print('before'); 1 / 0", "")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where pytest runs these tests."""
    return tmp_path_factory.mktemp("evidence")


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, str]:
    """The report of pytest on each of these tests and cells that fails, by name."""
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


def test_it_leaves_out_which_modules_pythons_stacks_list() -> None:
    stderr = '  File "my_ring.py", line 2 in exchange\n\nExtension modules: numpy.a (total: 1)'
    text = evidence.describe_launch("timed out", {0: -6}, {"stderr": {0: stderr}})
    assert "line 2 in exchange" in text and "numpy" not in text


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_it_shows_what_the_page_showed(report: dict[str, str], folder: Path) -> None:
    picture = folder / "build" / "test_of_a_page.0.png"
    for words in ("\nWhat it shows", "console log │ what it logs", str(picture)):
        assert words in report["test_of_a_page"]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_test_that_passes_leaves_nothing_to_the_next(report: dict[str, str]) -> None:
    assert "test_that_passes_although_a_rank_failed" not in report
    assert "I am 1" not in report["test_of_a_cell"]

"""Where nbval is not there, a plugin of our own gives its verdicts, cell by cell."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from support.launching import clean_environment

from course.core.files import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.rest, pytest.mark.timeout(240)]

OURS = ["-p", "no:nbval", "-p", "support.validate"]
IGNORE, RAISES, SKIP = "nbval-ignore-output", "raises-exception", "nbval-skip"
NOT_RUN = None


def said(text: str, name: str = "stdout") -> dict:
    """What a cell has written."""
    return new_output("stream", name=name, text=text)


def shown(**data: str) -> dict:
    """What a cell has displayed, under the mime types of text and of a picture."""
    kinds = {"text": "text/plain", "png": "image/png", "json": "application/json"}
    return new_output("display_data", {kinds[kind]: value for kind, value in data.items()})


def value(text: str) -> dict:
    """What a cell's last line is."""
    return new_output("execute_result", {"text/plain": text}, execution_count=7)


def error(text: str) -> dict:
    """The exception in which a cell has ended."""
    return new_output("error", ename="ValueError", evalue=text, traceback=["elsewhere"])


SHOW = "from IPython.display import display\ndisplay({}, raw=True)".format
BOTH = "import sys\nprint(1)\nprint(2, file=sys.stderr)\nprint(3)"
# The code of a cell, its tag, what is stored of its outputs, and the verdict.
CELLS = [
    ("print('one')", "", [said("one\n")], "PASSED"),
    ("print('one')", "", [said("two\n")], "FAILED"),
    ("print('one')", "", [said("one\n", "stderr")], "FAILED"),
    ("print('one')", IGNORE, [said("two\n")], "PASSED"),
    ("print('one')", SKIP, [said("two\n")], "SKIPPED"),
    ("print('one')", "", NOT_RUN, "PASSED"),
    ("print('one')", "", [], "FAILED"),
    ("1", "", [value("1")], "PASSED"),
    ("1", "", [value("2")], "FAILED"),
    ("1", "", [shown(text="1")], "PASSED"),
    ("one = 1", "", [value("1")], "FAILED"),
    (BOTH, "", [said("2\n", "stderr"), said("1\n"), said("3\n")], "PASSED"),
    (BOTH, "", [said("2\n", "stderr"), said("3\n1\n")], "FAILED"),
    ("print('10 %\\r20 %')", "", [said("20 %\n")], "PASSED"),
    ("print('Overwriting src/a.py at 0x1')", "", [said("Writing src/a.py at 0x2\n")], "PASSED"),
    (SHOW({"text/plain": "a", "image/png": "eA=="}), "", [shown(text="a", png="eQ==")], "PASSED"),
    (SHOW({"text/plain": "a", "image/png": "eA=="}), "", [shown(text="b", png="eA==")], "FAILED"),
    (SHOW({"application/json": {"a": 1}}), "", [shown(json={"a": 1})], "PASSED"),
    (SHOW({"application/json": {"a": 1}}), "", [shown(json={"a": 2})], "FAILED"),
    ("raise ValueError('no')", "", NOT_RUN, "FAILED"),
    ("raise ValueError('no')", IGNORE, [error("no")], "FAILED"),
    ("raise ValueError('no')", RAISES, NOT_RUN, "PASSED"),
    ("raise ValueError('no')", RAISES, [error("no")], "PASSED"),
    ("raise ValueError('no')", RAISES, [error("yes")], "FAILED"),
    ("one = 2", RAISES, [], "PASSED"),
    ("assert one == 2", "", [], "PASSED"),
    ("import time; time.sleep(60)", "", [], "FAILED"),
]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook of these cells, and of one that has outputs although it was never run."""
    cells = []
    for number, (source, tag, outputs, _) in enumerate(CELLS, 1):
        stored = {"outputs": outputs, "execution_count": number} if outputs is not None else {}
        cells.append(new_code_cell(source, metadata={"tags": [tag] if tag else []}, **stored))
    cells.insert(0, new_code_cell("print('one')", outputs=[said("one\n")]))
    path = tmp_path_factory.mktemp("notebook") / "cells.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    return path


@pytest.mark.parametrize("plugin", [OURS, []], ids=["ours", "nbval"])
def test_the_verdicts_are_those_of_nbval(plugin: list[str], notebook: Path) -> None:
    report = run_pytest(*plugin, "--nbval-cell-timeout=5", notebook.name, notebook=notebook)
    verdicts = dict(re.findall(r"^cells\S+::Cell (\d+) (\w+)", report, re.MULTILINE))
    wanted = ["FAILED", *(verdict for *_, verdict in CELLS)]
    assert list(verdicts.values()) == wanted, report


def test_a_difference_is_shown(notebook: Path) -> None:
    report = run_pytest(*OURS, f"{notebook.name}::Cell 2", notebook=notebook)
    assert re.search(r"^-stdout 1: two\n\+stdout 1: one$", report, re.MULTILINE), report
    assert "print('one')" in report and "validate.py" not in report, report


def run_pytest(*arguments: str, notebook: Path) -> str:
    """What ``pytest --nbval`` reports of a notebook, with the settings of this repository."""
    settings = ["-c", f"{ROOT}/pyproject.toml", f"--rootdir={notebook.parent}"]
    settings += [f"--nbval-sanitize-with={ROOT}/tests/nbval_sanitize.cfg", "-p", "support.kernels"]
    how = ["--nbval", "-n0", "-v", "--color=no", "-p", "no:cacheprovider", *settings]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *how, *arguments],
        cwd=notebook.parent,
        env=clean_environment() | {"PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr

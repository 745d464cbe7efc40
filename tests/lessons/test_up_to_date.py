"""Files that differ from what the lessons make are found; built notebooks pass nbval."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from support.lesson_samples import (
    CHECKED,
    HEADER,
    NAME,
    built,
    complaints,
    course,
    notebook,
    rewrite,
)

from course.core.files import ROOT, write_atomically
from course.lessons import notebooks

pytestmark = pytest.mark.slow


def test_what_was_just_built_is_current(finished):
    assert complaints(finished) == []


def test_a_lab_edited_by_hand_is_seen(copied):
    rewrite(copied / "labs" / f"{NAME}.ipynb", "How does", "How  does")
    assert complaints(copied) == [f"labs/{NAME}.ipynb is not what its lesson makes"]


def test_an_edited_lesson_is_seen(copied):
    rewrite(copied / "course" / "lessons" / f"{NAME}.md", "How does", "Why does")
    assert complaints(copied) == [
        f"{folder}/{NAME}.ipynb is not what its lesson makes" for folder in ("labs", "solutions")
    ]


def test_an_edited_solution_text_is_seen_in_the_solutions_alone(copied):
    rewrite(copied / "course" / "lessons" / f"{NAME}.md", "total_of_both", "total")
    assert complaints(copied) == [f"solutions/{NAME}.ipynb is not what its lesson makes"]


def change_solution(root: Path, change) -> list[str]:
    node = notebook(root, "solutions")
    change(node)
    (root / "solutions" / f"{NAME}.ipynb").write_text(notebooks.text(node))
    return complaints(root)


def test_a_solution_not_run_in_order_is_seen(copied):
    def swap(node):
        node.cells[1].execution_count, node.cells[2].execution_count = 2, 1

    def clear(node):
        node.cells[-1].execution_count = None

    for change in (swap, clear):
        assert change_solution(copied, change) == [
            f"solutions/{NAME}.ipynb was not run from the first cell to the last"
        ]


def test_an_error_in_a_solution_is_seen_unless_it_is_meant(copied):
    def fail(node):
        node.cells[3].outputs = [
            nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])
        ]

    assert change_solution(copied, fail) == [f"solutions/{NAME}.ipynb has a cell that failed"]
    source = HEADER + "# T\n\n```{code-cell}\n:tags: [raises-exception]\n\n1 / 0\n```\n"
    root = course(copied / "meant", meant=source)
    assert built(root) == []
    assert complaints(root) == []
    assert notebook(root, "solutions", "00_meant").cells[1].outputs[0].ename == "ZeroDivisionError"


def test_a_check_that_does_not_hold_is_seen(tmp_path):
    root = course(tmp_path, checked=CHECKED.replace("4 of 5", "5 of 5"))
    assert built(root) == []
    assert complaints(root) == []
    path = root / "solutions" / "00_checked.ipynb"
    path.write_text(re.sub('5 of 5(?= checks hold."\n  )', "4 of 5", path.read_text()))
    assert complaints(root) == ["solutions/00_checked.ipynb has a check that does not hold"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"cells": [{}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'],
)
def test_a_solution_that_is_not_a_notebook_is_seen(copied, text):
    (copied / "solutions" / f"{NAME}.ipynb").write_text(text)
    assert complaints(copied) == [f"solutions/{NAME}.ipynb is not a notebook"]


def test_missing_and_surplus_files_are_seen(copied):
    (copied / "labs" / f"{NAME}.ipynb").unlink()
    (copied / "solutions" / f"{NAME}.ipynb").rename(copied / "solutions" / "09_old.ipynb")
    (copied / "images" / "sum.svg").write_text("<svg></svg>")
    (copied / "images" / "pasted.png").write_text("")
    assert complaints(copied) == [
        f"labs/{NAME}.ipynb is not what its lesson makes",
        f"solutions/{NAME}.ipynb is not there",
        "images/sum.svg is not what the code draws",
        "solutions/09_old.ipynb is made by no lesson and no figure: remove it",
        "images/pasted.png is made by no lesson and no figure: remove it",
    ]


def validate(root: Path, *arguments: str) -> str:
    """The report of ``pytest --nbval`` with this repository's settings, in another folder."""
    for name in ("pyproject.toml", "tests/nbval_sanitize.cfg"):
        write_atomically(root / name, (ROOT / name).read_text())
    pytest_nbval = [sys.executable, "-m", "pytest", "--nbval", "-p", "no:cacheprovider"]
    options = ["-p", "support.kernels", "--numprocesses=0", "-q", "-rA", "--color=no"]
    return subprocess.run(
        [*pytest_nbval, *options, *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"},
    ).stdout


@pytest.mark.rest
def test_what_is_built_validates_and_a_changed_output_does_not(copied):
    fails = "def test_{}(): assert False\n"
    write_atomically(copied / "course" / "checks" / "check_sum.py", fails.format("sum"))
    write_atomically(copied / "labs" / "src" / "test_mine.py", fails.format("mine"))
    report = validate(copied)
    assert "14 passed" in report and "failed" not in report, report
    rewrite(copied / "solutions" / f"{NAME}.ipynb", "a sum of 2\\n", "a sum of 3\\n")
    report = validate(copied, f"solutions/{NAME}.ipynb")
    assert "1 failed, 3 passed" in report, report
    assert f"FAILED solutions/{NAME}.ipynb::Cell 2" in report, report

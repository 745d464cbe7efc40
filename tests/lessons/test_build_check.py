"""What is on disk and not what the lessons make is seen; the command says so; what is built validates under nbval."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from support.lesson_samples import (
    CHECKED,
    FIGURES,
    HEADER,
    NAME,
    built,
    complaints,
    course,
    notebook,
    rewrite,
)

from course.__main__ import main
from course.lessons import notebooks

ROOT = Path(__file__).resolve().parents[2]


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
    meant = HEADER + "# T\n\n```{code-cell}\n:tags: [raises-exception]\n\n1 / 0\n```\n"
    root = course(copied / "meant", meant=meant)
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
def test_a_solution_that_is_no_notebook_is_seen(copied, text):
    (copied / "solutions" / f"{NAME}.ipynb").write_text(text)
    assert complaints(copied) == [f"solutions/{NAME}.ipynb is no notebook"]


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


@pytest.fixture
def command(copied, monkeypatch):
    """``python -m course`` on a copy of the course."""
    import course.explore

    monkeypatch.setattr(notebooks, "ROOT", copied)
    monkeypatch.setattr(course.explore, "figures", lambda: FIGURES, raising=False)
    return lambda *arguments: main(["build", *arguments])


def test_check_exits_1_where_something_is_stale(command, copied, capsys):
    assert command("--check") == 0
    rewrite(copied / "labs" / "01_next.ipynb", "Next", "Then")
    assert command("--check") == 1
    assert capsys.readouterr().err == "labs/01_next.ipynb is not what its lesson makes\n"
    assert command("--check", NAME) == 0
    assert command("01_next") == 0
    assert command("--check") == 0


def test_bad_names_and_faults_exit_2_with_a_sentence(command, copied, capsys):
    assert command("nine") == 2
    assert "Traceback" not in (said := capsys.readouterr().err) and len(said.splitlines()) == 1
    rewrite(copied / "course" / "lessons" / "01_next.md", "# Next", "Next")
    assert command("--check") == 2
    assert (
        capsys.readouterr().err
        == "course/lessons/01_next.md:8: a lesson begins with its title: `# Title`\n"
    )


def test_scripts_alone_and_failures_exit_codes(command, copied):
    assert command("--scripts", NAME) == 0
    assert (copied / "labs" / "src" / "adding.py").exists()
    rewrite(copied / "course" / "lessons" / "01_next.md", "1 + 1", "1 / 0")
    assert command("01_next") == 1


@pytest.mark.parametrize(
    ("name", "module"), [("check", "course.checks.report"), ("doctor", "course.doctor")]
)
def test_other_commands_get_their_arguments(monkeypatch, name, module):
    seen = []
    monkeypatch.setitem(
        sys.modules, module, SimpleNamespace(main=lambda argv: seen.append(argv) or 3)
    )
    assert main([name, "--help", "x"]) == 3
    assert seen == [["--help", "x"]]


def validate(root: Path, *arguments: str) -> str:
    """The report of ``pytest --nbval`` with this repository's settings, in another folder."""
    for name in ("pyproject.toml", "tests/nbval_sanitize.cfg"):
        notebooks.write(root / name, (ROOT / name).read_text())
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval",
        "-q",
        "-rA",
        "--color=no",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=100).stdout


def test_what_is_built_validates_and_a_changed_output_does_not(copied):
    notebooks.write(copied / "course" / "checks" / "check_sum.py", "def test_sum(): assert False\n")
    notebooks.write(copied / "labs" / "src" / "test_mine.py", "def test_mine(): assert False\n")
    report = validate(copied)
    assert "14 passed" in report and "failed" not in report, report
    rewrite(copied / "solutions" / f"{NAME}.ipynb", "a sum of 2\\n", "a sum of 3\\n")
    report = validate(copied, f"solutions/{NAME}.ipynb")
    assert "1 failed, 3 passed" in report and f"FAILED solutions/{NAME}.ipynb::Cell 2" in report, (
        report
    )


def test_what_is_committed_is_what_the_lessons_build():
    assert main(["build", "--check"]) == 0

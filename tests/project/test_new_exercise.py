"""`make exercise` writes an exercise whose tests pass: its parts fit each other and its lab.

If the lab is new, the frame of its lesson is written as well.
"""

import importlib
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.launching import clean_environment

from course.checks.runner.session import ChecksPlugin
from course.core.errors import CourseError
from course.core.files import ROOT
from course.lessons import labs

pytestmark = [pytest.mark.slow, pytest.mark.rest]

LAB, BETWEEN, LAST = "00_start_here", "04z_scratch_lab", labs(ROOT)[-1]
NEW_LAST = f"{int(LAST.number[:2]) + 1:02}_scratch_end"
TOOL = "tests/tools/new_exercise.py"
HINTS = "tests/lessons/test_hints_hold.py"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the course and its tests."""
    root = tmp_path_factory.mktemp("copy")
    unwanted = shutil.ignore_patterns("__pycache__", "*runs", "traces", "*.py[co]")
    for name in ("course", "tests", "labs"):
        shutil.copytree(ROOT / name, root / name, ignore=unwanted)
    for name in ("conftest.py", "pyproject.toml", "CONTRIBUTING.md"):
        shutil.copyfile(ROOT / name, root / name)
    return root


@pytest.fixture
def write(monkeypatch: pytest.MonkeyPatch) -> Callable:
    """The function of the tool that writes a frame."""
    monkeypatch.syspath_prepend(str(ROOT / TOOL.rpartition("/")[0]))
    return runpy.run_path(str(ROOT / TOOL))["main"]


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run Python in the copy, so that it imports the `course` of the copy."""
    path = os.pathsep.join([str(root), str(root / "tests")])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env=clean_environment() | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("name", "lab"),
    [("scratch_one", LAB), ("scratch_two", BETWEEN), ("scratch_three", NEW_LAST)],
)
def test_the_frame_holds_and_its_wrong_answer_does_not(copy, name, lab):
    done = run(copy, TOOL, name, lab)
    assert done.returncode == 0, done.stderr
    assert not (copy / "course/lessons/hints.md").read_text().endswith("\n\n")
    named = re.findall(r"(?:course|tests)/[\w/]+\.(?:md|py)", done.stdout)
    assert len(named) > 5 and all((copy / path).is_file() for path in named)
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert ("ended the course" in done.stdout) == (lab == NEW_LAST)
    answers = [f"tests/checks/test_{kind}.py" for kind in ("mutations", "mutants", "right_answers")]
    tested = run(copy, "-m", "pytest", "-q", "-n", "0", "-k", name, *answers)
    assert re.search(r"^5 passed", tested.stdout, re.MULTILINE), tested.stdout + tested.stderr
    hints = run(copy, "-m", "pytest", "-q", "-n", "0", "-k", f"{name} or every", HINTS)
    assert hints.returncode == 0, hints.stdout + hints.stderr
    checks = f"course/checks/lab_{lab.partition('_')[0]}"
    formatted = run(copy, "-m", "ruff", "format", "--check", checks)
    assert formatted.returncode == 0, formatted.stdout + formatted.stderr
    built = run(copy, "-m", "course", "build", "--scripts", lab)  # the lesson keeps to its rules
    assert built.returncode == 0, built.stderr
    assert "TODO" in (copy / f"labs/src/{name}.py").read_text()
    checked = run(copy, "-m", "course", "build", "--check", lab)
    assert "is not there" in checked.stderr
    lacks = re.findall(r"^course/lessons/.*$", checked.stderr, re.MULTILINE)
    assert len(lacks) == (1 if lab == LAB else 11)  # both lack only the words of their author
    assert all("a placeholder of `make exercise`" in line for line in lacks)


@pytest.mark.parametrize("lab", [LAST.name, NEW_LAST])
def test_a_further_exercise_comes_before_what_ends_its_lab_or_the_course(
    tmp_path, write, capsys, lab
):
    lessons = tmp_path / "course" / "lessons"
    shutil.copytree(ROOT / "course" / "lessons", lessons)
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / f"{LAST.name}.ipynb").touch()
    write(tmp_path, "scratch_one", lab)
    if lab == NEW_LAST:
        with (lessons / f"{lab}.md").open("a", encoding="utf-8") as lesson:
            lesson.write("\n## Where to go from here\n")
    capsys.readouterr()
    write(tmp_path, "scratch_two", lab)
    assert re.findall("^## .*", (lessons / f"{lab}.md").read_text(), re.MULTILINE)[-4:] == [
        "## Your turn: scratch one",
        "## Your turn: scratch two",
        "## Claims and measurements",
        "## Where to go from here",
    ]
    told_already = "that the call for the lab's first exercise printed"
    assert (told_already in capsys.readouterr().out) == (lab == NEW_LAST)


def test_what_cannot_be_read_leaves_all_files_as_they_were(copy, write):
    answers = copy / "tests/right_answers/01_data_parallel.md"
    text = answers.read_text()
    answers.write_bytes(b"\xff")
    with pytest.raises(UnicodeDecodeError):
        write(copy, "scratch_four", "01_data_parallel")
    answers.write_text(text)
    assert not list(copy.rglob("*scratch_four*"))
    assert "scratch_four" not in (copy / "course/lessons/01_data_parallel.md").read_text()


@pytest.mark.parametrize(
    ("name", "lab", "why"),
    [
        ("Scratch-Four", LAB, "is not a new name"),
        ("start_here", LAB, "is not a new name"),
        ("scratch_four", "00_nothing", "There is no lab '00_nothing'"),
        ("scratch_four", "nothing", "There is no lab 'nothing'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(copy, write, name, lab, why):
    with pytest.raises(CourseError, match=why) as error:
        write(copy, name, lab)
    assert len(str(error.value)) < 200


def test_the_page_about_checks_names_only_what_there_is():
    text = (ROOT / "course/checks/README.md").read_text()
    named = re.findall(r"^\| `(\w+)\.(\w+)\(", text, re.MULTILINE)
    assert len(named) > 5
    for module, name in named:
        assert hasattr(importlib.import_module(f"course.checks.tools.{module}"), name)
    section = text.partition("## What a check is given")[2].partition("## What a check says")[0]
    fixtures = re.findall(r"^\| `(\w+)", section, re.MULTILINE)
    assert set(fixtures) == {"ranks", "alone", "tmp_path"} <= set(dir(ChecksPlugin))

"""Every cause that can be named registers itself, and a planted script names it."""

import ast
from pathlib import Path

import pytest

from course.own.slow import causes
from course.own.slow.cause import Cause
from course.own.slow.causes import KNOWN

HERE = Path(__file__).parent
LABS = HERE.parents[2] / "course" / "lessons"
# The tables of the tests that plant causes, and where in a row the cause stands.
TABLES = [
    ("test_watched.py", "FIRST", 2),
    ("test_watched.py", "NAMED", 2),
    ("test_cures.py", "PLANTED", 0),
    ("test_on_an_h200.py", "FOUND", 0),
]


def table(file: str, name: str) -> list | dict:
    """What a test's file assigns to a name."""
    for node in ast.parse((HERE / file).read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            return ast.literal_eval(node.value)
    raise AssertionError(f"{file} has no {name}")


def test_a_planted_script_names_every_cause() -> None:
    planted = set()
    for file, name, place in TABLES:
        rows = table(file, name)
        planted |= {row[place] for row in (rows.values() if isinstance(rows, dict) else rows)}
    assert planted == set(KNOWN)


def test_every_file_of_causes_registers_some() -> None:
    files = {path.stem for path in Path(causes.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == {known.__module__.rpartition(".")[2] for known in KNOWN.values()}


@pytest.mark.parametrize("known", KNOWN.values(), ids=lambda known: known.cause)
def test_a_cause_says_what_it_is_and_which_lab_teaches_its_cure(known: type[Cause]) -> None:
    assert known.about and not known.about.endswith(".")
    if isinstance(known.lab, str):
        assert list(LABS.glob(f"{known.lab}_*.md"))

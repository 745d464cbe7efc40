"""The fuller hints: one for each TODO of an exercise, or the lesson is not built."""

from pathlib import Path

import pytest
from support.lesson_samples import GOOD, course

from course.core import CourseError
from course.lessons import hints
from course.lessons.rules import select

TWO = """\
# Hints

An intro.

## other

1. Of another.

## adding

1. Name `a`,
   then b.
2. Call `add`.
"""


def is_refused(root: Path, text: str | None) -> None:
    if text is not None:
        (root / "course" / "lessons" / hints.FILE).write_text(text)
    select(root, ["00_adding"], {"sum.svg"}, checks={"adding"})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "01_next.ipynb").write_text("")
    return course(tmp_path, adding=GOOD)


def test_hints_are_read_by_exercise_in_order(root: Path):
    (root / "course" / "lessons" / hints.FILE).write_text(TWO)
    assert hints.read(root) == {
        "other": ["Of another."],
        "adding": ["Name `a`, then b.", "Call `add`."],
    }


def test_a_hint_for_each_todo_is_enough(root: Path):
    is_refused(root, TWO)


@pytest.mark.parametrize(
    ("text", "count"), [(None, 0), ("# Hints\n", 0), (TWO + "3. One more.\n", 3)]
)
def test_a_lesson_with_other_than_a_hint_for_each_todo_is_refused(root, text, count):
    line = GOOD.splitlines().index("%%writefile src/adding.py") + 1
    with pytest.raises(CourseError) as refused:
        is_refused(root, text)
    assert str(refused.value) == (
        f"course/lessons/00_adding.md:{line}: adding has 2 TODOs and {count} fuller hints: "
        "write one for each in course/lessons/hints.md"
    )

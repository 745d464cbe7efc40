"""Which exercises there are, found without importing their checks (which would import torch).

The checks of an exercise are a class in a file of its name: those of ``ring`` are the class
``TestRing`` in ``lab_02/ring.py``.
"""

import functools
import re
from pathlib import Path

from course.core import CourseError

CHECKS = Path(__file__).parents[1]
LESSONS = CHECKS.parent / "lessons"
ASKED = re.compile(r"^%check (\w+)$", re.MULTILINE)
HELPERS = ("__init__", "any_", "on_rank_")  # how the names of other files of a lab begin


@functools.cache
def exercises() -> dict[str, str]:
    """By name of the exercise: the pytest node that checks it, ``lab_NN/name.py::TestName``.

    In the order in which the lessons ask for them.
    """
    files = {
        path.stem: path
        for path in sorted(CHECKS.glob("lab_*/*.py"))
        if not path.stem.startswith(HELPERS)
    }
    asked = [name for name in _asked_for() if name in files]
    order = dict.fromkeys([*asked, *files])  # one that no lesson asks for is last
    return {name: f"{files[name]}::{_class_of(name)}" for name in order}


def _asked_for() -> list[str]:
    """The names in the lessons' `%check` cells, in order."""
    lessons = sorted(LESSONS.glob("[0-9]*.md"))
    return [name for lesson in lessons for name in ASKED.findall(lesson.read_text())]


def _class_of(exercise: str) -> str:
    return "Test" + "".join(word.capitalize() for word in exercise.split("_"))


def node_of(name: str) -> str:
    """The pytest node of one exercise; raises `CourseError` for a name that is none."""
    known = exercises()
    if name not in known:
        raise CourseError(
            f"There is no exercise {name!r}; there is {', '.join(known) or 'none yet'}."
        )
    return known[name]


def exercise_of(checks: object) -> str:
    """The exercise that an object of a class of checks is for."""
    return type(checks).__module__.rpartition(".")[2]

"""Where the checks of an exercise are, found without importing them (which would import torch).

They are a class in a file of its name: those of ``ring`` are ``TestRing`` in ``lab_02/ring.py``.
"""

import functools
from pathlib import Path

from course.exercises import exercise

CHECKS = Path(__file__).parents[1]
HELPERS = ("__init__", "any_", "on_rank_")  # how the names of a lab's other files begin


@functools.cache
def nodes() -> dict[str, str]:
    """Map each exercise to the pytest node that checks it, ``lab_NN/name.py::TestName``."""
    files = sorted(CHECKS.glob("lab_*/*.py"))
    return {
        path.stem: f"{path}::{_class_of(path.stem)}"
        for path in files
        if not path.stem.startswith(HELPERS)
    }


def node_of(name: str) -> str:
    """The pytest node of one exercise; raises `CourseError` for an unknown name."""
    return nodes()[exercise(name).name]


def _class_of(exercise: str) -> str:
    return "Test" + "".join(word.capitalize() for word in exercise.split("_"))


def exercise_of(checks: object) -> str:
    """The name of the exercise that an instance of a class of checks is for."""
    return type(checks).__module__.rpartition(".")[2]

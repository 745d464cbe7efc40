"""Find the checks of an exercise without importing them, which would import torch.

They are a class in a file named after the exercise: ``TestRing`` in ``lab_02/ring.py``.
"""

import functools
from pathlib import Path

from course.exercises import exercise

CHECKS = Path(__file__).parents[1]
HELPERS = ("__init__", "any_", "on_rank_")  # prefixes of the other files of a lab


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
    """The name of the exercise that `checks`, an instance of its class of checks, belongs to."""
    return type(checks).__module__.rpartition(".")[2]

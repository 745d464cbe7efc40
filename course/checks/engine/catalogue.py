"""Which exercises there are, found without importing their checks (which would import torch), and their hints."""

import ast
import functools
from collections.abc import Callable
from pathlib import Path

from course.core import CourseError

CHECKS = Path(__file__).parents[1]


@functools.cache
def exercises() -> dict[str, str]:
    """By name of the exercise: the pytest node that checks it, ``path/check_name.py::Class``."""
    found = {}
    for path in sorted(CHECKS.glob("lab_*/check_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and (name := _exercise(node)):
                found[name] = f"{path}::{node.name}"
    return found


def _exercise(node: ast.ClassDef) -> str | None:
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="exercise")], value=ast.Constant(value=str(name))):
                return name
    return None


def node_of(name: str) -> str:
    """The pytest node of one exercise; raises `CourseError` for a name that is none."""
    known = exercises()
    if name not in known:
        raise CourseError(
            f"There is no exercise {name!r}; there is {', '.join(known) or 'none yet'}."
        )
    return known[name]


def hint(text: str) -> Callable:
    """What to think about when the decorated check fails."""

    def mark(function: Callable) -> Callable:
        function.hint = text
        return function

    return mark

"""Explorables (a model, its picture, its controls), stills and the quiz."""

import importlib
import pkgutil

from course.explore import pictures
from course.explore.factory import EXPLORABLES
from course.explore.figures import figures
from course.explore.state import State

__all__ = ["EXPLORABLES", "Quiz", "State", "figures"]

for _file in pkgutil.iter_modules(pictures.__path__):  # each registers its explorable
    importlib.import_module(f"{pictures.__name__}.{_file.name}")


def __getattr__(name: str) -> object:
    """The explorable called `name`, or `Quiz`, which is imported on first use.

    `Quiz` needs Jupyter; models and pictures do not.
    """
    if name in EXPLORABLES:
        return EXPLORABLES[name]
    if name != "Quiz":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from course.explore.quiz import Quiz

    return Quiz


def __dir__() -> list[str]:
    """The names that Jupyter offers after ``explore.`` and Tab."""
    return ["Quiz", "State", "figures", *EXPLORABLES]

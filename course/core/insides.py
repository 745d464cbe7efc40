"""The insides of other libraries that the course builds on: each is asked for before it is used.

No release promises these names. One that is gone is said in one sentence, and not by a traceback.
Nor may something be put in the place of a name that is gone: nobody would call it, and nothing
would say so. A test lists all of these names, and what happens without them.
"""

from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Any

from course.core.errors import CourseError, UnknownTorch


def module(name: str) -> ModuleType:
    """A module of another library; raises `CourseError` where there is none of this name."""
    try:
        return import_module(name)
    except ImportError as error:
        library = import_module(name.partition(".")[0])
        raise unknown(library, f"has no {name}") from error


def inside(home: Any, name: str) -> Any:
    """What a class, a module or an object of another library has under a name.

    Raises `CourseError` where it has none; of torch, `UnknownTorch`.
    """
    try:
        return getattr(home, name)
    except AttributeError as error:
        where = getattr(home, "__name__", type(home).__name__).rpartition(".")[2]
        raise unknown(home, f"has no {where}.{name}") from error


def replace(home: Any, name: str, ours: Any) -> None:
    """Put `ours` under a name of a class or a module; raises `CourseError` where it has none."""
    inside(home, name)
    setattr(home, name, ours)


def replace_if_there(home: Any, name: str, ours: Any) -> None:
    """Put `ours` under a name whose loss costs time and nothing else."""
    if hasattr(home, name):
        setattr(home, name, ours)


def unknown(home: Any, what: str) -> CourseError:
    """One sentence on a library that is not as the course knows it, and what to do."""
    kind = home if hasattr(home, "__name__") else type(home)
    library = getattr(kind, "__module__", kind.__name__).partition(".")[0]
    return (UnknownTorch if library == "torch" else CourseError)(
        f"{library} {version(library)} {what}, which the course builds on: "
        "install the release that the course was tested with, as `make` does."
    )

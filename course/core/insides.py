"""Access the internals of other libraries, and check that each one is there before it is used.

No release promises these names. If one is gone, the user reads one sentence instead of a traceback.
A name that is missing is never set either: our function would not be called, and nothing would show
that. A test lists all of these names, and what happens without each of them.
"""

from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Any

from course.core.errors import CourseError, UnknownTorch


def module(name: str) -> ModuleType:
    """A module of another library; raises `CourseError` if there is none of this name."""
    try:
        return import_module(name)
    except ImportError as error:
        library = import_module(name.partition(".")[0])
        raise unknown(library, f"has no {name}") from error


def inside(home: Any, name: str) -> Any:
    """The attribute `name` of a class, a module or an object of another library.

    Raises `CourseError` if it has none, which for torch is an `UnknownTorch`.
    """
    try:
        return getattr(home, name)
    except AttributeError as error:
        where = getattr(home, "__name__", type(home).__name__).rpartition(".")[2]
        raise unknown(home, f"has no {where}.{name}") from error


def replace(home: Any, name: str, ours: Any) -> None:
    """Replace an attribute of a class or a module; raises `CourseError` if it has none."""
    inside(home, name)
    setattr(home, name, ours)


def replace_if_there(home: Any, name: str, ours: Any) -> None:
    """Replace an attribute if there is one; for replacements that only save time."""
    if hasattr(home, name):
        setattr(home, name, ours)


def unknown(home: Any, what: str) -> CourseError:
    """An error that says how a library differs from what the course needs, and the fix."""
    kind = home if hasattr(home, "__name__") else type(home)
    library = getattr(kind, "__module__", kind.__name__).partition(".")[0]
    return (UnknownTorch if library == "torch" else CourseError)(
        f"{library} {version(library)} {what}, which the course builds on: "
        "install the release that the course was tested with, as `make` does."
    )

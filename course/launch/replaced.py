"""In the launcher: put our own in the place of another library's insides, if they are there.

No release promises these names. One that is gone would be set all the same, and nobody would call
what was set: ranks would start beside the supervisor, and nothing would say so.
"""

from importlib.metadata import version

from course.core import CourseError


def replace(home: object, name: str, ours: object) -> None:
    """Put `ours` under a name of a class or a module; raises `CourseError` where it has none."""
    if not hasattr(home, name):
        raise CourseError(unknown(home, f"has no {home.__name__.rpartition('.')[2]}.{name}"))
    setattr(home, name, ours)


def unknown(home: object, what: str) -> str:
    """A sentence for a library that is not as the course's launcher knows it, and what to do."""
    library = getattr(home, "__module__", home.__name__).partition(".")[0]
    return (
        f"{library} {version(library)} {what}, which the course needs to start ranks: "
        "install the release that the course was tested with, as `make` does, "
        "or start the command in a terminal."
    )

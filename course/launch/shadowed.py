"""In the supervisor: find why ranks cannot be forked, mostly a file named like a loaded module.

A new interpreter would import `datasets.py` next to the script. A fork of the warm server has a
library of that name in memory, and would use the library. The rule also covers a file that a new
interpreter would not import either, such as `sys.py`, because a new interpreter is always right.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from importlib import machinery
from types import ModuleType

LOADERS = (
    (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
    (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES),
    (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
)


# The script itself, and what a fork imports again at its start (`forked.begin`).
NEVER_SHADOWED = {"__main__", "sitecustomize"}


def python_path(entries: str) -> list[str]:
    """The folders in a PYTHONPATH, as absolute paths."""
    return [os.path.abspath(entry) for entry in entries.split(os.pathsep)] if entries else []


def files(folders: Iterable[str], loaded: Mapping[str, ModuleType]) -> Iterator[str]:
    """The modules and packages in `folders` that have the name of a module from elsewhere.

    `loaded` has the modules in memory by name. A folder without an `__init__.py` is never among the
    results, because Python prefers a module or a package in any other place.
    """
    for folder in folders:
        for name in sorted(_names_before_dot(folder) & loaded.keys() - NEVER_SHADOWED):
            spec = machinery.FileFinder(folder, *LOADERS).find_spec(name)
            if spec and spec.origin and _origin(loaded[name]) != os.path.realpath(spec.origin):
                yield spec.origin


def _names_before_dot(folder: str) -> set[str]:
    """The names in a folder, each up to its first dot."""
    try:
        return {name.partition(".")[0] for name in os.listdir(folder)}
    except OSError:  # it is a ZIP file, or not there
        return set()


def _origin(module: ModuleType) -> str:
    """The file of a module in memory, "" if it has none."""
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    return os.path.realpath(origin) if origin else ""


def note_on_variables(names: list[str]) -> str:
    """A note for the learner: these variables have changed since the course was loaded."""
    are = "is" if len(names) == 1 else "are"
    return (
        f"{', '.join(names)} {are} not as when the course was loaded. So the ranks of this run "
        "start as new processes, as in a terminal, which takes a few seconds more. Restart the "
        "kernel with the new value, and they start faster."
    )


def note_on_file(file: str) -> str:
    """A note for the learner: this file has the name of a module in memory."""
    return (
        f"{file.removeprefix(os.getcwd() + os.sep)} has the name of a module that ranks usually "
        "find in memory. So the ranks of this run start as new processes, as in a terminal, which "
        "takes a few seconds more. With another name they would start faster."
    )

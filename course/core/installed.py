"""Find the files that the installed package has besides code: labs, solutions and images."""

import os
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

PACKAGE = "multi-gpu-course"
SHARED = f"share/{PACKAGE}/"  # where the wheel puts labs, solutions and images


def shared_files() -> dict[str, Path]:
    """The notebooks and images of the installed package, by path in the course's folder."""
    try:
        listed = files(PACKAGE) or []
    except PackageNotFoundError:
        return {}
    named = {path.as_posix().partition(SHARED)[2]: path.locate() for path in listed}
    return {name: Path(os.path.normpath(path)) for name, path in named.items() if name}

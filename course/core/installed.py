"""What pip has installed: versions of packages, and the course's labs, solutions and images."""

import os
from importlib import metadata
from pathlib import Path

PACKAGE = "multi-gpu-course"
SHARED = f"share/{PACKAGE}/"  # where the wheel puts labs, solutions and images


def version(package: str) -> str | None:
    """The installed version of a package, None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def shared_files() -> dict[str, Path]:
    """The notebooks and images of the installed package, by path in the course's folder."""
    try:
        listed = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return {}
    named = {path.as_posix().partition(SHARED)[2]: path.locate() for path in listed}
    return {name: Path(os.path.normpath(path)) for name, path in named.items() if name}

"""Where the labs are: in the clone, or for an installed package in a copy that the learner owns."""

import shutil
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from course.core import ROOT, CourseError

PACKAGE = "multi-gpu-course"
SHARED = f"share/{PACKAGE}/"  # where the wheel puts labs, solutions and images


def lab_folder(here: Path) -> Path:
    """The folder with `labs/` in it: the clone's, or ``multi-gpu-course`` in the folder `here`.

    That copy is made of what the wheel brought. Files that are there already stay as they are.
    Raises `CourseError` where there is neither, or where a file cannot be written.
    """
    if (ROOT / "labs" / "start.ipynb").is_file():
        return ROOT
    found = brought()
    if not found:
        raise CourseError(
            "This installation has no labs: install the course from its repository with pip, or "
            "start this command in a clone."
        )
    folder = here / PACKAGE
    try:
        for name, path in found.items():
            if not (folder / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, folder / name)
        for part in ("labs", "solutions"):
            (folder / part / "src").mkdir(exist_ok=True)
    except OSError as error:
        raise CourseError(
            f"The labs cannot be written to {folder}: {error.strerror}. "
            "Start this command in a folder of your own."
        ) from None
    return folder


def brought() -> dict[str, Path]:
    """The notebooks and images of the installed package, by their place in the course's folder."""
    try:
        listed = files(PACKAGE) or []
    except PackageNotFoundError:
        return {}
    named = {path.as_posix().partition(SHARED)[2]: path.locate() for path in listed}
    return {name: Path(path) for name, path in named.items() if name}

"""Find the labs: in the clone or, if the package is installed, in the learner's own copy.

Also find the solved notebooks that nobody has changed.
"""

import shutil
from pathlib import Path

from course.commands.update_clone import Clone
from course.core import ROOT, CourseError, installed


def lab_folder(here: Path) -> Path:
    """The folder that contains `labs/`: the clone, or ``multi-gpu-course`` in the folder `here`.

    The latter is filled with the files of the wheel; files that exist already stay as they are.
    Raises `CourseError` if there is neither a clone nor a wheel with labs, or if a file cannot be
    written.
    """
    if (ROOT / "labs" / "start.ipynb").is_file():
        return ROOT
    source = installed.shared_files()
    if not source:
        raise CourseError(
            "This installation has no labs: install the course from its repository with pip, or "
            "start this command in a clone."
        )
    folder = here / installed.PACKAGE
    try:
        for name, path in source.items():
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


def unchanged_solutions(folder: Path) -> list[Path]:
    """The solved notebooks in `folder` that are the same as in the last commit or in the wheel.

    The list is empty in a clone where git does not work.
    """
    if folder == ROOT:
        try:
            return [ROOT / name for name in Clone(ROOT).unedited("solutions/*.ipynb")]
        except CourseError:
            return []
    return [
        folder / name
        for name, path in installed.shared_files().items()
        if name.startswith("solutions/") and (folder / name).read_bytes() == path.read_bytes()
    ]

"""Find the labs: in the clone, or for an installed package in a copy that the learner owns.

Also tell which of its solved notebooks are as the course brought them.
"""

import shutil
from pathlib import Path

from course.commands.update_clone import Clone
from course.core import ROOT, CourseError, installed


def lab_folder(here: Path) -> Path:
    """The folder with `labs/` in it: the clone's, or ``multi-gpu-course`` in the folder `here`.

    That copy is made of what the wheel brought. Files that are there already stay as they are.
    Raises `CourseError` if there is neither, or if a file cannot be written.
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


def as_brought(folder: Path) -> list[Path]:
    """The solutions in the labs' folder that are as they came, by git or by the wheel's own files.

    Files that somebody else put there, or changed, are not among them. If neither can tell, as in a
    clone without git, the list is empty.
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

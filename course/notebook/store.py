"""Read and write small JSON files in the folder ``kept`` next to the learner's scripts.

A file is written atomically. A file that cannot be read is renamed, so nothing is lost.
"""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from course.core import write_atomically

SRC = Path("src")  # the learner's scripts, next to the notebook
Record = TypeVar("Record")
# What parsing a broken file may raise: deeply nested brackets raise the last of them.
BROKEN = (ValueError, TypeError, KeyError, RecursionError)


def now() -> str:
    """The local time in ISO format, to the second."""
    return datetime.now().isoformat(timespec="seconds")


def read(path: Path, parse: Callable[[str], Record | None], what: str) -> Record | None:
    """Read and `parse` a file; None if it does not exist or is broken.

    A broken file is renamed, and a printed note says that `what` kept from here on: "guesses are".
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError):
        text = ""
    record = parse(text)
    if record is None:
        rename_as_broken(
            path, f"{path} could not be read. It is now {{}}, and {what} kept from here on."
        )
    return record


def rename_as_broken(path: Path, note: str) -> None:
    """Rename a file, and print the note with the new name for its ``{}``."""
    renamed = path.with_name(f"{path.name}.broken-{datetime.now():%Y-%m-%d-%H%M%S}")
    try:
        path.rename(renamed)
    except OSError as error:
        print(f"{path} cannot be read and is left out: {error.strerror}.")
        return
    print(note.format(renamed.name))


def write(path: Path, record: dict, lost: str) -> None:
    """Write a record as JSON for `read`.

    If that fails, print a sentence that begins with `lost` and gives the reason. Nothing is raised,
    because the learner's cell has already done its own work.
    """
    try:
        write_atomically(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    except (OSError, UnicodeEncodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its text is not UTF-8"
        print(f"{lost}: {path} cannot be written: {reason}.")

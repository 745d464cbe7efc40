"""Small JSON files in the folder ``kept`` next to the learner's scripts.

Each is written whole or not at all. One that cannot be read is put aside, so that nothing is lost.
"""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from course.core import write_atomically

SRC = Path("src")  # the learner's scripts, next to the notebook
Record = TypeVar("Record")


def now() -> str:
    """The time, to the second."""
    return datetime.now().isoformat(timespec="seconds")


def read(path: Path, parse: Callable[[str], Record | None], what: str) -> Record | None:
    """What `parse` makes of a file; None without a file that it can read.

    A broken file is put aside, and a sentence says that `what` is kept from here on.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError):
        text = ""
    record = parse(text)
    if record is None:
        put_aside(path, f"{path} could not be read. It is now {{}}, and {what} kept from here on.")
    return record


def put_aside(path: Path, note: str) -> None:
    """Give a file another name, and print the note, with the new name in the place of ``{}``."""
    aside = path.with_name(f"{path.name}.broken-{datetime.now():%Y-%m-%d-%H%M%S}")
    try:
        path.rename(aside)
    except OSError as error:
        print(f"{path} cannot be read and is left out: {error.strerror}.")
        return
    print(note.format(aside.name))


def write(path: Path, record: dict, lost: str) -> None:
    """Write what `read` will read.

    If that fails, a sentence begins with `lost` and says why. Nothing is raised, since the learner
    came for something else.
    """
    try:
        write_atomically(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    except (OSError, UnicodeEncodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "its text is not UTF-8"
        print(f"{lost}: {path} cannot be written: {why}.")

"""Where the course lies, and how to write a file whole or not at all."""

import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # the folder of course/, labs/ and solutions/
RUNS = Path("course-runs")  # of what runs wrote, in the current folder; `runs` is the user's own


def write_whole(path: Path, text: str) -> None:
    """Write `text` through a temporary file beside `path`; the folder is made if need be.

    The old content stays where this raises: `OSError` (a full disk), `UnicodeEncodeError`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(name, 0o644)  # mkstemp gives a file to its owner alone
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise

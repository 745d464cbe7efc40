"""The course's folders, and a way to write a file whole or not at all."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # the folder that holds course/, labs/ and solutions/
RUNS = Path("course-runs")  # where runs write, below the current folder; `runs` may be a user's


def write_whole(path: Path, text: str) -> None:
    """Write `text` through a temporary file next to `path`; make the folder if need be.

    The old content stays if this raises: `OSError` (a full disk), `UnicodeEncodeError`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(name, 0o644)  # mkstemp lets only the owner read it
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


@dataclass(frozen=True)
class FolderMark:
    """A file by which a command recognizes a folder that it has made, and so may replace."""

    name: str
    content: str

    def write(self, folder: Path) -> None:
        """Mark a folder."""
        (folder / self.name).write_text(self.content)

    def may_replace(self, folder: Path) -> bool:
        """Whether a folder is marked, or empty, or not there."""
        mark = folder / self.name
        if mark.is_file():
            return not folder.is_symlink() and mark.read_bytes() == self.content.encode()
        return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))

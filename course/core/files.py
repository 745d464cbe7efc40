"""The course's folders, how a learner's script is read, and an atomic file write."""

import contextlib
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # the folder that holds course/, labs/ and solutions/
KEPT = "kept"  # next to a learner's scripts: what the notebook keeps; git ignores it
RUNS = Path("course-runs")  # the folder for runs, in the current one; `runs` may be a user's own


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to `path` atomically, through a temporary file; make the folder if needed.

    If this raises `OSError` (a full disk) or `UnicodeEncodeError`, the old content stays. An
    existing file keeps its mode and owner, and a link to it stays a link. A device, a pipe, or the
    file that this process prints to is never replaced; the text is written into it.
    """
    if path.exists() and (stream := _stream(path)) is not None:
        with open(stream, "w", encoding="utf-8", newline="\n", closefd=stream == path) as file:
            file.write(text)
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            if path.exists():
                _copy_mode_and_owner(path, temporary)
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _stream(path: Path) -> Path | int | None:
    """What to open if `path` must not be replaced; None if it is a file like any other."""
    for descriptor in (1, 2):  # /dev/stdout and /dev/stderr lead to these
        with contextlib.suppress(OSError):  # it is closed
            if os.path.samefile(path, descriptor):
                return descriptor
    return None if path.is_file() else path


def _copy_mode_and_owner(old: Path, new: Path) -> None:
    status = old.stat()
    with contextlib.suppress(OSError):  # only root may give a file to another user
        os.chown(new, status.st_uid, status.st_gid)
    os.chmod(new, stat.S_IMODE(status.st_mode))


def read_script(path: Path) -> str:
    """The text of a learner's script; a byte that is not UTF-8 becomes a replacement mark."""
    return path.read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True)
class FolderMark:
    """A file by which a command recognizes a folder that it has made, and so may replace."""

    name: str
    content: str

    def write(self, folder: Path) -> None:
        """Mark a folder."""
        (folder / self.name).write_text(self.content)

    def is_on(self, folder: Path) -> bool:
        """Whether a folder is marked; a link to a marked folder does not count."""
        with contextlib.suppress(OSError):
            content = (folder / self.name).read_bytes()
            return content == self.content.encode() and not folder.is_symlink()
        return False

    def may_replace(self, folder: Path) -> bool:
        """Whether a folder is marked, or empty, or not there."""
        if self.is_on(folder) or not folder.exists():
            return True
        return folder.is_dir() and not any(folder.iterdir())

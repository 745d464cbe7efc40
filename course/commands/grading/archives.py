"""Read the scripts and notebooks of a submission from folders and archives; unpack nothing.

A submission may contain anything. So each file is read up to a limit, nothing is written, links are
not followed, and whatever goes wrong with a file is reported for that file.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO

from course.commands.grading.names import ARCHIVES, printable
from course.core import words

MAX_SCRIPT_BYTES, MAX_NOTEBOOK_BYTES = 200 * 2**10, 10 * words.MIB  # our largest: 6 kB, 0.5 MB
MAX_BYTES = 100 * words.MIB  # read of one submission
MAX_MEMBERS = 50_000  # files and folders of one submission
MAX_DEPTH = 3  # archives inside one another
GUESS = re.compile(r"(^|/)kept/guesses/[a-z][a-z0-9_]*\.json$")  # a learner's guesses
MAX_GUESS_BYTES = 10 * 2**10
COURSE_FOLDERS = ("solutions", "course", "tests")  # folders of the course, without answers
UNREADABLE = (".7z", ".rar", ".gz", ".bz2", ".xz", ".zst")  # archives that we cannot read
DECOMPRESS = {".gz": gzip.open, ".tgz": gzip.open, ".bz2": bz2.open, ".tbz2": bz2.open}
DECOMPRESS |= {".xz": lzma.open, ".txz": lzma.open}


class Contents:
    """The contents of a submission.

    `files` maps paths in the submission to the bytes of its scripts, notebooks and guesses.
    `problems` has phrases that say what could not be read and why. `left_out` counts the scripts in
    folders of the course itself. `newest` is the modification time of the newest file that was read
    from this disk, except guesses, in seconds since the epoch, or 0.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.problems: list[str] = []
        self.left_out = 0
        self.newest = 0.0
        self._left = MAX_BYTES
        self._members = 0

    def read(self, path: Path, name: str) -> None:
        """Read a folder or a file; messages and `files` call it `name`."""
        try:
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                self._folder(path, name)
            elif stat.S_ISREG(mode):
                self._file_on_disk(path, name)
            else:
                self._report(name, "it is a link or a device, which is not read")
        except Exception as error:
            self._report(name, why(error))

    def _folder(self, folder: Path, name: str) -> None:
        for at, folders, files in os.walk(folder):
            below = Path(at).relative_to(folder)
            folders[:] = sorted(child for child in folders if not child.startswith("."))
            self._count(len(folders) + len(files))
            for file in sorted(files):
                path, shown = Path(at, file), (Path(name) / below / file).as_posix()
                if stat.S_ISREG(path.lstat().st_mode):
                    self._file_on_disk(path, shown)
                elif _limit(file):
                    self._report(shown, "it is a link or a device, which is not read")

    def _file_on_disk(self, path: Path, name: str) -> None:
        if self._read_file(name, lambda: path.open("rb")) and not GUESS.search(name):
            self.newest = max(self.newest, path.stat().st_mtime)

    def _read_file(self, name: str, open_file: Callable[[], IO[bytes]], depth: int = 0) -> bool:
        """Read a file if its kind and its folder count; return whether they do."""
        name = name.replace("\\", "/")  # the separator of some programs on Windows
        limit = _limit(name)
        if not limit or _is_hidden(name):
            return False
        if _is_of_the_course(name):
            self.left_out += name.endswith(".py")
            return False
        try:
            with open_file() as file:
                if ARCHIVES.search(name):
                    self._unpack(name, file, depth)
                elif name.lower().endswith(UNREADABLE):
                    self._report(name, "an archive must be a .zip or a .tar.gz")
                else:
                    self.files[name] = self._bytes(file, limit)
        except Exception as error:  # a broken or hostile file can raise anything
            self._report(name, why(error))
        return True

    def _unpack(self, name: str, file: IO[bytes], depth: int) -> None:
        if depth == MAX_DEPTH:
            raise ValueError(f"it is inside {depth} other archives")
        if depth:  # or each seek would decompress the archive from its start
            file = io.BytesIO(self._bytes(file, MAX_BYTES))
        elif file.seek(0, os.SEEK_END) > MAX_BYTES:
            raise ValueError(f"it has more than {words.size(MAX_BYTES)}: ask for `labs/src` alone")
        file.seek(0)
        if name.lower().endswith(".zip"):
            with zipfile.ZipFile(file) as archive:
                self._count(len(archive.infolist()))
                for member in archive.infolist():
                    open_file = partial(archive.open, member)
                    self._read_file(f"{name}/{member.filename}", open_file, depth + 1)
        else:
            decompress = DECOMPRESS.get(Path(name.lower()).suffix, lambda file: file)
            content = io.BytesIO(self._bytes(decompress(file), MAX_BYTES))
            with tarfile.open(fileobj=content) as archive:
                for member in archive:
                    self._count(1)
                    if member.isreg():
                        open_file = partial(archive.extractfile, member)
                        self._read_file(f"{name}/{member.name}", open_file, depth + 1)

    def _bytes(self, file: IO[bytes], limit: int) -> bytes:
        data = file.read(min(limit, self._left) + 1)
        self._left = max(0, self._left - len(data))
        if len(data) > limit:
            raise ValueError(f"it has more than {words.size(limit)}")
        if self._left == 0:
            raise ValueError(f"the submission has more than {words.size(MAX_BYTES)}")
        return data

    def _count(self, members: int) -> None:
        self._members += members
        if self._members > MAX_MEMBERS:
            raise ValueError(f"it holds more than {MAX_MEMBERS:,} files and folders")

    def _report(self, name: str, why: str) -> None:
        self.problems.append(f"{printable(name)} was not read: {why}")


def _limit(name: str) -> int:
    """The most bytes to read of a file with this name; 0 if such files do not count."""
    name = name.lower()
    if name.endswith(".py"):
        return MAX_SCRIPT_BYTES
    if GUESS.search(name):
        return MAX_GUESS_BYTES
    if name.endswith(".ipynb"):
        return MAX_NOTEBOOK_BYTES
    return MAX_BYTES if ARCHIVES.search(name) or name.endswith(UNREADABLE) else 0


def _is_hidden(name: str) -> bool:
    """Whether a part of the path is hidden, or a folder that macOS adds to archives."""
    parts = name.split("/")[1:]  # the first part is the submission's own name
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


def _is_of_the_course(name: str) -> bool:
    """Whether the path leads into the course's own folders; `labs` is the learner's."""
    folders = name.split("/")[1:-1]
    if "labs" in folders:
        folders = folders[folders.index("labs") :]
    return any(folder in COURSE_FOLDERS for folder in folders)


def why(error: Exception) -> str:
    """Explain to a teacher why a file cannot be read."""
    match error:
        case RuntimeError() if "password" in str(error) or "encrypted" in str(error):
            return "it is protected by a password"
        case NotImplementedError():
            return "it was packed in a way that Python cannot read, such as Deflate64"
        case RecursionError() | MemoryError():
            return "it is too deep or too large"
        case zlib.error() | lzma.LZMAError() | EOFError():
            return "it is damaged"
        case ValueError() | OSError() | zipfile.BadZipFile() | tarfile.TarError():
            return printable(str(error)).rstrip(".") or type(error).__name__
        case _:
            return printable(f"{type(error).__name__}: {error}").rstrip(".")

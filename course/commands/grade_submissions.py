"""What a class handed in: folders, zip files and notebooks become folders of scripts."""

import ast
import hashlib
import json
import re
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from course.checks import exercises
from course.core import CourseError, write_whole

WRITES = re.compile(r"%%writefile +src/(\w+\.py)\s*\n")
LARGEST = 50 * 2**20  # bytes of a zip file's content: scripts and notebooks are far smaller


@dataclass(frozen=True)
class Submission:
    """One learner's scripts, copied to `src`; `problem` says why there are none."""

    learner: str
    src: Path
    problem: str = ""

    @property
    def exercises(self) -> list[str]:
        """The exercises of which there is a script."""
        return [name for name in exercises() if (self.src / f"{name}.py").is_file()]

    def digest(self) -> str:
        """What tells these scripts from others: their names and texts, as a hash."""
        found = hashlib.sha256()
        for path in sorted(self.src.glob("*.py")):
            found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return found.hexdigest()


def collect(folder: Path, work: Path) -> list[Submission]:
    """The submissions in a folder, one for each entry; their scripts are copied below `work`.

    An entry is a folder, a zip file of one, or a notebook, and its name is the learner's. Raises
    `CourseError` if there is none.
    """
    entries = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    found = [path for path in entries if path.is_dir() or path.suffix in (".zip", ".ipynb")]
    if not found:
        kinds = "a folder of scripts, a zip file or a notebook for each learner"
        raise CourseError(f"There are no submissions in {folder}: it should hold {kinds}.")
    names = [path.name if path.is_dir() else path.stem for path in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CourseError(f"{folder} holds more than one submission of {', '.join(twice)}.")
    return [_copied(path, name, work / name) for path, name in zip(found, names, strict=True)]


def _copied(path: Path, learner: str, work: Path) -> Submission:
    shutil.rmtree(work, ignore_errors=True)
    src = work / "src"
    src.mkdir(parents=True)
    try:
        if path.suffix == ".zip":
            _unpack(path, work / "unpacked")
            _take(work / "unpacked", src)
        elif path.is_dir():
            _take(path, src)
        else:
            _take_cells(path, src)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        return Submission(learner, src, f"{path.name} cannot be read: {error}")
    if not any(src.glob("*.py")):
        return Submission(learner, src, f"{path.name} holds no script and no notebook that has one")
    return Submission(learner, src)


def _unpack(path: Path, folder: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > LARGEST:
            raise ValueError("it holds more than 50 MiB")
        archive.extractall(folder)  # which leads no member out of the folder


def _take(folder: Path, src: Path) -> None:
    """Copy the scripts of a folder, wherever they lie in it; one of a notebook's cells yields."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    for path in paths:
        if path.suffix == ".ipynb" and ".ipynb_checkpoints" not in path.parts:
            _take_cells(path, src)
    for path in paths:
        if path.suffix == ".py":
            shutil.copyfile(path, src / path.name)


def _take_cells(path: Path, src: Path) -> None:
    """Write what the `%%writefile src/NAME.py` cells of a notebook would write; run nothing."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code" and (match := WRITES.match(text)):
            write_whole(src / match[1], text[match.end() :].rstrip("\n") + "\n")


def alike(
    submissions: Iterable[Submission], handed_out: dict[str, str]
) -> dict[str, list[list[str]]]:
    """By exercise: the groups of learners whose scripts are the same program.

    Comments, docstrings and blank space do not count; a script as it was handed out is not listed.
    """
    groups: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for submission in submissions:
        for name in submission.exercises:
            text = (submission.src / f"{name}.py").read_text(errors="replace")
            if _program(text) != _program(handed_out.get(name, "")):
                groups[name][_program(text)].append(submission.learner)
    return {
        name: same
        for name, by_program in groups.items()
        if (same := [learners for learners in by_program.values() if len(learners) > 1])
    }


def _program(text: str) -> str:
    """The program of a script, apart from how it is written down."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        ):
            first = body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                del body[0]
    return ast.dump(tree)

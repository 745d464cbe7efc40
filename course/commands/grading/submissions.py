"""Collect the submissions of a class: from any folder, make one folder for each learner.

Every entry counts, readable or not, so that no learner is lost.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from course.commands import check_given
from course.commands.grading.archives import GUESS, Contents, why
from course.commands.grading.names import Owner, file_name, owner, printable, shortened
from course.commands.grading.roster import Person, Roster
from course.core import CourseError, FolderMark, lesson_marks, read_script, words
from course.exercises import exercises
from course.notebook import guesses as guess_files

SCRIPT = re.compile(r"[A-Za-z_]\w{0,99}\.py")
LAB_FILE = re.compile(r"(^|/)labs/(src/[^/]+\.py|[^/]+\.ipynb)$")
MARK = FolderMark("course-grade.txt", "`course grade` has made this folder, and replaces it.\n")
MAX_PROBLEMS = 5  # problems listed per submission
EMPTY = "it holds no script that is named as an exercise, such as ring.py, and no notebook of a lab"
ABSENT, STRANGER = "handed in nothing", "not in the roster"


@dataclass(frozen=True)
class Submission:
    """One learner's scripts, copied to `src`; `person` is the learner in the roster, if found.

    `problem` says what could not be read. `notes` say more, such as which of two files was taken.
    `time` is when the newest file was modified, in seconds since the epoch, or 0 if none was read.
    `late` is true if Canvas says so. `guesses` are by question.
    """

    learner: str
    src: Path
    problem: str = ""
    notes: Sequence[str] = ()
    time: float = 0.0
    late: bool = False
    person: Person | None = None
    guesses: Mapping[str, guess_files.Question] = field(default_factory=dict)

    @property
    def exercises(self) -> list[str]:
        """The exercises for which there is a script."""
        return [name for name in exercises() if (self.src / f"{name}.py").is_file()]

    def text(self, name: str) -> str:
        """The script of one exercise."""
        return read_script(self.src / f"{name}.py")

    def digest(self) -> str:
        """A hash of the names and texts of these scripts."""
        sha = hashlib.sha256()
        for path in sorted(self.src.glob("*.py")):
            sha.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return sha.hexdigest()


def collect(folder: Path, work: Path, roster: Roster | None = None) -> list[Submission]:
    """The submissions in a folder, and an empty one for each learner of the roster without any.

    Their scripts are copied into `work`, in place of older ones. Entries of the same owner are one
    submission. Raises `CourseError` if `folder` is empty, or if `work` holds anything else.
    """
    parts = _entries_by_owner(folder, roster)
    missing = [person for person in roster.people if person not in parts] if roster else []
    parts |= {person: [] for person in missing}
    names = _unique_names(parts)
    if not MARK.may_replace(work):
        raise CourseError(
            f"{work} is there and holds something else: give another folder to --out."
        )
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    MARK.write(work)
    submissions = [
        _collect_one(parts[key], names[key], work / file_name(names[key]), key) for key in parts
    ]
    if roster is None:
        return submissions
    known = [submission for submission in submissions if submission.person]
    known.sort(key=lambda submission: submission.person.row)
    strangers = [submission for submission in submissions if not submission.person]
    return known + [
        replace(submission, notes=[*submission.notes, STRANGER]) for submission in strangers
    ]


Key = Person | tuple[str, str]  # the owner of an entry: a person, or a name and a number


def _entries_by_owner(folder: Path, roster: Roster | None) -> dict[Key, list[tuple[Path, Owner]]]:
    """The entries of the folder by owner."""
    parts: dict[Key, list[tuple[Path, Owner]]] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or (roster and os.path.abspath(path) == roster.path):
            continue
        entry_owner = owner(path.name, path.is_dir(), is_clone=(path / ".git").exists())
        person = roster.find(entry_owner) if roster else None
        key = person or (entry_owner.learner, entry_owner.number)
        parts.setdefault(key, []).append((path, entry_owner))
    if not parts:
        kinds = "a folder of scripts, an archive or a notebook for each learner"
        raise CourseError(f"There are no submissions in {folder}: it should hold {kinds}.")
    return parts


def _unique_names(keys: Iterable[Key]) -> dict[Key, str]:
    """A name for each learner, all of them different."""
    names: dict[Key, str] = {}
    for key in keys:
        name, number = (key.name, key.id) if isinstance(key, Person) else key
        name = first = shortened(name)
        if name in names.values() and number:
            name = first = f"{name} ({shortened(number)})"
        count = 1
        while name in names.values():
            count += 1
            name = f"{first} ({count})"
        names[key] = name
    return names


def _collect_one(
    parts: Sequence[tuple[Path, Owner]], learner: str, work: Path, key: Key
) -> Submission:
    contents = Contents()
    for path, entry_owner in parts:
        contents.read(path, entry_owner.file or entry_owner.learner)
    src = work / "src"
    src.mkdir(parents=True)
    scripts, notes = chosen(contents)
    for name, text in scripts.items():
        (src / name).write_bytes(text)
    if len(parts) > 1 and not any(entry_owner.number for _, entry_owner in parts):
        notes.append(f"taken together: {' and '.join(printable(path.name) for path, _ in parts)}")
    person = key if isinstance(key, Person) else None
    submission = Submission(
        learner=learner,
        src=src,
        problem=_problem(contents, scripts) if parts else "",
        notes=notes if parts else [ABSENT],
        time=contents.newest,
        late=any(entry_owner.late for _, entry_owner in parts),
        person=person,
        guesses=_guesses(contents),
    )
    check_given.add_missing(src, submission.exercises)
    return submission


def _guesses(contents: Contents) -> dict[str, guess_files.Question]:
    """The guesses by question; of two files on one question, the first with a guess counts."""
    read: dict[str, guess_files.Question] = {}
    for path in sorted(filter(GUESS.search, contents.files)):
        question = guess_files.parse(contents.files[path].decode("utf-8", "replace"))
        if question and (question.name not in read or read[question.name].guess is None):
            read[question.name] = question
    return read


def _problem(contents: Contents, scripts: dict[str, bytes]) -> str:
    problems = list(contents.problems)
    if not problems and not any(PurePosixPath(name).stem in exercises() for name in scripts):
        left = f" ({words.plural(contents.left_out, 'script')} of the course itself not counted)"
        problems.insert(0, EMPTY + (left if contents.left_out else ""))
    if len(problems) > MAX_PROBLEMS:
        problems[MAX_PROBLEMS - 1 :] = [
            f"and so {words.plural(len(problems) - MAX_PROBLEMS + 1, 'more file')}"
        ]
    return "; ".join(problems)


@dataclass(frozen=True)
class Candidate:
    """A script in a submission: the `name` of its file, its `text`, and `where` it was found."""

    name: str
    text: bytes
    where: str
    in_cell: bool = False

    @property
    def rank(self) -> tuple:
        """The sort key: of several candidates, the smallest is taken.

        A script that the learner changed comes before one as it was handed out, a script before a
        cell that would write it, and a file before others in deeper folders.
        """
        exercise = exercises().get(self.name.removesuffix(".py"))
        blank = exercise is not None and exercise.is_blank(self.text.decode("utf-8", "replace"))
        return blank, self.in_cell, self.where.count("/"), self.where


def chosen(contents: Contents) -> tuple[dict[str, bytes], list[str]]:
    """The scripts to judge, by name, and notes on which file was taken if there were several.

    If there is a folder `labs`, only its notebooks and the scripts in its `src` count. Otherwise
    all notebooks count, and the scripts of each folder that contains one of an exercise.
    """
    paths = set(contents.files)
    in_labs = {path for path in paths if LAB_FILE.search(path)}
    if in_labs:
        paths = in_labs
    else:
        folders = {
            PurePosixPath(path).parent for path in paths if PurePosixPath(path).stem in exercises()
        }
        paths = {
            path
            for path in paths
            if path.lower().endswith(".ipynb") or PurePosixPath(path).parent in folders
        }
    by_name: dict[str, list[Candidate]] = {}
    for path in sorted(paths):
        for candidate in _candidates(path, contents):
            by_name.setdefault(candidate.name, []).append(candidate)
    taken, notes = {}, []
    for name, candidates in by_name.items():
        if len({candidate.text for candidate in candidates}) > 1:
            candidates.sort(key=lambda candidate: candidate.rank)
            others = [
                candidate.where
                for candidate in candidates[1:]
                if candidate.text != candidates[0].text
            ]
            if PurePosixPath(name).stem in exercises():
                rest = " and ".join(map(printable, others))
                notes.append(f"{name} was taken from {printable(candidates[0].where)}, not {rest}")
        taken[name] = candidates[0].text
    return taken, notes


def _candidates(path: str, contents: Contents) -> list[Candidate]:
    """The script in a file, or those that a notebook's cells would write; nothing is run."""
    name = PurePosixPath(path).name
    if path.lower().endswith(".ipynb"):
        try:
            return _in_cells(path, contents.files[path])
        except Exception as error:  # a file that is not a notebook can raise anything
            contents.problems.append(f"{printable(path)} was not read as a notebook: {why(error)}")
            return []
    return [Candidate(name, contents.files[path], path)] if SCRIPT.fullmatch(name) else []


def _in_cells(path: str, content: bytes) -> list[Candidate]:
    candidates = []
    for number, cell in enumerate(json.loads(content)["cells"], 1):
        text = "".join(cell["source"])
        match = lesson_marks.WRITES.match(text) if cell["cell_type"] == "code" else None
        if match and SCRIPT.fullmatch(name := PurePosixPath(match[1].strip()).name):
            script = (text[match.end() :].strip("\n") + "\n").encode("utf-8", "replace")
            candidates.append(Candidate(name, script, f"{path}, cell {number}", in_cell=True))
    return candidates

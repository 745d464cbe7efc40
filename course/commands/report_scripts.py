"""Part of `report`: the commands in the lessons' scripts, and the exit codes they should have."""

import ast
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from course.commands import report_terminal

if TYPE_CHECKING:
    from course.lessons import Lesson

# A command is an indented line; a note may follow after several spaces.
COMMAND = re.compile(
    r"^ +((?:timeout|torchrun|accelerate|python|srun)(?: \S+)* src/\w+\.py(?: \S+)*)"
)
ACCELERATE = re.compile(r"accelerate launch --num_processes (\d+)")
TIMED_OUT = 124  # the exit code of the program `timeout`
FAILS = ("src/fails.py",)  # scripts that are meant to end with an error
GPUS = re.compile(r"--gpus((?: \d+)+)")  # GPUs by number


@dataclass(frozen=True)
class LessonCommand:
    """The command `text`, which runs a script of the lesson `lesson`."""

    lesson: str
    text: str

    @property
    def words(self) -> list[str]:
        """The command as a list of arguments."""
        return shlex.split(self.text)

    def on(self, gpus: int) -> list[str]:
        """The arguments on a machine with this many GPUs.

        If there are too few for its processes, accelerate uses the CPU only if a variable says so.
        """
        launched = ACCELERATE.match(self.text)
        if launched is None or int(launched[1]) <= max(1, gpus):
            return self.words
        return ["env", "ACCELERATE_USE_CPU=1", *self.words[:2], "--multi_gpu", *self.words[2:]]

    @property
    def code(self) -> int:
        """The exit code that the command should have."""
        if self.words[0] == "timeout":
            return TIMED_OUT
        return 1 if any(word in FAILS for word in self.words) else 0

    def missing(self, folder: Path, gpus: int) -> str | None:
        """Something that the command needs and does not find; None if it can run in `folder`."""
        if not shutil.which(self.words[0], path=report_terminal.path()):
            return f"the program {self.words[0]}"
        if "node0" in self.text:
            return "the nodes that its lesson starts"
        if self.words[0] == "srun":
            return "a Slurm cluster"
        if (named := GPUS.search(self.text)) and (last := max(map(int, named[1].split()))) >= gpus:
            return f"GPU {last}"
        for before, word in pairwise(self.words):
            is_input = word.startswith("runs/") and not before.startswith("--")
            if is_input and not (folder / word).exists():
                return f"{word}, which a cell of its lesson writes"
        return None


def commands(lessons: Iterable["Lesson"]) -> Iterator[LessonCommand]:
    """Yield the commands in the docstrings of the scripts, in the order of the lessons."""
    for lesson in lessons:
        for source in lesson.scripts(solved=True).values():
            lines = (ast.get_docstring(ast.parse(source), clean=False) or "").splitlines()
            for match in filter(None, map(COMMAND.match, lines)):
                yield LessonCommand(lesson.name, match[1])


def write(lessons: Iterable["Lesson"], folder: Path) -> None:
    """Write the solved scripts of the lessons into `folder`, where they will run."""
    (folder / "src").mkdir()
    for lesson in lessons:
        for target, source in lesson.scripts(solved=True).items():
            (folder / target).write_text(source)

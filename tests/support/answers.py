"""Answers to the exercises, each written as its difference from the solution.

One Markdown file holds the answers to the exercises of one lab; its name is that of the lesson::

    # Wrong answers to the exercises of lab 02

    ## ring

    ### It sends before it receives

    Named by `test_ends`.

    ```diff
     def exchange(outgoing, incoming):
    -    for work in dist.batch_isend_irecv([receive, send]):
    -        work.wait()
    +    dist.isend(outgoing, right).wait()
    @@
    +    # a second place
         return incoming
    ```

The second heading names the exercise, and so its script. The third says what the answer does.
A wrong answer names the check that must reject it: "Named by `test_ends`.", or "Hangs in
`test_ends`." if its ranks wait for each other until the time limit. If a hint warns of the
answer, the answer quotes it: ``Named by `test_ends`, warned of by "no rank receives".`` A file of
*right* answers has the title "# Right answers to the exercises of lab 02"; its answers name no
check.

The diff is exact, but leaves out the lines that mark where a solution begins and ends. The text
between two `@@` is a hunk: its lines without a plus must occur together in the solved script
exactly once. Anything else raises an `AnswerError`, which names the file and the line.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from course.core import lesson_marks

TITLE = re.compile(r"# (Wrong|Right) answers to the exercises of lab (\d\d\w?)")
EXERCISE = re.compile(r"## (\w+)")
ANSWER = re.compile(r"### (.+)")
CHECK = re.compile(r'(Named by|Hangs in) `(\w+)`(?:, warned of by "(.+)")?\.')
DIFF = re.compile("```diff")
END = "```"
NEXT_HUNK = "@@"


class AnswerError(Exception):
    """A line of an answers file that cannot be read, or a hunk that does not fit its script."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}")


@dataclass(frozen=True)
class Hunk:
    """Lines of the script and the lines that replace them; `line` is its place in the file."""

    line: int
    old: list[str]
    new: list[str]


@dataclass(frozen=True)
class Answer:
    """One answer to `exercise`; `check` is empty if it is right.

    `warning` quotes the hint that warns of the answer, if one does.
    """

    file: str
    lab: str
    exercise: str
    title: str
    check: str
    hangs: bool
    warning: str
    hunks: list[Hunk]

    def __str__(self) -> str:
        return f"{self.exercise}: {self.title}"

    def script(self, solved: str) -> str:
        """The text of this answer's script, made from the solved one without its marks."""
        before, after, done = lesson_marks.unmarked(solved.splitlines()), [], 0
        for hunk in self.hunks:
            start = self._place(hunk, before)
            if start < done:
                raise AnswerError(self.file, hunk.line, "this hunk comes before the one above it")
            after += before[done:start] + hunk.new
            done = start + len(hunk.old)
        return "\n".join([*after, *before[done:]]) + "\n"

    def _place(self, hunk: Hunk, lines: list[str]) -> int:
        """The index in `lines` where the only occurrence of the hunk begins."""
        size = len(hunk.old)
        starts = [i for i in range(len(lines) - size + 1) if lines[i : i + size] == hunk.old]
        if len(starts) != 1:
            fault = f"this hunk fits {len(starts)} times in {self.exercise}.py"
            raise AnswerError(self.file, hunk.line, f"{fault}, it must fit exactly once")
        return starts[0]


def read(path: Path, checks: Mapping[str, set[str]]) -> list[Answer]:
    """The answers in one file; `checks` maps each exercise to the names of its checks."""
    page = Page(path)
    title = page.expect(TITLE, "the title")
    if title[2] != path.stem.partition("_")[0]:
        raise page.error(f"{path.name} is not of lab {title[2]}")
    answers = []
    while not page.ended:
        exercise = page.expect(EXERCISE, "an exercise, `## name`")[1]
        if exercise not in checks:
            raise page.error(f"there is no exercise {exercise!r}")
        answers.append(_answer(page, title[1], exercise, checks[exercise]))
        while page.follows(ANSWER):
            answers.append(_answer(page, title[1], exercise, checks[exercise]))
    return answers


def _answer(page: "Page", kind: str, exercise: str, checks: set[str]) -> Answer:
    title = page.expect(ANSWER, "what an answer does, `### It ...`")[1]
    how = check = warning = ""
    if kind == "Wrong":
        how, check, warning = page.expect(CHECK, "the check, ``Named by `test_...`.``").groups("")
        if check not in checks:
            raise page.error(f"{exercise} has no check {check!r}")
    page.expect(DIFF, "a block of ```diff")
    hunks = list(_hunks(page))
    hangs = how == "Hangs in"
    return Answer(page.path.name, page.path.stem, exercise, title, check, hangs, warning, hunks)


def _hunks(page: "Page") -> Iterator[Hunk]:
    """Yield the hunks of a diff, and read to the end of its block."""
    line = ""
    while line != END:
        first, old, new = page.number + 1, [], []
        while (line := page.line()) not in (NEXT_HUNK, END):
            if line[:1] not in ("", " ", "-", "+"):
                raise page.error("a line of a diff begins with a space, a minus or a plus")
            if not line.startswith("+"):
                old.append(line[1:])
            if not line.startswith("-"):
                new.append(line[1:])
        if old == new or not old:
            raise AnswerError(page.path.name, first, "a hunk changes something, beside old lines")
        yield Hunk(first, old, new)


class Page:
    """Reads a file line by line; outside a diff, blank lines mean nothing."""

    def __init__(self, path: Path) -> None:
        self.path, self.number = path, 0
        self._lines = path.read_text().splitlines()

    @property
    def ended(self) -> bool:
        """Whether only blank lines follow."""
        return not any(self._lines[self.number :])

    def follows(self, pattern: re.Pattern) -> bool:
        """Whether the next line that is not blank matches the pattern."""
        line = next(filter(None, self._lines[self.number :]), "")
        return bool(pattern.fullmatch(line))

    def expect(self, pattern: re.Pattern, what: str) -> re.Match:
        """Read the next line that is not blank; return its match, or raise `AnswerError`."""
        while not (line := self.line()):
            pass
        if not (match := pattern.fullmatch(line)):
            raise self.error(f"here should be {what}, not {line!r}")
        return match

    def line(self) -> str:
        """Read the next line."""
        if self.number == len(self._lines):
            raise self.error("the file ends too early")
        self.number += 1
        return self._lines[self.number - 1]

    def error(self, reason: str) -> AnswerError:
        """An error that names the line that was read last."""
        return AnswerError(self.path.name, self.number, reason)

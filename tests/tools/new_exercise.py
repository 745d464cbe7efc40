"""Write the frame of a new exercise, and print the steps that come next.

    make exercise NAME=barrier LAB=00_start_here

The frame is a whole exercise, only a dull one: its solution passes its check, its wrong answer is
rejected, and its other right answer passes. So each part can be replaced while the tests of the
exercise stay green. The tests of the notebooks and the README fail until the last steps are done.

`LAB=04f_my_lab` begins a lab that does not exist yet. Its number says where it comes in the course.
A new last lab takes over the closing section of the lab before it.
"""

import argparse
import re
import sys
from pathlib import Path

import exercise_frame as frame

from course.core import CourseError, write_atomically
from course.exercises import exercises
from course.lessons import Lesson, labs

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
LESSON = re.compile(r"(?P<number>\d\d[a-z]?)_[a-z0-9]+(_[a-z0-9]+)*")
SECTION = re.compile(r"^## .*", re.MULTILINE)
CLOSING = "## Claims and measurements"  # of every lab; only what ends the course follows

WRITTEN = """\
Written: {name}, an exercise of lab {lab}.
It is a placeholder whose own tests pass already. The tests of the notebooks and of the README fail
until the last steps are done. Steps 1 to 5 are for each exercise, the others once for the lab:

"""
OF_THE_EXERCISE = (
    """\
course/lessons/{lesson}.md: the idea, the script, the TODO with its short hint.
Keep it to one idea, and wrap the text at 120 columns.""",
    """\
course/checks/lab_{lab}/{name}.py and on_rank_{name}.py:
what the text asks, and nothing else; course/checks/README.md has what a check is written with.""",
    """\
course/lessons/hints.md: one fuller hint for each TODO. Each exercise's hints must warn of at
least one mutant, which quotes the hint: change the two together.""",
    """\
tests/mutants/{lesson}.md: a wrong answer at least for each check, which names it.
tests/right_answers/{lesson}.md: correct answers written differently.
tests/support/answers.py describes the format.""",
    """\
make test ARGS="tests/checks -k {name}"
make mutate NAME={name}   # minutes
What the second prints becomes a mutant. If it does no harm, it goes into
tests/tools/equivalent_mutants.toml, where the names are in alphabetical order.""",
)
OF_A_NEW_LAB = """\
course/lessons/{lesson}.md: your words for each TO WRITE.
labs/glossary.md: the lab's new words. course/lessons/sources.toml: each link to somebody's page.
course/lessons/lesson.py: its number in CORE, if the other labs build on it.
course/lessons/labs_map.py: SPELLINGS, if a word of its file's name has capitals or a hyphen.
TEACHING.md: a row of the table of a term takes the lab."""
NEXT = """\
course/lessons/{before_lesson}.md: its last cell ends with
`Next: [TITLE]({lesson}.ipynb)`. Then make prose ARGS={before_lesson}."""
NEXT_OF_THE_LAST = NEXT.replace(
    "its last cell",
    """\
move its closing section, which ended the course,
to the end of the new lab, with what comes after the course. In course/lessons/sources.toml, the
entries of its links get `lesson = "{lesson}"`. Now its last cell""",
)
OF_THE_LAB = (
    """\
tests/gpus/test_scripts.py: each new script that may use NCCL, with small arguments.
tests/small_sizes.toml: smaller numbers, if a cell measures for many seconds.
make test ARGS="tests/gpus -k '{lesson} or nccl'\"""",
    """\
make notebooks ARGS={lesson}, which runs the lab. In the lesson's header, `seconds`
is what it prints after "built in", rounded up to a multiple of 5, and `make quick` says whether
`minutes` have changed. Then make prose ARGS={lesson}.""",
    """\
make notebooks ARGS=start: its stored outputs count the labs and exercises. The step before also
wrote images/labs_map.svg and the README's table and counts: commit all of them. Then
.venv/bin/python -m course build --check prints nothing.""",
    "CHANGELOG.md: a line, if a learner or a teacher will notice.",
)
PRINTED = "The steps from 6 on that the call for the lab's first exercise printed."


def main(root: Path, name: str, lesson: str) -> None:
    """Write the frame of the exercise `name` into the lab of `lesson`, which may be new."""
    if not NAME.fullmatch(name) or name in exercises():
        raise CourseError(f"{name!r} is not a new name: write one such as `my_barrier`.")
    all_labs = labs(root)
    earlier = [lab for lab in all_labs if lab.name <= lesson]
    is_new = lesson not in [lab.name for lab in all_labs]
    words = name.replace("_", " ")
    fields = {
        "name": name,
        "lesson": lesson,
        "lab": _new_number(lesson, all_labs) if is_new else earlier[-1].number,
        "words": words,
        "camel": words.title().replace(" ", ""),
        "script": lesson.partition("_")[2],
        "before": earlier[-1].number,
        "before_lesson": earlier[-1].name,
        "following": "".join(
            f"\n\nNext: [{lab.title}]({lab.name}.ipynb)" for lab in all_labs[len(earlier) :][:1]
        ),
    }
    known = [exercise for lab in earlier for exercise in lab.exercises]
    for path, text in _files(root, fields, known, is_new).items():
        write_atomically(path, text)
    print(WRITTEN.format(**fields), end="")
    is_built = (root / "labs" / f"{lesson}.ipynb").is_file()
    for number, step in enumerate(_steps(is_new, is_built, all_labs[-1].name < lesson), 1):
        lead = f"{number}. "
        print(lead + step.format(**fields).replace("\n", "\n" + " " * len(lead)))


def _steps(is_new: bool, is_built: bool, is_last: bool) -> list[str]:
    """The steps left to do, in order; `is_last` says that a new lab ends the course."""
    if is_new:
        before = NEXT_OF_THE_LAST if is_last else NEXT
        return [*OF_THE_EXERCISE, OF_A_NEW_LAB, before, *OF_THE_LAB]
    return [*OF_THE_EXERCISE, *OF_THE_LAB] if is_built else [*OF_THE_EXERCISE, PRINTED]


def _new_number(lesson: str, all_labs: list[Lesson]) -> str:
    """The number of a lab that does not exist yet; raises `CourseError` if it cannot be one."""
    match = LESSON.fullmatch(lesson)
    if not match or match["number"] in [lab.number for lab in all_labs]:
        raise CourseError(
            f"There is no lab {lesson!r}: take one of course/lessons, such as `00_start_here`, or "
            "begin one with a number that no lab has, as in `04f_my_lab`."
        )
    return match["number"]


def _files(root: Path, fields: dict[str, str], earlier: list[str], is_new: bool) -> dict[Path, str]:
    """The text of each file to write, by its path.

    `earlier` are the exercises of the labs up to this one; `is_new` says whether the lab is new.
    """
    lessons, checks = root / "course" / "lessons", root / "course" / "checks"
    folder, lesson = checks / f"lab_{fields['lab']}", lessons / f"{fields['lesson']}.md"
    hints = lessons / "hints.md"
    text = frame.LAB.format(**fields) if is_new else lesson.read_text(encoding="utf-8")
    files = {
        lesson: _with_cells(text, frame.CELLS.format(**fields)),
        hints: _with_hints(hints.read_text(encoding="utf-8"), earlier, fields),
        folder / f"{fields['name']}.py": frame.CHECK.format(**fields),
        folder / f"on_rank_{fields['name']}.py": frame.ON_RANK.format(**fields),
    }
    if not (folder / "__init__.py").is_file():
        files[folder / "__init__.py"] = f'"""The checks of lab {fields["lab"]}."""\n'
    for kind, answers, answer in (
        ("Wrong", "mutants", frame.WRONG),
        ("Right", "right_answers", frame.RIGHT),
    ):
        path = root / "tests" / answers / f"{fields['lesson']}.md"
        title = frame.ANSWERS.format(kind=kind, **fields)
        known = path.read_text(encoding="utf-8") if path.is_file() else title
        files[path] = known + answer.format(**fields)
    return files


def _with_cells(text: str, cells: str) -> str:
    """A lesson's text with these cells inserted before its closing section."""
    headings = list(SECTION.finditer(text))
    closing = [heading for heading in headings if heading[0] == CLOSING] or headings
    place = closing[-1].start()
    return text[:place] + cells + text[place:]


def _with_hints(text: str, earlier: list[str], fields: dict[str, str]) -> str:
    """The text of the hints with those of the exercise, after those of the `earlier` ones."""
    known = [f"## {name}\n" for name in earlier if f"## {name}\n" in text]
    last = max(map(text.index, known), default=len(text))
    following = SECTION.search(text, last + 3)
    place = following.start() if following else len(text)
    before, hints = text[:place].rstrip() + "\n\n", frame.HINTS.format(**fields)
    return (before + hints + text[place:]).rstrip() + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the frame of a new exercise.")
    parser.add_argument("name", help="of its script and its check, such as my_barrier")
    parser.add_argument("lab", help="such as 00_start_here, or a new one: 04f_my_lab")
    args = parser.parse_args()
    try:
        main(ROOT, args.name, args.lab)
    except CourseError as error:
        sys.exit(str(error))

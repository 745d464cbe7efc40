"""``python -m course build``: the notebooks and figures from the lessons."""

import argparse
import sys
from collections.abc import Collection
from pathlib import Path

from course.checks import exercises
from course.core import CourseError
from course.explore import figures
from course.lessons import (
    Around,
    Lesson,
    build,
    lessons,
    problems,
    stale,
    stale_beside,
    write_scripts,
)

ROOT = Path(__file__).resolve().parents[2]


def read(
    root: Path, names: Collection[str], figures: Collection[str], checks: set[str]
) -> list[Lesson]:
    """The lessons of those names (all, if none is given); a CourseError says all that is wrong with them."""
    every = lessons(root)
    known = [lesson.name for lesson in every]
    if unknown := [name for name in names if name not in known]:
        raise CourseError(
            f"No lesson is called {unknown[0]}; the lessons are: {', '.join(known) or 'none yet'}."
        )
    made = {root / folder / f"{name}.ipynb" for folder in ("labs", "solutions") for name in known}
    made |= {root / "images" / figure for figure in figures}
    wanted = [lesson for lesson in every if not names or lesson.name in names]
    around = Around(root, {path.resolve() for path in made}, checks)
    if wrong := [line for lesson, line in problems(every, around) if lesson in wanted]:
        raise CourseError("\n".join(wrong))
    return wanted


def main(argv: list[str]) -> int:
    """``python -m course build``: 0 where all is built (or current), 1 where a solution failed (or is stale)."""
    parser = argparse.ArgumentParser(
        prog="python -m course build", description="Build the notebooks from the lessons."
    )
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="a lesson such as 02_all_reduce; without: all of them",
    )
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--scripts",
        action="store_true",
        help="write only the scripts of the cells, and run nothing",
    )
    ways.add_argument(
        "--check", action="store_true", help="write nothing; say which files are not current"
    )
    options = parser.parse_args(argv)

    drawn = figures()
    wanted = read(ROOT, options.names, drawn, set(exercises()))
    if options.scripts:
        write_scripts(ROOT, wanted)
        return 0
    if options.check:
        complaints = stale(ROOT, wanted)
        if not options.names:
            complaints += stale_beside(ROOT, [lesson.name for lesson in wanted], drawn)
    else:
        complaints = build(
            ROOT, wanted, {} if options.names else drawn, lambda line: print(line, flush=True)
        )
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0

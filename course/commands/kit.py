"""``python -m course kit``: what a teacher hands out, and what graders read."""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from course.commands.handouts import graders, slides, students
from course.core import ROOT, RUNS, CourseError
from course.lessons import labs, lessons


def main(argv: Sequence[str]) -> int:
    """Write the parts of a teacher's kit into a new folder."""
    parser = argparse.ArgumentParser(
        prog="python -m course kit", description="Write what a class needs into a folder."
    )
    parser.add_argument(
        "kind",
        choices=["teacher", "slides"],
        help="what to write: editions for students and teachers, or a deck of slides for each lab",
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="a folder that is not there yet")
    args = parser.parse_args(argv)
    every = lessons(ROOT)
    if not every or not (ROOT / "labs").is_dir():
        fix = "start this command in a clone of the course"
        raise CourseError(f"The lessons are not next to this package: {fix}.")
    if args.out.exists():
        raise CourseError(f"{args.out} is there already: name a new folder.")
    if args.kind == "slides":
        slides.write(ROOT, labs(ROOT), args.out)
        print(f"Slides: open {args.out / 'index.html'} in a browser. Arrow keys turn them.")
        return 0
    learning, teaching = args.out / "students", args.out / "teachers"
    students.write(ROOT, every, learning)
    graders.write_nbgrader(ROOT, every, teaching / "nbgrader")
    graders.write_gradescope(learning, teaching / "gradescope")
    for name in ("solutions", "images"):
        ignored = shutil.ignore_patterns("src", str(RUNS), "runs", "traces", ".*")
        shutil.copytree(ROOT / name, teaching / name, ignore=ignored)
    shutil.copyfile(ROOT / "TEACHING.md", teaching / "TEACHING.md")
    print(f"For students, without solutions: {learning}")
    print(f"For teachers, with solutions and files for graders: {teaching}")
    return 0

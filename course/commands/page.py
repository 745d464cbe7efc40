"""``python -m course page``: write a learner's results and guesses as a page to print."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from course.core import CourseError
from course.notebook import page


def main(argv: Sequence[str]) -> int:
    """Write a learner's page."""
    parser = argparse.ArgumentParser(
        prog="python -m course page",
        description="Write what passed, and what you guessed and measured, as one page to print.",
    )
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="yours, as it is shown")
    parser.add_argument(
        "--src", type=Path, default=Path("labs/src"), metavar="DIR", help="your scripts"
    )
    args = parser.parse_args(argv)
    if not args.src.is_dir():
        raise CourseError(f"There is no folder {args.src}: give --src the folder of your scripts.")
    page.write(args.name, args.src)
    print(f"Your page is {args.src / page.NAME}. Open it in a browser, and print it from there.")
    return 0

"""``python -m course check``: the checks of a folder of scripts."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from course.checks import check_folder
from course.core import CourseError
from course.launch import warm_up


def main(argv: Sequence[str]) -> int:
    """Check a folder of scripts and print the verdicts; 0 if all holds, 1 if not."""
    parser = argparse.ArgumentParser(
        prog="python -m course check", description="Check the scripts of a learner."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="exercises to check (all, if none is named)"
    )
    parser.add_argument(
        "--src", type=Path, default=Path("labs/src"), metavar="DIR", help="the learner's folder"
    )
    parser.add_argument(
        "--junit", type=Path, metavar="FILE", help="write a JUnit report for other tools"
    )
    args = parser.parse_args(argv)
    if not args.src.is_dir():
        fix = "give --src the folder that holds the learner's scripts"
        raise CourseError(f"There is no folder {args.src}: {fix}.")
    warm_up()
    reports = check_folder(args.src, args.names, args.junit)
    for report in reports:
        print(report)
    return 0 if reports and all(report.ok for report in reports) else 1

"""``python -m course check``: the checks of a folder of scripts."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from course.checks import Report
from course.core import CourseError
from course.launch import connect


def main(argv: Sequence[str]) -> int:
    """`python -m course check`: check a folder of scripts; 0 if all holds, 1 if not."""
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
        raise CourseError(
            f"There is no folder {args.src}: give --src the folder that holds the learner's scripts."
        )
    from course.checks.engine import (
        session,  # imports pytest, which a notebook's kernel has no need of
    )

    connect.warm_up()
    results = [vars(result) for result in session.run(args.src, args.names, args.junit)]
    reports = [
        Report(name, [result for result in results if result["exercise"] == name])
        for name in dict.fromkeys(result["exercise"] for result in results)
    ]
    for report in reports:
        print(report)
    return 0 if reports and all(report.ok for report in reports) else 1

"""``python -m course check``: check the scripts in a folder."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from course.checks import check_folder
from course.commands import check_formats
from course.commands.check_given import complete
from course.core import CourseError, write_atomically
from course.launch import warm_up

NOT_JUDGED = 3  # the exit code if something was not judged


def main(argv: Sequence[str]) -> int:
    """Check a folder of scripts and print the verdicts.

    Return 0 if every check passed, 1 if one did not, and 3 if something was not judged, for example
    because of an interrupt.
    """
    args = _parser().parse_args(argv)
    if not args.src.is_dir():
        fix = "give --src the folder that holds the learner's scripts"
        raise CourseError(f"There is no folder {args.src}: {fix}.")
    if not args.isolated:
        warm_up()
    announce = _show if sys.stderr.isatty() else lambda text: None
    with complete(args.src, args.names) as src:
        reports = check_folder(src, args.names, args.isolated, announce)
    announce("")
    for report in reports:
        print(report)
    if args.junit:
        write_atomically(args.junit, check_formats.junit(reports, args.src.name))
    if args.json:
        write_atomically(args.json, check_formats.plain(reports))
    if args.gradescope:
        write_atomically(args.gradescope, check_formats.gradescope(reports))
    if not all(report.judged for report in reports):
        return NOT_JUDGED
    return 0 if reports and all(report.ok for report in reports) else 1


def _parser() -> argparse.ArgumentParser:
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
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the verdicts as JSON")
    parser.add_argument(
        "--gradescope", type=Path, metavar="FILE", help="write Gradescope's results.json"
    )
    parser.add_argument(
        "--isolated",
        action="store_true",
        help="run the learner's code in a sandbox: it sees its folder, no other files and no "
        "network",
    )
    return parser


def _show(text: str) -> None:
    """Show which check is running, in place of the previous line."""
    width = shutil.get_terminal_size().columns - 1
    print(f"\r\x1b[K{text[:width]}", end="", flush=True, file=sys.stderr)

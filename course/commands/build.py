"""``python -m course build``: build notebooks, figures and the README's table from the lessons."""

import argparse
import sys
from collections.abc import Sequence

from course.checks import nodes
from course.core import ROOT
from course.explore import figures
from course.lessons import (
    build,
    finished,
    lessons,
    rewrite_prose,
    select,
    stale,
    stale_beside,
    stale_readme,
    write_figures,
    write_readme,
    write_scripts,
)


def main(argv: Sequence[str]) -> int:
    """Build, or report what is stale; return 1 if a solution failed or a file is stale."""
    options = _parser().parse_args(argv)
    drawn = figures()
    selection = select(ROOT, options.names, drawn, set(nodes()))
    if options.scripts:
        write_scripts(ROOT, selection)
        return 0
    if options.check:
        complaints = finished.unfinished(ROOT, lessons(ROOT), selection) + stale(ROOT, selection)
        if not options.names:
            complaints += stale_beside(ROOT, [lesson.name for lesson in selection], drawn)
            complaints += stale_readme(ROOT)
    else:
        write_figures(ROOT, drawn)
        write_readme(ROOT)
        complaints = (
            rewrite_prose(ROOT, selection) if options.prose else build(ROOT, selection, _say)
        )
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


def _say(line: str) -> None:
    print(line, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m course build",
        description="Build the notebooks from the lessons. They take the place of those in labs/ "
        "and solutions/; if you have worked in one of labs/, it is kept in labs/src/kept.",
    )
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="a lesson such as 02_all_reduce (default: all)"
    )
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--scripts",
        action="store_true",
        help="write only the scripts of the cells, to labs/src and solutions/src; run nothing. "
        "What you have changed in labs/src is kept in labs/src/kept",
    )
    ways.add_argument(
        "--prose", action="store_true", help="only prose has changed: keep the outputs, run nothing"
    )
    ways.add_argument(
        "--check",
        action="store_true",
        help="write nothing; say which files are not current, and what a lab still lacks",
    )
    return parser

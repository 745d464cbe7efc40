"""``python -m course site``: the course as web pages."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from course.commands.web.build import build
from course.core import ROOT


def main(argv: Sequence[str]) -> int:
    """Build the site into a folder of static files."""
    parser = argparse.ArgumentParser(
        prog="python -m course site", description="Build the course as web pages."
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/site"), metavar="DIR", help="where the pages go"
    )
    args = parser.parse_args(argv)
    build(ROOT, args.out)
    print(f"The site is in {args.out}: python -m http.server --directory {args.out}")
    return 0

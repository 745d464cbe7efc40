"""``python -m course site``: build the course as web pages."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from course.core import ROOT, CourseError

WEB = Path(__file__).with_name("web")  # only in a clone: packages and students' editions lack it


def main(argv: Sequence[str]) -> int:
    """Build the site into a folder of static files."""
    parser = argparse.ArgumentParser(
        prog="python -m course site", description="Build the course as web pages."
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/site"), metavar="DIR", help="where the pages go"
    )
    parser.add_argument(
        "--repository",
        metavar="URL",
        help="where the course is published, https://github.com/OWNER/NAME: its pages then open "
        "the labs on Kaggle, Colab and Binder",
    )
    parser.add_argument("--commit", help="the commit of the repository that the site is made of")
    args = parser.parse_args(argv)
    if not WEB.is_dir():
        raise CourseError("The site is built in a clone of the course; this copy lacks its pages.")
    from course.commands.web.build import build
    from course.commands.web.hosted import Repository

    if (args.repository is None) != (args.commit is None):
        raise CourseError("Give --repository and --commit together, or neither of them.")
    repository = Repository(args.repository, args.commit) if args.repository else None
    build(ROOT, args.out, repository)
    print(f"The site is in {args.out}: python -m http.server --directory {args.out}")
    return 0

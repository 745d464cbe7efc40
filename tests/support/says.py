"""Ties the test of a fact to the pages that name the fact."""

import sys
from functools import cache
from pathlib import Path

from course.core.files import ROOT

GLOSSARY = "glossary"


def says(page: str, *facts: str) -> None:
    """Fail unless a page names these facts: a lesson by its name, "hints" or "glossary".

    A fact is a number with its unit, a name of an API, a release: few enough words that the
    sentence around them can be mended without a look at the tests.
    """
    path = ROOT / "labs" if page == GLOSSARY else ROOT / "course" / "lessons"
    path /= f"{page}.md"
    gone = [fact for fact in facts if fact not in _text(path)]
    test = sys._getframe(1)
    place = f"{Path(test.f_code.co_filename).relative_to(ROOT)}:{test.f_lineno}"
    assert not gone, (
        f"{path.relative_to(ROOT)} no longer names {', '.join(gone)}. The test of that fact is "
        f"{place}: name it again, or change the words there."
    )


@cache
def _text(path: Path) -> str:
    """The text of a page as one line, without the `#` and `>` that begin its lines."""
    lines = (line.strip().removeprefix("> ").removeprefix("# ") for line in path.open())
    return " ".join(" ".join(lines).split())

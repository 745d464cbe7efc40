"""Whether the course still says what a test of a fact holds it to."""

import functools
from pathlib import Path

from course.core.files import ROOT

GLOSSARY = "glossary"


def says(page: str, *quoted: str) -> None:
    """Fail unless a page has these words: a lesson by its name, "hints" or "glossary".

    How lines are broken, and the `#` and `>` that begin them, make no difference.
    """
    folder = ROOT / "labs" if page == GLOSSARY else ROOT / "course" / "lessons"
    text = _text(folder / f"{page}.md")
    for words in quoted:
        assert " ".join(words.split()) in text, f"{page} does not say {words!r} any more"


@functools.cache
def _text(path: Path) -> str:
    lines = (line.strip().removeprefix("> ").removeprefix("# ") for line in path.open())
    return " ".join(" ".join(lines).split())

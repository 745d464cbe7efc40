"""The page of references: the links of each lab, and what the linked documents say.

`course/lessons/sources.toml` records what we read, and when.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

from course.lessons import Lesson

NOT_INDEXED = "---\nnosearch: true\n---"  # its words are in the labs, and a search loads all
ABOUT = "The links of each lab, and what we read in the documents behind them."
LINK = re.compile(r"\[(?P<words>[^\]]+)\]\((?P<link>https?://[^)\s]+)\)")


@dataclass(frozen=True)
class Source:
    """A document that we read; `fact` is what it decides in a lesson without a link to it."""

    lesson: str
    link: str
    read: date
    says: str
    fact: str = ""


def read_sources(root: Path) -> list[Source]:
    """The sources of the course below `root`, in the order of its lessons."""
    with (root / "course" / "lessons" / "sources.toml").open("rb") as file:
        return [Source(**entry) for entry in tomllib.load(file)["source"]]


def references(labs: Sequence[Lesson], sources: Sequence[Source]) -> str:
    """The page, as Markdown: for each lab an item for each of its links, then its other sources."""
    parts = [NOT_INDEXED, f"# References\n\n{ABOUT}"]
    for lab in labs:
        linked = links_of(lab)
        known = {source.link: source for source in sources if source.lesson == lab.name}
        items = [f"- [{words}]({link}){_note(known.get(link))}" for link, words in linked.items()]
        items += [
            f"- {source.fact}: [{urlsplit(source.link).netloc}]({source.link}){_note(source)}"
            for source in sources
            if source.lesson == lab.name and source.fact
        ]
        if items:
            parts += [f"## Lab {lab.number}", "\n".join(items)]
    return "\n\n".join(parts) + "\n"


def links_of(lab: Lesson) -> dict[str, str]:
    """The addresses in a lab's prose, in order, each with the words of its first link."""
    prose = "\n".join(cell.source for cell in lab.cells if cell.kind == "markdown")
    links = {}
    for match in LINK.finditer(prose):
        links.setdefault(match["link"], " ".join(match["words"].split()))
    return links


def _note(source: Source | None) -> str:
    return f": {source.says} (Read on {source.read}.)" if source else ""

"""What only a document decides: which words of a lesson it decides, when it was read, what it says.

The list is `sources.toml`, beside the lessons.
"""

import tomllib
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from pathlib import Path
from urllib.parse import urlsplit

FILE = "sources.toml"


@dataclass(frozen=True)
class Source:
    """A document; `read` and `says` are None where nobody opened it for the list."""

    lesson: str
    quote: str
    link: str
    read: date | None = None
    says: str | None = None


def read(root: Path) -> list[Source]:
    """The sources of the course below `root`, in the order of its lessons."""
    with (root / "course" / "lessons" / FILE).open("rb") as file:
        return [Source(**entry) for entry in tomllib.load(file)["source"]]


def as_markdown(sources: list[Source]) -> str:
    """What was read where, by lab: the last part of the page of references."""
    parts = ["## What the documents say"]
    known = [source for source in sources if source.read]
    for lesson, group in groupby(known, lambda source: source.lesson):
        parts.append(f"### Lab {lesson.partition('_')[0]}: read")
        parts.append("\n".join(_item(source) for source in group))
    return "\n\n".join(parts) + "\n"


def _item(source: Source) -> str:
    quote = source.quote.replace("|", r"\|").replace("*", "")
    place = urlsplit(source.link).netloc
    return f"- *{quote}*: {source.says} ([{place}]({source.link}), read on {source.read})"

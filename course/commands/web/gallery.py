"""The gallery: a page for each explorable, and one that shows them all.

Its texts are in texts/explorables.md. The links there set the controls: ``#ranks=64&cap=8``.
"""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from course.commands.web.living import living, state
from course.core import lesson_marks, write_atomically
from course.drawing import Picture
from course.lessons import Lesson

TEXTS = Path(__file__).parent / "texts" / "explorables.md"
TRY = re.compile(r"\[(?P<words>[^\]]+)\]\((?P<state>#[^)]*)\)")
# The tooltips of marks, and a picture's text for screen readers: an <img> shows neither.
TIP = re.compile(r"(?<=>)<title>[^<]*</title>(?=</)|<desc>[^<]*</desc>")
GALLERY = "gallery"  # the name of the page that shows them all
CARD = """<a class="exhibit" href="{page}.html">
<span class="frame"><img src="_static/stills/{page}.svg" alt="{words}"></span>
<b>{question}</b></a>"""
PAGE = """# {question}

{about}

{living}

## What to try

{tries}

{lab}"""


@dataclass(frozen=True)
class Exhibit:
    """An explorable in the gallery: its `question`, a text `about` it, and `tries`, a list."""

    name: str
    question: str
    about: str
    tries: str

    @property
    def page(self) -> str:
        """The name of its page."""
        return f"explore_{self.name}"

    @property
    def states(self) -> list[dict[str, Any]]:
        """The values of controls in each of its tries."""
        drawn = state(self.name)
        kinds = {spec["name"]: spec["kind"] for spec in drawn.specs(drawn.first)}
        return [
            {name: _value(kinds[name], text) for name, text in parse_qsl(match["state"][1:])}
            for match in TRY.finditer(self.tries)
        ]

    @property
    def picture(self) -> Picture:
        """The picture of its first try, which its page shows at first."""
        drawn = state(self.name)
        return drawn.picture(drawn.accepted(self.states[0]))


def _value(kind: str, text: str) -> Any:
    """A control's value from an address; static/alive.js reads it the same way."""
    return text if kind == "Choice" else json.loads(text)


def exhibits() -> list[Exhibit]:
    """Every explorable, in the order of the labs."""
    parts = re.split(r"^# (\w+)$", TEXTS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    gallery = []
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        question, about, tries = text.strip().split("\n\n", 2)
        gallery.append(Exhibit(name, question, about, tries))
    return gallery


def exhibit_page(exhibit: Exhibit, labs: Sequence[Lesson]) -> str:
    """The page of an explorable, as Markdown: question, figure, what to try, its lab."""
    find = lesson_marks.EXPLORABLE.findall
    used = [lab for lab in labs if exhibit.name in find("\n".join(lab.lines))]
    named = ", ".join(f"[{lab.number} · {lab.title}]({lab.name}.ipynb)" for lab in used)
    return PAGE.format(
        question=exhibit.question,
        about=exhibit.about,
        living=living(exhibit.name, exhibit.states[0], "data-address"),
        tries=TRY.sub(_link, exhibit.tries),
        lab=f"What it shows is written and measured in a lab: {named}",
    )


def _link(match: re.Match) -> str:
    """A link that sets the figure's controls, as HTML; Sphinx would look for a heading."""
    return f'<a href="{html.escape(match["state"])}">{match["words"]}</a>'


def gallery_page() -> str:
    """The page that shows all explorables, as Markdown."""
    gallery = exhibits()
    cards = "\n".join(
        CARD.format(page=exhibit.page, question=exhibit.question, words=_title(exhibit))
        for exhibit in gallery
    )
    pages = "\n".join(exhibit.page for exhibit in gallery)
    return (
        f"# {len(gallery)} figures that move\n\nEach is run by the same Python as its lab, here in "
        "your browser. Each has an address of its own, and what you set is in it: copy it to "
        f'show others what you see.\n\n<div class="gallery">\n{cards}\n</div>\n\n'
        f"```{{toctree}}\n:hidden:\n\n{pages}\n```\n"
    )


def write_stills(out: Path) -> None:
    """Write the picture of each explorable into the folder `out`, for an <img>."""
    for exhibit in exhibits():
        write_atomically(out / f"{exhibit.page}.svg", TIP.sub("", exhibit.picture.still))


def _title(exhibit: Exhibit) -> str:
    """The title of its picture, which states its point, as HTML."""
    return re.search(r"<title>(.*?)</title>", exhibit.picture)[1]

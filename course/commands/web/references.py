"""The page of references: the sources that the labs name, in the sentences that do so."""

import re
from collections.abc import Iterator

from course.commands.web.lab_page import links
from course.lessons import Lesson

LINK = re.compile(r"\[[^\]]+\]\((https?://[^)\s]+)\)")
ANY_LINK, NAME_ALONE = re.compile(r"\[([^\]]+)\]\([^)\s]+\)"), r"\1"
POINTS_BACK = re.compile(r"(It|Its|They|Their|This|That|These|Those|He|She|Both|There|So)\b")
BLOCK = re.compile(r"\n\s*\n|\n(?=[-*|>] )")  # what parts paragraphs, items and rows
SENTENCE = re.compile(r"(?<=[\w)\]`]{2}[.?!])\s+(?=[A-Z(*])")  # ... and sentences


def references(found: list[Lesson]) -> str:
    """The sources that the labs name, in the sentences that do so, each once in a lab."""
    parts = ["# References\n\nEvery paper, page and manual that a lab links to, in its order."]
    for lesson in found:
        seen, sentences = set(), []
        for context, sentence in _sentences(lesson):
            addresses = set(LINK.findall(sentence))
            if addresses - seen:
                sentences.append(f"- {context}{links(sentence)}")
            seen |= addresses
        if sentences:
            parts.append(f"## Lab {lesson.number}")
            parts.append("\n".join(sentences))
    return "\n\n".join(parts) + "\n"


def _sentences(lesson: Lesson) -> Iterator[tuple[str, str]]:
    """The sentences of a lesson's Markdown, each in one line; a row of a table is one, too.

    One that begins with "It" or the like comes with the sentence before it, without its links.
    """
    for cell in lesson.cells:
        for block in BLOCK.split(cell.source) if cell.kind == "markdown" else []:
            text = " ".join(block.split()).strip("|-*> ").replace(" | ", ": ")
            before = ""
            for sentence in SENTENCE.split(text):
                needs_more = POINTS_BACK.match(sentence) and before
                yield (f"{ANY_LINK.sub(NAME_ALONE, before)} " if needs_more else ""), sentence
                before = sentence

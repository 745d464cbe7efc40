"""The glossary: in order, linked by every lab, and no link leads past it."""

import re

import pytest

from course.core.files import ROOT
from course.lessons.lesson import lessons

PAGE = (ROOT / "labs" / "glossary.md").read_text()
TERMS = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
LINK = re.compile(r"\]\(\.\./labs/glossary\.md(?:#([^)]*))?\)")


def place(term: str) -> str:
    """The name of a heading's place in a page, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", term.lower()).replace(" ", "-")


def test_each_term_stands_once_in_alphabetical_order():
    spoken = [
        re.sub("[α-ω]", lambda letter: {"α": "alpha", "β": "beta"}[letter[0]], term)
        for term in TERMS
    ]
    assert spoken == sorted(set(spoken), key=str.lower)


def test_each_entry_says_which_lab_it_is_from_or_what_else_to_read():
    numbers = {lesson.name.partition("_")[0] for lesson in lessons(ROOT)}
    for entry in PAGE.split("### ")[1:]:
        named = re.search(r"\(labs? ([\w, ]+)\)$", entry.strip())
        assert named or "See also" in entry, entry
        assert not named or set(named[1].split(", ")) <= numbers, entry


@pytest.mark.parametrize("lab", lessons(ROOT), ids=lambda lab: lab.name)
def test_every_lab_links_terms_that_are_there(lab):
    links = LINK.findall("\n".join(lab.lines))
    assert links
    assert set(links) <= {"", *map(place, TERMS)}  # "": the page itself

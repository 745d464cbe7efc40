"""The glossary is in alphabetical order, and each entry says which lab it is from."""

import re

from course.core.files import ROOT
from course.lessons.lesson import lessons

PAGE = (ROOT / "labs" / "glossary.md").read_text()
TERMS = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)


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

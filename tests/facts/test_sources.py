"""What only a document decides: `course/lessons/sources.toml`."""

import re
from datetime import date
from urllib.parse import urlsplit

import pytest
from support.said import says

from course.core.files import ROOT
from course.lessons import lessons
from course.lessons.sources import as_markdown, read

SOURCES = read(ROOT)
LINK = re.compile(r"\]\((https?://[^)\s]+)\)")


@pytest.mark.parametrize("source", SOURCES, ids=lambda one: f"{one.lesson}: {one.quote[:40]}")
def test_its_words_are_in_the_lesson_and_its_link_and_date_are_right(source):
    says(source.lesson, source.quote)
    link = urlsplit(source.link)
    assert link.scheme == "https" and "." in link.netloc and " " not in source.link
    assert (source.read is None) == (source.says is None)
    if source.read:
        assert type(source.read) is date and source.read.year >= 2026
        assert source.says.endswith(".")


@pytest.mark.parametrize("lesson", lessons(ROOT), ids=lambda lesson: lesson.name)
def test_no_link_of_a_lesson_is_missing(lesson):
    known = {source.link for source in SOURCES if source.lesson == lesson.name}
    assert set(LINK.findall("\n".join(lesson.lines))) - known == set()


def test_they_stand_in_the_order_of_the_labs_and_once():
    assert [one.lesson for one in SOURCES] == sorted(one.lesson for one in SOURCES)
    assert len({(one.lesson, one.quote, one.link) for one in SOURCES}) == len(SOURCES)


def test_the_page_tells_what_was_read_and_when():
    page = as_markdown(SOURCES)
    for source in SOURCES:
        assert (f"({source.link}), read on {source.read})" in page) == bool(source.read)

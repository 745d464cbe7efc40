"""Facts that only a document can settle: `course/lessons/sources.toml`."""

from urllib.parse import urlsplit

import pytest
from support.says import says

from course.commands.web.references import links_of, read_sources, references
from course.core.files import ROOT
from course.lessons import lessons

LESSONS = {lesson.name: lesson for lesson in lessons(ROOT)}
SOURCES = read_sources(ROOT)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: f"{source.lesson}: {source.link}")
def test_it_belongs_to_a_link_or_a_fact_of_its_lesson(source):
    if source.fact:
        says(source.lesson, source.fact)
    else:
        assert source.link in links_of(LESSONS[source.lesson])
    address = urlsplit(source.link)
    assert address.scheme == "https" and "." in address.netloc and " " not in source.link
    assert source.says.endswith(".")


def test_they_stand_in_the_order_of_the_labs_and_once():
    assert [source.lesson for source in SOURCES] == sorted(source.lesson for source in SOURCES)
    assert len({(source.lesson, source.fact, source.link) for source in SOURCES}) == len(SOURCES)


def test_the_page_has_every_link_once_and_all_that_was_read():
    for lesson in LESSONS.values():
        page = references([lesson], SOURCES)
        assert all(page.count(f"]({link})") == 1 for link in links_of(lesson))
        for source in SOURCES:
            assert (source.says in page) == (source.lesson == lesson.name)

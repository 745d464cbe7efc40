"""A solved notebook as a page: nothing of it needs a kernel, and solutions are folded away."""

import json
import re

import nbformat
import pytest

from course import explore
from course.commands.web import sources
from course.core import ROOT
from course.drawing import ansi, palette, widget_view
from course.lessons import lessons

pytestmark = [pytest.mark.slow, pytest.mark.rest]

LESSONS = lessons(ROOT)


def page_of(lesson):
    """A lab's page."""
    solved = nbformat.read(ROOT / "solutions" / f"{lesson.name}.ipynb", as_version=4)
    return sources.page(lesson, solved)


@pytest.fixture(scope="module", params=LESSONS, ids=lambda lesson: lesson.name)
def node(request):
    """The page of each lab."""
    return page_of(request.param)


def test_no_widget_is_left_that_would_ask_for_a_script_elsewhere(node):
    assert "widgets" not in node.metadata
    for cell in node.cells:
        for output in cell.get("outputs", []):
            assert widget_view.MIMETYPE not in output.get("data", {})


def test_each_solution_is_folded_and_stands_behind_its_blank_form(node):
    solved = [number for number, cell in enumerate(node.cells) if "BEGIN SOLUTION" in cell.source]
    for number in solved:
        assert "hide-input" in node.cells[number].metadata["tags"]
        assert "raise NotImplementedError" in node.cells[number - 1].source


def test_what_comes_alive_begins_as_it_was_in_the_lab(node):
    living = re.compile(r'data-name="(\w+)" data-values="([^"]*)"')
    for cell in node.cells:
        for output in cell.get("outputs", []):
            for name, values in living.findall(
                "".join(output.get("data", {}).get("text/html", ""))
            ):
                given = json.loads(sources.html.unescape(values))
                state = explore.State(*getattr(explore, name).__wrapped__())
                assert state.accepted(given) == given
                assert str(state.picture(given)) in output["data"]["text/html"]


def test_every_explorable_without_a_learners_data_comes_alive_on_some_page():
    text = "".join(nbformat.writes(page_of(lesson)) for lesson in LESSONS)
    alone = {
        name
        for name in explore.__all__
        if name not in ("Quiz", "State", "figures") and sources.moves_alone(name)
    }
    assert len(alone) > 12
    assert alone - set(re.findall(r'data-name=\\"(\w+)', text)) == set()


def test_the_references_have_every_source_once_in_each_lab():
    for lesson in LESSONS:
        text = sources.references([lesson])
        named = [
            address
            for cell in lesson.cells
            if cell.kind == "markdown"
            for address in sources.LINK.findall(cell.source)
        ]
        assert set(sources.LINK.findall(text)) == set(named)
        assert all(text.count(f"({address})") == 1 for address in named)


def test_a_log_keeps_the_colours_of_ranks_apart_and_legible():
    extension = pytest.importorskip("course.commands.web.extension")
    pairs = set()
    for rank in range(len(palette.RANKS)):
        found = extension.RankLexer().get_tokens(ansi(rank, "rank") + " says")
        (token, words), (plain, rest), *_ = [each for each in found if each[1]]
        assert (words, rest.strip()) == ("rank", "says")
        assert "Color" in str(token) and "Color" not in str(plain)
        ink, ground = (_of_256(int(code)) for code in re.findall(r"C(\d+)", str(token)))
        assert palette.contrast(ink, ground) >= 4.5, rank
        pairs.add(ground)
    assert len(pairs) == len(palette.RANKS)


def _of_256(code: int) -> str:
    """A colour of the cube of 216 in a palette of 256, as ``#rrggbb``."""
    levels = (0, 95, 135, 175, 215, 255)
    return "#" + "".join(f"{levels[(code - 16) // step % 6]:02x}" for step in (36, 6, 1))

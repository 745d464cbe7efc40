"""The sources of the site's pages: labs that need no kernel, the gallery, the front page."""

import html
import json
import re

import nbformat
import pytest

from course.commands.web import (
    front,
    gallery,
    lab_page,
    licenses,
    living,
)
from course.commands.web.ring import trial
from course.core import ROOT, CourseError
from course.drawing import ansi, palette, widget_view
from course.explore import EXPLORABLES
from course.lessons import CORE, labs

pytestmark = [pytest.mark.slow, pytest.mark.rest]

LESSONS = labs(ROOT)


def page_of(lesson):
    """The page of a lab."""
    return lab_page.page(lesson, solved_of(lesson))


def solved_of(lesson):
    """The solved notebook of a lab."""
    return nbformat.read(ROOT / "solutions" / f"{lesson.name}.ipynb", as_version=4)


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
    folded = [
        number
        for number, cell in enumerate(node.cells)
        if cell.metadata.get("mystnb", {}).get("code_prompt_show") == "Show the solution"
    ]
    for number in folded:
        assert "hide-input" in node.cells[number].metadata["tags"]
        assert "raise NotImplementedError" in node.cells[number - 1].source
    blank = [cell for cell in node.cells if "raise NotImplementedError" in cell.source]
    assert len(folded) == len([cell for cell in blank if cell.cell_type == "markdown"])
    assert "END SOLUTION" not in nbformat.writes(node)


def test_a_page_begins_with_the_lab_and_not_with_its_machine(node):
    code = [cell for cell in node.cells if cell.cell_type == "code"]
    assert "%load_ext course" in code[0].source and "hide-input" in code[0].metadata["tags"]
    assert not any("%load_ext" in cell.source for cell in code[1:])
    shown = [output for cell in code for output in cell.outputs]
    assert not any(output.get("text", "").startswith("Writing src/") for output in shown)
    number = node.cells[0].source.removeprefix("# ").partition(" ")[0]
    cards = [cell for cell in code if "hardware.card()" in cell.source and cell.outputs]
    assert len(cards) == (number == lab_page.FIRST)


def test_the_page_that_runs_ranks_is_linked_from_its_lab_and_where_visitors_begin(node):
    number = node.cells[0].source.removeprefix("# ").partition(" ")[0]
    assert ("try_ring.html" in nbformat.writes(node)) == (number == trial.LAB)
    for name in ("index.md", "start.md"):
        text = (front.TEXTS / name).read_text(encoding="utf-8")
        assert re.search(rf"\b{trial.PAGE}\.(html|md)\b", text), name


def test_what_comes_alive_begins_as_it_was_in_the_lab(node):
    begun = re.compile(r'data-name="(\w+)" data-state="([^"]*)"')
    for cell in node.cells:
        for output in cell.get("outputs", []):
            shown = "".join(output.get("data", {}).get("text/html", ""))
            for name, text in begun.findall(shown):
                values = json.loads(html.unescape(text))["values"]
                state = living.state(name)
                assert state.accepted(values) == values
                assert str(state.picture(values)) in shown


def test_the_gallery_shows_every_explorable_and_each_of_its_states_is_one():
    exhibits = gallery.exhibits()
    assert sorted(exhibit.name for exhibit in exhibits) == sorted(EXPLORABLES)
    for exhibit in exhibits:
        state = living.state(exhibit.name)
        assert exhibit.question.endswith("?") and len(exhibit.states) > 1
        drawn = [str(state.picture(state.accepted(values))) for values in exhibit.states]
        assert len(set(drawn)) == len(drawn), f"{exhibit.name}: two of its tries look the same"
        page = gallery.exhibit_page(exhibit, LESSONS)
        assert drawn[0] in page and page.index(drawn[0]) < page.index("## What to try")
        assert re.search(r"\]\(\d\d\w*\.ipynb\)", page), "no lab is named"


def test_a_state_that_no_control_can_take_is_refused():
    with pytest.raises(CourseError, match="GPUs takes a number"):
        living.living("scaling", {"gpus": 5000})


def test_the_front_page_counts_what_is_there_and_shows_real_runs():
    text = front.front_page(LESSONS, {lab.number: solved_of(lab) for lab in LESSONS})
    exercises = sum(len(lab.exercises) for lab in LESSONS)
    assert f"<b>{len(LESSONS)}</b> labs" in text and f"<b>{exercises}</b> exercises" in text
    assert f"{len(CORE)} labs, about 10 hours" in text
    assert "waits in all_reduce at" in text and "checks hold" in text
    assert "{{" not in text
    ready = json.loads(re.search(r'<script type="application/json">(.*?)</script>', text)[1])
    stops = next(spec for spec in living.state("scaling").specs({}) if spec["name"] == "gpus")
    assert [state["values"]["gpus"] for state in ready] == stops["stops"]
    assert len({state["picture"] for state in ready}) == len(ready)


def test_each_box_of_the_map_opens_its_lab():
    boxes = re.findall(r'<a href="(\w+)\.html" aria-label="(\w+) · ', front.start_page(LESSONS))
    assert sorted(boxes) == [(lab.name, lab.number) for lab in LESSONS]


def test_a_log_keeps_the_colours_of_ranks_apart_and_legible():
    extension = pytest.importorskip("course.commands.web.extension")
    pairs = set()
    for rank in range(len(palette.RANKS)):
        tokens = extension.RankLexer().get_tokens(ansi(rank, "rank") + " says")
        (token, words), (plain, rest), *_ = [pair for pair in tokens if pair[1]]
        assert (words, rest.strip()) == ("rank", "says")
        assert "Color" in str(token) and "Color" not in str(plain)
        ink, ground = (_of_256(int(code)) for code in re.findall(r"C(\d+)", str(token)))
        assert palette.contrast(ink, ground) >= 4.5, rank
        pairs.add(ground)
    assert len(pairs) == len(palette.RANKS)


def _of_256(code: int) -> str:
    """A colour of the 216-colour cube in the palette of 256, as ``#rrggbb``."""
    levels = (0, 95, 135, 175, 215, 255)
    return "#" + "".join(f"{levels[(code - 16) // step % 6]:02x}" for step in (36, 6, 1))


def test_the_pages_carry_the_licenses_of_what_others_wrote(tmp_path, monkeypatch):
    pytest.importorskip("furo")
    licenses.write_licenses(ROOT, tmp_path)
    for package in licenses.COPIED:
        text = (tmp_path / f"{package}.txt").read_text()
        assert "Copyright" in text and "AS IS" in text
    assert "Pyodide" in (tmp_path / "NOTICE.txt").read_text()
    monkeypatch.setattr(licenses.metadata, "files", lambda package: [])
    with pytest.raises(CourseError, match="furo brings no license file"):
        licenses.license_of("furo")

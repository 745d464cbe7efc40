"""Slides use the lesson's own words and the stored run, in one file that needs no other."""

import html
import re
from pathlib import Path

import nbformat
import pytest
from support.chromium import CHROMIUM
from support.patience import PATIENCE_S

from course.__main__ import main
from course.core import ROOT
from course.lessons import Lesson, labs

LABS = labs(ROOT)
SECTION = re.compile(r"<section>(.*?)</section>", re.DOTALL)
SECTIONS = "[...document.querySelectorAll('section')]"
TAG = re.compile(r"<(script|style|svg)\b.*?</\1>|<[^>]+>", re.DOTALL)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the decks of all labs."""
    folder = tmp_path_factory.mktemp("slides") / "out"
    assert main(["kit", "slides", str(folder)]) == 0
    return folder


def deck(out: Path, number: str) -> tuple[Lesson, list[str]]:
    lab = next(lab for lab in LABS if lab.number == number)
    return lab, SECTION.findall((out / f"{lab.name}.html").read_text())


def words(page: str) -> str:
    return " ".join(html.unescape(TAG.sub(" ", page)).split())


def test_there_is_a_deck_for_each_lab_and_a_page_that_leads_to_it(out: Path) -> None:
    assert {path.stem for path in out.iterdir()} == {"index", *(lab.name for lab in LABS)}
    index = (out / "index.html").read_text()
    for lab in LABS:
        _, cards = deck(out, lab.number)
        assert f'href="{lab.name}.html"' in index
        assert lab.title in words(cards[0]) and len(cards) >= 3, lab.name
        assert words(cards[-1]).startswith("Remember. "), lab.name


def test_nothing_is_asked_of_the_net_or_of_another_file(out: Path) -> None:
    for path in out.glob("[0-9]*.html"):
        urls = re.findall(r"(?:src|href)\s*=\s*[\"']?(?!data:)([^\"'> ]+)", path.read_text())
        assert [link for link in urls if not link.startswith("#")] == [], path.name


@pytest.mark.parametrize("number", ["02", "03", "08"])
def test_each_guess_is_a_slide_with_what_the_stored_run_showed(out: Path, number: str) -> None:
    lab, cards = deck(out, number)
    questions = [slide for slide in cards if 'class="question"' in slide]
    assert len(questions) == len(lab.guesses) >= 4
    for slide, cell in zip(questions, lab.guesses.values(), strict=True):
        assert slide.count("<details>") == 1 and "It was " in slide
        for choice in re.findall(r"<li>(.*?)</li>", slide):
            assert choice in cell.source.partition("\n")[0]
    assert sum("measured here" in slide for slide in cards) == 1
    assert sum('class="figure"' in slide for slide in cards) >= 1


def test_a_question_brings_the_paragraph_above_it_and_nothing_else(out: Path) -> None:
    _, cards = deck(out, "12")
    rates = next(slide for slide in cards if "rate 1, momentum 0" in slide)
    assert "The paper settles on a rate of 0.7" in rates, "the paragraph right above"
    fewest = next(slide for slide in cards if "sends the fewest bytes" in slide)
    assert words(fewest).startswith("What does each way save, and what does it lose? Which of")
    _, cards = deck(out, "10")
    fits = next(slide for slide in cards if "70.6 billion parameters" in slide)
    assert 'class="question"' in fits and "|" not in words(fits), "not the table before it"


def test_a_figure_that_was_made_is_preferred_to_the_curves_of_a_run(out: Path) -> None:
    for number, title in (
        ("03b", None),
        ("12b", "The others stand still"),
        ("11c", "Step 5"),
        ("03", "All"),
    ):
        _, cards = deck(out, number)
        figure = [slide for slide in cards if 'class="figure"' in slide][-1]
        assert title in figure if title else "data:image/png" in figure


def test_every_sentence_is_the_labs_own(out: Path) -> None:
    lab, cards = deck(out, "08")
    solved = nbformat.read(ROOT / "solutions" / f"{lab.name}.ipynb", 4)
    own = re.sub(r"\]\([^)]*\)|[*`\[#]", "", " ".join(cell.source for cell in solved.cells))
    for slide in (cards[0], cards[-1]):
        text = words(slide).removeprefix("08 · ").replace("Remember. ", "")
        assert text[-200:] in " ".join(own.split()), text


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path, capsys) -> None:
    assert main(["kit", "slides", str(tmp_path)]) == 2
    assert "is there already" in capsys.readouterr().err and list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.rest
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_in_a_browser_each_key_turns_one_slide_and_all_of_them_print(out: Path, browser) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(PATIENCE_S * 1000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for number in ("02", "03b", "08"):
        lab, cards = deck(out, number)
        page.goto((out / f"{lab.name}.html").as_uri())
        for key, at in (("ArrowRight", 1), ("PageDown", 2), ("ArrowDown", 3), ("ArrowLeft", 2)):
            page.keyboard.press(key)
            page.wait_for_function(f"Math.abs({SECTIONS}[{at}].getBoundingClientRect().top) < 2")
        fold = page.locator("summary").first
        fold.press("Enter")
        assert page.locator("details[open]").count() == 1
        page.keyboard.press("End")
        page.wait_for_function(f"{SECTIONS}.at(-1).getBoundingClientRect().bottom < 722")
        assert page.get_by_text("Remember.").is_visible()
        page.emulate_media(media="print")
        heights = page.evaluate(f"{SECTIONS}.map(each => each.offsetHeight)")
        assert heights == [720] * len(cards), "a page for each"
        page.emulate_media(media="screen")
    page.close()
    assert errors == []

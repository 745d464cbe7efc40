"""How the site's pages look in Chromium: the length of lines, their edges, what has the focus."""

import pytest
from support.lines_of_prose import SCREEN, assert_readable
from support.site import WALKED

LAB = "03_distributed_data_parallel.html"
# Where what has an edge ends on the right: goals, code, pictures, cards.
EDGES = """() => {
    const cards = '.text_html > [style*="max-width:7"]:not([style*="inline-block"])';
    const pictures = '.explorable-picture svg, article img[src$=svg]';
    return [...document.querySelectorAll(`article blockquote, .highlight, ${pictures}, ${cards}`)]
        .filter(part => part.checkVisibility())
        .map(part => [part.tagName, part.getBoundingClientRect().right]);
}"""
# Where the focus is, by its name, and the nearest and farthest pixel from the left.
FOCUS = """() => {
    const part = document.activeElement, { left, right } = part.getBoundingClientRect();
    return { name: part.ariaLabel ?? part.textContent, left, right };
}"""
# How far the outline of what has the focus goes into the words above it, in pixels.
COVERED = """() => {
    const part = document.activeElement, { outlineOffset, outlineWidth } = getComputedStyle(part);
    const top = part.getBoundingClientRect().top - parseFloat(outlineOffset)
        - parseFloat(outlineWidth);
    return part.previousElementSibling.getBoundingClientRect().bottom - top;
}"""

pytestmark = WALKED


@pytest.mark.parametrize("name", [LAB, "index.html", "start.html"])
def test_a_line_of_prose_has_eighty_to_ninety_letters(visit, name):
    assert_readable(visit(name, width=SCREEN), "article p")


@pytest.mark.parametrize("name", [LAB, "index.html", "explore_collectives.html"])
def test_goals_code_pictures_and_cards_end_at_one_edge(visit, name):
    found = visit(name, width=SCREEN).evaluate(EDGES)
    kinds, edges = {kind for kind, _ in found}, {edge for _, edge in found}
    assert name != LAB or {"BLOCKQUOTE", "DIV", "IMG"} <= kinds
    assert max(edges) - min(edges) <= 1, found  # the border of code lies outside


@pytest.mark.parametrize("width", [390, SCREEN])
def test_the_menu_is_walked_and_unfolded_by_keyboard(visit, width):
    page = visit("glossary.html", width=width)
    figure = page.locator(".sidebar-tree a", has_text="What does each rank hold afterwards?")
    assert not figure.is_visible()
    for _ in range(20):
        page.keyboard.press("Tab")
        page.wait_for_timeout(400 if width < SCREEN else 0)  # the menu glides in
        focus = page.evaluate(FOCUS)
        assert focus["left"] >= 0 and focus["right"] <= width, focus
        if focus["name"].startswith("Toggle navigation of"):
            break
    page.keyboard.press("Space")
    assert figure.is_visible()


def test_the_focus_leaves_the_label_above_it_free(visit):
    page = visit("explore_all_reduce.html", width=SCREEN)
    slider = page.get_by_role("slider", name="Ranks", exact=True)
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert slider.evaluate("part => part.matches(':focus-visible')")
    assert page.evaluate(COVERED) <= 0


def test_what_hides_the_matches_of_a_search_lies_on_nothing(visit):
    page = visit(f"{LAB}?highlight=rank", width=SCREEN)
    hide = page.get_by_role("link", name="Hide Search Matches")
    hide.wait_for()
    place = hide.bounding_box()
    below = page.locator(".sidebar-tree a").first.bounding_box()["y"]
    above = page.locator(".sidebar-search").bounding_box()
    assert above["y"] + above["height"] <= place["y"] < place["y"] + place["height"] <= below

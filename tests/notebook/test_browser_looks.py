"""How JupyterLab shows a lab: the length of lines, file names, and a page at 150 %."""

import pytest
from support.chromium import CHROMIUM
from support.jupyterlab import TERMINAL, open_notebook
from support.lines_of_prose import SCREEN, assert_readable

from course.commands.lab import trust

LAB = "solutions/03_distributed_data_parallel.ipynb"
CUT = """() => [...document.querySelectorAll('.jp-DirListing-itemText span')]
    .filter(name => name.scrollWidth > name.clientWidth + 1).map(name => name.textContent)"""
PANEL = "document.querySelector('.jp-WindowedPanel-outer')"
# The elements that are wider than their place, so that a reader scrolls sideways.
WIDE = """() => [...document.querySelectorAll(`.jp-Notebook .jp-OutputArea-output,
        .jp-Notebook .cm-scroller, .jp-Notebook .jp-RenderedMarkdown`)]
    .filter(part => part.scrollWidth > part.clientWidth + 1)
    .map(part => part.innerText.slice(0, 60) || part.className)"""
CURVES = "() => document.querySelector('.jp-RenderedSVG img') !== null"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.rest,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


def test_prose_is_narrow_enough_to_read_and_file_names_are_whole(page, server):
    page.set_viewport_size({"width": SCREEN, "height": 900})
    open_notebook(page, server, LAB)
    assert_readable(page, ".jp-RenderedMarkdown p")
    names = page.locator(".jp-DirListing-itemText")
    names.first.wait_for()
    assert names.count() > 20
    assert [name for name in page.evaluate(CUT) if len(name) <= 30] == []


def test_at_150_percent_nothing_is_wider_than_the_page(page, server, course_folder):
    """Neither code nor the curves of a run: a page of 1440 pixels then has 960."""
    trust([course_folder / LAB])
    page.set_viewport_size({"width": 960, "height": 600})
    open_notebook(page, server, LAB)
    pause_ms, curves, wide = 200, 0, []
    while not curves:  # a busy machine draws later
        pause_ms, top = 2 * pause_ms, 0
        while top < page.evaluate(f"() => {PANEL}.scrollHeight"):
            page.evaluate(f"top => {PANEL}.scrollTo(0, top)", top)
            page.wait_for_timeout(pause_ms)
            curves += page.evaluate(CURVES)
            wide += page.evaluate(WIDE)
            top += 500
    assert wide == []


def test_the_terminal_does_not_alarm_anybody(page, server, course_folder):
    """Kernel and browser communicate without a warning; a teacher's nbgrader may add one."""
    trust([course_folder / LAB])
    open_notebook(page, server, LAB)
    lines = (course_folder / TERMINAL).read_text().splitlines()
    assert any(line.startswith("Labs ") for line in lines)
    assert [line for line in lines if "ping_timeout" in line or "eavesdropping" in line] == []

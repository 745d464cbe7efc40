"""The labs as a learner sees them, in JupyterLab in a browser.

All cells are run, an explorable is moved, a run is interrupted. Needs Chromium (Debian's package)
and playwright; without them these tests are skipped.
"""

import html
import json
import re
import time

import nbformat
import psutil
import pytest
from support import solutions
from support.chromium import CHROMIUM
from support.jupyterlab import KERNEL, errors, menu, open_notebook, open_the_next_day, run_all
from support.patience import PATIENCE_S, until

from course.commands.lab import trust
from course.core import ROOT
from course.lessons import lessons, notebooks
from course.lessons.lesson import START

SVG = "image/svg+xml"
# The drawings on the page, which are images.
DRAWINGS = """() => [...document.querySelectorAll('.jp-RenderedSVG img')]
    .filter(image => image.naturalWidth > 0).map(image => decodeURIComponent(image.src)).join('')"""
HEIGHT = "() => document.querySelector('.jp-WindowedPanel-outer').scrollHeight"
SCROLL = "y => document.querySelector('.jp-WindowedPanel-outer').scrollTo(0, y)"
REDRAWN = """([before]) => [...document.querySelectorAll('.jp-CodeCell svg[role=img]')]
    .every(drawing => drawing.innerHTML !== before)"""
TITLE = re.compile(r"<title>(.*?)</title>")
# The parts of an explorable that are cut off, or scroll inside their cell: controls and output.
CUT = """() => [...document.querySelectorAll('.jp-OutputArea-output')]
    .filter(output => output.querySelector('.explorable'))
    .flatMap(output => [output, ...output.querySelectorAll('.options, fieldset, label')])
    .filter(part => part.scrollWidth > part.clientWidth + 1 ||
        (part.matches('.jp-OutputArea-output') && part.scrollHeight > part.clientHeight))
    .map(part => part.className + ': ' + part.textContent.slice(0, 40))"""
WIDTHS = (1400, 1024, 640)  # of a window, in pixels; 640 is 1280 at a zoom of 200 %

pytestmark = [
    pytest.mark.slow,
    pytest.mark.rest,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


def test_every_cell_runs_and_an_open_exercise_is_announced(page, server, course_folder):
    """This runs one lab; `pytest --nbval` runs the cells of all labs."""
    path = "labs/04d_streaming.ipynb"
    open_notebook(page, server, path)
    cells = run_all(page, course_folder, path)
    assert errors(cells) == []
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert "till to write" in json.dumps(cells)


def test_every_drawing_of_the_solutions_is_seen_as_it_was_run(page, server, course_folder):
    """The drawings of all labs are in one notebook, so JupyterLab and a kernel start once."""
    cells = []
    for path in sorted((ROOT / "solutions").glob("*.ipynb")):
        drawn_by = [cell for cell in nbformat.read(path, as_version=4).cells if drawn(cell)]
        cells += [nbformat.v4.new_code_cell(outputs=cell.outputs) for cell in drawn_by]
    drawings = [data for cell in cells for data in drawn(cell)]
    assert len(drawings) > 50
    missing = set()
    for number, data in enumerate(drawings):  # two may have the same title
        data[SVG] = data[SVG].replace("<title>", f"<title>{number}: ", 1)
        missing.add(html.unescape(TITLE.search(data[SVG])[0]))
    assert len(missing) == len(drawings)
    path = course_folder / "solutions" / "drawn.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), path)
    trust([path])
    open_notebook(page, server, "solutions/drawn.ipynb")
    deadline = time.monotonic() + PATIENCE_S
    pause_ms = 50
    while missing and time.monotonic() < deadline:
        for top in range(0, page.evaluate(HEIGHT), 500):  # only what is near the screen is there
            page.evaluate(SCROLL, top)
            page.wait_for_timeout(pause_ms)
            seen = html.unescape(page.evaluate(DRAWINGS))
            missing = {title for title in missing if title not in seen}
            if not missing:
                break
        pause_ms = min(2 * pause_ms, 2000)  # a busy machine needs longer
    assert not missing


def drawn(cell: nbformat.NotebookNode) -> list[dict]:
    """The outputs of a cell that are drawings, by MIME type."""
    data = [output.get("data", {}) for output in cell.get("outputs", [])]
    return [rich for rich in data if SVG in rich]


def test_the_glossary_opens_as_a_page(page, server):
    page.goto(f"{server}lab/tree/labs/glossary.md?token=learner&reset")
    page.locator(".jp-MarkdownViewer h3", has_text="all-reduce").first.wait_for()


def test_an_explorable_moves_its_sliders_have_names_and_nothing_is_cut(page, server):
    open_notebook(page, server, "solutions/03b_overlap.ipynb")
    cell = page.locator(".jp-CodeCell", has_text="explore.buckets()")
    for text in ("from course import", "explore.buckets()"):
        page.locator(".jp-CodeCell", has_text=text).first.click()
        page.keyboard.press("Control+Enter")
    slider = cell.locator("input[type=range]").first
    slider.wait_for()
    before = cell.locator("svg[role=img]").first.inner_html()
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.wait_for_function(REDRAWN, arg=[before])
    assert cell.get_by_role("slider").count() == cell.locator("input[type=range]").count()
    for slider in cell.locator("input[type=range]").all():
        assert slider.get_attribute("aria-label")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        until(lambda: page.evaluate(CUT) == [])  # the page takes a moment to follow


def test_a_picture_is_touched_by_keyboard(page, server, course_folder):
    """Tab leads to its first mark, arrows from mark to mark, Enter presses one."""
    path = "labs/touched.ipynb"
    sources = ["from course import explore", "explore.all_reduce()"]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), course_folder / path)
    open_notebook(page, server, path)
    assert errors(run_all(page, course_folder, path)) == []
    rounds = page.locator(".explorable-picture svg [role=button]")
    page.locator(".explorable-controls input").last.focus()
    page.keyboard.press("Tab")
    page.wait_for_function("() => document.activeElement.matches('[data-set][role=button]')")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    third = rounds.nth(2).get_attribute("aria-label")
    before = page.locator(".explorable-picture svg").inner_html()
    page.keyboard.press("Enter")
    page.wait_for_function(REDRAWN, arg=[before])
    shown = page.get_by_role("group", name="Round").locator("output").inner_text()
    assert shown == "3 of 6" and third.endswith(f"round {shown}")


def test_the_quiz_is_answered_by_keyboard(page, server, course_folder):
    path = "labs/asked.ipynb"
    script = solutions.scripts("00_start_here")["collectives.py"]
    (course_folder / "labs" / "src" / "collectives.py").write_text(script)
    sources = ["%load_ext course\nfrom course import explore", "explore.Quiz()"]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), course_folder / path)
    open_notebook(page, server, path)
    assert errors(run_all(page, course_folder, path)) == []
    fields = page.locator(".explorable input[type=text]")
    picture = page.locator(".explorable-picture svg")

    def numbers() -> list[str]:
        return re.findall(r"rank \d: (\d)", picture.get_attribute("aria-label"))

    page.locator(".explorable input[type=range]").focus()
    page.keyboard.press("ArrowLeft")  # two ranks
    page.locator(".explorable-spoken", has_text="on 2 ranks").wait_for()
    before = numbers()
    for key in ("Tab", "Tab", "7", "Shift+Tab", "Enter"):  # a number typed, and others asked for
        page.keyboard.press(key)
    until(lambda: numbers() != before)
    assert [field.input_value() for field in fields.all()] == ["", ""]
    [*_, first, second] = numbers()
    page.keyboard.press("Tab")
    page.keyboard.type(f"{first} {second}")
    page.keyboard.press("Tab")
    page.keyboard.type("0 0")
    for key in ("Tab", "Enter"):
        page.keyboard.press(key)
    page.locator(".explorable-spoken", has_text="1 of 2 predictions hold").wait_for()
    assert [field.input_value() for field in fields.all()] == [f"{first} {second}", "0 0"]
    until(lambda: page.evaluate(CUT) == [])


def test_a_notebook_of_yesterday_still_shows_its_picture_and_says_that_it_sleeps(
    page, server, course_folder
):
    """The notebook is run, saved and closed, then opened twice without a kernel, then run again."""
    path = "labs/yesterday.ipynb"
    sources = ["from course import explore", "explore.buckets()"]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), course_folder / path)
    open_notebook(page, server, path)
    ran = run_all(page, course_folder, path)
    assert errors(ran) == []
    picture = page.locator(".explorable svg")
    open_the_next_day(page, server, path, picture)
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("End")
    page.keyboard.type("  # read")
    page.keyboard.press("Control+s")
    until(lambda: "# read" in (course_folder / path).read_text())
    open_the_next_day(page, server, path, picture)
    title = TITLE.search("".join(ran[1]["outputs"][0]["data"][SVG]))[1]
    assert title in picture.get_attribute("aria-label")
    page.locator("text=Run this cell to move the picture").wait_for()
    assert page.locator(".explorable input:enabled").count() == 0
    for text in sources:
        page.locator(".jp-CodeCell", has_text=text).first.locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
    page.wait_for_function("() => document.querySelector('.explorable input:enabled')")
    assert not page.locator("text=Run this cell to move the picture").is_visible()


def test_the_start_notebook_shows_the_map_and_its_links_open_labs(page, server, course_folder):
    """The notebook is built here, so the test sees the lesson's current text."""
    [lesson] = [lab for lab in lessons(ROOT) if lab.name == START]
    made = notebooks.text(notebooks.notebook(lesson, solved=False))
    (course_folder / "labs" / f"{START}.ipynb").write_text(made)
    open_notebook(page, server, f"labs/{START}.ipynb")
    assert errors(run_all(page, course_folder, f"labs/{START}.ipynb")) == []
    page.evaluate(SCROLL, 0)
    page.locator(".jp-RenderedMarkdown a", has_text="Lab 00").first.click()
    page.wait_for_url("**/lab/tree/labs/00_start_here.ipynb")


def test_an_interrupt_ends_the_ranks(page, server, course_folder):
    pids = course_folder / "labs" / "pids"
    script = (
        f"import os, time\nopen({str(pids)!r}, 'a').write(f'{{os.getpid()}} ')\n"
        "print('ready')\ntime.sleep(600)\n"
    )
    (course_folder / "labs" / "src" / "sleeps.py").write_text(script)
    cells = [
        "%load_ext course",
        "run = %torchrun --standalone --nproc-per-node 2 src/sleeps.py",
        "print('alive')",
    ]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in cells], metadata=KERNEL
    )
    nbformat.write(notebook, course_folder / "labs" / "interrupt.ipynb")
    open_notebook(page, server, "labs/interrupt.ipynb")
    menu(page, "Run", "Run All Cells")
    page.wait_for_selector("text=ready")
    until(lambda: len(pids.read_text().split()) == 2)
    ranks = [int(pid) for pid in pids.read_text().split()]
    assert [psutil.pid_exists(pid) for pid in ranks] == [True, True]
    menu(page, "Kernel", "Interrupt Kernel")
    page.wait_for_selector("text=Interrupted")
    until(lambda: not any(map(psutil.pid_exists, ranks)))
    alive = page.locator(".jp-OutputArea-output:has-text('alive')")

    def answers() -> bool:
        page.locator(".jp-CodeCell").last.click()
        page.keyboard.press("Control+Enter")
        page.wait_for_timeout(1000)
        return alive.is_visible()

    until(answers)  # for a moment after an error, the kernel drops what it is asked

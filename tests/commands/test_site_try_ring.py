"""The page try_ring, in Chromium: a visitor's first ring all-reduce, by keyboard alone."""

import itertools
import shutil

import pytest
from support import accessibility
from support.patience import PATIENCE_S
from support.ring_answers import BEGUN, SOLVED
from support.web_pages import WALKED, served

from course.commands.web import build
from course.commands.web.ring import trial
from course.core import ROOT, write_atomically

STUBS = ("index", "start", "02_all_reduce")  # pages that it links to
CONF = ROOT / "course" / "commands" / "web" / "conf.py"
COMPLETE = "() => document.querySelector('.trial-status').textContent.startsWith('All of it')"
SAYS = "words => document.querySelector('.trial-status').textContent.includes(words)"

pytestmark = WALKED


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address at which the page is served, with stubs for the pages that it links to."""
    pytest.importorskip("myst_nb")
    pytest.importorskip("furo")
    sources, pages = (tmp_path_factory.mktemp(name) for name in ("sources", "pages"))
    for name in STUBS:
        write_atomically(sources / f"{name}.md", f"---\norphan: true\n---\n\n# {name}\n")
    write_atomically(sources / "glossary.md", "---\norphan: true\n---\n\n# Glossary\n")
    text = trial.trial_page().replace("(02_all_reduce.ipynb)", "(02_all_reduce.md)")
    write_atomically(sources / f"{trial.PAGE}.md", f"---\norphan: true\n---\n\n{text}")
    shutil.copyfile(CONF, sources / "conf.py")
    build.write_static(ROOT, sources)
    build.write_pages(sources, pages)
    with served(pages) as address:
        yield address


def write(page, source: str) -> None:
    """Put a source into the editor, as if it were typed."""
    page.get_by_label("Your code").fill(source)


def test_from_the_first_click_to_a_ring_by_keyboard_alone(visit):
    page = visit(f"{trial.PAGE}.html")
    editor = page.get_by_label("Your code")
    editor.focus()
    page.keyboard.press("Tab")  # leaves the editor
    page.keyboard.press("Enter")
    page.get_by_text("They wait in a circle, 0 → 1 → 2 → 3 → 0.").wait_for()
    page.get_by_text(
        "Rank 2 waits in send to rank 3, line 14: dist.send(leaving, right)"
    ).wait_for()
    chips = page.locator(".trial-editor .line", has_text="dist.send").locator(".chip")
    assert chips.all_inner_texts() == ["0", "1", "2", "3"]
    assert page.locator(".trial-verdicts > li.open").count() == 4
    assert "Rank 3 waits for rank 0." in page.locator(".trial-picture svg").get_attribute(
        "aria-label"
    )
    write(page, SOLVED)
    assert chips.count() == 0  # they belong to other code
    editor.press("Control+Enter")
    page.wait_for_function(COMPLETE)
    assert page.locator(".trial-verdicts > li.holds").count() == 5
    title = page.locator(".trial-picture .explorable-spoken b")
    assert title.inner_text() == "Round 6 of 6: 32 of 32 sums complete"
    page.get_by_role("slider", name="Round").press("ArrowLeft")
    page.get_by_text("Round 5 of 6: 24 of 32 sums complete").first.wait_for()
    page.reload()
    assert editor.input_value() == SOLVED  # the visitor's code is kept
    page.get_by_role("button", name="Start over").click()
    assert editor.input_value() == BEGUN


def test_a_loop_without_an_end_is_stopped_and_the_page_goes_on(visit):
    page = visit(f"{trial.PAGE}.html")
    write(page, "def all_reduce(flat):\n    while True:\n        pass\n")
    page.get_by_label("Your code").press("Control+Enter")
    page.wait_for_function(SAYS, arg="Running")
    page.get_by_role("button", name="Stop").wait_for()
    page.wait_for_function(SAYS, arg="Is there a loop that never ends?")
    write(page, SOLVED)
    page.get_by_label("Your code").press("Control+Enter")
    page.wait_for_function(COMPLETE)


def test_the_editor_indents(visit):
    page = visit(f"{trial.PAGE}.html")
    editor = page.get_by_label("Your code")
    write(page, "")
    editor.press_sequentially("for i in a:\nif i:  # so\nf(i)\ng()")
    assert editor.input_value() == "for i in a:\n    if i:  # so\n        f(i)\n        g()"
    editor.press("Control+[")
    assert editor.input_value().endswith("\n    g()")
    editor.press("Control+a")
    editor.press("Control+]")
    assert editor.input_value().startswith("    for i in a:\n        if i:")
    shown = page.locator(".trial-shown").evaluate("shown => shown.textContent")
    assert shown.rstrip("\n") == editor.input_value()


def test_without_python_the_page_says_so_and_can_try_again(browser, address):
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_S * 1000)
    page.route("**/pyodide/*", lambda route: route.abort())
    page.goto(f"{address}{trial.PAGE}.html")
    page.wait_for_function(SAYS, arg="Python did not start here")
    page.unroute("**/pyodide/*")
    page.get_by_role("button", name="Run on 4 ranks").click()
    page.get_by_text("They wait in a circle").wait_for()
    page.close()


def test_a_browser_that_cannot_run_python_says_so(browser, address):
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_S * 1000)
    page.add_init_script("delete window.WebAssembly")
    page.goto(f"{address}{trial.PAGE}.html")
    page.wait_for_function(SAYS, arg="This browser cannot run Python in a page")
    assert page.get_by_role("button", name="Run on 4 ranks").is_disabled()
    page.close()


def test_all_that_a_run_shows_can_be_read_by_everybody(visit, axe):
    page = visit(f"{trial.PAGE}.html")
    page.evaluate(axe)
    write(page, BEGUN.replace("dist.send", 'print("sends")\n    dist.send'))
    page.get_by_role("button", name="Run on 4 ranks").click()
    page.get_by_text("They wait in a circle").wait_for()
    assert looked_at(page) == []
    write(page, SOLVED)
    page.get_by_role("button", name="Run on 4 ranks").click()
    page.wait_for_function(COMPLETE)
    assert looked_at(page) == []


def looked_at(page) -> list[str]:
    """The accessibility problems of the page in its current state: light, dark, wide, narrow."""
    wrong = []
    for scheme, width in itertools.product(("light", "dark"), (1280, 360)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        result = page.evaluate(accessibility.RUN)
        if page.evaluate("() => document.documentElement.scrollWidth > innerWidth"):
            result.append("too wide")
        wrong += [f"{scheme}, {width}: {problem}" for problem in result]
    return wrong


@pytest.fixture(scope="module")
def axe(tmp_path_factory) -> str:
    """The source of axe-core."""
    return accessibility.source(tmp_path_factory.mktemp("axe"))

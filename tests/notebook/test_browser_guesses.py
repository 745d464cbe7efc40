"""Guesses as a learner makes them, in JupyterLab in a browser."""

import re

import nbformat
import pytest
from support.chromium import CHROMIUM
from support.jupyterlab import KERNEL, open_notebook, open_the_next_day
from support.patience import until

MARK = "form => getComputedStyle(form.parentElement, '::before').display"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.rest,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


def test_guesses_are_answered_twice_refused_skipped_and_there_the_next_day(
    page, server, course_folder
):
    path = "labs/guesses.ipynb"
    sources = [
        "%load_ext course\nfrom course.notebook import it_was",
        "%%guess growth times\nBy what factor does the time grow?",
        "%%guess a100 falls | rises\nWhat does the efficiency do?",
        "%%guess why\nWhy?",
        "it_was('growth', 900.4)\nit_was('a100', 'falls')",
    ]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), course_folder / path)
    open_notebook(page, server, path)
    for source in sources[:4]:
        run_cell(page, source)
    growth, a100, why = (
        page.locator(".jp-CodeCell", has_text=source.partition("\n")[0]).locator(".guess")
        for source in sources[1:4]
    )
    field = growth.get_by_label("By what factor does the time grow?")
    field.fill("many")
    field.press("Enter")
    growth.get_by_role("alert").filter(has_text="Your guess here is a number").wait_for()
    for typed in ("12", "16,000"):
        field.fill(typed)
        field.press("Enter")
        growth.get_by_text(f"You guessed {typed} times.").wait_for()
        if typed == "12":
            growth.get_by_role("button", name="Change").click()
    a100.get_by_role("button", name="falls").click()
    a100.get_by_text("You guessed “falls”.").wait_for()
    why.get_by_role("button", name="Skip").click()
    why.get_by_text("Skipped.").wait_for()
    run_cell(page, sources[4])
    both = "You guessed 16,000 times, it was 900 times: 18 times less."
    growth.get_by_text(both).wait_for()
    assert page.get_by_text(both).count() == 2, "beside the question and beside the run"
    assert growth.get_by_role("button").count() == 0
    page.keyboard.press("Control+s")
    until(lambda: (course_folder / path).read_text().count(both) >= 4)  # outputs and forms
    open_the_next_day(page, server, path, growth.get_by_text(both))
    assert page.locator(".guess input, .guess button").count() == 0, "a form that nobody answers"
    assert growth.evaluate(MARK) == "none", "JupyterLab marks a widget without a kernel in red"
    for source in sources[:4]:
        run_cell(page, source)
    why.get_by_role("button", name="Guess").wait_for()
    assert page.get_by_text(both).count() == 2
    assert page.locator(".guess input").count() == 0, "asked once more"


def test_after_an_answer_the_next_cell_runs_by_the_keyboard(page, server, course_folder):
    path = "labs/onward.ipynb"
    sources = [
        "%load_ext course",
        "%%guess factor times\nBy what factor?",
        "%%guess trend falls | rises\nWhat does it do?",
        "print('the run')",
    ]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), course_folder / path)
    open_notebook(page, server, path)
    page.locator(".jp-CodeCell .cm-content").first.click()
    for _ in sources[:2]:
        page.keyboard.press("Shift+Enter")
    factor, trend = (page.locator(".guess").nth(number) for number in range(2))
    factor.get_by_role("textbox").click()
    page.keyboard.type("many")
    page.keyboard.press("Enter")
    factor.get_by_role("alert").wait_for()
    page.keyboard.type("12")  # replaces the wrong answer
    page.keyboard.press("Enter")
    factor.get_by_text("You guessed 12 times.").wait_for()
    page.keyboard.press("Shift+Enter")
    trend.get_by_role("button", name="Skip").click()
    trend.get_by_text("Skipped.").wait_for()
    page.keyboard.press("Shift+Enter")
    page.locator(".jp-OutputArea-output", has_text="the run").wait_for()


def run_cell(page, source: str) -> None:
    """Run the cell of this source, and wait until it has run."""
    cell = page.locator(".jp-CodeCell", has_text=source.partition("\n")[0]).first
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    page.wait_for_timeout(500)
    cell.locator(".jp-InputPrompt", has_text=re.compile(r"\[\d+\]")).wait_for()

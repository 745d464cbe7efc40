"""Turn a solved notebook into a page: explorables move, solutions fold, its machine is left out."""

import re

import nbformat
from nbformat import NotebookNode

from course.commands.web import living
from course.commands.web.hosted import Repository, ways_to_open
from course.commands.web.ring import trial
from course.core import lesson_marks
from course.lessons import Lesson

SVG = "image/svg+xml"
FIRST = "00"  # the lab that explains the card of the machine
WRITING = re.compile(r"(Writing|Overwriting) src/")
LOCAL = (
    '<p class="ways">You read it solved. To do it yourself, open it '
    '<a href="start.html">on your machine</a></p>'
)


def page(
    lesson: Lesson, solved: NotebookNode, repository: Repository | None = None
) -> NotebookNode:
    """Turn the solved notebook of a lab into its page."""
    blank = lesson.sources(solved=False)
    cells = []
    for cell, as_handed_out in zip(solved.cells, blank, strict=True):
        if cell.cell_type == "markdown":
            cell.source = links(cell.source)
        else:
            cell.outputs = [_output(cell.source, output) for output in cell.outputs]
            if lesson_marks.BEGIN in cell.source:
                cells.append(nbformat.v4.new_markdown_cell(f"```python\n{as_handed_out}\n```"))
                cell.source = "\n".join(lesson_marks.unmarked(cell.source.splitlines()))
                _fold(cell, "Show the solution")
            if WRITING.match("".join(output.get("text", "") for output in cell.outputs)):
                cell.outputs = []
        cells.append(cell)
    cells[0].source = cells[0].source.replace("# ", f"# {lesson.number} · ", 1)
    _fold_setup(lesson, cells)
    ways = ways_to_open(lesson, repository) if repository else LOCAL
    if lesson.number == trial.LAB:
        ways += f"\n{trial.LINK}"
    cells.insert(1, nbformat.v4.new_markdown_cell(ways))
    solved.cells = cells
    return solved


def _fold(cell: NotebookNode, words: str) -> None:
    """Hide a cell's source until a click on `words`; its output stays visible."""
    cell.metadata["tags"] = [*cell.metadata.get("tags", []), "hide-input"]
    cell.metadata["mystnb"] = {"code_prompt_show": words}


def _fold_setup(lesson: Lesson, cells: list[NotebookNode]) -> None:
    """Fold the beginning of a lab into one cell: its imports, and a card of the machine.

    The machine is the author's, so its card is left out, except in the lab that explains it.
    """
    setup = cells[1]
    if "hardware.card()" in cells[2].source and lesson.number != FIRST:
        setup.source += f"\n\n{cells.pop(2).source}"
    _fold(setup, "Show the imports")


def values_of(output: NotebookNode) -> dict | None:
    """The values of an explorable's controls when it was drawn; None for any other output."""
    return output.get("metadata", {}).get(SVG, {}).get("values")


def _output(source: str, output: NotebookNode) -> NotebookNode:
    """An output that needs no kernel: an explorable becomes a picture with working controls."""
    data = output.get("data", {})
    name = lesson_marks.EXPLORABLE.search(source)
    if (values := values_of(output)) and name:
        drawn = living.state(name[1])
        still = drawn.picture(drawn.accepted(values)).still
        if data[SVG] == still:  # otherwise it shows measurements of that run
            text = living.living(name[1], values)
            return nbformat.v4.new_output("display_data", {"text/html": text})
    if "text/markdown" in data:  # Sphinx leaves the links of an output as they are
        data["text/markdown"] = "".join(data["text/markdown"]).replace(".ipynb)", ".html)")
    return output


def links(text: str) -> str:
    """Change links for a site in which all pages are in one folder."""
    return (
        text.replace("../images/", "images/")
        .replace("../labs/", "")
        .replace("](../course/", "](course/")
    )

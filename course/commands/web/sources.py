"""The sources of the site's pages: solved notebooks as Sphinx reads them, and the other texts."""

import html
import inspect
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course import explore
from course.commands.web.hosted import Repository, ways_to_open
from course.core import lesson_marks, write_whole
from course.drawing import widget_view
from course.lessons import Lesson, lessons, read_sources, sources_as_markdown

HERE = Path(__file__).parent
EXPLORABLE = re.compile(r"\bexplore\.(\w+)\(")
STATE = "application/vnd.jupyter.widget-state+json"
SVG = "image/svg+xml"
FRONT = "buckets"  # the explorable of the front page
LINK = re.compile(r"\[[^\]]+\]\((https?://[^)\s]+)\)")
BLOCK = re.compile(r"\n\s*\n|\n(?=[-*|>] )")  # what parts paragraphs, items and rows
SENTENCE = re.compile(r"(?<=[\w)\]`]{2}[.?!])\s+(?=[A-Z(*])")  # ... and sentences
OPEN = """```{{admonition}} Open this lab
:class: tip
You read it solved. To do it yourself, clone the repository, type `make lab`, and open
`labs/{name}.ipynb`.
```"""
NO_ADDRESS = "URL-OF-THIS-REPOSITORY"  # in the text of the front page
UNREAD = shutil.ignore_patterns("__pycache__")


def write_sources(root: Path, out: Path, repository: Repository | None = None) -> None:
    """Write everything that Sphinx reads into the new folder `out`."""
    found = lessons(root)
    for lesson in found:
        solved = nbformat.read(root / "solutions" / f"{lesson.name}.ipynb", 4)
        node = page(lesson, solved, repository)
        write_whole(out / f"{lesson.name}.ipynb", nbformat.writes(node))
    shutil.copytree(root / "images", out / "images")
    shutil.copytree(root / "course" / "given", out / "course" / "given", ignore=UNREAD)
    shutil.copyfile(HERE / "conf.py", out / "conf.py")
    write_whole(out / "glossary.md", _links((root / "labs" / "glossary.md").read_text()))
    write_whole(out / "teaching.md", (root / "TEACHING.md").read_text())
    documents = sources_as_markdown(read_sources(root))
    write_whole(out / "references.md", f"{references(found)}\n{documents}")
    names = "\n".join(lesson.name for lesson in found)
    shutil.copyfile(HERE / "texts" / "how_it_works.md", out / "how_it_works.md")
    front = (HERE / "texts" / "index.md").read_text(encoding="utf-8")
    if repository:
        front = front.replace(NO_ADDRESS, repository.address)
    front = front.replace("{{labs}}", names).replace("{{explorable}}", _living(FRONT, {}))
    write_whole(out / "index.md", front)


def page(
    lesson: Lesson, solved: NotebookNode, repository: Repository | None = None
) -> NotebookNode:
    """A solved notebook as a page: explorables can come alive, solutions are folded away."""
    widgets = solved.metadata.pop("widgets", {}).get(STATE, {}).get("state", {})
    blank = lesson.sources(solved=False)
    cells = []
    for cell, as_handed_out in zip(solved.cells, blank, strict=True):
        if cell.cell_type == "markdown":
            cell.source = _links(cell.source)
        else:
            cell.outputs = [_output(cell.source, output, widgets) for output in cell.outputs]
            if lesson_marks.BEGIN in cell.source:
                cells.append(nbformat.v4.new_markdown_cell(f"```python\n{as_handed_out}\n```"))
                cell.metadata["tags"] = [*cell.metadata.get("tags", []), "hide-input"]
                cell.metadata["mystnb"] = {"code_prompt_show": "Show the solution"}
        cells.append(cell)
    if lesson.minutes:  # the start notebook is not a lab
        cells[0].source = cells[0].source.replace("# ", f"# {lesson.number} · ", 1)
        known = ways_to_open(lesson, repository) if repository else OPEN.format(name=lesson.name)
        cells.insert(1, nbformat.v4.new_markdown_cell(known))
    solved.cells = cells
    return solved


def _output(source: str, output: NotebookNode, widgets: dict) -> NotebookNode:
    """An output that needs no kernel: of an explorable its picture, and what can move it."""
    data = output.get("data", {})
    view = data.pop(widget_view.MIMETYPE, None)
    state = widgets.get(view["model_id"], {}).get("state", {}) if view else {}
    name = EXPLORABLE.search(source)
    if SVG in data and "values" in state and name and moves_alone(name[1]):
        text = _living(name[1], state["values"])
        if data[SVG] in text:  # else it shows what was measured in that run
            return nbformat.v4.new_output("display_data", {"text/html": text})
    if "text/markdown" in data:  # Sphinx leaves the links of an output as they are
        data["text/markdown"] = "".join(data["text/markdown"]).replace(".ipynb)", ".html)")
    return output


def moves_alone(name: str) -> bool:
    """Whether an explorable can do without a learner's measurements."""
    parameters = inspect.signature(getattr(explore, name).__wrapped__).parameters.values()
    return all(parameter.default is not parameter.empty for parameter in parameters)


def _living(name: str, values: dict) -> str:
    """An explorable as a picture that comes alive at the first touch."""
    state = explore.State(*getattr(explore, name).__wrapped__())
    picture = state.picture(state.accepted(values))
    given = html.escape(json.dumps(values))
    return (
        f'<div class="explorable-page" data-name="{name}" data-values="{given}">'
        f'<button type="button" hidden>Play with it</button>{picture}</div>'
    )


def references(found: list[Lesson]) -> str:
    """The sources that the labs name, in the sentences that do so, each once in a lab."""
    parts = ["# References\n\nEvery paper, page and manual that a lab links to, in its order."]
    for lesson in found:
        seen, sentences = set(), []
        for sentence in _sentences(lesson):
            addresses = set(LINK.findall(sentence))
            if addresses - seen:
                sentences.append(f"- {_links(sentence)}")
            seen |= addresses
        if sentences:
            parts.append(f"## Lab {lesson.number}")
            parts.append("\n".join(sentences))
    return "\n\n".join(parts) + "\n"


def _sentences(lesson: Lesson) -> Iterator[str]:
    """The sentences of a lesson's Markdown, each in one line; a row of a table is one, too."""
    for cell in lesson.cells:
        for block in BLOCK.split(cell.source) if cell.kind == "markdown" else []:
            text = " ".join(block.split()).strip("|-*> ").replace(" | ", ": ")
            yield from SENTENCE.split(text)


def _links(text: str) -> str:
    """Links as they are where all pages lie in one folder."""
    return (
        text.replace("../images/", "images/")
        .replace("../labs/", "")
        .replace("](../course/", "](course/")
    )

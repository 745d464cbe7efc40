"""Write a deck of slides for each lab, from its lesson and its stored run, without new sentences.

A deck is one HTML file that needs nothing else: it opens from a folder, without a network, and
prints. Each slide fills the window, and scrolling stops at each.
"""

import base64
import html
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import nbformat
from markdown_it import MarkdownIt
from nbformat import NotebookNode

from course.charts import live_curves
from course.core import lesson_marks, write_atomically
from course.drawing import html_page
from course.lessons import Lesson

HERE = Path(__file__).with_name("files")
MARKDOWN = MarkdownIt("commonmark").enable("table")
LINK = re.compile(r"</?a\b[^>]*>|<img\b[^>]*>")  # their targets are not next to the deck
CLAIMS = re.compile(r"\bclaims\(")
HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
LIVE = re.compile(f"<title>{live_curves.TITLE}")  # the curves that a run draws while it is running
NO_PARAGRAPH = re.compile(r"^(#|\||>|[-*] |\d+\. |!\[|<|```|\$\$)", re.MULTILINE)


def write(root: Path, labs: Sequence[Lesson], out: Path) -> None:
    """Write a deck for each lab into the new folder `out`, and a page that lists them."""
    links = []
    for lab in labs:
        solved = nbformat.read(root / "solutions" / f"{lab.name}.ipynb", 4)
        write_atomically(out / f"{lab.name}.html", deck(lab, solved))
        links.append(f'<li><a href="{lab.name}.html">{_title(lab)}</a></li>')
    write_atomically(
        out / "index.html", _page("Slides", [f"<h1>Slides</h1><ol>{''.join(links)}</ol>"])
    )


def deck(lab: Lesson, solved: NotebookNode) -> str:
    """The deck of one lab as HTML: question, explorable, guesses, a figure, the table, the end."""
    return _page(_title(lab), [slide for slide in _slides(lab, solved) if slide])


def _title(lab: Lesson) -> str:
    return html.escape(f"{lab.number} · {lab.title}")


def _page(title: str, slides: Sequence[str]) -> str:
    style, script = (
        (HERE / f"slides.{kind}").read_text(encoding="utf-8") for kind in ("css", "js")
    )
    sections = "".join(f"<section>{slide}</section>\n" for slide in slides)
    end = f"<script>{script}</script></body></html>\n"
    return f"{html_page.head(title, style)}\n{sections}{end}"


def _slides(lab: Lesson, solved: NotebookNode) -> Iterator[str]:
    prose = [cell.source for cell in solved.cells if cell.cell_type == "markdown"]
    first = prose[0].partition("\n")[2].strip().partition("\n\n")[0]
    yield f"<h1>{_title(lab)}</h1>{_rendered(first)}"
    headings = list(zip(solved.cells, _headings(solved), strict=True))
    drawn = [(cell, heading) for cell, heading in headings if _picture(cell)]
    explorables = [pair for pair in drawn if lesson_marks.EXPLORABLE.search(pair[0].source)]
    for cell, heading in explorables[:1]:
        yield _figure(heading, cell)
    for above, (cell, heading) in pairwise([(None, ""), *headings]):
        if lesson_marks.GUESS.match(cell.source):
            yield _guess(cell, heading, _lead_in(above[0]))
    figures = [pair for pair in drawn if pair not in explorables]
    for cell, heading in sorted(figures, key=lambda pair: not LIVE.search(_picture(pair[0])))[-1:]:
        yield _figure(heading, cell)
    for cell, heading in headings:
        if cell.cell_type == "code" and CLAIMS.search(cell.source):
            yield f"<h2>{heading}</h2>{_last_output(cell, 'text/html')}"
    yield "".join(
        _rendered(part) for part in prose[-1].split("\n\n") if part.startswith("**Remember.**")
    )


def _headings(solved: NotebookNode) -> Iterator[str]:
    """Yield the heading above each cell, as HTML."""
    last = ""
    for cell in solved.cells:
        if cell.cell_type == "markdown" and (headings := HEADING.findall(cell.source)):
            last = LINK.sub("", MARKDOWN.renderInline(headings[-1]))
        yield last


def _rendered(markdown: str) -> str:
    return LINK.sub("", MARKDOWN.render(markdown))


def _lead_in(above: NotebookNode | None) -> str:
    """The last paragraph of the prose right above a question, as HTML; "" without one."""
    if above is None or above.cell_type != "markdown":
        return ""
    last = above.source.strip().rpartition("\n\n")[2]
    return "" if NO_PARAGRAPH.search(last) else _rendered(last)


def _guess(cell: NotebookNode, heading: str, lead_in: str) -> str:
    """A slide: the paragraph above a question, the question, its choices, and the folded answer."""
    line, _, question = cell.source.partition("\n")
    choices = line.split(maxsplit=2)[2].split("|") if "|" in line else []
    items = "".join(f"<li>{html.escape(choice.strip())}</li>" for choice in choices)
    form = f'<p class="question">{_inline(question)}</p>{f"<ul>{items}</ul>" if items else ""}'
    return f"<h2>{heading}</h2>{lead_in}{form}{_last_output(cell, 'text/html')}"


def _inline(text: str) -> str:
    return LINK.sub("", MARKDOWN.renderInline(" ".join(text.split())))


def _last_output(cell: NotebookNode, kind: str) -> str:
    """The last output of this MIME type; "" if there is none."""
    data = [output.get("data", {}) for output in cell.get("outputs", [])]
    return next(("".join(bundle[kind]) for bundle in reversed(data) if kind in bundle), "")


def _figure(heading: str, cell: NotebookNode) -> str:
    return f'<h2>{heading}</h2><div class="figure">{_picture(cell)}</div>'


def _picture(cell: NotebookNode) -> str:
    """The last picture among the outputs of a cell, as HTML; "" without one."""
    if drawing := _last_output(cell, "image/svg+xml"):
        return drawing[drawing.index("<svg") :]
    if plot := _last_output(cell, "image/png").replace("\n", ""):
        base64.b64decode(plot, validate=True)
        return f'<img alt="" src="data:image/png;base64,{plot}">'
    return ""

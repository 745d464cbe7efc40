"""The page of a class at a glance: everyone's points, doubts, and the checks that fail most."""

from html import escape
from urllib.parse import quote

from course.commands.grading import html_parts
from course.commands.grading.gradebook import Gradebook, GradebookLine
from course.commands.grading.names import file_name
from course.core import words

LEGEND = (
    ("right", "✓ 12", "all checks hold"),
    ("partly", "7/12", "some hold"),
    ("wrong", "✗ 0/12", "written, and none holds"),
    ("open", "○", "handed in as it was handed out"),
    ("none", "–", "not handed in"),
    ("unjudged", "3/12 ?", "not all was judged"),
)
MAX_FAILING = 15  # checks that are listed


def page(book: Gradebook) -> str:
    """The page of the class."""
    learners = words.plural(len(book.lines), "learner")
    legend = "".join(
        f'<span class="pair"><span class="{kind}">{sign}</span>{text}</span> '
        for kind, sign, text in LEGEND
    )
    unjudged = sum(len(line.not_judged) for line in book.lines)
    warning = (
        f"<p><b>{words.plural(unjudged, 'exercise')} not judged.</b> Run the command again: it "
        "checks only what has not been judged.</p>"
    )
    max_points = words.significant(book.max_points, 4)
    return (
        html_parts.head(f"{learners}, {words.plural(len(book.weights), 'exercise')}")
        + (warning if unjudged else "")
        + '<p class="note">In a cell: how many of the checks of an exercise hold. At most '
        + f"{max_points} {'point' if book.max_points == 1 else 'points'}.</p>"
        + f'{_table(book)}<p class="legend">{legend}</p>'
        + f"{_notes(book)}{_failing(book)}{_alike(book)}"
        + '<p><a href="guesses.html">What the room expected, and what it measured</a></p>'
        + "</body></html>"
    )


def _table(book: Gradebook) -> str:
    with_sections = any(line.section for line in book.lines)
    titles = ["section"] * with_sections + ["points"]
    columns = "".join(f"<th scope=col>{title}</th>" for title in titles) + "".join(
        f'<th scope=col><span class="up">{escape(name)}</span></th>' for name in book.weights
    )
    rows = "".join(_row(line, with_sections) for line in book.lines)
    means = "".join(
        f'<td class="share">{100 * book.mean(name):.0f} %</td>' for name in book.weights
    )
    empty = "<td></td>" * len(titles)
    return html_parts.wide(
        f"<thead><tr><th scope=col>learner</th>{columns}</tr></thead><tbody>{rows}</tbody>"
        f"<tfoot><tr><th scope=row>the class</th>{empty}{means}</tr></tfoot>",
        "The class",
    )


def _row(line: GradebookLine, with_sections: bool) -> str:
    link = f"feedback/{quote(file_name(line.learner))}.html"
    cells = "".join(
        html_parts.cell(line.reports.get(name), line.comment.points.get(name))
        for name in line.weights
    )
    return (
        f'<tr><th scope=row><a href="{link}">{escape(line.learner)}</a></th>'
        + (f"<td>{escape(line.section)}</td>" if with_sections else "")
        + f'<td class="number">{html_parts.total(line)}</td>{cells}</tr>'
    )


def _notes(book: Gradebook) -> str:
    rows = "".join(
        f"<tr><th scope=row>{escape(line.learner)}</th>"
        f"<td>{'<br>'.join(escape(note) for note in line.notes)}</td></tr>"
        for line in book.lines
        if line.notes
    )
    return rows and f"<h2>Notes</h2>{html_parts.wide(f'<tbody>{rows}</tbody>', 'Notes')}"


def _failing(book: Gradebook) -> str:
    rows = "".join(
        f"<tr><th scope=row>{escape(name)}</th><td>{escape(claim)}</td>"
        f'<td class="number">{count} of {begun}</td></tr>'
        for name, claim, count, begun in book.failing[:MAX_FAILING]
    )
    head = "<th scope=col>exercise</th><th scope=col>check</th><th scope=col>fails for</th>"
    table = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    return rows and (
        '<h2>What fails most</h2><p class="note">Of those who have begun the exercise.</p>'
        + html_parts.wide(table, "What fails most")
    )


def _alike(book: Gradebook) -> str:
    lines = "".join(
        f"<li>{escape(group.exercise)}: {escape(', '.join(group.learners))}"
        f"{', with other names for variables' if group.renamed else ''}"
        f" ({words.plural(group.lines, 'line')} written)</li>"
        for group in book.groups
    )
    return lines and (
        "<h2>The same program</h2><p>Comments and blank space do not count. Where only a few lines "
        "are to be written, honest work is often the same, too: talk before you judge.</p>"
        f"<ul>{lines}</ul>"
    )

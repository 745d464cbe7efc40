"""The page of a class at a glance: everyone's points, doubts, and the checks that fail most."""

from html import escape
from urllib.parse import quote

from course.commands.grading.gradebook import Gradebook, GradebookLine
from course.commands.grading.names import file_name
from course.core import words
from course.drawing import palette
from course.exercises import Report

RIGHT = palette.tint(palette.GOOD, 0.72)
PARTLY = palette.tint("#B8860B", 0.72)
WRONG = palette.tint(palette.ALARM, 0.76)
PALE = palette.tint(palette.WAIT, 0.5)
STYLE = (
    f"body{{font:15px/1.45 {palette.FONT};color:{palette.INK};background:{palette.CARD};"
    "margin:0 auto;padding:1.2em;max-width:1200px}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}"
    ".wide{overflow-x:auto}"
    "table{border-collapse:separate;border-spacing:0}"
    "td,th{padding:4px 9px;text-align:left;font-weight:normal}"
    f"caption,.note{{text-align:left;color:{palette.MUTED};padding-bottom:.5em}}"
    f"thead th{{vertical-align:bottom;color:{palette.MUTED}}}"
    f"tbody th{{position:sticky;left:0;background:{palette.CARD};"
    "min-width:5em;max-width:9em;overflow-wrap:anywhere}"
    f"tbody td,tbody th,tfoot td,tfoot th{{border-top:1px solid {palette.RULE}}}"
    "td.number,th.number{text-align:right;white-space:nowrap}"
    "td.share{text-align:center;min-width:3em;white-space:nowrap}"
    ".up{writing-mode:vertical-rl;transform:rotate(180deg);max-height:11em}"
    f".right{{background:{RIGHT}}}.partly{{background:{PARTLY}}}.wrong{{background:{WRONG}}}"
    f".open{{background:{PALE}}}.none{{color:{palette.MUTED}}}"
    f".unjudged{{outline:2px dashed {palette.MUTED};outline-offset:-3px}}"
    ".spoken{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}"
    ".pair{display:inline-block;margin:0 1em .3em 0}.pair span{padding:0 .6em;margin-right:.5em}"
)
LEGEND = (
    ("right", "✓ 12", "all checks hold"),
    ("partly", "7/12", "some hold"),
    ("wrong", "✗ 0/12", "written, and none holds"),
    ("open", "○", "handed in as it was handed out"),
    ("none", "–", "not handed in"),
    ("unjudged", "3/12 ?", "not all was judged"),
)
MAX_FAILING = 15  # checks that are listed


def head(title: str) -> str:
    """The beginning of a page; `title` is plain text."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><h1>{escape(title)}</h1>"
    )


def index(book: Gradebook) -> str:
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
        head(f"{learners}, {words.plural(len(book.weights), 'exercise')}")
        + (warning if unjudged else "")
        + '<p class="note">In a field: how many of the checks of an exercise hold. At most '
        + f"{max_points} {'point' if book.max_points == 1 else 'points'}.</p>"
        + f'{_table(book)}<p class="legend">{legend}</p>'
        + f"{_notes(book)}{_failing(book)}{_alike(book)}"
        + '<p><a href="guesses.html">What the room expected, and what it measured</a></p>'
        + "</body></html>"
    )


def wide(table: str, caption: str) -> str:
    """A table that may be wider than a phone; `caption` is for screen readers."""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}"><table>'
        f'<caption class="spoken">{caption}</caption>{table}</table></div>'
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
    return wide(
        f"<thead><tr><th scope=col>learner</th>{columns}</tr></thead><tbody>{rows}</tbody>"
        f"<tfoot><tr><th scope=row>the class</th>{empty}{means}</tr></tfoot>",
        "The class",
    )


def _row(line: GradebookLine, with_sections: bool) -> str:
    link = f"feedback/{quote(file_name(line.learner))}.html"
    cells = "".join(
        cell(line.reports.get(name), line.comment.points.get(name)) for name in line.weights
    )
    return (
        f'<tr><th scope=row><a href="{link}">{escape(line.learner)}</a></th>'
        + (f"<td>{escape(line.section)}</td>" if with_sections else "")
        + f'<td class="number">{total(line)}</td>{cells}</tr>'
    )


def total(line: GradebookLine) -> str:
    """A learner's points, as HTML: "at least" that many if not everything is judged."""
    points = words.significant(line.total, 3)
    at_least = '<span class="spoken">at least </span><span aria-hidden=true>≥ </span>'
    return f"{at_least}{points}" if line.not_judged else points


def cell(report: Report | None, own: float | None = None) -> str:
    """The table cell of one exercise; `own` are the points that the teacher gives instead."""
    kind, sign, spoken = _looks(report)
    mark = f" → {own:g}" if own is not None else ""
    spoken += f"; your points: {own:g}" if own is not None else ""
    return (
        f'<td class="share {kind}" title="{escape(spoken)}"><span aria-hidden=true>{sign}{mark}'
        f'</span><span class="spoken">{escape(spoken)}</span></td>'
    )


def _looks(report: Report | None) -> tuple[str, str, str]:
    """The CSS class of a verdict, its sign, and its words for screen readers."""
    if report is None:
        return "none", "–", "not handed in"
    total_checks = len(report.checks)
    passed = f"{report.passed_count} of {words.plural(total_checks, 'check')} hold"
    if not report.judged:
        return (
            "unjudged",
            f"{report.passed_count}/{total_checks} ?" if report.passed_count else "?",
            f"{passed}, not all judged",
        )
    if not report.begun:
        return "open", "○", "handed in as it was handed out"
    if report.ok:
        return "right", f"✓ {total_checks}", "all checks hold"
    if report.passed_count:
        return "partly", f"{report.passed_count}/{total_checks}", passed
    return "wrong", f"✗ 0/{total_checks}", passed


def _notes(book: Gradebook) -> str:
    rows = "".join(
        f"<tr><th scope=row>{escape(line.learner)}</th>"
        f"<td>{'<br>'.join(escape(note) for note in line.notes)}</td></tr>"
        for line in book.lines
        if line.notes
    )
    return rows and f"<h2>To know</h2>{wide(f'<tbody>{rows}</tbody>', 'To know')}"


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
        + wide(table, "What fails most")
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

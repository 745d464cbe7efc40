"""What the pages of a class share: their head, wide tables, and the cell of an exercise."""

from html import escape

from course.commands.grading.gradebook import GradebookLine
from course.core import words
from course.drawing import html_page, palette
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


def head(title: str) -> str:
    """The beginning of a page with a heading; `title` is plain text."""
    title = escape(title)
    return f"{html_page.head(title, STYLE)}<h1>{title}</h1>"


def wide(table: str, caption: str) -> str:
    """A table that may be wider than a phone; `caption` is for screen readers."""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}"><table>'
        f'<caption class="spoken">{caption}</caption>{table}</table></div>'
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
    total_checks = len(report.check_names)
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

"""What `grade` writes: a page with the class at a glance, a page for each learner, CSV, JUnit."""

import csv
import html
import io
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from course.checks import Report
from course.commands.grade_submissions import Submission
from course.core import words, write_whole
from course.drawing import palette

Reports = dict[str, list[Report]]  # by learner
STYLE = (
    f"body{{font:15px {palette.FONT};color:{palette.INK};margin:2em;max-width:1200px}}"
    "table{border-collapse:collapse}td,th{padding:4px 9px;text-align:left;font-weight:normal}"
    f"th{{vertical-align:bottom;color:{palette.MUTED}}}"
    "td.share{text-align:center;min-width:2.4em}"
    "thead th{writing-mode:vertical-rl;transform:rotate(180deg);max-height:11em}"
)


def write(
    out: Path,
    submissions: Sequence[Submission],
    reports: Reports,
    points: dict[str, float],
    same: dict[str, list[list[str]]],
) -> None:
    """Write everything into the folder `out`.

    `same` has, by exercise, the groups of learners whose programs are the same.
    """
    names = [name for name in points if any(_of(reports[each], name) for each in reports)]
    write_whole(out / "index.html", _index(submissions, reports, points, names, same))
    write_whole(out / "grades.csv", _table(submissions, reports, points, names))
    for submission in submissions:
        learner = submission.learner
        write_whole(out / "feedback" / f"{learner}.html", _feedback(submission, reports[learner]))
        write_whole(out / "junit" / f"{learner}.xml", _junit(learner, reports[learner]))


def _head(title: str) -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style>"
    )


def share(report: Report | None) -> float:
    """Which part of an exercise's checks hold, from 0 to 1; 0 without a script."""
    return report.share if report else 0.0


def total(reports: Sequence[Report], points: dict[str, float], names: Sequence[str]) -> float:
    """A learner's points: of each exercise, the share of its checks that hold."""
    return sum(points[name] * share(_of(reports, name)) for name in names)


def _of(reports: Sequence[Report], name: str) -> Report | None:
    return next((report for report in reports if report.exercise == name), None)


def _index(
    submissions: Sequence[Submission],
    reports: Reports,
    points: dict[str, float],
    names: Sequence[str],
    same: dict[str, list[list[str]]],
) -> str:
    most = sum(points[name] for name in names)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    rows = ""
    for submission in submissions:
        mine, learner = reports[submission.learner], html.escape(submission.learner)
        cells = "".join(_cell(_of(mine, name)) for name in names)
        earned = words.significant(total(mine, points, names), 3)
        link = f'<a href="feedback/{learner}.html">{learner}</a>'
        problem = html.escape(submission.problem)
        rows += f"<tr><td>{link}</td><td>{earned}</td>{cells}<td>{problem}</td></tr>"
    groups = "".join(
        f"<li>{html.escape(name)}: {html.escape(', '.join(group))}</li>"
        for name, by_program in same.items()
        for group in by_program
    )
    equal = f"<h2>The same program</h2><p>Apart from comments.</p><ul>{groups}</ul>"
    return (
        _head("The class")
        + f"<h1>{words.plural(len(submissions), 'learner')}, {words.plural(len(names), 'exercise')}"
        + f"</h1><p>In a field: how many of the checks hold. At most {most:g} points.</p>"
        + f"<table><thead><tr><th></th><th>points</th>{head}<th></th></tr></thead>{rows}</table>"
        + (equal if groups else "")
    )


def _cell(report: Report | None) -> str:
    if report is None:
        return f'<td class="share" style="color:{palette.MUTED}">–</td>'
    held = sum(each["outcome"] == "passed" for each in report.results)
    colour = palette.mix(
        palette.tint(palette.ALARM, 0.7), palette.tint(palette.GOOD, 0.6), share(report)
    )
    text = f"{held}/{len(report.results)}"
    title = html.escape(f"{report.exercise}: {text} checks hold")
    return f'<td class="share" style="background:{colour}" title="{title}">{text}</td>'


def _feedback(submission: Submission, reports: Sequence[Report]) -> str:
    title = f"Feedback for {html.escape(submission.learner)}"
    problem = f"<p>{html.escape(submission.problem)}.</p>" if submission.problem else ""
    cards = "".join(f"<p>{report._repr_html_()}</p>" for report in reports)
    return _head(title) + f"<h1>{title}</h1>{problem}{cards}"


def _table(
    submissions: Sequence[Submission],
    reports: Reports,
    points: dict[str, float],
    names: Sequence[str],
) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["learner", "points", *names])
    for submission in submissions:
        mine = reports[submission.learner]
        shares = [round(share(_of(mine, name)), 4) for name in names]
        table.writerow([submission.learner, round(total(mine, points, names), 4), *shares])
    return text.getvalue()


def _junit(learner: str, reports: Sequence[Report]) -> str:
    suites = ElementTree.Element("testsuites", name=learner)
    for report in reports:
        results = report.results
        failed = sum(each["outcome"] == "failed" for each in results)
        passed = sum(each["outcome"] == "passed" for each in results)
        counts = {
            "tests": len(results),
            "failures": failed,
            "skipped": len(results) - failed - passed,
        }
        suite = ElementTree.SubElement(
            suites, "testsuite", name=report.exercise, **{key: str(n) for key, n in counts.items()}
        )
        for each in results:
            case = ElementTree.SubElement(
                suite, "testcase", classname=report.exercise, name=each["claim"]
            )
            if each["outcome"] == "failed":
                ElementTree.SubElement(case, "failure", message=each["message"])
            elif each["outcome"] != "passed":
                ElementTree.SubElement(case, "skipped", message=each["message"])
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True)

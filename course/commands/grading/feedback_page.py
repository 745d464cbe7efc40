"""The page with the feedback for one learner."""

from html import escape

from course.commands.grading import html_parts
from course.commands.grading.gradebook import GradebookLine
from course.core import words


def page(line: GradebookLine) -> str:
    """The page as HTML."""
    sentences = [line.submission.problem, *line.submission.notes]
    if line.late:
        lost = f", which takes {line.percent:g} % of the points a day" if line.percent else ""
        days = "1 day" if line.late == 1 else f"{line.late:g} days"
        sentences.append(f"handed in late by {days}{lost}")
    remark = f"<p><b>{escape(line.comment.remark)}</b></p>" if line.comment.remark else ""
    return (
        html_parts.head(f"Feedback for {line.learner}")
        + remark
        + "".join(
            f"<p>{escape(sentence[0].upper() + sentence[1:])}.</p>"
            for sentence in sentences
            if sentence
        )
        + _points(line)
        + "".join(report.card() + "<br>" for report in line.reports.values())
        + "</body></html>"
    )


def _points(line: GradebookLine) -> str:
    rows = "".join(
        f"<tr><th scope=row>{escape(name)}</th>{html_parts.cell(line.reports.get(name))}"
        f'<td class="number">{words.significant(line.points(name), 3)} of {most:g}</td></tr>'
        for name, most in line.weights.items()
    )
    total = f"{html_parts.total(line)} of {sum(line.weights.values()):g}"
    return (
        '<p class="note">The points of an exercise are shared by its checks.</p>'
        + html_parts.wide(
            "<thead><tr><th scope=col>exercise</th><th scope=col>checks</th>"
            f'<th scope=col class="number">points</th></tr></thead><tbody>{rows}</tbody>'
            "<tfoot><tr><th scope=row>total</th><td></td>"
            f'<td class="number">{total}</td></tr></tfoot>',
            "Points",
        )
        + "<br>"
    )

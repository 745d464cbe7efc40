"""The pages of a class: readable without colours, and safe whatever a name contains."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from course.commands.grading import class_page, feedback_page, html_parts
from course.commands.grading.comments import Comment
from course.commands.grading.gradebook import Gradebook, GradebookLine
from course.commands.grading.roster import Person
from course.commands.grading.submissions import Submission
from course.exercises import Outcome, Report, Result


def report(*outcomes: str, again: bool = False) -> Report:
    """A report on `ring` with these outcomes of its checks."""
    results = [
        Result(f"test_{number}", f"It holds <{number}>.", Outcome(outcome), again=again)
        for number, outcome in enumerate(outcomes)
    ]
    return Report("ring", [result.check for result in results], results)


def line(learner: str, *reports: Report, **more: object) -> GradebookLine:
    submission = Submission(learner, Path("src"), person=more.pop("person", None))
    verdicts = {report.exercise: report for report in reports}
    return GradebookLine(submission, {"ring": 2.0, "ddp": 1.0}, verdicts, **more)


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (None, "not handed in"),
        (report("open", "open"), "handed in as it was handed out"),
        (report("failed", "failed"), "0 of 2 checks hold"),
        (report("failed", "passed"), "1 of 2 checks hold"),
        (report("passed", "passed"), "all checks hold"),
        (report("passed", "not judged", again=True), "1 of 2 checks hold, not all judged"),
    ],
)
def test_a_field_says_in_words_what_its_colour_says(verdict, words):
    assert f'<span class="spoken">{words}</span>' in html_parts.cell(verdict)


def test_every_kind_of_field_is_in_the_legend_and_looks_its_own_way():
    kinds = [kind for kind, _, _ in class_page.LEGEND]
    assert len(set(kinds)) == len(kinds) == 6
    assert all(f".{kind}{{" in html_parts.STYLE for kind in kinds)


class Tags(HTMLParser):
    """What is opened on a page, and the text of what is not."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened: list[tuple[str, dict]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.opened.append((tag, dict(attributes)))


@pytest.fixture
def book() -> Gradebook:
    evil = "<script>\"&'</script>"
    lines = [
        line(evil, report("failed", "passed"), comment=Comment(remark=evil)),
        line("bob", report("failed", "failed"), person=Person(0, "bob", section=evil)),
        line("cyd", report("passed", "not judged", again=True)),
        line("dan", report("open", "open")),
    ]
    return Gradebook(lines, {"ring": 2.0, "ddp": 1.0})


def test_pages_read_on_a_phone_and_to_who_cannot_see_them(book):
    for page in (class_page.page(book), feedback_page.page(book.lines[0])):
        opened = Tags(page).opened
        assert ("html", {"lang": "en"}) in opened and "script" not in dict(opened)
        assert any(attributes.get("name") == "viewport" for _, attributes in opened)
        tables = [tag for tag, _ in opened].count("table") - page.count('style="width:100%')
        assert [tag for tag, _ in opened].count("caption") == tables > 0
        assert all("scope" in attributes for tag, attributes in opened if tag == "th")


def test_a_class_is_counted_over_those_who_have_begun(book):
    assert book.max_points == 3.0 and book.mean("ring") == (0.5 + 0 + 0.5 + 0) / 4
    assert book.failing == [("ring", "It holds <0>.", 2, 3), ("ring", "It holds <1>.", 1, 3)]
    assert "<td>It holds &lt;0&gt;.</td>" in class_page.page(book)


def test_what_is_late_loses_its_part_and_points_of_the_teacher_count():
    late = line("ada", report("passed", "failed"), late=2, percent=10.0)
    assert late.total == pytest.approx(0.8)
    assert "Handed in late by 2 days, which takes 10 % of the points a day." in (
        feedback_page.page(late)
    )
    assert line("ada", report("passed"), late=99, percent=10.0).total == 0
    own = line("ada", report("not judged", again=True), comment=Comment(points={"ring": 1.5}))
    assert own.total == 1.5 and own.not_judged == []


@pytest.mark.parametrize(("late", "days"), [(0.5, "0.5 days"), (1.0, "1 day"), (2.0, "2 days")])
def test_part_of_a_day_late_is_not_rounded_away(late: float, days: str):
    assert f"Handed in late by {days}." in feedback_page.page(line("ada", late=late))

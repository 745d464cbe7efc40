"""The quiz: right verdicts from real ranks, and its buttons."""

import pytest

from course.core.errors import CourseError
from course.explore.quiz import ASKED, Quiz


@pytest.mark.parametrize("name", ASKED)
def test_the_quiz_agrees_with_a_right_prediction_and_with_no_other(there, name):
    quiz = Quiz().ask(name, ranks=2, seed=5)
    right = [" ".join(str(cell.number) for cell in cells) for cells in quiz.example.after()]
    verdict = quiz.predict(*right)
    assert verdict.right and verdict.summary == "2 of 2 predictions hold."
    assert "✓" in verdict._repr_html_() and "the run says" in repr(verdict)


def test_the_quiz_by_its_buttons(there):
    quiz = Quiz("all-gather", ranks=2)
    hidden, numbers = quiz._picture.value, quiz.example.numbers
    quiz._run.click()
    assert "Predict first" in quiz._verdict.value and quiz._picture.value == hidden
    for field in quiz._fields:
        field.value = f"{numbers[0][0]}, {numbers[1][0] + 1}"
    quiz._run.click()
    assert "0 of 2 predictions hold." in quiz._verdict.value and quiz._picture.value != hidden
    quiz._fields[0].value = "many"
    quiz._run.click()
    assert "made of whole numbers" in quiz._verdict.value
    quiz._other.click()
    assert quiz.example.numbers != numbers and not quiz._verdict.value and not quiz._fields[0].value
    quiz._ranks.value = 4
    assert len(quiz._row.children) == 4


def test_the_quiz_refuses_what_it_cannot_ask(there):
    with pytest.raises(CourseError, match="asks about broadcast"):
        Quiz("barrier")
    with pytest.raises(CourseError, match="runs 2 to 4 ranks"):
        Quiz(ranks=5)
    with pytest.raises(CourseError, match="3 ranks: give one answer for each"):
        Quiz().predict(1, 2)
    with pytest.raises(CourseError, match="no script src/none"):
        Quiz(script="src/none.py").predict(1, 2, 3)


def test_the_quiz_is_a_picture_where_there_is_no_kernel():
    data = Quiz()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert (
        data["text/plain"].endswith("After: to be predicted.") and "<svg" in data["image/svg+xml"]
    )

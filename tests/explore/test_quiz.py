"""The quiz: right verdicts from real ranks, and what its fields and buttons do."""

import pytest
from support.pictures import assert_fits

from course.core.errors import CourseError
from course.explore.quiz import QUESTIONS, Quiz


def press(quiz, name, **typed):
    """Send the front end's message that a button was pressed, with what was typed meanwhile."""
    quiz.set_state({"values": {**quiz.values, **typed, name: quiz.values[name] + 1}})


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_quiz_agrees_with_a_right_prediction_and_with_no_other(in_learners_folder, name):
    quiz = Quiz().ask(name, ranks=2, seed=5)
    right = [" ".join(str(cell.number) for cell in cells) for cells in quiz.example.after()]
    verdict = quiz.predict(*right)
    assert verdict.right and verdict.summary == "2 of 2 predictions hold."
    assert "the run says" in repr(verdict)
    assert quiz.picture.count("✓ you: ") == 2
    assert_fits(quiz.picture)


def test_the_quiz_by_its_buttons(in_learners_folder):
    quiz = Quiz("all-gather", ranks=2)
    numbers = quiz.example.numbers
    right = f"{numbers[0][0]}, {numbers[1][0]}"
    press(quiz, "run")
    assert "Predict first" in quiz.picture and "to be predicted" in quiz.picture
    press(quiz, "run", predicted=[right, f"{numbers[0][0]} 10"])
    assert "1 of 2 predictions hold" in quiz.picture
    assert "✓ you: " in quiz.picture and "✗ you: " in quiz.picture
    press(quiz, "run", predicted=["many", ""])
    assert "made of whole numbers" in quiz.picture and "to be predicted" in quiz.picture
    press(quiz, "other", predicted=["1", "2"])
    assert quiz.example.numbers != numbers and quiz.values["predicted"] == ["", ""]
    assert "made of whole numbers" not in quiz.picture
    quiz.at(ranks=4)
    [fields] = [control for control in quiz.controls if control["kind"] == "Fields"]
    assert fields["names"] == ["Rank 0", "Rank 1", "Rank 2", "Rank 3"]


def test_what_is_being_typed_is_drawn_and_says_nothing_of_the_answer():
    quiz = Quiz("reduce", ranks=3)  # only the root gets a number, and the picture must not say so
    assert quiz.picture.count(">?<") == 3
    quiz.at(predicted=["77 123456", "seven", "1 2 3 4 5 6 7 8"])
    assert ">77<" in quiz.picture and "123456" not in quiz.picture
    assert quiz.picture.count(">?<") == 1
    assert_fits(quiz.picture)


def test_a_question_is_the_same_for_the_same_seed_and_begins_without_predictions():
    quiz = Quiz("scatter", 4, seed=3).at(predicted=["1", "2", "3", "4"])
    question = quiz.example
    assert quiz.ask("scatter", 4, seed=3).example == question
    assert quiz.values["predicted"] == ["", "", "", ""]


def test_the_quiz_refuses_what_it_cannot_ask(in_learners_folder):
    with pytest.raises(CourseError, match="asks about broadcast"):
        Quiz("barrier")
    with pytest.raises(CourseError, match="runs 2 to 4 ranks"):
        Quiz(ranks=5)
    with pytest.raises(CourseError, match="3 ranks: give one answer for each"):
        Quiz().predict(1, 2)
    with pytest.raises(CourseError, match="Predict first"):
        Quiz().predict("", "", "")
    with pytest.raises(CourseError, match="no script src/none"):
        Quiz(script="src/none.py").predict(1, 2, 3)


def test_the_quiz_is_a_picture_where_there_is_no_kernel():
    data, _ = Quiz()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"].endswith("After: to be predicted.")
    assert "<svg" in data["image/svg+xml"] and "data-touch" not in data["image/svg+xml"]

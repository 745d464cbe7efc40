"""Exercises are found by name, with a suggestion for a typo, and each says what comes next."""

from dataclasses import replace

import pytest

from course.core import ROOT, CourseError, todo
from course.exercises import Outcome, Report, Result, exercise, exercises
from course.lessons import labs


@pytest.mark.parametrize(
    ("typed", "name"), [("strat_here", "start_here"), ("rang", "ring"), ("MY_DDP", "my_ddp")]
)
def test_a_name_with_a_slip_is_answered_with_the_one_that_was_meant(typed, name):
    with pytest.raises(CourseError) as raised:
        exercise(typed)
    assert str(raised.value) == f"There is no exercise {typed}. Did you mean {name}?"


def test_a_name_like_no_other_is_answered_with_the_names_of_each_lab():
    with pytest.raises(CourseError) as raised:
        exercise("xyz")
    first, *others = str(raised.value).splitlines()
    assert first == "There is no exercise xyz. There are:"
    asking = [lab for lab in labs(ROOT) if lab.exercises]
    assert others == [f"  lab {lab.number}: {', '.join(lab.exercises)}" for lab in asking]


def test_a_script_is_blank_however_its_lines_end_but_not_with_a_comment():
    ring = exercise("ring")
    blank = ring.script(solved=False)
    assert ring.is_blank(blank.replace("\n", " \r\n") + "\n")
    assert not ring.is_blank(blank + "# A thought.\n") and not ring.is_blank("")


def report(name: str, outcome: Outcome) -> Report:
    return Report(name, ["test_adds"], [Result("test_adds", "It adds", outcome)])


def test_a_pass_says_what_comes_next():
    """It names the next exercise; after the last one the lab goes on, and names the next lab."""
    following = {name: next_step(name) for name in exercises()}
    for lab in labs(ROOT):
        *most, last = lab.exercises
        for name, other in zip(most, lab.exercises[1:], strict=True):
            assert following[name] == f"Next: `{other}`."
        assert following[last] == f"It was the last exercise of lab {lab.number}: read on there."


def test_what_comes_next_has_not_passed_yet():
    assert next_step("start_here", "my_all_gather") == "Next: `my_reduce_scatter`."
    both = next_step("start_here", "my_all_gather", "my_reduce_scatter")
    assert both == "The later exercises of lab 00 have passed: read on there."


def next_step(name: str, *passed: str) -> str:
    """The words in a terminal after the verdict that all checks hold."""
    known = replace(report(name, Outcome.PASSED), passed_elsewhere=passed)
    verdict, _, step = repr(known).splitlines()[0].partition(" hold. ")
    assert verdict == f"{name}: 1 of 1 checks"
    return step


def test_a_notebook_shows_it_too_but_neither_a_failure_nor_feedback_does():
    passed, failed = (report("start_here", how) for how in (Outcome.PASSED, Outcome.FAILED))
    assert "hold. Next: <code>my_all_gather</code>." in passed._repr_html_()
    assert "Next" not in passed.card() and "1 of 1 checks hold." in passed.card()
    assert "Next" not in failed._repr_html_() and "Next" not in repr(failed)


def test_many_todos_of_an_exercise_that_nobody_has_begun_are_a_list():
    todos = ["TODO 1: Who has `x`?", "TODO 2: Send it.", "TODO 3: Wait."]
    checks = ["test_adds", "test_ends"]
    opened = [Result(name, "It adds", Outcome.OPEN, todo.in_sentences(todos)) for name in checks]
    many = Report("ring", checks, opened)
    assert repr(many).splitlines() == [
        "ring: still to write: TODO 1 to 3.",
        *(f"  ○ {task}" for task in todos),
    ]
    assert many._repr_html_().count("<tr") == 3 and "<code>x</code>" in many._repr_html_()
    few = Report("ring", checks, [replace(result, message=todos[0]) for result in opened])
    assert repr(few) == "ring: still to write: TODO 1: Who has `x`?"


def test_an_error_that_stops_all_checks_is_one_line_but_other_faults_are_not():
    at = "failed in ring.py:3: SyntaxError: invalid syntax"
    messages = [f"With 3 ranks, rank 2 {at}", f"With 2 ranks, rank 0 {at}", f"Your code {at}"]
    checks = ["test_adds", "test_ends", "test_alone"]

    def rows(of: list[str]) -> list[str]:
        failed = zip(checks, of, strict=True)
        results = [
            Result(name, f"{name} holds", Outcome.FAILED, message) for name, message in failed
        ]
        return repr(Report("ring", checks, results)).splitlines()

    assert rows(messages)[1:] == [
        "  ✗ All 3 checks end with the same error.",
        f"      Your code {at}",
    ]
    assert len(rows([*messages[:2], "the sum is 3"])) == 7
    assert "All 3" not in "".join(rows(["the sum is 3"] * 3))

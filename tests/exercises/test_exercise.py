"""The exercises by name: which one was meant, and what comes after each."""

import pytest

from course.core import ROOT, CourseError
from course.exercises import Outcome, Report, Result, exercise, exercises
from course.lessons import labs


@pytest.mark.parametrize(
    ("typed", "meant"), [("strat_here", "start_here"), ("rang", "ring"), ("MY_DDP", "my_ddp")]
)
def test_a_name_with_a_slip_is_answered_with_the_one_that_was_meant(typed, meant):
    with pytest.raises(CourseError) as raised:
        exercise(typed)
    assert str(raised.value) == f"There is no exercise {typed}. Did you mean {meant}?"


def test_a_name_like_no_other_is_answered_with_the_names_of_each_lab():
    with pytest.raises(CourseError) as raised:
        exercise("xyz")
    first, *others = str(raised.value).splitlines()
    assert first == "There is no exercise xyz. There are:"
    asking = [lab for lab in labs(ROOT) if lab.exercises]
    assert others == [f"  lab {lab.number}: {', '.join(lab.exercises)}" for lab in asking]


def report(name: str, outcome: Outcome) -> Report:
    return Report(name, ["test_adds"], [Result("test_adds", "It adds", outcome)])


def test_a_pass_says_what_comes_next():
    """The next exercise of the lab, then the next lab by its question; at last, that it is over."""
    following = {name: said_of(name) for name in exercises()}
    every = labs(ROOT)
    for lab, after in zip(every, [*every[1:], None], strict=True):
        *most, last = lab.exercises
        for name, other in zip(most, lab.exercises[1:], strict=True):
            assert following[name] == f"Next: `{other}`."
        end = f"Next: lab {after.number}, {after.title}" if after else "It was the last exercise"
        assert following[last].startswith(end)


def said_of(name: str) -> str:
    """What a terminal says behind the verdict that all holds."""
    verdict, _, said = repr(report(name, Outcome.PASSED)).splitlines()[0].partition(" hold. ")
    assert verdict == f"{name}: 1 of 1 checks"
    return said


def test_a_notebook_shows_it_too_but_neither_a_failure_nor_feedback_does():
    passed, failed = (report("start_here", how) for how in (Outcome.PASSED, Outcome.FAILED))
    assert "hold. Next: <code>my_all_gather</code>." in passed._repr_html_()
    assert "Next" not in passed.card() and "1 of 1 checks hold." in passed.card()
    assert "Next" not in failed._repr_html_() and "Next" not in repr(failed)

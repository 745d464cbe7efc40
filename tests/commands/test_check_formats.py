"""The verdicts in the formats of Gradescope and JUnit, and as plain JSON."""

import json
from xml.etree import ElementTree

import pytest

from course.commands import check_formats
from course.exercises import Outcome, Report, Result


def result(claim: str, outcome: str, **details: str) -> Result:
    """The result of one check."""
    return Result(claim, claim, Outcome(outcome), **details)


@pytest.fixture
def reports() -> list[Report]:
    """Reports on two exercises: one with a check that fails, one that passes."""
    ring = [
        result("It adds.", "passed"),
        result("It ends.", "failed", message="Rank 1 waits.", hint="Who sends first?"),
    ]
    trains = result("It trains.", "passed")
    return [
        Report("ring", [verdict.check for verdict in ring], ring),
        Report("ddp", [trains.check], [trains]),
    ]


def test_plain_json_has_every_check(reports):
    parsed = json.loads(check_formats.plain(reports))
    assert parsed["ok"] is False
    assert [(exercise["exercise"], exercise["ok"]) for exercise in parsed["exercises"]] == [
        ("ring", False),
        ("ddp", True),
    ]
    assert parsed["exercises"][0]["checks"][1]["message"] == "Rank 1 waits."


def test_nothing_checked_is_not_ok():
    assert json.loads(check_formats.plain([]))["ok"] is False


def test_junit_has_a_suite_for_each_exercise(reports):
    ring, ddp = ElementTree.fromstring(check_formats.junit(reports, "ada")).findall("testsuite")
    assert (ring.get("name"), ring.get("tests"), ring.get("failures")) == ("ring", "2", "1")
    assert [case.get("name") for case in ring] == ["It adds.", "It ends."]
    assert ring[1].find("failure").get("message") == "Rank 1 waits."
    assert (ddp.get("failures"), len(ddp[0])) == ("0", 0)


def test_gradescope_gets_a_point_for_each_exercise(reports):
    parsed = json.loads(check_formats.gradescope(reports))
    assert sum(test["max_score"] for test in parsed["tests"]) == pytest.approx(2)
    assert sum(test["score"] for test in parsed["tests"]) == pytest.approx(1.5)
    assert [test["status"] for test in parsed["tests"]] == ["passed", "failed", "passed"]
    assert parsed["tests"][1]["output"] == "Rank 1 waits.\nHint: Who sends first?"
    for test in parsed["tests"]:
        assert set(test) <= {"name", "score", "max_score", "status", "output", "visibility"}


@pytest.mark.parametrize("checks", [1, 2, 3, 6, 7, 9, 11, 12, 13, 30])
def test_a_right_answer_has_its_whole_point_and_no_more(checks):
    results = [result(f"It holds {number}.", "passed") for number in range(checks)]
    report = Report("ring", [verdict.check for verdict in results], results)
    tests = json.loads(check_formats.gradescope([report]))["tests"]
    assert abs(sum(test["score"] for test in tests) - 1) < 1e-12
    assert min(test["max_score"] for test in tests) > 0

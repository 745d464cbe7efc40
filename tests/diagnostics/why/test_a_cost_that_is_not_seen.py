"""A cause of which only a part is seen, or nothing, says so itself; no sentence contradicts it."""

from collections.abc import Iterator
from typing import Self

import pytest
from support.made_steps import STEP, computed, did, same, script

from course.diagnostics import Cause, WhyAnswer
from course.diagnostics.finding import CauseInfo
from course.diagnostics.profiling.timeline import Ddp
from course.diagnostics.why.step_breakdown import StepBreakdown

WORK = [*computed(), STEP]
COMPARE = "how much slower anomaly detection makes the passes. Run once without it and compare."


def text(answer: WhyAnswer) -> str:
    """The text of an answer in one line."""
    return " ".join(str(answer).split())


@pytest.fixture
def anomaly_detection() -> Iterator[None]:
    """The detector of a made-up cause, as a file of detectors/ could have it."""

    class AnomalyDetection(Cause):
        info = CauseInfo(
            "anomaly detection",
            "autograd records where each operation was called, and looks for NaN",
            "Switch it off once the bug is found.",
        )
        is_fact = cost_is_partial = True
        question = COMPARE

        @classmethod
        def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
            yield cls(breakdown, 0.0)

    yield
    Cause.DETECTORS.pop()


def test_no_sentence_says_that_it_costs_nothing(anomaly_detection: None) -> None:
    answer = WhyAnswer(same(*WORK, tail=2.0))
    assert [cause.name for cause in answer.causes] == ["computing", "anomaly detection"]
    assert "No time is lost" not in text(answer) and "Nothing is wrong" not in text(answer)
    assert "what else costs something follows" in text(answer)
    says = "Also seen: anomaly detection. Autograd records where each operation was called"
    assert says in text(answer) and "Without it" not in text(answer)
    assert f"Not decided: {COMPARE}" in text(answer)
    assert [finding.note for finding in answer.findings] == [True]


def test_its_question_is_asked_where_a_gpu_was_not_recorded(anomaly_detection: None) -> None:
    gpu = {"device": "cuda", "gpu_unknown_because": "the script profiles itself."}
    answer = WhyAnswer(same(*WORK, tail=2.0, settings=gpu))
    assert [cause.name for cause in answer.causes] == ["anomaly detection"]
    assert answer.diagnosis.undecided[1:] == [COMPARE]


def test_a_cure_follows_however_little_is_seen() -> None:
    searching = script(Ddp(finds_unused=True, ranks=2))
    answer = WhyAnswer(same(did("search", 0.1), *WORK, tail=2.0, settings=searching))
    assert "Nothing is wrong" not in text(answer)
    assert "Cure: Remove `find_unused_parameters=True` if every parameter" in text(answer)


def test_a_search_that_is_needed_is_no_question() -> None:
    searching = script(Ddp(finds_unused=True, ranks=2))
    reports = same(did("search", 1), *WORK, tail=2.0, settings=searching)
    for rank in reports:
        for pass_ in (ddp_pass for step in rank.steps for ddp_pass in step.passes):
            pass_.unused = 400  # bytes
    assert WhyAnswer(reports).diagnosis.undecided == []

"""A cause of which only a part is seen, or nothing, says so itself; no sentence contradicts it."""

from support.made_steps import STEP, computed, did, same, script

from course.diagnostics import WhyAnswer
from course.diagnostics.profiling.timeline import Ddp

WORK = [*computed(), STEP]
DETECTS = script(detects_anomalies=True)


def text(answer: WhyAnswer) -> str:
    """The text of an answer in one line."""
    return " ".join(str(answer).split())


def test_anomaly_detection_comes_first_although_no_cost_is_seen() -> None:
    answer = WhyAnswer(same(*WORK, tail=2.0, settings=DETECTS))
    assert [cause.name for cause in answer.causes] == ["anomaly detection"]
    assert text(answer).startswith("anomaly detection, at train.py:8. Autograd records where")
    assert "Without it" not in text(answer)
    assert "Cure: Remove `torch.autograd.set_detect_anomaly(True)`" in text(answer)
    assert "Not decided: how much slower anomaly detection makes" in text(answer)
    assert [finding.note for finding in answer.findings] == [False]


def test_its_question_is_asked_where_a_gpu_was_not_recorded() -> None:
    gpu = {"device": "cuda", "gpu_unknown_because": "the script profiles itself."}
    answer = WhyAnswer(same(*WORK, tail=2.0, settings=gpu | DETECTS))
    assert [cause.name for cause in answer.causes] == ["anomaly detection"]
    assert answer.diagnosis.undecided[1].startswith("how much slower anomaly detection makes")


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

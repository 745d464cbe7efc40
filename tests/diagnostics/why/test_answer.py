"""Which ranks an answer rests on, what it puts first, and what programs get from it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.made_steps import STEP, average, computed, did, message, ranks, same, script

from course.diagnostics import WhyAnswer, why_answer
from course.diagnostics.profiling.timeline import Ddp, RankReport
from course.diagnostics.watch import report_files
from course.diagnostics.why.step_times import mean

WORK = [*computed(), STEP]  # 62 ms


def text(answer: WhyAnswer) -> str:
    """The text of an answer in one line."""
    return " ".join(str(answer).split())


def test_what_costs_little_comes_after_computing_and_has_its_cure() -> None:
    answer = WhyAnswer(same(did("python", 9, "train.py:3"), *WORK, tail=2.0))
    assert [cause.name for cause in answer.causes] == ["computing", "python"]
    assert "Nothing is wrong" not in text(answer) and "Not decided" not in text(answer)
    assert "Cure: Do it once in many steps" in text(answer)
    assert "Nothing is wrong" in text(WhyAnswer(same(*WORK, tail=2.0)))


def test_of_several_small_costs_the_answer_says_which_one_it_cures() -> None:
    small = [did("python", 9, "train.py:3"), did("input", 8, "train.py:4")]
    says = text(WhyAnswer(same(*small, *WORK, tail=2.0)))
    assert "Also seen: python: 11 % of a step, at train.py:3; input: 10 % of a step" in says
    assert "Cure for python: Do it once in many steps" in says


def test_a_rank_that_is_late_outside_its_passes_is_late_between_steps() -> None:
    answer = WhyAnswer(ranks(WORK, [did("python", 60, "train.py:3"), *WORK], tail=[62.0, 2.0]))
    assert "straggler, rank 1: 48 % of a step, between steps, at train.py:3." in text(answer)
    assert answer.causes[0].plain()["where"] == "outside the step"


def test_less_than_a_millisecond_is_never_the_first_cause() -> None:
    tiny = [did("forward", 1), did("backward", 1), did("optimizer", 0.1), did("python", 0.9)]
    answer = WhyAnswer(same(*tiny))
    assert [cause.name for cause in answer.causes] == ["computing", "python"]
    assert answer.causes[1].share > 0.15
    assert [finding.note for finding in answer.findings] == [True]


def test_python_in_a_single_step_is_chance() -> None:
    reports = same(*WORK, tail=2.0)
    reports[0].steps[4].slices.append(did("python", 900, "train.py:3"))
    assert [cause.name for cause in WhyAnswer(reports).causes] == ["computing"]
    reports[0].steps[8].slices.append(did("python", 900, "train.py:3"))
    assert WhyAnswer(reports).causes[0].name != "computing"


def test_findings_for_programs() -> None:
    answer = WhyAnswer(same(did("input", 60, "train.py:3"), *WORK, tail=2.0))
    finding = answer.findings[0].plain()
    assert (finding["what"], finding["where"], finding["lab"]) == ("input", "train.py:3", "04")
    assert (finding["rank"], finding["step"], finding["note"]) == (None, None, False)
    assert finding["says"].startswith("input: 48 % of a step, at train.py:3. All ranks wait")
    plain = answer.plain()
    assert plain["ranks"] == [0, 1] and plain["causes"][0]["cure"] == finding["cure"]
    json.dumps(plain)
    assert WhyAnswer(same(*WORK, tail=2.0)).findings == []


def test_an_answer_on_some_of_the_ranks_says_so_and_blames_none() -> None:
    late = ranks([*WORK], [did("python", 60, "train.py:3"), *WORK], tail=[62.0, 2.0])
    assert WhyAnswer(late).causes[0].name == "straggler"
    answer = WhyAnswer(late[:1])
    assert answer.causes[0].name == "computing"
    assert "20 steps" not in text(answer) and "the mean of 10 steps on 1 rank of 2" in text(answer)
    assert "which rank is late, and what messages take. Of 2 ranks only 1 rank reported (0)" in (
        text(answer)
    )
    assert "the ranks' pace" not in text(answer) and "messages, " not in text(answer)


def test_an_answer_rests_on_the_ranks_that_have_reported(tmp_path: Path) -> None:
    assert why_answer(tmp_path) is None and not report_files.all_have_reported(tmp_path)
    first, second = same(*WORK, tail=2.0)
    report_files.write(first, tmp_path)
    assert "on 1 rank of 2" in text(why_answer(tmp_path))
    assert not report_files.all_have_reported(tmp_path)
    report_files.write(second, tmp_path)
    assert "on 2 ranks" in text(why_answer(tmp_path)) and report_files.all_have_reported(tmp_path)


def test_ranks_of_two_machines_are_all_expected_once_one_of_the_other_has_reported(
    tmp_path: Path,
) -> None:
    reported = [replace(report, local=2) for report in same(*WORK, count=4, tail=2.0)]
    for report in reported[:2]:
        report_files.write(report, tmp_path)
    assert report_files.all_have_reported(tmp_path)
    assert not report_files.all_have_reported(tmp_path, everywhere=True)
    others = "the ranks of other machines"
    assert others in text(why_answer(tmp_path)) and "of 4" not in text(why_answer(tmp_path))
    report_files.write(reported[2], tmp_path)
    assert others not in text(why_answer(tmp_path))
    assert "on 3 ranks of 4" in text(why_answer(tmp_path))
    report_files.write(reported[3], tmp_path)
    assert report_files.all_have_reported(tmp_path, everywhere=True)
    assert others not in text(why_answer(tmp_path)) and "on 4 ranks" in text(why_answer(tmp_path))


def test_what_waited_for_a_core_is_a_segment_of_its_own_in_the_picture() -> None:
    reports = same(did("input", 60, "train.py:3"), *WORK, tail=2.0)
    for rank in reports:
        for step in rank.steps:
            late = step.slices[0]
            for slice_ in step.slices[1:]:
                slice_.start, slice_.end = slice_.start + 0.05, slice_.end + 0.05
            late.end, late.queued, step.end = late.end + 0.05, 0.05, step.end + 0.05
            step.passes = [replace(p, start=p.start + 0.05, end=p.end + 0.05) for p in step.passes]
    answer = WhyAnswer(reports)
    lane = answer.plain()["lanes"]["0"]
    assert [
        (segment["kind"], round(1e3 * (segment["end"] - segment["start"]))) for segment in lane[:2]
    ] == [
        ("input", 60),
        ("waiting for a core", 50),
    ]
    assert "Input: 48 % of the 124 ms that count" in str(answer.picture)


FLAG = "train.py:20"


def in_turn(*more: object) -> list[RankReport]:
    """Two ranks that are late by 200 ms in turns, one in each step, while the other waits."""
    one = [did("forward", 220), did("backward", 40), *more, STEP]
    other = [did("forward", 20), did("backward", 40), *more, STEP]
    reports = ranks(one, other)
    waits = [message("all_reduce", ms, 8, FLAG, within="python") for ms in (1, 201)]
    for n, (mine, theirs) in enumerate(zip(reports[0].steps, reports[1].steps, strict=True)):
        if n % 2:
            mine.slices, theirs.slices = theirs.slices, mine.slices
        for step, wait in ((mine, waits[n % 2]), (theirs, waits[1 - n % 2])):
            last = step.slices[-1]
            step.slices.append(replace(wait, start=last.end, end=last.end + wait.end))
            step.end = step.slices[-1].end
    return reports


def test_a_needless_meeting_is_the_cause_and_not_the_ranks_that_take_turns() -> None:
    answer = WhyAnswer(in_turn())
    assert answer.diagnosis.breakdown.meets_needlessly
    first = answer.causes[0]
    assert (first.name, first.line, first.rank) == ("synchronization", FLAG, None)
    assert first.share == pytest.approx(101 / 263)
    assert "straggler" not in {cause.name for cause in answer.causes}


def test_where_gradients_are_averaged_in_each_step_the_meeting_is_needed() -> None:
    answer = WhyAnswer(in_turn(average(5)))
    breakdown = answer.diagnosis.breakdown
    assert mean(breakdown.times, lambda step: step.transfer_s("gradients")) > 0
    assert breakdown.late_in_turns and not breakdown.meets_needlessly
    assert (answer.causes[0].name, answer.causes[0].rank) == ("straggler", None)


def test_a_ddp_model_that_sent_nothing_is_said_in_a_line() -> None:
    idle = Ddp(ranks=2, made_at="train.py:4")
    answer = WhyAnswer(same(*WORK, settings=script(idle)))
    assert [cause.name for cause in answer.causes] == ["computing", "idle DDP"]
    says = "DDP sent no gradient in 10 steps: no forward pass went through the model"
    assert says in text(answer)
    assert "Cure: Call the DDP module itself, `model(...)`, and not" in text(answer)
    assert "No time is lost" in text(answer) and "Nothing is wrong" not in text(answer)
    assert [finding.note for finding in answer.findings] == [True]
    for fine in (replace(idle, forwards=10), replace(idle, ranks=1)):
        assert len(WhyAnswer(same(*WORK, settings=script(fine))).causes) == 1
    averages = [*computed(), average(1), STEP]
    assert len(WhyAnswer(same(*averages, settings=script(idle))).causes) == 1

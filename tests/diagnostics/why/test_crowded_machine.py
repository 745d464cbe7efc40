"""What a crowded machine can imitate, and what its user reads first."""

from dataclasses import replace

import pytest
from support.made_steps import STEP, computed, did, first, loader, ranks, same, script

from course.diagnostics import WhyAnswer
from course.diagnostics.profiling.timeline import RankReport
from course.diagnostics.why import crowded_machine
from course.diagnostics.why.thresholds import CROWDED_FAULT_SHARE


@pytest.mark.parametrize("starved", [True, False])
def test_a_straggler_on_a_crowded_machine_must_cost_more(starved: bool) -> None:
    """Other programs have the cores, for which the ranks or threads in C++ wait."""
    for late, of_step in ((40, 0.24), (80, 0.49)):
        reports = ranks(computed(forward=20), computed(forward=late), tail=2.0)
        free, crowded = first(reports), _crowded(reports, starved)
        assert free.name == "straggler" and free.share == pytest.approx(of_step, abs=0.01)
        cause = first(crowded)
        assert (cause.name == "straggler") == (of_step > CROWDED_FAULT_SHARE)
        assert cause.breakdown.is_crowded and "straggler" in {
            c.name for c in WhyAnswer(crowded).causes
        }


def _crowded(reports: list[RankReport], starved: bool) -> list[RankReport]:
    """The same ranks: they wait for a core most of the time, or run next to a busy program."""
    if not starved:
        return [replace(rank, busy_s=0.3 * rank.cores) for rank in reports]
    for rank in reports:
        for step in rank.steps:
            wait = 4 * (step.end - step.start)
            step.slices.append(replace(did("forward", 0), start=step.end, end=step.end + wait))
            step.slices[-1].queued, step.end = wait, step.end + wait
    return reports


@pytest.mark.parametrize("waits_ms", [20, 200])
@pytest.mark.parametrize("workers", [0, 1])
def test_what_workers_may_cause_must_save_more_than_ranks_wait_for_a_core(
    waits_ms: int, workers: int
) -> None:
    """A rank is late if its worker has no core, and all ranks are late if no worker has one."""
    settings = script(loader=loader(workers=workers))
    batch, others = did("input", 100, "train.py:3"), [*computed(10, 5), STEP]
    late = ranks(others, [batch, *others], tail=2.0, settings=settings)
    for cause, reports in (("straggler", late), ("input", same(batch, *others, settings=settings))):
        reports = [replace(rank, busy_s=0.3 * rank.cores) for rank in reports]
        for step in (step for rank in reports for step in rank.steps):
            step.slices.append(replace(did("forward", 0), start=step.end))
            step.end += waits_ms / 1e3
            step.slices[-1].end, step.slices[-1].queued = step.end, waits_ms / 1e3
        answer = WhyAnswer(reports)
        feigned = workers and waits_ms == 200
        assert answer.causes[0].name == ("computing" if feigned else cause)
        assert ("No fault is certain on a crowded machine." in str(answer)) == bool(feigned)
        assert cause in {candidate.name for candidate in answer.causes}


def test_that_ranks_had_no_core_comes_before_all_causes() -> None:
    reports = same(*computed(), STEP, tail=2.0)
    assert "core" not in str(WhyAnswer(reports))
    text = " ".join(str(WhyAnswer(_crowded(reports, True))).split())
    assert text.startswith("Crowded machine: a step takes 320 ms, and for 256 ms of it the ranks")
    assert "There are 2 ranks and 2 cores: ask again" in text
    busy = [replace(rank, busy_s=1.5) for rank in reports]
    text = " ".join(str(WhyAnswer(busy)).split())
    assert "Other programs had 75 % of the ranks' cores: that is what makes it long" in text


ALL, HALVES = [[0, 1], [0, 1]], [[0], [1]]  # for each of two ranks, the cores that it may use


@pytest.mark.parametrize(
    ("usable", "hosts", "busy_s", "share"),
    [
        (ALL, "aa", [1.0, 1.0], 0.2),  # of two cores, without what the two ranks computed
        (ALL, "ab", [0.3, 0.9], 0.3),  # of the two cores of b, without what its rank computed
        (HALVES, "aa", [0.3, 0.9], 0.6),
        ([[], []], "aa", [1.0, 1.0], 0.1),  # of four cores, whose numbers are unknown
        (ALL, "aa", [0.0, 0.0], 0.0),
        (ALL, "ab", [None, 0.9], 0.3),  # only b counts how busy its cores are
        (ALL, "aa", [None, None], None),
    ],
)
def test_what_others_had_is_a_share_of_the_cores_of_the_ranks(
    usable: list[list[int]], hosts: str, busy_s: list[float | None], share: float | None
) -> None:
    reports = [
        replace(rank, usable=cores, host=host, busy_s=busy, cpu_s=0.3, watched_s=1.0, cores=4)
        for rank, cores, host, busy in zip(same(STEP), usable, hosts, busy_s, strict=True)
    ]
    assert crowded_machine.elsewhere(reports) == pytest.approx(share)

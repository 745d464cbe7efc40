"""The first step of an epoch gets the weight that it has in the whole training."""

from dataclasses import replace

import pytest
from support.made_steps import STEP, computed, did, loader, same, script

from course.diagnostics import WhyAnswer
from course.diagnostics.profiling.timeline import Loader, RankReport
from course.diagnostics.why import epoch_starts, epochs
from course.diagnostics.why.step_breakdown import StepBreakdown

WORK = [*computed(), STEP]  # 62 ms


def begun(
    every: int, ms: float = 500.0, count: int = 10, made: Loader | None = None
) -> list[RankReport]:
    """Ranks that wait `ms` for their loader in one of `every` steps, where an epoch begins."""
    ranks = same(*WORK, tail=2.0, settings=script(loader=made))
    for rank in ranks:
        rank.steps = rank.steps[:count]
        for number, step in enumerate(rank.steps):
            step.draws = 1
            step.starts_epoch = number % every == 2
            if step.starts_epoch:
                step.slices.append(did("input", ms, "train.py:6"))
                step.end += ms / 1e3
    return ranks


def test_an_epoch_of_five_steps_of_which_the_first_takes_half_a_second() -> None:
    made = loader(batches=5, workers=2)
    answer = WhyAnswer(begun(5, made=made))
    assert answer.net_s == pytest.approx((4 * 0.064 + 0.564) / 5)
    first = answer.causes[0]
    assert (first.name, first.line) == ("input", "train.py:6")
    assert first.share == pytest.approx(0.5 / (5 * 0.064 + 0.5))
    assert "the first of 5 steps takes 564 ms, any other 64 ms" in " ".join(str(answer).split())
    assert "`persistent_workers=True`" in first.cure


def test_one_beginning_counts_by_the_length_of_the_loader() -> None:
    made = loader(batches=100, workers=2)
    breakdown = StepBreakdown(begun(20, made=made))
    assert epochs.steps_per_epoch(breakdown.reports) == 100
    assert breakdown.net_s == pytest.approx((99 * 0.064 + 0.564) / 100)
    start = epoch_starts.compare(breakdown)
    assert start.share == pytest.approx(0.5 / (100 * 0.064 + 0.5))
    assert WhyAnswer(begun(20, made=made)).causes[0].name == "computing"


def test_accumulation_draws_several_batches_in_a_step() -> None:
    ranks = begun(20, made=loader(batches=100))
    for rank in ranks:
        for step in rank.steps:
            step.draws = 4
    assert epochs.steps_per_epoch(ranks) == 25


def test_where_an_epochs_length_is_not_known_its_only_beginning_does_not_count() -> None:
    breakdown = StepBreakdown(begun(20, made=loader(stream=True)))
    assert breakdown.net_s == pytest.approx(0.064)
    assert epoch_starts.compare(breakdown) is None


def test_of_epochs_that_differ_in_length_nothing_is_said() -> None:
    """As inside DDP's `join`: one rank begins an epoch every 5 steps, and the other every 3."""
    reports = [begun(every, made=loader(batches=every))[0] for every in (5, 3)]
    reports[1].rank = 1
    answer = WhyAnswer(reports)
    assert epochs.steps_per_epoch(reports) == 0
    assert answer.diagnosis.epoch_start is None and "epoch" not in str(answer)
    reports[1].steps = [replace(step, draws=0, starts_epoch=False) for step in reports[0].steps]
    assert epochs.steps_per_epoch(reports) == 5  # the other rank loads nothing


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (loader(batches=5, workers=2, persistent=True), "Move the work that the data set"),
        (loader(batches=5), "Move the work that the data set"),
        (loader(batches=5, workers=1), "starts its worker again"),
    ],
)
def test_the_cure_of_a_slow_beginning_is_one_that_the_loader_has_not(
    made: Loader, says: str
) -> None:
    assert says in WhyAnswer(begun(5, made=made)).causes[0].cure


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (None, "an iterator of the script's own"),
        (loader(batches=99), "`num_workers` of the DataLoader"),
        (loader(stream=True), "a part of its own"),
        (loader(batches=99, workers=1), "worker cannot keep up: give it more"),
        (loader(batches=99, workers=8), "as many workers as there are cores"),
        (loader(batches=99, workers=1, opened=9), "`next(iter(loader))`"),
    ],
)
def test_the_cure_of_slow_loading_is_one_that_the_script_has_not(
    made: Loader | None, says: str
) -> None:
    ranks = same(did("input", 60), *WORK, tail=2.0, settings=script(loader=made) | {"cores": 8})
    assert says in WhyAnswer(ranks).causes[0].cure

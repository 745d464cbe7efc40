"""Made-up reports of ranks and of one process: what is compared, and what is never judged."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from diagnostics.right import made, wrong

from course.diagnostics.numerics.training import LossTerm, StepGradients, TrainingReport
from course.diagnostics.right import against_one
from course.diagnostics.right.against_one import DeepOutcome
from course.diagnostics.right.table import DIFFERS, EQUAL, NOT_SEEN


def one_process(
    ranks: Sequence[TrainingReport], times: float = 1.0, by: list[int] | None = None
) -> TrainingReport:
    """The report of one process whose gradient is `times` the mean of the ranks' own.

    `by` has a weight for each rank in that mean.
    """
    alone = made.ranks(1)[0]
    for number, step in enumerate(alone.optimizers[0].watched):
        own = [rank.optimizers[0].watched[number].gradients.samples("own") for rank in ranks]
        for place in ("own", "first", "used"):
            step.gradients.keep(place, times * np.average(np.stack(own), axis=0, weights=by))
    return alone


def named(outcome: DeepOutcome) -> list[str]:
    """The findings' names."""
    return [finding.what for finding in outcome.findings]


@pytest.mark.parametrize("count", [2, 3])
def test_a_right_training_agrees(count: int) -> None:
    ranks = made.ranks(count)
    outcome = against_one.compare(ranks, one_process(ranks))
    assert outcome.row.state == EQUAL and outcome.findings == []
    assert {parameter.name for parameter in outcome.parameters} == set(made.NAMES)
    assert all(
        abs(parameter.times - 1) < 1e-6 > parameter.difference for parameter in outcome.parameters
    )


def test_gradients_that_one_process_did_not_show_are_not_compared() -> None:
    ranks = made.ranks()
    alone = one_process(ranks)
    alone.optimizers[0].watched[0].gradients = StepGradients()
    outcome = against_one.compare(ranks, alone)
    assert (outcome.row.state, outcome.findings) == (NOT_SEEN, [])
    assert "no gradients on one process" in outcome.row.says


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(
    ("fault", "of_one", "times"),
    [
        (wrong.added, 1, lambda count: count),
        (wrong.divided_twice, 1, lambda count: 1 / count),
        (None, lambda count: count, lambda count: 1 / count),  # each rank has divided its loss
        (None, lambda count: 1 / count, lambda count: count),
    ],
)
def test_a_factor_is_named(
    count: int, fault: made.Fault | None, of_one: Callable | int, times: Callable
) -> None:
    ranks = made.ranks(count, fault)
    outcome = against_one.compare(ranks, one_process(ranks, of_one(count) if of_one != 1 else 1))
    assert named(outcome) == ["factor"] and outcome.row.state == DIFFERS
    assert {round(parameter.times, 4) for parameter in outcome.parameters} == {
        round(times(count), 4)
    }
    assert outcome.findings[0].where


def test_a_loss_that_grows_with_the_batch_is_not_judged() -> None:
    """A sum over a rank's batch, or one that is divided by a fixed number."""
    ranks = made.ranks()
    alone = one_process(ranks, 2)
    for parts in ([LossTerm("NllLoss", 16, 1 / 8)], [LossTerm("NllLoss", 16, 1.0)], []):
        alone.optimizers[0].watched[0].passes[0].parts = parts
        outcome = against_one.compare(ranks, alone)
        assert outcome.row.state == DIFFERS and outcome.findings == []
        assert "not judged" in outcome.row.says


def test_another_rate_or_more_messages_are_not_judged() -> None:
    ranks = made.ranks(fault=wrong.added)
    alone = one_process(ranks)
    alone.optimizers[0].watched[0].rates = [0.2]
    assert against_one.compare(ranks, alone).findings == []
    ranks = made.ranks()
    ranks[0].sends = {"between": 2}  # features of all, for a contrastive loss
    assert against_one.compare(ranks, one_process(ranks, 2)).findings == []


def test_another_factor_is_not_judged() -> None:
    ranks = made.ranks()
    outcome = against_one.compare(ranks, one_process(ranks, 1.5))
    assert outcome.row.state == DIFFERS and outcome.findings == []


def test_a_rate_for_more_ranks_is_only_mentioned() -> None:
    ranks = made.ranks()
    alone = one_process(ranks)
    alone.optimizers[0].watched[0].rates = [0.05]
    outcome = against_one.compare(ranks, alone)
    assert outcome.row.state == EQUAL and "0.05 on one process" in outcome.row.says


def test_a_mean_of_means_is_proven_by_the_weights() -> None:
    ranks = made.ranks(fault=wrong.unequal_targets)
    assert named(against_one.compare(ranks, one_process(ranks, by=[2, 8]))) == ["mean of means"]
    # The script divides by all targets itself, so that the mean of the ranks' own is right.
    assert against_one.compare(ranks, one_process(ranks)).row.state == EQUAL


def test_targets_that_are_nearly_as_many_are_not_judged() -> None:
    def nearly(rank: int, step: int, values: dict) -> None:
        terms = 100 + 5 * rank
        values["step"].passes[0].parts = [LossTerm("NllLoss", terms, 1 / terms)]

    ranks = made.ranks(fault=nearly)
    outcome = against_one.compare(ranks, one_process(ranks, by=[100, 105]))
    assert outcome.row.state == DIFFERS and outcome.findings == []


def test_unaveraged_gradients_are_named_only_if_ddp_is_bypassed() -> None:
    for fault in (wrong.some, wrong.alone):  # experts, or ranks that average their weights later
        ranks = made.ranks(fault=fault)
        outcome = against_one.compare(ranks, one_process(ranks))
        assert outcome.row.state == DIFFERS and outcome.findings == []
    for rank in ranks:
        rank.optimizers[0].watched[0].passes[0].bypassed = made.LINE
    assert named(against_one.compare(ranks, one_process(ranks))) == ["not averaged"]


def test_clipping_is_left_out_of_the_comparison() -> None:
    def clips(rank: int, step: int, values: dict) -> None:
        values["used"] = values["used"] / 7
        values["step"].clips = ["train.py:31"]

    ranks = made.ranks(fault=clips)
    assert against_one.compare(ranks, one_process(ranks)).row.state == EQUAL


@pytest.mark.parametrize(
    ("why", "spoil"),
    [
        ("batch norm", lambda ranks, alone: setattr(ranks[1], "batch_norm", True)),
        ("random", lambda ranks, alone: setattr(_first(ranks[0]).passes[0], "noise", 7)),
        ("other weights", lambda ranks, alone: setattr(_first(alone), "before", [1, 2])),
        ("other samples", lambda ranks, alone: setattr(_first(alone).passes[0], "samples", [1])),
        ("as a whole", lambda ranks, alone: None),
        ("are odd", lambda ranks, alone: alone.unseen.update(batches="the batches are odd")),
    ],
)
def test_other_gradients_are_not_compared(why: str, spoil: Callable) -> None:
    ranks = made.ranks()
    alone = one_process(made.ranks(fault=wrong.loud), by=[1, 9])
    spoil(ranks, alone)
    outcome = against_one.compare(ranks, alone)
    assert outcome.row.state == NOT_SEEN and outcome.findings == []
    assert outcome.row.says.startswith("not compared: ") and why in outcome.row.says


@pytest.mark.parametrize(("batch_norm", "why"), [(True, "batch norm"), (False, "not known")])
def test_a_factor_that_is_no_count_of_ranks_has_its_reason(batch_norm: bool, why: str) -> None:
    ranks = made.ranks()
    ranks[0].batch_norm = batch_norm
    outcome = against_one.compare(ranks, one_process(ranks, 1.3))
    assert outcome.row.state == DIFFERS and outcome.findings == []
    assert why in outcome.row.says and "not judged" in outcome.row.says


def test_a_process_that_begins_with_other_weights_is_not_compared() -> None:
    ranks = made.ranks()
    alone = one_process(ranks)
    _first(alone).before = [1, 2]
    assert "begins with other weights" in against_one.compare(ranks, alone).row.says
    assert "different weights" in against_one.hindrance(made.ranks(equal_start=False), 4)


def test_other_passes_or_parameters_and_broken_gradients_are_not_compared() -> None:
    ranks = made.ranks()
    more, other, broken = one_process(ranks), one_process(ranks), one_process(ranks)
    _first(more).passes.append(_first(more).passes[0])
    other.optimizers[0].counts = [48]
    _first(broken).gradients.keep("used", np.full(sum(made.COUNTS), np.nan))
    for alone in (more, other, broken):
        assert against_one.compare(ranks, alone).row.state == NOT_SEEN


def test_what_hinders_it_is_known_before_the_second_run() -> None:
    ranks = made.ranks()
    assert against_one.hindrance(ranks, 4) == ""
    assert "DataLoader" in against_one.hindrance(ranks, 0)
    ranks[1].unseen["batches"] = "the batches have different shapes"
    assert against_one.hindrance(ranks, 4) == "the batches have different shapes"
    ranks[0].tensor_parallel = True
    assert "split" in against_one.hindrance(ranks, 4)
    ranks = made.ranks()
    for rank in ranks:
        rank.optimizers[0].sharded = True
    assert "only its shard" in against_one.hindrance(ranks, 4)


def _first(rank: TrainingReport) -> object:
    return rank.optimizers[0].watched[0]

"""Made-up reports of correct trainings: no rule names anything, and the table says why."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from diagnostics.right import made
from diagnostics.right.made import named
from diagnostics.right.wrong import added, alone, hook, same_samples, undivided, unequal_targets

from course.diagnostics.numerics.training import LossTerm
from course.diagnostics.right import table, verdict
from course.diagnostics.right.table import NOT_SEEN
from course.diagnostics.right.verdict import Verdict


def state(judgement: Verdict, row: str) -> str:
    """The state of a row of the table."""
    return next(entry.state for entry in judgement.rows if entry.name == row)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("passes", [1, 2])
def test_a_right_training_has_no_finding_and_a_whole_table(count: int, passes: int) -> None:
    judgement = verdict.judge(made.ranks(count, passes=passes))
    assert judgement.findings == []
    assert [row.name for row in judgement.rows] == list(table.ORDER)
    states = {row.name: row.state for row in judgement.rows}
    assert states[table.USED] == states[table.AFTER] == states[table.TARGET] == "equal"
    assert states[table.OWN] == states[table.SAMPLES] == "differs"
    assert states[table.EVALUATION] == states[table.RESUME] == NOT_SEEN
    assert all(row.says for row in judgement.rows)


def test_what_nothing_ties_is_not_compared() -> None:
    """Ranks that begin with unlike weights and average nothing may each have their own model."""
    judgement = verdict.judge(made.ranks(fault=alone, ddp=False, equal_start=False))
    assert judgement.findings == []
    assert state(judgement, table.START) == state(judgement, table.AFTER) == NOT_SEEN


@pytest.mark.parametrize("sends", [{"point": 40}, {"forward": 40}])
def test_a_model_that_is_split_over_the_ranks_is_not_compared(sends: dict) -> None:
    ranks = [replace(rank, sends=sends) for rank in made.ranks(fault=same_samples, ddp=False)]
    judgement = verdict.judge(ranks)
    assert judgement.findings == [] and state(judgement, table.SAMPLES) == NOT_SEEN


def test_ranks_that_average_their_weights_now_and_then_are_right() -> None:
    def local(rank: int, step: int, values: dict) -> None:
        alone(rank, step, values)
        if step == 7:  # all ranks begin it with the same weights
            values["weights"] = np.zeros(sum(made.COUNTS))
            values["step"].before = made.checksums(values["weights"])

    judgement = verdict.judge(made.ranks(fault=local, ddp=False))
    assert judgement.findings == []
    assert state(judgement, table.USED) == NOT_SEEN and state(judgement, table.AFTER) == "equal"


def test_a_few_uneven_batches_are_no_fault() -> None:
    def last(rank: int, step: int, values: dict) -> None:
        if step > 9:
            unequal_targets(rank, step, values)

    assert named(made.ranks(fault=last)) == []


def test_a_sum_that_the_loss_has_divided_is_right() -> None:
    def divided(rank: int, step: int, values: dict) -> None:
        added(rank, step, values)
        values["step"].passes[0].parts = [LossTerm("NllLoss", 8, 1 / 16)]

    assert named(made.ranks(fault=divided, ddp=False)) == []


def test_a_sum_of_losses_that_could_not_be_read_is_not_judged() -> None:
    def unread(rank: int, step: int, values: dict) -> None:
        added(rank, step, values)
        values["step"].passes[0].parts = []

    judgement = verdict.judge(made.ranks(fault=unread, ddp=False))
    assert judgement.findings == [] and state(judgement, table.TARGET) == NOT_SEEN


def test_several_losses_of_one_batch_may_be_added() -> None:
    """As a GAN adds what it makes of real and of made-up samples, in two lines."""

    def two_lines(rank: int, step: int, values: dict) -> None:
        undivided(rank, step, values)
        values["step"].passes[1].line = "train.py:31"

    def one_batch(rank: int, step: int, values: dict) -> None:
        undivided(rank, step, values)
        values["step"].passes[1].samples = values["step"].passes[0].samples

    assert named(made.ranks(fault=two_lines, passes=2)) == []
    assert named(made.ranks(fault=one_batch, passes=2)) == []


def test_sixteen_bits_on_the_way_are_no_fault() -> None:
    def rounds(rank: int, step: int, values: dict) -> None:
        values["used"] = values["first"] = values["used"] * (1 + 0.004 * (-1) ** np.arange(80))

    assert named(made.ranks(fault=rounds)) == []


# What hooks may turn a gradient into: half of it, a rank's share, some of its rows, the average.
HOOKS = [
    lambda own, rank: 0.5 * own[rank],
    lambda own, rank: (0.6 + 0.1 * rank) * own[rank],
    lambda own, rank: np.where(np.arange(own.shape[1]) % (rank + 2), own[rank], 0),
    lambda own, rank: own.mean(0),
]


@pytest.mark.parametrize("change", HOOKS)
def test_a_hook_that_does_not_clip_is_no_fault(change: Callable) -> None:
    def hooked(rank: int, step: int, values: dict) -> None:
        own = values["own"]
        hook(own[rank], change(own, rank), values["step"])

    assert named(made.ranks(fault=hooked)) == []


def test_a_rank_that_ends_earlier_has_skipped_nothing() -> None:
    ranks = made.ranks()
    del ranks[0].optimizers[0].watched[-3:]
    assert named(ranks) == []


def test_ranks_with_unequal_numbers_of_batches_in_a_join_skip_no_step() -> None:
    def goes_on(rank: int, step: int, values: dict) -> None:
        """From step 7 on, rank 0 goes on in the first epoch, and rank 1 is in the second."""
        if step > 6:
            values["step"].collectives_so_far += 3 * rank
            values["weights"] = values["weights"] + rank

    ranks = made.ranks(fault=goes_on)
    assert named(ranks) != []
    ranks[1].optimizers[0].joined_at, ranks[0].optimizers[0].joined_at = 6, 9
    assert named(ranks) == []
    assert verdict.judge(ranks).steps == 6

"""Each rule on made-up reports of a fault: the name, the rank and the line of its finding."""

from dataclasses import replace

import pytest
from diagnostics.right import made
from diagnostics.right.made import faults, named, row
from diagnostics.right.wrong import (
    added,
    alone,
    bfloat,
    buffers,
    clips_alone,
    clips_before,
    clips_scaled,
    divided_twice,
    drifts,
    evaluates,
    hooks_clip,
    infinite,
    keeps,
    later_rate,
    loud,
    never_waits,
    rate,
    same_samples,
    setting,
    skips,
    some,
    too_fast,
    undivided,
    unequal_targets,
)

from course.core import CourseError
from course.diagnostics.numerics.training import (
    BufferUse,
    StepGradients,
    TrainingReport,
    UnoptimizedParameter,
    WeightChange,
)
from course.diagnostics.right import causes, verdict
from course.diagnostics.right.table import BUFFERS, EQUAL, NOT_SEEN

# Fault, arguments of `made.ranks`; then the name and the rank of the first finding.
FAULTS = [
    (alone, {}, "not averaged", None),
    (alone, {"ddp": False}, "not averaged", None),
    (some, {}, "not averaged", None),
    (some, {"ddp": False}, "not averaged", None),
    (never_waits, {"ddp": False}, "not averaged", None),
    (added, {}, "factor", None),
    (added, {"ddp": False, "count": 3}, "factor", None),
    (divided_twice, {"count": 3}, "factor", None),
    (undivided, {"passes": 2}, "factor", None),
    (undivided, {"passes": 4, "ddp": False}, "factor", None),
    (loud, {}, "changed gradient", 1),
    (loud, {"count": 3}, "changed gradient", 1),
    (clips_alone, {}, "clip", 1),
    (clips_before, {"ddp": False}, "clip", None),
    (hooks_clip, {}, "clip", None),
    (hooks_clip, {"count": 3, "ddp": False}, "clip", None),
    (clips_scaled, {}, "clip", None),
    (keeps, {}, "not zeroed", None),
    (keeps, {"ddp": False}, "not zeroed", None),
    (rate, {}, "learning rate", None),
    (later_rate, {"count": 3}, "learning rate", 1),
    (setting, {"ddp": False}, "settings", None),
    (evaluates, {"count": 3}, "mode", 1),
    (evaluates, {}, "mode", 1),
    (bfloat, {}, "precision", None),
    (same_samples, {"count": 3}, "same data", None),
    (infinite, {}, "non-finite", 1),
    (skips, {}, "skipped step", 1),
    (skips, {"ddp": False, "count": 3}, "skipped step", 1),
    (drifts, {}, "drift", None),
    (drifts, {"count": 3}, "drift", 1),
    (unequal_targets, {}, "mean of means", None),
    (too_fast, {"passes": 2}, "schedule", None),
]


@pytest.mark.parametrize(("fault", "how", "what", "rank"), FAULTS)
def test_a_fault_is_named_first(fault: made.Fault, how: dict, what: str, rank: int | None) -> None:
    findings = faults(made.ranks(fault=fault, **how))
    assert (findings[0].what, findings[0].rank) == (what, rank)
    assert findings[0].says.endswith(".") and findings[0].cure.endswith(".") and findings[0].where
    assert "drift" not in [finding.what for finding in findings[1:]]


def test_steps_in_which_gradients_were_averaged_are_not_counted() -> None:
    def later(rank: int, step: int, values: dict) -> None:
        if step > 3:
            alone(rank, step, values)

    assert f"in {made.STEPS - 3} of {made.STEPS} steps" in faults(made.ranks(fault=later))[0].says


def test_weights_that_differ_at_the_start_come_before_all_else() -> None:
    names = named(made.ranks(fault=unequal_targets, ddp=False, equal_start=False))
    assert names[0] == ("start", None) and ("mean of means", None) in names


def test_the_line_that_changed_weights_on_one_rank_alone_is_named() -> None:
    ranks = made.ranks(3, fault=drifts)
    for rank in ranks:
        rank.changes = [WeightChange("train.py:11", 0)]
    ranks[1].changes.append(WeightChange("train.py:34", 5))
    assert [(finding.what, finding.rank, finding.where) for finding in faults(ranks)] == [
        ("drift", 1, "train.py:34")
    ]
    ranks = made.ranks(ddp=False, equal_start=False)
    ranks[0].changes = [WeightChange("train.py:12", 0)]
    fault = faults(ranks)[0]
    assert (fault.what, fault.rank, fault.where) == ("start", 0, "train.py:12")


def test_buffers_count_where_they_are_kept() -> None:
    ranks = made.ranks(fault=buffers, ddp=False)
    assert named(ranks) == []
    assert row(ranks, BUFFERS).state == NOT_SEEN
    ranks[0].buffer_uses = [BufferUse("train.py:33", 4, 100, is_saved=True)]  # as in step 5
    fault = faults(ranks)[0]
    assert (fault.what, fault.where, fault.step) == ("buffers", "train.py:33", 4)
    ranks[0].buffer_uses[0].checksum = 99  # the script changed its buffers after it
    assert named(ranks) == []
    ranks[0].buffer_uses[0].steps = made.STEPS  # no step follows
    assert named(ranks) == []


def test_buffers_that_are_averaged_before_an_evaluation_are_right() -> None:
    ranks = made.ranks(fault=buffers, ddp=False)
    for rank in ranks:
        rank.buffer_uses = [BufferUse("train.py:35", 4, 7, is_saved=False)]
    assert named(ranks) == []
    assert row(ranks, BUFFERS).state == EQUAL
    ranks[1].buffer_uses[0].checksum = 8
    fault = faults(ranks)[0]
    assert (fault.what, fault.where) == ("buffers", "train.py:35")


def test_a_teacher_must_be_the_same_on_all_ranks() -> None:
    ranks = made.ranks(3)
    for number, rank in enumerate(ranks):
        rank.others = [made.other(7 if number < 2 else 8)]
    assert named(ranks) == [("other model", 2)]
    for rank in ranks:
        rank.others[0].trains = True  # the model itself, which is evaluated
    assert named(ranks) == []


def test_models_that_are_called_late_are_compared_at_the_same_call() -> None:
    ranks = made.ranks()
    for rank in ranks:
        rank.others = [made.other(rank.rank, steps=8)]
    assert named(ranks) == [("other model", None)]
    ranks[1].others[0].steps = 9  # it has been averaged once more
    assert named(ranks) == []
    ranks[0].others = [made.other(1), made.other(2)]
    ranks[1].others = [made.other(1), made.other(2)]
    assert named(ranks) == []
    ranks[1].others = [made.other(2)]  # of two models, rank 1 calls the second
    ranks[1].others[0].line = "train.py:50"
    assert named(ranks) == []


def test_parameters_that_no_optimizer_has_are_named() -> None:
    def with_unoptimized(**more: object) -> list[TrainingReport]:
        ranks = made.ranks()
        parameter = UnoptimizedParameter(
            "head.bias", "train.py:11", 12, late=False, in_model=4, missing=1
        )
        for rank in ranks:
            rank.unoptimized = [replace(parameter, **more)]
        return ranks

    assert named(with_unoptimized()) == [("never updated", None)]
    assert named(with_unoptimized(late=True, missing=3)) == [("never updated", None)]
    assert named(with_unoptimized(missing=3)) == []  # a body that is left as it is, on purpose
    assert (
        named(with_unoptimized(missing=4)) == []
    )  # a network that only measures, such as a teacher
    assert named(with_unoptimized(gradients=2)) == []


@pytest.mark.parametrize(("frozen", "found"), [(False, [("never updated", None)]), (True, [])])
def test_an_optimizer_that_steps_for_nothing_is_named_unless_frozen(
    frozen: bool, found: list
) -> None:
    """Its parameters were replaced after it was made; or the part is frozen at first."""
    ranks = made.ranks()
    for rank in ranks:
        other = replace(rank.optimizers[0], made_at="train.py:21", frozen=frozen)
        other.watched = [
            replace(
                step, has_gradient=[False] * len(step.has_gradient), after=step.before, passes=[]
            )
            for step in other.watched
        ]
        rank.optimizers.append(other)
    assert named(ranks) == found


def test_the_rates_of_the_group_that_differs_are_named() -> None:
    def second_group(rank: int, step: int, values: dict) -> None:
        values["step"].rates = [0.1, 0.01 * (rank + 1)]

    assert "(rank 0: 0.01, rank 1: 0.02)" in faults(made.ranks(fault=second_group))[0].says


def test_a_rate_of_zero_to_the_end_is_named() -> None:
    ranks = made.ranks()
    for rank in ranks:
        rank.optimizers[0].zero_from, rank.optimizers[0].zero_rates = 8, 5
    assert named(ranks) == [("schedule", None)]
    for rank in ranks:
        rank.optimizers[0].zero_rates = 1  # the last step of a schedule
    assert named(ranks) == []


def test_noise_is_a_note() -> None:
    def draws(rank: int, step: int, values: dict) -> None:
        values["step"].passes[0].noise = step

    findings = verdict.judge(made.ranks(fault=draws)).findings
    assert [(finding.what, finding.note) for finding in findings] == [("noise", True)]


def test_shards_that_are_each_scaled_by_their_own_norm_are_named() -> None:
    def shards(rank: int, step: int, values: dict) -> None:
        values["step"].scale = 0.25 if rank else 0.22
        values["step"].clips = ["train.py:31"]

    ranks = made.ranks(fault=shards, ddp=False)
    for rank in ranks:
        rank.optimizers[0].sharded = True
        for step in rank.optimizers[0].watched:
            step.gradients = StepGradients()
    assert named(ranks) == [("clip", None)]


def test_too_few_ranks_raise_an_error() -> None:
    with pytest.raises(CourseError, match="one process"):
        verdict.judge(made.ranks(1))
    with pytest.raises(CourseError, match="1 of 2 ranks have reported"):
        verdict.judge(made.ranks(2)[:1])
    with pytest.raises(CourseError, match="No rank"):
        verdict.judge([])


def test_every_finding_has_a_place_in_the_order_and_a_test() -> None:
    planted = {what for _, _, what, _ in FAULTS}
    above = {"start", "buffers", "other model", "never updated", "order of epochs", "same file",
             "part of the data", "repeated data", "noise", "evaluation", "resume"}  # fmt: skip
    assert planted | above == {cause.name for cause in causes.ALL}

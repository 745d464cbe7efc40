"""The rules on samples, epochs, workers and files, on made-up reports."""

import random
from dataclasses import replace

import pytest
from diagnostics.right import made
from diagnostics.right.made import named

from course.diagnostics.numerics.training import RandomWorker, TrainingReport
from course.diagnostics.right import table, verdict
from course.diagnostics.right.table import EQUAL, NOT_SEEN


def with_epochs(*epochs: list[int], **more: object) -> list[TrainingReport]:
    """Two ranks whose samplers are in these epochs."""
    ranks = made.ranks()
    for rank, mine in zip(ranks, epochs, strict=True):
        rank.loader_passes = [
            made.loader_pass(rank.rank, **{"epoch": epoch} | more) for epoch in mine
        ]
    return ranks


def test_epochs_have_orders_of_their_own_alike_on_all_ranks() -> None:
    assert named(with_epochs([0, 1], [0, 1])) == []
    assert named(with_epochs([0, 0], [0, 0])) == [("order of epochs", None)]
    assert named(with_epochs([0, 0], [0, 0], shuffles=False)) == []
    assert named(with_epochs([0, 2], [1, 3])) == [("order of epochs", None)]
    assert named(with_epochs([0, 0], [0, 0], batches=0)) == []  # an evaluation


def test_each_sample_comes_once_in_an_epoch() -> None:
    assert named(with_epochs([0], [0], replicas=4)) == [("part of the data", None)]
    assert named(with_epochs([0], [0], divided_twice=True)) == [("part of the data", None)]
    plain = {"kind": "RandomSampler", "replicas": None, "epoch": None, "seed": None}
    ranks = with_epochs([0], [0])
    for rank in ranks:
        samples = [list(range(at, at + 8)) for at in range(rank.rank * 10, 40, 8)]
        rank.loader_passes = [replace(rank.loader_passes[0], samples=samples, **plain)]
    assert named(ranks) == [("repeated data", None)]
    for rank in ranks:
        rank.loader_passes[0].framework = "accelerate"  # which repeats some at the end
    assert named(ranks) == []
    for rank in ranks:
        rank.loader_passes[0].framework, rank.loader_passes[0].replaces = "", True
    assert named(ranks) == []


def test_workers_that_all_give_the_whole_stream_are_named() -> None:
    twice = [[1, 2], [1, 2], [3, 4], [3, 4]]
    plain = {"kind": "", "replicas": None, "epoch": None, "stream": True, "workers": 2}
    assert named(with_epochs([0], [0], **plain, samples=twice)) == [("repeated data", None)]
    assert named(with_epochs([0], [0], **plain, samples=[[1], [2], [3], [4]])) == []


def test_workers_of_two_ranks_that_draw_the_same_numbers_are_named() -> None:
    ranks = with_epochs([0], [0], workers=1)
    for rank in ranks:
        rank.workers = [RandomWorker(0, "numpy", 99)]
    assert named(ranks) == [("same data", None)]
    ranks[1].workers[0].state = 98
    assert named(ranks) == []
    for rank in ranks:  # accelerate seeds them so by itself
        rank.workers[0].state, rank.loader_passes[0].framework = 99, "accelerate"
    assert named(ranks) == []


def test_a_file_that_several_ranks_write_is_named() -> None:
    ranks = made.ranks()
    for rank in ranks:
        rank.written = [made.written("/runs/model.pt")]
    assert named(ranks) == [("same file", None)]
    ranks[1].host = "another"
    assert named(ranks) == []


def with_evaluations(count: int = 2, **more: object) -> list[TrainingReport]:
    """Ranks that each evaluate the share that their sampler gives them."""
    ranks = made.ranks(count)
    for rank in ranks:
        plain = {"replicas": count} | more
        rank.loader_passes = [made.evaluation(rank.rank, **plain)]
    return ranks


def row(ranks: list[TrainingReport], name: str) -> str:
    """The state of a row of the table."""
    return next(entry.state for entry in verdict.judge(ranks).rows if entry.name == name)


@pytest.mark.parametrize("count", [2, 3])
def test_an_evaluation_counts_each_sample_once(count: int) -> None:
    ranks = with_evaluations(count)
    assert named(ranks) == [] and row(ranks, table.EVALUATION) == EQUAL
    assert named(with_evaluations(count, messages=0)) == [("evaluation", 0)]
    assert named(with_evaluations(count, total=1002, sums=[1002.0])) == [("evaluation", None)]
    ranks = with_evaluations(count)
    for rank in ranks[1:]:
        rank.loader_passes = []
    ranks[0].loader_passes[0].evaluation.messages = 0
    assert named(ranks) == [("evaluation", 0)]


def test_an_evaluation_is_not_judged_where_the_script_may_see_to_it() -> None:
    quiet = [
        {"messages": 0, "reports": 1},  # each rank reports its own
        {"messages": 0, "reports": 0},
        {"total": 1002, "sums": [3.0]},  # what is counted was not seen
        {"total": 1002, "sums": [1002.0, 1000.0]},  # both counts
        {"total": 998, "sums": [998.0]},  # a second loader may have the rest
        {"total": 1002, "sums": [1002.0], "framework": "accelerate"},
        {"messages": 0, "calls": 0},  # no model was called
        {"messages": 0, "is_over": False},
    ]
    for more in quiet:
        ranks = with_evaluations(**more)
        assert named(ranks) == [] and row(ranks, table.EVALUATION) == NOT_SEEN, more
    ranks = with_evaluations(messages=0)
    for rank in ranks:
        rank.written = [made.written(f"/runs/predictions{rank.rank}.pt")]
    assert named(ranks) == []  # which may be put together later


@pytest.mark.parametrize("framework", ["", "accelerate"])
def test_an_evaluation_that_gathers_what_was_repeated_counts_it(framework: str) -> None:
    plain = {"framework": framework, "given": 501, "counted": [870, 1002]}
    assert named(with_evaluations(**plain)) == [("evaluation", None)]
    quiet = [
        {"counted": [870, 1000]},
        {"counted": [870, 1000, 1002]},  # both
        {"cuts": True},
        {"given": 500, "counted": [870, 1000]},
        {"length": 0},  # unknown
        {"messages": 0, "reports": 1},  # nothing is gathered
    ]
    for more in quiet:
        assert named(with_evaluations(**plain | more)) == [], more


def with_own_samplers(*orders: list[int], **more: object) -> list[TrainingReport]:
    """Ranks whose own samplers drew these of 64 samples, in batches of 8."""
    ranks = made.ranks(len(orders))
    for rank, order in zip(ranks, orders, strict=True):
        plain = {"kind": "", "replicas": None, "epoch": None, "is_over": True, "length": 64,
                 "drawn": 4, "given": len(order), "samples": [],
                 "chosen": [(index, place) for place, index in enumerate(order)]}  # fmt: skip
        rank.loader_passes = [made.loader_pass(rank.rank, **plain | more)]
    return ranks


def test_a_sampler_deals_from_one_order_on_all_ranks() -> None:
    order = random.Random(0).sample(range(64), 64)
    other = random.Random(1).sample(range(64), 64)
    assert named(with_own_samplers(order[::2], order[1::2])) == []
    apart = with_own_samplers(order[::2], other[1::2])
    assert named(apart) == [("repeated data", None)]
    assert named(with_own_samplers(order[::2], other[1::2], is_over=False)) == []
    assert named(with_own_samplers(order[::2], other[1::2], length=640)) == []  # a draw of some
    assert named(with_own_samplers(order[:32], order[:32])) == []  # repeated on purpose
    drawn = [random.Random(rank).choices(range(64), k=32) for rank in range(2)]
    assert named(with_own_samplers(*drawn)) == []  # with replacement
    for rank in apart:
        rank.wrapped = []
        for step in rank.optimizers[0].watched:
            step.gradients.keep("used", step.gradients.samples("own"))
    assert "repeated data" not in [what for what, _ in named(apart)]  # nothing ties the ranks


def test_ranks_that_read_the_same_stream_are_named() -> None:
    near = sorted(range(400), key=lambda at: at + random.Random(at).randrange(40))
    plain = {"stream": True, "length": 0, "is_over": False}
    assert named(with_own_samplers(list(range(400)), near, **plain)) == [("repeated data", None)]
    same = {"samples": [[1, 2], [3, 4]]}  # of which each rank may take its part
    assert named(with_own_samplers(list(range(400)), near, **plain | same)) == []
    permuted = random.Random(0).sample(range(400), 400)
    assert named(with_own_samplers(list(range(400)), permuted, **plain)) == []
    assert named(with_own_samplers([*range(200)] * 2, [*range(200)] * 2, **plain)) == []
    assert named(with_own_samplers(list(range(40)), list(range(40)), **plain)) == []  # too few


def test_one_rank_may_evaluate_all_samples() -> None:
    ranks = made.ranks()
    plain = {"kind": "SequentialSampler", "replicas": None, "total": 0, "messages": 0}
    ranks[0].loader_passes = [made.evaluation(0, **plain)]
    assert named(ranks) == [] and row(ranks, table.EVALUATION) == EQUAL


def resumed(*lines: str) -> list[TrainingReport]:
    """Ranks whose optimizer loads its state at these lines; "" if it does not."""
    ranks = made.ranks(len(lines))
    for rank, line in zip(ranks, lines, strict=True):
        rank.optimizers[0].restored, rank.restored_at = line, [line] if line else []
        rank.loads = [made.load()]
    return ranks


def test_all_ranks_take_up_the_optimizers_state() -> None:
    ranks = resumed("train.py:15", "train.py:15")
    assert named(ranks) == [] and row(ranks, table.RESUME) == EQUAL
    ranks = resumed("train.py:15", "")
    assert named(ranks) == []  # a state without effect: the weights stay equal
    assert "not every optimizer of every rank" in made.row(ranks, table.RESUME).says
    for step in ranks[1].optimizers[0].watched:
        step.after = [mark + 1 for mark in step.after]
        step.before = [mark + 1 for mark in step.before] if step.passes_so_far > 1 else step.before
    assert named(ranks) == [("resume", None)]


def test_the_ranks_go_on_from_the_same_step_and_epoch() -> None:
    ranks = resumed("train.py:15", "train.py:15")
    for rank in ranks:
        rank.loads = [made.load(numbers={"epoch": 3, "step": 100 + rank.rank})]
    assert named(ranks) == [("resume", None)]
    ranks = resumed("train.py:15", "train.py:15")
    for rank in ranks:
        rank.loads = [made.load(numbers={"epoch": 3})]
        rank.loader_passes = [made.loader_pass(rank.rank, epoch) for epoch in (0, 1)]
    assert named(ranks) == [("resume", None)]
    for rank in ranks:
        rank.loader_passes = [made.loader_pass(rank.rank, epoch) for epoch in (3, 4)]
    assert named(ranks) == []


def test_a_state_that_the_script_saves_is_loaded_too() -> None:
    ranks = resumed("", "")
    assert named(ranks) == []  # a file of another training, whose weights are a start
    for rank in ranks:
        rank.loads = [made.load(saves=True)]
    assert named(ranks) == [("resume", None)]
    for rank in ranks:
        rank.loads = [made.load(saves=True, passes_so_far=12)]
    assert named(ranks) == []  # the best weights, to be tested at the end
    assert "no state of an optimizer from it" in made.row(ranks, table.RESUME).says


def test_a_state_that_is_loaded_after_the_steps_watched_is_not_missed() -> None:
    ranks = resumed("", "")
    for rank in ranks:
        rank.loads, rank.restored_at = [made.load(saves=True)], ["train.py:50"]
    assert named(ranks) == []  # another optimizer, or a later step, uses the state
    says = made.row(ranks, table.RESUME).says
    assert says == "the steps watched begin without the state that is loaded at train.py:50"

"""All-reduces: their rounds and the cost of these, and the explorable."""

import itertools
import math

import pytest

from course import explore
from course.core.errors import CourseError
from course.explore.models.all_reduce import ALGORITHMS, plan
from course.explore.models.alpha_beta import AlphaBeta

EVERY = list(itertools.product(ALGORITHMS, range(1, 10)))


def test_every_rank_ends_with_every_number_once():
    for name, ranks in EVERY:
        p = plan(name, ranks)
        assert all(held == frozenset(range(ranks)) for row in p.held(p.messages) for held in row)


def test_in_a_round_a_rank_sends_and_receives_at_most_one_message():
    for name, ranks in EVERY:
        for round in plan(name, ranks).rounds:
            for side in ("source", "target"):
                ends = [getattr(send, side) for send in round.sends]
                assert len(ends) == len(set(ends))


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_rounds_cost_what_the_formulas_of_the_lesson_say(ranks):
    others, log = ranks - 1, int(math.log2(ranks))
    expected = {
        "reduce + broadcast": (2 * others, 2 * others),
        "all-to-all": (others, others),
        "ring": (2 * others, 2 * others / ranks),
        "halving-doubling": (2 * log, 2 * others / ranks),
        "tree": (2 * log, 2 * log),
    }
    for name, (messages, buffers) in expected.items():
        p = plan(name, ranks)
        assert (p.messages, p.buffers) == (messages, pytest.approx(buffers))


@pytest.mark.parametrize("ranks", range(2, 9))
def test_each_rank_of_a_ring_sends_the_least_there_is(ranks):
    assert plan("ring", ranks).sent(2 * (ranks - 1)) == pytest.approx(
        [2 * (ranks - 1) / ranks] * ranks
    )
    assert plan("ring", ranks).everyones == pytest.approx(
        plan("reduce + broadcast", ranks).everyones
    )


def test_the_clock_runs_round_by_round():
    network = AlphaBeta.of(latency_us=10, gb_per_s=1)
    assert plan("ring", 4).clock(network, 4e6) == pytest.approx([k * 1.01e-3 for k in range(7)])
    assert plan("ring", 4).seconds(network, 4e6) == pytest.approx(6.06e-3)


@pytest.mark.parametrize(
    ("name", "ranks", "message"), [("star", 4, "no all-reduce called 'star'"), ("ring", 0, "not 0")]
)
def test_a_plan_that_cannot_be_is_refused(name, ranks, message):
    with pytest.raises(CourseError, match=message):
        plan(name, ranks)


def test_stepping_goes_to_the_end_of_the_longer_one_and_back():
    two = explore.all_reduce(left="all-to-all", right="ring", ranks=8, step=14)
    assert (
        two.values["step"] == 14
        and "8 of 8 sums complete" in two.picture
        and "64 of 64" in two.picture
    )
    assert two.at(right="tree").values["step"] == 7  # the longer one has seven rounds now
    assert "0 of 8 sums complete" in two.at(step=0).picture

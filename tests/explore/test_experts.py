"""The model of tokens and experts by hand: who computes what, who waits, what is dropped."""

import pytest

from course import explore
from course.core.errors import CourseError
from course.explore.models.experts import EXPERTS, RANKS, TOKENS, flow


def test_without_a_popular_expert_all_have_the_same_load():
    even = flow()
    loads = [sum(even.rows(rank, expert)[0] for rank in range(RANKS)) for expert in range(EXPERTS)]
    assert loads == [RANKS * TOKENS // EXPERTS] * EXPERTS
    assert even.slowdown == 1 and even.dropped == 0


def test_a_popular_expert_makes_all_wait():
    busy = flow(popular=0.5)
    rows = sum(busy.rows(rank, 0)[0] for rank in range(RANKS))
    assert rows >= RANKS * TOKENS / 2
    assert busy.slowdown == busy.computed(0) / TOKENS > 2
    assert sum(map(busy.computed, range(RANKS))) == RANKS * TOKENS


def test_a_larger_share_takes_tokens_from_others_only():
    before, after = flow(popular=0.25), flow(popular=0.5)
    for was, now in zip(before.chosen, after.chosen, strict=True):
        assert all(new in (0, old) for old, new in zip(was, now, strict=True))


def test_a_capacity_drops_what_is_too_much_and_nothing_else():
    limited = flow(popular=0.5, factor=1.25)
    for rank in range(RANKS):
        for expert in range(EXPERTS):
            taken, lost = limited.rows(rank, expert)
            choices = limited.chosen[rank].count(expert)
            assert (taken, lost) == (min(choices, 2), max(0, choices - 2))
    assert limited.dropped and limited.slowdown < flow(popular=0.5).slowdown


@pytest.mark.parametrize("wrong", [{"popular": 2}, {"popular": -1}, {"factor": 0}])
def test_a_flow_that_cannot_be_is_refused(wrong):
    with pytest.raises(CourseError):
        flow(**wrong)


def test_titles_say_what_the_state_shows():
    assert "no rank waits long" in explore.experts().picture
    assert "all ranks wait for it" in explore.experts(popular=50).picture
    assert "found no room" in explore.experts(popular=50, factor=1.25).picture

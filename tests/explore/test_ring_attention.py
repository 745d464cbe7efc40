"""Ring attention: every visible score is computed once, and zigzag leaves no rank idle."""

import itertools

import pytest
import torch

from course.core.errors import CourseError
from course.explore.models import ring_attention as model
from course.explore.pictures import ring_attention
from course.given.partial_attention import computed

SHAPES = list(itertools.product(model.ORDERS, (1, 2, 3, 4, 8)))


@pytest.mark.parametrize("causal", [True, False])
def test_every_pair_that_may_be_seen_is_computed_by_one_rank_in_one_round(causal):
    for order, ranks in SHAPES:
        every = [
            square
            for rank, turn in itertools.product(range(ranks), range(ranks))
            for square in model.squares(order, ranks, rank, turn, causal)
        ]
        assert len(every) == len(set(every))
        count = 2 * ranks
        seen = {
            (query, key)
            for query, key in itertools.product(range(count), range(count))
            if not causal or key <= query
        }
        assert seen <= set(every)


def test_the_causal_mask_idles_ranks_that_hold_their_tokens_in_order_and_none_of_a_zigzag():
    for ranks in (1, 2, 3, 4, 8):
        in_order = model.rounds(model.IN_ORDER, ranks, True)
        assert [sum(done) for done in in_order] == list(range(1, ranks + 1))
        assert model.idle(in_order) == pytest.approx((ranks - 1) / (2 * ranks))
        zigzag = model.rounds(model.ZIGZAG, ranks, True)
        assert model.idle(zigzag) == pytest.approx(0)
        assert model.starts(zigzag)[-1] == pytest.approx((ranks + 1) / 2)
        for order in model.ORDERS:
            assert model.idle(model.rounds(order, ranks, False)) == pytest.approx(0)
    with pytest.raises(CourseError, match="at least one rank"):
        model.pieces(model.ZIGZAG, 0)


def test_the_work_is_what_the_labs_own_attention_computes():
    for order, ranks in SHAPES:
        pieces = torch.arange(2 * ranks * 3).chunk(2 * ranks)
        places = [
            torch.cat([pieces[number] for number in held]) for held in model.pieces(order, ranks)
        ]
        work = model.rounds(order, ranks, True)
        for rank, turn in itertools.product(range(ranks), range(ranks)):
            keys = places[model.owner(rank, turn, ranks)]
            assert work[rank][turn] * 36 == computed(places[rank], keys)


def test_the_title_says_how_much_is_idle():
    drawn = ring_attention.draw(model.IN_ORDER, 4, ring_attention.CAUSAL, 4)
    assert "In order: 38 % of the ranks' time is idle" in drawn.replace("&#x27;", "'")
    assert "round 4 of 4" in drawn
    assert "Zigzag: no rank is idle" in ring_attention.draw(
        model.ZIGZAG, 4, ring_attention.CAUSAL, 1
    )

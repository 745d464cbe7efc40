"""The ledger of sharding: the formulas of ZeRO, and the titles of pictures."""

import itertools

import pytest

from course import explore
from course.core.errors import CourseError
from course.explore.models import sharding as model

LLAMA = model.MODELS["Llama 3, 8 billion"]


@pytest.mark.parametrize("ranks", [1, 2, 3, 64])
def test_bytes_per_parameter_are_those_of_the_paper(ranks):
    sums = [sum(model.per_parameter(way, ranks)) for way in model.WAYS]
    assert sums == pytest.approx([16, 4 + 12 / ranks, 2 + 14 / ranks, 16 / ranks])
    assert [sum(model.per_parameter(way, 2, model.SINGLE)) for way in model.WAYS] == [16, 12, 10, 8]


def test_a_step_sends_two_or_three_times_the_weights():
    for way, times in zip(model.WAYS, (2, 2, 2, 3), strict=True):
        sent = model.ledger(way, LLAMA, 4, 1000).sent
        assert sent == pytest.approx(times * 3 / 4 * 2 * LLAMA.parameters)
        assert model.ledger(way, LLAMA, 1, 1000).sent == 0


def test_one_rank_holds_the_same_whatever_the_way():
    totals = {model.ledger(way, LLAMA, 1, 1000).total for way in model.WAYS}
    assert max(totals) == pytest.approx(min(totals))


def test_each_stage_holds_less_and_activations_stay():
    ledgers = [model.ledger(way, LLAMA, 8, 4000) for way in model.WAYS]
    assert all(a.total > b.total for a, b in itertools.pairwise(ledgers))
    assert len({ledger.held["activations"] for ledger in ledgers}) == 1


def test_recomputing_keeps_the_inputs_and_one_layer():
    whole, recomputed = (
        model.activations(LLAMA, 1000, model.SINGLE, recompute) for recompute in (False, True)
    )
    assert whole == LLAMA.layers * 1000 * LLAMA.width * 66
    assert recomputed == LLAMA.layers * 1000 * LLAMA.width * 4 + whole / LLAMA.layers
    assert model.activations(LLAMA, 1000, model.MIXED, False) == whole / 2


def test_the_largest_model_fills_the_memory():
    for way in model.WAYS:
        count = model.largest(way, 8, 80e9)
        assert count * sum(model.per_parameter(way, 8)) == pytest.approx(80e9)


def test_a_way_or_a_number_of_ranks_that_cannot_be_is_refused():
    for wrong in (("ZeRO-4", 2), (model.DDP, 0)):
        with pytest.raises(CourseError, match="at least one rank"):
            model.per_parameter(*wrong)


def test_titles_say_which_way_is_the_first_that_fits():
    assert "ZeRO-1 is the first" in explore.sharding().picture
    large = {"size": model.LARGEST, "ranks": 64}
    assert "ZeRO-3, FSDP is the first" in explore.sharding(**large, recompute=True).picture
    assert "No way fits" in explore.sharding(**large).picture
    assert "All four ways fit" in explore.sharding(size="BERT-base, 0.11 billion").picture
    assert "nobody to share with" in explore.sharding(ranks=1).picture


def test_a_bar_that_is_cut_says_so_and_tells_its_parts():
    large = explore.sharding(size=model.LARGEST, ranks=64, recompute=True).picture
    assert "weights 141, gradients 141, optimizer state 847" in large
    assert "optimizer state 1" not in explore.sharding(size="BERT-base, 0.11 billion").picture

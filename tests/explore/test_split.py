"""A network split by data or by layers: how long each rank waits, and pictures that fit."""

import itertools

import pytest
from support.pictures import assert_fits

from course.core.errors import CourseError
from course.explore.models.split import by_data, by_layers, duration, idle
from course.explore.pictures import split


def test_every_state_of_the_split_fits_its_card():
    for by, ranks, parts in itertools.product(("data", "layers"), (1, 2, 3, 4), (1, 8)):
        picture = split.draw(by, ranks, parts)
        assert_fits(picture)
        assert ("gradients averaged" in picture) == (by == "data" and ranks > 1)


def test_a_pipeline_waits_less_with_more_parts_and_never_computes_twice_at_once():
    assert (duration(by_data(4)), idle(by_data(4))) == pytest.approx((0.75, 0))
    assert (duration(by_layers(2, 1)), idle(by_layers(2, 1))) == pytest.approx((3, 0.5))
    for ranks, parts in itertools.product((1, 2, 4), (1, 3, 8)):
        pieces = by_layers(ranks, parts)
        assert idle(pieces) == pytest.approx((ranks - 1) / (ranks + parts - 1))  # Huang et al. 2019
        for rank in pieces:
            assert all(a.end <= b.start + 1e-9 for a, b in itertools.pairwise(rank))
    with pytest.raises(CourseError, match="at least one rank"):
        by_layers(2, 0)

"""A number before the published all-reduces: what is beside it, over which link."""

import re

import pytest
from support.pictures import assert_fits, assert_legible

from course import explore
from course.charts import published
from course.core.errors import CourseError
from course.explore.models import machines as model
from course.explore.pictures.machines import draw

MIB = 2**20


def test_every_line_has_one_link_to_be_chosen_by():
    by_link = {link: {line.name for line in model.lines(link)} for link in model.LINKS}
    every = by_link.pop(model.ANY)
    assert every == {line.name for line in published.all_reduces()}
    assert sum(len(names) for names in by_link.values()) == len(every)
    assert set().union(*by_link.values()) == every and all(by_link.values())


def test_beside_a_number_stand_its_neighbours_and_the_fastest():
    place = model.place(model.ANY, 16 * MIB, 10.0)
    assert place.beside == {"4 GPUs over PCIe": 4.86, "16 A100, 2 nodes": 26.39, "8 H200": 240.41}
    assert place.finding == "At 16 MiB, 8 H200 reached 24 times yours"
    assert list(model.place("PCIe", 16 * MIB, 10.0).beside) == ["4 GPUs over PCIe"]


def test_the_finding_turns_where_ones_own_number_is_the_fastest():
    assert "reached 2 times yours" in model.place("PCIe", 16 * MIB, 2.43).finding
    assert model.place("PCIe", 16 * MIB, 9.72).finding == (
        "At 16 MiB, yours is 2 times the fastest, 4 GPUs over PCIe"
    )


def test_where_nothing_was_published_it_says_so():
    place = model.place("TCP", 1024 * MIB, 1.0)
    assert place.beside == {}
    assert place.finding == "Nobody published a number near 1 GiB over this link"
    assert_fits(draw("TCP", 1024, 1.0))


@pytest.mark.parametrize("own", [None, {"torch, 2 ranks": [(1024.0, 0.003), (16.0 * MIB, 0.4)]}])
def test_the_picture_has_the_number_before_the_lines_and_says_what_the_model_says(own):
    picture = draw("NVLink", 16, 0.5, own)
    assert_fits(picture)
    assert_legible(picture)
    assert model.place("NVLink", 16 * MIB, 0.5).finding in picture
    assert "Yours: 0.5 GB/s. Published, not ours: 8 A100 109, 8 H200 240" in picture
    tips = re.findall(r"<g><title>(.*?)</title>", picture)
    assert "your number, 16 MiB: 0.5 GB/s" in tips
    assert ("torch, 2 ranks, 16 MiB: 0.4 GB/s" in tips) == bool(own)
    assert not any("TCP" in tip for tip in tips)


def test_a_measured_number_is_taken_as_it_is_and_a_wrong_one_refused():
    assert explore.machines(rate=0.4137).values["rate"] == 0.4137
    with pytest.raises(CourseError, match=r"Your number takes a number from 0\.001 to 1000"):
        explore.machines(rate=0)

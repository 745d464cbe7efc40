"""Marks and axes of drawings."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from support.pictures import assert_fits

from course.drawing import svg


@pytest.mark.parametrize(
    ("value", "end"),
    [
        (1, 1),
        (1.01, 1.5),
        (3.2, 4),
        (6.9, 8),
        (8.1, 10),
        (99, 100),
        (101, 150),
        (0.0021, 0.003),
    ],
)
def test_an_axis_ends_at_the_next_round_number(value, end):
    assert svg.round_up(value) == pytest.approx(end)


def test_an_axis_ignores_what_cannot_be_seen():
    assert svg.round_up(4 + 1e-9) == 4
    assert svg.round_up(4.01) == 5


@pytest.mark.parametrize(
    ("value", "written"), [(1.0, "1"), (0.001, "0"), (-0.001, "0"), (2.345, "2.35"), (100, "100")]
)
def test_numbers_in_drawings_have_one_form(value, written):
    assert svg.number(value) == written


def test_hatching_stays_inside_its_rectangle():
    lines = re.findall(
        r"M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)", svg.hatched(10, 20, 47, 30, "#0072B2")
    )
    assert len(lines) > 5
    for x1, y1, x2, y2 in (map(float, line) for line in lines):
        assert min(x1, x2) >= 10 and max(x1, x2) <= 57 and min(y1, y2) >= 20 and max(y1, y2) <= 50


def test_words_are_escaped():
    picture = svg.card(90, "a < b & c", [svg.text(30, 70, "x > y")])
    assert ElementTree.fromstring(picture)[0].text == "a < b & c" and picture.alt.startswith(
        "a < b & c"
    )


def test_a_hangul_or_a_kanji_takes_the_room_of_two_letters():
    assert svg.columns("rank 0 → 1") == 10
    assert svg.columns("순위 0") == svg.columns("順位 0") == 6
    assert svg.text_width("순위") == svg.text_width("rank")


def test_wide_letters_that_run_into_each_other_are_seen():
    def picture(label: str) -> str:
        marks = [svg.text(40, 60, label), svg.text(90, 60, "bucket")]
        return svg.card(100, "Two labels side by side", marks)

    assert_fits(picture("ranks"))
    with pytest.raises(AssertionError):
        assert_fits(picture("순위순위순"))

"""Colours and their shades, and whether text in them can be read."""

import re

import pytest

from course.drawing import palette


def test_tints_go_from_the_colour_to_the_card():
    assert palette.tint("#0072B2", 0) == "#0072b2" and palette.tint("#0072B2", 1) == palette.CARD
    assert palette.tint("#000000", 0.5) == "#808080"


def test_contrast_is_that_of_wcag():
    assert palette.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert palette.contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    assert palette.contrast("#0072B2", "#0072B2") == 1


@pytest.mark.parametrize("rank", range(len(palette.RANKS)))
def test_text_in_or_on_the_colour_of_a_rank_is_legible(rank):
    colour = palette.rank_colour(rank)
    assert palette.contrast(palette.as_text(colour), palette.CARD) >= 4.5
    assert palette.contrast(palette.on(colour), colour) >= 4.5
    ground, text = re.findall(r"[34]8;2;(\d+);(\d+);(\d+)m", palette.ansi(rank, "rank"))
    ground, text = ("#" + "".join(f"{int(part):02x}" for part in rgb) for rgb in (ground, text))
    assert ground == colour.lower() and palette.contrast(text, ground) >= 4.5


def test_other_colours_of_text_are_left_as_they_are():
    for colour in (palette.INK, palette.MUTED, palette.CARD, palette.ALARM, palette.GOOD):
        assert palette.as_text(colour) == colour
    for colour in (palette.INK, palette.MUTED, palette.ALARM, palette.GOOD):
        assert palette.contrast(colour, palette.CARD) >= 4.5

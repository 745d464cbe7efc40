"""Colours and their shades."""

from course.drawing import palette


def test_tints_go_from_the_colour_to_the_card():
    assert palette.tint("#0072B2", 0) == "#0072b2" and palette.tint("#0072B2", 1) == palette.CARD
    assert palette.tint("#000000", 0.5) == "#808080"

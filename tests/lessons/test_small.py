"""Every small size is a smaller number of a cell, and nothing that nbval compares depends on it."""

import re

import pytest
from support.small import SIZES, small

from course.core.files import ROOT
from course.lessons import read
from course.lessons.lesson import Cell

EVERY = [(lab, *pair) for lab, sizes in SIZES.items() for pair in sizes.items()]
NUMBER = re.compile(r"\d+")
OPTION = re.compile(r" --(\w+) (\d+)")


def cells(lab: str) -> list[Cell]:
    """The cells of code of a lab."""
    return [
        cell
        for cell in read(ROOT / "course" / "lessons" / f"{lab}.md").cells
        if cell.kind == "code"
    ]


@pytest.mark.parametrize(("lab", "text", "smaller"), EVERY)
def test_a_small_size_is_the_same_text_with_smaller_numbers(lab, text, smaller) -> None:
    if smaller.startswith(text):
        assert OPTION.fullmatch(smaller.removeprefix(text))  # an option that the command leaves out
        return
    assert NUMBER.sub("", smaller) == NUMBER.sub("", text)
    numbers = [[int(number) for number in NUMBER.findall(each)] for each in (smaller, text)]
    assert all(less <= more for less, more in zip(*numbers, strict=True)) and smaller != text


@pytest.mark.parametrize(("lab", "text", "smaller"), EVERY)
def test_no_output_that_is_compared_comes_from_a_small_size(lab, text, smaller) -> None:
    changed = [cell for cell in cells(lab) if text in cell.source]
    assert changed
    for cell in changed:
        assert cell.target or "nbval-ignore-output" in cell.options["tags"]


def test_a_cell_gets_its_sizes_and_everything_else_stays() -> None:
    source = "for turn in range(-1, 12):\n    run()\n# range(-1, 13)"
    sizes = {"range(-1, 12)": "range(-1, 3)", "unknown": "text"}
    assert small(source, sizes) == source.replace("range(-1, 12)", "range(-1, 3)")

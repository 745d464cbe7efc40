"""Every small size means less work for a cell, and no output that nbval compares depends on it."""

import inspect
import re

import pytest
from support.small import SIZES, small

from course.core.files import ROOT
from course.data import nli
from course.given import ways
from course.lessons import Lesson, read

EVERY = [(lab, *pair) for lab, sizes in SIZES.items() for pair in sizes.items()]
ADDED = [case for case in EVERY if case[2].startswith(case[1])]  # an option, to a command
FIRST = re.compile(r"(nli\.tokenized\(.+), size=(\d+)\)")
PAIRS = [case for case in EVERY if FIRST.fullmatch(case[2])]
NUMBER = re.compile(r"\d+")
COMMAND = re.compile(r"%(?:torchrun|accelerate|python) .*?(src/\w+\.py)")
SCRIPT = re.compile(r"src/\w+\.py")
OPTION = re.compile(r" (--\w+) (\d+)")


def lesson(lab: str) -> Lesson:
    """The lesson of a lab."""
    return read(ROOT / "course" / "lessons" / f"{lab}.md")


@pytest.mark.parametrize(
    ("lab", "text", "smaller"), [case for case in EVERY if case not in [*ADDED, *PAIRS]]
)
def test_a_small_size_is_the_same_text_with_smaller_numbers(lab, text, smaller) -> None:
    assert NUMBER.sub("", smaller) == NUMBER.sub("", text)
    numbers = [[int(number) for number in NUMBER.findall(size)] for size in (smaller, text)]
    assert all(less <= more for less, more in zip(*numbers, strict=True)) and smaller != text


@pytest.mark.parametrize(("lab", "text", "smaller"), ADDED)
def test_or_adds_an_option_that_its_script_takes(lab, text, smaller) -> None:
    option, size = OPTION.fullmatch(smaller.removeprefix(text)).groups()
    script = lesson(lab).scripts(solved=True)[SCRIPT.search(text)[0]]
    if "ways.compare(" in script:  # which reads the command line
        script = inspect.getsource(ways.compare)
    default = re.search(rf'add_argument\("{option}", type=int(?:, default=(\d+))?[,)]', script)
    assert default and (default[1] is None or 0 < int(size) < int(default[1]))


@pytest.mark.parametrize(("lab", "text", "smaller"), PAIRS)
def test_or_takes_the_first_of_all_pairs(lab, text, smaller) -> None:
    call, size = FIRST.fullmatch(smaller).groups()
    assert text == f"{call})" and len(nli.tokenized(size=int(size))) == int(size)


@pytest.mark.parametrize(("lab", "text", "smaller"), EVERY)
def test_no_output_that_is_compared_comes_from_a_small_size(lab, text, smaller) -> None:
    cells = lesson(lab).code
    changed = [cell for cell in cells if text in cell.source]
    assert changed
    written = {cell.target for cell in changed if cell.target}
    for cell in cells:
        runs = any(match[1] in written for match in COMMAND.finditer(cell.source))
        if not cell.target and (cell in changed or runs):
            assert "nbval-ignore-output" in cell.options["tags"]


def test_a_cell_gets_its_sizes_and_everything_else_stays() -> None:
    source = "for turn in range(-1, 12):\n    run()\n# range(-1, 13)"
    sizes = {"range(-1, 3)": "none", "range(-1, 12)": "range(-1, 3)", "unknown": "text"}
    assert small(source, sizes) == source.replace("range(-1, 12)", "range(-1, 3)")
    assert small(source, dict(reversed(sizes.items()))) == small(source, sizes)
    assert small(source, {}) == source

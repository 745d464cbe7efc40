"""Numbers, times and sizes in words for readers."""

import re

import pytest

from course.core import ROOT, words


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (0.256, "0.26"),
        (6.84, "6.8"),
        (41.3, "41"),
        (8619.2, "8,619"),
        (1000, "1,000"),
        (100, "100"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_for_readers(value, shown):
    assert words.significant(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(2e-7, "0.2 µs"), (2.7e-4, "270 µs"), (0.0123, "12.3 ms"), (4, "4 s")]
)
def test_times_for_readers(value, shown):
    assert words.duration(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (512, "512 B"),
        (1023.4, "1,023 B"),
        (1023.9, "1 KiB"),
        (1024, "1 KiB"),
        (2**20 - 1, "1 MiB"),
        (2**26, "64 MiB"),
        (2**31, "2 GiB"),
        (2**41, "2 TiB"),
    ],
)
def test_sizes_for_readers(value, shown):
    assert words.size(value) == shown


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 s"),
        (89, "89 s"),
        (90, "2 min"),
        (3600, "60 min"),
        (7300, "2 h 2 min"),
        (90 * 3600, "3 d 18 h"),
    ],
)
def test_long_times_for_readers(seconds, text):
    assert words.long_duration(seconds) == text


@pytest.mark.parametrize(
    ("longest", "unit", "shown"),
    [(9e-4, "µs", 900), (0.9, "ms", 900), (1.0, "s", 1), (90, "s", 90)],
)
def test_an_axis_of_times_has_the_unit_that_suits_its_end(longest, unit, shown):
    name, factor = words.time_unit(longest)
    assert (name, longest * factor) == (unit, pytest.approx(shown))


def test_powers_are_written_with_raised_digits():
    assert (words.power(2, -15), words.power(10, 8)) == ("2⁻¹⁵", "10⁸")


def test_a_percentage_has_a_space_before_its_sign_wherever_python_writes_it():
    lines = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in (ROOT / "course").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r":\.\d%\}", line)
    ]
    assert lines == []


@pytest.mark.parametrize(
    ("ranks", "shown"),
    [
        ([1], "rank 1"),
        ({3, 1}, "ranks 1 and 3"),
        (range(7), "ranks 0 to 6"),
        (range(0, 16, 2), "ranks 0, 2, 4, 6, 8, 10, 12 and 14"),
        (range(0, 22, 2), "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 3 more"),
    ],
)
def test_a_sentence_says_how_many_ranks_it_leaves_out(ranks: list[int], shown: str) -> None:
    assert words.ranks(ranks) == shown
    assert words.ranks(ranks, capital=True) == shown.capitalize()

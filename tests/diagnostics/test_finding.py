"""Ranks in the words of a finding."""

import pytest

from course.diagnostics.finding import ranks_in_words


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
    assert ranks_in_words(ranks) == shown
    assert ranks_in_words(ranks, capital=True) == shown.capitalize()

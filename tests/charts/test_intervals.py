"""Interval arithmetic."""

from course.charts import intervals


def test_union_joins_what_touches():
    assert intervals.union([(5, 6), (0, 2), (1, 3), (3, 4)]) == [(0, 4), (5, 6)]
    assert intervals.union([(0, 10), (2, 3), (4, 5)]) == [(0, 10)]


def test_intersection_and_difference_part_an_interval():
    first, second = [(0, 10), (20, 30)], [(-1, 2), (5, 22), (29, 40)]
    common, rest = intervals.intersection(first, second), intervals.difference(first, second)
    assert common == [(0, 2), (5, 10), (20, 22), (29, 30)]
    assert rest == [(2, 5), (22, 29)]
    assert intervals.length(common) + intervals.length(rest) == intervals.length(first)
    assert intervals.difference(first, []) == first and intervals.intersection([], second) == []


def test_pauses_are_closed_unless_long_or_broken():
    busy = [(0, 1), (1.1, 2), (5, 6), (6.1, 7)]
    assert intervals.close_pauses(busy, 0.2, breaks=[6.05]) == [(0, 2), (5, 6), (6.1, 7)]

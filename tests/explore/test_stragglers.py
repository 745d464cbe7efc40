"""The straggler model by hand and against simulation, pictures that fit, lab 04's still."""

import itertools
import statistics

import pytest

from course import explore
from course.core.errors import CourseError
from course.explore.models.stragglers import ALL_REDUCE_MS, COMPUTE_MS, expected_ms, ideal_ms, race


def test_a_race_worked_out_by_hand():
    run = race(ranks=3, slower=0.5, jitter=0, every=2, passes=4)
    first, second = run.ranks[0]
    assert first.ends_ms == (100, 200) and (first.all_done_ms, first.wait_ms) == (300, 100)
    assert second.start_ms == 312 and run.ranks[2][1].wait_ms == 0
    assert run.total_ms == 624
    assert run.waiting_share(0) == pytest.approx(200 / 624) and run.waiting_share(2) == 0


def test_without_jitter_the_slow_rank_sets_the_pace_however_seldom_they_meet():
    for ranks, every in itertools.product((1, 8, 1024), (1, 8)):
        assert expected_ms(ranks, 0.3, 0, every) == pytest.approx(130 + ALL_REDUCE_MS / every)
        assert expected_ms(ranks, 0, 0, every) == ideal_ms(every)


@pytest.mark.parametrize(
    ("ranks", "slower", "jitter", "every"), [(2, 0, 0.1, 1), (16, 0, 0.2, 4), (8, 0.1, 0.1, 1)]
)
def test_the_expected_cost_is_what_many_races_cost(ranks, slower, jitter, every):
    races = [race(ranks, slower, jitter, every, passes=8, seed=seed) for seed in range(400)]
    runs = [run.total_ms / 8 for run in races]
    assert expected_ms(ranks, slower, jitter, every) == pytest.approx(
        statistics.fmean(runs), rel=0.01
    )


def test_the_largest_of_two_normal_times_is_known_exactly():
    # E[max(X, Y)] = mean + sd / sqrt(pi)
    assert expected_ms(2, 0, 0.1) == pytest.approx(
        COMPUTE_MS + 10 / 3.14159265**0.5 + ALL_REDUCE_MS, abs=0.01
    )


def test_meeting_less_often_averages_jitter_out_and_no_slow_rank():
    def excess(slower, jitter, every):
        return expected_ms(8, slower, jitter, every) - ideal_ms(every)

    assert excess(0, 0.2, 4) == pytest.approx(excess(0, 0.2, 1) / 2, rel=0.01)
    assert excess(0.3, 0, 4) == pytest.approx(excess(0.3, 0, 1))


@pytest.mark.parametrize("wrong", [{"ranks": 0}, {"slower": -0.1}, {"jitter": -1}, {"every": 3}])
def test_a_race_that_cannot_be_is_refused(wrong):
    with pytest.raises(CourseError, match="A race needs"):
        race(**({"ranks": 2, "slower": 0, "jitter": 0} | wrong))


def test_titles_say_what_the_state_shows():
    assert "Nobody is late" in explore.stragglers(jitter=0).picture
    slow = explore.stragglers(slower=30, jitter=0).picture
    assert "One rank is slower by 30 %: all 8 pay 27 %" in slow
    first = explore.stragglers().picture
    assert "Nobody is slow, and yet to meet at every pass costs 13 %" in first
    assert "after 4 passes" in explore.stragglers(every=4).picture

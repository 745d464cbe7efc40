"""Bounded staleness: which ranks wait, which are stale, and pictures that fit."""

import itertools

import pytest

from course import explore
from course.core.errors import CourseError
from course.explore.models.staleness import END_MS, UNBOUNDED, simulate


def test_no_worker_is_ahead_by_more_than_its_bound_and_staleness_follows():
    for workers, bound, slow in itertools.product((2, 3, 6), (0, 1, 2, 5), (1, 3, 8)):
        run = simulate(workers, bound, slow)
        begins = sorted(
            (step.start, worker) for worker, steps in enumerate(run.workers) for step in steps
        )
        ends = [[step.end for step in steps] for steps in run.workers]
        for start, worker in begins:
            done = [sum(end <= start for end in column) for column in ends]
            assert done[worker] - min(done) <= bound
        assert run.largest_staleness <= (workers - 1) * (2 * bound + 1)


def test_one_worker_is_never_stale_and_never_waits():
    run = simulate(1, 0, 1)
    assert (run.updates, run.largest_staleness, run.waiting_share) == (20, 0, 0)


def test_a_bound_forgives_one_nap_but_no_slow_worker():
    slow = [simulate(3, bound, 4).updates for bound in (0, 5)]
    nap = [simulate(3, bound, 4, nap=True).updates for bound in (0, 5)]
    assert nap[1] - nap[0] > 5 and nap[1] > 1.5 * slow[1]
    assert simulate(3, float("inf"), 4).waiting_share == 0


def test_steps_follow_one_another_until_the_end():
    for steps in simulate(3, 2, 4).workers:
        assert all(a.end <= a.answered == b.start for a, b in itertools.pairwise(steps))
        assert max(step.answered for step in steps) >= END_MS


@pytest.mark.parametrize("wrong", [(0, 1, 1), (2, -1, 1), (2, 1, 0.5)])
def test_workers_that_cannot_be_are_refused(wrong):
    with pytest.raises(CourseError, match="at least one worker"):
        simulate(*wrong)


def test_titles_say_what_the_state_shows():
    assert "No bound" in explore.staleness(bound=UNBOUNDED).picture
    assert "Bound 0" in explore.staleness(bound=0).picture
    assert ">6 updates old</text>" in explore.staleness().picture

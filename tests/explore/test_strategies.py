"""The explorables of lab 07: what each strategy keeps and moves, bounded staleness, pictures that fit their cards."""

import itertools

import pytest
from support.pictures import assert_fits

from course.core.errors import CourseError
from course.explore.models import staleness as staleness_explorable
from course.explore.models import strategies as strategies_explorable
from course.explore.models.staleness import END_MS, UNBOUNDED, course
from course.explore.models.strategies import (  # fmt: skip
    CENTRAL,
    CENTRE,
    DEATHS,
    MIB,
    MIRRORED,
    NOTHING,
    OPTIMIZERS,
    SERVER,
    STRATEGIES,
    WORKER,
    WORKERS,
    plan,
)
from course.explore.pictures.staleness import draw as draw_staleness
from course.explore.pictures.strategies import draw as draw_strategies

GB_PER_S = MIB / 1e6  # so that 1 MiB takes 1 ms


@pytest.mark.parametrize(
    ("strategy", "busiest"), [(MIRRORED, 15.0), (WORKERS, 15.0), (CENTRAL, 80.0), (SERVER, 40.0)]
)
def test_what_four_devices_move_for_ten_mib(strategy, busiest):
    got = plan(strategy, 4, 10, "Adam", GB_PER_S)
    assert got.busiest == pytest.approx(busiest)
    assert got.transfer_ms == pytest.approx(busiest)


def test_mirrors_keep_the_optimizers_state_on_every_device_and_a_centre_keeps_it_once():
    mirrored, central = (plan(strategy, 4, 10, "Adam", 1) for strategy in (MIRRORED, CENTRAL))
    assert mirrored.memory == 40 and mirrored.centre is None
    assert central.memory == 20 and central.centre.total == 40
    assert plan(MIRRORED, 4, 10, "SGD", 1).memory == 20


def test_only_with_a_server_do_the_others_outlive_a_worker():
    living = {
        strategy: plan(strategy, 4, 10, "SGD", 1, WORKER).survivors for strategy in STRATEGIES
    }
    assert living == {MIRRORED: 0, CENTRAL: 0, WORKERS: 0, SERVER: 3}
    assert plan(SERVER, 4, 10, "SGD", 1, CENTRE).survivors == 0
    assert plan(MIRRORED, 4, 10, "SGD", 1, CENTRE).survivors == 4  # there is none


def test_one_device_has_nobody_to_talk_to():
    assert plan(MIRRORED, 1, 10, "SGD", 1).busiest == 0


@pytest.mark.parametrize(
    "wrong", [("Ring", 4, 1, "SGD", 1), (MIRRORED, 4, 1, "LAMB", 1), (MIRRORED, 0, 1, "SGD", 1)]
)
def test_a_plan_that_cannot_be_is_refused(wrong):
    with pytest.raises(CourseError, match="plan"):
        plan(*wrong)


@pytest.mark.parametrize("bound", [0, 1, 2, 5])
@pytest.mark.parametrize("workers", [2, 3, 6])
@pytest.mark.parametrize("slow", [1, 3, 8])
def test_no_worker_is_ahead_by_more_than_its_bound_and_staleness_follows(workers, bound, slow):
    run = course(workers, bound, slow)
    begins = sorted(
        (step.start, worker) for worker, steps in enumerate(run.workers) for step in steps
    )
    ends = [[step.end for step in steps] for steps in run.workers]
    for start, worker in begins:
        done = [sum(end <= start for end in column) for column in ends]
        assert done[worker] - min(done) <= bound
    assert run.largest <= (workers - 1) * (2 * bound + 1)


def test_one_worker_is_never_stale_and_never_waits():
    run = course(1, 0, 1)
    assert (run.updates, run.largest, run.waited) == (20, 0, 0)


def test_a_bound_forgives_one_nap_but_no_slow_worker():
    slow = [course(3, bound, 4).updates for bound in (0, 5)]
    nap = [course(3, bound, 4, nap=True).updates for bound in (0, 5)]
    assert nap[1] - nap[0] > 5 and nap[1] > 1.5 * slow[1]
    assert course(3, float("inf"), 4).waited == 0


def test_steps_follow_one_another_until_the_end():
    for steps in course(3, 2, 4).workers:
        assert all(a.end <= a.answered == b.start for a, b in itertools.pairwise(steps))
        assert max(step.answered for step in steps) >= END_MS


@pytest.mark.parametrize("wrong", [(0, 1, 1), (2, -1, 1), (2, 1, 0.5)])
def test_workers_that_cannot_be_are_refused(wrong):
    with pytest.raises(CourseError, match="at least one worker"):
        course(*wrong)


STATES = itertools.product(STRATEGIES, (1, 2, 4, 8), (10, 10_000), OPTIMIZERS, (0.1, 300), DEATHS)


@pytest.mark.parametrize("state", list(STATES)[::7], ids=str)
def test_every_state_of_the_strategies_fits_its_card(state):
    picture = draw_strategies(*state)
    assert_fits(picture)
    assert "nan" not in picture and "e+" not in picture


@pytest.mark.parametrize(
    "state", list(itertools.product((1, 3, 6), (0, 5, UNBOUNDED), (1, 8), (True, False))), ids=str
)
def test_every_state_of_staleness_fits_its_card(state):
    assert_fits(draw_staleness(*state))


def test_titles_say_what_the_state_shows():
    assert "everything stops" in strategies_explorable(strategy=WORKERS, dies=WORKER).picture
    assert "3 devices of 4 go on" in strategies_explorable(strategy=SERVER, dies=WORKER).picture
    assert "has no centre" in strategies_explorable(dies=CENTRE).picture
    assert "nothing moves" in strategies_explorable(devices=1).picture
    assert NOTHING in strategies_explorable().values["dies"]
    assert "No bound" in staleness_explorable(bound=UNBOUNDED).picture
    assert "Bound 0" in staleness_explorable(bound=0).picture

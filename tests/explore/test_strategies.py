"""What each strategy keeps and moves, which strategies survive a lost worker, pictures that fit."""

import pytest

from course import explore
from course.core.errors import CourseError
from course.core.words import MIB
from course.explore.models.strategies import (
    CENTRAL,
    CENTRE,
    MIRRORED,
    NOTHING,
    SERVER,
    STRATEGIES,
    WORKER,
    WORKERS,
    plan,
)

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


def test_titles_say_what_the_state_shows():
    assert "everything stops" in explore.strategies(strategy=WORKERS, dies=WORKER).picture
    assert "3 devices of 4 go on" in explore.strategies(strategy=SERVER, dies=WORKER).picture
    assert "has no centre" in explore.strategies(dies=CENTRE).picture
    assert "nothing moves" in explore.strategies(devices=1).picture
    assert NOTHING in explore.strategies().values["dies"]

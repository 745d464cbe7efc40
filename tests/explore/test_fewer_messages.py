"""Messages after H steps: the times by hand, and what the pictures say."""

import pytest

from course import explore
from course.core.errors import CourseError
from course.explore.models.fewer_messages import FEW, HALF, STEPS, WHOLE, message_s, training

ALPHA_S = 100e-6
SLOW = {"ranks": 4, "mbit": 100, "parameters": 1e6, "compute_ms": 30}


def test_a_message_by_hand():
    # 4 MB over a ring of 4 ranks: 6 messages with 6 MB in total, at 12.5 MB/s.
    assert message_s(4, 100, 1e6) == pytest.approx(6 * ALPHA_S + 6 / 12.5)
    assert message_s(4, 100, 1e6, HALF) == pytest.approx(6 * ALPHA_S + 3 / 12.5)
    # 10,000 numbers of 8 bytes from each of the three other ranks.
    assert message_s(4, 100, 1e6, FEW) == pytest.approx(3 * ALPHA_S + 0.24 / 12.5)


def test_in_every_step_a_message_hides_behind_backward():
    message, run = message_s(4, 100, 1e6), training(**SLOW)
    assert run.compute_s == pytest.approx(STEPS * 0.03)
    assert run.wait_s == pytest.approx(STEPS * (message - 0.02))
    assert training(**(SLOW | {"mbit": 400_000})).wait_s == 0


def test_after_h_steps_all_wait_for_the_whole_message():
    run = training(**SLOW, every=50, extra=0.2)
    assert run.compute_s == pytest.approx(1.2 * STEPS * 0.03)
    assert run.wait_s == pytest.approx(1.2 * STEPS * message_s(4, 100, 1e6) / 50)
    assert run.total_s == run.compute_s + run.wait_s
    assert run.waiting_share == pytest.approx(run.wait_s / run.total_s)


def test_gathering_the_largest_loses_its_advantage_with_many_ranks():
    saved = [message_s(n, 100, 1e8, WHOLE) / message_s(n, 100, 1e8, FEW) for n in (2, 16, 64)]
    assert saved[0] > 40 and saved == sorted(saved, reverse=True) and saved[2] < 2


@pytest.mark.parametrize(
    "wrong", [{"ranks": 1}, {"every": 0}, {"extra": -0.1}, {"compute_ms": 0}, {"parameters": 0}]
)
def test_a_training_that_cannot_be_is_refused(wrong):
    with pytest.raises(CourseError, match="A training needs two ranks"):
        training(**(SLOW | wrong))


def test_titles_say_who_is_first():
    assert "as fast as DDP, to the same" in explore.fewer_messages(every=1, extra=0).picture
    assert "100 Gbit/s: DDP is 1.2" in explore.fewer_messages(link=100_000).picture
    assert "100 Mbit/s: 29.5 times as fast as DDP" in explore.fewer_messages().picture

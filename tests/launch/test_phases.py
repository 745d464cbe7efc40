"""The phases of a run, without a process and without a clock."""

import pytest

from course.launch.messages import Reason
from course.launch.phases import GRACE_S, STACKS_S, Phase, Phases


def limited(until: float) -> Phases:
    """A run with a time limit."""
    phases = Phases()
    phases.set_limit(until)
    return phases


def test_a_run_without_a_limit_runs() -> None:
    phases = Phases()
    assert not phases.advance(1e9)
    assert (phases.phase, phases.reason) == (Phase.RUNNING, Reason.FINISHED)


def test_at_the_limit_ranks_write_their_stacks_and_are_killed_later() -> None:
    phases = limited(10)
    assert not phases.advance(10) and phases.phase == Phase.RUNNING
    assert phases.advance(11)
    assert (phases.phase, phases.reason) == (Phase.STACKS, Reason.LIMIT)
    assert not phases.advance(11 + STACKS_S)
    assert phases.advance(11.1 + STACKS_S)
    assert (phases.phase, phases.reason) == (Phase.KILLING, Reason.LIMIT)
    assert not phases.advance(1e9) and phases.phase == Phase.KILLING


@pytest.mark.parametrize("reason", [Reason.INTERRUPTED, Reason.CLIENT, Reason.LAUNCHER])
def test_who_is_asked_to_end_is_killed_later_and_not_asked_twice(reason: Reason) -> None:
    phases = limited(10)
    assert phases.begin_ending(reason, now=9)
    assert not phases.begin_ending(Reason.CLIENT, now=10)
    assert not phases.advance(9 + GRACE_S)  # the limit is behind it and counts no more
    assert phases.phase == Phase.ENDING
    assert phases.advance(9.1 + GRACE_S)
    assert (phases.phase, phases.reason) == (Phase.KILLING, reason)


def test_an_interrupt_while_stacks_are_written_changes_nothing() -> None:
    phases = limited(10)
    phases.advance(11)
    assert not phases.begin_ending(Reason.INTERRUPTED, now=11)
    assert (phases.phase, phases.reason) == (Phase.STACKS, Reason.LIMIT)


def test_a_limit_is_put_off_only_before_it_comes() -> None:
    phases = limited(10)
    phases.set_limit(20)
    assert not phases.advance(15)
    assert phases.advance(21)
    phases.set_limit(30)
    assert phases.advance(21.1 + STACKS_S) and phases.phase == Phase.KILLING

"""When a run is ended, tried with made-up snapshots and a made-up clock."""

from pathlib import Path

import pytest
from support.made_snapshots import computes, rank, waits

from course.diagnostics.run import patience, progress
from course.diagnostics.run.patience import Patience
from course.diagnostics.run.thresholds import HUNG_AFTER_S, MAX_DELAY_S, WARN_AFTER_S
from course.diagnostics.watch.rank_states import RankState
from course.launch.process_tree import MAX_EXTENSION


class Run:
    """A run of two ranks, seen every half second."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **how: object) -> None:
        self.now, self.lines = 1000.0, []
        monkeypatch.setattr(patience.time, "monotonic", lambda: self.now)
        self.patience = Patience(Path(), self.lines.append, **how)
        self.ranks: list[RankState] = []
        monkeypatch.setattr(self.patience._reader, "ranks", lambda: self.ranks)

    def goes_on(self, seconds: float, stalled_s: float = 0.0) -> bool:
        """Go on for some seconds, and return whether the run must be ended by then.

        If `stalled_s` is not 0, the run hangs, and already has for that many seconds.
        """
        for _ in range(round(2 * seconds)):
            self.now += 0.5
            stalled_s += 0.5 * bool(stalled_s)
            self.ranks = [rank(0, waits("barrier", 3), unmoved=stalled_s)]
            self.ranks += [rank(1, computes(4), unmoved=stalled_s, idle=1000.0)]
            if self.patience.is_over():
                return True
        return False


def test_a_run_that_moves_is_never_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Run(monkeypatch, patience=5.0).goes_on(1000)


def test_a_run_that_hangs_is_ended_after_its_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, patience=60.0)
    assert not run.goes_on(59, stalled_s=0.1)
    assert len(run.lines) == 1 and "The run is ended when none has for 60 s" in run.lines[0]
    assert run.goes_on(3, stalled_s=59.0) and run.patience.over_patience


def test_a_limit_ends_a_run_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, patience=60.0, limit=8.0)
    assert not run.goes_on(7.5)
    assert run.goes_on(1) and run.patience.over_limit


def test_a_limit_waits_until_it_is_clear_whether_the_run_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run(monkeypatch, patience=60.0, limit=8.0)
    assert not run.goes_on(8.0)
    assert not run.goes_on(0.5, stalled_s=1.5)
    assert run.goes_on(2, stalled_s=2.0)
    assert progress.stalled_s(run.patience.ranks) >= HUNG_AFTER_S


def test_a_run_with_long_pauses_must_hang_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, patience=60.0, limit=20.0)
    run.goes_on(6, stalled_s=0.1)
    run.goes_on(1)
    assert run.patience.hung_after_s == pytest.approx(2 * 6, abs=1)
    assert not run.goes_on(MAX_DELAY_S - 20, stalled_s=0.5)


def test_a_run_with_long_pauses_clearly_hangs_once_the_user_is_warned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run(monkeypatch, patience=600.0)
    run.goes_on(50, stalled_s=0.1)
    run.goes_on(1)
    assert run.patience.hung_after_s == WARN_AFTER_S


def test_a_limit_is_extended_by_the_time_in_which_the_machine_was_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run(monkeypatch, patience=600.0, limit=8.0, extends_limit=True)
    monkeypatch.setattr(patience.process_tree, "waited_for_a_core", lambda pid: 20.0)
    assert not run.goes_on(27)
    assert run.goes_on(2)
    run = Run(monkeypatch, patience=600.0, limit=8.0, extends_limit=True)
    monkeypatch.setattr(patience.process_tree, "waited_for_a_core", lambda pid: 1e6)
    assert run.goes_on(8 * (MAX_EXTENSION + 1) + 1)


def test_ranks_that_are_being_ended_are_remembered_as_they_stood(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run(monkeypatch, patience=600.0)
    run.goes_on(4, stalled_s=10.0)
    monkeypatch.setattr(
        run.patience._reader, "ranks", lambda: [rank(n, [], dead=True) for n in (0, 1)]
    )
    for _ in range(4):
        run.now += 0.5
        run.patience.is_over()
    assert [seen.alive for seen in run.patience.ranks] == [True, True]

"""In the process that watches a command: read what its ranks have written so far."""

import contextlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from course.diagnostics.watch import calls, identity, snapshots
from course.diagnostics.watch.calls import CallRecord, CollectiveCall
from course.diagnostics.watch.snapshots import ASK, Snapshot
from course.diagnostics.watch.thresholds import BUSY_CORE, GONE_S, STALE_S

OLD_S = 60.0  # snapshots that are older than the command by more than this belong to another one


@dataclass
class RankState:
    """The state of a rank: its last snapshot, its last calls, and its fault handler's stacks.

    `terminated` is true if it got a SIGTERM. `alive` is None if the process is on another machine
    and has not reported its end.
    """

    snapshot: Snapshot
    folder: Path = Path()
    record: CallRecord = field(default_factory=CallRecord)
    stacks: str = ""
    terminated: bool = False
    alive: bool | None = True
    mine: bool = True  # whether the command that this process watches started the rank

    @property
    def rank(self) -> int:
        """The rank's number."""
        return self.snapshot.rank or 0

    @property
    def calls(self) -> list[CollectiveCall]:
        """The rank's last collectives, the oldest first."""
        return self.record.calls

    @property
    def passes(self) -> int:
        """The number of backward passes that the rank has begun."""
        return self.record.passes


class RankReader:
    """Reads the folder of a command again and again.

    Several commands may share `folder`, each with some of the ranks. Ours write below `own`.
    """

    def __init__(self, folder: Path, own: Path | None = None) -> None:
        self._folder, self._own = folder, own or folder
        self._since = time.time() - OLD_S
        # For each process that keeps Python's lock: when it was last looked at, and its CPU time.
        self._cpu: dict[int, tuple[float, float]] = {}
        self._idle: dict[int, float] = {}  # ... and when it last computed

    def ranks(self) -> list[RankState]:
        """All ranks that have written anything, in order; for a restarted rank, its last process.

        If the command starts no ranks, its script counts as one.
        """
        paths = sorted(self._folder.rglob("snapshot.json"))
        states = [state for state in map(_read, paths) if state and state.snapshot.at > self._since]
        states = [state for state in states if not _runs_another_program(state)]
        for state in states:
            state.mine = self._own in state.folder.parents
        ranks = [state for state in states if state.snapshot.rank is not None]
        if not ranks and states:
            ranks = [min(states, key=lambda rank: rank.snapshot.began)]
        latest: dict[int, RankState] = {}
        for state in sorted(ranks, key=lambda rank: rank.snapshot.began):
            latest[state.rank] = state
        for state in latest.values():
            if state.alive and _is_stale(state.snapshot):
                self._bring_up_to_date(state.snapshot)
        return [latest[rank] for rank in sorted(latest)]

    def _bring_up_to_date(self, snapshot: Snapshot) -> None:
        """Update the snapshot of a process that cannot take one itself, and ask for its stacks."""
        with contextlib.suppress(psutil.Error, OSError):
            process = psutil.Process(snapshot.pid)
            used = process.cpu_times()
            now, cpu = time.monotonic(), used.user + used.system
            before, spent = self._cpu.get(snapshot.pid, (now, cpu))
            if cpu - spent > BUSY_CORE * (now - before) > 0:
                self._idle[snapshot.pid] = now
            self._cpu[snapshot.pid] = now, cpu
            silent = time.time() - snapshot.at
            snapshot.unmoved += silent
            snapshot.idle = min(
                snapshot.idle + silent, now - self._idle.get(snapshot.pid, now - silent)
            )
            if (before == now or now - before > 1) and identity.catches(snapshot.pid, ASK):
                os.kill(snapshot.pid, ASK)


def _read(path: Path) -> RankState | None:
    snapshot = snapshots.read(path)
    if snapshot is None:
        return None
    return RankState(
        snapshot,
        path.parent,
        calls.read(path.with_name("calls")),
        stacks=_read_text(path.with_name("stacks")),
        terminated=bool(_read_text(path.with_name("terminated"))),
        alive=_is_alive(snapshot),
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _is_alive(snapshot: Snapshot) -> bool | None:
    if snapshot.ended:
        return False
    if snapshot.host != os.uname().nodename:
        return None if time.time() - snapshot.at < GONE_S else False
    if identity.creation_ticks(snapshot.pid) != snapshot.created:
        return False  # the rank has ended, and another process may have got its id
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(snapshot.pid).status() != psutil.STATUS_ZOMBIE
    return False


def _is_stale(snapshot: Snapshot) -> bool:
    return snapshot.host == os.uname().nodename and time.time() - snapshot.at > STALE_S


def _runs_another_program(state: RankState) -> bool:
    """Whether a process has replaced itself, as `os.exec` does: then our handler is gone."""
    snapshot = state.snapshot
    is_silent = bool(state.alive) and _is_stale(snapshot)
    return is_silent and identity.catches(snapshot.pid, ASK) is False

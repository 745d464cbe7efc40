"""In the process that watches: what the ranks of a command have written so far."""

import contextlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from course.own.watch import calls, looks
from course.own.watch.calls import Call, Record
from course.own.watch.looks import ASK, Look
from course.own.watch.thresholds import BUSY, GONE_S, STALE_S

OLD_S = 60.0  # what was written longer ago than the command began is another one's


@dataclass
class Seen:
    """A rank: its last look, its last calls, and what its fault handler has written.

    `terminated` says that it got a SIGTERM; `alive` is None for a process of another machine that
    has not said that it is over.
    """

    look: Look
    folder: Path = Path()
    record: Record = field(default_factory=Record)
    stacks: str = ""
    terminated: bool = False
    alive: bool | None = True
    mine: bool = True  # whether the command that is watched from here has started it

    @property
    def rank(self) -> int:
        """Its number."""
        return self.look.rank or 0

    @property
    def calls(self) -> list[Call]:
        """Its last collectives, the oldest first."""
        return self.record.calls

    @property
    def passes(self) -> int:
        """The backward passes that it has begun."""
        return self.record.passes


class Processes:
    """Reads the folder of a command again and again.

    Where several commands share a folder, each starts some ranks, ours those below `own`.
    """

    def __init__(self, folder: Path, own: Path | None = None) -> None:
        self._folder, self._own = folder, own or folder
        self._since = time.time() - OLD_S
        self._cpu: dict[int, tuple[float, float]] = {}  # by process that keeps Python's lock
        self._idle: dict[int, float] = {}

    def ranks(self) -> list[Seen]:
        """All ranks that have been seen, in order; of one that was started again, the last.

        A command that starts no ranks has one, its script.
        """
        paths = sorted(self._folder.rglob("look.json"))
        found = [seen for path in paths if (seen := _read(path)) and seen.look.at > self._since]
        for seen in found:
            seen.mine = self._own in seen.folder.parents
        ranks = [seen for seen in found if seen.look.rank is not None]
        if not ranks and found:
            ranks = [min(found, key=lambda each: each.look.began)]
        latest: dict[int, Seen] = {}
        for seen in sorted(ranks, key=lambda each: each.look.began):
            latest[seen.rank] = seen
        for seen in latest.values():
            if seen.alive and _stale(seen.look):
                self._ask(seen.look)
        return [latest[rank] for rank in sorted(latest)]

    def _ask(self, look: Look) -> None:
        """Of a process that cannot look at itself, from outside."""
        with contextlib.suppress(psutil.Error, OSError):
            process = psutil.Process(look.pid)
            used = process.cpu_times()
            now, cpu = time.monotonic(), used.user + used.system
            before, spent = self._cpu.get(look.pid, (now, cpu))
            if cpu - spent > BUSY * (now - before) > 0:
                self._idle[look.pid] = now
            self._cpu[look.pid] = now, cpu
            silent = time.time() - look.at
            look.stood += silent
            look.idle = min(look.idle + silent, now - self._idle.get(look.pid, now - silent))
            if before == now or now - before > 1:
                os.kill(look.pid, ASK)


def _read(path: Path) -> Seen | None:
    look = looks.read(path)
    if look is None:
        return None
    return Seen(
        look,
        path.parent,
        calls.read(path.with_name("calls")),
        stacks=_text(path.with_name("stacks")),
        terminated=bool(_text(path.with_name("terminated"))),
        alive=_alive(look),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _alive(look: Look) -> bool | None:
    if look.ended:
        return False
    if look.host != os.uname().nodename:
        return None if time.time() - look.at < GONE_S else False
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(look.pid).status() != psutil.STATUS_ZOMBIE
    return False


def _stale(look: Look) -> bool:
    return look.host == os.uname().nodename and time.time() - look.at > STALE_S

"""In the client: the record of a launch: exit codes, lines by rank, metrics as a table."""

import re
import shlex
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course.core import todo, words
from course.launch.messages import Event, Lines, Logged, RankEnded, RankStarted, Reason, RunEnded

if TYPE_CHECKING:
    import pandas as pd

TRACEBACK = "Traceback (most recent call last):"
# The last entry of a traceback begins with this.
RAISED = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b")
GLOO_DETAILS = re.compile(r" \[/\S+:\d+\]| This is typically caused by .*")
ABORTED = "Fatal Python error: Aborted"  # begins the stacks of a rank ended at the time limit


def brief(line: str) -> str:
    """The line of an exception, without the source location and the advice that Gloo adds."""
    return GLOO_DETAILS.sub("", line)


@dataclass(frozen=True)
class Line:
    """One line of output of a rank (None: the launcher); `stream` is "stdout" or "stderr"."""

    rank: int | None
    stream: str
    text: str

    @property
    def bare(self) -> str:
        """The text without the "[rank1]: " that torch puts before an uncaught exception's lines."""
        return self.text.removeprefix(f"[rank{self.rank}]: ")


@dataclass
class Run:
    """The record of one launch of a command, filled in while it runs.

    `log_dir` holds every byte that the ranks wrote, and `wall_s` is the duration in seconds.
    `left_behind` counts processes that outlived the run and were killed. `processes` has each
    rank's process id and creation time. `unresponsive` ranks did not end on request. `waits_in` has
    the call in which each rank waited, if the run was watched, made no progress and was ended.
    `memory_kills` counts processes that the system killed during the run because memory ran out.
    """

    command: list[str]
    log_dir: Path
    lines: list[Line] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    wall_s: float = 0.0
    reason: Reason = Reason.RUNNING
    launcher_code: int = 0
    left_behind: int = 0
    processes: dict[int, tuple[int, float]] = field(default_factory=dict)
    unresponsive: set[int] = field(default_factory=set)
    waits_in: dict[int, str] = field(default_factory=dict)
    memory_kills: int = 0
    # The exit code of each rank, in the order in which the ranks ended.
    _ended: dict[int, int] = field(default_factory=dict)
    _troubled: list[int] = field(default_factory=list)  # ranks, as they showed signs of failure

    @property
    def program(self) -> str:
        """The program that was run: torchrun, accelerate or python."""
        return self.command[0]

    @property
    def command_line(self) -> str:
        """The command as you would type it."""
        return shlex.join(self.command)

    @property
    def exit_codes(self) -> dict[int, int]:
        """The exit code of each rank that has ended, by rank."""
        return dict(sorted(self._ended.items()))

    @property
    def ok(self) -> bool:
        """Whether the launcher and every rank ended with exit code 0."""
        codes = [self.launcher_code, *self._ended.values()]
        return self.reason == Reason.FINISHED and not any(codes)

    @property
    def metrics(self) -> "pd.DataFrame":
        """The rows that the script logged: rank, time (s since the first row), its own metrics."""
        import pandas as pd  # half a second, which supervisors and launchers need not spend

        table = pd.DataFrame(self.rows)
        if len(table):
            table["time"] -= table["time"].min()
        return table

    @property
    def first_failed(self) -> int | None:
        """The rank that failed first: the first to raise or to end with a code other than 0."""
        failed = [rank for rank in self._troubled if self._failed_by_itself(rank)]
        if not failed:
            return None
        # A killed rank reports nothing, and errors that the other ranks raise because of it may
        # arrive before the news of its end.
        ended = list(self._ended)
        before = ended[: ended.index(failed[0])]
        killed = (r for r in before if self._ended[r] < 0 and not self.ended_by_launcher(r))
        return next(killed, failed[0])

    def _failed_by_itself(self, rank: int) -> bool:
        """Whether a rank failed, and not only because another rank had failed."""
        raised = any(RAISED.match(line) for line in self.traceback(rank).splitlines())
        return bool(self._ended.get(rank)) and (raised or not self.ended_by_launcher(rank))

    def ended_by_launcher(self, rank: int) -> bool:
        """Whether the launcher ended a rank, with SIGTERM, since another rank had failed."""
        failed = [rank for rank, code in self._ended.items() if code]  # as they ended
        return self._ended.get(rank) == -signal.SIGTERM and rank != failed[0]

    @property
    def met_todo(self) -> Path | None:
        """The script at whose open TODO the first failing rank ended; None if there is none.

        This searches all of the rank's stderr, because processes that it started write there too.
        If they are ended meanwhile, the last traceback may be incomplete.
        """
        first = self.first_failed
        return None if first is None else todo.script_of_open_todo(self.text(first, "stderr"))

    @property
    def unfinished(self) -> bool:
        """Whether the run failed at an open TODO."""
        return self.met_todo is not None

    def text(self, rank: int | None, stream: str | None = None) -> str:
        """The output of one rank (None: the launcher), on one stream or on both."""
        lines = (line for line in self.lines if line.rank == rank and stream in (None, line.stream))
        return "\n".join(line.bare for line in lines)

    def traceback(self, rank: int) -> str:
        """The last traceback of a rank, "" if it wrote none."""
        _, mark, after = self.text(rank, "stderr").rpartition(TRACEBACK)
        return (mark + after.partition(ABORTED)[0]).rstrip() if mark else ""

    def raised(self, rank: int) -> str:
        """The first line of the exception in a rank's last traceback; "" if there is none."""
        traceback = self.traceback(rank).splitlines()
        for line in reversed(traceback or self.text(rank, "stderr").splitlines()):
            if RAISED.match(line):
                return brief(line)
        return traceback[-1] if traceback else ""

    def take(self, event: Event) -> None:
        """Record an event of the run."""
        match event:
            case RankStarted(rank, pid, created):
                self.processes[rank] = (pid, created)
                self._ended.pop(rank, None)  # a restarted rank
            case Lines():
                self._take_lines(event)
            case RankEnded(rank, code, unresponsive):
                self._ended[rank] = code
                if unresponsive:
                    self.unresponsive.add(rank)
                if code:
                    self._troubled.append(rank)
            case Logged(rows):
                self.rows += rows
            case RunEnded(reason, code, left):
                self.reason, self.launcher_code, self.left_behind = reason, code, left

    def _take_lines(self, event: Lines) -> None:
        if event.skipped:
            where = f"… {event.skipped} lines are only in {self.log_dir}"
            self.lines.append(Line(event.rank, event.stream, where))
        new = [Line(event.rank, event.stream, text) for text in event.lines]
        self.lines += new
        trouble = event.stream == "stderr" and any(line.bare == TRACEBACK for line in new)
        if trouble and event.rank is not None:
            self._troubled.append(event.rank)

    def __repr__(self) -> str:
        ranks = words.plural(len(self.processes), "rank")
        verdict = "ok" if self.ok else "failed"
        return f"<Run: {self.command_line}: {ranks}, {verdict}, {self.wall_s:.1f} s>"

"""What a launch did: exit codes, lines by rank, metrics as a table."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

TRACEBACK = "Traceback (most recent call last):"
RAISED = re.compile(
    r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b"
)  # how the last entry of a traceback begins
ABORTED = "Fatal Python error: Aborted"  # how a fault handler begins the stacks of a rank ended at the time limit


@dataclass(frozen=True)
class Line:
    """One line of output: of a rank, or of the launcher (`rank` None); `stream` is "stdout" or "stderr"."""

    rank: int | None
    stream: str
    text: str

    @property
    def bare(self) -> str:
        """The text without the "[rank1]: " that torch puts before the lines of an uncaught exception."""
        return self.text.removeprefix(f"[rank{self.rank}]: ")


@dataclass
class Run:
    """One launch, filled while it goes on. `wall_s` is in seconds; `log_dir` holds every byte the ranks wrote."""

    command: str
    log_dir: Path
    exit_codes: dict[int, int] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    rows: list[dict] = field(default_factory=list)
    wall_s: float = 0.0
    reason: str = "running"  # then: finished, limit (of time), stopped (by the user), launcher (it died), lost
    launcher_code: int = 0
    left_behind: int = 0  # processes that outlived the run and were ended
    processes: dict[int, tuple[int, float]] = field(
        default_factory=dict
    )  # by rank: process id, time of creation
    _troubled: list[int] = field(
        default_factory=list
    )  # ranks in the order of their first sign of failure

    @property
    def ok(self) -> bool:
        """Whether the launcher and every rank ended with exit code 0."""
        return (
            self.reason == "finished"
            and self.launcher_code == 0
            and not any(self.exit_codes.values())
        )

    @property
    def metrics(self) -> "pd.DataFrame":
        """The rows that the script logged, with columns rank, time (s since the run's first row) and its own."""
        import pandas as pd  # half a second that supervisors and launchers, which import this file too, need not spend

        table = pd.DataFrame(self.rows)
        if len(table):
            table["time"] -= table["time"].min()
        return table

    @property
    def first_failed(self) -> int | None:
        """The rank in which the trouble began: the first to raise or to end with an exit code other than 0."""
        failed = [rank for rank in self._troubled if self.exit_codes.get(rank)]
        if not failed:
            return None
        # A rank that is killed says nothing; what the others say about it may be heard before its end is seen.
        ended = list(self.exit_codes)
        before = ended[: ended.index(failed[0])]
        return next((rank for rank in before if self.exit_codes[rank] < 0), failed[0])

    def text(self, rank: int | None, stream: str | None = None) -> str:
        """What one rank (None: the launcher) wrote, to one stream or to both."""
        lines = (line for line in self.lines if line.rank == rank and stream in (None, line.stream))
        return "\n".join(line.bare for line in lines)

    def traceback(self, rank: int) -> str:
        """The last traceback of a rank, "" if it wrote none."""
        _, mark, after = self.text(rank, "stderr").rpartition(TRACEBACK)
        return (mark + after.partition(ABORTED)[0]).rstrip() if mark else ""

    def raised(self, rank: int) -> str:
        """The exception of a rank's last traceback, the first line of what it says; "" if it wrote none."""
        traceback = self.traceback(rank).splitlines()
        lines = traceback or self.text(rank, "stderr").splitlines()
        return next(
            (line for line in reversed(lines) if RAISED.match(line)), "".join(traceback[-1:])
        )

    def take(self, event: dict) -> None:
        """Record what the supervisor reports."""
        match event:
            case {"event": "started", "rank": rank, "pid": pid, "created": created}:
                self.processes[rank] = (pid, created)
                self.exit_codes.pop(rank, None)  # a restarted rank
            case {"event": "lines", "rank": rank, "stream": stream, "lines": lines}:
                if skipped := event.get("skipped"):
                    self.lines.append(
                        Line(rank, stream, f"… {skipped} lines are only in {self.log_dir}")
                    )
                new = [Line(rank, stream, text) for text in lines]
                self.lines += new
                if stream == "stderr" and any(line.bare == TRACEBACK for line in new):
                    self._troubled.append(rank)
            case {"event": "exited", "rank": rank, "code": code}:
                self.exit_codes[rank] = code
                if code:
                    self._troubled.append(rank)
            case {"event": "end", "reason": reason, "code": code, "left": left}:
                self.reason, self.launcher_code, self.left_behind = reason, code, left

    def __repr__(self) -> str:
        ranks = f"{len(self.processes)} rank{'s' * (len(self.processes) != 1)}"
        return (
            f"<Run: {self.command}: {ranks}, {'ok' if self.ok else 'failed'}, {self.wall_s:.1f} s>"
        )


class MetricsFile:
    """The rows that the ranks have logged since the last look."""

    def __init__(self, path: Path) -> None:
        self._path, self._position = path, 0

    def new_rows(self) -> list[dict]:
        """Rows completed since the last call."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._position += len(whole)
        return [json.loads(line) for line in whole.splitlines()]

"""Show a run in progress: its lines in their rank's colour, its progress bars and curves.

Lines are plain text with ANSI colours. Their number is limited here; the log on disk has them all.
Progress bars and curves are one display, which is updated a few times per second and stays as a
picture after the end of the run.
"""

import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TextIO

from course.diagnostics import RunEnding
from course.drawing import ansi
from course.launch import (
    ABORTED,
    RAISED,
    TRACEBACK,
    Done,
    Event,
    Line,
    Lines,
    Logged,
    Note,
    Progress,
    RankEnded,
    RankStarted,
    Run,
    brief,
)
from course.notebook.displays import CurvesDisplay
from course.notebook.run_ending import describe_exit, story

SHOWN_LINES = 400  # printed while the run goes on; of the rest, only the last lines, at the end
LAST_LINES = 10
REDRAW_S = 0.5
SHOWN_NOTES: set[str] = set()  # the notes that this kernel has shown


class Live:
    """Shows one run (`launch(..., watch=Live(limit))`), and its curves in `display`.

    `explain` returns why the run ended, or None if its processes were not watched.
    """

    def __init__(
        self,
        limit: float = 0.0,
        display: CurvesDisplay | None = None,
        out: TextIO | None = None,
        explain: Callable[[Run], RunEnding | None] = lambda run: None,
    ) -> None:
        self._limit, self._display, self._out = limit, display, out
        self._explain = explain
        # Traceback lines by rank, until it is known whether the exception ended the rank.
        self._tracebacks: dict[int, list[Line]] = {}
        self._shown = 0
        self._last_lines: deque[Line] = deque(maxlen=LAST_LINES)
        self._drawn_at = 0.0
        self._progress: dict[int, str] = {}
        self._failed_codes: dict[int, int] = {}  # exit codes by rank; such a rank may be restarted

    def __call__(self, run: Run, event: Event) -> None:
        """Show one event."""
        match event:
            case Lines(rank=int()):
                self._progress.pop(event.rank, None)
                for text in event.lines:
                    self._take_line(run, Line(event.rank, event.stream, text))
            case Lines(stream="stdout"):  # of the launcher, such as its --help
                self._print("\n".join(event.lines))
            case Progress(rank=int()):
                self._progress[event.rank] = event.text
                self._draw(run)
            case RankEnded(rank, code) if code:
                self._failed_codes[rank] = code
            case RankStarted(rank) if rank in self._failed_codes:
                self._show_restart(run, rank)
            case Note(text, once):
                if not (once and text in SHOWN_NOTES):
                    SHOWN_NOTES.add(text)
                    self._print(text)
            case Logged():
                self._draw(run)
            case Done():
                self._end(run)

    # -- lines -------------------------------------------------------------------------------------

    def _take_line(self, run: Run, line: Line) -> None:
        begins = line.bare.startswith((TRACEBACK, ABORTED))
        if line.stream == "stderr" and (begins or line.rank in self._tracebacks):
            self._tracebacks.setdefault(line.rank, []).append(line)
        else:
            self._show(run, line)

    def _show(self, run: Run, line: Line) -> None:
        if self._shown < SHOWN_LINES:
            self._shown += 1
            self._print(_prefix(run, line.rank) + line.text)
            return
        if not self._last_lines:
            self._print(f"… the rest is in {run.log_dir}; its last lines follow at the end.")
        self._last_lines.append(line)

    def _print(self, text: str) -> None:
        print(text, file=self._out or sys.stdout, flush=True)

    # -- the end -----------------------------------------------------------------------------------

    def _end(self, run: Run) -> None:
        self._progress.clear()
        self._draw(run, last=True)
        for line in self._last_lines:
            self._print(_prefix(run, line.rank) + line.text)
        self._show_handled_tracebacks(run)
        for sentence in story(run, self._limit, self._explain(run)):
            self._print(sentence)

    def _show_handled_tracebacks(self, run: Run) -> None:
        """Print the tracebacks of ranks that ended well, since their script only printed them."""
        for rank, lines in self._tracebacks.items():
            if run.exit_codes.get(rank) == 0:
                for line in lines:
                    self._print(_prefix(run, rank) + line.text)

    def _show_restart(self, run: Run, rank: int) -> None:
        """Print one line on how a rank ended that its launcher has restarted."""
        traceback = self._tracebacks.pop(rank, [])
        why = [brief(line.bare) for line in traceback if RAISED.match(line.bare)][-1:]
        ended = ": ".join([describe_exit(self._failed_codes.pop(rank)), *why])
        self._print(f"{_prefix(run, rank)}{ended} – is started again")

    def _draw(self, run: Run, last: bool = False) -> None:
        if self._display and (last or time.monotonic() - self._drawn_at > REDRAW_S):
            self._drawn_at = time.monotonic()
            self._display.show(run.rows, self._progress, ended=last and run.ok)


def _prefix(run: Run, rank: int) -> str:
    """The prefix of a rank's line; a single process needs none."""
    return "" if run.program == "python" else ansi(rank, f"rank {rank} │") + " "

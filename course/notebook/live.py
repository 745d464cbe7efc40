"""What a learner sees of a run while it goes on: lines in their rank's colour, a progress bar, curves.

Lines are plain text with ANSI colours and are capped here; everything is on disk. What changes in place (progress and
curves) is one display that is updated a few times a second and stays as a picture when the run has ended.
"""

import signal
import sys
import time
from typing import TextIO

from course.charts import live_curves
from course.core import todo
from course.drawing import ansi
from course.launch import ABORTED, RAISED, TRACEBACK, Line, Run, stacks

SHOWN_LINES = 400  # of a run, printed in the notebook; then only the last ones
LAST_LINES = 10
REDRAW_S = 0.5


class Live:
    """Watches one run (`launch(..., watch=Live(limit))`); `display` shows the curves in a notebook."""

    def __init__(
        self, limit: float, display: live_curves.Display | None = None, out: TextIO | None = None
    ) -> None:
        self._limit, self._display, self._out = limit, display, out
        self._held: dict[
            int, list[Line]
        ] = {}  # lines of a traceback, until it is known whether it ended its rank
        self._shown = 0
        self._rest: list[Line] = []
        self._drawn = 0.0
        self._transient: dict[int, str] = {}
        self._failed: dict[
            int, int
        ] = {}  # exit codes of ranks that failed, and may be started again

    def __call__(self, run: Run, event: dict) -> None:
        """Show one event."""
        match event:
            case {"event": "lines", "rank": int(), "lines": lines}:
                self._transient.pop(event["rank"], None)
                self._take_lines(
                    run, [Line(event["rank"], event["stream"], text) for text in lines]
                )
            case {
                "event": "lines",
                "stream": "stdout",
                "lines": lines,
            }:  # of the launcher, such as its --help
                self._print("\n".join(lines))
            case {"event": "transient", "rank": int(rank), "text": text}:
                self._transient[rank] = text
                self._draw(run)
            case {"event": "exited", "rank": rank, "code": code} if code:
                self._failed[rank] = code
            case {"event": "started", "rank": rank} if rank in self._failed:
                self._show_restart(run, rank)
            case {"event": "note", "text": text}:
                self._print(text)
            case {"event": "metrics"}:
                self._draw(run)
            case {"event": "done"}:
                self._end(run)

    # -- lines --------------------------------------------------------------------------------------------------------

    def _take_lines(self, run: Run, lines: list[Line]) -> None:
        for line in lines:
            begins = line.bare.startswith((TRACEBACK, ABORTED))
            if line.stream == "stderr" and (begins or line.rank in self._held):
                self._held.setdefault(line.rank, []).append(line)
            else:
                self._show(run, line)

    def _show(self, run: Run, line: Line) -> None:
        if self._shown < SHOWN_LINES:
            self._shown += 1
            self._print(_prefix(run, line.rank) + line.text)
            return
        if not self._rest:
            self._print(f"… the rest is in {run.log_dir}; its last lines follow at the end.")
        self._rest = [*self._rest[-LAST_LINES + 1 :], line]

    def _print(self, text: str) -> None:
        print(text, file=self._out or sys.stdout, flush=True)

    # -- the end ------------------------------------------------------------------------------------------------------

    def _end(self, run: Run) -> None:
        self._transient.clear()
        self._draw(run, last=True)
        for line in self._rest:
            self._print(_prefix(run, line.rank) + line.text)
        self._show_handled_tracebacks(run)
        for sentence in story(run, self._limit):
            self._print(sentence)

    def _show_handled_tracebacks(self, run: Run) -> None:
        """Print what was held back of ranks that ended well: a traceback that the script itself had printed."""
        for rank, lines in self._held.items():
            if run.exit_codes.get(rank) == 0:
                for line in lines:
                    self._print(_prefix(run, rank) + line.text)

    def _show_restart(self, run: Run, rank: int) -> None:
        """Say in one line how a rank ended that its launcher starts again; its traceback is over and done with."""
        why = [line.bare for line in self._held.pop(rank, []) if RAISED.match(line.bare)][-1:]
        self._print(
            _prefix(run, rank)
            + ": ".join([_how(self._failed.pop(rank)), *why])
            + " – is started again"
        )

    def _draw(self, run: Run, last: bool = False) -> None:
        if self._display and (last or time.monotonic() - self._drawn > REDRAW_S):
            self._drawn = time.monotonic()
            self._display.show(run.rows, self._transient)


def _prefix(run: Run, rank: int) -> str:
    return "" if run.command.startswith("python ") else ansi(rank, f"rank {rank} │") + " "


def story(run: Run, limit: float) -> list[str]:
    """What the learner should know at the end of a run that did not simply end well."""
    if run.reason == "stopped":
        return [f"Interrupted: all ranks were ended, {run.wall_s:.1f} s after the start."]
    if run.reason == "limit":
        return [stacks.report(run, limit)]
    if run.reason == "launcher":
        return ["The launcher was killed; its ranks were ended."]
    if run.reason == "lost":
        return ["The run's supervisor was killed; its ranks were ended."]
    if not run.ok:
        return failure(run)
    if run.left_behind:
        were = "process was" if run.left_behind == 1 else "processes were"
        return [f"{run.left_behind} {were} still running when the ranks had ended, and ended too."]
    return []


def failure(run: Run) -> list[str]:
    """The first failing rank's traceback, a line for each rank that failed after it; or what the launcher said."""
    first = run.first_failed
    if first is None:
        said = [line for line in run.text(None, "stderr").splitlines() if line.strip()]
        return [said[-1] if said else f"The launcher ended with exit code {run.launcher_code}."]
    traceback = run.traceback(first)
    if script := todo.met(traceback):
        return [todo.sentence(script)]
    which = f"Rank {first} failed first" if len(run.processes) > 1 else "The script failed"
    parts = [f"{which} ({_how(run.exit_codes[first])})" + (f":\n{traceback}" if traceback else ".")]
    for rank in sorted(run.processes):
        last = run.traceback(rank) and run.raised(rank)
        if rank != first and run.exit_codes.get(rank) and last:
            parts.append(ansi(rank, f"rank {rank} │") + f" failed after it: {last}")
    return parts


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

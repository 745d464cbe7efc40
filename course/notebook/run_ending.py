"""Tell the learner how a run ended, unless it ended well."""

import signal

from course.core import todo, words
from course.diagnostics import RunEnding, output
from course.drawing import ansi
from course.launch import Reason, Run, stacks


def story(run: Run, limit: float, ending: RunEnding | None = None) -> list[str]:
    """Explain how the run ended, as texts to print; none if it ended well.

    `ending` has the observations from a run whose processes were watched.
    """
    if ending and ending.lead and run.reason in (Reason.INTERRUPTED, Reason.LIMIT):
        return [output.ending(ending)]
    match run.reason:
        case Reason.INTERRUPTED if ending:  # the tool had seen enough, and stopped it
            return []
        case Reason.INTERRUPTED:
            return [f"Interrupted: all ranks were ended, {run.wall_s:.1f} s after the start."]
        case Reason.LIMIT:
            return [stacks.report(run, limit)]
        case Reason.LAUNCHER:
            return ["The launcher was killed; its ranks were ended."]
        case Reason.LOST:
            return ["The run's supervisor was killed; its ranks were ended."]
    if not run.ok:
        # The traceback is shown unchanged, and the other findings explain it.
        more = [finding for finding in ending.findings if finding.what != "error"] if ending else []
        return [*_failure(run), *([output.text(more)] if more and not run.met_todo else [])]
    if run.left_behind:
        were = "process was" if run.left_behind == 1 else "processes were"
        left = f"{run.left_behind} {were} still running when the ranks had ended, and ended too."
        return [left]
    return []


def _failure(run: Run) -> list[str]:
    """The traceback of the first rank that failed, and a line for each rank that failed later.

    If no rank failed, this is the last line of the launcher's error output.
    """
    first = run.first_failed
    if first is None:
        lines = [line for line in run.text(None, "stderr").splitlines() if line.strip()]
        return [lines[-1] if lines else f"The launcher ended with exit code {run.launcher_code}."]
    if script := run.met_todo:
        return [todo.sentence(script)]
    traceback = run.traceback(first)
    which = f"Rank {first} failed first" if len(run.processes) > 1 else "The script failed"
    how = describe_exit(run.exit_codes[first])
    if run.ended_by_launcher(first):  # it had raised an exception, and was still exiting
        how = "ended by the launcher"
    ended = f"{which} ({how})"
    parts = [f"{ended}:\n{traceback}" if traceback else f"{ended}."]
    if run.exit_codes[first] == -signal.SIGKILL and run.memory_kills:
        killed = words.plural(run.memory_kills, "process")
        parts.append(
            f"During the run the system killed {killed} because memory had run out. "
            "Fewer ranks, a smaller model or a smaller batch need less."
        )
    for rank in sorted(run.processes):
        last = run.traceback(rank) and run.raised(rank)
        if rank != first and run.exit_codes.get(rank) and last:
            parts.append(ansi(rank, f"rank {rank} │") + f" failed after it: {last}")
    return parts


def describe_exit(code: int) -> str:
    """An exit code in words: 'exit code 3', 'killed by SIGKILL'."""
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

"""In the client: report where each rank was when the time limit ended a run.

The report names the collective in which a rank waited, and the line that called it. Python's fault
handler (https://docs.python.org/3/library/faulthandler.html) writes the stacks when the supervisor
aborts a rank.
"""

import re
from pathlib import Path

from course.core import call_site, deadlocks, user_files
from course.launch.run import ABORTED, Run

GIVEN = Path(user_files.COURSE, "given")  # its functions may wait where no script is on the stack


def call_sites(run: Run, src: Path | None = None) -> dict[int, call_site.CallSite | None]:
    """The call site of each rank that was aborted (None if no script is on its stack).

    With `src`, only files in that folder are read, because a rank can print any file name.
    """
    sites = {}
    for rank in sorted(run.processes):
        _, aborted, stacks = run.text(rank, "stderr").rpartition(ABORTED)
        if aborted:
            sites[rank] = _call_site(_main_thread(stacks), src)
    return sites


def _main_thread(stacks: str) -> list[call_site.Frame]:
    """The frames of the thread that took the signal, innermost first."""
    _, _, current = stacks.partition("Current thread")
    return call_site.frames(re.split(r"\n\s*\n|\nThread 0x", current)[0])


def _call_site(stack: list[call_site.Frame], src: Path | None) -> call_site.CallSite | None:
    call, depth = call_site.innermost_call(stack)
    if depth < len(stack):
        file, line, _ = stack[depth]
        mine = src is None or (Path(file).parent == src and not Path(file).is_symlink())
        return call_site.CallSite(call, file, line, shown=mine)
    own = [frame for frame in stack if Path(frame[0]).parent == GIVEN]
    if not own:
        return None
    file, line, _ = own[0]
    return call_site.CallSite(call, file, line, within=tuple(f"{name}()" for _, _, name in own))


def report(run: Run, limit: float, src: Path | None = None) -> str:
    """A line per rank on where it was at the limit, and a diagnosis if there is a clear one.

    With `src`, only source lines of files in that folder are shown.
    """
    if not run.processes:
        waits = "its launcher was still waiting for the other nodes"
        return f"The limit of {limit:g} s ended the run before any rank was started: {waits}."
    sites = call_sites(run, src)
    lines = [f"The limit of {limit:g} s ended the run. Where the ranks stood:"]
    for rank in sorted(run.processes):
        site = sites.get(rank)
        lines.append(f"  rank {rank} {site or _without_a_site(run, rank, rank in sites)}")
    return "\n".join([*lines, *_diagnosis(run, sites)])


def _without_a_site(run: Run, rank: int, has_stacks: bool) -> str:
    """What is known of a rank that was at no line of a script."""
    if has_stacks:
        return call_site.OUTSIDE
    if rank in run.unresponsive:
        return "did not answer: it was stopped, or it waits inside the system"
    return f"had ended with exit code {run.exit_codes.get(rank)}"


def _diagnosis(run: Run, sites: deadlocks.Sites) -> list[str]:
    ended = [rank for rank in run.processes if rank not in sites and rank not in run.unresponsive]
    sentence = (
        deadlocks.ended_rank(sites, ended)
        or deadlocks.different_calls(sites)
        or deadlocks.missing_call(sites)
        or deadlocks.root_question(sites)
    )
    return [sentence] if sentence else []

"""In the client: where each rank stood when the time limit ended a run.

That is the collective it waits in, and the line that called it. The stacks are written by Python's
own fault handler (https://docs.python.org/3/library/faulthandler.html) when the supervisor aborts a
rank.
"""

import linecache
import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from course.launch.run import ABORTED, Run

FRAME = re.compile(r'\s+File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)')
COMMENT = re.compile(r"\s{2,}#.*")  # behind a line of code
LIBRARIES = tuple(
    {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
)
OWN = str(Path(__file__).parents[1])
GIVEN = Path(OWN, "given")  # whose functions wait for the other ranks in a learner's place
POINT_TO_POINT = {"send", "recv"}  # whose partner alone must come
ROOTS = {"broadcast": "src", "scatter": "src", "gather": "dst", "reduce": "dst"}


@dataclass(frozen=True)
class Place:
    """Where a rank stood, at `line` of `file`, which is shown where it may be read.

    `call` is a collective, "backward" or "forward" (both DDP's), or "". `within` names functions,
    innermost first, of a file that the course gives.
    """

    call: str
    file: str
    line: int
    shown: bool = True
    within: tuple[str, ...] = ()

    def __str__(self) -> str:
        source = ""
        if self.shown:
            linecache.checkcache(self.file)  # the learner may have rewritten it since the last run
            source = COMMENT.sub("", linecache.getline(self.file, self.line)).strip()
        doing = f"waits in {self.call}" if self.call else "is"
        within = f" (in {', called by '.join(self.within)})" if self.within else ""
        return f"{doing} at {Path(self.file).name}:{self.line}{within}   {source}".rstrip()


def places(run: Run, src: Path | None = None) -> dict[int, Place | None]:
    """Where each rank that was aborted stood (None where its stack leads through no script).

    With `src`, no file is read but those in that folder: a rank may write any name there.
    """
    found = {}
    for rank in sorted(run.processes):
        _, aborted, stacks = run.text(rank, "stderr").rpartition(ABORTED)
        if aborted:
            found[rank] = _place(_main_thread(stacks), src)
    return found


def _main_thread(stacks: str) -> list[re.Match[str]]:
    """The frames of the thread that took the signal, innermost first."""
    _, _, current = stacks.partition("Current thread")
    block = re.split(r"\n\s*\n|\nThread 0x", current)[0]
    return [match for line in block.splitlines() if (match := FRAME.match(line))]


def _place(frames: list[re.Match[str]], src: Path | None) -> Place | None:
    call, given = "", [frame for frame in frames if Path(frame["file"]).parent == GIVEN]
    for frame in frames:
        file, function = frame["file"], frame["function"]
        if file.endswith("torch/distributed/distributed_c10d.py"):
            call = function  # the outermost wins: it is what the script called
        elif file.endswith("torch/autograd/graph.py") and function == "_engine_run_backward":
            call = "backward"
        elif file.endswith("torch/nn/parallel/distributed.py") and function == "_sync_buffers":
            call = "forward"  # DDP's, which first sends rank 0's buffers
        elif not file.startswith((*LIBRARIES, OWN, "<")):
            mine = src is None or (Path(file).parent == src and not Path(file).is_symlink())
            return Place(call, file, int(frame["line"]), shown=mine)
    if not given:
        return None
    within = tuple(f"{frame['function']}()" for frame in given)
    return Place(call, given[0]["file"], int(given[0]["line"]), within=within)


def report(run: Run, limit: float, src: Path | None = None) -> str:
    """What the limit found, one line per rank, and what it means where that is clear.

    `src` is the only folder from which lines are shown, if not every script may be.
    """
    if not run.processes:
        waits = "its launcher was still waiting for the other nodes"
        return f"The limit of {limit:g} s ended the run before any rank was started: {waits}."
    found = places(run, src)
    lines = [f"The limit of {limit:g} s ended the run. Where the ranks stood:"]
    for rank in sorted(run.processes):
        place = found.get(rank)
        lines.append(f"  rank {rank} {place or _without_a_place(run, rank, rank in found)}")
    return "\n".join([*lines, *_diagnosis(run, found)])


def _without_a_place(run: Run, rank: int, has_stacks: bool) -> str:
    """What is known of a rank that stood at no line of the script."""
    if has_stacks:
        return "is outside of the script"
    if rank in run.unresponsive:
        return "did not answer: it was stopped, or it waits inside the system"
    return f"had ended with exit code {run.exit_codes.get(rank)}"


def _diagnosis(run: Run, found: dict[int, Place | None]) -> list[str]:
    called = {rank: place.call for rank, place in found.items() if place and place.call}
    waiting = set(called.values())
    there = [rank for rank in sorted(run.processes) if rank not in run.unresponsive]
    elsewhere = [rank for rank in there if rank not in called]
    if not waiting:
        return []
    if len(waiting) > 1:
        calls = ", ".join(sorted(waiting))
        return [f"The ranks wait in different calls ({calls}): each waits for the others forever."]
    if elsewhere and not waiting <= POINT_TO_POINT:
        names = ", ".join(f"rank {rank}" for rank in elsewhere)
        rule = "A collective ends when every rank has called it"
        return [f"{rule}, and {names} did not call {waiting.pop()}."]
    (call,) = waiting
    if call in ROOTS and len(run.processes) > 1:
        return [f"All ranks wait in {call}. Do they name the same `{ROOTS[call]}`?"]
    return []

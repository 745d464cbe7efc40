"""Run one function of a check on freshly started ranks, and collect the result of each rank."""

import contextlib
import functools
import inspect
import pickle
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.checks.runner import plain_data
from course.checks.runner.outcomes import Deadlock, Rejected, UnfitMachine, Unwritten
from course.core import CourseError, UnknownTorch, todo, words
from course.exercises import exercises
from course.hardware import isolation
from course.launch import Reason, Run, Sandbox, launch, stacks, warm_imports, warm_ranks_promised

LIMIT_S = 20.0
MOST_RANKS = 8  # of a check that runs in a sandbox
WARM_S = 90.0  # for the imports of the warm server, on a busy machine
FRAME = re.compile(r'File "([^"\n]+)", line (\d+)')
MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)'")
# Gloo prints this for a message that is too long, before it aborts the process.
GLOO_TOO_LONG = "op.preamble.length <= op.nbytes"
SEGMENTATION_FAULT = "Fatal Python error: Segmentation fault"
LOST = "The process that watches over your code was killed or stopped: does your code send signals?"
ENDED_TOO_EARLY = (
    "the launcher exited before any rank reached your code: "
    "`python -m course doctor` says whether this machine can run the checks"
)
TOO_MUCH_MEMORY = (
    f"Your code used more than {words.size(isolation.TOGETHER)} of memory, over all its processes, "
    "and was stopped: does something grow without bound?"
)
CANNOT_MEET = (
    "Your code had returned on every rank, but then the ranks could not meet in a barrier: "
    "is a message still on its way for which nobody waits?"
)
TOO_BUSY = "the machine is too busy: end other programs, and check again"
UNKNOWN_TORCH = f"{UnknownTorch.__module__}.{UnknownTorch.__name__}: "
# The checks compare arithmetic, so every machine runs them on the CPU with the same library.
CPU = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
# The variables that torchrun would set for a single rank.
SINGLE_RANK = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}
SCRIPT = Path(__file__).with_name("on_ranks_script.py")


@dataclass(frozen=True)
class CheckRanks:
    """The ranks of a check: `src` is first on their import path, and they run in the `sandbox`.

    `printed` is called with the rank and the text of each line that they print.
    """

    src: Path
    sandbox: Sandbox | None = None
    printed: Callable[[int, str], None] = lambda rank, line: None

    def call(
        self,
        world_size: int,
        function: Callable[..., Any],
        *args: Any,
        limit: float = LIMIT_S,
        join: bool = True,
        alone: bool = False,
        salt: int | None = None,
        **kwargs: Any,
    ) -> list[Any]:
        """Call ``function(*args, **kwargs)`` on `world_size` ranks; return the results by rank.

        The ranks join a Gloo group first; with `join=False` the function must do that itself.
        `alone` starts one plain process, which cannot join a group, in half the time.

        `function` is defined at the top level of its module. Results are plain data, tensors and
        `Call`s, and are read without executing any of them. With a `salt` the ranks are new
        interpreters that use it to hash text; otherwise, ranks forked from a warm server share the
        server's salt.

        Raises `Rejected` if a rank fails, `Deadlock` after `limit` seconds (time spent waiting for
        a core does not count), `Unwritten` if a TODO is open, and `UnfitMachine` if no rank reached
        the learner's code.
        """
        joins = join and not alone
        call = (_module(function), function.__qualname__, args, kwargs, str(self.src), joins)
        with _call_files(self.sandbox, world_size) as (outside, inside):
            tokens = [secrets.token_hex() for _ in range(world_size)]
            files = [outside / f"rank{rank}" for rank in range(world_size)]
            for file, token in zip(files, tokens, strict=True):
                file.write_bytes(pickle.dumps((token, *call)))
            command, env = ["torchrun", "--standalone", "--nproc-per-node", str(world_size)], CPU
            if alone:
                command, env = ["python"], CPU | SINGLE_RANK
            if salt is not None:
                env = env | {"PYTHONHASHSEED": str(salt)}
            run = self._launch([*command, str(SCRIPT), str(inside)], limit, env)
            if not run.ok:
                if run.reason == Reason.LOST and all(map(plain_data.is_call, files)):  # none read
                    raise UnfitMachine(ENDED_TOO_EARLY)
                if run.reason == Reason.LIMIT and _cannot_meet(run, files, tokens, limit):
                    raise Deadlock(CANNOT_MEET)
                raise _failure(run, limit, self.src, inspect.getfile(function))
            return [_answer(files[rank], tokens[rank], run, rank) for rank in range(world_size)]

    def _launch(self, command: list[str], limit: float, env: dict[str, str]) -> Run:
        """Run a command, and remove its log folder; end the sandbox if the run ended badly."""
        run = launch(
            command, limit=limit, env=env, patient=True, place=self.sandbox, module_folder=self.src
        )
        shutil.rmtree(run.log_dir, ignore_errors=True)
        if self.sandbox and (run.reason != Reason.FINISHED or run.left_behind):
            self.sandbox.end()  # or leftovers might disturb the next check
            await_warm_ranks.cache_clear()
        gone = f" are only in {run.log_dir}"  # which is removed by now
        for line in run.lines:
            if line.stream == "stdout" and line.rank is not None:
                self.printed(line.rank, line.text.replace(gone, " are left out"))
        return run


@contextmanager
def _call_files(sandbox: Sandbox | None, world_size: int) -> Iterator[tuple[Path, Path]]:
    """Provide a folder for a file per rank, ``rank0`` …: its path here, and its path for the ranks.

    Each rank reads its call from its file, and writes the answer there. The answer begins with the
    token of the call, which only the script of the ranks knows.
    """
    if sandbox is None:
        with tempfile.TemporaryDirectory(prefix="course-check-") as folder:
            yield Path(folder), Path(folder)
    elif world_size > MOST_RANKS:
        raise CourseError(f"A check with {world_size} ranks has no room in a sandbox.")
    else:
        yield sandbox.outside, sandbox.inside


def _cannot_meet(run: Run, files: list[Path], tokens: list[str], limit: float) -> bool:
    """Whether all ranks returned long before the limit, but none of them passed the barrier."""
    if None in map(_returned, files, tokens):
        return False
    waited_s = time.time() - max(file.stat().st_mtime for file in files)
    return 0 not in run.exit_codes.values() and waited_s > limit / 2


def _returned(file: Path, token: str) -> bytes | None:
    """What a rank wrote after the token of its call; None if its file has no such token."""
    with file.open("rb") as answer:
        written = answer.read(len(token) + plain_data.LONGEST + 1)
    return written.removeprefix(token.encode()) if written.startswith(token.encode()) else None


def _answer(file: Path, token: str, run: Run, rank: int) -> Any:
    """The result of a rank; raises `Rejected` if the rank ended without an answer."""
    if not file.stat().st_size:
        which = f"rank {rank}" if len(run.exit_codes) > 1 else "your code"
        reason = f"{which} ended before the check had its answer: does it call sys.exit()?"
    else:
        reason = (
            f"the result of rank {rank} cannot be read: does your code write to the check's file?"
        )
        if (returned := _returned(file, token)) is not None:
            with contextlib.suppress(Exception):  # the learner's code may have written anything
                return plain_data.decode(returned)
    raise Rejected(reason[0].upper() + reason[1:])


@functools.cache
def await_warm_ranks(sandbox: Sandbox | None = None) -> None:
    """Wait until ranks start with the libraries in memory, if this machine has such ranks.

    The limit of a check then measures the learner's code. Otherwise, soon after a notebook has
    opened, a rank may spend most of the limit on imports.
    """
    end = time.monotonic() + WARM_S
    while (sandbox or warm_ranks_promised()) and time.monotonic() < end:
        ranks = CheckRanks(Path(), sandbox)
        (still_importing,) = ranks.call(1, forked_too_early, alone=True, limit=WARM_S)
        if not still_importing:
            return
        time.sleep(0.5)


def forked_too_early() -> bool:
    """Whether this rank was forked from a warm server that has not imported everything yet.

    A new interpreter does not count: a learner gets one by setting a variable that Python or a
    library reads at its start, and waiting would not change that.
    """
    return warm_imports.warmth.growing


def new_folder() -> str:
    """The path of a new folder among the temporary files of the ranks."""
    return tempfile.mkdtemp()


def _module(function: Callable) -> str:
    """The module of a function, for the ranks: a name if it is the course's, otherwise a path."""
    if function.__module__.startswith("course."):
        return function.__module__
    return inspect.getfile(function)


def _failure(run: Run, limit: float, src: Path, function_file: str) -> Exception:
    """The exception for a failed run; `function_file` is the file of the function it called."""
    if run.reason == Reason.LIMIT:
        if run.processes and run.exit_codes == dict.fromkeys(run.processes, 0):
            return UnfitMachine(f"the ranks had ended, and {limit:.0f} s were over: {TOO_BUSY}")
        elsewhere = run.exit_codes.keys() - stacks.call_sites(run, src)
        if not elsewhere and not _reached_code(run, src, function_file):
            return UnfitMachine(f"no rank reached your code within {run.wall_s:.0f} s: {TOO_BUSY}")
        return Deadlock(stacks.report(run, limit, src))
    if run.reason == Reason.LOST:
        return Rejected(LOST)
    if run.reason == Reason.MEMORY:
        return Rejected(TOO_MUCH_MEMORY)
    first = run.first_failed
    if first is None:
        return Rejected(
            run.text(None, "stderr").rpartition("\n")[2] or "The ranks could not be started."
        )
    traceback = run.traceback(first)
    # A forged traceback can name any file, so only the learner's own files are read.
    if (script := todo.script_of_open_todo(traceback)) and script.parent == src:
        return Unwritten(todo.in_sentences(todo.open_todos(script)))
    if (raised := run.raised(first)).startswith(UNKNOWN_TORCH):
        return UnfitMachine(f"not judged on this torch: {raised.removeprefix(UNKNOWN_TORCH)}")
    if (missing := MISSING_MODULE.fullmatch(raised)) and missing[1] in exercises():
        return Unwritten(
            f"your code builds on another exercise: {src / missing[1]}.py is not there yet, so run "
            "the cell that writes it"
        )
    ranks = (
        f"With {len(run.exit_codes)} ranks, rank {first}"
        if len(run.exit_codes) > 1
        else "Your code"
    )
    return Rejected(f"{ranks} failed{_place(run, first, src)}: {_cause(run, first)}")


def _reached_code(run: Run, src: Path, function_file: str) -> bool:
    """Whether a rank that was ended at the limit was in the learner's code or in the check's."""
    files = [Path(file) for rank in run.processes for file, _ in FRAME.findall(run.text(rank))]
    return any(file.parent == src or str(file) == function_file for file in files)


def _place(run: Run, rank: int, src: Path) -> str:
    """The innermost learner's line where a rank ended, as " in ring.py:14"; "" if there is none."""
    frames = [
        (Path(file), line)
        for file, line in FRAME.findall(run.traceback(rank) or run.text(rank, "stderr"))
    ]
    lines_of_src = [f" in {file.name}:{line}" for file, line in frames if file.parent == src]
    innermost = -1 if run.traceback(rank) else 0  # faulthandler prints it first
    return lines_of_src[innermost] if lines_of_src else ""


def _cause(run: Run, rank: int) -> str:
    """The exception of a rank, or how it ended without one."""
    output = run.text(rank, "stderr")
    if GLOO_TOO_LONG in output:
        return (
            "a message arrived that is longer than the tensor meant to receive it: "
            "do both ranks mean the same message?"
        )
    if SEGMENTATION_FAULT in output:
        return (
            "it touched memory that is not its own (a segmentation fault): "
            "is a tensor's memory freed while a message may still travel into it?"
        )
    fatal = [line for line in output.splitlines() if line.startswith("Fatal Python error")]
    return run.raised(rank) or (fatal or [f"it ended with exit code {run.exit_codes[rank]}"])[-1]

"""Run one command in a terminal, and report how it ended."""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from course.core import CourseError
from course.diagnostics import shared
from course.diagnostics.answers import output
from course.diagnostics.run.ending import INTERRUPTED, ITSELF, STOPPED, RunEnding
from course.diagnostics.run.patience import Patience
from course.diagnostics.shared import SharedFolder
from course.diagnostics.watch.command import WatchedCommand, environment, say
from course.diagnostics.watch.process import PROFILING

POLL_S = 0.5  # between two looks at ranks that other commands have started
FOUND = 3  # the exit code if something was found


class TerminalRun:
    """One run of the command in `args`, whose processes write their records to `folder`.

    `shared_folder` describes the folder if several commands make one run. That many `steps` of each
    rank are watched: their times or their numbers, as `looks_at` says. `is_enough` is called with
    this object again and again, and the run is ended once it returns True. `more_env` is added to
    the environment.
    """

    def __init__(
        self,
        args: argparse.Namespace,
        folder: Path,
        shared_folder: SharedFolder | None,
        steps: int = 0,
        is_enough: Callable[["TerminalRun"], bool] = lambda _: False,
        looks_at: str = PROFILING,
        more_env: Mapping[str, str] | None = None,
    ) -> None:
        self.folder, self.shared_folder, self._looks_at = folder, shared_folder, looks_at
        self._more_env = more_env or {}
        self._args, self._steps, self._is_enough = args, steps, is_enough
        own = shared_folder.own_folder if shared_folder else None
        self._patience = Patience(folder, self._say, args.patience, args.limit, own=own)
        self._saw_enough = False

    @property
    def judges(self) -> bool:
        """Whether this command is the one that reports on the run."""
        return self.shared_folder is None or self.shared_folder.judges(self._patience.ranks)

    @property
    def has_all_ranks(self) -> bool:
        """Whether all ranks have been seen; if one command makes the run, always True."""
        ranks = self._patience.ranks
        return self.shared_folder is None or (bool(ranks) and len(ranks) >= ranks[0].snapshot.world)

    @property
    def passes(self) -> int:
        """The most backward passes that any rank has begun."""
        return max((state.passes for state in self._patience.ranks), default=0)

    def finish(self) -> RunEnding:
        """Run the command until it ends or must be ended; report and return how it ended."""
        rank = shared.rank() if self._args.rank else None
        own = self.shared_folder.own_folder if self.shared_folder else self.folder
        env = environment(own, self._steps, rank, self.folder, self._looks_at)
        command = WatchedCommand(_command_words(self._args), {**env, **self._more_env})
        command.run(self._must_end)
        if command.code is not None and not command.interrupted and self.judges:
            self._wait_for_others(command)
        ending = self._ending(command)
        if self.judges:
            self._report(ending)
            if self.shared_folder and ending.ended != ITSELF:
                self.shared_folder.end_all(exit_code(ending))
        if command.code is None:
            command.end()
        return ending

    def _must_end(self) -> bool:
        if self.shared_folder and self.shared_folder.end is not None:
            return True
        over = self._patience.is_over()
        if not self.judges:
            return False
        self._saw_enough = self._is_enough(self)
        return self._saw_enough or over

    def _wait_for_others(self, command: WatchedCommand) -> None:
        """Wait until all ranks that other commands started have ended, or the run must be ended."""
        with suppress(KeyboardInterrupt):
            while self.shared_folder and not command.code:
                if self._must_end() or not self._others_live():
                    return
                time.sleep(POLL_S)

    def _others_live(self) -> bool:
        return any(state.alive is not False for state in self._patience.ranks if not state.mine)

    def _ending(self, command: WatchedCommand) -> RunEnding:
        ended = self._patience.how_ended(command.interrupted, self._saw_enough)
        if ended == ITSELF and command.code is None:  # another command has ended the run
            return RunEnding(STOPPED, self.shared_folder.end if self.shared_folder else None)
        return self._patience.ending(ended, command.code)

    def _report(self, ending: RunEnding) -> None:
        if text := output.ending(ending):
            say(f"\n{text}")
        elif not self._args.quiet and ending.ended == ITSELF and not self._steps:
            say("\nNo rank hung, and none failed.")

    def _say(self, text: str) -> None:
        if self.judges:
            say(text)


def exit_code(ending: RunEnding, faults: bool = False) -> int:
    """The tool's exit code; `faults` says whether it found any besides those of `ending`."""
    if ending.ended in (ITSELF, STOPPED) and ending.code:
        return ending.code
    if ending.faults or faults:
        return FOUND
    return 130 if ending.ended == INTERRUPTED else 0


def _command_words(args: argparse.Namespace) -> list[str]:
    """The words of the command to start; with --rank, a bare script is run by this Python."""
    first = args.command[0]
    if args.rank and (first.endswith(".py") or first == "-m"):
        return [sys.executable, *args.command]
    return args.command


@contextmanager
def open_folder(args: argparse.Namespace) -> Iterator[tuple[Path, SharedFolder | None]]:
    """Open the folder that the processes write to, and share it if several commands make one run.

    With --keep, several commands make a new folder inside the one that it names. A single command
    writes to that folder itself, which must be empty. Raises `CourseError` if it is not empty, or
    if the rank is unknown.
    """
    if args.rank:
        shared.rank()  # raises if the rank is unknown
    if args.rank or args.folder:
        if args.keep:
            shared.make(args.keep)
        parent = args.keep or args.folder
        at = shared.run_folder_in(parent) if parent else shared.default_folder()
        with shared.join(at, keep=bool(args.keep)) as joined:
            yield joined.folder, joined
    elif args.keep:
        shared.make(args.keep)
        if any(args.keep.iterdir()):  # perhaps with the ranks of an earlier run
            raise CourseError(f"{args.keep} is not empty: name a new folder for --keep.")
        yield args.keep.resolve(), None
    else:
        temporary = Path(tempfile.mkdtemp(prefix="course-run-"))
        try:
            yield temporary, None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

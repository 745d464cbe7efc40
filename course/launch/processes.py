"""In the supervisor: start the launcher and the ranks of one run, which are its children."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from course.launch import channel, interpreter, process_tree, shadowed
from course.launch.channel import Channel
from course.launch.child import Command
from course.launch.forked import Forked, be_process, enter
from course.launch.messages import Note, StartRank, StartRun
from course.launch.output import Pipes, Tell
from course.launch.warm_imports import PATH, changed_at_start, path_without_entry


class Processes:
    """Starts the processes of a run, and keeps track of those that are alive.

    `warm` is the environment with which the warm server started, or None if nothing can be forked.
    `tell` sends an event to the client. A fork calls `close_all` to close the supervisor's
    descriptors.
    """

    def __init__(
        self,
        request: StartRun,
        warm: dict[str, str] | None,
        pipes: Pipes,
        tell: Tell,
        close_all: Callable[[], None],
    ) -> None:
        self._request, self._warm = request, warm
        self._pipes, self._tell, self._close_all = pipes, tell, close_all
        self._noted = False  # whether a note has said that ranks cannot be forked
        self.launcher: int | None = None
        self.channel: Channel | None = None  # to the launcher
        self.ranks: dict[int, int] = {}  # the rank of each live process, by process id

    def start_launcher(self, temporary: Path) -> Channel:
        """Start the launcher, with a folder for its temporary files; return the channel to it."""
        self.channel, theirs = channel.pair()
        argv = (str(temporary), self._request.program, *self._request.argv)
        python = interpreter.command("launcher", *argv)
        command = Command(tuple(python), self._request.env, *self._pipes.open(None))
        if self._warm is None:
            self.launcher = command.spawn(theirs.fileno())
        else:
            self.launcher = self._fork(lambda: _become_launcher(theirs, command, argv))
        command.close()
        theirs.close()
        return self.channel

    def start_script(self) -> int:
        """Start the script of a python command, as rank 0; return its process id."""
        argv = (sys.executable, "-u", *self._request.argv)
        return self._start(0, Command(argv, self._request.env, *self._pipes.open(0)))

    def start_rank(self, request: StartRank) -> int:
        """Start a rank that the launcher has requested; return its process id."""
        pipes = self._pipes.open(request.rank)
        for position, path in enumerate((request.stdout, request.stderr)):
            if path:  # torchrun's own --redirects
                os.close(pipes[position])
                pipes[position] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        return self._start(request.rank, Command(tuple(request.argv), request.env, *pipes))

    def _start(self, rank: int, command: Command) -> int:
        pid = self._fork(command.become) if self._can_fork(command) else command.spawn()
        command.close()
        self.ranks[pid] = rank
        return pid

    def _can_fork(self, command: Command) -> bool:
        """Whether a fork would import what a new interpreter would; if not, send a note once."""
        if self._warm is None or not command.runs_a_script:
            return False
        if why := self._obstacle(self._warm, command):
            if not self._noted:
                self._tell(Note(why, once=True))
            self._noted = True
        return not why

    def _obstacle(self, warm: dict[str, str], command: Command) -> str | None:
        """A sentence on why a fork would not be faithful; None if it would."""
        if names := changed_at_start(warm, command.env):
            return shadowed.note_on_variables(sorted(names))
        path = shadowed.python_path(command.env.get(PATH, ""))
        inherited = shadowed.python_path(path_without_entry(command.env))
        if not set(inherited) <= set(sys.path):  # it has a folder relative to the current one
            return shadowed.note_on_variables([PATH])
        folder = self._request.module_folder or command.script_folder
        file = next(shadowed.files([folder, *path], sys.modules), None)
        return file and shadowed.note_on_file(file)

    def _fork(self, task: Callable[[], None]) -> int:
        pid = os.fork()
        if pid == 0:
            self._close_all()
            if self.channel:
                self.channel.close()
            raise Forked(task)
        return pid

    def signal_ranks(self, number: signal.Signals) -> None:
        """Signal every rank."""
        for pid in list(self.ranks):
            process_tree.send(pid, number)


def _become_launcher(supervisor: Channel, command: Command, argv: tuple[str, ...]) -> None:
    from course.launch import launcher

    enter(command.env, command.stdout, command.stderr)
    be_process(lambda: launcher.serve(supervisor, list(argv)))

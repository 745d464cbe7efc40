"""In the supervisor: watch over the processes of one run, and end them all.

Each run has one supervisor, in its own session. It is the parent of the launcher (torchrun's
elastic agent, or accelerate's) and of every rank. On Linux it is also the "child subreaper", which
adopts whatever they leave behind, so every process of the run is below it. The supervisor ends this
tree when the client (a notebook's kernel) asks for it, hangs up or dies, when the time limit is
reached, or when the launcher dies. `supervisor.md` lists how this can fail.
"""

import contextlib
import functools
import os
import resource
import selectors
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import psutil

from course.launch import channel, netns, process_tree
from course.launch.channel import Channel
from course.launch.messages import (
    PATIENCE,
    Event,
    Interrupt,
    Message,
    Note,
    ProcessEnded,
    ProcessRefused,
    ProcessStarted,
    RankEnded,
    RankStarted,
    Reason,
    RunEnded,
    StartRank,
    StartRun,
    SupervisorStarted,
)
from course.launch.output import Log, Pipes
from course.launch.phases import GRACE_S, Phase, Phases
from course.launch.processes import Processes
from course.launch.warm_imports import warmth

SETTLE_S = 2.0  # for helpers of the ranks (semaphore trackers, loader workers) to end by themselves
POLL_S = 0.5  # how often to check whether processes wait for a core
TICK_S = 0.02  # how often to look for ended children


class Supervisor:
    """Runs one request of a client from start to end.

    `warm` is the environment with which the warm server started, or None if nothing can be forked.
    """

    request: StartRun  # the client's first message

    def __init__(self, client: Channel, warm: dict[str, str] | None = None) -> None:
        self.client, self.warm = client, warm
        self.selector = selectors.DefaultSelector()
        self.peer: int | None = None  # a pidfd of the client's process
        self.phases = Phases()
        self.began = self.waits_checked = 0.0  # when the run began; when waits were last measured
        self.extension = 0.0  # seconds by which the limit is extended
        self.code = 0

    def run(self) -> None:
        """Serve the client's request; raises `Forked` in a fork that becomes a launcher or rank."""
        process_tree.adopt_orphans()
        no_core_files = (0, resource.getrlimit(resource.RLIMIT_CORE)[1])
        resource.setrlimit(resource.RLIMIT_CORE, no_core_files)
        try:
            self.request, *rest = self._first_messages()
        except EOFError:
            return  # the client has withdrawn its request
        self._set_up(self.request)
        self._tell(SupervisorStarted(os.getpid(), psutil.Process().create_time()))
        if sentence := warmth.sentence():
            self._tell(Note(sentence, once=True))
        self._watch_client()
        for message in rest:
            self._obey(message)
        if self.phases.phase == Phase.RUNNING:
            self._begin()
        while self.processes.launcher is not None or self.processes.ranks:
            self._step()
        self._finish()

    def _first_messages(self) -> list[Any]:
        """The request, and any messages that came with it, such as one to stop."""
        while not (messages := self.client.receive()):
            pass
        return messages

    def _set_up(self, request: StartRun) -> None:
        """Enter the requested host and folder, which every process inherits; set up the run."""
        if request.host:
            netns.enter(request.host)
        os.chdir(request.cwd)
        os.umask(request.umask)
        folder = Path(request.log_dir)
        self.log = Log(folder, self._tell)
        self.pipes = Pipes(self.selector, self.log, self._tell)
        self.temporary = folder / "launcher"  # for the launcher's temporary files
        self.processes = Processes(request, self.warm, self.pipes, self._tell, self._close_all)
        self.began = self.waits_checked = time.monotonic()
        if request.limit:
            self.phases.set_limit(self.began + request.limit)

    def _watch_client(self) -> None:
        self.selector.register(self.client, selectors.EVENT_READ, self._on_client)
        # A fork of the client may keep its end of the channel open, so watch the client as well.
        peer = self.client.peer()
        if peer and hasattr(os, "pidfd_open"):
            try:
                self.peer = os.pidfd_open(peer)
            except ProcessLookupError:
                self.stop(Reason.CLIENT)
            else:
                self.selector.register(self.peer, selectors.EVENT_READ, self._on_peer)

    def _begin(self) -> None:
        if self.request.program == "python":  # no launcher: the script is rank 0
            self._started(0, self.processes.start_script())
            return
        self.temporary.mkdir()
        launcher = self.processes.start_launcher(self.temporary)
        on_launcher = functools.partial(self._on_launcher, launcher)
        self.selector.register(launcher, selectors.EVENT_READ, on_launcher)

    def _close_all(self) -> None:
        """Close every descriptor of the supervisor, in a fork that becomes another process."""
        self.selector.close()
        self.log.close()
        self.client.close()
        self.pipes.close()
        if self.peer is not None:
            os.close(self.peer)

    # -- while it runs -----------------------------------------------------------------------------

    def _step(self) -> None:
        for key, _ in self.selector.select(timeout=TICK_S):
            key.data()
        self.pipes.show_progress()
        self._reap()
        now = time.monotonic()
        if self.request.patient and now > self.waits_checked + POLL_S:
            self.waits_checked = now
            self._extend_limit()
        if self.phases.advance(now) and self.phases.phase == Phase.STACKS:
            self._ask_for_stacks()
        if self.phases.phase == Phase.KILLING:
            process_tree.kill_below()

    def _extend_limit(self) -> None:
        """Extend the limit by the longest time for which a process has waited for a core."""
        below = psutil.Process().children(recursive=True)
        waited = max(
            (process_tree.waited_for_a_core(process.pid) for process in below), default=0.0
        )
        self.extension = max(self.extension, min(waited, PATIENCE * self.request.limit))
        self.phases.set_limit(self.began + self.request.limit + self.extension)

    def _on_client(self) -> None:
        try:
            for message in self.client.receive():
                self._obey(message)
        except EOFError:
            self.selector.unregister(self.client)
            self.stop(Reason.CLIENT)

    def _obey(self, message: Message) -> None:
        if isinstance(message, Interrupt):
            self.stop(Reason.INTERRUPTED)

    def _on_peer(self) -> None:
        if self.peer is not None:
            self.selector.unregister(self.peer)
            os.close(self.peer)
            self.peer = None
        self.stop(Reason.CLIENT)

    def _on_launcher(self, launcher: Channel) -> None:
        try:
            messages = launcher.receive()
        except EOFError:
            self.selector.unregister(launcher)
            return
        for message in messages:
            if isinstance(message, Note):
                self._tell(message)
            else:
                self._start_rank(message)

    def _start_rank(self, request: StartRank) -> None:
        try:
            pid = self.processes.start_rank(request)
        except OSError as error:
            self._answer(ProcessRefused(f"{request.argv[0]}: {error.strerror}"))
        else:
            self._started(request.rank, pid)
            self._answer(ProcessStarted(pid))

    def _started(self, rank: int, pid: int) -> None:
        self._tell(RankStarted(rank, pid, psutil.Process(pid).create_time()))

    def _answer(self, message: Message) -> None:
        with contextlib.suppress(OSError):  # the launcher is gone, as `_reap` will notice
            if self.processes.channel:
                self.processes.channel.send(message)

    def _reap(self) -> None:
        # The system reports ended children by age, not in the order of their ends. Killed ranks
        # go first: other ranks often fail because one was killed, and hardly ever the reverse.
        ended = sorted(process_tree.ended_children(), key=lambda child: child[1] >= 0)
        for pid, code in ended:
            if pid == self.processes.launcher:
                self.processes.launcher, self.code = None, code
                if self.processes.ranks:
                    self.stop(Reason.LAUNCHER)
            elif pid in self.processes.ranks:
                rank = self.processes.ranks.pop(pid)
                self.pipes.drain(rank)
                killing = self.phases.phase == Phase.KILLING
                self._tell(RankEnded(rank, code, unresponsive=killing and code == -signal.SIGKILL))
                if self.request.program == "python":
                    self.code = code
                elif self.processes.channel:
                    self._answer(ProcessEnded(pid, code))

    def _tell(self, event: Event) -> None:
        try:
            self.client.send(event)
        except OSError:
            self.stop(Reason.CLIENT)

    # -- its end -----------------------------------------------------------------------------------

    def stop(self, reason: Reason) -> None:
        """Ask the processes to end, as Ctrl-C does; after `GRACE_S` the whole tree is killed."""
        if not self.phases.begin_ending(reason, time.monotonic()):
            return
        if self.processes.launcher:  # it passes the signal on to its ranks
            process_tree.send(self.processes.launcher, signal.SIGINT)
        else:
            self.processes.signal_ranks(signal.SIGINT)

    def _ask_for_stacks(self) -> None:
        """Have the ranks' fault handlers write their stacks, which ends the ranks."""
        if self.processes.launcher:  # else it would end the ranks before they have written
            process_tree.send(self.processes.launcher, signal.SIGKILL)
        self.processes.signal_ranks(signal.SIGABRT)

    def _finish(self) -> None:
        """Kill what the run left behind, send the last output, and report how the run ended."""
        left: list[psutil.Process] = []
        if process_tree.has_children():  # if not, nothing is left, since orphans are adopted
            children = psutil.Process().children(recursive=True)
            left = psutil.wait_procs(children, timeout=SETTLE_S)[1]
        deadline = time.monotonic() + GRACE_S
        while process_tree.has_children() and time.monotonic() < deadline:
            process_tree.kill_below()
            self._reap()
            time.sleep(TICK_S)
        self.pipes.finish()
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.log.finish()
        self._tell(RunEnded(self.phases.reason, self.code, len(left)))


def main() -> None:
    """Serve the client at the other end of standard input, with new interpreters as children."""
    Supervisor(channel.inherit(os.dup(0))).run()

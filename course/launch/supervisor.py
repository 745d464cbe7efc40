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


def serve(client: Channel, warm: dict[str, str] | None = None) -> None:
    """Serve the client's request; raises `Forked` in a fork that becomes a launcher or rank.

    `warm` is the environment with which the warm server started, or None if nothing can be forked.
    """
    process_tree.adopt_orphans()
    no_core_files = (0, resource.getrlimit(resource.RLIMIT_CORE)[1])
    resource.setrlimit(resource.RLIMIT_CORE, no_core_files)
    try:
        request, *rest = _first_messages(client)
    except EOFError:
        return  # the client has withdrawn its request
    # Every process of the run inherits the host, the folder and the mask.
    if request.host:
        netns.enter(request.host)
    os.chdir(request.cwd)
    os.umask(request.umask)
    Supervisor(client, request, warm).run(rest)


def _first_messages(client: Channel) -> list[Any]:
    """The request, and any messages that came with it, such as one to interrupt the run."""
    while not (messages := client.receive()):
        pass
    return messages


class Supervisor:
    """Runs one request of a client from start to end."""

    def __init__(self, client: Channel, request: StartRun, warm: dict[str, str] | None) -> None:
        self._client, self._request = client, request
        self._selector = selectors.DefaultSelector()
        self._peer: int | None = None  # a pidfd of the client's process
        folder = Path(request.log_dir)
        self._temporary = folder / "launcher"  # for the launcher's temporary files
        self._log = Log(folder, self._tell)
        self._pipes = Pipes(self._selector, self._log, self._tell)
        self._processes = Processes(request, warm, self._pipes, self._tell, self._close_all)
        self._phases = Phases()
        self._began = self._waits_checked = time.monotonic()  # when waits were last measured
        self._extension = 0.0  # seconds by which the limit is extended
        self._code = 0
        if request.limit:
            self._phases.set_limit(self._began + request.limit)

    def run(self, messages: list[Any]) -> None:
        """Run the request to its end; `messages` came from the client together with it."""
        self._tell(SupervisorStarted(os.getpid(), psutil.Process().create_time()))
        if sentence := warmth.sentence():
            self._tell(Note(sentence, once=True))
        self._watch_client()
        for message in messages:
            self._obey(message)
        if self._phases.phase == Phase.RUNNING:
            self._begin()
        while self._processes.launcher is not None or self._processes.ranks:
            self._step()
        self._finish()

    def _watch_client(self) -> None:
        self._selector.register(self._client, selectors.EVENT_READ, self._on_client)
        # A fork of the client may keep its end of the channel open, so watch the client as well.
        peer = self._client.peer()
        if peer and hasattr(os, "pidfd_open"):
            try:
                self._peer = os.pidfd_open(peer)
            except ProcessLookupError:
                self._stop(Reason.CLIENT)
            else:
                self._selector.register(self._peer, selectors.EVENT_READ, self._on_peer)

    def _begin(self) -> None:
        if self._request.program == "python":  # no launcher: the script is rank 0
            self._started(0, self._processes.start_script())
            return
        self._temporary.mkdir()
        launcher = self._processes.start_launcher(self._temporary)
        on_launcher = functools.partial(self._on_launcher, launcher)
        self._selector.register(launcher, selectors.EVENT_READ, on_launcher)

    def _close_all(self) -> None:
        """Close every descriptor of the supervisor, in a fork that becomes another process."""
        self._selector.close()
        self._log.close()
        self._client.close()
        self._pipes.close()
        if self._peer is not None:
            os.close(self._peer)

    # -- while it runs -----------------------------------------------------------------------------

    def _step(self) -> None:
        for key, _ in self._selector.select(timeout=TICK_S):
            key.data()
        self._pipes.show_progress()
        self._reap()
        now = time.monotonic()
        if self._request.patient and now > self._waits_checked + POLL_S:
            self._waits_checked = now
            self._extend_limit()
        if self._phases.advance(now) and self._phases.phase == Phase.STACKS:
            self._ask_for_stacks()
        if self._phases.phase == Phase.KILLING:
            process_tree.kill_below()

    def _extend_limit(self) -> None:
        """Extend the limit by the longest time for which a process has waited for a core."""
        pids = [process.pid for process in psutil.Process().children(recursive=True)]
        extension = process_tree.extension(pids, self._request.limit)
        self._extension = max(self._extension, extension)
        self._phases.set_limit(self._began + self._request.limit + self._extension)

    def _on_client(self) -> None:
        try:
            for message in self._client.receive():
                self._obey(message)
        except EOFError:
            self._selector.unregister(self._client)
            self._stop(Reason.CLIENT)

    def _obey(self, message: Message) -> None:
        if isinstance(message, Interrupt):
            self._stop(Reason.INTERRUPTED)

    def _on_peer(self) -> None:
        if self._peer is not None:
            self._selector.unregister(self._peer)
            os.close(self._peer)
            self._peer = None
        self._stop(Reason.CLIENT)

    def _on_launcher(self, launcher: Channel) -> None:
        try:
            messages = launcher.receive()
        except EOFError:
            self._selector.unregister(launcher)
            return
        for message in messages:
            if isinstance(message, Note):
                self._tell(message)
            else:
                self._start_rank(message)

    def _start_rank(self, request: StartRank) -> None:
        try:
            pid = self._processes.start_rank(request)
        except OSError as error:
            self._answer(ProcessRefused(f"{request.argv[0]}: {error.strerror}"))
        else:
            self._started(request.rank, pid)
            self._answer(ProcessStarted(pid))

    def _started(self, rank: int, pid: int) -> None:
        self._tell(RankStarted(rank, pid, psutil.Process(pid).create_time()))

    def _answer(self, message: Message) -> None:
        with contextlib.suppress(OSError):  # the launcher is gone, as `_reap` will notice
            if self._processes.channel:
                self._processes.channel.send(message)

    def _reap(self) -> None:
        # The system reports ended children by age, not in the order of their ends. Killed ranks
        # go first: other ranks often fail because one was killed, and hardly ever the reverse.
        ended = sorted(process_tree.ended_children(), key=lambda child: child[1] >= 0)
        for pid, code in ended:
            if pid == self._processes.launcher:
                self._processes.launcher, self._code = None, code
                if self._processes.ranks:
                    self._stop(Reason.LAUNCHER)
            elif pid in self._processes.ranks:
                rank = self._processes.ranks.pop(pid)
                self._pipes.drain(rank)
                killing = self._phases.phase == Phase.KILLING
                self._tell(RankEnded(rank, code, unresponsive=killing and code == -signal.SIGKILL))
                if self._request.program == "python":
                    self._code = code
                elif self._processes.channel:
                    self._answer(ProcessEnded(pid, code))

    def _tell(self, event: Event) -> None:
        try:
            self._client.send(event)
        except OSError:
            self._stop(Reason.CLIENT)

    # -- its end -----------------------------------------------------------------------------------

    def _stop(self, reason: Reason) -> None:
        """Ask the processes to end, as Ctrl-C does; after `GRACE_S` the whole tree is killed."""
        if not self._phases.begin_ending(reason, time.monotonic()):
            return
        if self._processes.launcher:  # it passes the signal on to its ranks
            process_tree.send(self._processes.launcher, signal.SIGINT)
        else:
            self._processes.signal_ranks(signal.SIGINT)

    def _ask_for_stacks(self) -> None:
        """Have the ranks' fault handlers write their stacks, which ends the ranks."""
        if self._processes.launcher:  # else it would end the ranks before they have written
            process_tree.send(self._processes.launcher, signal.SIGKILL)
        self._processes.signal_ranks(signal.SIGABRT)

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
        self._pipes.finish()
        shutil.rmtree(self._temporary, ignore_errors=True)
        self._log.finish()
        self._tell(RunEnded(self._phases.reason, self._code, len(left)))


def main() -> None:
    """Serve the client at the other end of standard input, with new interpreters as children."""
    serve(channel.inherit(os.dup(0)))

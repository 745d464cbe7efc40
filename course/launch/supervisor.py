"""The process above one run: it starts the launcher and the ranks, reads their output, and ends every one of them.

Each run has one supervisor, in a session of its own. It is the parent of the launcher (torchrun's own elastic agent,
or accelerate's) and of every rank, and on Linux the "child subreaper" that adopts whatever they leave behind, so the
tree below it holds every process of the run. When the client (a notebook's kernel) hangs up, dies or asks, when the
time limit comes, or when the launcher dies, that tree is ended.
"""

import contextlib
import functools
import os
import resource
import selectors
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from course.launch import channel, netns, process_tree
from course.launch.child import Command
from course.launch.connect import START
from course.launch.forked import Forked, be_process, enter
from course.launch.output import Log, Output

GRACE_S = 3.0  # from the polite signal to SIGKILL
SETTLE_S = 0.3  # for helpers of the ranks (semaphore trackers, loader workers) to end by themselves
STACKS_S = 2.0  # for the ranks to write their stacks
TICK_S = 0.02  # how often ended children are looked for


class Supervisor:
    """Runs one request of a client from start to end; `warm` is the environment that a warm process started with."""

    def __init__(self, client: channel.Wire, warm: dict[str, str] | None = None) -> None:
        self.client, self.warm = client, warm
        self.selector = selectors.DefaultSelector()
        self.ranks: dict[int, int] = {}  # process id -> rank, of those alive
        self.launcher: int | None = None
        self.agent: channel.Wire | None = None
        self.peer: int | None = None  # a descriptor of the client's process
        self.outputs: dict[int, Output] = {}  # by the read end of the pipe
        self.deadline: float | None = None
        self.kill_at: float | None = None
        self.reason = "finished"
        self.code = 0

    def run(self) -> None:
        """Serve the client's one request; raises `Forked` in a fork that must become a rank or the launcher."""
        process_tree.adopt_orphans()
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        try:
            self.request, *rest = self._first_messages()
        except EOFError:
            return  # the client has changed its mind
        if self.request.get("host"):
            netns.enter(**self.request["host"])  # and with this process its launcher and ranks
        os.chdir(self.request["cwd"])
        os.umask(self.request["umask"])
        self.log = Log(Path(self.request["log_dir"]), self._note)
        self.scratch = Path(
            self.request["log_dir"], "launcher"
        )  # for the launcher's temporary files
        self._watch_client()
        if self.request["limit"]:
            self.deadline = time.monotonic() + self.request["limit"]
        for message in rest:
            self._obey(message)
        if not self.kill_at:
            self._start_launcher()
        while self.launcher is not None or self.ranks:
            self._step()
        self._finish()

    def _first_messages(self) -> list[dict]:
        """The request, and what the client may have said since: it could be to stop."""
        while not (messages := self.client.receive()):
            pass
        return messages

    def _obey(self, message: dict) -> None:
        if message.get("stop"):
            self.stop("stopped")

    def _watch_client(self) -> None:
        self.selector.register(self.client, selectors.EVENT_READ, self._on_client)
        # A forked child of the client may hold its end of the wire open: watch the process as well.
        peer = self.client.peer()
        if peer and hasattr(os, "pidfd_open"):
            try:
                self.peer = os.pidfd_open(peer)
            except ProcessLookupError:
                self.stop("client")
            else:
                self.selector.register(self.peer, selectors.EVENT_READ, self._on_peer)

    # -- starting -----------------------------------------------------------------------------------------------------

    def _start_launcher(self) -> None:
        kind, argv, env = self.request["kind"], self.request["argv"], self.request["env"]
        if kind == "python":  # no launcher: the script is rank 0
            self._start_rank(0, (sys.executable, "-u", *argv), env, None, None)
            return
        self.scratch.mkdir()
        self.agent, theirs = channel.pair()
        self.selector.register(self.agent, selectors.EVENT_READ, self._on_agent)
        start = START.format(module="launcher")
        command = Command(
            (sys.executable, "-u", "-c", start, str(self.scratch), kind, *argv),
            env,
            *self._pipes(None),
        )
        if self.warm is None:
            self.launcher = command.spawn(wire=theirs.fileno())
        else:
            self.launcher = self._fork(lambda: _become_agent(theirs, command))
        self._close_write_ends(command)
        theirs.close()

    def _start_rank(
        self,
        rank: int,
        argv: tuple[str, ...],
        env: dict[str, str],
        stdout: str | None,
        stderr: str | None,
    ) -> int:
        pipes = self._pipes(rank)
        for position, path in enumerate((stdout, stderr)):  # torchrun's own --redirects
            if path:
                os.close(pipes[position])
                pipes[position] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        command = Command(tuple(argv), env, *pipes)
        warm = self.warm is not None and command.can_fork(self.warm)
        pid = self._fork(command.become) if warm else command.spawn()
        self._close_write_ends(command)
        self.ranks[pid] = rank
        self._tell(event="started", rank=rank, pid=pid, created=psutil.Process(pid).create_time())
        return pid

    def _fork(self, task: Callable[[], None]) -> int:
        pid = os.fork()
        if pid == 0:
            self._close_all()
            raise Forked(task)
        return pid

    def _close_all(self) -> None:
        """Close every descriptor of the supervisor, in a fork that is to become something else."""
        self.selector.close()
        self.log.close()
        self.client.close()
        if self.agent:
            self.agent.close()
        for descriptor in (*self.outputs, self.peer):
            if descriptor is not None:
                os.close(descriptor)

    def _pipes(self, rank: int | None) -> list[int]:
        """The write ends of two new pipes, standard output and standard error; their read ends are watched."""
        ends = []
        for stream in ("stdout", "stderr"):
            read, write = os.pipe()
            self.outputs[read] = Output(read, rank, stream, self.log, self._tell)
            self.selector.register(read, selectors.EVENT_READ, functools.partial(self._read, read))
            ends.append(write)
        return ends

    @staticmethod
    def _close_write_ends(command: Command) -> None:
        os.close(command.stdout)
        os.close(command.stderr)

    # -- running ------------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        for key, _ in self.selector.select(timeout=TICK_S):
            key.data()
        for output in self.outputs.values():
            output.flush_partial()
        self._reap()
        now = time.monotonic()
        if self.deadline and now > self.deadline:
            self._time_is_up()
        if self.kill_at and now > self.kill_at:
            process_tree.kill_below()

    def _read(self, descriptor: int) -> None:
        if not self.outputs[descriptor].read():
            self.selector.unregister(descriptor)
            os.close(descriptor)
            self.outputs.pop(descriptor).finish()

    def _on_client(self) -> None:
        try:
            for message in self.client.receive():
                self._obey(message)
        except EOFError:
            self.selector.unregister(self.client)
            self.stop("client")

    def _on_peer(self) -> None:
        self.selector.unregister(self.peer)
        os.close(self.peer)
        self.stop("client")

    def _on_agent(self) -> None:
        try:
            messages = self.agent.receive()
        except EOFError:
            self.selector.unregister(self.agent)
            return
        for message in messages:
            if "note" in message:
                self._note(message["note"])
                continue
            try:
                pid = self._start_rank(**message)
            except OSError as error:
                self._answer(error=f"{message['argv'][0]}: {error.strerror}")
            else:
                self._answer(pid=pid)

    def _answer(self, **message: object) -> None:
        with contextlib.suppress(OSError):  # the launcher is gone, which `_reap` sees
            self.agent.send(**message)

    def _reap(self) -> None:
        for pid, code in process_tree.ended_children():
            if pid == self.launcher:
                self.launcher, self.code = None, code
                if self.ranks:
                    self.stop("launcher")
            elif pid in self.ranks:
                rank = self.ranks.pop(pid)
                self._drain(rank)
                self._tell(event="exited", rank=rank, code=code)
                if self.request["kind"] == "python":
                    self.code = code
                elif self.agent:
                    self._answer(exited=pid, code=code)

    # -- ending -------------------------------------------------------------------------------------------------------

    def stop(self, reason: str) -> None:
        """Ask the processes to end as Ctrl-C does; `GRACE_S` later the whole tree is killed."""
        if self.kill_at:
            return
        self.reason, self.kill_at = reason, time.monotonic() + GRACE_S
        for pid in [self.launcher] if self.launcher else list(self.ranks):
            process_tree.send(pid, signal.SIGINT)

    def _time_is_up(self) -> None:
        """End a run that took too long; the ranks' fault handlers write their stacks first."""
        self.deadline = None
        if self.kill_at:
            return
        self.reason, self.kill_at = "limit", time.monotonic() + STACKS_S
        if self.launcher:
            process_tree.send(
                self.launcher, signal.SIGKILL
            )  # or it would end the ranks before they have written
        for pid in list(self.ranks):
            process_tree.send(pid, signal.SIGABRT)

    def _finish(self) -> None:
        """End what the run left behind, hand over the last output, and say how it ended."""
        left = psutil.wait_procs(psutil.Process().children(recursive=True), timeout=SETTLE_S)[1]
        patience = time.monotonic() + GRACE_S
        while psutil.Process().children() and time.monotonic() < patience:
            process_tree.kill_below()
            self._reap()
            time.sleep(TICK_S)
        for rank in {output.rank for output in self.outputs.values()}:
            self._drain(rank)
        for output in self.outputs.values():
            output.finish()
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.log.finish()
        self._tell(event="end", reason=self.reason, code=self.code, left=len(left))

    def _drain(self, rank: int | None) -> None:
        """Read what is in a rank's pipes (one read empties a pipe); a descendant that holds them is not awaited."""
        for key, _ in self.selector.select(timeout=0):
            if key.fd in self.outputs and self.outputs[key.fd].rank == rank:
                key.data()

    def _note(self, text: str) -> None:
        self._tell(event="note", text=text)

    def _tell(self, **message: object) -> None:
        try:
            self.client.send(**message)
        except OSError:
            self.stop("client")


def _become_agent(theirs: channel.Wire, command: Command) -> None:
    from course.launch import launcher

    enter(command.env, command.stdout, command.stderr)
    be_process(lambda: launcher.serve(theirs, list(command.argv[4:])))


def main() -> None:
    """Serve the client at the other end of standard input, with new interpreters for launcher and ranks."""
    Supervisor(channel.inherited(os.dup(0))).run()

"""In the warm server: import what the labs import, and fork each run's supervisor.

A rank forked from here begins with torch, transformers and datasets in memory, instead of spending
seconds on importing them. The process does nothing else: it runs no tensor operation, starts no
thread, never touches CUDA, and never imports a learner's module.

There are two generations. The first has only torch and serves after two seconds. It forks a second
one, which imports the rest and then takes over. `warm_server.md` lists how this can fail.
"""

import functools
import gc
import importlib
import os
import selectors
import shutil
import signal
import socket
import sys
import weakref
from collections.abc import Callable

import psutil

from course.launch import huge_pages, process_tree, supervisor
from course.launch.channel import Channel
from course.launch.forked import Forked
from course.launch.warm_imports import FIRST, SINGLE_THREADED, warmth

TICK_S = 0.2


class Generation:
    """Accepts clients and forks a supervisor for each."""

    def __init__(self, listener: socket.socket, started_with: dict[str, str]) -> None:
        self._listener, self._started_with = listener, started_with
        self._selector = selectors.DefaultSelector()
        self._serving = True
        self._successor: int | None = None
        self._ready: int | None = None  # the pipe on which the successor reports that it serves
        self._supervisors: set[int] = set()
        self._strays = False  # whether a supervisor that was killed may have left processes behind

    def serve(self) -> None:
        """Accept clients until standard input ends; raises `Forked` in a fork."""
        process_tree.adopt_orphans()
        _leave_finalizers_to_this_process()
        gc.freeze()  # what is imported stays in pages that all forks share
        huge_pages.collapse()
        if warmth.growing:
            self._fork_successor()
        self._selector.register(0, selectors.EVENT_READ, self._end)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        while self._serving:
            for key, _ in self._selector.select(timeout=TICK_S):
                key.data()
            self._reap()

    def _end(self) -> None:
        """Stop serving, because the client is gone; every supervisor notices that by itself."""
        self._serving = False
        if self._successor:
            os.kill(self._successor, signal.SIGKILL)

    def _accept(self) -> None:
        """Fork the supervisor of one run."""
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # the client is gone, or the other generation was faster
        connection.setblocking(True)
        pid = os.fork()
        if pid == 0:
            self._selector.close()
            self._listener.close()
            if self._ready is not None:
                os.close(self._ready)
            raise Forked(lambda: _supervise(connection, self._started_with))
        connection.close()
        self._supervisors.add(pid)

    def _fork_successor(self) -> None:
        """Fork the next generation, which takes over once it has imported the rest."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._selector.close()
            os.close(read)
            raise Forked(lambda: self._become_successor(write))
        os.close(write)
        self._successor, self._ready = pid, read
        hand_over = functools.partial(self._hand_over, read)
        self._selector.register(read, selectors.EVENT_READ, hand_over)

    def _become_successor(self, ready: int) -> None:
        process_tree.end_with_parent()
        warmth.import_rest()
        os.write(ready, b".")
        os.close(ready)
        Generation(self._listener, self._started_with).serve()

    def _hand_over(self, ready: int) -> None:
        """Stop accepting clients if the successor now accepts them; it may have died instead."""
        self._selector.unregister(ready)
        if os.read(ready, 1) and self._successor:
            self._selector.unregister(self._listener)
        os.close(ready)
        self._ready = None

    def _take_back(self) -> None:
        """Accept clients again, because the successor has died; no other one is forked."""
        self._successor, warmth.growing = None, False
        if self._listener not in self._selector.get_map():
            self._selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def _reap(self) -> None:
        """Forget supervisors that have ended, and kill what a failed one has left behind."""
        for pid, code in process_tree.ended_children():
            self._supervisors.discard(pid)
            if pid == self._successor:
                self._take_back()
            elif code:
                self._strays = True
        if self._strays:
            known = {*self._supervisors, self._successor}
            strays = [child for child in psutil.Process().children() if child.pid not in known]
            self._strays = bool(strays)
            process_tree.kill(strays)


def _leave_finalizers_to_this_process() -> None:
    """Keep forks from running, at exit, the finalizers that libraries have registered so far.

    torch has one for each of its operator libraries. Running them all would take a fork longer than
    the rest of its exit, and would free nothing that the end of the process does not free.
    Finalizers that a script registers still run.
    """
    for finalizer in getattr(weakref.finalize, "_registry", ()):
        finalizer.atexit = False


def _supervise(connection: socket.socket, started_with: dict[str, str]) -> None:
    os.setsid()
    supervisor.serve(Channel(connection), started_with)
    # Nothing is left to flush; tearing down the libraries would take longer than many runs.
    os._exit(0)


def _serve(descriptor: int) -> None:
    listener = socket.socket(fileno=descriptor)
    listener.setblocking(False)
    folder = os.path.dirname(listener.getsockname())
    started_with = {
        name: value for name, value in os.environ.items() if name not in SINGLE_THREADED
    }
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Later runs are forked from here, so the code of an earlier one must not change this memory.
    process_tree.set_dumpable(False)
    for module in FIRST:
        importlib.import_module(module)
    warmth.growing = True
    Generation(listener, started_with).serve()
    shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Serve the listening socket whose descriptor is `sys.argv[1]` until standard input ends.

    A fork that becomes a supervisor, a launcher or a rank unwinds its stack to here.
    """
    task: Callable[[], None] | None = functools.partial(_serve, int(sys.argv[1]))
    while task:
        try:
            task()
        except Forked as fork:
            task = fork.task
        else:
            task = None

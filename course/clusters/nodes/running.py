"""A command that runs on several nodes at once: watch it, kill a node, restart the node."""

import queue
import socket
import threading
import time
from dataclasses import dataclass

from course.core import RUNS, CourseError, Interrupted
from course.launch import (
    Done,
    Event,
    Here,
    Host,
    Run,
    RunEnded,
    SupervisorStarted,
    kill_tree,
    launch,
    still_the_same,
)
from course.notebook import CurvesDisplay, Live

POLL_S = 0.2  # the longest wait for an event, before a look at whether any node still runs


@dataclass(frozen=True)
class NodeEnvironment:
    """Where a node runs its command: additions to the environment, and its host, if it has one."""

    env: dict[str, str]
    host: Host | None


class RunningOnNodes:
    """The run of `command` on the nodes `on`, with one launch per node.

    The output is shown while one of these methods waits. `run` records all launches as one run,
    since torchrun numbers the ranks of all nodes together. Nodes that share this machine's loopback
    meet at `port`, and the others start only when the first node listens there.
    """

    def __init__(
        self,
        command: list[str],
        places: dict[int, NodeEnvironment],
        on: list[int],
        limit: float,
        port: int | None = None,
    ) -> None:
        self.run = Run(command, RUNS)  # in which each node's launch has a folder of its own
        self.launches: dict[int, Run] = {}  # by node
        self._places, self._limit = places, limit
        self._events: queue.Queue[Event] = queue.Queue()
        self._stop = threading.Event()
        self._threads: dict[int, threading.Thread] = {}
        self._supervisors: dict[int, SupervisorStarted] = {}
        self._killed: set[int] = set()
        self._error: Exception | None = None
        self._live = Live(limit, CurvesDisplay())
        self._started_at = time.monotonic()
        for node in on:
            self.restart(node)
            if port is not None:
                self._wait_for(port)
                port = None

    def restart(self, node: int) -> "RunningOnNodes":
        """Run the command on a node, for the first time or again.

        Raises `CourseError` if it is still running there.
        """
        if node in self._threads and self._threads[node].is_alive():
            raise CourseError(f"node{node} is running the command already.")
        self._killed.discard(node)
        self.launches.pop(node, None)
        self._supervisors.pop(node, None)
        self._threads[node] = threading.Thread(target=self._launch, args=(node,), daemon=True)
        self._threads[node].start()
        return self

    def until(self, **reached: float) -> "RunningOnNodes":
        """Wait until a rank has logged at least this value (``until(step=20)``), or for the end."""
        name, value = next(iter(reached.items()))
        while not any(row.get(name, value - 1) >= value for row in self.run.rows):
            if not self._is_running():
                break
            self._take_event()
        return self

    def kill(self, node: int) -> "RunningOnNodes":
        """Kill every process of the command on a node, at once and without warning."""
        self._killed.add(node)
        started = self._supervisors.get(node)
        if started and (supervisor := still_the_same(started.pid, started.created)):
            kill_tree(supervisor)  # with its descendants: the launcher and the ranks
        self._threads[node].join(timeout=10)
        return self

    def finish(self, may_fail: bool = False) -> Run:
        """Wait for the end, and return the run.

        Raises `CourseError` if a script without open TODOs fails, unless it `may_fail`, and
        `Interrupted` after an interrupt.
        """
        while self._is_running() or not self._events.empty():
            self._take_event()
        if self._error:
            raise self._error
        self._conclude()
        if self._stop.is_set():
            raise Interrupted
        if self.run.ok or may_fail or self.run.unfinished:
            return self.run
        raise CourseError(
            f"{self.run.command_line} failed on one of the nodes; the reason is shown above."
        )

    def _conclude(self) -> None:
        """Take the worst end of all nodes as the end of the run."""
        runs = [run for node, run in self.launches.items() if node not in self._killed]
        worst = next((run for run in runs if not run.ok), runs[0])
        self.run.log_dir, self.run.wall_s = worst.log_dir, time.monotonic() - self._started_at
        self.run.reason, self.run.launcher_code = worst.reason, worst.launcher_code
        self._live(self.run, Done())

    def _wait_for(self, port: int) -> None:
        """Wait until a process listens at a port of this machine, or all launches have ended."""
        while self._is_running():
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            self._take_event()

    def _is_running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads.values())

    def _take_event(self) -> None:
        """Record and show one event; return if none comes within `POLL_S` seconds."""
        try:
            event = self._events.get(timeout=POLL_S)
            if not isinstance(event, (RunEnded, Done)):  # of one node; the others go on
                self.run.take(event)
                self._live(self.run, event)
        except queue.Empty:
            pass
        except KeyboardInterrupt:
            self._stop.set()

    def _launch(self, node: int) -> None:
        """Launch the command on one node; this runs in its own thread."""

        def watch(run: Run, event: Event) -> None:
            self.launches[node] = run
            if isinstance(event, SupervisorStarted):
                self._supervisors[node] = event
            self._events.put(event)

        place = self._places[node]
        try:
            self.launches[node] = launch(
                self.run.command, watch, self._limit, place.env, self._stop, place=Here(place.host)
            )
        except Interrupted:
            pass
        except Exception as error:  # for the thread that waits in `finish`
            self._error = error
            self._stop.set()

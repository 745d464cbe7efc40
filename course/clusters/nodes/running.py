"""One command that is running on several nodes at once: watch it, kill a node, bring it back."""

import contextlib
import queue
import shlex
import socket
import threading
import time

import psutil

from course.charts import Display
from course.core import CourseError, Interrupted
from course.launch import Run, launch
from course.notebook import Live, unfinished

LOOK_S = 0.2
Place = tuple[
    dict[str, str], dict[str, str] | None
]  # what to add to the environment, and what `netns.enter` takes


class Going:
    """The run of `words` on the nodes `on`, a launch for each; what they say is shown while a method here waits.

    `run` takes what all of them report as one run, for torchrun numbers the ranks of all nodes together. Where nodes
    share this machine's loopback they meet at `port`, and the first of them must be the one that listens there.
    """

    def __init__(
        self,
        words: list[str],
        places: dict[int, Place],
        on: list[int],
        limit: float,
        port: int | None = None,
    ) -> None:
        self.run = Run(shlex.join(words), None)
        self.launches: dict[int, Run] = {}  # by node
        self._words, self._places, self._limit = words, places, limit
        self._events: queue.Queue[dict] = queue.Queue()
        self._stop = threading.Event()
        self._threads: dict[int, threading.Thread] = {}
        self._killed: set[int] = set()
        self._error: Exception | None = None
        self._live = Live(limit, Display())
        self._began = time.monotonic()
        for node in on:
            self.restart(node)
            if port is not None:
                self._wait_for(port)
                port = None

    def restart(self, node: int) -> "Going":
        """Run the command on a node, for the first time or again."""
        if node in self._threads and self._threads[node].is_alive():
            raise CourseError(f"node{node} is running the command already.")
        self._killed.discard(node)
        self.launches.pop(node, None)
        self._threads[node] = threading.Thread(target=self._launch, args=(node,), daemon=True)
        self._threads[node].start()
        return self

    def until(self, **reached: float) -> "Going":
        """Wait until some rank has logged at least this, such as ``until(step=20)``, or until all has ended."""
        name, value = next(iter(reached.items()))
        while not any(row.get(name, value - 1) >= value for row in self.run.rows) and self._alive():
            self._pump()
        return self

    def kill(self, node: int) -> "Going":
        """Kill every process of the command on a node, at once and without a word."""
        self._killed.add(node)
        started = self.launches[node].processes if node in self.launches else {}
        for pid, created in list(started.values()):
            with contextlib.suppress(psutil.NoSuchProcess):
                rank = psutil.Process(pid)
                if rank.create_time() == created:
                    _kill_tree(
                        rank.parent()
                    )  # the supervisor, which is above the agent and its ranks
                    break
        self._threads[node].join(timeout=10)
        return self

    def finish(self, may_fail: bool = False) -> Run:
        """Wait for the end; a failure of a finished script raises `CourseError` unless it `may_fail`."""
        while self._alive() or not self._events.empty():
            self._pump()
        if self._error:
            raise self._error
        self._conclude()
        if self._stop.is_set():
            raise Interrupted
        if self.run.ok or may_fail or unfinished(self.run):
            return self.run
        raise CourseError(
            f"{self.run.command} failed on one of the nodes; what went wrong stands above."
        )

    def _conclude(self) -> None:
        """Make one end of all ends: the worst."""
        runs = [run for node, run in self.launches.items() if node not in self._killed]
        last = next((run for run in runs if not run.ok), runs[0])
        self.run.log_dir, self.run.wall_s = last.log_dir, time.monotonic() - self._began
        self.run.reason, self.run.launcher_code = last.reason, last.launcher_code
        self._live(self.run, {"event": "done"})

    def _wait_for(self, port: int) -> None:
        """Wait until something listens at a port of this machine, or nothing will any more."""
        while self._alive():
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            self._pump()

    def _alive(self) -> bool:
        return any(thread.is_alive() for thread in self._threads.values())

    def _pump(self) -> None:
        """Take in and show one event, or none for a moment."""
        try:
            event = self._events.get(timeout=LOOK_S)
            if event["event"] in ("end", "done"):  # of one node; the others go on
                return
            self.run.take(event)
            self.run.rows += event.get("rows", [])
            self._live(self.run, event)
        except queue.Empty:
            pass
        except KeyboardInterrupt:
            self._stop.set()

    def _launch(self, node: int) -> None:
        """In a thread of its own: the launch of one node."""

        def watch(run: Run, event: dict) -> None:
            self.launches[node] = run
            self._events.put(event)

        env, host = self._places[node]
        try:
            self.launches[node] = launch(self._words, watch, self._limit, env, host, self._stop)
        except Interrupted:
            pass
        except Exception as error:  # for the thread that waits in `finish`
            self._error = error
            self._stop.set()


def _kill_tree(top: psutil.Process) -> None:
    for process in [*top.children(recursive=True), top]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()

"""On a rank: cut its main thread's time into slices that follow one another without a gap."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from course.diagnostics.profiling.clocks import NetworkQueues, RunQueue
from course.diagnostics.profiling.timeline import COMPUTING, WAITS, Slice

SENDS = {*WAITS, "backward"}  # the kinds of slices during which messages are sent


class _Clocks(NamedTuple):
    """The clocks at one moment, in seconds."""

    wall: float
    queued: float  # that this thread has waited for a core
    cpu: float  # that this thread has computed
    network: list[tuple[float, float]]  # of each thread that sends: waited for a core, and ran


class Slices:
    """The slices of the current step; `here` returns the user's line that is being executed.

    `passes_begun` counts the backward passes of the step. The time that it takes to read the clocks
    falls between two slices, and belongs to neither.
    """

    def __init__(self, here: Callable[[], str]) -> None:
        self._ended: list[Slice] = []
        self.passes_begun = 0
        self.now = Slice("python", 0.0, 0.0)
        self._here = here
        self._other_messages: list[Slice] = []  # begun by other threads during this slice
        self._queue, self._network = RunQueue(), NetworkQueues()
        self._last = self._read_clocks()
        self.moment = self._last.wall  # when the current slice began

    def find_network(self) -> None:
        """Find the threads that send, which start when the ranks join."""
        self._network.find()

    def begin(self, slice_: Slice, by_script: bool = False) -> None:
        """End the current slice and begin another one.

        With `by_script`, a line of the user's code causes it, and the slice notes which.
        """
        sends = self.now.kind in SENDS or slice_.kind in SENDS
        ended, before, after = self.now, self._last, self._read_clocks(sends)
        ended.start, ended.end, ended.passes_begun = before.wall, after.wall, self.passes_begun
        ended.queued = min(after.queued - before.queued, ended.end - ended.start)
        ended.cpu = after.cpu - before.cpu
        if sends and len(after.network) == len(before.network):
            both = zip(after.network, before.network, strict=True)
            gone = [(late[0] - early[0], late[1] - early[1]) for late, early in both]
            ended.stalled, ended.sent = max(gone, default=(0.0, 0.0))
        self._ended.append(ended)
        if self._other_messages:
            self._cut_off_wait(ended)
        if by_script and slice_.kind != "watching":
            slice_.where = self._here()
        self.moment, self.now = after.wall, slice_
        self._last = after._replace(wall=time.perf_counter())

    def end_step(self) -> list[Slice]:
        """End the step here, and return its slices; the current slice belongs to the next step."""
        slices, self.passes_begun = self._ended, 0
        self._ended = []
        return slices

    def note_other_message(self, name: str, nbytes: int) -> None:
        """Note that another thread begins a message, for which this thread may wait."""
        self._other_messages.append(Slice("collective", 0, 0, name=name, nbytes=nbytes))

    def relabel_as_forward(self) -> None:
        """Call the work before a backward pass forward, although no module was called."""
        for slice_ in (self.now, *reversed(self._ended)):
            if slice_.kind in ("input", "backward", "optimizer"):
                break
            if slice_.kind in ("python", "gradients"):
                slice_.kind = "forward"

    def close(self) -> None:
        """Close the clocks' files."""
        self._queue.close()
        self._network.close()

    def _read_clocks(self, sends: bool = True) -> _Clocks:
        wall = time.perf_counter()
        network = self._network.seconds() if sends else self._last.network
        return _Clocks(wall, self._queue.seconds(), time.thread_time(), network)

    def _cut_off_wait(self, ended: Slice) -> None:
        """Cut off the end of a slice, in which this thread waited while another thread sent."""
        sent = self._other_messages
        self._other_messages = []
        wait = ended.end - ended.start - ended.queued - ended.cpu
        if ended.kind not in COMPUTING or wait <= 0:
            return
        ended.end -= wait
        waited = replace(ended, kind="collective", start=ended.end, end=ended.end + wait, cpu=0.0)
        waited.queued, waited.within = 0.0, ended.kind
        waited.name = max(sent, key=lambda slice_: slice_.nbytes).name
        waited.nbytes = sum(slice_.nbytes for slice_ in sent) // len(sent)
        self._ended.append(waited)


def continuation(outer: Slice) -> Slice:
    """A new slice that continues `outer`, after another slice that interrupted it."""
    return Slice(outer.kind, 0.0, 0.0, 0.0, outer.where, outer.name, outer.nbytes, outer.within)

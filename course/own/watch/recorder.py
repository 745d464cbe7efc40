"""On a rank: what its main thread does, as slices of time, step by step."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from course.own.watch import gpus
from course.own.watch.clocks import NetworkQueues, RunQueue, machine_busy, queued_threads
from course.own.watch.gpus import Recording
from course.own.watch.lines import Kind, Lines, Sampler
from course.own.watch.timeline import WAITS, Pass, Slice, Step

WARM_UP = 5  # steps: DDP makes its buckets anew in the second, loaders start, memory is allocated
RARELY = 4  # steps from one whose model's input is looked at to the next
IN_VAIN = 12  # backward passes without an optimizer's step: then these end a step
COMPUTES = ("forward", "backward", "gradients", "optimizer")
SENDS = {*WAITS, "backward"}  # slices in which messages go
CLOCKS = ("optimizer", "backward", "loader")  # what may end a step, the best first


class Recorder(Kind):
    """Takes in what the hooks tell, and ends by itself after `wanted` steps.

    `ended` is then called, once. Only the thread that made it is watched.
    """

    def __init__(self, wanted: int, script: str, gpu: Recording, ended: Callable[[], None]) -> None:
        self.lines = Lines(script)
        self.steps: list[Step] = []
        self.recorded: list[Step] = []  # those after them in which the GPU was recorded, too
        self._gpu = gpu
        self.seen = 0  # steps that have ended
        self.clock = ""
        self.active = True
        self.loaded = 0
        self.where: dict[str, str] = {}
        self.iterating = 0.0
        self._wanted, self._ended = wanted, ended
        self._watched, self._recorded = slice(wanted), slice(0)  # of `steps`
        self._thread = threading.get_ident()
        self._queue = RunQueue()
        self._turns = dict.fromkeys(CLOCKS, 0)
        # What is done when nothing in particular is: python; forward before a backward pass, and
        # gradients after it.
        self._base = "python"
        self._passes = 0  # backward passes that have begun in this step
        self._stack: list[Slice] = []
        self._beside: list[Slice] = []  # messages of other threads in this slice
        self._network = NetworkQueues()
        self._last = self._look()
        self._moment = self._last[0]
        self._now = Slice("python", self._moment, 0.0)
        self._step, self._passes = Step(self._moment, 0.0), 0
        self._sampler: Sampler | None = None
        self._at_start: tuple[float, ...] = ()

    # -- what the hooks tell -----------------------------------------------------------------------

    @property
    def listening(self) -> bool:
        """Whether what happens in this thread is of interest."""
        return self.active and threading.get_ident() == self._thread

    def during(self, kind: str, name: str = "", nbytes: int = 0, within: str = "") -> "During":
        """While it is entered, this kind of thing is done; `within` is where it was begun."""
        return During(self, kind, name, nbytes, within)

    def beside(self, name: str, nbytes: int) -> None:
        """Another thread begins to send a message, for which this one may wait."""
        self._beside.append(Slice("collective", 0, 0, name=name, nbytes=nbytes))

    @property
    def outside(self) -> bool:
        """Whether nothing in particular is being done, or an optimizer has called a closure."""
        if not self.listening:
            return False
        return self.kind == "optimizer" if self._stack else self._base != "forward"

    def forward(self) -> None:
        """A model is called: all up to the backward pass is forward."""
        if self.outside:
            if not self._stack:
                self._base = "forward"
            self._turn(Slice("forward", 0, 0), True)

    @contextmanager
    def backward(self) -> Iterator[None]:
        """While it is entered, a backward pass goes on."""
        self._end_if_full()
        if not self.listening:
            yield
            return
        if self._stack and self.kind == "forward":  # in a closure, from which the optimizer goes on
            self._turn(Slice("optimizer", 0, 0), True)
        elif self._base != "forward":
            self._was_forward()
        self._base = "gradients"
        with self.during("backward"):
            self._passes += 1
            yield
        self.turn("backward")

    def loader_started(self, samples: int) -> None:
        """An epoch begins, of so many samples on all ranks together (0: nobody knows)."""
        if self.listening:
            self._step.opens = True
            self.loaded = max(self.loaded, samples)

    def drew(self, rows: list[int]) -> None:
        """A loader has given a batch of samples with these checksums."""
        self._step.rows += rows

    @property
    def compares(self) -> bool:
        """Whether to look at what a model is called with: in some of the steps with a loader."""
        return bool(self._step.rows) and len(self.steps) % RARELY == 0

    def fed(self, rows: list[int]) -> None:
        """The script has called a model with samples of these checksums."""
        self._step.fed += rows

    def chose(self, indices: list[int]) -> None:
        """A loader will fetch the samples whose indices have these checksums."""
        if self.listening:
            self._step.indices += indices

    def passed(self, pass_: Pass) -> None:
        """DDP has said how its last backward pass went, perhaps one of the step before."""
        for step in (self._step, *self.steps[-1:]):
            if step.start <= pass_.start:
                step.passes.append(pass_)
                return

    def turn(self, clock: str) -> None:
        """One of `CLOCKS` has come round: a step ends, if it is by this one that they are told."""
        if clock == "loader":
            self._end_if_full()
        if not self.listening:
            return
        self._turns[clock] += 1
        if not self.clock or CLOCKS.index(clock) < CLOCKS.index(self.clock):
            better = CLOCKS[: CLOCKS.index(clock)]
            if not better or (self._turns[clock] > IN_VAIN and not self._turns[better[0]]):
                self.clock, self.steps = clock, []
                self.seen = 0
        if clock == self.clock:
            self._base = "python"
            self._end_step()

    # -- slices and steps --------------------------------------------------------------------------

    def enter(self, slice_: Slice) -> None:
        """It begins within what is being done."""
        if slice_.kind in ("input", "optimizer"):
            self._base = "python"
        self._stack.append(self._now)
        slice_.within = slice_.within or self.kind
        self._turn(slice_, True)

    def leave(self) -> None:
        """What was entered last is over."""
        if self._stack and self.active:
            outer = self._stack.pop()
            base = not self._stack
            self._turn(Slice(self._base, 0, 0) if base else _again(outer))

    def _turn(self, next_: Slice, somewhere: bool = False) -> None:
        """The current slice ends, and another one begins, `somewhere` in the user's own code.

        What this takes is left out between the two.
        """
        sends = self._now.kind in SENDS or next_.kind in SENDS
        now, before, after = self._now, self._last, self._look(sends)
        now.start, now.end, now.turn = before[0], after[0], self._passes
        now.queued = min(after[1] - before[1], now.end - now.start)
        now.cpu = after[2] - before[2]
        if sends and len(after[3]) == len(before[3]):
            both = zip(after[3], before[3], strict=True)
            gone = [(late[0] - early[0], late[1] - early[1]) for late, early in both]
            now.stalled, now.sent = max(gone, default=(0.0, 0.0))
        self._step.slices.append(now)
        if self._beside:
            self._cut_wait(now)
        if somewhere and next_.kind != "watching":
            next_.where = self.lines.here()
        self._moment, self._now, self.kind = after[0], next_, next_.kind
        self._last = (time.perf_counter(), *after[1:])

    def _look(self, sends: bool = True) -> tuple[float, float, float, list[tuple[float, float]]]:
        """The clocks: of the wall, of the run queue, of this thread's work, of those that send."""
        now = time.perf_counter()
        network = self._network.seconds() if sends else self._last[3]
        return now, self._queue.seconds(), time.thread_time(), network

    def _cut_wait(self, now: Slice) -> None:
        """What is left of a slice in which this thread did nothing, while another one sent."""
        sent, self._beside = self._beside, []
        wait = now.end - now.start - now.queued - now.cpu
        if now.kind in COMPUTES and wait > 0:
            now.end -= wait
            waited = replace(now, kind="collective", start=now.end, end=now.end + wait, cpu=0.0)
            largest = max(sent, key=lambda each: each.nbytes)
            waited.name, waited.nbytes = (
                largest.name,
                sum(each.nbytes for each in sent) // len(sent),
            )
            waited.queued, waited.within = 0.0, now.kind
            self._step.slices.append(waited)

    def _was_forward(self) -> None:
        """No module was called in this step: what came before backward was a hand-made forward."""
        for slice_ in reversed(self._step.slices):
            if slice_.kind in ("input", "backward", "optimizer"):
                break
            if slice_.kind in ("python", "gradients"):
                slice_.kind = "forward"
        if self._now.kind in ("python", "gradients"):
            self._now.kind = "forward"

    def _end_step(self) -> None:
        self._turn(_again(self._now) if self._stack else Slice(self._base, 0, 0))
        self._step.end = self._moment
        self.steps.append(self._step)
        self._step, self._passes = Step(self._moment, 0.0), 0
        self.seen += 1
        if self.seen == WARM_UP:
            self._begin_to_watch()
        elif self.seen < WARM_UP:
            self.steps = self.steps[-1:]

    def _end_if_full(self) -> None:
        """End where nobody goes through a list of hooks, from which ours are then taken away.

        What DDP says of the last step comes one step late.
        """
        if not self.listening or self.seen < WARM_UP or len(self.steps) <= self._wanted:
            return
        if self._gpu.begin():
            self._recorded = slice(len(self.steps), len(self.steps) + gpus.STEPS)
            self._wanted = self._recorded.stop
        else:
            self.stop()

    def _begin_to_watch(self) -> None:
        self.steps = []
        self._network.find()
        self._sampler = Sampler(self.lines, self._thread, self)
        self._sampler.start()
        self._at_start = self._counters()

    def _counters(self) -> tuple[float, ...]:
        return (time.perf_counter(), time.process_time(), machine_busy(), queued_threads())

    def stop(self) -> None:
        """End watching; the second time does nothing."""
        if not self.active:
            return
        self.active = False
        if self._sampler:
            self.where = self._sampler.stop()
            self.iterating = self._sampler.iterating
        before = self._at_start or self._counters()
        spent = [now - then for now, then in zip(self._counters(), before, strict=True)]
        self.watched_s, self.cpu_s, self.busy_s, self.queued_s = spent
        if self.seen < WARM_UP:
            self.steps = []
        self._gpu.end()
        self.recorded, self.steps = self.steps[self._recorded], self.steps[self._watched]
        self._queue.close()
        self._network.close()
        self._ended()


class During:
    """A part of the work of the thread that is watched; no generator, which takes longer."""

    __slots__ = ("_entered", "_recorder", "_slice")

    def __init__(self, recorder: Recorder, *told: object) -> None:
        kind, name, nbytes, within = told
        self._recorder = recorder
        self._slice = Slice(kind, 0, 0, name=name, nbytes=nbytes, within=within)

    def __enter__(self) -> None:
        self._entered = self._recorder.listening
        if self._entered:
            self._recorder.enter(self._slice)

    def __exit__(self, *_: object) -> None:
        if self._entered:
            self._recorder.leave()


def _again(outer: Slice) -> Slice:
    """A slice that goes on after another one was within it."""
    return Slice(outer.kind, 0.0, 0.0, 0.0, outer.where, outer.name, outer.nbytes, outer.within)

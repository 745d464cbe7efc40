"""On a rank: record what its main thread does, step by step."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from course.diagnostics.profiling import gpus
from course.diagnostics.profiling.clocks import Usage
from course.diagnostics.profiling.gpus import GpuRecording
from course.diagnostics.profiling.slices import Slices, continuation
from course.diagnostics.profiling.stack_sampler import StackSampler
from course.diagnostics.profiling.timeline import DdpPass, RankReport, Slice, TrainingStep
from course.diagnostics.watch.lines import Lines

WARM_UP = 5  # steps: DDP rebuilds its buckets in the second, loaders start, memory is allocated
COMPARE_EVERY = 4  # in one step of this many, the samples that a model gets are recorded
IN_VAIN = 12  # a clock that ticks more often than this, while no optimizer steps, ends the steps
CLOCKS = ("optimizer", "backward", "loader")  # the events that may end a step, the best first


class Recorder:
    """Receives what the hooks see, fills in `report`, and stops by itself after `count` steps.

    It then calls `on_end`, once. It watches only the thread that made it.
    """

    def __init__(
        self,
        report: RankReport,
        count: int,
        lines: Lines,
        gpu: GpuRecording,
        on_end: Callable[[], None],
    ) -> None:
        self.report, self.lines, self.active = report, lines, True
        self.steps: list[TrainingStep] = []
        self._count, self._gpu, self._on_end = count, gpu, on_end
        self._timed, self._recorded = slice(count), slice(0)  # parts of `steps`
        self._thread = threading.get_ident()
        self._ticks = dict.fromkeys(CLOCKS, 0)  # how often each has ticked
        # The kind of work outside of all `during` blocks: python, or forward once a model was
        # called, or gradients after a backward pass.
        self._base = "python"
        self._stack: list[Slice] = []  # the slices that enclose the current one
        self._slices = Slices(lines.here)
        self._step = TrainingStep(self._slices.moment, 0.0)
        self._epochs: dict[int, TrainingStep] = {}  # by iterator, the step that started it
        self._sampler = StackSampler(lines, self._thread, lambda: self.kind)
        self._usage: Usage | None = None

    # -- what the hooks see ------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """The kind of work that the thread is doing."""
        return self._slices.now.kind

    @property
    def warm(self) -> bool:
        """Whether the warm-up is over."""
        return self.report.seen >= WARM_UP

    @property
    def listening(self) -> bool:
        """Whether this thread is the watched one, and the watching is not over."""
        return self.active and threading.get_ident() == self._thread

    def during(self, kind: str, name: str = "", nbytes: int = 0, within: str = "") -> "During":
        """Inside the `with`, the thread does this kind of work, which began `within` another."""
        return During(self, Slice(kind, 0, 0, name=name, nbytes=nbytes, within=within))

    def note_other_message(self, name: str, nbytes: int) -> None:
        """Note that another thread begins a message, for which the watched thread may wait."""
        self._slices.note_other_message(name, nbytes)

    @property
    def may_begin_forward(self) -> bool:
        """Whether a model called now begins a forward pass, perhaps in an optimizer's closure."""
        if not self.listening:
            return False
        return self.kind == "optimizer" if self._stack else self._base != "forward"

    def forward(self) -> None:
        """Note that the script calls a model; from here to the backward pass, all is forward."""
        if self.may_begin_forward:
            if not self._stack:
                self._base = "forward"
            self._slices.begin(Slice("forward", 0, 0), by_script=True)

    @contextmanager
    def backward(self) -> Iterator[None]:
        """Inside the `with`, a backward pass is running."""
        self._end_if_full()
        if not self.listening:
            yield
            return
        if self._stack and self.kind == "forward":  # in a closure: the optimizer continues after it
            self._slices.begin(Slice("optimizer", 0, 0), by_script=True)
        elif self._base != "forward":
            self._slices.relabel_as_forward()
        self._base = "gradients"
        with self.during("backward"):
            self._slices.passes_begun += 1
            yield
        self.tick("backward")

    def on_open(self, iterator: object, samples: int) -> None:
        """Note that a loader was started on a data set with this many samples (0: unknown)."""
        if self.listening:
            self._epochs[id(iterator)] = self._step
            self.report.dataset_size = max(self.report.dataset_size, samples)

    def on_draw(self, iterator: object, rows: list[int]) -> None:
        """Note that a loader has returned a batch of samples with these checksums.

        A loader that was started in an earlier step feeds the training: in that step an epoch
        began.
        """
        self._step.rows += rows
        self._step.draws += 1
        began = self._epochs.get(id(iterator), self._step)
        began.starts_epoch |= began is not self._step

    @property
    def records_inputs(self) -> bool:
        """Whether to record the samples that a model gets: in some steps, if a loader is used."""
        return bool(self._step.rows) and len(self.steps) % COMPARE_EVERY == 0

    def on_model_input(self, rows: list[int]) -> None:
        """Note that the script has called a model with samples that have these checksums."""
        self._step.model_rows += rows

    def on_choose(self, indices: list[int]) -> None:
        """Note that a loader will fetch the samples whose indices have these checksums."""
        if self.listening:
            self._step.indices += indices

    def on_pass(self, pass_: DdpPass) -> None:
        """Note DDP's report on its last backward pass, which may belong to the step before."""
        for step in (self._step, *self.steps[-1:]):
            if step.start <= pass_.start:
                step.passes.append(pass_)
                return

    def tick(self, clock: str) -> None:
        """Note an event of one of `CLOCKS`, and end the step if this clock ends steps."""
        if clock == "loader":
            self._end_if_full()
        if not self.listening:
            return
        self._ticks[clock] += 1
        if self._is_better(clock):
            self.report.clock, self.report.seen = clock, 0
            self.steps = []
        if clock == self.report.clock:
            self._base = "python"
            self._end_step()

    def _is_better(self, clock: str) -> bool:
        """Whether a clock is a better end of a step than the current clock.

        A backward pass or a loader may end steps only if no optimizer takes any.
        """
        current, place = self.report.clock, CLOCKS.index(clock)
        if current and place >= CLOCKS.index(current):
            return False
        best = CLOCKS[0]
        return clock == best or (self._ticks[clock] > IN_VAIN and not self._ticks[best])

    # -- slices and steps --------------------------------------------------------------------------

    def enter(self, slice_: Slice) -> None:
        """Begin a slice within the current one."""
        if slice_.kind in ("input", "optimizer"):
            self._base = "python"
        self._stack.append(self._slices.now)
        slice_.within = slice_.within or self.kind
        self._slices.begin(slice_, by_script=True)

    def leave(self) -> None:
        """End the slice that was entered last."""
        if self._stack and self.active:
            outer = self._stack.pop()
            self._slices.begin(continuation(outer) if self._stack else Slice(self._base, 0, 0))

    def _end_step(self) -> None:
        rest = continuation(self._slices.now) if self._stack else Slice(self._base, 0, 0)
        self._slices.begin(rest)
        self._step.slices, self._step.end = self._slices.end_step(), self._slices.moment
        self.steps.append(self._step)
        self._step = TrainingStep(self._slices.moment, 0.0)
        self.report.seen += 1
        if self.report.seen == WARM_UP:
            self._start_measuring()
        elif not self.warm:
            self.steps = self.steps[-1:]

    def _end_if_full(self) -> None:
        """Stop if enough steps were recorded, or let the GPU be recorded first.

        Call it only while torch iterates over none of its lists of hooks, because stopping removes
        our hooks from them. One more step is awaited, since DDP reports on a step in the next one.
        """
        if not self.listening or not self.warm or len(self.steps) <= self._count:
            return
        if self._gpu.begin():
            self._recorded = slice(len(self.steps), len(self.steps) + gpus.STEPS)
            self._count = self._recorded.stop
        else:
            self.stop()

    def _start_measuring(self) -> None:
        self.steps = []
        self._slices.find_network()
        self._sampler.start()
        self._usage = Usage()

    def stop(self) -> None:
        """Stop watching, and fill in the report; a second call does nothing."""
        if not self.active:
            return
        self.active = False
        report = self.report
        if self._usage:
            report.lines, report.iterating = self._sampler.stop()
            report.usable = self._usage.usable
            vars(report).update(self._usage.so_far())
            report.steps, report.recorded = self.steps[self._timed], self.steps[self._recorded]
        self._gpu.end()
        self._slices.close()
        self._on_end()


class During:
    """A context for one piece of the thread's work; a class, because a generator is slower."""

    __slots__ = ("_entered", "_recorder", "_slice")

    def __init__(self, recorder: Recorder, slice_: Slice) -> None:
        self._recorder, self._slice = recorder, slice_

    def __enter__(self) -> None:
        self._entered = self._recorder.listening
        if self._entered:
            self._recorder.enter(self._slice)

    def __exit__(self, *_: object) -> None:
        if self._entered:
            self._recorder.leave()

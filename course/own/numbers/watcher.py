"""On a rank: note what the script does with its numbers, step by step."""

import weakref
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import torch
from torch import Tensor, nn
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from course.core import interceptor
from course.own.numbers import graph, sampling
from course.own.numbers.changes import Changes
from course.own.numbers.clipping import Clipping
from course.own.numbers.fence import Fence
from course.own.numbers.files import Files
from course.own.numbers.gradient_hooks import GradientHooks
from course.own.numbers.loading import Loading
from course.own.numbers.loose import LooseParameters
from course.own.numbers.messages import Messages
from course.own.numbers.models import Models
from course.own.numbers.optimizers import EACH, WHOLE, Hooked, Watched, finish
from course.own.numbers.record import Optimizer, Pass, Rank, Step
from course.own.numbers.schedules import Schedules, note_rate
from course.own.watch.lines import Lines

PASSES = 32  # that are kept of a step


class Watcher:
    """Fills a `Rank` with what the script does, until each optimizer has taken `count` steps.

    The watch of loaders, files and rates, which costs next to nothing, goes on to the end.
    """

    def __init__(self, report: Rank, count: int, lines: Lines, loading: Loading, fence: Fence,
                 full: Callable[[], None]) -> None:  # fmt: skip
        self.report, self._count, self._lines, self._fence = report, count, lines, fence
        self._full, self.is_full = full, False
        self._models = Models(report, lines, fence, self._steps, loading.asked)
        self._loading, self._files = loading, Files(report, lines, fence, loading.reported)
        self._messages = Messages(report, lines, fence, self._phase, lambda: loading.evaluation)
        self._hooked = Hooked(self._got)
        self._optimizers: dict[int, Watched] = {}  # by identity
        self._made_at: dict[int, tuple[weakref.ref, str, int]] = {}
        self._places: dict[int, tuple[Watched, int]] = {}  # by parameter
        self._values: list[tuple] = []  # passes whose numbers are not read yet
        self._loose = LooseParameters(report, self._models)
        self._schedules = Schedules(lines, fence)
        self._clipping = Clipping(lines, fence, self._optimizers)
        self._changes = Changes(report, lines, fence)
        self._gradient_hooks = GradientHooks(lines, fence, self._sample, self._note_hooked)
        self._depth = 0  # of steps of optimizers inside one another
        self._window, self._all = ExitStack(), ExitStack()

    # -- hooks -------------------------------------------------------------------------------------

    def install(self) -> None:
        """Begin to watch."""
        self._models.install(self._between)
        to_the_end = partial(self._on, self._all)
        self._messages.install(self._between, to_the_end)
        self._between(self._backward, ("backward",), torch.autograd)
        self._clipping.install(self._between)
        self._gradient_hooks.install(self._between)
        self._changes.install(self._between)
        to_the_end(self._make, ("__init__",), torch.optim.Optimizer)
        to_the_end(self._restore, ("load_state_dict",), torch.optim.Optimizer)
        self._schedules.install(to_the_end)
        self._loading.install(to_the_end, self._all.enter_context)
        self._files.install(to_the_end, self._all.enter_context)
        for register, hook in (
            (register_optimizer_step_pre_hook, self._before_step),
            (register_optimizer_step_post_hook, self._after_step),
        ):
            self._all.callback(register(hook).remove)

    def _between(self, around: Callable, names: tuple[str, ...], *homes: object) -> None:
        self._on(self._window, around, names, *homes)

    @staticmethod
    def _on(stack: ExitStack, around: Callable, names: tuple[str, ...], *homes: object) -> None:
        stack.enter_context(interceptor.intercepted(around, names, *([homes] if homes else [])))

    def close(self) -> None:
        """End the window of steps, and remove the hooks that cost something."""
        if not self.is_full:
            self.is_full = True
            self._hooked.remove()
            self._note_others()
            self._models.close()
            self._messages.close()
            self._window.close()
            homes = {home for each in self._optimizers.values() for home in each.places}
            self._changes.keep(homes | self._places.keys())
            for each in self._optimizers.values():
                each.clear()
                each.views, each.places = [], []

    def end(self) -> None:
        """End the watch."""
        self.close()
        self._note_others()
        self._models.remove()
        self._files.remove()
        self._all.close()

    def _note_others(self) -> None:
        for each, other in self._models.others.items():
            other.trains = self._models.first_weights[each] in self._places
        self.report.others = list(self._models.others.values())

    def _steps(self) -> int:
        return sum(each.report.steps for each in self._optimizers.values())

    def _phase(self) -> str:
        """The part of a step that goes on, for the count of messages."""
        models = self._models
        if models.in_backward:
            return "backward"
        return "step" if self._depth else "forward" if models.is_inside else "between"

    # -- backward passes and what comes after them -------------------------------------------------

    def _backward(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        if not self._fence.is_ours or self._models.in_backward:
            return real(*args, **kwargs)
        pass_, self._models.pass_ = self._models.pass_, Pass()
        handles: list = []
        with self._fence.around("backward passes"):
            self._begin_pass(pass_)
        parts = None
        with self._fence.around("what one target counts"):
            parts = graph.reductions(graph.root(args, kwargs), handles.append)
        self._models.in_backward = True
        try:
            return real(*args, **kwargs)
        finally:
            self._models.in_backward = False
            for handle in handles:
                handle.remove()
            with self._fence.around("what one target counts"):
                self._end_pass(pass_, parts, graph.root(args, kwargs))

    def _begin_pass(self, pass_: Pass) -> None:
        self.report.passes += 1
        self._messages.order += pass_.syncs
        pass_.line, pass_.scaled = self._lines.here(), self._clipping.scaled
        self._loading.trained()
        if self.report.passes <= EACH or self.report.passes % EACH == 0:
            self._hooked.add(self._models.parameters())
            self._hooked.add_thawed()
        for each in self._optimizers.values():
            self._settle(each)
        self._hooked.got.clear()
        self._hooked.looks = self.report.passes <= WHOLE or any(
            each.is_whole for each in self._optimizers.values()
        )
        if self._depth:
            for each in self._optimizers.values():
                each.closure |= each.inside

    def _end_pass(self, pass_: Pass, parts: list | None, root: Tensor | None) -> None:
        pending = [root.detach()] if root is not None and root.numel() == 1 else []
        for each in self._optimizers.values():
            each.got |= self._hooked.got & each.identities
            if each.got or each.report.sharded:
                each.first = each.gradients() if each.report.sharded and each.is_whole else None
                if len(each.passes) < PASSES:
                    each.passes.append(pass_)
        self._values.append((pass_, parts, pending))

    def _read(self) -> None:
        """Read the numbers of the passes, once that does not mean to wait for a device."""
        for pass_, parts, loss in self._values:
            pass_.loss = float(loss[0]) if loss else None
            if parts is not None and all(each.factor is not None for each in parts):
                pass_.parts = [graph.part(each) for each in parts]
        self._values.clear()

    def _got(self, parameter: nn.Parameter, gradient: Tensor) -> None:
        with self._fence.around("own gradient"):
            known = self._places.get(id(parameter))
            if known is None:
                if self._optimizers:
                    self._loose.got(parameter, self._places.keys())
                return
            watched, place = known
            if watched.is_whole:
                new, old = sampling.copied(gradient, watched.share), parameter.grad
                old = None if old is None else sampling.copied(old, watched.share)
                watched.entries.append((place, new, old))

    def _sample(self, parameter: int, gradient: Tensor) -> Tensor | None:
        watched, _ = self._places.get(parameter, (None, 0))
        looks = self._hooked.looks and watched is not None and watched.is_whole
        return sampling.copied(gradient, watched.share) if looks else None

    def _note_hooked(self, parameter: int, line: str, before: Tensor, after: Tensor) -> None:
        watched, place = self._places[parameter]
        watched.hooked.append((place, line, before, after))

    # -- optimizers --------------------------------------------------------------------------------

    def _make(self, name: str, real: Callable, args: tuple, kwargs: dict) -> None:
        real(*args, **kwargs)
        if self._fence.is_ours:
            with self._fence.around("lines"):
                self._loose.optimizer_made()
                place = len(self._made_at)
                self._made_at[id(args[0])] = weakref.ref(args[0]), self._lines.here(), place
                self._know(args[0])

    def _restore(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        if self._fence.is_ours:
            with self._fence.around("resume"):
                state = args[1] if len(args) > 1 else kwargs["state_dict"]
                report = self._know(args[0]).report
                if state["state"] and not report.steps:  # accelerate's prepare loads an empty one
                    report.restored = report.restored or self._lines.here()
        return real(*args, **kwargs)

    def _know(self, optimizer: torch.optim.Optimizer) -> Watched:
        watched = self._optimizers.get(id(optimizer))
        if watched is None:
            made = self._made_at.get(id(optimizer))
            report = Optimizer(type(optimizer).__name__, made[1] if made else "")
            watched = self._optimizers[id(optimizer)] = Watched(optimizer, report)
        return watched

    def _settle(self, watched: Watched) -> None:
        before = len(watched.parameters)
        watched.settle(self._models.name, self._models.made_at)
        if len(watched.parameters) != before:
            for place, parameter in enumerate(watched.parameters):
                self._places[id(parameter)] = watched, place
            self._hooked.add(watched.parameters)

    def _before_step(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        self._depth += 1
        if self._depth > 1 or not self._fence.is_ours:  # of one that shares out its work
            return
        with self._fence.around("steps"):
            watched = self._know(optimizer)
            self._loading.trained()  # also after the window, in which a backward pass says so
            note_rate(watched)
            if not self.is_full:
                self._settle(watched)
                watched.inside = True
                if watched.is_whole and (watched.entries or watched.report.sharded):
                    watched.used = watched.gradients()
                watched.before = watched.weights()

    def _after_step(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        self._depth -= 1
        if self._depth or not self._fence.is_ours:
            return
        with self._fence.around("steps"):
            self._take_step(self._know(optimizer))

    def _take_step(self, watched: Watched) -> None:
        report = watched.report
        watched.inside = False
        if not self.is_full and len(report.watched) < self._count:
            self._read()
            rates, settings = watched.settings()
            step = Step(
                self.report.passes, self._messages.order, self._lines.here(), rates, settings,
                [], [], True, watched.passes, clips=watched.clips, early_clip=watched.early_clip,
                pending=self._messages.take_pending(), schedules=self._schedules.count,
                schedule_line=self._schedules.line, closure=watched.closure,
            )  # fmt: skip
            finish(watched, step)
            report.watched.append(step)
            if report not in self.report.optimizers:
                self.report.optimizers.append(report)
        self._schedules.count = 0
        self._clipping.begin_step()
        report.steps += 1
        watched.clear()
        if not self.is_full and len(report.watched) >= self._count:
            self.close()
            self._full()

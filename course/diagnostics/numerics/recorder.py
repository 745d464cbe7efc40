"""On a rank: record what the script does with its gradients and weights, step by step."""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from course.diagnostics.numerics import loss_graph, tensor_samples
from course.diagnostics.numerics.clipping import Clipping
from course.diagnostics.numerics.collectives import Collectives
from course.diagnostics.numerics.context import RankContext
from course.diagnostics.numerics.files import Files
from course.diagnostics.numerics.guarded_hooks import GuardedHooks
from course.diagnostics.numerics.loaders import Loaders
from course.diagnostics.numerics.loss_graph import Reduction
from course.diagnostics.numerics.model_calls import ModelCalls
from course.diagnostics.numerics.optimizers import (
    SAMPLED_EVERY,
    SAMPLED_FIRST,
    GradientProbes,
    OptimizerProbe,
    fill_in_step,
)
from course.diagnostics.numerics.registry import OptimizerRegistry
from course.diagnostics.numerics.schedules import Schedules, note_rate
from course.diagnostics.numerics.training import BackwardPass, OptimizerStep
from course.diagnostics.numerics.unoptimized import UnoptimizedSearch
from course.diagnostics.numerics.user_hooks import UserHooks
from course.diagnostics.numerics.weight_changes import WeightChanges
from course.diagnostics.watch.hook_set import Args, Function, Kwargs

PASSES = 32  # backward passes of a step that are kept


class NumericsRecorder:
    """Fills in a `TrainingReport` until an optimizer has taken `count` steps, then calls `full`.

    These steps are the window. Loaders, files and rates cost next to nothing, so they are watched
    until the script ends.
    """

    def __init__(
        self, context: RankContext, count: int, folder: Path, full: Callable[[], None]
    ) -> None:
        self.report, self._lines, self._fence = context
        self._count, self._full, self.is_full = count, full, False
        self._loaders = loaders = Loaders(context, folder)
        self._models = ModelCalls(context, self._count_steps, loaders.note_inference)
        self._files = Files(context, loaders.note_report, self._models.buffers.note_save)
        self._collectives = Collectives(context, self._phase, lambda: loaders.evaluation)
        self._gradients = GradientProbes(self._fence.guard(self._on_gradient))
        self._unoptimized = UnoptimizedSearch(self.report, self._models)
        self._optimizers = OptimizerRegistry(
            context, self._models, self._gradients, self._unoptimized
        )
        # Passes whose tensors are not read yet, each with the reductions of its loss, and the loss.
        self._unread: list[tuple[BackwardPass, list[Reduction] | None, Tensor | None]] = []
        self._schedules = Schedules(context)
        self._clipping = Clipping(context, self._optimizers)
        self._changes = WeightChanges(context)
        self._user_hooks = UserHooks(context, self._sample, self._note_hooked)
        self._depth = 0  # of nested optimizer steps
        # For the window, and until the end.
        self._window, self._whole = GuardedHooks(self._fence), GuardedHooks(self._fence)

    # -- hooks -------------------------------------------------------------------------------------

    def install(self) -> None:
        """Install all hooks."""
        window, whole = self._window, self._whole
        self._models.install(window)
        self._collectives.install(window, whole)
        window.around(self._backward, ("backward",), torch.autograd)
        self._clipping.install(window)
        self._user_hooks.install(window)
        self._changes.install(window)
        self._optimizers.install(whole)
        self._schedules.install(whole)
        self._loaders.install(whole)
        self._files.install(whole)
        whole.steps(self._before_step, self._after_step)

    def close(self) -> None:
        """End the window of steps, and remove the hooks that cost time."""
        if not self.is_full:
            self.is_full = True
            self._gradients.remove()
            self._note_others()
            self._models.close()
            self._collectives.close()
            self._window.remove()
            addresses = {
                address for probe in self._optimizers.probes for address in probe.addresses
            }
            self._changes.keep(addresses | self._optimizers.places.keys())
            for probe in self._optimizers.probes:
                probe.clear()
                probe.views.clear()
                probe.addresses.clear()

    def end(self) -> None:
        """End the window if it is still open, and remove the other hooks."""
        self.close()
        self._note_others()
        self._models.remove()
        self._files.remove()
        self._whole.remove()

    def _note_others(self) -> None:
        for key, other in self._models.others.items():
            other.trains = self._models.first_weights[key] in self._optimizers.places
        self.report.others = list(self._models.others.values())

    def _count_steps(self) -> int:
        return sum(probe.report.steps for probe in self._optimizers.probes)

    def _phase(self) -> str:
        """The current part of a step, by which messages are counted."""
        models = self._models
        if models.in_backward:
            return "backward"
        return "step" if self._depth else "forward" if models.is_inside else "between"

    # -- backward passes, and the gradients that they compute --------------------------------------

    def _backward(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        if not self._fence.is_ours or self._models.in_backward:
            return real(*args, **kwargs)
        backward_pass, self._models.next_pass = self._models.next_pass, BackwardPass()
        handles: list[RemovableHandle] = []
        with self._fence.around("backward passes"):
            self._begin_pass(backward_pass)
        parts, root = None, loss_graph.root(args, kwargs)
        with self._fence.around("what one target counts"):
            parts = loss_graph.reductions(
                root,
                lambda node, hook: handles.append(node.register_prehook(self._fence.guard(hook))),
            )
        self._models.in_backward, self._collectives.ddp_averages = True, backward_pass.syncs
        try:
            return real(*args, **kwargs)
        finally:
            self._models.in_backward = self._collectives.ddp_averages = False
            for handle in handles:
                handle.remove()
            with self._fence.around("what one target counts"):
                self._end_pass(backward_pass, parts, root)

    def _begin_pass(self, backward_pass: BackwardPass) -> None:
        self.report.passes_so_far += 1
        number = self.report.passes_so_far
        self._collectives.so_far += backward_pass.syncs
        backward_pass.line, backward_pass.scaled = self._lines.here(), self._clipping.scaled
        self._loaders.note_training()
        if number <= SAMPLED_EVERY or number % SAMPLED_EVERY == 0:
            self._gradients.add(self._models.parameters())
            self._gradients.add_thawed()
        for probe in self._optimizers.probes:
            self._optimizers.refresh(probe)
        self._gradients.got.clear()
        self._gradients.reads = number <= SAMPLED_FIRST or any(
            probe.is_sampled for probe in self._optimizers.probes
        )
        if self._depth:
            for probe in self._optimizers.probes:
                probe.closure |= probe.in_step

    def _end_pass(
        self, backward_pass: BackwardPass, parts: list[Reduction] | None, root: Tensor | None
    ) -> None:
        loss = root.detach() if root is not None and root.numel() == 1 else None
        for probe in self._optimizers.probes:
            probe.got |= self._gradients.got & probe.identities
            if probe.got or probe.report.sharded:
                probe.first = (
                    probe.gradients() if probe.report.sharded and probe.is_sampled else None
                )
                if len(probe.passes) < PASSES:
                    probe.passes.append(backward_pass)
        self._unread.append((backward_pass, parts, loss))

    def _read_losses(self) -> None:
        """Read the losses and factors of the passes, at a step, where the device is read anyway."""
        for backward_pass, parts, loss in self._unread:
            backward_pass.loss = None if loss is None else float(loss)
            if parts is not None and all(reduction.factor is not None for reduction in parts):
                backward_pass.parts = [loss_graph.loss_term(reduction) for reduction in parts]
        self._unread.clear()

    def _on_gradient(self, parameter: nn.Parameter, gradient: Tensor) -> None:
        with self._fence.around("own gradient"):
            entry = self._optimizers.places.get(id(parameter))
            if entry is None:
                if self._optimizers.probes:
                    self._unoptimized.note_gradient(parameter, self._optimizers.places.keys())
                return
            probe, param_index = entry
            if probe.is_sampled:
                new, old = tensor_samples.copy_values(gradient, probe.share), parameter.grad
                old = None if old is None else tensor_samples.copy_values(old, probe.share)
                probe.entries.append((param_index, new, old))

    def _sample(self, parameter: int, gradient: Tensor) -> Tensor | None:
        entry = self._optimizers.places.get(parameter)
        if entry is None or not (self._gradients.reads and entry[0].is_sampled):
            return None
        return tensor_samples.copy_values(gradient, entry[0].share)

    def _note_hooked(self, parameter: int, line: str, before: Tensor, after: Tensor) -> None:
        probe, param_index = self._optimizers.places[parameter]
        probe.hooked.append((param_index, line, before, after))

    # -- optimizers --------------------------------------------------------------------------------

    def _before_step(self, optimizer: Optimizer, *_: object) -> None:
        self._depth += 1
        if self._depth > 1 or not self._fence.is_ours:  # one optimizer called by another
            return
        with self._fence.around("steps"):
            probe = self._optimizers.probe(optimizer)
            self._loaders.note_training()  # after the window, no backward pass notes it
            note_rate(probe)
            if not self.is_full:
                self._optimizers.refresh(probe)
                probe.in_step = True
                if probe.is_sampled and (probe.entries or probe.report.sharded):
                    probe.used = probe.gradients()
                probe.before = probe.weights()

    def _after_step(self, optimizer: Optimizer, *_: object) -> None:
        self._depth -= 1
        if self._depth or not self._fence.is_ours:
            return
        with self._fence.around("steps"):
            self._take_step(self._optimizers.probe(optimizer))

    def _take_step(self, probe: OptimizerProbe) -> None:
        report = probe.report
        probe.in_step = False
        if not self.is_full and len(report.watched) < self._count:
            self._read_losses()
            rates, settings = probe.settings()
            step = OptimizerStep(
                self.report.passes_so_far, self._collectives.so_far, self._lines.here(), rates,
                settings, [], [], True, probe.passes, clips=probe.clips,
                early_clip=probe.early_clip, pending=self._collectives.take_pending(),
                schedules=self._schedules.count,
                schedule_line=self._schedules.line, closure=probe.closure,
            )  # fmt: skip
            fill_in_step(probe, step)
            report.watched.append(step)
            if report not in self.report.optimizers:
                self.report.optimizers.append(report)
        self._schedules.count = 0
        self._clipping.begin_step()
        report.steps += 1
        probe.clear()
        if not self.is_full and len(report.watched) >= self._count:
            self.close()
            self._full()
